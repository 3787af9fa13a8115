// The SDK for plugins of informer in C.
//
// A plugin is a WebAssembly component that the host calls when a Kubernetes object changes. It defines some of the functions under
// "What the host calls"; `informer build` compiles it with the files of this folder.
//
// Ownership. The memory of all results of the functions in this header, and of all arguments of a call, belongs to the current call. It is
// valid until the call returns, and is then freed at once, so never free it. Copy data that must live longer into memory of your own
// (strdup, malloc). The functions only read the arguments that you pass.
//
// Texts end with a zero byte, so that printf and strcmp take them. Namespaces are "" for cluster-scoped objects.
//
// Errors. A function that can fail returns an informer_kind: INFORMER_OK, or the reason why the host refused. After a refusal,
// informer_message() returns the sentence of the host, until the next failure or the end of the call.
//
// JSON. There is no JSON parser here: the host reads fields by JSON pointers (RFC 6901), and the functions below turn numbers, truth
// values and texts into values of C. informer_json_at finds the text of one value in an answer of the API server.
#ifndef INFORMER_H
#define INFORMER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__) || defined(__clang__)
#define INFORMER_PRINTF(format, first) __attribute__((__format__(__printf__, format, first)))
#else
#define INFORMER_PRINTF(format, first)
#endif

// === Values ===

// Why the host refused a call. The comments of the WIT files say when each occurs.
typedef enum {
    INFORMER_OK = 0,
    INFORMER_UNKNOWN_RESOURCE,
    INFORMER_NOT_GRANTED, // [plugin.grant] does not allow it
    INFORMER_STALE_TOKEN,
    INFORMER_STALE_PAGE,
    INFORMER_INVALID,
    INFORMER_TOO_LARGE,
    INFORMER_LIMIT_EXCEEDED,
    INFORMER_INTERNAL,
    INFORMER_BAD_ARGUMENT,
    INFORMER_UNAUTHORIZED,
    INFORMER_FORBIDDEN,
    INFORMER_NOT_FOUND,
    INFORMER_ALREADY_EXISTS,
    INFORMER_CONFLICT, // the object has changed since it was read, or another manager owns the field
    INFORMER_GONE,
    INFORMER_TOO_MANY_REQUESTS,
    INFORMER_TIMEOUT,
    INFORMER_UNAVAILABLE,
    INFORMER_STORE_FAILED, // a key-value store cannot be used, or its quota is exceeded
    INFORMER_CONFIG_FAILED,
    INFORMER_HTTP_REQUEST_DENIED, // `http` of [plugin.grant] does not name the place, or no plugin may reach it
    INFORMER_HTTP_FAILED,         // there is no answer; the message ends with the code of wasi:http
} informer_kind;

// The word of a kind: "not-found".
const char *informer_word(informer_kind kind);

// The sentence of the last failure of this call, and its HTTP status. They are "" and 0 if there is no failure, and the status is 0 if
// the API server did not answer.
const char *informer_message(void);
int informer_status(void);

// The name of an object within its resource.
typedef struct {
    const char *namespace_;
    const char *name;
} informer_key;

// NAMESPACE/NAME, or NAME.
const char *informer_key_text(informer_key key);

// Reads what informer_key_text writes. Returns false if the text is no key.
bool informer_key_parse(const char *text, informer_key *key);

// Reads a key that the host added to the workqueue of a subscription with `resource-in-key = true`: `v1/pods shop/web`. `of` is the
// resource of the object, or the kind of its controller; NULL if the text is NAMESPACE/NAME or NAME alone. Returns false if the text is no
// key.
bool informer_work_key_parse(const char *text, const char **of, informer_key *key);

typedef struct {
    const char *name;
    const char *value;
} informer_pair;

typedef struct {
    const char *api_version, *kind, *name, *uid;
} informer_owner;

// The metadata that plugins use most.
typedef struct {
    informer_key key;
    const char *uid;
    const char *resource_version; // compare it for equality only
    const char *creation_timestamp;
    bool deleting; // the object waits for its finalizers
    size_t label_count;
    const informer_pair *labels;
    const informer_owner *controller; // NULL if no owner controls the object
} informer_meta;

// The value of a label, or NULL.
const char *informer_label(const informer_meta *meta, const char *name);

typedef enum { INFORMER_LIVE, INFORMER_INITIAL, INFORMER_RELIST, INFORMER_RESYNC, INFORMER_REPLAY } informer_cause;

// The word of a cause: "live".
const char *informer_cause_word(informer_cause cause);

// An object of a notification. The host keeps the rest of it under the token, until the call returns.
typedef struct {
    const char *gvr; // apps/v1/deployments
    informer_meta meta;
    informer_cause cause;     // not for a deletion of informer_on_delete
    bool final_state_unknown; // the watch missed the deletion, so the object may have changed since this state
    uint32_t token;
} informer_object;

// A value as JSON text; `json` is NULL if the object has no such value.
typedef struct {
    const char *json;
} informer_value;

// The value as a number, a truth value or a text; `otherwise` if there is none, or one of another type. In a text, the replacement
// character (U+FFFD) stands for a zero character, and for half of a surrogate pair.
int64_t informer_integer(informer_value value, int64_t otherwise);
bool informer_boolean(informer_value value, bool otherwise);
const char *informer_text(informer_value value, const char *otherwise);

// A text as a JSON string, with quotes. The text is made UTF-8 as by informer_utf8.
const char *informer_json_string(const char *text);

// A text in UTF-8: the replacement character (U+FFFD) stands for each byte that is part of no character, such as the rest of a text that
// was cut. The SDK does this with texts for people: log lines, failures, Events and the labels of metrics. The SDK refuses other bytes
// with INFORMER_INVALID in keys of the workqueue, buckets and the configuration, and in the names of buckets and timers. Any other text
// that is not UTF-8, such as the name of an object, is a trap, which ends the call.
const char *informer_utf8(const char *text);

// The value at a JSON pointer in JSON text, as the host or an API server wrote it. If the text is not JSON, the result is some part of the
// text, or no value.
informer_value informer_json_at(const char *json, const char *pointer);

// A text made as by printf.
const char *informer_format(const char *format, ...) INFORMER_PRINTF(1, 2);

// Memory that is freed when the call returns. It never returns NULL.
void *informer_allocate(size_t size);

// === What the host calls ===

// The answer of a call.
typedef struct {
    int what;
    uint32_t millis;
    const char *message;
} informer_result;

informer_result informer_done(void);
// Fails: the host calls again after a growing delay, or after a delay of your own, or not at all (a dead letter). For a notification your
// own delay is at least `min` of [plugin.retry], and at most one day.
informer_result informer_retry(const char *format, ...) INFORMER_PRINTF(1, 2);
informer_result informer_retry_after(uint32_t millis, const char *format, ...) INFORMER_PRINTF(2, 3);
informer_result informer_terminal(const char *format, ...) INFORMER_PRINTF(1, 2);
// Fails with the last refusal of the host, as informer_retry does: `if (kind) return informer_refused(kind);`
informer_result informer_refused(informer_kind kind);
// For informer_on_batch: the notification is handled, and its object is delivered once more after this time.
informer_result informer_again(uint32_t millis);
// For informer_reconcile: no failure, but reconcile the key again, after its backoff or after a delay.
informer_result informer_requeue(void);
informer_result informer_requeue_after(uint32_t millis);

// The plugin defines the functions that it needs. A handler that is not defined answers informer_done(). The host calls the first three
// functions if the world of the plugin has handlers, and the fourth if the world has a reconciler. `informer build` refuses a function that
// the host would never call.
informer_result informer_on_add(const informer_object *object);
informer_result informer_on_update(const informer_object *old, const informer_object *object);
informer_result informer_on_delete(const informer_object *object);
// Makes the world match the object of a key. If the cache does not hold it (INFORMER_NOT_FOUND), it was deleted. A failure with a
// delay is logged, and requeues the key: the interface has no such failure for reconcilers.
informer_result informer_reconcile(const char *key);

// What happened to the object of a notification.
typedef enum { INFORMER_ADDED, INFORMER_UPDATED, INFORMER_DELETED } informer_verb;

// A notification of a batch.
typedef struct {
    informer_verb verb;
    informer_object object;     // after a deletion, its last known state
    const informer_object *old; // the state before an update, or NULL
    uint32_t attempt;           // 1 for the first
} informer_notification;

// Several notifications in one call, instead of the handlers: the host calls no handler of a plugin that defines it. The world
// `batch-event-handler` of informer-plugin.toml has no handlers. `outcomes` has one result for each notification, which is
// informer_done() unless the plugin writes another one.
void informer_on_batch(size_t count, const informer_notification notifications[], informer_result outcomes[]);

// The cache of a subscription is complete.
typedef struct {
    const char *gvr;
    uint32_t count;               // the number of objects that the subscription selected when its cache was complete
    const char *resource_version; // of the collection; "" if the host watches several namespaces whose versions have no order
} informer_synced;

// A component has the interfaces of these three if the plugin defines them, whatever its world is. Calls that fail are made again as for
// a notification. The host may call them in another instance than the handlers.
// The cache of a subscription is complete, and its objects have been delivered, also if there are none.
informer_result informer_on_synced(const informer_synced *synced);
// A timer fires: one of [[plugin.timer]], or one of informer_timer.
informer_result informer_on_timer(const char *name);
// A file of config-files changed. `config` is what informer_start would receive now. The host makes this call in one instance. Use it for
// an action that a change must cause once, and read the configuration by informer_config in each other call.
informer_result informer_on_config(const char *config);
// Prepares an instance, before any other call. `config` is [plugin.config] as JSON. Returns NULL, or why it cannot work.
const char *informer_start(const char *config);
// Ends a healthy instance, with a short deadline.
void informer_stop(void);
// The name and the version of the plugin.
extern const char *const informer_name;
extern const char *const informer_version;

// === Objects of the call ===

// The values at `count` pointers of the object.
informer_kind informer_fields(const informer_object *object, size_t count, const char *const pointers[], informer_value values[]);

// The whole object as JSON text.
informer_kind informer_json(const informer_object *object, const char **json);

// True if a value at any of the pointers differs between two objects.
informer_kind informer_changed(const informer_object *old, const informer_object *object, size_t count, const char *const pointers[],
                               bool *changed);

// === Logs, metrics, facts about the call ===

typedef enum { INFORMER_TRACE, INFORMER_DEBUG, INFORMER_INFO, INFORMER_WARN, INFORMER_ERROR } informer_level;

// Writes a line to the log of the host. printf writes lines too, without a level.
void informer_log(informer_level level, const char *format, ...) INFORMER_PRINTF(2, 3);

// The same with fields for programs.
void informer_log_fields(informer_level level, const char *message, size_t count, const informer_pair fields[]);

// Adds to a counter, sets a gauge, adds a value to a histogram.
informer_kind informer_count(const char *counter, double value, size_t count, const informer_pair labels[]);
informer_kind informer_gauge(const char *gauge, double value, size_t count, const informer_pair labels[]);
informer_kind informer_observe(const char *histogram, double value, size_t count, const informer_pair labels[]);

// The number of the attempt, which is 1 for the first. In informer_on_batch it is the highest of the notifications, in informer_start 0.
uint32_t informer_attempt(void);

// Requests another call of the handler for the object of this call, `millis` milliseconds after this call returns informer_done(). The host
// then delivers the object as a resync does: it calls informer_on_update with the cause INFORMER_RESYNC, and both the old and the new state
// are the state that the cache has then. Any other call for the object cancels the request, and may make a new one. A request survives the
// end of the instance and reloads of the plugin, but not a restart of the host: make it again in informer_on_add. Fails with
// INFORMER_INVALID outside calls of handlers; a reconciler returns informer_requeue_after instead.
informer_kind informer_call_again(uint32_t millis);

// === Timers of a plugin that has informer_on_timer ===

// Sets a timer that fires once. If there is a timer of this name, the new time replaces the old one. A timer survives reloads of the
// plugin, but not a restart of the host: set it again in informer_on_add or informer_on_synced. INFORMER_INVALID if the name is empty, is
// not UTF-8, has more than 512 bytes or is the name of a [[plugin.timer]]; INFORMER_LIMIT_EXCEEDED if there are 1,000 timers.
informer_kind informer_timer(const char *name, uint32_t millis);
// Removes a timer. Nothing happens if there is none.
void informer_cancel_timer(const char *name);

// === The cache of the host. It needs `read` of the grant. ===

// Selects objects. Fields that are NULL select all. An empty namespace selects all, too, and needs a grant without a namespace.
typedef struct {
    const char *namespace_;
    const char *labels;        // app=web,tier in (a, b)
    const char *index, *value; // an index of the [[watch]], and what to look up in it
    uint32_t page_size;        // 0: the host chooses
} informer_selector;

// An object of the cache as JSON, or values at pointers of it. INFORMER_NOT_FOUND if the cache does not hold it.
informer_kind informer_cached(const char *gvr, informer_key key, const char **json);
informer_kind informer_cached_fields(const char *gvr, informer_key key, size_t count, const char *const pointers[],
                                     informer_value values[]);

// A list that fetches its pages as the loop goes on. `kind` is the reason if the list ended early:
//
//     informer_list list = informer_list_of("v1/pods", (informer_selector){.namespace_ = "shop"});
//     for (const informer_meta *meta; (meta = informer_next_meta(&list));) { ... }
//     if (list.kind) return informer_refused(list.kind);
typedef struct {
    informer_kind kind;
    const char *gvr;
    informer_selector selector;
    const char *token;
    void *page;
    size_t next, length;
    bool last;
} informer_list;

// The fields of an object in a list.
typedef struct {
    informer_key key;
    const informer_value *values;
} informer_row;

informer_list informer_list_of(const char *gvr, informer_selector selector);
// The next element, or NULL at the end. Use one of the three for a list.
const informer_meta *informer_next_meta(informer_list *list);
const informer_row *informer_next_row(informer_list *list, size_t count, const char *const pointers[]);
const char *informer_next_json(informer_list *list);

// A value of an index, and the number of objects that have it.
typedef struct {
    const char *value; // up to the first zero byte, if the value has one
    uint32_t objects;
} informer_index_value;

// The values of an index of the [[watch]], in the order of their bytes, with a loop as over other lists. The index "namespace" always exists.
// `namespace_` is the namespace of the objects, or NULL. Values that come and go meanwhile may be missing or present.
informer_list informer_index_values_of(const char *gvr, const char *index, const char *namespace_);
const informer_index_value *informer_next_index_value(informer_list *list);

// What a cache holds, and how old that may be.
typedef struct {
    bool synced;                  // the first list of the resource is in the cache
    const char *resource_version; // "" before the first list, and if the host watches several namespaces whose versions have no order
    int64_t age_ms;               // since the API server last sent a list, an event or a bookmark; -1 before the first list
} informer_cache;

// Use it before a decision that an old state would make wrong, and check both `synced` and `age_ms`. A healthy watch receives a bookmark
// about once a minute.
informer_kind informer_state(const char *gvr, informer_cache *state);

// True if the first list of the resource is in the cache. Until then, lists are incomplete.
informer_kind informer_has_synced(const char *gvr, bool *synced);

// Waits until the cache is at least as new as the version that a write returned. `arrived` is false if the wait takes too long.
informer_kind informer_wait(const char *gvr, const char *namespace_, const char *resource_version, uint32_t millis, bool *arrived);

// === Requests to the API server. They need `write` of the grant, and `read` for reads. ===

typedef struct {
    bool dry_run;
    bool force;              // server-side apply also changes fields that another manager owns
    const char *subresource; // status, scale; NULL is the object itself
} informer_write;

// An object, as JSON.
informer_kind informer_get(const char *gvr, informer_key key, const char **json);
// The next object of a list of the API server, which informer_list_objects begins. `fields` is a field selector, or NULL.
informer_list informer_list_objects(const char *gvr, informer_selector selector);
const char *informer_next_object(informer_list *list, const char *fields);

// Writes. `answer` is the object after the write, as JSON, and may be NULL.
informer_kind informer_create(const char *gvr, const char *namespace_, const char *json, informer_write options, const char **answer);
informer_kind informer_update(const char *gvr, informer_key key, const char *json, informer_write options, const char **answer);
informer_kind informer_merge_patch(const char *gvr, informer_key key, const char *json, informer_write options, const char **answer);
informer_kind informer_json_patch(const char *gvr, informer_key key, const char *json, informer_write options, const char **answer);
// Server-side apply: the fields that the plugin wants to own, with apiVersion, kind and metadata.name.
informer_kind informer_apply(const char *gvr, informer_key key, const char *json, informer_write options, const char **answer);
// Deletes an object; only this version of it, unless `resource_version` is NULL.
informer_kind informer_delete(const char *gvr, informer_key key, const char *resource_version);

// Makes the operations of a JSON patch (RFC 6902), separated by commas, for an object with these values. NULL or an empty text changes
// nothing.
typedef const char *informer_change(const informer_value values[], void *context);

// Reads values of an object from the API server, lets a function make a patch of them, and writes it. If another client has changed
// the object meanwhile, it starts again, at most five times; then it fails with INFORMER_CONFLICT.
informer_kind informer_modify(const char *gvr, informer_key key, size_t count, const char *const pointers[], informer_change *change,
                              void *context, const char **answer);

// Cleans up after an object that is deleted. A result other than informer_done() is a failure.
typedef informer_result informer_cleanup(const char *json, void *context);

// Keeps a finalizer on an object that lives, and cleans up when the object is deleted:
//
//     bool lives;
//     informer_result result = informer_finalize("v1/pods", json, "example.com/cleanup", clean_up, NULL, &lives);
//     if (!lives) return result;
//
// `json` is the object: from informer_json in a handler, or from informer_cached in a reconciler. `lives` is true if the object lives and
// has the finalizer: go on with your work. `lives` is false if the object is being deleted. Then `cleanup` was called and the finalizer is
// removed, unless an earlier call has done this. If `cleanup` fails, its result is returned, the finalizer stays and the call is repeated,
// so `cleanup` may be called several times for an object. If the object was deleted after the state in `json`, a finalizer would come too
// late: `lives` is false, and `cleanup` is not called. The plugin needs the grants `read` and `patch`. If it declares the fields that it
// reads, /metadata/finalizers must be one of them.
informer_result informer_finalize(const char *gvr, const char *json, const char *finalizer, informer_cleanup *cleanup, void *context,
                                  bool *lives);

// Adds a finalizer to an object unless it has it, or removes it. An object that is gone has none. informer_finalize is simpler, and never
// touches a new object that has the name of a deleted one.
informer_kind informer_add_finalizer(const char *gvr, informer_key key, const char *finalizer);
informer_kind informer_remove_finalizer(const char *gvr, informer_key key, const char *finalizer);

// True if this state of the object is the answer to one of the last 256 writes of this instance. Another instance, and a plugin that was
// started again, does not remember them. Pending notifications are merged, so the state may also contain a change that another client made
// before the write. Skip the state only if the write was made from a state with that change, as the writes of informer_modify are.
//
// Never skip an own write in a retry (informer_attempt() is above 1), a resync or a replay. An earlier attempt may have written this state
// and failed afterwards. If the plugin skips the state then, the failed attempt becomes a success, and the rest of its work is lost:
//
//     bool first = object->cause == INFORMER_LIVE && informer_attempt() == 1;
//     if (first && informer_wrote(&object->meta)) return informer_done();
bool informer_wrote(const informer_meta *meta);

// The entry of metadata.ownerReferences that makes the object the controller of another one, as JSON. An owner with a namespace can own
// objects of that namespace only: the garbage collector deletes an object whose owner is in another namespace.
informer_kind informer_owner_reference(const informer_object *owner, const char **json);

// Records an Event about an object of the cache, which kubectl describe shows. `reason` and `action` are words in CamelCase.
informer_kind informer_record(const char *gvr, informer_key key, bool warning, const char *reason, const char *action, const char *note);

// === The workqueue of a plugin that has a reconciler ===

// Adds a key, at once or after a delay. A key that is in the queue is not added twice, and the earliest time wins; one that is being
// reconciled is reconciled once more afterwards. INFORMER_LIMIT_EXCEEDED if the queue is full, INFORMER_INVALID if the key has more than
// 1 KiB or is not UTF-8. A plugin with handlers adds all keys itself.
informer_kind informer_queue_add(const char *key);
informer_kind informer_queue_add_after(const char *key, uint32_t millis);
// Adds a key after its backoff, which doubles with each call until informer_queue_forget.
informer_kind informer_queue_add_rate_limited(const char *key);
// Resets the backoff of a key. The host does so itself when informer_reconcile returns informer_done() or informer_requeue_after, and when
// the key becomes a dead letter.
void informer_queue_forget(const char *key);

// === Key-values on the disk of the host. They need `keyvalue` of the grant. ===

// The first use of a bucket makes it. INFORMER_NOT_FOUND if the key has no value. Values may contain zero bytes; texts that are read
// end with one more.
informer_kind informer_load(const char *bucket, const char *key, const char **value, size_t *length);
informer_kind informer_store(const char *bucket, const char *key, const void *value, size_t length);
informer_kind informer_forget(const char *bucket, const char *key);
// Adds to the number that is kept as decimal text, which is 0 if there is none.
informer_kind informer_increment(const char *bucket, const char *key, uint64_t delta, uint64_t *sum);
// The keys of a bucket, with a loop as over other lists.
informer_list informer_keys_of(const char *bucket);
const char *informer_next_key(informer_list *list);

// === HTTP requests. They need `http` of the grant. ===

// A request. Fields that are zero have the meaning that the comment says.
typedef struct {
    const char *url;
    const char *method; // NULL: POST if there is a body, else GET
    size_t header_count;
    // If there is a body, the SDK adds its length as content-length, and ignores a content-length that is here.
    const informer_pair *headers;
    const void *body; // NULL: none
    size_t length;    // of the body
    uint32_t timeout_ms; // for the connection, the head of the answer and each piece of its body. 0: until the deadline of the call
} informer_request;

typedef struct {
    int status;
    size_t header_count;
    const informer_pair *headers;
    const char *body; // with a zero byte behind it
    size_t length;
} informer_answer;

// Sends a request and waits for the answer. Each status is an answer, and a redirect is one too: the host follows none.
// INFORMER_HTTP_REQUEST_DENIED if the host denies the request, INFORMER_HTTP_FAILED if there is no answer, INFORMER_INVALID if the URL or
// a header is malformed.
informer_kind informer_send(informer_request request, informer_answer *answer);

// The value of a header of the answer, or NULL.
const char *informer_header(const informer_answer *answer, const char *name);

// === The configuration while the plugin runs: [plugin.config], and mounted files ===

// INFORMER_NOT_FOUND if there is no such value. a.b is the value at b in the table a.
informer_kind informer_config(const char *key, const char **value);

#ifdef __cplusplus
}
#endif

#endif
