package synchandler

import (
	"context"
	"errors"

	informer "github.com/informer-host/informer/plugins/sdk/go"
	export "github.com/informer-host/informer/plugins/sdk/go/bindings/export_informer_plugin_sync_handler"
	_ "github.com/informer-host/informer/plugins/sdk/go/bindings/exports_sync_handler" // exports the interface sync-handler
	"github.com/informer-host/informer/plugins/sdk/go/internal/answer"
)

func init() {
	informer.OnStart(func(context.Context, informer.Config) error {
		if registered == nil {
			return errors.New("no function for complete caches is registered: call synchandler.Register from an init function")
		}
		return nil
	})
	export.OnSynced = func(gvr string, count uint32, resourceVersion string) answer.Result {
		return answer.Of(func(ctx context.Context) error {
			return registered(ctx, Synced{GVR: gvr, Count: int(count), ResourceVersion: resourceVersion})
		})
	}
}
