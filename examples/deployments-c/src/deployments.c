// Prints each change of a deployment. Once, after the first sync, it lists the deployments of one namespace.
//
// ../../README.md describes the lines. The examples in the other languages print the same lines.
#include <stdio.h>

#include "informer.h"

#define DEPLOYMENTS "apps/v1/deployments"
#define NAMESPACE "default"

const char *const informer_name = "deployments-c";

// Prints the deployments of the namespace once, as soon as the cache holds all of them.
static informer_result list_once(void) {
    static bool listed;
    bool synced = false;
    informer_kind kind = informer_has_synced(DEPLOYMENTS, &synced);
    if (kind) {
        return informer_refused(kind);
    }
    if (listed || !synced) {
        return informer_done();
    }
    size_t found = 0;
    const char *lines = "";
    informer_list list = informer_list_of(DEPLOYMENTS, (informer_selector){.namespace_ = NAMESPACE});
    for (const informer_meta *meta; (meta = informer_next_meta(&list));) {
        lines = informer_format("%s%zu -> %s\n", lines, ++found, meta->key.name);
    }
    if (list.kind) {
        return informer_refused(list.kind);
    }
    printf("deployments in %s: %zu\n%s", NAMESPACE, found, lines);
    listed = true;
    return informer_done();
}

informer_result informer_on_add(const informer_object *object) {
    printf("added %s (rv %s, %s)\n", informer_key_text(object->meta.key), object->meta.resource_version,
           informer_cause_word(object->cause));
    return list_once();
}

informer_result informer_on_update(const informer_object *old, const informer_object *object) {
    printf("updated %s (rv %s -> %s, %s)\n", informer_key_text(object->meta.key), old->meta.resource_version,
           object->meta.resource_version, informer_cause_word(object->cause));
    return list_once();
}

informer_result informer_on_delete(const informer_object *object) {
    printf("deleted %s (rv %s%s)\n", informer_key_text(object->meta.key), object->meta.resource_version,
           object->final_state_unknown ? ", final state unknown" : "");
    return list_once();
}
