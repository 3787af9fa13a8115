package informer

import (
	"time"

	"github.com/informer-host/informer/plugins/sdk/go/internal/host"
)

// The functions here are for the other packages of this SDK: their arguments are types that only those have.

// Refused returns the refusal of the host as an error, or nil. It is for the packages of this SDK.
func Refused(refused *host.Error) error {
	if refused == nil {
		return nil
	}
	return &Error{
		Kind:       Kind(refused.Kind),
		Message:    refused.Message,
		Status:     int(refused.Status),
		RetryAfter: time.Duration(refused.RetryAfterMillis) * time.Millisecond,
	}
}

// MetaOf returns the metadata as the host passes it. It is for the packages of this SDK.
func MetaOf(found host.Meta) Meta {
	meta := Meta{
		Namespace:         found.Namespace,
		Name:              found.Name,
		UID:               found.UID,
		ResourceVersion:   found.ResourceVersion,
		CreationTimestamp: found.CreationTimestamp,
		Deleting:          found.Deleting,
		Labels:            found.Labels,
	}
	if found.Controller != nil {
		meta.Controller = (*Owner)(found.Controller)
	}
	return meta
}

// OfToken returns an object that the host holds. It is for the packages of this SDK.
func OfToken(gvr string, meta host.Meta, token uint32) *Object {
	return &Object{GVR: gvr, Meta: MetaOf(meta), token: token}
}
