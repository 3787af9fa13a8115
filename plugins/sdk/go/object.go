package informer

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/informer-host/informer/plugins/sdk/go/internal/host"
	"github.com/informer-host/informer/plugins/sdk/go/internal/pointer"
)

// A Key names an object within its resource.
type Key struct {
	// Namespace is empty for a cluster-scoped object.
	Namespace string
	Name      string
}

// String returns namespace/name, or the name of a cluster-scoped object.
func (key Key) String() string {
	if key.Namespace == "" {
		return key.Name
	}
	return key.Namespace + "/" + key.Name
}

// ParseKey reads what [Key.String] returns.
func ParseKey(text string) (Key, error) {
	namespace, name, found := strings.Cut(text, "/")
	if !found {
		namespace, name = "", text
	}
	if name == "" || strings.Contains(name, "/") || found && namespace == "" {
		return Key{}, fmt.Errorf("%q is not the key of an object: namespace/name, or name for a cluster-scoped object", text)
	}
	return Key{namespace, name}, nil
}

// ParseWorkKey reads a key that the host added to the workqueue. If the subscription has resource-in-key = true, of is the resource of the
// object, such as v1/pods, or the kind of its controller, such as apps/v1/ReplicaSet. Otherwise of is empty.
func ParseWorkKey(text string) (of string, key Key, err error) {
	if blank := strings.LastIndexByte(text, ' '); blank >= 0 {
		of, text = text[:blank], text[blank+1:]
	}
	key, err = ParseKey(text)
	return of, key, err
}

// Meta is the metadata that plugins use most. Annotations are read with [Object.Read] or [Decode].
type Meta struct {
	// Namespace is empty for a cluster-scoped object.
	Namespace string
	Name      string
	UID       string
	// ResourceVersion is opaque: compare it for equality only.
	ResourceVersion string
	// CreationTimestamp is a time of RFC 3339; empty if the server sent none.
	CreationTimestamp string
	// Deleting is true if the object waits for its finalizers.
	Deleting bool
	Labels   map[string]string
	// Controller is the owner that controls the object; nil if there is none.
	Controller *Owner
}

// Key returns the key of the object.
func (meta *Meta) Key() Key { return Key{meta.Namespace, meta.Name} }

// An Owner is the entry of metadata.ownerReferences that is the controller.
type Owner struct {
	APIVersion, Kind, Name, UID string
}

// A Cause is why a notification is delivered.
type Cause string

// The causes.
const (
	// Live means that the watch reported the change.
	Live Cause = "live"
	// Initial means that the object existed before the host, or this subscription, started.
	Initial Cause = "initial"
	// Relist means that a later list found the change, which the watch missed.
	Relist Cause = "relist"
	// Resync means that nothing changed, and the resync period has passed.
	Resync Cause = "resync"
	// Replay means that the notification is delivered again on request.
	Replay Cause = "replay"
)

// An Object is metadata, and a body that is read from the host when it is needed. Objects of a notification are valid until the
// call returns; reads after that fail with [StaleToken].
type Object struct {
	Meta
	// GVR is the resource, as in informer.toml: apps/v1/deployments.
	GVR string
	// Cause is why a notification is delivered. It is empty for the object of OnDelete, for the old object of an update, and for an
	// object that does not belong to a notification.
	Cause Cause
	// FinalStateUnknown is true for an object of a deletion that the watch missed: the object may have changed since this state.
	FinalStateUnknown bool

	// The object is held by the host under a token, or here as JSON.
	token uint32
	json  string
}

// JSON returns the whole object as JSON text, with kind and apiVersion.
func (object *Object) JSON() (string, error) {
	if object.json != "" {
		return object.json, nil
	}
	text, err := host.ObjectJSON(object.token)
	return text, Refused(err)
}

// Decode parses the whole object into a value of the type, which may be one of k8s.io/api or a struct with the fields of interest.
// Reading a few fields with [Object.Read] costs a tenth or less of that. A number in a map[string]any is a float64, which rounds whole
// numbers above 9,007,199,254,740,991. If you write the object, decode it into a type with fields of int64, or change it with
// [github.com/informer-host/informer/plugins/sdk/go/client.Modify].
func Decode[T any](object *Object) (T, error) {
	var value T
	text, err := object.JSON()
	if err != nil {
		return value, err
	}
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		return value, fmt.Errorf("%s: %w", object.Key(), err)
	}
	return value, nil
}

// Changed returns true if the values at any of the pointers differ between two objects. Many update handlers begin with it. White
// space and the order of keys do not count. Whole numbers are compared digit by digit.
func Changed(old, new *Object, pointers ...string) (bool, error) {
	if old.json == "" && new.json == "" {
		differ, err := host.ObjectsDiffer(old.token, new.token, pointers)
		return differ, Refused(err)
	}
	before, err := old.values(pointers)
	if err != nil {
		return false, err
	}
	after, err := new.values(pointers)
	if err != nil {
		return false, err
	}
	for i := range pointers {
		if !pointer.Equal(before[i], after[i]) {
			return true, nil
		}
	}
	return false, nil
}

// FromJSON makes an object of its JSON text.
func FromJSON(gvr, text string) (*Object, error) {
	var body struct {
		Metadata struct {
			Namespace, Name, UID, ResourceVersion, CreationTimestamp string
			DeletionTimestamp                                        *string
			Labels                                                   map[string]string
			OwnerReferences                                          []OwnerReference
		}
	}
	if err := json.Unmarshal([]byte(text), &body); err != nil {
		return nil, fmt.Errorf("an object of %s: %w", gvr, err)
	}
	found := body.Metadata
	object := &Object{GVR: gvr, json: text, Meta: Meta{
		Namespace:         found.Namespace,
		Name:              found.Name,
		UID:               found.UID,
		ResourceVersion:   found.ResourceVersion,
		CreationTimestamp: found.CreationTimestamp,
		Deleting:          found.DeletionTimestamp != nil,
		Labels:            found.Labels,
	}}
	for _, owner := range found.OwnerReferences {
		if owner.Controller {
			object.Controller = &Owner{owner.APIVersion, owner.Kind, owner.Name, owner.UID}
		}
	}
	return object, nil
}

// An OwnerReference is an entry of metadata.ownerReferences. The garbage collector of Kubernetes deletes an object when its owners
// are gone.
type OwnerReference struct {
	APIVersion         string `json:"apiVersion"`
	Kind               string `json:"kind"`
	Name               string `json:"name"`
	UID                string `json:"uid"`
	Controller         bool   `json:"controller,omitempty"`
	BlockOwnerDeletion bool   `json:"blockOwnerDeletion,omitempty"`
}

// ControllerReference returns the reference that makes an object the controller of another one. An owner with a namespace can own
// objects of that namespace only: the garbage collector deletes an object whose owner is in another namespace.
func ControllerReference(owner *Object) (OwnerReference, error) {
	reference := OwnerReference{Name: owner.Name, UID: owner.UID, Controller: true, BlockOwnerDeletion: true}
	var kind struct {
		APIVersion string `pointer:"/apiVersion"`
		Kind       string `pointer:"/kind"`
	}
	err := owner.Read(&kind)
	reference.APIVersion, reference.Kind = kind.APIVersion, kind.Kind
	return reference, err
}
