// Package handler passes the calls of the host to the handlers of the plugin.
package handler

import (
	"errors"
	"time"

	"MODULE/bindings/informer_plugin_handler"
	"MODULE/bindings/wit/types"
)

// An Object is the object of a notification.
type Object = informer_plugin_handler.EventObject

// A Cause says why a notification is delivered.
type Cause = informer_plugin_handler.Cause

// A Handler receives notifications. A call that returns an error is made again after a delay; see Permanent and After.
type Handler interface {
	OnAdd(object Object, cause Cause) error
	// OnUpdate gets the state before as a token, which informer_plugin_objects reads.
	OnUpdate(old uint32, object Object, cause Cause) error
	OnDelete(object Object, finalStateKnown bool) error
}

// Register makes a handler the one that the host calls. Call it from init.
func Register(handler Handler) { Registered = handler }

// Registered is the handler that the host calls.
var Registered Handler

type permanent struct{ error }

type after struct {
	error
	delay time.Duration
}

// Permanent marks an error that another attempt cannot mend: the notification becomes a dead letter at once.
func Permanent(err error) error { return permanent{err} }

// After marks an error after which the host makes the call again after this delay.
func After(delay time.Duration, err error) error { return after{err, delay} }

// Result is the answer to the host.
func Result(err error) types.Result[types.Unit, informer_plugin_handler.Failure] {
	if err == nil {
		return types.Ok[types.Unit, informer_plugin_handler.Failure](types.Unit{})
	}
	failure := informer_plugin_handler.MakeFailureRetry(err.Error())
	var dead permanent
	var later after
	if errors.As(err, &dead) {
		failure = informer_plugin_handler.MakeFailurePermanent(err.Error())
	} else if errors.As(err, &later) {
		millis := uint32(later.delay.Milliseconds())
		failure = informer_plugin_handler.MakeFailureRetryAfter(types.Tuple2[string, uint32]{F0: err.Error(), F1: millis})
	}
	return types.Err[types.Unit](failure)
}
