package timer

import (
	"context"
	"errors"

	informer "github.com/informer-host/informer/plugins/sdk/go"
	export "github.com/informer-host/informer/plugins/sdk/go/bindings/export_informer_plugin_timer_handler"
	_ "github.com/informer-host/informer/plugins/sdk/go/bindings/exports_timer_handler" // exports the interface timer-handler
	"github.com/informer-host/informer/plugins/sdk/go/internal/answer"
)

func init() {
	informer.OnStart(func(context.Context, informer.Config) error {
		if registered == nil {
			return errors.New("no function for timers is registered: call timer.Register from an init function")
		}
		return nil
	})
	export.OnTimer = func(name string) answer.Result {
		return answer.Of(func(ctx context.Context) error { return registered(ctx, name) })
	}
}
