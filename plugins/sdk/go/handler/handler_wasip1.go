package handler

import (
	"context"

	informer "github.com/informer-host/informer/plugins/sdk/go"
	export "github.com/informer-host/informer/plugins/sdk/go/bindings/export_informer_plugin_handler"
	_ "github.com/informer-host/informer/plugins/sdk/go/bindings/exports_handler" // exports the interface handler
	wit "github.com/informer-host/informer/plugins/sdk/go/bindings/informer_plugin_handler"
	"github.com/informer-host/informer/plugins/sdk/go/internal/answer"
	"github.com/informer-host/informer/plugins/sdk/go/internal/failure"
	"github.com/informer-host/informer/plugins/sdk/go/internal/host"
	"github.com/informer-host/informer/plugins/sdk/go/internal/received"
)

func init() {
	informer.OnStart(func(context.Context, informer.Config) error {
		return failure.Registered(registered != nil, calls, "handler.Register", "handler")
	})
	export.OnAdd = func(added wit.EventObject, cause wit.Cause) answer.Result {
		return answer.Of(func(ctx context.Context) error { return registered.OnAdd(ctx, object(added, cause)) })
	}
	export.OnUpdate = func(old uint32, updated wit.EventObject, cause wit.Cause) answer.Result {
		return answer.Of(func(ctx context.Context) error {
			before, err := received.Before(updated.Gvr, old)
			if err != nil {
				return err
			}
			return registered.OnUpdate(ctx, before, object(updated, cause))
		})
	}
	export.OnDelete = func(deleted wit.EventObject, finalStateKnown bool) answer.Result {
		return answer.Of(func(ctx context.Context) error {
			last := informer.OfToken(deleted.Gvr, host.MetaOf(deleted.Meta), deleted.Id)
			last.FinalStateUnknown = !finalStateKnown
			return registered.OnDelete(ctx, last)
		})
	}
}

func object(found wit.EventObject, cause wit.Cause) *informer.Object {
	return received.Object(found.Gvr, found.Meta, found.Id, cause)
}
