// Package timer calls a plugin at certain times: for each [[plugin.timer]] of informer.toml, and for the timers that it sets itself.
// A component that imports it exports the interface timer-handler, whatever its world is.
package timer

import (
	"context"
	"time"
	"unicode/utf8"

	informer "github.com/informer-host/informer/plugins/sdk/go"
	"github.com/informer-host/informer/plugins/sdk/go/internal/failure"
	"github.com/informer-host/informer/plugins/sdk/go/internal/host"
)

// A Func is called when a timer fires, with its name. Calls for one timer never overlap. A call that fails is made again, as for a
// notification. The host may call it in another instance than the handler.
type Func func(ctx context.Context, name string) error

// registered is the function that the host calls, and calls is the number of calls of Register.
var (
	registered Func
	calls      int
)

// Register sets the function that the host calls. Call it once, from an init function: after a second call the plugin does not start.
func Register(fires Func) { registered, calls = fires, calls+1 }

// After sets a timer that fires once, after a delay that is rounded up to whole milliseconds. If there is a timer of this name, the new
// time replaces the old one. A timer survives reloads of the plugin. It does not survive the host: set it again in OnAdd, or in the
// function of package synchandler.
//
// It fails with [informer.Invalid] if the name is empty, is not UTF-8, has more than 512 bytes, or is the name of a [[plugin.timer]], and
// with [informer.LimitExceeded] if the plugin has 1,000 timers.
func After(name string, delay time.Duration) error {
	refused := host.NotUTF8("the name of a timer", name)
	if refused == nil {
		refused = host.TimerAfter(name, failure.Millis(delay))
	}
	return informer.Refused(refused)
}

// Cancel removes a timer. Nothing happens if there is none.
func Cancel(name string) {
	if utf8.ValidString(name) {
		host.TimerCancel(name)
	}
}
