// Requests to the API server.
#include <string.h>

#include "internal.h"

// The most attempts of a write that conflicts with writes of other clients.
#define ATTEMPTS 5
// The writes that an instance remembers, and the space for a UID and for a version.
#define WRITES 256
#define NAME 72

static struct {
    char uid[NAME], version[NAME];
} writes[WRITES];
static size_t next_write;

informer_kind informer_api_refusal(informer_plugin_client_api_error_t *error) {
    static const informer_kind kinds[] = {
        INFORMER_NOT_GRANTED, INFORMER_BAD_ARGUMENT, INFORMER_LIMIT_EXCEEDED, INFORMER_TOO_LARGE,         INFORMER_INVALID,
        INFORMER_UNAUTHORIZED, INFORMER_FORBIDDEN,   INFORMER_NOT_FOUND,      INFORMER_ALREADY_EXISTS,    INFORMER_CONFLICT,
        INFORMER_GONE,        INFORMER_TOO_MANY_REQUESTS, INFORMER_TIMEOUT,   INFORMER_UNAVAILABLE,       INFORMER_INTERNAL,
    };
    informer_kind kind = error->code < sizeof kinds / sizeof *kinds ? kinds[error->code] : INFORMER_INTERNAL;
    return informer_failed(kind, informer_given(error->message), (int)error->status);
}

static informer_plugin_types_object_key_t wire_key(informer_key key) {
    return (informer_plugin_types_object_key_t){informer_wire(key.namespace_), informer_wire(key.name)};
}

static informer_plugin_client_write_options_t wire_write(informer_write from) {
    return (informer_plugin_client_write_options_t){from.dry_run, from.force, informer_wire(from.subresource)};
}

static const char *version_of(const char *json) {
    return informer_text(informer_json_at(json, "/metadata/resourceVersion"), "");
}

// The version that an operation of a JSON patch compares or sets, or "".
static const char *version_of_operations(const char *operations) {
    const char *version = "";
    for (int i = 0;; i++) {
        informer_value path = informer_json_at(operations, informer_format("/%d/path", i));
        if (!path.json) {
            return version;
        }
        if (!strcmp(informer_text(path, ""), "/metadata/resourceVersion")) {
            version = informer_text(informer_json_at(operations, informer_format("/%d/value", i)), "");
        }
    }
}

// The server answers a write that changes nothing with the version `before`, which another client may have written.
static void remember(const char *json, const char *before) {
    const char *uid = informer_text(informer_json_at(json, "/metadata/uid"), "");
    const char *version = version_of(json);
    if (*version && strcmp(version, before) && strlen(uid) < NAME && strlen(version) < NAME) {
        strcpy(writes[next_write].uid, uid);
        strcpy(writes[next_write].version, version);
        next_write = (next_write + 1) % WRITES;
    }
}

bool informer_wrote(const informer_meta *meta) {
    for (size_t i = 0; i < WRITES; i++) {
        if (*writes[i].version && !strcmp(writes[i].version, meta->resource_version) && !strcmp(writes[i].uid, meta->uid)) {
            return true;
        }
    }
    return false;
}

// Passes the object after a write on, and remembers its version. `before` is the version that the request had, or "".
static informer_kind written(bool done, plugin_string_t object, informer_plugin_client_api_error_t *refused, bool dry_run,
                             const char *before, const char **answer) {
    if (!done) {
        return informer_api_refusal(refused);
    }
    if (!dry_run) {
        remember(informer_given(object), before);
    }
    if (answer) {
        *answer = informer_given(object);
    }
    return INFORMER_OK;
}

informer_kind informer_get(const char *gvr, informer_key key, const char **json) {
    plugin_string_t resource = informer_wire(gvr), none = {0}, found;
    informer_plugin_types_object_key_t name = wire_key(key);
    informer_plugin_client_api_error_t refused;
    if (!HOST(informer_plugin_client_get(&resource, &name, &none, &found, &refused))) {
        return informer_api_refusal(&refused);
    }
    *json = informer_given(found);
    return INFORMER_OK;
}

informer_list informer_list_objects(const char *gvr, informer_selector selector) { return informer_list_of(gvr, selector); }

const char *informer_next_object(informer_list *list, const char *fields) {
    while (list->next == list->length && !list->last) {
        plugin_string_t resource = informer_wire(list->gvr);
        informer_plugin_client_list_options_t options = {
            .namespace_ = {list->selector.namespace_ != NULL, informer_wire(list->selector.namespace_)},
            .labels = informer_wire(list->selector.labels),
            .fields = informer_wire(fields),
            .limit = list->selector.page_size,
            .token = {list->token != NULL, informer_wire(list->token)},
        };
        informer_plugin_client_object_page_t page;
        informer_plugin_client_api_error_t refused;
        list->next = list->length = 0;
        if (!HOST(informer_plugin_client_list_objects(&resource, &options, &page, &refused))) {
            list->kind = informer_api_refusal(&refused);
            list->last = true;
            return NULL;
        }
        list->page = page.items.ptr;
        list->length = page.items.len;
        list->last = !page.next.is_some;
        list->token = page.next.is_some ? informer_given(page.next.val) : NULL;
    }
    return list->next == list->length ? NULL : informer_given(((plugin_string_t *)list->page)[list->next++]);
}

informer_kind informer_create(const char *gvr, const char *namespace_, const char *json, informer_write options, const char **answer) {
    plugin_string_t resource = informer_wire(gvr), of = informer_wire(namespace_), body = informer_wire(json), object = {0};
    informer_plugin_client_write_options_t write = wire_write(options);
    informer_plugin_client_api_error_t refused;
    bool done = HOST(informer_plugin_client_create(&resource, &of, &body, &write, &object, &refused));
    return written(done, object, &refused, options.dry_run, "", answer);
}

informer_kind informer_update(const char *gvr, informer_key key, const char *json, informer_write options, const char **answer) {
    plugin_string_t resource = informer_wire(gvr), body = informer_wire(json), object = {0};
    informer_plugin_types_object_key_t name = wire_key(key);
    informer_plugin_client_write_options_t write = wire_write(options);
    informer_plugin_client_api_error_t refused;
    bool done = HOST(informer_plugin_client_update(&resource, &name, &body, &write, &object, &refused));
    return written(done, object, &refused, options.dry_run, version_of(json), answer);
}

static informer_kind patched(const char *gvr, informer_key key, informer_plugin_client_patch_kind_t kind, const char *json,
                             informer_write options, const char *before, const char **answer) {
    plugin_string_t resource = informer_wire(gvr), body = informer_wire(json), object = {0};
    informer_plugin_types_object_key_t name = wire_key(key);
    informer_plugin_client_write_options_t write = wire_write(options);
    informer_plugin_client_api_error_t refused;
    bool done = HOST(informer_plugin_client_patch(&resource, &name, kind, &body, &write, &object, &refused));
    return written(done, object, &refused, options.dry_run, before, answer);
}

informer_kind informer_merge_patch(const char *gvr, informer_key key, const char *json, informer_write options, const char **answer) {
    return patched(gvr, key, INFORMER_PLUGIN_CLIENT_PATCH_KIND_MERGE, json, options, version_of(json), answer);
}

informer_kind informer_json_patch(const char *gvr, informer_key key, const char *json, informer_write options, const char **answer) {
    const char *before = version_of_operations(json);
    return patched(gvr, key, INFORMER_PLUGIN_CLIENT_PATCH_KIND_JSON_PATCH, json, options, before, answer);
}

informer_kind informer_apply(const char *gvr, informer_key key, const char *json, informer_write options, const char **answer) {
    return patched(gvr, key, INFORMER_PLUGIN_CLIENT_PATCH_KIND_APPLY, json, options, version_of(json), answer);
}

informer_kind informer_delete(const char *gvr, informer_key key, const char *resource_version) {
    plugin_string_t resource = informer_wire(gvr);
    informer_plugin_types_object_key_t name = wire_key(key);
    informer_plugin_client_delete_options_t options = {
        .resource_version = {resource_version != NULL, informer_wire(resource_version)},
    };
    informer_plugin_client_api_error_t refused;
    bool done = HOST(informer_plugin_client_delete_object(&resource, &name, &options, &refused));
    return done ? INFORMER_OK : informer_api_refusal(&refused);
}

informer_kind informer_modify(const char *gvr, informer_key key, size_t count, const char *const pointers[], informer_change *change,
                              void *context, const char **answer) {
    informer_kind kind = INFORMER_CONFLICT;
    informer_value *values = informer_allocate(count * sizeof *values);
    const char *before = "";
    for (int attempt = 0; attempt < ATTEMPTS && (kind == INFORMER_CONFLICT || kind == INFORMER_INVALID); attempt++) {
        const char *json;
        informer_kind read = informer_get(gvr, key, &json);
        if (read) {
            return read;
        }
        const char *version = version_of(json);
        // The server applies a patch before it compares the version. So if the object has changed and the patch does not fit its new
        // state, the server answers that the patch is invalid, and not that there is a conflict.
        if (kind == INFORMER_INVALID && !strcmp(version, before)) {
            return kind;
        }
        before = version;
        for (size_t i = 0; i < count; i++) {
            values[i] = informer_json_at(json, pointers[i]);
        }
        const char *operations = change(values, context);
        if (!operations || !*operations) {
            if (answer) {
                *answer = json;
            }
            return INFORMER_OK;
        }
        // The server refuses a patch that results in another version than the current one.
        const char *patch = informer_format("[{\"op\":\"replace\",\"path\":\"/metadata/resourceVersion\",\"value\":%s},%s]",
                                            informer_json_string(version), operations);
        kind = patched(gvr, key, INFORMER_PLUGIN_CLIENT_PATCH_KIND_JSON_PATCH, patch, (informer_write){0}, version, answer);
    }
    return kind;
}

// The position of a finalizer in the list, or -1.
static int position(informer_value finalizers, const char *finalizer) {
    for (int i = 0;; i++) {
        informer_value value = informer_json_at(finalizers.json, informer_format("/%d", i));
        if (!value.json) {
            return -1;
        }
        if (!strcmp(informer_text(value, ""), finalizer)) {
            return i;
        }
    }
}

static const char *const FINALIZERS[] = {"/metadata/finalizers"};

static const char *add_finalizer(const informer_value values[], void *finalizer) {
    if (position(values[0], finalizer) >= 0) {
        return NULL;
    }
    const char *name = informer_json_string(finalizer);
    return values[0].json ? informer_format("{\"op\":\"add\",\"path\":\"/metadata/finalizers/-\",\"value\":%s}", name)
                          : informer_format("{\"op\":\"add\",\"path\":\"/metadata/finalizers\",\"value\":[%s]}", name);
}

static const char *remove_finalizer(const informer_value values[], void *finalizer) {
    int found = position(values[0], finalizer);
    return found < 0 ? NULL : informer_format("{\"op\":\"remove\",\"path\":\"/metadata/finalizers/%d\"}", found);
}

informer_kind informer_add_finalizer(const char *gvr, informer_key key, const char *finalizer) {
    return informer_modify(gvr, key, 1, FINALIZERS, add_finalizer, (void *)finalizer, NULL);
}

informer_kind informer_remove_finalizer(const char *gvr, informer_key key, const char *finalizer) {
    informer_kind kind = informer_modify(gvr, key, 1, FINALIZERS, remove_finalizer, (void *)finalizer, NULL);
    return kind == INFORMER_NOT_FOUND ? INFORMER_OK : kind;
}

// The fields of an object that informer_finalize reads, and its facts about the state that the plugin has.
static const char *const FINALIZED[] = {"/metadata/finalizers", "/metadata/uid", "/metadata/deletionTimestamp"};

struct finalizing {
    const char *uid, *finalizer;
    bool alive;
    bool keeps; // the object lives and has the finalizer after the change
};

static const char *finalizing(const informer_value values[], void *context) {
    struct finalizing *of = context;
    // The object may be deleted by now, and the API server then refuses new finalizers. A new object may have its name.
    bool same = !strcmp(informer_text(values[1], ""), of->uid) && (values[2].json == NULL) == of->alive;
    of->keeps = same && of->alive;
    if (!same) {
        return NULL;
    }
    return of->alive ? add_finalizer(values, (void *)of->finalizer) : remove_finalizer(values, (void *)of->finalizer);
}

informer_result informer_finalize(const char *gvr, const char *json, const char *finalizer, informer_cleanup *cleanup, void *context,
                                  bool *lives) {
    informer_key key = {informer_text(informer_json_at(json, "/metadata/namespace"), ""),
                        informer_text(informer_json_at(json, "/metadata/name"), "")};
    struct finalizing of = {
        .uid = informer_text(informer_json_at(json, "/metadata/uid"), ""),
        .finalizer = finalizer,
        .alive = informer_json_at(json, "/metadata/deletionTimestamp").json == NULL,
    };
    *lives = false;
    if (of.alive == (position(informer_json_at(json, "/metadata/finalizers"), finalizer) >= 0)) {
        // The object lives and has the finalizer, or it is being deleted and has lost the finalizer.
        *lives = of.alive;
        return informer_done();
    }
    if (!of.alive) {
        informer_result cleaned = cleanup(json, context);
        if (cleaned.what != INFORMER_RESULT_DONE) {
            return cleaned;
        }
    }
    informer_kind kind = informer_modify(gvr, key, 3, FINALIZED, finalizing, &of, NULL);
    if (kind == INFORMER_NOT_FOUND && !of.alive) {
        // The object is gone, so it has no finalizer.
        return informer_done();
    }
    *lives = !kind && of.keeps;
    return kind ? informer_refused(kind) : informer_done();
}

informer_kind informer_owner_reference(const informer_object *owner, const char **json) {
    static const char *const pointers[] = {"/apiVersion", "/kind"};
    informer_value values[2];
    informer_kind kind = informer_fields(owner, 2, pointers, values);
    if (!kind) {
        *json = informer_format("{\"apiVersion\":%s,\"kind\":%s,\"name\":%s,\"uid\":%s,\"controller\":true,\"blockOwnerDeletion\":true}",
                                values[0].json ? values[0].json : "\"\"", values[1].json ? values[1].json : "\"\"",
                                informer_json_string(owner->meta.key.name), informer_json_string(owner->meta.uid));
    }
    return kind;
}

informer_kind informer_record(const char *gvr, informer_key key, bool warning, const char *reason, const char *action, const char *note) {
    informer_plugin_client_object_event_t event = {
        .gvr = informer_wire(gvr),
        .regarding = wire_key(key),
        .warning = warning,
        .reason = informer_wire(informer_utf8(reason)),
        .action = informer_wire(informer_utf8(action)),
        .note = informer_wire(informer_utf8(note)),
    };
    informer_plugin_client_api_error_t refused;
    return HOST(informer_plugin_client_record_event(&event, &refused)) ? INFORMER_OK : informer_api_refusal(&refused);
}
