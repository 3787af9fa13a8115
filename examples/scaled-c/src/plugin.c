// Logs each Deployment that is scaled.
#include "informer.h"

const char *const informer_name = "scaled";

informer_result informer_on_update(const informer_object *old, const informer_object *object) {
    const char *const pointers[] = {"/spec/replicas"};
    informer_value before = {0}, after = {0};
    informer_kind kind = informer_fields(old, 1, pointers, &before);
    if (!kind) {
        kind = informer_fields(object, 1, pointers, &after);
    }
    if (kind) {
        return informer_refused(kind);
    }
    informer_log(INFORMER_INFO, "%s: %lld -> %lld replicas", informer_key_text(object->meta.key),
                 (long long)informer_integer(before, 1), (long long)informer_integer(after, 1));
    return informer_done();
}
