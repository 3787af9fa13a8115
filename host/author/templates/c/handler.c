// A plugin: the host calls the handlers when a Deployment is added, updated or deleted.
//
// What the host and the SDK return belongs to the call, and is freed when the call returns. sdk/informer.h is the manual.
#include "informer.h"

#define DEPLOYMENTS "apps/v1/deployments"
// How often each object has changed. It survives restarts of the host.
#define CHANGES "changes"

const char *const informer_name = "__NAME__";

// Logs two fields of the object, the number of objects in its namespace, and how often it has changed. A failure is retried with a
// growing delay.
static informer_result report(const char *what, const informer_object *object) {
    static const char *const pointers[] = {"/spec/replicas", "/spec/template/spec/containers/0/image"};
    informer_value values[2];
    informer_kind kind = informer_fields(object, 2, pointers, values);
    if (kind) {
        return informer_refused(kind);
    }
    unsigned neighbours = 0;
    informer_list list = informer_list_of(DEPLOYMENTS, (informer_selector){.namespace_ = object->meta.key.namespace_});
    while (informer_next_meta(&list)) {
        neighbours++;
    }
    if (list.kind) {
        return informer_refused(list.kind);
    }
    const char *key = informer_key_text(object->meta.key);
    uint64_t count;
    if ((kind = informer_increment(CHANGES, key, 1, &count))) {
        return informer_refused(kind);
    }
    const char *line = informer_format("%s %s: %lld x %s, %u in %s, change %llu", what, key, (long long)informer_integer(values[0], 1),
                                       informer_text(values[1], "nothing"), neighbours, object->meta.key.namespace_,
                                       (unsigned long long)count);
    informer_log_fields(INFORMER_INFO, line, 1, &(informer_pair){"rv", object->meta.resource_version});
    return informer_done();
}

informer_result informer_on_add(const informer_object *object) { return report("added", object); }

informer_result informer_on_update(const informer_object *old, const informer_object *object) {
    (void)old;
    return report("updated", object);
}

informer_result informer_on_delete(const informer_object *object) {
    const char *key = informer_key_text(object->meta.key), *count = "0";
    informer_kind kind = informer_load(CHANGES, key, &count, NULL);
    if (!kind) {
        kind = informer_forget(CHANGES, key);
    }
    if (kind && kind != INFORMER_NOT_FOUND) {
        return informer_refused(kind);
    }
    informer_log(INFORMER_INFO, "deleted %s after %s changes", key, count);
    return informer_done();
}
