// Package confighandler makes a plugin learn that a file of its config-files changed. A component that imports it exports the interface
// config-handler, whatever its world is.
package confighandler

import (
	"context"

	informer "github.com/informer-host/informer/plugins/sdk/go"
)

// A Func is called after a file changed, appeared or went, with the configuration that OnStart would receive now. The host calls it in one
// instance: the others keep the variables that they have, so read configuration with package config in each call, and use this
// function for what a change causes. A call that fails is made again, as for a notification.
type Func func(ctx context.Context, config informer.Config) error

var registered Func

// Register makes a function the one that the host calls. Call it once, from an init function.
func Register(changed Func) { registered = changed }
