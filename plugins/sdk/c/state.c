// Key-values, the configuration and the workqueue.
#include <stdlib.h>
#include <string.h>

#include "internal.h"

// The buckets that this instance has opened. The host allows 64, and a plugin has few.
#define BUCKETS 64

static struct {
    char *name;
    wasi_keyvalue_store_own_bucket_t handle;
} buckets[BUCKETS];

static informer_kind store_refusal(wasi_keyvalue_store_error_t *error) {
    const char *why = error->tag == WASI_KEYVALUE_STORE_ERROR_OTHER ? informer_given(error->val.other) : "the bucket cannot be used";
    return informer_failed(INFORMER_STORE_FAILED, why, 0);
}

static informer_kind opened(const char *bucket, wasi_keyvalue_store_borrow_bucket_t *borrowed) {
    size_t i = 0;
    while (i < BUCKETS && buckets[i].name && strcmp(buckets[i].name, bucket)) {
        i++;
    }
    if (i == BUCKETS) {
        return informer_failed(INFORMER_STORE_FAILED, "a plugin has at most 64 buckets", 0);
    }
    if (!buckets[i].name) {
        plugin_string_t name;
        wasi_keyvalue_store_error_t refused;
        informer_kind kind = informer_wire_key("the name of a bucket", bucket, &name);
        if (kind) {
            return kind;
        }
        char *kept = strdup(bucket);
        if (!kept || !HOST(wasi_keyvalue_store_open(&name, &buckets[i].handle, &refused))) {
            free(kept);
            return kept ? store_refusal(&refused) : informer_failed(INFORMER_STORE_FAILED, "out of memory", 0);
        }
        buckets[i].name = kept;
    }
    *borrowed = wasi_keyvalue_store_borrow_bucket(buckets[i].handle);
    return INFORMER_OK;
}

// Opens a bucket, and checks a key of the bucket.
static informer_kind opened_for(const char *bucket, const char *key, wasi_keyvalue_store_borrow_bucket_t *store, plugin_string_t *name) {
    informer_kind kind = opened(bucket, store);
    return kind ? kind : informer_wire_key("the key", key, name);
}

informer_kind informer_load(const char *bucket, const char *key, const char **value, size_t *length) {
    wasi_keyvalue_store_borrow_bucket_t store;
    plugin_string_t name;
    informer_kind kind = opened_for(bucket, key, &store, &name);
    if (kind) {
        return kind;
    }
    plugin_option_list_u8_t found;
    wasi_keyvalue_store_error_t refused;
    if (!HOST(wasi_keyvalue_store_method_bucket_get(store, &name, &found, &refused))) {
        return store_refusal(&refused);
    }
    if (!found.is_some) {
        return informer_failed(INFORMER_NOT_FOUND, informer_format("the bucket %s has no key %s", bucket, key), 0);
    }
    *value = informer_given((plugin_string_t){found.val.ptr, found.val.len});
    if (length) {
        *length = found.val.len;
    }
    return INFORMER_OK;
}

informer_kind informer_store(const char *bucket, const char *key, const void *value, size_t length) {
    wasi_keyvalue_store_borrow_bucket_t store;
    plugin_string_t name;
    informer_kind kind = opened_for(bucket, key, &store, &name);
    if (kind) {
        return kind;
    }
    plugin_list_u8_t bytes = {(uint8_t *)value, length};
    wasi_keyvalue_store_error_t refused;
    return HOST(wasi_keyvalue_store_method_bucket_set(store, &name, &bytes, &refused)) ? INFORMER_OK : store_refusal(&refused);
}

informer_kind informer_forget(const char *bucket, const char *key) {
    wasi_keyvalue_store_borrow_bucket_t store;
    plugin_string_t name;
    informer_kind kind = opened_for(bucket, key, &store, &name);
    if (kind) {
        return kind;
    }
    wasi_keyvalue_store_error_t refused;
    return HOST(wasi_keyvalue_store_method_bucket_delete(store, &name, &refused)) ? INFORMER_OK : store_refusal(&refused);
}

informer_kind informer_increment(const char *bucket, const char *key, uint64_t delta, uint64_t *sum) {
    wasi_keyvalue_store_borrow_bucket_t store;
    plugin_string_t name;
    informer_kind kind = opened_for(bucket, key, &store, &name);
    if (kind) {
        return kind;
    }
    wasi_keyvalue_store_error_t refused;
    return HOST(wasi_keyvalue_atomics_increment(store, &name, delta, sum, &refused)) ? INFORMER_OK : store_refusal(&refused);
}

informer_list informer_keys_of(const char *bucket) { return (informer_list){.gvr = bucket}; }

const char *informer_next_key(informer_list *list) {
    while (list->next == list->length && !list->last) {
        wasi_keyvalue_store_borrow_bucket_t store;
        list->next = list->length = 0;
        if ((list->kind = opened(list->gvr, &store))) {
            list->last = true;
            return NULL;
        }
        uint64_t cursor = list->token ? strtoull(list->token, NULL, 10) : 0;
        wasi_keyvalue_store_key_response_t page;
        wasi_keyvalue_store_error_t refused;
        if (!HOST(wasi_keyvalue_store_method_bucket_list_keys(store, list->token ? &cursor : NULL, &page, &refused))) {
            list->kind = store_refusal(&refused);
            list->last = true;
            return NULL;
        }
        list->page = page.keys.ptr;
        list->length = page.keys.len;
        list->last = !page.cursor.is_some;
        list->token = page.cursor.is_some ? informer_format("%llu", (unsigned long long)page.cursor.val) : NULL;
    }
    return list->next == list->length ? NULL : informer_given(((plugin_string_t *)list->page)[list->next++]);
}

informer_kind informer_config(const char *key, const char **value) {
    plugin_string_t name;
    informer_kind kind = informer_wire_key("the key", key, &name);
    if (kind) {
        return kind;
    }
    plugin_option_string_t found;
    wasi_config_store_error_t refused;
    if (!HOST(wasi_config_store_get(&name, &found, &refused))) {
        bool upstream = refused.tag == WASI_CONFIG_STORE_ERROR_UPSTREAM;
        return informer_failed(INFORMER_CONFIG_FAILED, informer_given(upstream ? refused.val.upstream : refused.val.io), 0);
    }
    if (!found.is_some) {
        return informer_failed(INFORMER_NOT_FOUND, informer_format("the configuration has no %s", key), 0);
    }
    *value = informer_given(found.val);
    return INFORMER_OK;
}

static informer_kind queued(bool done, informer_plugin_workqueue_error_t *refused) {
    return done ? INFORMER_OK : informer_refusal(refused);
}

informer_kind informer_queue_add(const char *key) {
    plugin_string_t text;
    informer_kind kind = informer_wire_key("the key", key, &text);
    if (kind) {
        return kind;
    }
    informer_plugin_workqueue_error_t refused;
    bool done = HOST(informer_plugin_workqueue_add(&text, &refused));
    return queued(done, &refused);
}

informer_kind informer_queue_add_after(const char *key, uint32_t millis) {
    plugin_string_t text;
    informer_kind kind = informer_wire_key("the key", key, &text);
    if (kind) {
        return kind;
    }
    informer_plugin_workqueue_error_t refused;
    bool done = HOST(informer_plugin_workqueue_add_after(&text, millis, &refused));
    return queued(done, &refused);
}

informer_kind informer_queue_add_rate_limited(const char *key) {
    plugin_string_t text;
    informer_kind kind = informer_wire_key("the key", key, &text);
    if (kind) {
        return kind;
    }
    informer_plugin_workqueue_error_t refused;
    bool done = HOST(informer_plugin_workqueue_add_rate_limited(&text, &refused));
    return queued(done, &refused);
}

void informer_queue_forget(const char *key) {
    plugin_string_t text;
    if (!informer_wire_key("the key", key, &text)) {
        informer_plugin_workqueue_forget(&text);
    }
}

// === Timers ===

informer_kind informer_timer(const char *name, uint32_t millis) {
    plugin_string_t wire;
    informer_kind kind = informer_wire_key("the name of a timer", name, &wire);
    if (kind) {
        return kind;
    }
    informer_plugin_timer_error_t refused;
    return HOST(informer_plugin_timer_after(&wire, millis, &refused)) ? INFORMER_OK : informer_refusal(&refused);
}

void informer_cancel_timer(const char *name) {
    plugin_string_t wire;
    if (!informer_wire_key("the name of a timer", name, &wire)) {
        informer_plugin_timer_cancel(&wire);
    }
}
