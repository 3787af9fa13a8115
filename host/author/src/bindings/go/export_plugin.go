// Package export_informer_plugin_plugin is called by the generated code.
package export_informer_plugin_plugin

import (
	"MODULE/bindings/informer_plugin_plugin"
	"MODULE/bindings/plugin"
	"MODULE/bindings/wit/types"
)

func Describe() informer_plugin_plugin.Info {
	return informer_plugin_plugin.Info{Name: plugin.Name, Version: plugin.Version, Sdk: "informer build"}
}

func Start(config string) types.Result[types.Unit, string] {
	if err := plugin.Start(config); err != nil {
		return types.Err[types.Unit](err.Error())
	}
	return types.Ok[types.Unit, string](types.Unit{})
}

func Stop() { plugin.Stop() }
