package main

import (
	"slices"
	"testing"

	informer "github.com/informer-host/informer/plugins/sdk/go"
	"github.com/informer-host/informer/plugins/sdk/go/informertest"
)

func TestAnObjectAndItsDeletionAreReported(t *testing.T) {
	host := informertest.New(t)
	web := host.Store(deployments, `{"metadata": {"namespace": "default", "name": "web"}, "spec": {"replicas": 3}}`)

	for _, key := range []informer.Key{web.Key(), {Namespace: "default", Name: "api"}} {
		if _, err := reconcile(t.Context(), key); err != nil {
			t.Fatal(err)
		}
	}

	want := []string{"INFO reconciled default/web: 3 x nothing", "INFO default/api is gone"}
	if got := host.Lines(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
