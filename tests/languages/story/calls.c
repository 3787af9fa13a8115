// A reconciler that is called 10,000 times, and reads, lists, writes and fails in each call.
#include <string.h>

#include "informer.h"

#define CALLS 10000
#define DEPLOYMENTS "apps/v1/deployments"

informer_result informer_reconcile(const char *text) {
    static unsigned calls;
    static size_t before;
    static const char *const pointers[] = {"/spec", "/metadata/labels"};
    informer_key key;
    informer_value values[2];
    const char *json;
    if (!informer_key_parse(text, &key)) {
        return informer_terminal("%s is no key", text);
    }
    informer_kind kind = informer_cached(DEPLOYMENTS, key, &json);
    if (kind || (kind = informer_cached_fields(DEPLOYMENTS, key, 2, pointers, values)) ||
        (kind = informer_store("calls", text, json, strlen(json))) || (kind = informer_load("calls", text, &json, NULL))) {
        return informer_refused(kind);
    }
    informer_list list = informer_list_of(DEPLOYMENTS, (informer_selector){.labels = "app=web"});
    while (informer_next_meta(&list)) {
    }
    informer_cached("v1/secrets", key, &json);
    if (++calls == 100) {
        before = __builtin_wasm_memory_size(0);
    }
    if (calls % 1000 == 0) {
        informer_log(INFORMER_INFO, "%u calls, %d pages more", calls, (int)(__builtin_wasm_memory_size(0) - before));
    }
    if (calls < CALLS) {
        // Every second call fails, so that the memory of a message is seen too.
        return calls % 2 ? informer_retry("call %u", calls) : informer_requeue_after(0);
    }
    return informer_done();
}
