// Package failure turns the errors and panics of a call into failures for the host.
package failure

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"time"

	"github.com/informer-host/informer/plugins/sdk/go/internal/host"
)

// Terminal is an error that another attempt cannot mend.
type Terminal struct{ Err error }

func (t *Terminal) Error() string { return t.Err.Error() }
func (t *Terminal) Unwrap() error { return t.Err }

// After is an error after which the call is made again after a delay.
type After struct {
	Err   error
	Delay time.Duration
}

func (a *After) Error() string { return a.Err.Error() }
func (a *After) Unwrap() error { return a.Err }

// IsTerminal returns true if another attempt cannot mend the error.
func IsTerminal(err error) bool {
	var terminal *Terminal
	return errors.As(err, &terminal)
}

// Delay returns the delay that the error asks for.
func Delay(err error) (time.Duration, bool) {
	var after *After
	if errors.As(err, &after) {
		return after.Delay, true
	}
	return 0, false
}

// Text is the text of an error, as the host receives it.
func Text(err error) string { return host.UTF8(err.Error()) }

// Millis is the delay in milliseconds, rounded up, so that a short delay does not become zero.
func Millis(delay time.Duration) uint32 {
	if delay <= 0 {
		return 0
	}
	millis := (delay-1)/time.Millisecond + 1
	return uint32(min(int64(millis), math.MaxUint32))
}

// Registered returns an error if the plugin has registered nothing, or if it has registered several functions: the host would call only
// the last one. register is the name of the function that registers, and what is a noun for the registered function.
func Registered(present bool, calls int, register, what string) error {
	if !present {
		return fmt.Errorf("no %s is registered: call %s from an init function", what, register)
	}
	if calls > 1 {
		const many = "%s is called %d times, and the host would call only the last %s: call it once, with a %s that does all of the work"
		return fmt.Errorf(many, register, calls, what, what)
	}
	return nil
}

// Call makes a call of the plugin, with a context that ends with the call. A panic becomes an error.
func Call(call func(ctx context.Context) error) (err error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	defer func() {
		if value := recover(); value != nil {
			err = panicked(value)
		}
	}()
	return call(ctx)
}

// ofTheSDK returns true for the functions that call the plugin.
func ofTheSDK(function string) bool {
	const sdk = "github.com/informer-host/informer/plugins/sdk/go/"
	callers := []string{
		"internal/failure.Call", "handler.init", "batchhandler.init", "reconciler.init", "reconciler.Register.",
		"synchandler.init", "timer.init", "confighandler.init",
	}
	for _, caller := range callers {
		if strings.HasPrefix(function, sdk+caller) {
			return true
		}
	}
	return false
}

// panicked is the error for a panic: its value, and where it happened in the plugin.
func panicked(value any) error {
	callers := make([]uintptr, 64)
	frames := runtime.CallersFrames(callers[:runtime.Callers(3, callers)])
	var stack []string
	for {
		frame, more := frames.Next()
		if ofTheSDK(frame.Function) {
			break
		}
		if !strings.HasPrefix(frame.Function, "runtime.") {
			stack = append(stack, fmt.Sprintf("%s (%s:%d)", frame.Function, frame.File, frame.Line))
		}
		if !more {
			break
		}
	}
	if err, ok := value.(error); ok {
		return fmt.Errorf("panic: %w, in %s", err, strings.Join(stack, ", called by "))
	}
	return fmt.Errorf("panic: %v, in %s", value, strings.Join(stack, ", called by "))
}
