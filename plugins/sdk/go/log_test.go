package informer_test

import (
	"log"
	"log/slog"
	"slices"
	"testing"
	"time"

	informer "github.com/informer-host/informer/plugins/sdk/go"
	"github.com/informer-host/informer/plugins/sdk/go/informertest"
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
