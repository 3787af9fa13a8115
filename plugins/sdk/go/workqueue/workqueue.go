// Package workqueue adds keys to the queue of the plugin, which works as that of client-go: the host takes each key out and calls the
// reconciler. A component that uses it has a reconciler. The first list of a resource fills the queue again after a restart of the host.
package workqueue

import (
	"time"

	informer "github.com/informer-host/informer/plugins/sdk/go"
	"github.com/informer-host/informer/plugins/sdk/go/internal/failure"
	"github.com/informer-host/informer/plugins/sdk/go/internal/host"
)

// Add adds a key. A key that is in the queue is not added twice; one that is being reconciled is reconciled once more afterwards.
func Add(key string) error { return informer.Refused(host.QueueAdd(key)) }

// AddAfter adds a key after a delay, rounded up to whole milliseconds. If a key is added several times, the earliest time wins.
func AddAfter(key string, delay time.Duration) error {
	return informer.Refused(host.QueueAddAfter(key, failure.Millis(delay)))
}

// AddRateLimited adds a key after its backoff, which doubles with each call until [Forget].
func AddRateLimited(key string) error { return informer.Refused(host.QueueAddRateLimited(key)) }

// Forget resets the backoff of a key. The host does so itself when a call returns without an error and without Requeue, and when the key
// becomes a dead letter.
func Forget(key string) { host.QueueForget(key) }

// Requeues returns how often a key was added with a backoff since it was last forgotten.
func Requeues(key string) int { return int(host.QueueRequeues(key)) }

// Len returns the number of keys that are ready for a worker.
func Len() int { return int(host.QueueLen()) }
