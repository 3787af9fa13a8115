package host

import (
	client "github.com/informer-host/informer/plugins/sdk/go/bindings/informer_plugin_client"
	wit "github.com/informer-host/informer/plugins/sdk/go/bindings/informer_plugin_types"
	"github.com/informer-host/informer/plugins/sdk/go/bindings/wit/types"
)

// The words of the WIT interface, by their numbers.
var (
	codes    = [...]string{"unknown-resource", "not-granted", "stale-token", "stale-page", "invalid", "too-large", "limit-exceeded", "internal"}
	apiCodes = [...]string{"not-granted", "bad-argument", "limit-exceeded", "too-large", "invalid", "unauthorized", "forbidden", "not-found",
		"already-exists", "conflict", "gone", "too-many-requests", "timeout", "unavailable", "internal"}
)

func word(words []string, code uint8) string {
	if int(code) < len(words) {
		return words[code]
	}
	return "internal"
}

// value separates the value of a result from a refusal of the host.
func value[T any](result types.Result[T, wit.Error]) (T, *Error) {
	if result.IsOk() {
		return result.Ok(), nil
	}
	var none T
	refused := result.Err()
	return none, &Error{Kind: word(codes[:], refused.Code), Message: refused.Message}
}

func done(result types.Result[types.Unit, wit.Error]) *Error {
	_, err := value(result)
	return err
}

// answer separates the answer of the API server from a refusal.
func answer[T any](result types.Result[T, client.ApiError]) (T, *Error) {
	if result.IsOk() {
		return result.Ok(), nil
	}
	var none T
	refused := result.Err()
	return none, &Error{
		Kind:             word(apiCodes[:], refused.Code),
		Message:          refused.Message,
		Status:           refused.Status,
		RetryAfterMillis: refused.RetryAfterMs.SomeOr(0),
	}
}

func pointer[T any](option types.Option[T]) *T {
	if option.IsNone() {
		return nil
	}
	value := option.Some()
	return &value
}

func option[T any](pointer *T) types.Option[T] {
	if pointer == nil {
		return types.None[T]()
	}
	return types.Some(*pointer)
}

// present is none for an empty text.
func present(text string) types.Option[string] {
	if text == "" {
		return types.None[string]()
	}
	return types.Some(text)
}

func pointers[T any](options []types.Option[T]) []*T {
	values := make([]*T, len(options))
	for i, option := range options {
		values[i] = pointer(option)
	}
	return values
}

func pairs(fields [][2]string) []types.Tuple2[string, string] {
	tuples := make([]types.Tuple2[string, string], len(fields))
	for i, field := range fields {
		tuples[i] = types.Tuple2[string, string]{F0: field[0], F1: field[1]}
	}
	return tuples
}

// MetaOf is the metadata as the bindings have it.
func MetaOf(found wit.ObjectMeta) Meta {
	meta := Meta{
		Namespace:         found.Namespace,
		Name:              found.Name,
		UID:               found.Uid,
		ResourceVersion:   found.ResourceVersion,
		CreationTimestamp: found.CreationTimestamp,
		Deleting:          found.Deleting,
		Labels:            make(map[string]string, len(found.Labels)),
	}
	for _, label := range found.Labels {
		meta.Labels[label.F0] = label.F1
	}
	if found.Controller.IsSome() {
		owner := found.Controller.Some()
		meta.Controller = &Owner{APIVersion: owner.ApiVersion, Kind: owner.Kind, Name: owner.Name, UID: owner.Uid}
	}
	return meta
}
