package host

import (
	client "github.com/informer-host/informer/plugins/sdk/go/bindings/informer_plugin_client"
	"github.com/informer-host/informer/plugins/sdk/go/bindings/informer_plugin_delivery"
	lister "github.com/informer-host/informer/plugins/sdk/go/bindings/informer_plugin_lister"
	"github.com/informer-host/informer/plugins/sdk/go/bindings/informer_plugin_log"
	metrics "github.com/informer-host/informer/plugins/sdk/go/bindings/informer_plugin_metrics"
	objects "github.com/informer-host/informer/plugins/sdk/go/bindings/informer_plugin_objects"
	"github.com/informer-host/informer/plugins/sdk/go/bindings/informer_plugin_timer"
	wit "github.com/informer-host/informer/plugins/sdk/go/bindings/informer_plugin_types"
	workqueue "github.com/informer-host/informer/plugins/sdk/go/bindings/informer_plugin_workqueue"
	"github.com/informer-host/informer/plugins/sdk/go/bindings/wit/types"
)

// The functions that read objects of the current call.

func ObjectMeta(id uint32) (Meta, *Error) {
	meta, err := value(objects.Meta(id))
	return MetaOf(meta), err
}

func ObjectJSON(id uint32) (string, *Error) { return value(objects.Json(id)) }

func ObjectFields(id uint32, of []string) ([]*string, *Error) {
	fields, err := value(objects.GetMany(id, of))
	return pointers(fields), err
}

func ObjectsDiffer(old, new uint32, of []string) (bool, *Error) {
	return value(objects.Differs(old, new, of))
}

// Logs, delivery and metrics.

func LogEnabled(level Level) bool { return informer_plugin_log.Enabled(uint8(level)) }

func Log(level Level, message string, fields [][2]string) {
	informer_plugin_log.Write(uint8(level), message, pairs(fields))
}

func CurrentDelivery() Delivery {
	info := informer_plugin_delivery.Current()
	return Delivery{Attempt: info.Attempt, QueuedMillis: info.QueuedMs, Plugin: info.Plugin, HostVersion: info.HostVersion}
}

func CallAgain(millis uint32) *Error { return done(informer_plugin_delivery.CallAgain(millis)) }

func TimerAfter(name string, millis uint32) *Error {
	return done(informer_plugin_timer.After(name, millis))
}

func TimerCancel(name string) { informer_plugin_timer.Cancel(name) }

func CounterAdd(name string, labels [][2]string, by float64) *Error {
	return done(metrics.CounterAdd(name, pairs(labels), by))
}

func GaugeSet(name string, labels [][2]string, to float64) *Error {
	return done(metrics.GaugeSet(name, pairs(labels), to))
}

func HistogramObserve(name string, labels [][2]string, of float64) *Error {
	return done(metrics.HistogramObserve(name, pairs(labels), of))
}

// The cache of the host.

func selector(of Selector) lister.Selector {
	selector := lister.Selector{Namespace: present(of.Namespace), Labels: of.Labels}
	if of.Index != "" {
		selector.Index = types.Some(types.Tuple2[string, string]{F0: of.Index, F1: of.Value})
	}
	return selector
}

func page(of Selector, token *string) lister.Page {
	return lister.Page{Limit: uint32(max(of.PageSize, 0)), Token: option(token)}
}

func ListerGet(gvr string, key Key) (*string, *Error) {
	found, err := value(lister.Get(gvr, wit.ObjectKey(key)))
	return pointer(found), err
}

func ListerFields(gvr string, key Key, of []string) ([]*string, bool, *Error) {
	found, err := value(lister.GetFields(gvr, wit.ObjectKey(key), of))
	if err != nil || found.IsNone() {
		return nil, false, err
	}
	return pointers(found.Some()), true, nil
}

func ListMetas(gvr string, of Selector, token *string) ([]Meta, *string, *Error) {
	found, err := value(lister.ListMeta(gvr, selector(of), page(of, token)))
	metas := make([]Meta, len(found.Items))
	for i, meta := range found.Items {
		metas[i] = MetaOf(meta)
	}
	return metas, pointer(found.Next), err
}

func ListRows(gvr string, of Selector, at []string, token *string) ([]Row, *string, *Error) {
	found, err := value(lister.ListFields(gvr, selector(of), at, page(of, token)))
	rows := make([]Row, len(found.Items))
	for i, row := range found.Items {
		rows[i] = Row{Key: Key(row.Key), Values: pointers(row.Values)}
	}
	return rows, pointer(found.Next), err
}

func ListJSON(gvr string, of Selector, token *string) ([]string, *string, *Error) {
	found, err := value(lister.ListJson(gvr, selector(of), page(of, token)))
	return found.Items, pointer(found.Next), err
}

func IndexValues(gvr, index, namespace string, after *string, limit uint32) ([]IndexValue, *Error) {
	found, err := value(lister.IndexValues(gvr, index, present(namespace), option(after), limit))
	values := make([]IndexValue, len(found))
	for i, value := range found {
		values[i] = IndexValue(value)
	}
	return values, err
}

func StateOf(gvr string) (CacheState, *Error) {
	found, err := value(lister.State(gvr))
	state := CacheState{Synced: found.Synced, ResourceVersion: found.ResourceVersion}
	if err == nil && found.AgeMs.IsSome() {
		age := found.AgeMs.Some()
		state.AgeMillis = &age
	}
	return state, err
}

func HasSynced(gvr string) (bool, *Error) { return value(lister.HasSynced(gvr)) }

func WaitUntil(gvr, namespace, resourceVersion string, millis uint32) (bool, *Error) {
	return value(lister.WaitUntil(gvr, present(namespace), resourceVersion, millis))
}

// Requests to the API server.

func Get(gvr string, key Key, subresource string) (string, *Error) {
	return answer(client.Get(gvr, wit.ObjectKey(key), subresource))
}

func List(gvr string, of ListOptions) ([]string, *string, *Error) {
	found, err := answer(client.ListObjects(gvr, client.ListOptions{
		Namespace: present(of.Namespace),
		Labels:    of.Labels,
		Fields:    of.Fields,
		Limit:     of.Limit,
		Token:     option(of.Token),
	}))
	return found.Items, pointer(found.Next), err
}

func Create(gvr, namespace, object string, of WriteOptions) (string, *Error) {
	return answer(client.Create(gvr, namespace, object, client.WriteOptions(of)))
}

func Update(gvr string, key Key, object string, of WriteOptions) (string, *Error) {
	return answer(client.Update(gvr, wit.ObjectKey(key), object, client.WriteOptions(of)))
}

func Patch(gvr string, key Key, kind PatchKind, body string, of WriteOptions) (string, *Error) {
	return answer(client.Patch(gvr, wit.ObjectKey(key), uint8(kind), body, client.WriteOptions(of)))
}

func Delete(gvr string, key Key, of DeleteOptions) *Error {
	wire := client.DeleteOptions{DryRun: of.DryRun, Uid: present(of.UID), ResourceVersion: present(of.ResourceVersion)}
	switch of.Propagation {
	case "background":
		wire.Propagation = types.Some(client.PropagationBackground)
	case "foreground":
		wire.Propagation = types.Some(client.PropagationForeground)
	case "orphan":
		wire.Propagation = types.Some(client.PropagationOrphan)
	}
	_, err := answer(client.DeleteObject(gvr, wit.ObjectKey(key), wire))
	return err
}

func RecordEvent(event Event) *Error {
	_, err := answer(client.RecordEvent(client.ObjectEvent{
		Gvr:       event.GVR,
		Regarding: wit.ObjectKey(event.Regarding),
		Warning:   event.Warning,
		Reason:    event.Reason,
		Action:    event.Action,
		Note:      event.Note,
	}))
	return err
}

// The workqueue.

func QueueAdd(key string) *Error { return done(workqueue.Add(key)) }

func QueueAddAfter(key string, millis uint32) *Error { return done(workqueue.AddAfter(key, millis)) }

func QueueAddRateLimited(key string) *Error { return done(workqueue.AddRateLimited(key)) }

func QueueForget(key string) { workqueue.Forget(key) }

func QueueRequeues(key string) uint32 { return workqueue.NumRequeues(key) }

func QueueLen() uint32 { return workqueue.Length() }
