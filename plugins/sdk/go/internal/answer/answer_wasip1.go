// Package answer makes the answers of calls that may fail.
package answer

import (
	"context"

	"github.com/informer-host/informer/plugins/sdk/go/bindings/informer_plugin_types"
	"github.com/informer-host/informer/plugins/sdk/go/bindings/wit/types"
	"github.com/informer-host/informer/plugins/sdk/go/internal/failure"
)

// A Result is the answer of a call: nothing, or why it failed.
type Result = types.Result[types.Unit, informer_plugin_types.Failure]

// Of makes a call of the plugin and returns the answer to the host.
func Of(call func(ctx context.Context) error) Result {
	err := failure.Call(call)
	if err == nil {
		return types.Ok[types.Unit, informer_plugin_types.Failure](types.Unit{})
	}
	return types.Err[types.Unit](Failure(err))
}

// Failure returns an error as the host receives it.
func Failure(err error) informer_plugin_types.Failure {
	if failure.IsTerminal(err) {
		return informer_plugin_types.MakeFailurePermanent(failure.Text(err))
	}
	if delay, ok := failure.Delay(err); ok {
		again := types.Tuple2[string, uint32]{F0: failure.Text(err), F1: failure.Millis(delay)}
		return informer_plugin_types.MakeFailureRetryAfter(again)
	}
	return informer_plugin_types.MakeFailureRetry(failure.Text(err))
}
