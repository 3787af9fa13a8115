// Package batchhandler makes a plugin receive several notifications in one call, for example for bulk requests. Use it instead of package
// handler, in the world batch-event-handler of informer-plugin.toml: the host calls no handler of a component that imports it.
package batchhandler

import (
	"context"
	"time"

	informer "github.com/informer-host/informer/plugins/sdk/go"
)

// A Verb is what happened to an object.
type Verb string

// The verbs.
const (
	Added   Verb = "added"
	Updated Verb = "updated"
	Deleted Verb = "deleted"
)

// A Notification is one of a batch.
type Notification struct {
	Verb Verb
	// Object is the object; after a deletion, its last known state.
	Object *informer.Object
	// Old is the state before an update, or nil.
	Old *informer.Object
	// Attempt is the number of the attempt to deliver the notification. The first is 1.
	Attempt int
}

// An Outcome is the result for one notification. The zero value means that the notification is handled.
type Outcome struct {
	// Err is the error of the notification, as if a handler had returned it; see [informer.Terminal] and [informer.RetryAfter].
	Err error
	// Again is the time after which the object of a handled notification is delivered once more; 0 means not at all.
	Again time.Duration
}

// A Func handles at least one notification, each of another object, and returns one outcome for each, in their order. If it panics, or
// returns another number of outcomes, the host delivers each notification alone, until it is handled or becomes a dead letter.
type Func func(ctx context.Context, notifications []Notification) []Outcome

// registered is the function that the host calls, and calls is the number of calls of Register.
var (
	registered Func
	calls      int
)

// Register sets the function that the host calls. Call it once, from an init function: after a second call the plugin does not start.
func Register(onBatch Func) { registered, calls = onBatch, calls+1 }
