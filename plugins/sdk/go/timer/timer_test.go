package timer_test

import (
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	informer "github.com/informer-host/informer/plugins/sdk/go"
	"github.com/informer-host/informer/plugins/sdk/go/informertest"
	"github.com/informer-host/informer/plugins/sdk/go/timer"
)

func TestTimersAreSetAndCancelledByName(t *testing.T) {
	host := informertest.New(t)
	for name, delay := range map[string]time.Duration{"soon": 1500 * time.Microsecond, "never": time.Second} {
		if err := timer.After(name, delay); err != nil {
			t.Fatal(err)
		}
	}
	timer.Cancel("never")

	if want := map[string]time.Duration{"soon": 2 * time.Millisecond}; !maps.Equal(host.Timers(), want) {
		t.Error(host.Timers())
	}
	for _, name := range []string{"", "a\xff"} {
		if err := timer.After(name, time.Second); !errors.Is(err, informer.Invalid) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestAHandlerAsksForAnotherCall(t *testing.T) {
	host := informertest.New(t)
	if err := informer.CallAgain(time.Hour); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(host.CalledAgain(), []time.Duration{time.Hour}) {
		t.Error(host.CalledAgain())
	}
}
