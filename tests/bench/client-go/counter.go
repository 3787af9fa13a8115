package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

// counter counts handled objects and wakes the goroutine that waits for a number of them.
type counter struct {
	count   atomic.Int64
	target  atomic.Int64
	changed chan struct{}
	failure chan error
	// arrivals has the time of each object while it is not nil. Only the handler adds to it.
	arrivals atomic.Pointer[[]int64]
}

func newCounter() *counter {
	return &counter{changed: make(chan struct{}, 1), failure: make(chan error, 1)}
}

// add counts one more handled object.
func (c *counter) add() {
	if arrivals := c.arrivals.Load(); arrivals != nil {
		*arrivals = append(*arrivals, time.Now().UnixNano())
	}
	if c.count.Add(1) >= c.target.Load() {
		select {
		case c.changed <- struct{}{}:
		default:
		}
	}
}

// fail ends the measurement with an error.
func (c *counter) fail(why error) {
	select {
	case c.failure <- why:
	default:
	}
}

// reaches waits until the count reaches the target.
func (c *counter) reaches(ctx context.Context, target int64) error {
	c.target.Store(target)
	for c.count.Load() < target {
		select {
		case <-c.changed:
		case why := <-c.failure:
			return why
		case <-ctx.Done():
			return fmt.Errorf("%d of %d objects in time: %w", c.count.Load(), target, ctx.Err())
		}
	}
	return nil
}
