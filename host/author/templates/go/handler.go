// Package main is a plugin: the host calls the handlers when a Deployment is added, updated or deleted.
package main

import (
	"context"
	"fmt"
	"log/slog"

	informer "github.com/informer-host/informer/plugins/sdk/go"
	"github.com/informer-host/informer/plugins/sdk/go/handler"
	"github.com/informer-host/informer/plugins/sdk/go/keyvalue"
	"github.com/informer-host/informer/plugins/sdk/go/lister"
)

const (
	deployments = "apps/v1/deployments"
	// changes keeps how often each object has changed. It survives restarts of the host.
	changes = keyvalue.Bucket("changes")
)

// fields are what the plugin reads of a Deployment.
type fields struct {
	Replicas int    `pointer:"/spec/replicas"`
	Image    string `pointer:"/spec/template/spec/containers/0/image"`
}

type hello struct{}

func init() { handler.Register(hello{}) }

func main() {}

func (hello) OnAdd(_ context.Context, object *informer.Object) error { return report("added", object) }

func (hello) OnUpdate(_ context.Context, _, object *informer.Object) error {
	return report("updated", object)
}

func (hello) OnDelete(_ context.Context, object *informer.Object) error {
	count, _, err := keyvalue.Load[int](changes, object.Key().String())
	if err != nil {
		return err
	}
	slog.Info(fmt.Sprintf("deleted %s after %d changes", object.Key(), count))
	return changes.Delete(object.Key().String())
}

// report logs two fields of the object, the number of objects in its namespace, and how often it has changed. An error is retried
// with a growing delay.
func report(what string, object *informer.Object) error {
	deployment := fields{Replicas: 1, Image: "nothing"}
	if err := object.Read(&deployment); err != nil {
		return err
	}
	neighbours := 0
	for _, err := range lister.Metas(deployments, lister.Selector{Namespace: object.Namespace}) {
		if err != nil {
			return err
		}
		neighbours++
	}
	count, err := changes.Increment(object.Key().String(), 1)
	if err != nil {
		return err
	}
	slog.Info(fmt.Sprintf("%s %s: %d x %s, %d in %s, change %d", what, object.Key(), deployment.Replicas, deployment.Image,
		neighbours, object.Namespace, count), "rv", object.ResourceVersion)
	return nil
}
