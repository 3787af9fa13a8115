// Package main is a reconciler that is called 10,000 times. calls.c does the same.
package main

import (
	"context"
	"errors"
	"fmt"
	"unicode/utf8"

	informer "github.com/informer-host/informer/plugins/sdk/go"
	"github.com/informer-host/informer/plugins/sdk/go/keyvalue"
	"github.com/informer-host/informer/plugins/sdk/go/lister"
	"github.com/informer-host/informer/plugins/sdk/go/reconciler"
	"github.com/informer-host/informer/plugins/sdk/go/workqueue"
)

const (
	last        = 10_000
	deployments = "apps/v1/deployments"
	bucket      = keyvalue.Bucket("calls")
)

type deployment struct {
	Metadata struct {
		Name string `json:"name"`
	} `json:"metadata"`
}

var calls int

func init() { reconciler.Register(reconcile) }

func main() {}

func reconcile(_ context.Context, key informer.Key) (reconciler.Result, error) {
	if key.Name == "big" {
		return reconciler.Result{}, big(key)
	}
	object, err := lister.Get(deployments, key)
	if err != nil {
		return reconciler.Result{}, err
	}
	web, err := informer.Decode[deployment](object)
	if err != nil {
		return reconciler.Result{}, err
	}
	if calls%10 == 0 {
		if err := keyvalue.Store(bucket, key.String(), web); err != nil {
			return reconciler.Result{}, err
		}
	}
	kept, _, err := keyvalue.Load[deployment](bucket, key.String())
	if err != nil || kept.Metadata.Name != "web" {
		return reconciler.Result{}, fmt.Errorf("another value was kept: %w", err)
	}
	for _, err := range lister.Metas(deployments, lister.Selector{Labels: "app=web"}) {
		if err != nil {
			return reconciler.Result{}, err
		}
	}
	if _, err := lister.Get("v1/secrets", key); !errors.Is(err, informer.NotGranted) {
		return reconciler.Result{}, fmt.Errorf("secrets are readable: %w", err)
	}
	calls++
	if calls%1000 == 0 {
		fmt.Printf("%d calls\n", calls)
	}
	if calls < last {
		if err := workqueue.Add(key.String()); err != nil {
			return reconciler.Result{}, err
		}
	}
	if calls%2 == 1 {
		return reconciler.Result{}, fmt.Errorf("call %d", calls)
	}
	return reconciler.Result{}, nil
}

func big(key informer.Key) error {
	var fields struct {
		Text string `pointer:"/spec/template/spec/containers/0/env/0/value"`
	}
	if err := lister.Read(deployments, key, &fields); err != nil {
		return err
	}
	text := []rune(fields.Text)
	fmt.Printf("big: %d characters, %s\n", utf8.RuneCountInString(fields.Text), string(text[len(text)-4:]))
	return nil
}
