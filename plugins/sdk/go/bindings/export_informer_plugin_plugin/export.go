//go:build wasip1

// Package export_informer_plugin_plugin passes calls of generated code to package informer.
package export_informer_plugin_plugin

import (
	"github.com/informer-host/informer/plugins/sdk/go/bindings/informer_plugin_plugin"
	"github.com/informer-host/informer/plugins/sdk/go/bindings/wit/types"
)

// The functions that package informer sets.
var (
	Describe func() informer_plugin_plugin.Info
	Start    func(config string) types.Result[types.Unit, string]
	Stop     func()
)
