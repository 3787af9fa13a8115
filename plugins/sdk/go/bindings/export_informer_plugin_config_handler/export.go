//go:build wasip1

// Package export_informer_plugin_config_handler passes calls of generated code to package confighandler.
package export_informer_plugin_config_handler

import (
	"github.com/informer-host/informer/plugins/sdk/go/bindings/informer_plugin_types"
	"github.com/informer-host/informer/plugins/sdk/go/bindings/wit/types"
)

// OnConfig is set by package confighandler.
var OnConfig func(config string) types.Result[types.Unit, informer_plugin_types.Failure]
