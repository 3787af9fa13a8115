// Package host is the functions of the host with types of Go. In a component they call the generated bindings. On the machine of
// the author they call a fake, which package informertest provides.
package host

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// NotUTF8 returns an error if one of the texts is not UTF-8, and nil otherwise. The host would end the call with a trap for such a text.
// what is a noun for the texts.
func NotUTF8(what string, texts ...string) *Error {
	for _, text := range texts {
		if !utf8.ValidString(text) {
			message := fmt.Sprintf("%s %q is not UTF-8: use strings.ToValidUTF8, or encode its bytes as text", what, text)
			return &Error{Kind: "invalid", Message: message}
		}
	}
	return nil
}

// UTF8 returns a text for people in UTF-8. The replacement character stands for bytes that are part of no character, such as the rest of a
// text that was cut. The host would end the call with a trap for such bytes.
func UTF8(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

// Forget makes package client forget its writes. Function Use calls Forget, because the next host of a test makes the same versions again.
// Forget is nil if the plugin does not import package client.
var Forget func()

// Key names an object.
type Key struct{ Namespace, Name string }

// Owner is the owner that controls an object.
type Owner struct{ APIVersion, Kind, Name, UID string }

// Meta is the metadata of an object.
type Meta struct {
	Namespace, Name, UID, ResourceVersion, CreationTimestamp string
	Deleting                                                 bool
	Labels                                                   map[string]string
	Controller                                               *Owner
}

// Row is the values at pointers of one object, as JSON; nil if the object has no such value.
type Row struct {
	Key    Key
	Values []*string
}

// Error is a refusal of the host. Kind is the word of the WIT interface.
type Error struct {
	Kind, Message    string
	Status           uint32
	RetryAfterMillis uint32
}

// Selector selects objects of the cache. Empty fields select all.
type Selector struct {
	Namespace, Labels, Index, Value string
	PageSize                        int
}

// IndexValue is a value of an index, and the number of objects that have it.
type IndexValue struct {
	Value   string
	Objects uint32
}

// CacheState is what a cache holds. AgeMillis is nil before the first list.
type CacheState struct {
	Synced          bool
	ResourceVersion string
	AgeMillis       *uint32
}

// ListOptions selects objects of a list of the API server. Empty fields select all.
type ListOptions struct {
	Namespace, Labels, Fields string
	Limit                     uint32
	Token                     *string
}

// WriteOptions are the options of a write.
type WriteOptions struct {
	DryRun, Force bool
	Subresource   string
}

// DeleteOptions are the options of a deletion. Empty fields have no effect.
type DeleteOptions struct {
	DryRun                            bool
	UID, ResourceVersion, Propagation string
}

// Event is an Event of Kubernetes about an object.
type Event struct {
	GVR                  string
	Regarding            Key
	Warning              bool
	Reason, Action, Note string
}

// PatchKind is a kind of patch.
type PatchKind uint8

// The kinds of patches, in the order of the WIT interface.
const (
	MergePatch PatchKind = iota
	JSONPatch
	StrategicMergePatch
	ApplyPatch
)

// HTTPRequest is a request of wasi:http. Millis is zero without a time limit.
type HTTPRequest struct {
	Method          string
	HTTPS           bool
	Authority, Path string
	Header          [][2]string
	Body            []byte
	Millis          uint32
}

// HTTPAnswer is the answer to an HTTPRequest.
type HTTPAnswer struct {
	Status uint16
	Header [][2]string
	Body   []byte
}

// Level is a level of a log line.
type Level uint8

// The levels, in the order of the WIT interface.
const (
	LevelTrace Level = iota
	LevelDebug
	LevelInfo
	LevelWarn
	LevelError
)

// Delivery is the facts about a call.
type Delivery struct {
	Attempt, QueuedMillis uint32
	Plugin, HostVersion   string
}
