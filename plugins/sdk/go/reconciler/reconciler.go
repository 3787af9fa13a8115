// Package reconciler makes a plugin a controller: the host calls it with the key of each object that changed.
//
// One key is never reconciled by two workers at the same time. A key that is added while it is reconciled is reconciled once more.
package reconciler

import (
	"context"
	"time"

	informer "github.com/informer-host/informer/plugins/sdk/go"
)

// A Result is what the host does with a key after a call that returned no error. With its zero value the host does nothing more, and
// resets the backoff of the key.
type Result struct {
	// Requeue reconciles the key again after its backoff, which grows each time.
	Requeue bool
	// RequeueAfter reconciles the key again after this delay, and resets its backoff. It wins over Requeue.
	RequeueAfter time.Duration
}

// A Func makes the world match the object of a key. Read the object with package lister; if it is not found, it was deleted. A call
// that returns an error or panics is made again after the backoff of the key; see [informer.Terminal] and [informer.RetryAfter].
type Func func(ctx context.Context, key informer.Key) (Result, error)

// Register sets the function that the host calls. It passes the namespace and the name of a key only. With resource-in-key = true use
// [RegisterText], and [informer.ParseWorkKey] for the whole key. Call one of the two once, from an init function: after a second call the
// plugin does not start. A component that imports this package exports the interface of reconcilers, so its world has to have it.
func Register(reconcile Func) {
	RegisterText(func(ctx context.Context, text string) (Result, error) {
		_, key, err := informer.ParseWorkKey(text)
		if err != nil {
			return Result{}, informer.Terminal(err)
		}
		return reconcile(ctx, key)
	})
}

// registered is the function that the host calls, and calls is the number of calls of RegisterText.
var (
	registered func(ctx context.Context, key string) (Result, error)
	calls      int
)

// RegisterText is Register for keys that are not those of objects: handlers may add any text with package workqueue.
func RegisterText(reconcile func(ctx context.Context, key string) (Result, error)) {
	registered, calls = reconcile, calls+1
}
