package informer_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	informer "github.com/informer-host/informer/plugins/sdk/go"
	"github.com/informer-host/informer/plugins/sdk/go/informertest"
	"github.com/informer-host/informer/plugins/sdk/go/internal/host"
)

const web = `{
	"apiVersion": "apps/v1", "kind": "Deployment",
	"metadata": {
		"namespace": "default", "name": "web", "uid": "u1", "resourceVersion": "7", "labels": {"app": "web"},
		"annotations": {"example.com/owner": "me", "a~b": "tilde"}, "deletionTimestamp": "2026-11-21T02:19:18Z",
		"ownerReferences": [
			{"apiVersion": "v1", "kind": "ConfigMap", "name": "c", "uid": "u2"},
			{"apiVersion": "v1", "kind": "Service", "name": "s", "uid": "u3", "controller": true}
		]
	},
	"spec": {"replicas": 3, "template": {"spec": {"containers": [{"image": "nginx"}]}}}
}`

func object(t *testing.T, text string) *informer.Object {
	t.Helper()
	object, err := informer.FromJSON("apps/v1/deployments", text)
	if err != nil {
		t.Fatal(err)
	}
	return object
}

func TestAKeyIsWrittenAsClientGoWritesIt(t *testing.T) {
	for text, want := range map[string]informer.Key{"default/web": {Namespace: "default", Name: "web"}, "node-1": {Name: "node-1"}} {
		key, err := informer.ParseKey(text)
		if err != nil || key != want || key.String() != text {
			t.Errorf("%q is %v, %v", text, key, err)
		}
	}
	for _, text := range []string{"", "/", "a/", "/a", "a/b/c"} {
		if _, err := informer.ParseKey(text); err == nil {
			t.Errorf("%q is no key", text)
		}
	}
}

func TestAWorkKeyMayBeginWithWhatItIsOf(t *testing.T) {
	for text, want := range map[string]string{"default/web": "", "v1/pods default/web": "v1/pods", "apps/v1/ReplicaSet default/web": "apps/v1/ReplicaSet"} {
		of, key, err := informer.ParseWorkKey(text)
		if err != nil || of != want || key.String() != "default/web" {
			t.Errorf("%q is %q %v, %v", text, of, key, err)
		}
	}
	if _, _, err := informer.ParseWorkKey("v1/pods "); err == nil {
		t.Error("there is no name")
	}
}

func TestTheMetadataOfAnObjectIsTyped(t *testing.T) {
	web := object(t, web)

	if web.Key().String() != "default/web" || web.UID != "u1" || web.ResourceVersion != "7" || web.Labels["app"] != "web" || !web.Deleting {
		t.Errorf("%+v", web.Meta)
	}
	if want := (informer.Owner{APIVersion: "v1", Kind: "Service", Name: "s", UID: "u3"}); *web.Controller != want {
		t.Errorf("%+v", web.Controller)
	}
	if _, err := informer.FromJSON("v1/pods", "{"); err == nil || !strings.Contains(err.Error(), "v1/pods") {
		t.Error(err)
	}
}

func TestFieldsAreReadByTheirPointers(t *testing.T) {
	fields := struct {
		Replicas int    `pointer:"/spec/replicas"`
		Image    string `pointer:"/spec/template/spec/containers/0/image"`
		Owner    string `pointer:"/metadata/annotations/example.com~1owner"`
		Tilde    string `pointer:"/metadata/annotations/a~0b"`
		Paused   bool   `pointer:"/spec/paused"`
		Second   string `pointer:"/spec/template/spec/containers/1/image"`
		Other    string
	}{Paused: true, Other: "kept"}

	if err := object(t, web).Read(&fields); err != nil {
		t.Fatal(err)
	}

	if got := fmt.Sprint(fields); got != "{3 nginx me tilde true  kept}" {
		t.Error(got)
	}
}

func TestAWrongTargetOfReadIsRefusedWithTheReason(t *testing.T) {
	var text struct {
		Replicas string `pointer:"/spec/replicas"`
	}
	var plain struct{ Replicas int }
	var hidden struct {
		replicas int `pointer:"/spec/replicas"`
	}
	_ = hidden.replicas
	var relative struct {
		Replicas int `pointer:"spec"`
	}
	for want, target := range map[string]any{
		"/spec/replicas: json: cannot unmarshal number": &text,
		"has no field with a tag like":                  &plain,
		"is not exported":                               &hidden,
		"is no pointer to a struct":                     text,
		"invalid: the pointer \"spec\"":                 &relative,
	} {
		if err := object(t, web).Read(target); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestAnObjectIsDecodedIntoAType(t *testing.T) {
	type deployment struct{ Spec struct{ Replicas int } }

	decoded, err := informer.Decode[deployment](object(t, web))
	if err != nil || decoded.Spec.Replicas != 3 {
		t.Errorf("%+v, %v", decoded, err)
	}
	_, err = informer.Decode[struct{ Spec []int }](object(t, web))
	if err == nil || !strings.HasPrefix(err.Error(), "default/web: ") {
		t.Error(err)
	}
}

func TestChangedComparesValuesAndNotTheirText(t *testing.T) {
	before := object(t, `{"spec": {"a": 1, "b": [1, 2]}, "x": 1}`)
	after := object(t, `{"spec": {"b": [1,2], "a": 1}, "x": 2}`)

	for pointer, want := range map[string]bool{"/spec": false, "/x": true, "/missing": false, "": true} {
		if got, err := informer.Changed(before, after, pointer); err != nil || got != want {
			t.Errorf("%q: %v, %v", pointer, got, err)
		}
	}
}

func TestChangedComparesEachDigitOfANumber(t *testing.T) {
	for _, numbers := range []struct {
		before, after string
		want          bool
	}{
		{"9007199254740993", "9007199254740992", true},
		{"18446744073709551615", "18446744073709551614", true},
		{"9007199254740993", "9007199254740993", false},
		{"[{\"x\": 9007199254740993}]", "[{\"x\": 9007199254740992}]", true},
		{"1", "1.0", true},
		{"1.0", "1e0", false},
		{"1e999", "1e999", false},
		{"0.1", "0.2", true},
	} {
		before, after := object(t, `{"spec": `+numbers.before+`}`), object(t, `{"spec": `+numbers.after+`}`)
		if got, err := informer.Changed(before, after, "/spec"); err != nil || got != numbers.want {
			t.Errorf("%v: %v, %v", numbers, got, err)
		}
	}
}

func TestAControllerReferenceHasTheKindOfTheOwner(t *testing.T) {
	reference, err := informer.ControllerReference(object(t, web))

	want := informer.OwnerReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web", UID: "u1", Controller: true, BlockOwnerDeletion: true}
	if err != nil || reference != want {
		t.Errorf("%+v, %v", reference, err)
	}
}

func TestARefusalIsFoundByItsKindAndAsAnError(t *testing.T) {
	err := fmt.Errorf("web: %w", informer.Refused(&host.Error{Kind: "conflict", Message: "changed", Status: 409, RetryAfterMillis: 1500}))

	var refused *informer.Error
	if !errors.As(err, &refused) || refused.Status != 409 || refused.RetryAfter != 1500*time.Millisecond {
		t.Errorf("%+v", refused)
	}
	if !errors.Is(err, informer.Conflict) || errors.Is(err, informer.NotFound) {
		t.Error("the kind is conflict")
	}
	if err.Error() != "web: conflict: changed" {
		t.Error(err)
	}
	if informer.Refused(nil) != nil {
		t.Error("no refusal is no error")
	}
}

func TestAnObjectIsStaleAfterItsCall(t *testing.T) {
	informertest.New(t)
	stale := informer.OfToken("v1/pods", host.Meta{Name: "a"}, 1)

	if _, err := stale.JSON(); !errors.Is(err, informer.StaleToken) {
		t.Error(err)
	}
	if _, err := informer.Changed(stale, stale, "/spec"); !errors.Is(err, informer.StaleToken) {
		t.Error(err)
	}
}

func TestAMisspeltKeyOfTheConfigurationIsAnError(t *testing.T) {
	type settings struct{ Replicas int }

	if got, err := informer.DecodeConfig[settings](`{"replicas": 2}`); err != nil || got.Replicas != 2 {
		t.Error(got, err)
	}
	_, err := informer.DecodeConfig[settings](`{"replica": 2}`)
	if err == nil || !strings.HasPrefix(err.Error(), "[plugin.config]: ") || !strings.Contains(err.Error(), "replica") {
		t.Error(err)
	}
}

func TestMarksOfNothingAreNoErrors(t *testing.T) {
	if informer.Terminal(nil) != nil || informer.RetryAfter(nil, time.Second) != nil {
		t.Error("a mark of nil is nil")
	}
}
