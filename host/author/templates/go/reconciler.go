// Package main is a controller: the host calls reconcile with the key of each Deployment that changed.
package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"__NAME__/bindings/informer_plugin_lister"
	"__NAME__/bindings/plugin"
	"__NAME__/bindings/reconciler"
	_ "__NAME__/bindings/wit_exports"
)

const deployments = "apps/v1/deployments"

func init() { reconciler.Register(reconcile) }

func main() {}

// reconcile makes the world match the object. An error is retried with a growing delay.
func reconcile(key string) (reconciler.Outcome, error) {
	namespace, name, _ := strings.Cut(key, "/")
	pointers := []string{"/spec/replicas", "/spec/template/spec/containers/0/image"}
	found, err := plugin.Value(informer_plugin_lister.GetFields(deployments,
		informer_plugin_lister.ObjectKey{Namespace: namespace, Name: name}, pointers))
	if err != nil {
		return reconciler.Done(), err
	}
	if found.IsNone() {
		plugin.Log(key + " is gone")
		return reconciler.Done(), nil
	}
	var replicas int
	var image string
	fields := found.Some()
	if err := json.Unmarshal([]byte(fields[0].SomeOr("1")), &replicas); err != nil {
		return reconciler.Done(), err
	}
	if err := json.Unmarshal([]byte(fields[1].SomeOr(`"nothing"`)), &image); err != nil {
		return reconciler.Done(), err
	}
	plugin.Log(fmt.Sprintf("reconciled %s: %d x %s", key, replicas, image))
	return reconciler.Done(), nil
}
