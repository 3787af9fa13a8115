// Logs each Deployment that is scaled.
#include "informer.h"

const char *const informer_name = "scaled";

static int64_t replicas(const informer_object *object) {
    const char *const pointers[] = {"/spec/replicas"};
    informer_value value;
    return informer_fields(object, 1, pointers, &value) ? 1 : informer_integer(value, 1);
}

informer_result informer_on_update(const informer_object *old, const informer_object *object) {
    informer_log(INFORMER_INFO, "%s: %lld -> %lld replicas", informer_key_text(object->meta.key), (long long)replicas(old),
                 (long long)replicas(object));
    return informer_done();
}
