//go:build wasip1

// Package export_informer_plugin_handler passes calls of generated code to package handler.
package export_informer_plugin_handler

import (
	"github.com/informer-host/informer/plugins/sdk/go/bindings/informer_plugin_handler"
	"github.com/informer-host/informer/plugins/sdk/go/bindings/wit/types"
)

type (
	object = informer_plugin_handler.EventObject
	cause  = informer_plugin_handler.Cause
	result = types.Result[types.Unit, informer_plugin_handler.Failure]
)

// The functions that package handler sets.
var (
	OnAdd    func(object object, cause cause) result
	OnUpdate func(old uint32, object object, cause cause) result
	OnDelete func(object object, finalStateKnown bool) result
)
