//go:build !wasip1

package informertest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/informer-host/informer/plugins/sdk/go/internal/host"
)

// failure is the error that a test has prepared for this request.
func (f fake) failure() *host.Error {
	if len(f.failures) == 0 {
		return nil
	}
	failure := f.failures[0]
	f.failures = f.failures[1:]
	return failure
}

// requested records a write, and returns the failure that a test has prepared for it.
func (f fake) requested(verb, gvr string, key host.Key, body string) *host.Error {
	if key.Namespace != "" {
		key.Namespace += "/"
	}
	line := fmt.Sprintf("%s %s %s%s", verb, gvr, key.Namespace, key.Name)
	if body != "" {
		line += " " + body
	}
	f.requests = append(f.requests, line)
	return f.failure()
}

func missing(gvr string, key host.Key) *host.Error {
	return &host.Error{Kind: "not-found", Message: fmt.Sprintf("%s %q not found", gvr, key.Name), Status: 404}
}

func conflict(key host.Key) *host.Error {
	return &host.Error{Kind: "conflict", Message: fmt.Sprintf("the object %q has been modified", key.Name), Status: 409}
}

func (f fake) Get(gvr string, key host.Key, _ string) (string, *host.Error) {
	if failure := f.failure(); failure != nil {
		return "", failure
	}
	found, ok := f.objects[gvr][key]
	if !ok {
		return "", missing(gvr, key)
	}
	return text(found), nil
}

func (f fake) List(gvr string, of host.ListOptions) ([]string, *string, *host.Error) {
	if failure := f.failure(); failure != nil {
		return nil, nil, failure
	}
	if of.Fields != "" {
		return nil, nil, &host.Error{Kind: "invalid", Message: "informertest has no field selectors", Status: 400}
	}
	return f.page(gvr, of.Namespace, of.Labels, of.Token)
}

func (f fake) Create(gvr, namespace, body string, options host.WriteOptions) (string, *host.Error) {
	object, key, refused := decoded(body)
	key.Namespace = namespace
	if failure := f.requested("create", gvr, key, body); failure != nil {
		return "", failure
	}
	if refused != nil {
		return "", refused
	}
	if versionOf(object) != "" {
		return "", &host.Error{Kind: "invalid", Message: "resourceVersion should not be set on objects to be created", Status: 400}
	}
	if key.Name, refused = f.nameOfNew(object); refused != nil {
		return "", refused
	}
	if _, exists := f.objects[gvr][key]; exists {
		return "", &host.Error{Kind: "already-exists", Message: fmt.Sprintf("%q already exists", key.Name), Status: 409}
	}
	return f.made(gvr, object, options), nil
}

// nameOfNew returns the name of a new object. An object without a name gets a name that begins with its generateName.
func (f fake) nameOfNew(object map[string]any) (string, *host.Error) {
	if name := metadataOf(object, "name"); name != "" {
		return name, nil
	}
	base := metadataOf(object, "generateName")
	if base == "" {
		message := "metadata.name: Required value: name or generateName is required"
		return "", &host.Error{Kind: "invalid", Message: message, Status: 422}
	}
	name := fmt.Sprintf("%s%05d", base, f.version+1)
	object["metadata"].(map[string]any)["name"] = name
	return name, nil
}

// made keeps a new object. Its UID is new, and the other fields that only the server writes are removed.
func (f fake) made(gvr string, object map[string]any, options host.WriteOptions) string {
	if metadata, ok := object["metadata"].(map[string]any); ok {
		for _, name := range ofServer {
			delete(metadata, name)
		}
		metadata["uid"] = fmt.Sprintf("uid-%d", f.version+1)
	}
	return f.kept(gvr, object, options)
}

func (f fake) Update(gvr string, key host.Key, body string, options host.WriteOptions) (string, *host.Error) {
	if failure := f.requested("update", gvr, key, body); failure != nil {
		return "", failure
	}
	object, _, refused := decoded(body)
	if refused != nil {
		return "", refused
	}
	old, ok := f.objects[gvr][key]
	if !ok {
		return "", missing(gvr, key)
	}
	if differs(uidOf(object), uidOf(old)) || differs(versionOf(object), versionOf(old)) {
		return "", conflict(key)
	}
	return f.replaced(gvr, old, object, options), nil
}

func (f fake) Patch(gvr string, key host.Key, kind host.PatchKind, body string, options host.WriteOptions) (string, *host.Error) {
	verb := map[host.PatchKind]string{host.ApplyPatch: "apply"}[kind]
	if verb == "" {
		verb = "patch"
	}
	if failure := f.requested(verb, gvr, key, body); failure != nil {
		return "", failure
	}
	if kind != host.MergePatch && kind != host.ApplyPatch {
		return "", &host.Error{Kind: "invalid", Message: "informertest knows only merge patches and apply", Status: 415}
	}
	patch, _, refused := decoded(body)
	if refused != nil {
		return "", refused
	}
	old, ok := f.objects[gvr][key]
	switch {
	case !ok && kind == host.ApplyPatch:
		return f.made(gvr, patch, options), nil
	case !ok:
		return "", missing(gvr, key)
	}
	if differs(versionOf(patch), versionOf(old)) {
		return "", conflict(key)
	}
	if differs(uidOf(patch), uidOf(old)) {
		return "", &host.Error{Kind: "invalid", Message: "metadata.uid: field is immutable", Status: 422}
	}
	copied, _, _ := decoded(text(old))
	return f.replaced(gvr, old, merged(copied, patch), options), nil
}

func (f fake) Delete(gvr string, key host.Key, options host.DeleteOptions) *host.Error {
	if failure := f.requested("delete", gvr, key, ""); failure != nil {
		return failure
	}
	old, ok := f.objects[gvr][key]
	if !ok {
		return missing(gvr, key)
	}
	if differs(options.UID, uidOf(old)) || differs(options.ResourceVersion, versionOf(old)) {
		return conflict(key)
	}
	if options.DryRun {
		return nil
	}
	if !hasFinalizers(old) {
		delete(f.objects[gvr], key)
		return nil
	}
	// The object stays until its finalizers are removed.
	if metadata, _ := old["metadata"].(map[string]any); metadata["deletionTimestamp"] == nil {
		deleting, _, _ := decoded(text(old))
		metadata, _ = deleting["metadata"].(map[string]any)
		metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
		f.stored(gvr, deleting)
	}
	return nil
}

func (f fake) RecordEvent(event host.Event) *host.Error {
	return f.requested("event", event.GVR, event.Regarding, fmt.Sprintf("%s %s %s", event.Reason, event.Action, event.Note))
}

// ofServer are the fields of the metadata that a write does not change.
var ofServer = []string{"uid", "resourceVersion", "creationTimestamp", "deletionTimestamp"}

// replaced stores the new state of an object. If an object is being deleted, the removal of its last finalizer removes the object. An
// object that is being deleted and had no finalizer stays: a pod, for example, waits for the kubelet.
func (f fake) replaced(gvr string, old, object map[string]any, options host.WriteOptions) string {
	metadata, ok := object["metadata"].(map[string]any)
	if !ok {
		metadata = map[string]any{}
		object["metadata"] = metadata
	}
	before, _ := old["metadata"].(map[string]any)
	for _, name := range ofServer {
		if value, found := before[name]; found {
			metadata[name] = value
		} else {
			delete(metadata, name)
		}
	}
	isGone := metadata["deletionTimestamp"] != nil && hasFinalizers(old) && !hasFinalizers(object)
	if options.DryRun || !isGone {
		return f.kept(gvr, object, options)
	}
	namespace, _ := metadata["namespace"].(string)
	name, _ := metadata["name"].(string)
	delete(f.objects[gvr], host.Key{Namespace: namespace, Name: name})
	return text(object)
}

func hasFinalizers(object map[string]any) bool {
	metadata, _ := object["metadata"].(map[string]any)
	finalizers, _ := metadata["finalizers"].([]any)
	return len(finalizers) > 0
}

// kept stores an object unless the write is a dry run.
func (f fake) kept(gvr string, object map[string]any, options host.WriteOptions) string {
	if options.DryRun {
		return text(object)
	}
	return f.stored(gvr, object)
}

func decoded(body string) (map[string]any, host.Key, *host.Error) {
	object, err := parsed(body)
	if err != nil {
		return nil, host.Key{}, &host.Error{Kind: "bad-argument", Message: err.Error()}
	}
	metadata, _ := object["metadata"].(map[string]any)
	namespace, _ := metadata["namespace"].(string)
	name, _ := metadata["name"].(string)
	return object, host.Key{Namespace: namespace, Name: name}, nil
}

// parsed returns an object whose numbers keep their digits, as in the API server. A float64 would round large whole numbers.
func parsed(text string) (map[string]any, error) {
	var object map[string]any
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&object); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is more text after the JSON object")
	}
	if object == nil {
		return nil, errors.New("null is no object")
	}
	return object, nil
}

func uidOf(object map[string]any) string     { return metadataOf(object, "uid") }
func versionOf(object map[string]any) string { return metadataOf(object, "resourceVersion") }

func metadataOf(object map[string]any, field string) string {
	metadata, _ := object["metadata"].(map[string]any)
	value, _ := metadata[field].(string)
	return value
}

// differs returns true if a request expects a value that the object does not have. An empty value expects none.
func differs(expected, found string) bool { return expected != "" && expected != found }

// merged applies a merge patch (RFC 7386).
func merged(target, patch map[string]any) map[string]any {
	for name, value := range patch {
		nested, isObject := value.(map[string]any)
		switch {
		case value == nil:
			delete(target, name)
		case isObject:
			inside, _ := target[name].(map[string]any)
			if inside == nil {
				inside = map[string]any{}
			}
			target[name] = merged(inside, nested)
		default:
			target[name] = value
		}
	}
	return target
}
