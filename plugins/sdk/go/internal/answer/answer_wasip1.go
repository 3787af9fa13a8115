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
	failed := informer_plugin_types.MakeFailureRetry(err.Error())
	if failure.IsTerminal(err) {
		failed = informer_plugin_types.MakeFailurePermanent(err.Error())
	} else if delay, ok := failure.Delay(err); ok {
		again := types.Tuple2[string, uint32]{F0: err.Error(), F1: failure.Millis(delay)}
		failed = informer_plugin_types.MakeFailureRetryAfter(again)
	}
	return types.Err[types.Unit](failed)
}
