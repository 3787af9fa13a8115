// Package main prints each change of a deployment. Once, after the first sync, it lists the deployments of one namespace.
//
// ../README.md describes the lines. The examples in the other languages print the same lines.
package main

import (
	"context"
	"fmt"

	informer "github.com/informer-host/informer/plugins/sdk/go"
	"github.com/informer-host/informer/plugins/sdk/go/handler"
	"github.com/informer-host/informer/plugins/sdk/go/lister"
)

const (
	resource  = "apps/v1/deployments"
	namespace = "default"
)

// deployments is the plugin. Its only state is whether it printed the list.
type deployments struct{ listed bool }

func init() { handler.Register(&deployments{}) }

func main() {}

func (d *deployments) OnAdd(_ context.Context, object *informer.Object) error {
	fmt.Printf("added %s (rv %s, %s)\n", object.Key(), object.ResourceVersion, object.Cause)
	return d.listOnce()
}

func (d *deployments) OnUpdate(_ context.Context, old, new *informer.Object) error {
	fmt.Printf("updated %s (rv %s -> %s, %s)\n", new.Key(), old.ResourceVersion, new.ResourceVersion, new.Cause)
	return d.listOnce()
}

func (d *deployments) OnDelete(_ context.Context, object *informer.Object) error {
	doubt := ""
	if object.FinalStateUnknown {
		doubt = ", final state unknown"
	}
	fmt.Printf("deleted %s (rv %s%s)\n", object.Key(), object.ResourceVersion, doubt)
	return d.listOnce()
}

// listOnce prints the deployments of the namespace once, as soon as the cache holds all of them.
func (d *deployments) listOnce() error {
	synced, err := lister.HasSynced(resource)
	if err != nil || !synced || d.listed {
		return err
	}
	var names []string
	for meta, err := range lister.Metas(resource, lister.Selector{Namespace: namespace}) {
		if err != nil {
			return err
		}
		names = append(names, meta.Name)
	}
	fmt.Printf("deployments in %s: %d\n", namespace, len(names))
	for i, name := range names {
		fmt.Printf("%d -> %s\n", i+1, name)
	}
	d.listed = true
	return nil
}
