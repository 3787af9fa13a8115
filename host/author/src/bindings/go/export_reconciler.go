// Package export_informer_plugin_reconciler is called by the generated code.
package export_informer_plugin_reconciler

import (
	"MODULE/bindings/informer_plugin_reconciler"
	"MODULE/bindings/reconciler"
	"MODULE/bindings/wit/types"
)

func Reconcile(key string) types.Result[reconciler.Outcome, informer_plugin_reconciler.ReconcileError] {
	return reconciler.Result(reconciler.Registered(key))
}
