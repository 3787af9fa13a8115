// A controller: the host calls informer_reconcile with the key of each Deployment that changed.
//
// What the host and the SDK return belongs to the call, and is freed when the call returns. sdk/informer.h is the manual.
#include "informer.h"

const char *const informer_name = "__NAME__";

// Makes the world match the object. A failure is retried with a growing delay.
informer_result informer_reconcile(const char *text) {
    static const char *const pointers[] = {"/spec/replicas", "/spec/template/spec/containers/0/image"};
    informer_key key;
    if (!informer_key_parse(text, &key)) {
        return informer_terminal("%s is not the key of an object", text);
    }
    informer_value values[2];
    informer_kind kind = informer_cached_fields("apps/v1/deployments", key, 2, pointers, values);
    if (kind == INFORMER_NOT_FOUND) {
        informer_log(INFORMER_INFO, "%s is gone", text);
        return informer_done();
    }
    if (kind) {
        return informer_refused(kind);
    }
    informer_log(INFORMER_INFO, "reconciled %s: %lld x %s", text, (long long)informer_integer(values[0], 1),
                 informer_text(values[1], "nothing"));
    return informer_done();
}
