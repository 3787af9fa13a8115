//go:build wasip1

// Package export_informer_plugin_sync_handler passes calls of generated code to package synchandler.
package export_informer_plugin_sync_handler

import (
	"github.com/informer-host/informer/plugins/sdk/go/bindings/informer_plugin_types"
	"github.com/informer-host/informer/plugins/sdk/go/bindings/wit/types"
)

// OnSynced is set by package synchandler.
var OnSynced func(gvr string, count uint32, resourceVersion string) types.Result[types.Unit, informer_plugin_types.Failure]
