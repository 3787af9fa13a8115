package lister_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	informer "github.com/informer-host/informer/plugins/sdk/go"
	"github.com/informer-host/informer/plugins/sdk/go/informertest"
	"github.com/informer-host/informer/plugins/sdk/go/lister"
)

const pods = "v1/pods"

// five stores the pods a to e, of which a, c and e have the label tier=web.
func five(t *testing.T) *informertest.Host {
	host := informertest.New(t)
	for i, name := range []string{"a", "b", "c", "d", "e"} {
		labels := [...]string{`{"tier": "web"}`, `{}`}[i%2]
		host.Store(pods, fmt.Sprintf(`{"metadata": {"namespace": "default", "name": %q, "labels": %s}, "spec": {"n": %d}}`, name, labels, i))
	}
	host.Store(pods, `{"metadata": {"namespace": "other", "name": "x"}, "spec": {"n": 9}}`)
	return host
}

type fields struct {
	N int `pointer:"/spec/n"`
}

func TestEveryIteratorGoesThroughAllPages(t *testing.T) {
	five(t)
	of := lister.Selector{Namespace: "default"}
	var metas, rows, objects string

	for meta, err := range lister.Metas(pods, of) {
		if err != nil {
			t.Fatal(err)
		}
		metas += meta.Name
	}
	for row, err := range lister.Rows[fields](pods, of) {
		if err != nil {
			t.Fatal(err)
		}
		rows += fmt.Sprint(row.Key.Name, row.Fields.N)
	}
	for object, err := range lister.Objects(pods, lister.Selector{Namespace: "default", Labels: "tier=web"}) {
		if err != nil {
			t.Fatal(err)
		}
		objects += object.Name
	}

	if metas != "abcde" || rows != "a0b1c2d3e4" || objects != "ace" {
		t.Errorf("got %s, %s and %s", metas, rows, objects)
	}
}

func TestALoopMayEndEarly(t *testing.T) {
	five(t)
	var names string
	for meta := range lister.Metas(pods, lister.Selector{}) {
		if names += meta.Name; len(names) == 3 {
			break
		}
	}
	if names != "abc" {
		t.Error(names)
	}
}

func TestAnErrorEndsTheLoop(t *testing.T) {
	five(t)
	var errs []error
	for _, err := range lister.Metas(pods, lister.Selector{Index: "by-node", Value: "n1"}) {
		errs = append(errs, err)
	}
	for _, err := range lister.Rows[struct{ N int }](pods, lister.Selector{}) {
		errs = append(errs, err)
	}
	if len(errs) != 2 || !errors.Is(errs[0], informer.Invalid) || errs[1] == nil {
		t.Error(errs)
	}
}

func TestAnObjectThatIsNotCachedIsNotFound(t *testing.T) {
	five(t)
	missing := informer.Key{Namespace: "default", Name: "z"}

	if _, err := lister.Get(pods, missing); !errors.Is(err, informer.NotFound) {
		t.Error(err)
	}
	found := fields{N: 7}
	if err := lister.Read(pods, missing, &found); !errors.Is(err, informer.NotFound) || found.N != 7 {
		t.Error(err)
	}
	if err := lister.Read(pods, informer.Key{Namespace: "default", Name: "b"}, &found); err != nil || found.N != 1 {
		t.Error(found, err)
	}
	object, err := lister.Get(pods, informer.Key{Namespace: "default", Name: "b"})
	if err != nil || object.GVR != pods || object.Name != "b" {
		t.Error(object, err)
	}
}

func TestSyncedAndArrivedAreAnsweredByTheHost(t *testing.T) {
	host := five(t)
	if synced, err := lister.HasSynced(pods); !synced || err != nil {
		t.Error(synced, err)
	}
	host.SetSynced(pods, false)
	if synced, err := lister.HasSynced(pods); synced || err != nil {
		t.Error(synced, err)
	}
	if arrived, err := lister.WaitFor(host.Store(pods, `{"metadata": {"name": "y"}}`), time.Second); !arrived || err != nil {
		t.Error(arrived, err)
	}
}

func TestTheValuesOfAnIndexAreCounted(t *testing.T) {
	host := five(t)
	host.Store(pods, `{"metadata": {"namespace": "blog", "name": "y"}}`)
	var values []lister.IndexValue
	for value, err := range lister.IndexValues(pods, "namespace", "") {
		if err != nil {
			t.Fatal(err)
		}
		values = append(values, value)
	}
	if want := []lister.IndexValue{{"blog", 1}, {"default", 5}, {"other", 1}}; !slices.Equal(values, want) {
		t.Error(values)
	}
	for _, err := range lister.IndexValues(pods, "node", "") {
		if !errors.Is(err, informer.Invalid) {
			t.Error(err)
		}
	}
}

func TestACacheHasAVersionOnceItIsComplete(t *testing.T) {
	host := five(t)
	if state, err := lister.State(pods); err != nil || !state.Synced || state.ResourceVersion != "106" || state.Age != 0 {
		t.Error(state, err)
	}
	host.SetSynced(pods, false)
	if state, err := lister.State(pods); err != nil || state != (lister.CacheState{}) {
		t.Error(state, err)
	}
}
