package informer

import "time"

// A Kind is why the host refused a call: the word of the interface. It is an error itself, so that errors.Is finds it:
//
//	if errors.Is(err, informer.Conflict) {
type Kind string

// The kinds of every interface.
const (
	// NotGranted means that [plugin.grant] does not allow the call.
	NotGranted Kind = "not-granted"
	// Invalid means that an argument is malformed, or that the API server refuses the object (400, 422).
	Invalid Kind = "invalid"
	// TooLarge means that the answer exceeds the limit of the plugin. A write was made all the same.
	TooLarge Kind = "too-large"
	// LimitExceeded means that the plugin has reached a limit, which the message names.
	LimitExceeded Kind = "limit-exceeded"
	// Internal means a bug of the host.
	Internal Kind = "internal"
)

// The kinds of reads of objects and of the cache.
const (
	// UnknownResource means that this host does not watch the resource.
	UnknownResource Kind = "unknown-resource"
	// StaleToken means that an object is used after its call has returned.
	StaleToken Kind = "stale-token"
	// StalePage means that a page is used after its call has returned.
	StalePage Kind = "stale-page"
)

// The kinds of requests to the API server. NotFound is the one of lister.Get too.
const (
	// BadArgument means that nothing was sent, because an argument is malformed.
	BadArgument Kind = "bad-argument"
	// Unauthorized is the status 401.
	Unauthorized Kind = "unauthorized"
	// Forbidden is the status 403: the credentials of the host lack a permission.
	Forbidden Kind = "forbidden"
	// NotFound means that the object does not exist.
	NotFound Kind = "not-found"
	// AlreadyExists means that an object with the name exists.
	AlreadyExists Kind = "already-exists"
	// Conflict means that the object has changed since it was read, or that another manager owns the field.
	Conflict Kind = "conflict"
	// Gone means that the page or the requested version is too old.
	Gone Kind = "gone"
	// TooManyRequests is the status 429.
	TooManyRequests Kind = "too-many-requests"
	// Timeout is the status 408 or 504. A write may have been made.
	Timeout Kind = "timeout"
	// Unavailable is the status 500 or 503, or no connection. A write may have been made.
	Unavailable Kind = "unavailable"
)

// The kinds of key-values and of the configuration.
const (
	// NoSuchStore means that the host does not have the bucket.
	NoSuchStore Kind = "no-such-store"
	// AccessDenied means that the host refuses the bucket.
	AccessDenied Kind = "access-denied"
	// StoreFailed means that the store cannot be used, or that its quota or a limit, which the message names, is exceeded.
	StoreFailed Kind = "store-failed"
	// ConfigFailed means that the configuration cannot be read.
	ConfigFailed Kind = "config-failed"
)

// The kinds of HTTP requests. A request without an answer has the code of wasi:http as its kind, like "connection-refused".
const (
	// HTTPRequestDenied means that `http` under [plugin.grant] does not name the place, or that no plugin may reach it.
	HTTPRequestDenied Kind = "http-request-denied"
)

// Error returns the word of the kind.
func (kind Kind) Error() string { return string(kind) }

// An Error is a refusal of the host, or of the API server.
type Error struct {
	Kind Kind
	// Message is a sentence for people, in the words of the API server if it sent any.
	Message string
	// Status is the HTTP status, or 0 if the API server did not answer.
	Status int
	// RetryAfter is the time after which the server, or the limit of the plugin, accepts another request; 0 if unknown.
	RetryAfter time.Duration
}

// Error returns the kind and the message.
func (e *Error) Error() string { return string(e.Kind) + ": " + e.Message }

// Is returns true for the kind of the error.
func (e *Error) Is(target error) bool {
	kind, ok := target.(Kind)
	return ok && kind == e.Kind
}
