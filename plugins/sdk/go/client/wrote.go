package client

import (
	informer "github.com/informer-host/informer/plugins/sdk/go"
	"github.com/informer-host/informer/plugins/sdk/go/internal/host"
)

// kept is the number of writes that an instance remembers.
const kept = 1024

type version struct{ uid, resourceVersion string }

// The last writes of this instance: a ring, and the versions in it.
var (
	ring  [kept]version
	next  int
	known = map[version]bool{}
)

func init() {
	host.Forget = func() { ring, next, known = [kept]version{}, 0, map[version]bool{} }
}

// remember adds the answer to a write. The server answers a write that changes nothing with the version before, which another client
// may have written. before is the version that the request had; it is empty if the request had none.
func remember(object *informer.Object, before string) {
	written := version{object.UID, object.ResourceVersion}
	if written.resourceVersion == "" || written.resourceVersion == before || known[written] {
		return
	}
	delete(known, ring[next])
	ring[next] = written
	known[written] = true
	next = (next + 1) % kept
}

// Wrote returns true if this state of the object is the answer to one of the last 1024 writes of this instance:
//
//	first := object.Cause == informer.Live && informer.CurrentDelivery().Attempt == 1
//	if first && client.Wrote(object) {
//		return nil
//	}
//
// Pending notifications are merged, so such a state may also contain a change that another client made before the write. Skip the state
// only if the plugin need not see that change: [Modify] reads it before it writes, and an Apply of all wanted fields does not depend on it.
// A new instance remembers no writes, so the plugin must be able to handle such a state again.
//
// The API server answers a write that changes nothing with the present version, which another client may have written. That version is
// no own write if the request had it in metadata.resourceVersion, as the requests of [Modify] do. Without a version in the request, as
// in most requests of [Apply] and [MergePatch], it counts as an own write.
//
// Do not skip such a state at the start of a handler if the attempt is above 1, or if the cause is [informer.Resync] or [informer.Replay]:
// an earlier attempt may have written this state and failed afterwards. If the plugin skips the state then, the rest of the work of that
// attempt is lost.
func Wrote(object *informer.Object) bool { return known[version{object.UID, object.ResourceVersion}] }
