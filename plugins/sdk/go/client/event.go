package client

import (
	informer "github.com/informer-host/informer/plugins/sdk/go"
	"github.com/informer-host/informer/plugins/sdk/go/internal/host"
)

// An Event is a Kubernetes Event about an object, which kubectl describe shows.
type Event struct {
	// GVR and Regarding are the object, which the cache must hold.
	GVR       string
	Regarding informer.Key
	// Warning makes the type Warning instead of Normal.
	Warning bool
	// Reason and Action are words in CamelCase: ScaledUp, Scaling.
	Reason, Action string
	// Note is a sentence for people, at most 1 KiB.
	Note string
}

// Record records an Event. It needs `create events.k8s.io/v1/events` under `write` of the grant. The same Event within ten minutes
// raises the count of the first one. Too many Events about one object are dropped, without an error.
func Record(event Event) error {
	return informer.Refused(host.RecordEvent(host.Event{
		GVR:       event.GVR,
		Regarding: host.Key(event.Regarding),
		Warning:   event.Warning,
		Reason:    host.UTF8(event.Reason),
		Action:    host.UTF8(event.Action),
		Note:      host.UTF8(event.Note),
	}))
}
