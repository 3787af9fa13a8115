//go:build wasip1

// Package export_informer_plugin_reconciler passes calls of generated code to package reconciler.
package export_informer_plugin_reconciler

import (
	"github.com/informer-host/informer/plugins/sdk/go/bindings/informer_plugin_reconciler"
	"github.com/informer-host/informer/plugins/sdk/go/bindings/wit/types"
)

// Reconcile is set by package reconciler.
var Reconcile func(key string) types.Result[informer_plugin_reconciler.Outcome, informer_plugin_reconciler.ReconcileError]
