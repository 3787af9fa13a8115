// A plugin: the host calls the handlers when a Deployment is added, updated or deleted.
//
// Arguments belong to the handler, which frees them. So do values that the host returns. Bindings and functions that
// free are in bindings/plugin.h, which `informer build` writes.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugin.h"

typedef exports_informer_plugin_handler_event_object_t object_t;
typedef exports_informer_plugin_handler_failure_t failure_t;

// Texts that the host reads and does not free.
#define TEXT(literal) ((plugin_string_t){(uint8_t *)(literal), sizeof(literal) - 1})
#define SHOWN(text) (int)(text).len, (const char *)(text).ptr

// The number of changes of each object, on the disk of the host.
static wasi_keyvalue_store_own_bucket_t bucket;

// Asks for another delivery, and returns false.
static bool retry(failure_t *failure, plugin_string_t *why) {
    failure->tag = EXPORTS_INFORMER_PLUGIN_HANDLER_FAILURE_RETRY;
    failure->val.retry = *why;
    return false;
}

static bool retry_store(failure_t *failure, wasi_keyvalue_store_error_t *error) {
    plugin_string_t why;
    if (error->tag == WASI_KEYVALUE_STORE_ERROR_OTHER) {
        why = error->val.other;
    } else {
        plugin_string_dup(&why, "the bucket cannot be used");
    }
    return retry(failure, &why);
}

static void log_line(char *line, plugin_string_t *version) {
    plugin_string_t message = {(uint8_t *)line, strlen(line)};
    plugin_tuple2_string_string_t field = {TEXT("rv"), *version};
    plugin_list_tuple2_string_string_t fields = {&field, 1};
    informer_plugin_log_write(INFORMER_PLUGIN_LOG_LEVEL_INFO, &message, &fields);
}

// The key of an object: NAMESPACE/NAME.
static plugin_string_t key_of(object_t *object) {
    size_t size = object->meta.namespace_.len + object->meta.name.len + 2;
    char *key = malloc(size);
    snprintf(key, size, "%.*s/%.*s", SHOWN(object->meta.namespace_), SHOWN(object->meta.name));
    return (plugin_string_t){(uint8_t *)key, size - 1};
}

// Reads the number that is kept for a key.
static bool count(plugin_string_t *key, int *changes, failure_t *failure) {
    wasi_keyvalue_store_error_t refused;
    plugin_option_list_u8_t kept;
    wasi_keyvalue_store_borrow_bucket_t borrowed = wasi_keyvalue_store_borrow_bucket(bucket);
    if (!wasi_keyvalue_store_method_bucket_get(borrowed, key, &kept, &refused)) {
        return retry_store(failure, &refused);
    }
    *changes = 0;
    for (size_t i = 0; kept.is_some && i < kept.val.len; i++) {
        *changes = *changes * 10 + kept.val.ptr[i] - '0';
    }
    plugin_option_list_u8_free(&kept);
    return true;
}

// Counts the objects of a namespace, page by page from the cache of the host.
static bool list(plugin_string_t *namespace_, size_t *found, failure_t *failure) {
    plugin_string_t deployments = TEXT("apps/v1/deployments");
    informer_plugin_lister_selector_t selector = {.namespace_ = {true, *namespace_}};
    informer_plugin_lister_page_t part = {0};
    for (*found = 0;;) {
        informer_plugin_lister_error_t refused;
        informer_plugin_lister_meta_page_t page;
        bool listed = informer_plugin_lister_list_meta(&deployments, &selector, &part, &page, &refused);
        plugin_option_string_free(&part.token);
        if (!listed) {
            return retry(failure, &refused.message);
        }
        *found += page.items.len;
        part.token = page.next;
        page.next.is_some = false;
        informer_plugin_lister_meta_page_free(&page);
        if (!part.token.is_some) {
            return true;
        }
    }
}

// Logs two fields of the object, the number of objects in its namespace, and how often it has changed.
static bool report(const char *what, object_t *object, failure_t *failure) {
    plugin_string_t pointers[] = {TEXT("/spec/replicas"), TEXT("/spec/template/spec/containers/0/image")};
    plugin_list_string_t wanted = {pointers, 2};
    plugin_list_option_string_t fields;
    informer_plugin_objects_error_t refused;
    if (!informer_plugin_objects_get_many(object->id, &wanted, &fields, &refused)) {
        return retry(failure, &refused.message);
    }
    plugin_string_t replicas = fields.ptr[0].is_some ? fields.ptr[0].val : TEXT("1");
    plugin_string_t image = fields.ptr[1].is_some ? fields.ptr[1].val : TEXT("\"nothing\"");
    plugin_string_t key = key_of(object);
    size_t neighbours = 0;
    int changes = 0;
    bool done = list(&object->meta.namespace_, &neighbours, failure) && count(&key, &changes, failure);
    if (done) {
        char number[16];
        plugin_list_u8_t kept = {(uint8_t *)number, snprintf(number, sizeof number, "%d", ++changes)};
        wasi_keyvalue_store_error_t error;
        done = wasi_keyvalue_store_method_bucket_set(wasi_keyvalue_store_borrow_bucket(bucket), &key, &kept, &error) ||
               retry_store(failure, &error);
    }
    if (done) {
        char line[1024];
        // A text in JSON has quotes around it.
        snprintf(line, sizeof line, "%s %.*s: %.*s x %.*s, %zu in %.*s, change %d", what, SHOWN(key), SHOWN(replicas),
                 (int)image.len - 2, (const char *)image.ptr + 1, neighbours, SHOWN(object->meta.namespace_), changes);
        log_line(line, &object->meta.resource_version);
    }
    plugin_string_free(&key);
    plugin_list_option_string_free(&fields);
    return done;
}

bool exports_informer_plugin_handler_on_add(object_t *object, exports_informer_plugin_handler_cause_t cause, failure_t *failure) {
    (void)cause;
    bool done = report("added", object, failure);
    exports_informer_plugin_handler_event_object_free(object);
    return done;
}

bool exports_informer_plugin_handler_on_update(uint32_t old, object_t *object, exports_informer_plugin_handler_cause_t cause,
                                               failure_t *failure) {
    (void)old, (void)cause;
    bool done = report("updated", object, failure);
    exports_informer_plugin_handler_event_object_free(object);
    return done;
}

bool exports_informer_plugin_handler_on_delete(object_t *object, bool final_state_known, failure_t *failure) {
    (void)final_state_known;
    plugin_string_t key = key_of(object);
    int changes;
    bool done = count(&key, &changes, failure);
    if (done) {
        wasi_keyvalue_store_error_t error;
        done = wasi_keyvalue_store_method_bucket_delete(wasi_keyvalue_store_borrow_bucket(bucket), &key, &error) ||
               retry_store(failure, &error);
    }
    if (done) {
        char line[1024];
        snprintf(line, sizeof line, "deleted %.*s after %d changes", SHOWN(key), changes);
        log_line(line, &object->meta.resource_version);
    }
    plugin_string_free(&key);
    exports_informer_plugin_handler_event_object_free(object);
    return done;
}

void exports_informer_plugin_plugin_describe(exports_informer_plugin_plugin_info_t *info) {
    plugin_string_dup(&info->name, "__NAME__");
    plugin_string_dup(&info->version, "0.1.0");
    plugin_string_dup(&info->sdk, "informer build");
}

bool exports_informer_plugin_plugin_start(plugin_string_t *config, plugin_string_t *why) {
    plugin_string_free(config);
    plugin_string_t name = TEXT("changes");
    wasi_keyvalue_store_error_t error;
    if (!wasi_keyvalue_store_open(&name, &bucket, &error)) {
        failure_t failure;
        retry_store(&failure, &error);
        *why = failure.val.retry;
        return false;
    }
    return true;
}

void exports_informer_plugin_plugin_stop(void) {}
