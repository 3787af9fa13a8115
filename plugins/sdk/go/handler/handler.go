// Package handler makes a plugin receive the notifications of a shared informer.
//
// Calls for one object never overlap and never go back in time. Delivery is at least once: make handlers idempotent.
package handler

import (
	"context"

	informer "github.com/informer-host/informer/plugins/sdk/go"
)

// A Handler receives notifications. A call that returns an error or panics is made again after a growing delay, until its attempts
// are spent; see [informer.Terminal] and [informer.RetryAfter].
type Handler interface {
	// OnAdd is called when an object is added: the cache did not hold it before.
	OnAdd(ctx context.Context, object *informer.Object) error
	// OnUpdate is called when an object changed, and by a resync, with the same state twice. The old state is the one that the cache
	// held before, or the last one that was delivered if several changes were merged.
	OnUpdate(ctx context.Context, old, new *informer.Object) error
	// OnDelete is called when an object was deleted, with its last known state.
	OnDelete(ctx context.Context, object *informer.Object) error
}

// Funcs is a Handler made of functions. A function that is nil handles nothing.
type Funcs struct {
	Add    func(ctx context.Context, object *informer.Object) error
	Update func(ctx context.Context, old, new *informer.Object) error
	Delete func(ctx context.Context, object *informer.Object) error
}

// OnAdd calls Add.
func (funcs Funcs) OnAdd(ctx context.Context, object *informer.Object) error {
	if funcs.Add == nil {
		return nil
	}
	return funcs.Add(ctx, object)
}

// OnUpdate calls Update.
func (funcs Funcs) OnUpdate(ctx context.Context, old, new *informer.Object) error {
	if funcs.Update == nil {
		return nil
	}
	return funcs.Update(ctx, old, new)
}

// OnDelete calls Delete.
func (funcs Funcs) OnDelete(ctx context.Context, object *informer.Object) error {
	if funcs.Delete == nil {
		return nil
	}
	return funcs.Delete(ctx, object)
}

// registered is the handler that the host calls, and calls is the number of calls of Register.
var (
	registered Handler
	calls      int
)

// Register sets the handler that the host calls. Call it once, from an init function: after a second call the plugin does not start. A
// component that imports this package exports the interface of handlers, so its world has to have it.
func Register(handler Handler) { registered, calls = handler, calls+1 }
