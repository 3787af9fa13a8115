package failure

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
)

func TestADelayIsRoundedUpAndCapped(t *testing.T) {
	for delay, want := range map[time.Duration]uint32{
		-time.Second:             0,
		0:                        0,
		1:                        1,
		1500 * time.Microsecond:  2,
		2 * time.Second:          2000,
		time.Duration(1<<63 - 1): math.MaxUint32,
	} {
		if got := Millis(delay); got != want {
			t.Errorf("%v is %d ms, want %d", delay, got, want)
		}
	}
}

func TestAMarkIsFoundBelowOtherErrors(t *testing.T) {
	cause := errors.New("bad port")
	terminal := fmt.Errorf("web: %w", &Terminal{cause})
	after := fmt.Errorf("web: %w", &After{cause, time.Second})

	if !IsTerminal(terminal) || IsTerminal(after) || IsTerminal(cause) {
		t.Error("only the first error is terminal")
	}
	if delay, ok := Delay(after); !ok || delay != time.Second {
		t.Errorf("got %v, %v", delay, ok)
	}
	if _, ok := Delay(terminal); ok {
		t.Error("the first error has no delay")
	}
	if !errors.Is(terminal, cause) || terminal.Error() != "web: bad port" {
		t.Errorf("the mark hides the error: %v", terminal)
	}
}

func TestTheTextOfAnErrorIsUTF8(t *testing.T) {
	if got := Text(fmt.Errorf("bad value %s", "a\xff")); got != "bad value a\uFFFD" {
		t.Errorf("got %q", got)
	}
}

func TestAPluginThatRegistersNothingOrTwiceDoesNotStart(t *testing.T) {
	for calls, want := range map[int]string{
		0: "no handler is registered: call handler.Register from an init function",
		1: "<nil>",
		2: "handler.Register is called 2 times, and the host would call only the last handler: " +
			"call it once, with a handler that does all of the work",
	} {
		if got := fmt.Sprint(Registered(calls > 0, calls, "handler.Register", "handler")); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func explode(values []int) int { return values[len(values)] }

func TestAPanicBecomesAnErrorThatNamesItsPlace(t *testing.T) {
	err := Call(func(context.Context) error {
		explode(nil)
		return nil
	})

	text := fmt.Sprint(err)
	if !strings.HasPrefix(text, "panic: runtime error: index out of range [0] with length 0, in ") {
		t.Error(text)
	}
	// The first frame is the function that panicked, and the last one the call of the plugin.
	if frames := strings.Split(text, ", called by "); len(frames) != 2 || !strings.Contains(frames[0], "failure.explode (") ||
		!strings.Contains(frames[0], "failure_test.go:") {
		t.Error(text)
	}
	if got := Call(func(context.Context) error { panic("boom") }).Error(); !strings.HasPrefix(got, "panic: boom, in ") {
		t.Error(got)
	}
}

func TestTheContextEndsWithTheCall(t *testing.T) {
	var kept context.Context
	if err := Call(func(ctx context.Context) error { kept = ctx; return ctx.Err() }); err != nil {
		t.Fatal(err)
	}
	if kept.Err() == nil {
		t.Error("the context lives on")
	}
}
