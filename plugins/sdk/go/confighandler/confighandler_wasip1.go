package confighandler

import (
	"context"

	informer "github.com/informer-host/informer/plugins/sdk/go"
	export "github.com/informer-host/informer/plugins/sdk/go/bindings/export_informer_plugin_config_handler"
	_ "github.com/informer-host/informer/plugins/sdk/go/bindings/exports_config_handler" // exports the interface config-handler
	"github.com/informer-host/informer/plugins/sdk/go/internal/answer"
	"github.com/informer-host/informer/plugins/sdk/go/internal/failure"
)

func init() {
	informer.OnStart(func(context.Context, informer.Config) error {
		return failure.Registered(registered != nil, calls, "confighandler.Register", "function for changes of files")
	})
	export.OnConfig = func(config string) answer.Result {
		return answer.Of(func(ctx context.Context) error { return registered(ctx, informer.Config(config)) })
	}
}
