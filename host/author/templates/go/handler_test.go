package main

import (
	"slices"
	"testing"

	"github.com/informer-host/informer/plugins/sdk/go/informertest"
)

func TestEachChangeIsCounted(t *testing.T) {
	host := informertest.New(t)
	web := host.Store(deployments, `{"metadata": {"namespace": "default", "name": "web"}, "spec": {"replicas": 3}}`)

	if err := (hello{}).OnAdd(t.Context(), web); err != nil {
		t.Fatal(err)
	}
	if err := (hello{}).OnDelete(t.Context(), web); err != nil {
		t.Fatal(err)
	}

	want := []string{
		"INFO added default/web: 3 x nothing, 1 in default, change 1 rv=" + web.ResourceVersion,
		"INFO deleted default/web after 1 changes",
	}
	if got := host.Lines(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
