// Package informer is the SDK for plugins of informer in Go.
//
// A plugin is a WebAssembly component that the host calls when a Kubernetes object changes. It registers a handler or a reconciler
// from an init function; the function main is never called:
//
//	package main
//
//	import (
//		"context"
//		"log/slog"
//
//		informer "github.com/informer-host/informer/plugins/sdk/go"
//		"github.com/informer-host/informer/plugins/sdk/go/handler"
//	)
//
//	func init() { handler.Register(handler.Funcs{Add: added}) }
//
//	func main() {}
//
//	func added(_ context.Context, object *informer.Object) error {
//		slog.Info("hello", "object", object.Key())
//		return nil
//	}
//
// `informer new NAME --lang go` writes such a project, and `informer build` builds it with the stock Go compiler.
//
// # Packages
//
//   - handler and reconciler: what the host calls. batchhandler, instead of handler: several notifications in one call.
//   - synchandler, timer and confighandler: what it calls when a cache is complete, at certain times, and when mounted files change. A
//     component that imports one of them exports its interface.
//   - lister: reads of the host's cache. client: requests to the API server.
//   - keyvalue: state that survives restarts. config: values of [plugin.config] and of mounted files.
//   - fetch: HTTP requests. workqueue and metrics.
//   - informertest: a host for tests with the ordinary Go.
//   - bindings: the interface as it is, for what the packages above do not offer.
//
// A component imports the interfaces that it calls, and no other: a plugin that never calls client needs no grant for it.
//
// # Errors and panics
//
// A call that returns an error is made again after a growing delay. [Terminal] and [RetryAfter] change that. A panic is such an
// error too, and names the place in the plugin. A refusal of the host is an [*Error] with a [Kind]:
//
//	if errors.Is(err, informer.NotFound) {
//		return nil
//	}
//
// # Calls
//
// The host makes one call at a time into an instance. The context of a call ends when the call returns, and so do the objects of the
// call: keep no *Object and do not use it from another goroutine. Goroutines run only during calls.
//
// # Logs
//
// The default logger of [log/slog] writes to the log of the host, with attributes as fields. So does the package log.
package informer
