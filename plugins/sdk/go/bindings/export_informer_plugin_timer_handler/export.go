//go:build wasip1

// Package export_informer_plugin_timer_handler passes calls of generated code to package timer.
package export_informer_plugin_timer_handler

import (
	"github.com/informer-host/informer/plugins/sdk/go/bindings/informer_plugin_types"
	"github.com/informer-host/informer/plugins/sdk/go/bindings/wit/types"
)

// OnTimer is set by package timer.
var OnTimer func(name string) types.Result[types.Unit, informer_plugin_types.Failure]
