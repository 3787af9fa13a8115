//go:build !wasip1

// Package informertest is a host for tests of a plugin with the ordinary Go. It answers from memory:
//
//	func TestHello(t *testing.T) {
//		host := informertest.New(t)
//		web := host.Object("apps/v1/deployments", `{"metadata": {"namespace": "default", "name": "web"}}`)
//
//		if err := (hello{}).OnAdd(t.Context(), web); err != nil {
//			t.Fatal(err)
//		}
//		if got := host.Lines(); !slices.Equal(got, []string{"INFO hello object=default/web"}) {
//			t.Error(got)
//		}
//	}
//
// The cache and the API server are one store of objects. There are no grants and no deadlines, and the only limit is that of the 1,000 keys
// of a GetMany. Label selectors are lists of name=value; field selectors, indexes but namespace, JSON patches and strategic merge patches
// are refused. Server-side apply is a merge patch that creates an object that does not exist. A deleted object stays until it has no
// finalizers. Numbers keep their digits. All pages of a list come from one snapshot, so a plugin may delete what it lists. Tests that use
// a host do not run in parallel.
package informertest

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	informer "github.com/informer-host/informer/plugins/sdk/go"
	"github.com/informer-host/informer/plugins/sdk/go/internal/host"
)

// PageSize is the number of items on a page of every list, so that a test with few objects has several pages.
const PageSize = 2

// T has the methods of *testing.T that a host needs.
type T interface {
	Helper()
	Cleanup(end func())
	Fatal(arguments ...any)
}

// A Host is a host in memory.
type Host struct {
	t        T
	objects  map[string]map[host.Key]map[string]any
	version  int
	unsynced map[string]bool
	lines    []string
	requests []string
	failures []*host.Error
	// lists has the objects behind each page of a list by the token of the next page, and cursors the last key of each page of keys.
	lists    map[string][]string
	cursors  []string
	buckets  map[string]map[string][]byte
	queue    []string
	requeues map[string]uint32
	config   map[string]string
	metrics  []string
	timers   map[string]time.Duration
	again    []time.Duration
	answers  map[string]host.HTTPAnswer
}

// New makes a host, which answers until the test ends. The default logger of slog writes to it. The plugin forgets the writes of earlier
// tests, so they are no own writes (client.Wrote).
func New(t T) *Host {
	made := &Host{
		t:        t,
		objects:  map[string]map[host.Key]map[string]any{},
		version:  100,
		unsynced: map[string]bool{},
		lists:    map[string][]string{},
		buckets:  map[string]map[string][]byte{},
		requeues: map[string]uint32{},
		config:   map[string]string{},
		timers:   map[string]time.Duration{},
		answers:  map[string]host.HTTPAnswer{},
	}
	before, logger := host.Use(fake{made}), slog.Default()
	slog.SetDefault(slog.New(informer.LogHandler{}))
	t.Cleanup(func() {
		host.Use(before)
		slog.SetDefault(logger)
	})
	return made
}

// Object makes an object of JSON text, without storing it: the argument of a handler.
func (made *Host) Object(gvr, text string) *informer.Object {
	made.t.Helper()
	object, err := informer.FromJSON(gvr, text)
	if err != nil {
		made.t.Fatal(err)
	}
	return object
}

// Store puts an object of JSON text into the cache and the API server, with a new resource version, and returns it. If the text has no
// UID, the object keeps the one that an object with this key has, and a new object gets a new one.
func (made *Host) Store(gvr, text string) *informer.Object {
	made.t.Helper()
	object, err := parsed(text)
	if err != nil {
		made.t.Fatal(err)
	}
	return made.Object(gvr, made.stored(gvr, object))
}

// Remove removes an object.
func (made *Host) Remove(gvr string, key informer.Key) { delete(made.objects[gvr], host.Key(key)) }

// SetSynced sets whether the first list of a resource is in the cache. Without this call, the list is in the cache.
func (made *Host) SetSynced(gvr string, synced bool) { made.unsynced[gvr] = !synced }

// SetConfig sets a value that package config returns.
func (made *Host) SetConfig(key, value string) { made.config[key] = value }

// Fail makes the next request to the API server fail. Each call makes one more request fail.
func (made *Host) Fail(kind informer.Kind, message string) {
	made.failures = append(made.failures, &host.Error{Kind: string(kind), Message: message})
}

// Answer answers an HTTP request, like "POST https://chat.example.com/hooks/a", each time it is sent. Requests without an answer are denied.
func (made *Host) Answer(request string, status int, body string) {
	made.answers[request] = host.HTTPAnswer{Status: uint16(status), Body: []byte(body)}
}

// Lines returns the lines that the plugin has logged: LEVEL message name=value.
func (made *Host) Lines() []string { return made.lines }

// Requests returns the writes and Events that the plugin has requested, failed ones included: the verb, the resource, the key and
// the body. HTTP requests are among them: the method, the URL and the body.
func (made *Host) Requests() []string { return made.requests }

// Metrics returns what the plugin has recorded: the function, the name with labels, and the value.
func (made *Host) Metrics() []string { return made.metrics }

// Timers returns the delays of the timers that the plugin has set and not cancelled, by their names.
func (made *Host) Timers() map[string]time.Duration { return made.timers }

// CalledAgain returns the times after which the plugin has asked for another call.
func (made *Host) CalledAgain() []time.Duration { return made.again }

// TakeKey takes the next key out of the workqueue, and returns false if there is none. Delays do not pass.
func (made *Host) TakeKey() (string, bool) {
	if len(made.queue) == 0 {
		return "", false
	}
	key := made.queue[0]
	made.queue = made.queue[1:]
	return key, true
}

// stored gives an object the next resource version, and a UID if it has none, keeps it, and returns its text.
func (made *Host) stored(gvr string, object map[string]any) string {
	metadata, ok := object["metadata"].(map[string]any)
	if !ok {
		metadata = map[string]any{}
		object["metadata"] = metadata
	}
	namespace, _ := metadata["namespace"].(string)
	name, _ := metadata["name"].(string)
	key := host.Key{Namespace: namespace, Name: name}
	made.version++
	metadata["resourceVersion"] = strconv.Itoa(made.version)
	if uidOf(object) == "" {
		metadata["uid"] = fmt.Sprintf("uid-%d", made.version)
		if old, exists := made.objects[gvr][key]; exists {
			metadata["uid"] = uidOf(old)
		}
	}
	if made.objects[gvr] == nil {
		made.objects[gvr] = map[host.Key]map[string]any{}
	}
	made.objects[gvr][key] = object
	return text(object)
}

func text(object map[string]any) string {
	text, err := json.Marshal(object)
	if err != nil {
		return "{}"
	}
	return string(text)
}

// requirements returns the labels and values of a selector of the form a=b,c=d.
func requirements(selector string) ([][2]string, *host.Error) {
	var wanted [][2]string
	for _, requirement := range strings.FieldsFunc(selector, func(r rune) bool { return r == ',' }) {
		name, value, found := strings.Cut(strings.Replace(requirement, "==", "=", 1), "=")
		if name == "" || !found || strings.ContainsAny(requirement, "!() ") || strings.Contains(value, "=") {
			return nil, &host.Error{Kind: "invalid", Message: "informertest knows only label selectors like a=b,c=d"}
		}
		wanted = append(wanted, [2]string{name, value})
	}
	return wanted, nil
}

// fit returns true if labels have these values.
func fit(labels map[string]string, wanted [][2]string) bool {
	for _, requirement := range wanted {
		if value, found := labels[requirement[0]]; !found || value != requirement[1] {
			return false
		}
	}
	return true
}
