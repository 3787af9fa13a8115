package client

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"

	informer "github.com/informer-host/informer/plugins/sdk/go"
)

// attempts is the most attempts of a write that conflicts with writes of other clients.
const attempts = 5

// RetryOnConflict calls a function that reads, changes and writes, again when it fails with [informer.Conflict], at most five times.
func RetryOnConflict(attempt func() error) error {
	var err error
	for range attempts {
		if err = attempt(); !errors.Is(err, informer.Conflict) {
			return err
		}
	}
	return err
}

// Modify reads an object from the API server, lets a function change it, and writes what has changed. If the object was changed by
// another client meanwhile, it starts again, at most five times. It returns the object after the write, or as it was read if the
// function changed nothing; then nothing is written.
//
//	_, err := client.Modify("apps/v1/deployments", key, func(deployment *deployment) error {
//		deployment.Spec.Replicas = 3
//		return nil
//	})
//
// T may have only the fields of interest, because the write is a merge patch of the difference. Such a patch replaces arrays as a
// whole: if the function changes an array whose elements have fields that T lacks, Modify fails. It needs the grants `read` and
// `patch`. With [Subresource] for the status, the function changes the status only.
func Modify[T any](gvr string, key informer.Key, change func(object *T) error, options ...Option) (*informer.Object, error) {
	var result *informer.Object
	err := RetryOnConflict(func() error {
		read, err := Get(gvr, key)
		if err != nil {
			return err
		}
		value, err := informer.Decode[T](read)
		if err != nil {
			return err
		}
		before, err := tree(value)
		if err != nil {
			return err
		}
		if err := change(&value); err != nil {
			return err
		}
		patch, err := difference(read, before, value)
		if err != nil {
			return fmt.Errorf("%s %s: %w", gvr, key, err)
		}
		if result = read; len(patch) == 0 {
			return nil
		}
		result, err = MergePatch(gvr, key, versioned(patch, read), options...)
		return err
	})
	return result, err
}

// Finalize keeps a finalizer on an object that lives, and cleans up when the object is deleted:
//
//	lives, err := client.Finalize(queue, "example.com/cleanup", func() error { return cleanUp(queue) })
//	if err != nil || !lives {
//		return err
//	}
//
// It returns true if the object lives and has the finalizer: go on with your work. It returns false if the object is being deleted. Then
// cleanup was called and the finalizer is removed, unless an earlier call has done this. If cleanup fails, the finalizer stays and the call
// is repeated, so cleanup may be called several times for an object. If the object was deleted after the state in object, a finalizer would
// come too late: Finalize returns false, and does not call cleanup.
//
// The object comes from a notification or from lister.Get. The finalizer is a name with a domain of yours. The plugin needs the grants
// `read` and `patch`. If it declares the fields that it reads, /metadata/finalizers must be one of them.
func Finalize(object *informer.Object, finalizer string, cleanup func() error) (bool, error) {
	var before struct {
		Finalizers []string `pointer:"/metadata/finalizers"`
	}
	if err := object.Read(&before); err != nil {
		return false, err
	}
	lives := !object.Deleting
	if lives == slices.Contains(before.Finalizers, finalizer) {
		// The object lives and has the finalizer, or it is being deleted and has lost the finalizer.
		return lives, nil
	}
	if !lives {
		if err := cleanup(); err != nil {
			return false, err
		}
	}
	var keeps bool
	_, err := Modify(object.GVR, object.Key(), func(current *finalized) error {
		// The object may be deleted by now, and the API server then refuses new finalizers. A new object may have its name.
		found := &current.Metadata
		same := found.UID == object.UID && (found.DeletionTimestamp == nil) == lives
		keeps = same && lives
		switch {
		case same && !lives:
			found.Finalizers = without(found.Finalizers, finalizer)
		case same && !slices.Contains(found.Finalizers, finalizer):
			found.Finalizers = append(found.Finalizers, finalizer)
		}
		return nil
	})
	if !lives && errors.Is(err, informer.NotFound) {
		// The object is gone, so it has no finalizer.
		return false, nil
	}
	return keeps && err == nil, err
}

// finalized has the fields of an object that [Finalize] reads, and the list that it changes.
type finalized struct {
	Metadata struct {
		UID               string   `json:"uid"`
		DeletionTimestamp *string  `json:"deletionTimestamp"`
		Finalizers        []string `json:"finalizers"`
	} `json:"metadata"`
}

// AddFinalizer adds a finalizer to an object that does not have it, and returns true if it was added. If another client changes the object
// meanwhile, it tries again, as [Modify] does. [Finalize] is simpler, and never touches a new object that has the name of a deleted one.
func AddFinalizer(gvr string, key informer.Key, finalizer string) (bool, error) {
	return finalizers(gvr, key, func(found []string) []string {
		if slices.Contains(found, finalizer) {
			return found
		}
		return append(found, finalizer)
	})
}

// RemoveFinalizer removes a finalizer from the object that has this name now, and returns true if it was there. An object that is gone
// has none.
func RemoveFinalizer(gvr string, key informer.Key, finalizer string) (bool, error) {
	removed, err := finalizers(gvr, key, func(found []string) []string {
		return without(found, finalizer)
	})
	if errors.Is(err, informer.NotFound) {
		return false, nil
	}
	return removed, err
}

// without returns a list of finalizers without one of them.
func without(found []string, finalizer string) []string {
	return slices.DeleteFunc(slices.Clone(found), func(name string) bool { return name == finalizer })
}

func finalizers(gvr string, key informer.Key, change func([]string) []string) (bool, error) {
	type object struct {
		Metadata struct {
			Finalizers []string `json:"finalizers"`
		} `json:"metadata"`
	}
	var changed bool
	_, err := Modify(gvr, key, func(object *object) error {
		before := len(object.Metadata.Finalizers)
		object.Metadata.Finalizers = change(object.Metadata.Finalizers)
		changed = len(object.Metadata.Finalizers) != before
		return nil
	})
	return changed && err == nil, err
}

// versioned adds the version that was read to a patch, so that the server refuses it if the object has changed.
func versioned(patch map[string]any, read *informer.Object) map[string]any {
	metadata, ok := patch["metadata"].(map[string]any)
	if !ok {
		metadata = map[string]any{}
		patch["metadata"] = metadata
	}
	metadata["resourceVersion"] = read.ResourceVersion
	return patch
}

// difference is the merge patch from before to after.
func difference(read *informer.Object, before any, after any) (map[string]any, error) {
	changed, err := tree(after)
	if err != nil {
		return nil, err
	}
	text, err := read.JSON()
	if err != nil {
		return nil, err
	}
	whole, err := parsed([]byte(text))
	if err != nil {
		return nil, err
	}
	from, isObject := before.(map[string]any)
	to, stillObject := changed.(map[string]any)
	if !isObject || !stillObject {
		return nil, fmt.Errorf("%T does not encode as a JSON object", after)
	}
	return merge(whole, from, to, "")
}

// merge is the merge patch of an object at a path. whole is what the server has there.
func merge(whole any, from, to map[string]any, path string) (map[string]any, error) {
	patch := map[string]any{}
	inside, _ := whole.(map[string]any)
	for name := range from {
		if _, kept := to[name]; !kept {
			patch[name] = nil
		}
	}
	for name, value := range to {
		old, existed := from[name]
		if existed && reflect.DeepEqual(old, value) {
			continue
		}
		at := path + "/" + name
		oldObject, wasObject := old.(map[string]any)
		newObject, isObject := value.(map[string]any)
		if wasObject && isObject {
			nested, err := merge(inside[name], oldObject, newObject, at)
			if err != nil {
				return nil, err
			}
			patch[name] = nested
			continue
		}
		if array, isArray := inside[name].([]any); isArray && len(array) > 0 && !reflect.DeepEqual(inside[name], old) {
			return nil, fmt.Errorf("the type lacks fields of the array %s, which a change would remove", at)
		}
		patch[name] = value
	}
	return patch, nil
}

// tree is a value as JSON of maps and arrays.
func tree(value any) (any, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	return parsed(text)
}

// parsed keeps numbers as they are written.
func parsed(text []byte) (any, error) {
	var value any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	err := decoder.Decode(&value)
	return value, err
}
