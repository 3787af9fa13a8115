// Package client sends requests to the Kubernetes API server. The host sends them with its own credentials, which never enter the
// plugin, and writes an audit record of each write. A component that uses it needs `write` under [plugin.grant], and `read` for reads.
//
// Reads here cost a round trip: prefer package lister. A write leads to a notification, for the plugin that wrote as well: compare before
// writing, or skip the states for which [Wrote] returns true.
package client

import (
	"encoding/json"
	"fmt"
	"iter"

	informer "github.com/informer-host/informer/plugins/sdk/go"
	"github.com/informer-host/informer/plugins/sdk/go/internal/host"
	"github.com/informer-host/informer/plugins/sdk/go/internal/page"
)

// An Option changes a write.
type Option func(*options)

type options struct {
	host.WriteOptions
	deletion host.DeleteOptions
}

// DryRun makes the server check the request and answer, but change nothing.
func DryRun() Option {
	return func(options *options) { options.DryRun, options.deletion.DryRun = true, true }
}

// Force lets [Apply] change fields that another manager owns, and own them from then on.
func Force() Option { return func(options *options) { options.Force = true } }

// Subresource directs the request to a subresource, such as status or scale.
func Subresource(name string) Option { return func(options *options) { options.Subresource = name } }

// Only lets [Delete] delete this state of the object, and fail with [informer.Conflict] if it has changed.
func Only(object *informer.Object) Option {
	return func(options *options) {
		options.deletion.UID, options.deletion.ResourceVersion = object.UID, object.ResourceVersion
	}
}

// Background lets [Delete] delete dependents later. Without one of the three, the resource decides.
func Background() Option { return propagation("background") }

// Foreground lets [Delete] delete dependents first.
func Foreground() Option { return propagation("foreground") }

// Orphan lets [Delete] keep dependents.
func Orphan() Option { return propagation("orphan") }

func propagation(word string) Option {
	return func(options *options) { options.deletion.Propagation = word }
}

func chosen(chosen []Option) options {
	var options options
	for _, option := range chosen {
		option(&options)
	}
	return options
}

// Get returns the current state of an object. Of the options, only [Subresource] has an effect.
func Get(gvr string, key informer.Key, options ...Option) (*informer.Object, error) {
	text, err := host.Get(gvr, host.Key(key), chosen(options).Subresource)
	if err != nil {
		return nil, informer.Refused(err)
	}
	return informer.FromJSON(gvr, text)
}

// A Selector selects objects of a list. All conditions must hold; its zero value selects every object.
type Selector struct {
	// Namespace is the namespace to list; all namespaces need a grant without a namespace.
	Namespace string
	// Labels and Fields are selectors of Kubernetes.
	Labels, Fields string
	// PageSize is the number of objects in one answer; 0 means 500.
	PageSize int
}

// List iterates over objects of the API server. Pages are fetched as the loop goes on. An error ends the loop.
func List(gvr string, of Selector) iter.Seq2[*informer.Object, error] {
	return page.Iterate(func(token *string) ([]*informer.Object, *string, error) {
		found, next, refused := host.List(gvr, host.ListOptions{
			Namespace: of.Namespace,
			Labels:    of.Labels,
			Fields:    of.Fields,
			Limit:     uint32(max(of.PageSize, 0)),
			Token:     token,
		})
		if refused != nil {
			return nil, nil, informer.Refused(refused)
		}
		objects, err := page.Convert(found, func(text string) (*informer.Object, error) {
			return informer.FromJSON(gvr, text)
		})
		return objects, next, err
	})
}

// Create creates an object and returns it as the server answered. The object is any value whose JSON is an object of Kubernetes. Its
// metadata name its namespace. It fails with [informer.AlreadyExists] if the name is taken.
func Create(gvr string, object any, options ...Option) (*informer.Object, error) {
	text, meta, err := encoded(gvr, object)
	if err != nil {
		return nil, err
	}
	write := chosen(options).WriteOptions
	return written(gvr, write, "")(host.Create(gvr, meta.Namespace, text, write))
}

// Update replaces an object. It fails with [informer.Conflict] if the resourceVersion in the object is not the current one. Send the
// whole object that was read, changed: what is left out is removed. [Modify] changes parts.
func Update(gvr string, object any, options ...Option) (*informer.Object, error) {
	text, meta, err := encoded(gvr, object)
	if err != nil {
		return nil, err
	}
	write := chosen(options).WriteOptions
	return written(gvr, write, meta.ResourceVersion)(host.Update(gvr, host.Key(meta.Key()), text, write))
}

// Apply is server-side apply: the object holds the fields that the plugin wants to own, with apiVersion, kind and name. It creates an
// object that does not exist. The field manager is informer/NAME. It needs the grant `apply`. It fails with [informer.Conflict] if
// another manager owns one of the fields, unless [Force] is given.
func Apply(gvr string, object any, options ...Option) (*informer.Object, error) {
	text, meta, err := encoded(gvr, object)
	if err != nil {
		return nil, err
	}
	write := chosen(options).WriteOptions
	return written(gvr, write, meta.ResourceVersion)(host.Patch(gvr, host.Key(meta.Key()), host.ApplyPatch, text, write))
}

// MergePatch changes parts of an object by a JSON merge patch (RFC 7386). The patch is any value whose JSON is a merge patch.
func MergePatch(gvr string, key informer.Key, patch any, options ...Option) (*informer.Object, error) {
	return patched(gvr, key, host.MergePatch, patch, options)
}

// JSONPatch changes parts of an object by a JSON patch (RFC 6902): a list of operations.
func JSONPatch(gvr string, key informer.Key, patch any, options ...Option) (*informer.Object, error) {
	return patched(gvr, key, host.JSONPatch, patch, options)
}

// StrategicMergePatch changes parts of an object of a built-in type; arrays merge by the keys of their type.
func StrategicMergePatch(gvr string, key informer.Key, patch any, options ...Option) (*informer.Object, error) {
	return patched(gvr, key, host.StrategicMergePatch, patch, options)
}

func patched(gvr string, key informer.Key, kind host.PatchKind, patch any, options []Option) (*informer.Object, error) {
	text, err := json.Marshal(patch)
	if err != nil {
		return nil, fmt.Errorf("a patch of %s %s: %w", gvr, key, err)
	}
	write := chosen(options).WriteOptions
	return written(gvr, write, carried(text))(host.Patch(gvr, host.Key(key), kind, string(text), write))
}

// Delete deletes an object. An object with finalizers remains until they are removed.
func Delete(gvr string, key informer.Key, options ...Option) error {
	return informer.Refused(host.Delete(gvr, host.Key(key), chosen(options).deletion))
}

// encoded returns the text of an object, and its metadata.
func encoded(gvr string, object any) (string, informer.Meta, error) {
	if read, ok := object.(*informer.Object); ok {
		text, err := read.JSON()
		return text, read.Meta, err
	}
	text, err := json.Marshal(object)
	if err != nil {
		return "", informer.Meta{}, fmt.Errorf("an object of %s: %w", gvr, err)
	}
	made, err := informer.FromJSON(gvr, string(text))
	if err != nil {
		return "", informer.Meta{}, err
	}
	return string(text), made.Meta, nil
}

// carried returns the version in the metadata of a patch, or the one that an operation of a JSON patch compares or sets. It is empty if
// the patch has none.
func carried(patch []byte) string {
	var object struct {
		Metadata struct{ ResourceVersion string }
	}
	if json.Unmarshal(patch, &object) == nil {
		return object.Metadata.ResourceVersion
	}
	var operations []struct {
		Path  string
		Value any
	}
	if json.Unmarshal(patch, &operations) != nil {
		return ""
	}
	var version string
	for _, operation := range operations {
		if operation.Path == "/metadata/resourceVersion" {
			version, _ = operation.Value.(string)
		}
	}
	return version
}

// written returns the object after a write, and remembers its version unless the write is a dry run, which makes no version. before is
// the version that the request had, or empty.
func written(gvr string, write host.WriteOptions, before string) func(text string, refused *host.Error) (*informer.Object, error) {
	return func(text string, refused *host.Error) (*informer.Object, error) {
		if refused != nil {
			return nil, informer.Refused(refused)
		}
		object, err := informer.FromJSON(gvr, text)
		if err == nil && !write.DryRun {
			remember(object, before)
		}
		return object, err
	}
}
