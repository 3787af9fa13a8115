package informer

import (
	"time"

	"github.com/informer-host/informer/plugins/sdk/go/internal/failure"
)

// Terminal marks an error that another attempt cannot mend. A handler or reconciler that returns it is not called again: the
// notification or the key becomes a dead letter. Terminal of nil is nil.
func Terminal(err error) error {
	if err == nil {
		return nil
	}
	return &failure.Terminal{Err: err}
}

// RetryAfter marks an error after which the call is made again after the delay, rounded up to whole milliseconds, instead of
// after the backoff. For a notification the host waits at least `min` of [plugin.retry], and at most one day. RetryAfter of nil is nil.
//
// The host has no such failure for reconcilers. There the error is logged as a warning, and the key is reconciled again after the
// delay; this does not count as a failed attempt.
func RetryAfter(err error, delay time.Duration) error {
	if err == nil {
		return nil
	}
	return &failure.After{Err: err, Delay: delay}
}
