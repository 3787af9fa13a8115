// Package main is a controller: the host calls reconcile with the key of each Deployment that changed.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	informer "github.com/informer-host/informer/plugins/sdk/go"
	"github.com/informer-host/informer/plugins/sdk/go/lister"
	"github.com/informer-host/informer/plugins/sdk/go/reconciler"
)

const deployments = "apps/v1/deployments"

// fields are what the plugin reads of a Deployment.
type fields struct {
	Replicas int    `pointer:"/spec/replicas"`
	Image    string `pointer:"/spec/template/spec/containers/0/image"`
}

func init() { reconciler.Register(reconcile) }

func main() {}

// reconcile makes the world match the object. An error is retried with a growing delay.
func reconcile(_ context.Context, key informer.Key) (reconciler.Result, error) {
	deployment := fields{Replicas: 1, Image: "nothing"}
	err := lister.Read(deployments, key, &deployment)
	if errors.Is(err, informer.NotFound) {
		slog.Info(fmt.Sprintf("%s is gone", key))
		return reconciler.Result{}, nil
	}
	if err != nil {
		return reconciler.Result{}, err
	}
	slog.Info(fmt.Sprintf("reconciled %s: %d x %s", key, deployment.Replicas, deployment.Image))
	return reconciler.Result{}, nil
}
