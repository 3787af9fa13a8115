// Package received makes the objects of notifications.
package received

import (
	informer "github.com/informer-host/informer/plugins/sdk/go"
	"github.com/informer-host/informer/plugins/sdk/go/bindings/informer_plugin_handler"
	"github.com/informer-host/informer/plugins/sdk/go/bindings/informer_plugin_types"
	"github.com/informer-host/informer/plugins/sdk/go/internal/host"
)

// Object returns the object of a notification. The interface batch-handler has the numbers of causes of the interface handler.
func Object(gvr string, meta informer_plugin_types.ObjectMeta, token uint32, cause uint8) *informer.Object {
	object := informer.OfToken(gvr, host.MetaOf(meta), token)
	switch cause {
	case informer_plugin_handler.CauseLive:
		object.Cause = informer.Live
	case informer_plugin_handler.CauseInitial:
		object.Cause = informer.Initial
	case informer_plugin_handler.CauseRelist:
		object.Cause = informer.Relist
	case informer_plugin_handler.CauseResync:
		object.Cause = informer.Resync
	case informer_plugin_handler.CauseReplay:
		object.Cause = informer.Replay
	}
	return object
}

// Before returns the state of an object before an update. The host passes its token only.
func Before(gvr string, token uint32) (*informer.Object, error) {
	meta, err := host.ObjectMeta(token)
	if err != nil {
		return nil, informer.Refused(err)
	}
	return informer.OfToken(gvr, meta, token), nil
}
