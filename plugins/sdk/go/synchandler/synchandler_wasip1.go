package synchandler

import (
	"context"

	informer "github.com/informer-host/informer/plugins/sdk/go"
	export "github.com/informer-host/informer/plugins/sdk/go/bindings/export_informer_plugin_sync_handler"
	_ "github.com/informer-host/informer/plugins/sdk/go/bindings/exports_sync_handler" // exports the interface sync-handler
	"github.com/informer-host/informer/plugins/sdk/go/internal/answer"
	"github.com/informer-host/informer/plugins/sdk/go/internal/failure"
)

func init() {
	informer.OnStart(func(context.Context, informer.Config) error {
		return failure.Registered(registered != nil, calls, "synchandler.Register", "function for complete caches")
	})
	export.OnSynced = func(gvr string, count uint32, resourceVersion string) answer.Result {
		return answer.Of(func(ctx context.Context) error {
			return registered(ctx, Synced{GVR: gvr, Count: int(count), ResourceVersion: resourceVersion})
		})
	}
}
