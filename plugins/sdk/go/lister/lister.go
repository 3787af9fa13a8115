// Package lister reads the cache of the host, which all plugins share. A read sends no request to the API server, and is at least as
// new as the notification that is being handled. A component that uses it needs `read` under [plugin.grant].
package lister

import (
	"fmt"
	"iter"
	"time"

	informer "github.com/informer-host/informer/plugins/sdk/go"
	"github.com/informer-host/informer/plugins/sdk/go/internal/failure"
	"github.com/informer-host/informer/plugins/sdk/go/internal/host"
	"github.com/informer-host/informer/plugins/sdk/go/internal/page"
	"github.com/informer-host/informer/plugins/sdk/go/internal/pointer"
)

// A Selector selects objects. All conditions must hold; its zero value selects every object that the plugin may read.
type Selector struct {
	Namespace string
	// Labels is a Kubernetes label selector: app=web,tier in (a, b),!legacy.
	Labels string
	// Index is an index of the [[watch]], and Value what to look up in it.
	Index, Value string
	// PageSize is the number of objects in one answer of the host; with 0 the host chooses.
	PageSize int
}

// A Row is the fields of one object.
type Row[T any] struct {
	Key    informer.Key
	Fields T
}

// Get returns an object. It fails with [informer.NotFound] if the cache does not hold the object.
func Get(gvr string, key informer.Key) (*informer.Object, error) {
	text, err := host.ListerGet(gvr, host.Key(key))
	if err != nil {
		return nil, informer.Refused(err)
	}
	if text == nil {
		return nil, missing(gvr, key)
	}
	return informer.FromJSON(gvr, *text)
}

// Read sets the fields of a struct from an object, by the pointers in their tags, as [informer.Object.Read] does. It is cheaper than
// Get. It fails with [informer.NotFound] if the cache does not hold the object.
func Read(gvr string, key informer.Key, into any) error {
	pointers, err := pointer.Of(into)
	if err != nil {
		return err
	}
	values, found, refused := host.ListerFields(gvr, host.Key(key), pointers)
	if refused != nil {
		return informer.Refused(refused)
	}
	if !found {
		return missing(gvr, key)
	}
	return pointer.Assign(into, values)
}

func missing(gvr string, key informer.Key) error {
	return &informer.Error{Kind: informer.NotFound, Message: fmt.Sprintf("the cache does not hold %s %s", gvr, key)}
}

// Metas iterates over the metadata of the selected objects, sorted by namespace and name. It is the cheapest list. Pages are fetched
// as the loop goes on. An error ends the loop.
func Metas(gvr string, of Selector) iter.Seq2[informer.Meta, error] {
	return page.Iterate(func(token *string) ([]informer.Meta, *string, error) {
		found, next, err := host.ListMetas(gvr, host.Selector(of), token)
		metas := make([]informer.Meta, len(found))
		for i, meta := range found {
			metas[i] = informer.MetaOf(meta)
		}
		return metas, next, informer.Refused(err)
	})
}

// Rows iterates over fields of the selected objects. The tags of T are pointers, as for [informer.Object.Read].
func Rows[T any](gvr string, of Selector) iter.Seq2[Row[T], error] {
	return page.Iterate(func(token *string) ([]Row[T], *string, error) {
		pointers, err := pointer.Of(new(T))
		if err != nil {
			return nil, nil, err
		}
		found, next, refused := host.ListRows(gvr, host.Selector(of), pointers, token)
		rows := make([]Row[T], len(found))
		for i, row := range found {
			rows[i].Key = informer.Key(row.Key)
			if err := pointer.Assign(&rows[i].Fields, row.Values); err != nil {
				return nil, nil, fmt.Errorf("%s: %w", rows[i].Key, err)
			}
		}
		return rows, next, informer.Refused(refused)
	})
}

// Objects iterates over the selected objects.
func Objects(gvr string, of Selector) iter.Seq2[*informer.Object, error] {
	return page.Iterate(func(token *string) ([]*informer.Object, *string, error) {
		found, next, refused := host.ListJSON(gvr, host.Selector(of), token)
		if refused != nil {
			return nil, nil, informer.Refused(refused)
		}
		objects, err := page.Convert(found, func(text string) (*informer.Object, error) {
			return informer.FromJSON(gvr, text)
		})
		return objects, next, err
	})
}

// An IndexValue is a value of an index, and the number of objects that have it.
type IndexValue struct {
	Value   string
	Objects int
}

// IndexValues iterates over the values of an index of the [[watch]], in the order of their bytes. Objects that the plugin may not read do
// not count. The index namespace always exists. An empty namespace selects all. Values that come and go meanwhile may be
// missing or present.
func IndexValues(gvr, index, namespace string) iter.Seq2[IndexValue, error] {
	return page.Iterate(func(after *string) ([]IndexValue, *string, error) {
		found, err := host.IndexValues(gvr, index, namespace, after, 0)
		values := make([]IndexValue, len(found))
		for i, value := range found {
			values[i] = IndexValue{Value: value.Value, Objects: int(value.Objects)}
		}
		if len(values) == 0 {
			return nil, nil, informer.Refused(err)
		}
		return values, &values[len(values)-1].Value, informer.Refused(err)
	})
}

// A CacheState is what a cache holds, and how old that may be.
type CacheState struct {
	// Synced is true if the first list of the resource is in the cache. Until then, lists are incomplete.
	Synced bool
	// ResourceVersion is the version that the cache has reached. It is empty before the first list, and if the host watches several
	// namespaces whose versions have no order.
	ResourceVersion string
	// Age is the time since the API server last sent a list, an event or a bookmark. It is 0 before the first list, so check Synced
	// too: state.Synced && state.Age < time.Minute. A healthy watch receives a bookmark about once a minute.
	Age time.Duration
}

// State returns what the cache of a resource holds. Use it before a decision that an old state would make wrong.
func State(gvr string) (CacheState, error) {
	found, err := host.StateOf(gvr)
	state := CacheState{Synced: found.Synced, ResourceVersion: found.ResourceVersion}
	if found.AgeMillis != nil {
		state.Age = time.Duration(*found.AgeMillis) * time.Millisecond
	}
	return state, informer.Refused(err)
}

// HasSynced returns true if the first list of the resource is in the cache. Until then, lists are incomplete.
func HasSynced(gvr string) (bool, error) {
	synced, err := host.HasSynced(gvr)
	return synced, informer.Refused(err)
}

// WaitFor waits until the cache is at least as new as an object that a write returned, and returns true. It returns false if that
// takes longer than the timeout, or if the deadline of the call comes first.
func WaitFor(written *informer.Object, timeout time.Duration) (bool, error) {
	arrived, err := host.WaitUntil(written.GVR, written.Namespace, written.ResourceVersion, failure.Millis(timeout))
	return arrived, informer.Refused(err)
}
