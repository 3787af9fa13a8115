package client_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	informer "github.com/informer-host/informer/plugins/sdk/go"
	"github.com/informer-host/informer/plugins/sdk/go/client"
	"github.com/informer-host/informer/plugins/sdk/go/informertest"
	"github.com/informer-host/informer/plugins/sdk/go/internal/host"
)

const deployments = "apps/v1/deployments"

var web = informer.Key{Namespace: "default", Name: "web"}

type deployment struct {
	Spec struct {
		Replicas int `json:"replicas"`
	} `json:"spec"`
}

// stored is a host with the deployment web.
func stored(t *testing.T) (*informertest.Host, *informer.Object) {
	host := informertest.New(t)
	return host, host.Store(deployments, `{"metadata": {"namespace": "default", "name": "web"},
		"spec": {"replicas": 1, "paused": true, "containers": [{"name": "a", "image": "nginx"}]}}`)
}

func TestModifyWritesOnlyWhatChanged(t *testing.T) {
	host, before := stored(t)

	after, err := client.Modify(deployments, web, func(deployment *deployment) error {
		deployment.Spec.Replicas = 3
		return nil
	})

	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf(`patch %s default/web {"metadata":{"resourceVersion":%q},"spec":{"replicas":3}}`, deployments, before.ResourceVersion)
	if got := host.Requests(); !slices.Equal(got, []string{want}) {
		t.Error(got)
	}
	text, _ := after.JSON()
	if after.ResourceVersion == before.ResourceVersion || !strings.Contains(text, `"paused":true`) {
		t.Error(text)
	}
}

func TestModifyOfNothingWritesNothing(t *testing.T) {
	host, before := stored(t)

	same, err := client.Modify(deployments, web, func(*deployment) error { return nil })

	if err != nil || same.ResourceVersion != before.ResourceVersion || len(host.Requests()) != 0 {
		t.Error(same, err, host.Requests())
	}
}

func TestModifyReadsAgainAfterAConflict(t *testing.T) {
	host, _ := stored(t)
	var seen []int

	_, err := client.Modify(deployments, web, func(deployment *deployment) error {
		seen = append(seen, deployment.Spec.Replicas)
		if len(seen) == 1 {
			// Another client writes between the read and the write.
			host.Store(deployments, `{"metadata": {"namespace": "default", "name": "web"}, "spec": {"replicas": 5}}`)
		}
		deployment.Spec.Replicas++
		return nil
	})

	after, _ := client.Get(deployments, web)
	decoded, _ := informer.Decode[deployment](after)
	if err != nil || !slices.Equal(seen, []int{1, 5}) || decoded.Spec.Replicas != 6 {
		t.Error(err, seen, decoded)
	}
}

func TestConflictsWithoutEndAreAnError(t *testing.T) {
	calls := 0
	err := client.RetryOnConflict(func() error {
		calls++
		return fmt.Errorf("try %d: %w", calls, informer.Conflict)
	})
	if calls != 5 || !errors.Is(err, informer.Conflict) {
		t.Error(calls, err)
	}
	calls = 0
	if err := client.RetryOnConflict(func() error { calls++; return informer.NotFound }); calls != 1 || !errors.Is(err, informer.NotFound) {
		t.Error("other errors are not tried again")
	}
}

func TestModifyDoesNotRemoveWhatTheTypeLacksFromAnArray(t *testing.T) {
	host, _ := stored(t)
	type partial struct {
		Spec struct {
			Containers []struct {
				Image string `json:"image"`
			} `json:"containers"`
		} `json:"spec"`
	}

	_, err := client.Modify(deployments, web, func(object *partial) error {
		object.Spec.Containers[0].Image = "caddy"
		return nil
	})
	if err == nil || !strings.Contains(err.Error(), "/spec/containers") || len(host.Requests()) != 0 {
		t.Error(err, host.Requests())
	}

	_, err = client.Modify(deployments, web, func(object *map[string]any) error {
		spec := (*object)["spec"].(map[string]any)
		spec["containers"].([]any)[0].(map[string]any)["image"] = "caddy"
		delete(spec, "paused")
		return nil
	})
	if got := host.Requests(); err != nil || len(got) != 1 ||
		!strings.HasSuffix(got[0], `"spec":{"containers":[{"image":"caddy","name":"a"}],"paused":null}}`) {
		t.Error(err, got)
	}
}

func TestTheErrorOfTheChangeEndsModify(t *testing.T) {
	host, _ := stored(t)
	_, err := client.Modify(deployments, web, func(*deployment) error { return errors.New("no") })
	if err == nil || err.Error() != "no" || len(host.Requests()) != 0 {
		t.Error(err)
	}
}

func TestAFinalizerIsAddedAndRemovedOnce(t *testing.T) {
	host, _ := stored(t)
	for _, want := range []bool{true, false} {
		if added, err := client.AddFinalizer(deployments, web, "example.com/f"); err != nil || added != want {
			t.Error(added, err)
		}
	}
	for _, want := range []bool{true, false} {
		if removed, err := client.RemoveFinalizer(deployments, web, "example.com/f"); err != nil || removed != want {
			t.Error(removed, err)
		}
	}
	if len(host.Requests()) != 2 {
		t.Error(host.Requests())
	}
	host.Remove(deployments, web)
	if removed, err := client.RemoveFinalizer(deployments, web, "example.com/f"); removed || err != nil {
		t.Error("an object that is gone has no finalizer", err)
	}
	if _, err := client.AddFinalizer(deployments, web, "example.com/f"); !errors.Is(err, informer.NotFound) {
		t.Error(err)
	}
}

const mine = "example.com/mine"

// withFinalizers is a deployment with this UID. It is being deleted if there is a time.
func withFinalizers(uid, deleted string, finalizers ...string) string {
	names := `[]`
	if len(finalizers) > 0 {
		names = `["` + strings.Join(finalizers, `", "`) + `"]`
	}
	if deleted != "" {
		deleted = fmt.Sprintf(`"deletionTimestamp": %q, `, deleted)
	}
	return fmt.Sprintf(`{"metadata": {"namespace": "default", "name": "web", "uid": %q, %s"finalizers": %s}}`, uid, deleted, names)
}

// finalizersOf are those of the deployment web.
func finalizersOf(t *testing.T) []string {
	object, err := client.Get(deployments, web)
	if err != nil {
		t.Fatal(err)
	}
	read := struct {
		Finalizers []string `pointer:"/metadata/finalizers"`
	}{}
	if err := object.Read(&read); err != nil {
		t.Fatal(err)
	}
	return read.Finalizers
}

func TestALivingObjectGetsTheFinalizerOnce(t *testing.T) {
	host := informertest.New(t)
	never := func() error { return errors.New("not to be cleaned up") }
	before := host.Store(deployments, withFinalizers("u1", "", "other"))

	if lives, err := client.Finalize(before, mine, never); !lives || err != nil {
		t.Error(lives, err)
	}
	after, _ := client.Get(deployments, web)
	if lives, err := client.Finalize(after, mine, never); !lives || err != nil || len(host.Requests()) != 1 {
		t.Error("nothing more is sent", lives, err, host.Requests())
	}
	if got := finalizersOf(t); !slices.Equal(got, []string{"other", mine}) {
		t.Error(got)
	}
}

func TestADeletedObjectLosesTheFinalizerAfterTheCleanup(t *testing.T) {
	host := informertest.New(t)
	deleted := host.Store(deployments, withFinalizers("u1", "2026-01-01T00:00:00Z", "other", mine))
	failed := errors.New("not yet")
	if lives, err := client.Finalize(deleted, mine, func() error { return failed }); lives || err != failed || len(host.Requests()) != 0 {
		t.Error("the finalizer stays", lives, err, host.Requests())
	}

	cleaned := 0
	cleanup := func() error { cleaned++; return nil }
	if lives, err := client.Finalize(deleted, mine, cleanup); lives || err != nil || cleaned != 1 {
		t.Error(lives, err, cleaned)
	}
	if got := finalizersOf(t); !slices.Equal(got, []string{"other"}) {
		t.Error(got)
	}
	after, _ := client.Get(deployments, web)
	if lives, err := client.Finalize(after, mine, cleanup); lives || err != nil || cleaned != 1 {
		t.Error("it is cleaned up once", lives, err, cleaned)
	}
}

func TestANewObjectOfTheSameNameKeepsItsFinalizers(t *testing.T) {
	host := informertest.New(t)
	deleted := host.Object(deployments, withFinalizers("u1", "2026-01-01T00:00:00Z", mine))
	host.Store(deployments, withFinalizers("u2", "", mine))
	if lives, err := client.Finalize(deleted, mine, func() error { return nil }); lives || err != nil {
		t.Error(lives, err)
	}
	if got := finalizersOf(t); !slices.Equal(got, []string{mine}) || len(host.Requests()) != 0 {
		t.Error(got, host.Requests())
	}

	host.Remove(deployments, web)
	if lives, err := client.Finalize(deleted, mine, func() error { return nil }); lives || err != nil {
		t.Error("an object that is gone has no finalizer", lives, err)
	}
}

func TestAnObjectThatWasDeletedMeanwhileGetsNoFinalizerAndDoesNotLive(t *testing.T) {
	host := informertest.New(t)
	for _, now := range []string{withFinalizers("u1", "2026-01-01T00:00:00Z", "other"), withFinalizers("u2", "")} {
		host.Store(deployments, now)
		seen := host.Object(deployments, withFinalizers("u1", "", "other"))
		if lives, err := client.Finalize(seen, mine, func() error { return nil }); lives || err != nil || len(host.Requests()) != 0 {
			t.Error(lives, err, host.Requests())
		}
	}
}

// A race changes the object right before the first patch.
type race struct {
	host.Host
	change func()
}

func (race *race) Patch(gvr string, key host.Key, kind host.PatchKind, body string, options host.WriteOptions) (string, *host.Error) {
	if race.change != nil {
		race.change()
		race.change = nil
	}
	return race.Host.Patch(gvr, key, kind, body, options)
}

func TestAFinalizerIsRemovedFromTheListThatAnotherClientHasShortened(t *testing.T) {
	made := informertest.New(t)
	finalizers := func(list string) *informer.Object {
		return made.Store(deployments, `{"metadata": {"namespace": "default", "name": "web", "finalizers": `+list+`}}`)
	}
	finalizers(`["example.com/other", "example.com/f"]`)
	host.Use(&race{Host: host.Use(nil), change: func() { finalizers(`["example.com/f"]`) }})

	removed, err := client.RemoveFinalizer(deployments, web, "example.com/f")

	after, _ := client.Get(deployments, web)
	text, _ := after.JSON()
	if !removed || err != nil || !strings.Contains(text, `"finalizers":[]`) || len(made.Requests()) != 2 {
		t.Error(removed, err, text, made.Requests())
	}
}

func TestAnInstanceKnowsItsOwnWrites(t *testing.T) {
	_, before := stored(t)
	if client.Wrote(before) {
		t.Error("the test wrote this state, not the plugin")
	}
	written, err := client.MergePatch(deployments, web, map[string]any{"metadata": map[string]any{"labels": map[string]string{"a": "b"}}})
	if err != nil || !client.Wrote(written) {
		t.Error(err)
	}
	again, err := client.Get(deployments, web)
	if err != nil || !client.Wrote(again) {
		t.Error("a read of the state is the same state", err)
	}
	for i := range 1100 {
		if _, err := client.MergePatch(deployments, web, map[string]any{"x": i}); err != nil {
			t.Fatal(err)
		}
	}
	if client.Wrote(written) {
		t.Error("only the last 1024 writes are known")
	}
}

func TestAWriteToTheHostOfAnEarlierTestIsNoOwnWrite(t *testing.T) {
	stored(t)
	written, err := client.MergePatch(deployments, web, map[string]any{"x": 1})
	if err != nil {
		t.Fatal(err)
	}

	made, _ := stored(t)
	foreign := made.Store(deployments, `{"metadata": {"namespace": "default", "name": "web"}, "x": 2}`)

	if foreign.UID != written.UID || foreign.ResourceVersion != written.ResourceVersion || client.Wrote(foreign) {
		t.Error("a host counts from the start", foreign.Meta)
	}
}

func TestADryRunIsNoOwnWrite(t *testing.T) {
	_, before := stored(t)
	labels := map[string]any{"metadata": map[string]any{"labels": map[string]string{"a": "b"}}}

	answer, err := client.MergePatch(deployments, web, labels, client.DryRun())
	if err != nil || answer.ResourceVersion != before.ResourceVersion {
		t.Fatal(answer, err)
	}
	if client.Wrote(answer) || client.Wrote(before) {
		t.Error("the answer to a dry run has the version of the object that is there")
	}
}

// A server is an API server that answers each write with the present state, because the write changes nothing.
type server struct {
	host.Host
	object string
}

func (server server) Get(string, host.Key, string) (string, *host.Error) { return server.object, nil }

func (server server) Update(string, host.Key, string, host.WriteOptions) (string, *host.Error) {
	return server.object, nil
}

func (server server) Patch(string, host.Key, host.PatchKind, string, host.WriteOptions) (string, *host.Error) {
	return server.object, nil
}

func TestAWriteThatChangesNothingDoesNotMakeTheVersionOfAnotherClientAnOwnOne(t *testing.T) {
	const text = `{"metadata": {"namespace": "default", "name": "web", "uid": "u", "resourceVersion": "foreign"}, "spec": {"replicas": 1}}`
	before := host.Use(server{object: text})
	t.Cleanup(func() { host.Use(before) })
	read, err := client.Get(deployments, web)
	if err != nil {
		t.Fatal(err)
	}
	version := map[string]any{"metadata": map[string]any{"namespace": "default", "name": "web", "resourceVersion": "foreign"}}
	operations := []map[string]string{{"op": "test", "path": "/metadata/resourceVersion", "value": "foreign"}}
	for name, write := range map[string]func() (*informer.Object, error){
		"Update of an object": func() (*informer.Object, error) { return client.Update(deployments, read) },
		"Update":              func() (*informer.Object, error) { return client.Update(deployments, version) },
		"Apply":               func() (*informer.Object, error) { return client.Apply(deployments, version) },
		"MergePatch":          func() (*informer.Object, error) { return client.MergePatch(deployments, web, version) },
		"StrategicMergePatch": func() (*informer.Object, error) { return client.StrategicMergePatch(deployments, web, version) },
		"JSONPatch":           func() (*informer.Object, error) { return client.JSONPatch(deployments, web, operations) },
		"Modify": func() (*informer.Object, error) {
			return client.Modify(deployments, web, func(deployment *deployment) error {
				deployment.Spec.Replicas = 3 // The server, for example a webhook, makes it 1 again.
				return nil
			})
		},
	} {
		if answer, err := write(); err != nil || answer.ResourceVersion != "foreign" || client.Wrote(answer) {
			t.Errorf("%s: the request had this version: %v", name, err)
		}
	}

	host.Use(server{object: strings.Replace(text, "foreign", "unknown", 1)})
	answer, err := client.MergePatch(deployments, web, map[string]any{})
	if err != nil || !client.Wrote(answer) {
		t.Error("the version before the write is not known", err)
	}
}

func TestAWriteThatNamesTheVersionBeforeItIsAnOwnOne(t *testing.T) {
	before := informertest.New(t).Store(deployments, `{"metadata": {"namespace": "default", "name": "web", "uid": "named"}}`)

	written, err := client.Update(deployments, before)

	if err != nil || !client.Wrote(written) || client.Wrote(before) {
		t.Error(written, err)
	}
}

func TestRequestsCarryTheObjectAndItsKey(t *testing.T) {
	host, _ := stored(t)
	object := map[string]any{"metadata": map[string]string{"namespace": "default", "name": "new"}}

	if _, err := client.Create(deployments, object); err != nil {
		t.Error(err)
	}
	if _, err := client.Create(deployments, object); !errors.Is(err, informer.AlreadyExists) {
		t.Error(err)
	}
	if _, err := client.Apply(deployments, object, client.Force()); err != nil {
		t.Error(err)
	}
	if _, err := client.Update(deployments, object, client.DryRun()); err != nil {
		t.Error(err)
	}
	if err := client.Delete(deployments, informer.Key{Namespace: "default", Name: "new"}, client.Foreground()); err != nil {
		t.Error(err)
	}
	if err := client.Record(client.Event{GVR: deployments, Regarding: web, Reason: "ScaledUp", Action: "Scaling", Note: "to 3"}); err != nil {
		t.Error(err)
	}
	body := ` apps/v1/deployments default/new {"metadata":{"name":"new","namespace":"default"}}`
	want := []string{"create" + body, "create" + body, "apply" + body, "update" + body, "delete apps/v1/deployments default/new",
		"event apps/v1/deployments default/web ScaledUp Scaling to 3"}
	if got := host.Requests(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestADeletionOfOneStateFailsIfTheObjectHasChanged(t *testing.T) {
	host, before := stored(t)
	host.Store(deployments, `{"metadata": {"namespace": "default", "name": "web"}}`)

	if err := client.Delete(deployments, web, client.Only(before)); !errors.Is(err, informer.Conflict) {
		t.Error(err)
	}
}

func TestAListGoesThroughAllPagesAndAFailureEndsIt(t *testing.T) {
	host, _ := stored(t)
	for _, name := range []string{"a", "b", "c"} {
		host.Store(deployments, fmt.Sprintf(`{"metadata": {"namespace": "default", "name": %q}}`, name))
	}
	var names []string
	for object, err := range client.List(deployments, client.Selector{Namespace: "default", PageSize: 2}) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, object.Name)
	}
	if !slices.Equal(names, []string{"a", "b", "c", "web"}) {
		t.Error(names)
	}
	host.Fail(informer.Forbidden, "no permission")
	for _, err := range client.List(deployments, client.Selector{}) {
		if !errors.Is(err, informer.Forbidden) {
			t.Error(err)
		}
	}
}
