//go:build !wasip1

package informertest

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	informer "github.com/informer-host/informer/plugins/sdk/go"
	"github.com/informer-host/informer/plugins/sdk/go/internal/host"
	"github.com/informer-host/informer/plugins/sdk/go/internal/pointer"
)

// fake answers the calls of the SDK.
type fake struct{ *Host }

// stale is the answer for objects by token: those of informertest carry their JSON.
var stale = &host.Error{Kind: "stale-token", Message: "the object does not belong to the current call"}

func (fake) ObjectMeta(uint32) (host.Meta, *host.Error)                { return host.Meta{}, stale }
func (fake) ObjectJSON(uint32) (string, *host.Error)                   { return "", stale }
func (fake) ObjectFields(uint32, []string) ([]*string, *host.Error)    { return nil, stale }
func (fake) ObjectsDiffer(_, _ uint32, _ []string) (bool, *host.Error) { return false, stale }

func (fake) LogEnabled(level host.Level) bool { return level >= host.LevelDebug }

func (f fake) Log(level host.Level, message string, fields [][2]string) {
	line := []string{[]string{"TRACE", "DEBUG", "INFO", "WARN", "ERROR"}[level], message}
	for _, field := range fields {
		line = append(line, field[0]+"="+field[1])
	}
	f.lines = append(f.lines, strings.Join(line, " "))
}

func (fake) CurrentDelivery() host.Delivery {
	return host.Delivery{Attempt: 1, Plugin: "test", HostVersion: "informertest"}
}

func (f fake) CounterAdd(name string, labels [][2]string, value float64) *host.Error {
	return f.recorded("add", name, labels, value)
}

func (f fake) GaugeSet(name string, labels [][2]string, value float64) *host.Error {
	return f.recorded("set", name, labels, value)
}

func (f fake) HistogramObserve(name string, labels [][2]string, value float64) *host.Error {
	return f.recorded("observe", name, labels, value)
}

func (f fake) recorded(what, name string, labels [][2]string, value float64) *host.Error {
	line := what + " " + name
	for _, label := range labels {
		line += fmt.Sprintf(" %s=%s", label[0], label[1])
	}
	f.metrics = append(f.metrics, fmt.Sprintf("%s %v", line, value))
	return nil
}

func (f fake) ListerGet(gvr string, key host.Key) (*string, *host.Error) {
	found, ok := f.objects[gvr][key]
	if !ok {
		return nil, nil
	}
	text := text(found)
	return &text, nil
}

func (f fake) ListerFields(gvr string, key host.Key, pointers []string) ([]*string, bool, *host.Error) {
	text, err := f.ListerGet(gvr, key)
	if text == nil || err != nil {
		return nil, false, err
	}
	values, err := valuesAt(*text, pointers)
	return values, true, err
}

func valuesAt(text string, pointers []string) ([]*string, *host.Error) {
	values := make([]*string, len(pointers))
	for i, at := range pointers {
		value, err := pointer.At(text, at)
		if err != nil {
			return nil, &host.Error{Kind: "invalid", Message: err.Error()}
		}
		values[i] = value
	}
	return values, nil
}

// page returns a page of the texts of the selected objects, sorted by key. All pages of a list come from one snapshot.
func (f fake) page(gvr, namespace, labels string, token *string) ([]string, *string, *host.Error) {
	if token != nil {
		rest, open := f.lists[*token]
		if !open {
			return nil, nil, &host.Error{Kind: "stale-page", Message: "the page token is unknown"}
		}
		return f.part(rest)
	}
	wanted, refused := requirements(labels)
	if refused != nil {
		return nil, nil, refused
	}
	var keys []host.Key
	for key, object := range f.objects[gvr] {
		read, err := informer.FromJSON(gvr, text(object))
		if err != nil {
			return nil, nil, &host.Error{Kind: "internal", Message: err.Error()}
		}
		if fit(read.Labels, wanted) && (namespace == "" || namespace == key.Namespace) {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(a, b host.Key) int {
		return strings.Compare(a.Namespace+"\x00"+a.Name, b.Namespace+"\x00"+b.Name)
	})
	var texts []string
	for _, key := range keys {
		texts = append(texts, text(f.objects[gvr][key]))
	}
	return f.part(texts)
}

// part returns the first texts of a list, and the token of the page behind them.
func (f fake) part(texts []string) ([]string, *string, *host.Error) {
	if len(texts) <= PageSize {
		return texts, nil, nil
	}
	next := strconv.Itoa(len(f.lists) + 1)
	f.lists[next] = texts[PageSize:]
	return texts[:PageSize], &next, nil
}

func (f fake) ListJSON(gvr string, of host.Selector, token *string) ([]string, *string, *host.Error) {
	if of.Index != "" {
		return nil, nil, &host.Error{Kind: "invalid", Message: "informertest has no indexes"}
	}
	return f.page(gvr, of.Namespace, of.Labels, token)
}

func (f fake) ListMetas(gvr string, of host.Selector, token *string) ([]host.Meta, *string, *host.Error) {
	texts, next, refused := f.ListJSON(gvr, of, token)
	metas := make([]host.Meta, len(texts))
	for i, text := range texts {
		object, err := informer.FromJSON(gvr, text)
		if err != nil {
			return nil, nil, &host.Error{Kind: "internal", Message: err.Error()}
		}
		metas[i] = host.Meta{
			Namespace:         object.Namespace,
			Name:              object.Name,
			UID:               object.UID,
			ResourceVersion:   object.ResourceVersion,
			CreationTimestamp: object.CreationTimestamp,
			Deleting:          object.Deleting,
			Labels:            object.Labels,
			Controller:        (*host.Owner)(object.Controller),
		}
	}
	return metas, next, refused
}

func (f fake) ListRows(gvr string, of host.Selector, pointers []string, token *string) ([]host.Row, *string, *host.Error) {
	texts, next, refused := f.ListJSON(gvr, of, token)
	rows := make([]host.Row, len(texts))
	for i, text := range texts {
		object, err := informer.FromJSON(gvr, text)
		if err != nil {
			return nil, nil, &host.Error{Kind: "internal", Message: err.Error()}
		}
		values, refused := valuesAt(text, pointers)
		if refused != nil {
			return nil, nil, refused
		}
		rows[i] = host.Row{Key: host.Key(object.Key()), Values: values}
	}
	return rows, next, refused
}

func (f fake) IndexValues(gvr, index, namespace string, after *string, _ uint32) ([]host.IndexValue, *host.Error) {
	if index != "namespace" {
		return nil, &host.Error{Kind: "invalid", Message: "informertest has no index but namespace"}
	}
	counts := map[string]uint32{}
	for key := range f.objects[gvr] {
		if namespace == "" || namespace == key.Namespace {
			counts[key.Namespace]++
		}
	}
	var values []host.IndexValue
	for _, value := range slices.Sorted(maps.Keys(counts)) {
		if (after == nil || value > *after) && len(values) < PageSize {
			values = append(values, host.IndexValue{Value: value, Objects: counts[value]})
		}
	}
	return values, nil
}

func (f fake) StateOf(gvr string) (host.CacheState, *host.Error) {
	if f.unsynced[gvr] {
		return host.CacheState{}, nil
	}
	return host.CacheState{Synced: true, ResourceVersion: strconv.Itoa(f.version), AgeMillis: new(uint32)}, nil
}

func (f fake) HasSynced(gvr string) (bool, *host.Error) { return !f.unsynced[gvr], nil }

func (fake) WaitUntil(_, _, _ string, _ uint32) (bool, *host.Error) { return true, nil }
