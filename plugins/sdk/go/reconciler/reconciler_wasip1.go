package reconciler

import (
	"context"
	"log/slog"

	informer "github.com/informer-host/informer/plugins/sdk/go"
	export "github.com/informer-host/informer/plugins/sdk/go/bindings/export_informer_plugin_reconciler"
	_ "github.com/informer-host/informer/plugins/sdk/go/bindings/exports_reconciler" // exports the interface reconciler
	wit "github.com/informer-host/informer/plugins/sdk/go/bindings/informer_plugin_reconciler"
	"github.com/informer-host/informer/plugins/sdk/go/bindings/wit/types"
	"github.com/informer-host/informer/plugins/sdk/go/internal/failure"
)

func init() {
	informer.OnStart(func(context.Context, informer.Config) error {
		return failure.Registered(registered != nil, calls, "reconciler.Register or RegisterText", "reconciler")
	})
	export.Reconcile = func(key string) types.Result[wit.Outcome, wit.ReconcileError] {
		var result Result
		err := failure.Call(func(ctx context.Context) (err error) {
			result, err = registered(ctx, key)
			return err
		})
		if delay, ok := failure.Delay(err); ok && !failure.IsTerminal(err) {
			// The interface has no failure with a delay.
			slog.Warn(err.Error(), "key", key, "retry-after", delay)
			return types.Ok[wit.Outcome, wit.ReconcileError](wit.MakeOutcomeRequeueAfter(failure.Millis(delay)))
		}
		switch {
		case failure.IsTerminal(err):
			return types.Err[wit.Outcome](wit.MakeReconcileErrorTerminal(failure.Text(err)))
		case err != nil:
			return types.Err[wit.Outcome](wit.MakeReconcileErrorRetry(failure.Text(err)))
		case result.RequeueAfter > 0:
			return types.Ok[wit.Outcome, wit.ReconcileError](wit.MakeOutcomeRequeueAfter(failure.Millis(result.RequeueAfter)))
		case result.Requeue:
			return types.Ok[wit.Outcome, wit.ReconcileError](wit.MakeOutcomeRequeue())
		default:
			return types.Ok[wit.Outcome, wit.ReconcileError](wit.MakeOutcomeDone())
		}
	}
}
