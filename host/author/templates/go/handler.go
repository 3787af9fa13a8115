// Package main is a plugin: the host calls the handlers when a Deployment is added, updated or deleted.
package main

import (
	"encoding/json"
	"fmt"
	"strconv"

	"__NAME__/bindings/handler"
	"__NAME__/bindings/informer_plugin_lister"
	"__NAME__/bindings/informer_plugin_objects"
	"__NAME__/bindings/plugin"
	"__NAME__/bindings/wasi_keyvalue_store"
	_ "__NAME__/bindings/wit_exports"
	"__NAME__/bindings/wit/types"
)

const deployments = "apps/v1/deployments"

type hello struct{}

func init() { handler.Register(hello{}) }

func main() {}

func (hello) OnAdd(object handler.Object, _ handler.Cause) error { return report("added", object) }

func (hello) OnUpdate(_ uint32, object handler.Object, _ handler.Cause) error {
	return report("updated", object)
}

func (hello) OnDelete(object handler.Object, _ bool) error {
	bucket, err := plugin.Value(wasi_keyvalue_store.Open("changes"))
	if err != nil {
		return err
	}
	defer bucket.Drop()
	changes, err := count(bucket, key(object))
	if err != nil {
		return err
	}
	if _, err := plugin.Value(bucket.Delete(key(object))); err != nil {
		return err
	}
	plugin.Log(fmt.Sprintf("deleted %s after %d changes", key(object), changes))
	return nil
}

// report logs two fields of the object, the number of objects in its namespace, and how often it has changed.
func report(what string, object handler.Object) error {
	pointers := []string{"/spec/replicas", "/spec/template/spec/containers/0/image"}
	fields, err := plugin.Value(informer_plugin_objects.GetMany(object.Id, pointers))
	if err != nil {
		return err
	}
	var replicas int
	var image string
	if err := json.Unmarshal([]byte(fields[0].SomeOr("1")), &replicas); err != nil {
		return err
	}
	if err := json.Unmarshal([]byte(fields[1].SomeOr(`"nothing"`)), &image); err != nil {
		return err
	}
	neighbours, err := list(object.Meta.Namespace)
	if err != nil {
		return err
	}
	bucket, err := plugin.Value(wasi_keyvalue_store.Open("changes"))
	if err != nil {
		return err
	}
	defer bucket.Drop()
	changes, err := count(bucket, key(object))
	if err != nil {
		return err
	}
	changes++
	if _, err := plugin.Value(bucket.Set(key(object), []byte(strconv.Itoa(changes)))); err != nil {
		return err
	}
	plugin.Log(fmt.Sprintf("%s %s: %d x %s, %d in %s, change %d",
		what, key(object), replicas, image, neighbours, object.Meta.Namespace, changes), "rv", object.Meta.ResourceVersion)
	return nil
}

// list returns the number of objects in a namespace, page by page from the cache of the host.
func list(namespace string) (int, error) {
	selector := informer_plugin_lister.Selector{Namespace: types.Some(namespace)}
	found, token := 0, types.None[string]()
	for {
		page, err := plugin.Value(informer_plugin_lister.ListMeta(deployments, selector, informer_plugin_lister.Page{Token: token}))
		if err != nil {
			return 0, err
		}
		found += len(page.Items)
		if token = page.Next; token.IsNone() {
			return found, nil
		}
	}
}

// count returns the number that is kept for a key. It survives restarts of the host.
func count(bucket *wasi_keyvalue_store.Bucket, key string) (int, error) {
	kept, err := plugin.Value(bucket.Get(key))
	if err != nil || kept.IsNone() {
		return 0, err
	}
	return strconv.Atoi(string(kept.Some()))
}

func key(object handler.Object) string { return object.Meta.Namespace + "/" + object.Meta.Name }
