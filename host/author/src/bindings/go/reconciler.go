// Package reconciler passes the keys of the host to the reconciler of the plugin.
package reconciler

import (
	"errors"
	"time"

	"MODULE/bindings/informer_plugin_reconciler"
	"MODULE/bindings/wit/types"
)

// An Outcome says what the host does with a key after a call that returned no error.
type Outcome = informer_plugin_reconciler.Outcome

// Done means that nothing more is to be done for the key.
func Done() Outcome { return informer_plugin_reconciler.MakeOutcomeDone() }

// Requeue means that the key is reconciled again after its backoff.
func Requeue() Outcome { return informer_plugin_reconciler.MakeOutcomeRequeue() }

// RequeueAfter means that the key is reconciled again after this delay.
func RequeueAfter(delay time.Duration) Outcome {
	return informer_plugin_reconciler.MakeOutcomeRequeueAfter(uint32(delay.Milliseconds()))
}

// Reconcile makes the world match the object with the key, which is NAMESPACE/NAME or NAME. A call that returns an error is made
// again after a backoff; see Terminal.
type Reconcile func(key string) (Outcome, error)

// Register makes a function the one that the host calls. Call it from init.
func Register(reconcile Reconcile) { Registered = reconcile }

// Registered is the function that the host calls.
var Registered Reconcile

type terminal struct{ error }

// Terminal marks an error that another attempt cannot mend: the key becomes a dead letter at once.
func Terminal(err error) error { return terminal{err} }

// Result is the answer to the host.
func Result(outcome Outcome, err error) types.Result[Outcome, informer_plugin_reconciler.ReconcileError] {
	if err == nil {
		return types.Ok[Outcome, informer_plugin_reconciler.ReconcileError](outcome)
	}
	failure := informer_plugin_reconciler.MakeReconcileErrorRetry(err.Error())
	var dead terminal
	if errors.As(err, &dead) {
		failure = informer_plugin_reconciler.MakeReconcileErrorTerminal(err.Error())
	}
	return types.Err[Outcome](failure)
}
