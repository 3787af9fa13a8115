// Package synchandler calls a plugin when its caches are complete. A component that imports this package exports the interface
// sync-handler, whatever its world is.
package synchandler

import "context"

// A Synced is a cache that is complete.
type Synced struct {
	// GVR is the resource, as in informer.toml: apps/v1/deployments.
	GVR string
	// Count is the number of objects that the subscription selected when its cache was complete.
	Count int
	// ResourceVersion is the version of the collection that the cache had reached. It is empty if the host watches several
	// namespaces one by one and their versions have no order.
	ResourceVersion string
}

// A Func is called once for each subscription, when its cache is complete and its initial notifications have been delivered, also if
// there are none. A call that fails is made again, as for a notification. The host may call it in another instance than the handler.
type Func func(ctx context.Context, synced Synced) error

// registered is the function that the host calls, and calls is the number of calls of Register.
var (
	registered Func
	calls      int
)

// Register sets the function that the host calls. Call it once, from an init function: after a second call the plugin does not start.
func Register(synced Func) { registered, calls = synced, calls+1 }
