package timer

import (
	"context"

	informer "github.com/informer-host/informer/plugins/sdk/go"
	export "github.com/informer-host/informer/plugins/sdk/go/bindings/export_informer_plugin_timer_handler"
	_ "github.com/informer-host/informer/plugins/sdk/go/bindings/exports_timer_handler" // exports the interface timer-handler
	"github.com/informer-host/informer/plugins/sdk/go/internal/answer"
	"github.com/informer-host/informer/plugins/sdk/go/internal/failure"
)

func init() {
	informer.OnStart(func(context.Context, informer.Config) error {
		return failure.Registered(registered != nil, calls, "timer.Register", "function for timers")
	})
	export.OnTimer = func(name string) answer.Result {
		return answer.Of(func(ctx context.Context) error { return registered(ctx, name) })
	}
}
