// Package export_informer_plugin_handler is called by the generated code.
package export_informer_plugin_handler

import (
	"MODULE/bindings/handler"
	"MODULE/bindings/informer_plugin_handler"
	"MODULE/bindings/wit/types"
)

type result = types.Result[types.Unit, informer_plugin_handler.Failure]

func OnAdd(object handler.Object, cause handler.Cause) result {
	return handler.Result(handler.Registered.OnAdd(object, cause))
}

func OnUpdate(old uint32, object handler.Object, cause handler.Cause) result {
	return handler.Result(handler.Registered.OnUpdate(old, object, cause))
}

func OnDelete(object handler.Object, finalStateKnown bool) result {
	return handler.Result(handler.Registered.OnDelete(object, finalStateKnown))
}
