package informer_test

import (
	"log"
	"log/slog"
	"slices"
	"testing"
	"time"

	informer "github.com/informer-host/informer/plugins/sdk/go"
	"github.com/informer-host/informer/plugins/sdk/go/client"
	"github.com/informer-host/informer/plugins/sdk/go/informertest"
	"github.com/informer-host/informer/plugins/sdk/go/metrics"
)

func TestAttributesOfSlogAreFieldsOfTheLine(t *testing.T) {
	host := informertest.New(t)

	slog.Info("scaled", "object", informer.Key{Namespace: "default", Name: "web"}, "replicas", 3, "took", 2*time.Second)
	slog.Log(t.Context(), informer.LevelTrace, "the host does not keep this level")
	logger := slog.With("a", 1).WithGroup("g").With("b", 2)
	logger.Warn("grouped", "c", 3, slog.Group("h", "d", 4), slog.Group("", "e", 5))
	slog.With("a", 1).Error("without a group")
	log.Print("of the package log")

	want := []string{
		"INFO scaled object=default/web replicas=3 took=2s",
		"WARN grouped a=1 g.b=2 g.c=3 g.h.d=4 g.e=5",
		"ERROR without a group a=1",
		"INFO of the package log",
	}
	if got := host.Lines(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTextForPeopleIsUTF8(t *testing.T) {
	host := informertest.New(t)

	slog.Info("cut \xe2\x82", "a\xff", "\xffb")
	if err := metrics.Add("seen", 1, metrics.Label{"kind", "x\xff"}); err != nil {
		t.Fatal(err)
	}
	if err := client.Record(client.Event{GVR: "v1/pods", Regarding: informer.Key{Name: "web"}, Reason: "Cut", Action: "Cut", Note: "\xc3"}); err != nil {
		t.Fatal(err)
	}

	got := slices.Concat(host.Lines(), host.Metrics(), host.Requests())
	if want := []string{"INFO cut \uFFFD a\uFFFD=\uFFFDb", "add seen kind=x\uFFFD 1", "event v1/pods web Cut Cut \uFFFD"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
