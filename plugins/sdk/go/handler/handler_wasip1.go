package handler

import (
	"context"
	"errors"

	informer "github.com/informer-host/informer/plugins/sdk/go"
	export "github.com/informer-host/informer/plugins/sdk/go/bindings/export_informer_plugin_handler"
	_ "github.com/informer-host/informer/plugins/sdk/go/bindings/exports_handler" // exports the interface handler
	wit "github.com/informer-host/informer/plugins/sdk/go/bindings/informer_plugin_handler"
	"github.com/informer-host/informer/plugins/sdk/go/internal/answer"
	"github.com/informer-host/informer/plugins/sdk/go/internal/host"
)

func init() {
	informer.OnStart(func(context.Context, informer.Config) error {
		if registered == nil {
			return errors.New("no handler is registered: call handler.Register from an init function")
		}
		return nil
	})
	export.OnAdd = func(added wit.EventObject, cause wit.Cause) answer.Result {
		return answer.Of(func(ctx context.Context) error { return registered.OnAdd(ctx, object(added, cause)) })
	}
	export.OnUpdate = func(old uint32, updated wit.EventObject, cause wit.Cause) answer.Result {
		return answer.Of(func(ctx context.Context) error {
			meta, err := host.ObjectMeta(old)
			if err != nil {
				return informer.Refused(err)
			}
			return registered.OnUpdate(ctx, informer.OfToken(updated.Gvr, meta, old), object(updated, cause))
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
	object := informer.OfToken(found.Gvr, host.MetaOf(found.Meta), found.Id)
	switch cause {
	case wit.CauseLive:
		object.Cause = informer.Live
	case wit.CauseInitial:
		object.Cause = informer.Initial
	case wit.CauseRelist:
		object.Cause = informer.Relist
	case wit.CauseResync:
		object.Cause = informer.Resync
	case wit.CauseReplay:
		object.Cause = informer.Replay
	}
	return object
}
