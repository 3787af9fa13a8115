// A reconciler that is called 10,000 times, and reads, lists, keeps a value, is refused and fails. The others do the same.
#include <string.h>

#include "informer.h"

#define CALLS 10000
#define DEPLOYMENTS "apps/v1/deployments"

// A character of UTF-8 has one byte that does not continue another one.
static bool begins(char byte) { return (byte & 0xC0) != 0x80; }

static informer_result big(informer_key key) {
    static const char *const pointers[] = {"/spec/template/spec/containers/0/env/0/value"};
    informer_value value;
    informer_kind kind = informer_cached_fields(DEPLOYMENTS, key, 1, pointers, &value);
    if (kind) {
        return informer_refused(kind);
    }
    const char *text = informer_text(value, ""), *end = text + strlen(text);
    int characters = 0, last = 0;
    for (const char *at = text; at < end; at++) {
        characters += begins(*at);
    }
    while (end > text && last < 4) {
        last += begins(*--end);
    }
    informer_log(INFORMER_INFO, "big: %d characters, %s", characters, end);
    return informer_done();
}

informer_result informer_reconcile(const char *text) {
    static unsigned calls;
    static const char *const pointers[] = {"/spec", "/metadata/labels"};
    informer_key key;
    informer_value values[2];
    const char *json, *kept;
    if (!informer_key_parse(text, &key)) {
        return informer_terminal("%s is no key", text);
    }
    if (!strcmp(key.name, "big")) {
        return big(key);
    }
    informer_kind kind = informer_cached(DEPLOYMENTS, key, &json);
    if (kind || (kind = informer_cached_fields(DEPLOYMENTS, key, 2, pointers, values)) ||
        (calls % 10 == 0 && (kind = informer_store("calls", text, json, strlen(json)))) ||
        (kind = informer_load("calls", text, &kept, NULL))) {
        return informer_refused(kind);
    }
    if (strcmp(json, kept)) {
        return informer_terminal("another value was kept");
    }
    informer_list list = informer_list_of(DEPLOYMENTS, (informer_selector){.labels = "app=web"});
    while (informer_next_meta(&list)) {
    }
    if (!informer_cached("v1/secrets", key, &json)) {
        return informer_terminal("secrets are readable");
    }
    if (++calls % 1000 == 0) {
        informer_log(INFORMER_INFO, "%u calls", calls);
    }
    if (calls < CALLS && (kind = informer_queue_add(text))) {
        return informer_refused(kind);
    }
    return calls % 2 ? informer_retry("call %u", calls) : informer_done();
}
