package informer

import (
	"log/slog"

	export "github.com/informer-host/informer/plugins/sdk/go/bindings/export_informer_plugin_plugin"
	_ "github.com/informer-host/informer/plugins/sdk/go/bindings/exports_plugin" // exports the interface plugin
	"github.com/informer-host/informer/plugins/sdk/go/bindings/informer_plugin_plugin"
	"github.com/informer-host/informer/plugins/sdk/go/bindings/wit/types"
	"github.com/informer-host/informer/plugins/sdk/go/internal/failure"
)

func init() {
	slog.SetDefault(slog.New(LogHandler{}))
	export.Describe = func() informer_plugin_plugin.Info {
		name, version := described()
		return informer_plugin_plugin.Info{Name: name, Version: version, Sdk: "informer-sdk-go " + Version}
	}
	export.Start = func(config string) types.Result[types.Unit, string] {
		if err := started(Config(config)); err != nil {
			return types.Err[types.Unit](failure.Text(err))
		}
		return types.Ok[types.Unit, string](types.Unit{})
	}
	export.Stop = func() {
		if err := stopped(); err != nil {
			slog.Error(err.Error())
		}
	}
}
