//go:build !wasip1

package informertest_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	informer "github.com/informer-host/informer/plugins/sdk/go"
	"github.com/informer-host/informer/plugins/sdk/go/client"
	"github.com/informer-host/informer/plugins/sdk/go/informertest"
	"github.com/informer-host/informer/plugins/sdk/go/keyvalue"
	"github.com/informer-host/informer/plugins/sdk/go/lister"
)

const maps = "v1/configmaps"

var key = informer.Key{Namespace: "default", Name: "a"}

// text is the object without a UID.
const text = `{"metadata": {"namespace": "default", "name": "a"}}`

// written is the object with a UID, or without one if it is empty.
func written(uid string) map[string]any {
	metadata := map[string]any{"namespace": "default", "name": "a"}
	if uid != "" {
		metadata["uid"] = uid
	}
	return map[string]any{"metadata": metadata}
}

func TestADeletionOfAnObjectThatWasReplacedIsAConflict(t *testing.T) {
	host := informertest.New(t)
	gone := *host.Store(maps, text)
	host.Remove(maps, key)
	present := *host.Store(maps, text)
	// Without a version, the UID is the only precondition.
	gone.ResourceVersion, present.ResourceVersion = "", ""

	if err := client.Delete(maps, key, client.Only(&gone)); !errors.Is(err, informer.Conflict) {
		t.Error("another object has this name now", err)
	}
	if err := client.Delete(maps, key, client.Only(&present)); err != nil {
		t.Error(err)
	}
	if _, err := client.Get(maps, key); !errors.Is(err, informer.NotFound) {
		t.Error(err)
	}
}

func TestAnObjectKeepsItsUIDUntilItIsRemoved(t *testing.T) {
	host := informertest.New(t)
	before := host.Store(maps, text)
	removal := map[string]any{"metadata": map[string]any{"uid": nil}}

	for name, write := range map[string]func() (*informer.Object, error){
		"Update":                     func() (*informer.Object, error) { return client.Update(maps, written("")) },
		"Update with it":             func() (*informer.Object, error) { return client.Update(maps, written(before.UID)) },
		"Apply":                      func() (*informer.Object, error) { return client.Apply(maps, written("")) },
		"MergePatch":                 func() (*informer.Object, error) { return client.MergePatch(maps, key, written(before.UID)) },
		"a second Store":             func() (*informer.Object, error) { return host.Store(maps, text), nil },
		"MergePatch that removes it": func() (*informer.Object, error) { return client.MergePatch(maps, key, removal) },
	} {
		after, err := write()
		if err != nil || after.UID != before.UID || after.ResourceVersion == before.ResourceVersion {
			t.Error(name, after, err)
		}
	}

	host.Remove(maps, key)
	if after := host.Store(maps, text); after.UID == before.UID || after.UID == "" {
		t.Error("a new object has a new UID", after)
	}
}

func TestAWriteToAnObjectWithAnotherUIDIsRefused(t *testing.T) {
	informertest.New(t).Store(maps, text)

	if _, err := client.Update(maps, written("other")); !errors.Is(err, informer.Conflict) {
		t.Error(err)
	}
	if _, err := client.MergePatch(maps, key, written("other")); !errors.Is(err, informer.Invalid) {
		t.Error(err)
	}
}

func TestALabelSelectorThatTheFakeHostDoesNotKnowIsRefusedAlsoWithoutAMatch(t *testing.T) {
	host := informertest.New(t)
	list := func(gvr, labels string) (names string, failed error) {
		for object, err := range lister.Objects(gvr, lister.Selector{Labels: labels}) {
			if err != nil {
				return "", err
			}
			names += object.Name
		}
		return names, nil
	}
	host.Store(maps, `{"metadata": {"namespace": "default", "name": "a", "labels": {"app": "web"}}}`)

	for selector, expected := range map[string]string{"": "a", "app=web": "a", "app==web": "a", "app=db": "", "other=": ""} {
		if names, err := list(maps, selector); names != expected || err != nil {
			t.Error(selector, names, err)
		}
	}
	for _, selector := range []string{"app", "!app", "app!=db", "app===web", "app in (web)", "app=db,tier in (a)", "=web"} {
		for _, gvr := range []string{maps, "v1/pods"} {
			if _, err := list(gvr, selector); !errors.Is(err, informer.Invalid) {
				t.Error(gvr, selector, err)
			}
		}
	}
}

func TestNumbersKeepTheirDigits(t *testing.T) {
	host := informertest.New(t)
	host.Store(maps, `{"metadata": {"namespace": "default", "name": "a", "generation": 9007199254740993}, "spec": {"n": 18446744073709551615, "f": 1.50}}`)

	written, err := client.MergePatch(maps, key, map[string]any{"spec": map[string]any{"m": int64(9007199254740995)}})
	if err != nil {
		t.Fatal(err)
	}

	read, err := client.Get(maps, key)
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range []*informer.Object{written, read} {
		fields := struct {
			Generation int64  `pointer:"/metadata/generation"`
			N          uint64 `pointer:"/spec/n"`
			M          int64  `pointer:"/spec/m"`
		}{}
		if err := object.Read(&fields); err != nil {
			t.Fatal(err)
		}
		if fields.Generation != 9007199254740993 || fields.N != 18446744073709551615 || fields.M != 9007199254740995 {
			t.Errorf("%+v", fields)
		}
	}
	if differ, err := informer.Changed(written, read, ""); differ || err != nil {
		t.Error("a read has the numbers of the write", differ, err)
	}
}

func TestTextThatIsNoObjectIsRefused(t *testing.T) {
	informertest.New(t).Store(maps, text)
	for _, body := range []any{nil, 1, []string{"a"}} {
		if _, err := client.MergePatch(maps, key, body); !errors.Is(err, informer.BadArgument) {
			t.Error(body, err)
		}
	}
}

func TestAnObjectWithAFinalizerStaysUntilTheFinalizerIsRemoved(t *testing.T) {
	host := informertest.New(t)
	host.Store(maps, `{"metadata": {"namespace": "default", "name": "a", "finalizers": ["example.com/f"], "creationTimestamp": "2026-01-02T00:00:00Z"}}`)

	for range 2 {
		if err := client.Delete(maps, key); err != nil {
			t.Fatal(err)
		}
	}
	deleted, err := client.Get(maps, key)
	if err != nil || !deleted.Deleting {
		t.Fatal("the object waits for its finalizer", deleted, err)
	}
	after, err := client.Update(maps, map[string]any{"metadata": map[string]any{
		"namespace": "default", "name": "a", "finalizers": []string{"example.com/f", "example.com/g"},
	}})
	if err != nil || !after.Deleting || after.CreationTimestamp != "2026-01-02T00:00:00Z" {
		t.Error("a write does not change the fields of the server", after, err)
	}

	if lives, err := client.Finalize(after, "example.com/g", func() error { return nil }); lives || err != nil {
		t.Error(lives, err)
	}
	if lives, err := client.Finalize(deleted, "example.com/f", func() error { return nil }); lives || err != nil {
		t.Error(lives, err)
	}
	if _, err := client.Get(maps, key); !errors.Is(err, informer.NotFound) {
		t.Error("the object is gone with its last finalizer", err)
	}
}

func TestANewObjectGetsItsUIDAndItsGeneratedNameFromTheServer(t *testing.T) {
	informertest.New(t)
	made := func() map[string]any {
		return map[string]any{"metadata": map[string]any{"namespace": "default", "generateName": "job-", "uid": "of a copied object"}}
	}

	first, err := client.Create(maps, made())
	if err != nil {
		t.Fatal(err)
	}
	second, err := client.Create(maps, made())
	if err != nil {
		t.Fatal("the server makes another name", err)
	}
	if !strings.HasPrefix(first.Name, "job-") || first.Name == second.Name || first.Name == "job-" {
		t.Error(first.Name, second.Name)
	}
	if first.UID == second.UID || first.UID == "of a copied object" || first.UID == "" {
		t.Error(first.UID, second.UID)
	}
	if found, err := client.Get(maps, first.Key()); err != nil || found.UID != first.UID {
		t.Error(found, err)
	}
	dry, err := client.Create(maps, made(), client.DryRun())
	if err != nil {
		t.Fatal(err)
	}
	if dry.UID == "" || dry.UID == first.UID || dry.UID == second.UID || dry.UID == "of a copied object" {
		t.Error(dry.UID)
	}
	if _, err := client.Get(maps, dry.Key()); !errors.Is(err, informer.NotFound) {
		t.Error("a dry run keeps no object", err)
	}
}

func TestACreationWithAVersionOrWithoutANameIsRefused(t *testing.T) {
	informertest.New(t)
	for _, metadata := range []map[string]any{{"name": "a", "resourceVersion": "7"}, {}} {
		if _, err := client.Create(maps, map[string]any{"metadata": metadata}); !errors.Is(err, informer.Invalid) {
			t.Error(metadata, err)
		}
	}
}

func TestADeletedObjectWithoutFinalizersStaysAfterAWrite(t *testing.T) {
	host := informertest.New(t)
	host.Store(maps, `{"metadata": {"namespace": "default", "name": "a", "deletionTimestamp": "2026-01-02T00:00:00Z"}}`)

	if _, err := client.MergePatch(maps, key, map[string]any{"data": map[string]any{"a": "b"}}); err != nil {
		t.Fatal(err)
	}
	if found, err := client.Get(maps, key); err != nil || !found.Deleting {
		t.Error("the kubelet removes a pod that is being deleted, and a write does not", found, err)
	}
}

func TestAPluginThatDeletesWhatItListsSeesEachObjectOnce(t *testing.T) {
	host := informertest.New(t)
	want := []string{"a", "b", "c", "d", "e"}
	for _, list := range []func(remove func(*informer.Object)) error{
		func(remove func(*informer.Object)) error {
			for object, err := range client.List(maps, client.Selector{}) {
				if err != nil {
					return err
				}
				remove(object)
			}
			return nil
		},
		func(remove func(*informer.Object)) error {
			for object, err := range lister.Objects(maps, lister.Selector{}) {
				if err != nil {
					return err
				}
				remove(object)
			}
			return nil
		},
	} {
		for _, name := range want {
			host.Store(maps, fmt.Sprintf(`{"metadata": {"namespace": "default", "name": %q}}`, name))
		}
		var seen []string
		err := list(func(object *informer.Object) {
			seen = append(seen, object.Name)
			if err := client.Delete(maps, object.Key()); err != nil {
				t.Error(err)
			}
		})
		if err != nil || !slices.Equal(seen, want) {
			t.Error(seen, err)
		}
	}
}

func TestAPluginThatDeletesTheKeysThatItListsSeesEachKeyOnce(t *testing.T) {
	informertest.New(t)
	const bucket = keyvalue.Bucket("seen")
	want := []string{"a", "b", "c", "d", "e"}
	for _, key := range want {
		if err := bucket.Set(key, nil); err != nil {
			t.Fatal(err)
		}
	}

	var seen []string
	for key, err := range bucket.Keys() {
		if err != nil {
			t.Fatal(err)
		}
		seen = append(seen, key)
		if err := bucket.Delete(key); err != nil {
			t.Error(err)
		}
	}

	if !slices.Equal(seen, want) {
		t.Error(seen)
	}
}
