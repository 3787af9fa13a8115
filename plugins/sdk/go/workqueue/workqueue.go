// Package workqueue adds keys to the queue of the plugin, which works as the workqueue of client-go: the host takes each key out and calls
// the reconciler. A component that uses this package has a reconciler. After a restart of the host, the
// first list of a resource fills the queue again. A key that is not UTF-8 is refused with [informer.Invalid].
package workqueue

import (
	"time"
	"unicode/utf8"

	informer "github.com/informer-host/informer/plugins/sdk/go"
	"github.com/informer-host/informer/plugins/sdk/go/internal/failure"
	"github.com/informer-host/informer/plugins/sdk/go/internal/host"
)

// Add adds a key. A key that is in the queue is not added twice; one that is being reconciled is reconciled once more afterwards.
func Add(key string) error { return added(key, host.QueueAdd) }

// AddAfter adds a key after a delay, rounded up to whole milliseconds. If a key is added several times, the earliest time wins.
func AddAfter(key string, delay time.Duration) error {
	return added(key, func(key string) *host.Error { return host.QueueAddAfter(key, failure.Millis(delay)) })
}

// AddRateLimited adds a key after its backoff, which doubles with each call until [Forget].
func AddRateLimited(key string) error { return added(key, host.QueueAddRateLimited) }

// added adds a key, unless the key is not UTF-8.
func added(key string, add func(key string) *host.Error) error {
	refused := host.NotUTF8("the key", key)
	if refused == nil {
		refused = add(key)
	}
	return informer.Refused(refused)
}

// Forget resets the backoff of a key. The host does so itself when a call returns without an error and without Requeue, and when the key
// becomes a dead letter.
func Forget(key string) {
	if utf8.ValidString(key) {
		host.QueueForget(key)
	}
}

// Requeues returns how often a key was added with a backoff since it was last forgotten.
func Requeues(key string) int {
	if !utf8.ValidString(key) {
		return 0
	}
	return int(host.QueueRequeues(key))
}

// Len returns the number of keys that are ready for a worker.
func Len() int { return int(host.QueueLen()) }
