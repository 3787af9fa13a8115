// Package confighandler calls a plugin when a file of its config-files has changed. A component that imports this package exports the
// interface config-handler, whatever its world is.
package confighandler

import (
	"context"

	informer "github.com/informer-host/informer/plugins/sdk/go"
)

// A Func is called after a file changed, appeared or disappeared, with the configuration that OnStart would receive now. The host makes
// this call in one instance, and the variables of the other instances stay as they are. Use this function for an action that a change must
// cause once, and read the configuration with package config in each other call. A call that fails is made again, as for a notification.
type Func func(ctx context.Context, config informer.Config) error

// registered is the function that the host calls, and calls is the number of calls of Register.
var (
	registered Func
	calls      int
)

// Register sets the function that the host calls. Call it once, from an init function: after a second call the plugin does not start.
func Register(changed Func) { registered, calls = changed, calls+1 }
