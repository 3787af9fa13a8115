package informer

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"runtime/debug"
	"strings"
	"time"

	"github.com/informer-host/informer/plugins/sdk/go/internal/failure"
	"github.com/informer-host/informer/plugins/sdk/go/internal/host"
)

// Version is the version of this SDK.
const Version = "0.1.0"

// A Config is the table [plugin.config] of the plugin as JSON, or {}.
type Config string

// DecodeConfig parses the configuration. A key that the type does not have is an error, so that a misspelt key is found.
func DecodeConfig[T any](config Config) (T, error) {
	var value T
	decoder := json.NewDecoder(strings.NewReader(string(config)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&value); err != nil {
		return value, fmt.Errorf("[plugin.config]: %w", err)
	}
	return value, nil
}

// The life cycle of the plugin, as it has registered.
var (
	name, version string
	starts        []func(ctx context.Context, config Config) error
	stops         []func()
)

// OnStart registers a function that prepares an instance. It is called once in each instance, before handlers and reconcilers. If
// it returns an error when the plugin is loaded, the host refuses the new version and keeps the old one. Call OnStart from init.
func OnStart(start func(ctx context.Context, config Config) error) { starts = append(starts, start) }

// OnStop registers a function that ends a healthy instance, with a short deadline. Call OnStop from init.
func OnStop(stop func()) { stops = append(stops, stop) }

// Describe sets the name and the version of the plugin, which `informer inspect` and the log of the host show. The defaults are
// those of the main module. Call Describe from init.
func Describe(pluginName, pluginVersion string) { name, version = pluginName, pluginVersion }

// A Delivery has facts about the current call.
type Delivery struct {
	// Attempt is the number of the attempt to deliver the notification, to reconcile the key, or to make the call for a complete cache,
	// a timer or a changed file. The first is 1. In a batch it is the highest of its notifications. It is 0 in OnStart and OnStop.
	Attempt int
	// Queued is the time that the notification, the key or the signal spent in its queue.
	Queued time.Duration
	// Plugin is the name in informer.toml.
	Plugin string
	// HostVersion is the version of the host.
	HostVersion string
}

// CurrentDelivery returns the facts about the current call.
func CurrentDelivery() Delivery {
	info := host.CurrentDelivery()
	return Delivery{
		Attempt:     int(info.Attempt),
		Queued:      time.Duration(info.QueuedMillis) * time.Millisecond,
		Plugin:      info.Plugin,
		HostVersion: info.HostVersion,
	}
}

// CallAgain requests another call of the handler for the object of this call. The time begins when this call returns without an error. The
// host then delivers the object as a resync does: it calls OnUpdate with the cause [Resync], and both the old and the new state are the
// state that the cache has then. Any other call for the object cancels the request, and may make a new one. A request survives the end of
// the instance and reloads of the plugin, but not a restart of the host: make it again in OnAdd.
//
// It fails with [Invalid] outside calls of a handler. A reconciler returns RequeueAfter instead.
func CallAgain(after time.Duration) error { return Refused(host.CallAgain(failure.Millis(after))) }

// started calls the functions of OnStart.
func started(config Config) error {
	return failure.Call(func(ctx context.Context) error {
		for _, start := range starts {
			if err := start(ctx, config); err != nil {
				return err
			}
		}
		return nil
	})
}

// described returns the name and the version of the plugin.
func described() (string, string) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return or(name, "plugin"), or(version, "unknown")
	}
	return or(name, path.Base(info.Main.Path)), or(version, strings.Trim(info.Main.Version, "()"))
}

func or(text, other string) string {
	if text != "" {
		return text
	}
	return other
}

func stopped() error {
	return failure.Call(func(context.Context) error {
		for _, stop := range stops {
			stop()
		}
		return nil
	})
}
