// A controller: the host calls reconcile with the key of each Deployment that changed.
//
// Arguments belong to the function, which frees them. So do values that the host returns. Bindings and functions that
// free are in bindings/plugin.h, which `informer build` writes.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugin.h"

typedef exports_informer_plugin_reconciler_reconcile_error_t failure_t;

// Texts that the host reads and does not free.
#define TEXT(literal) ((plugin_string_t){(uint8_t *)(literal), sizeof(literal) - 1})
#define SHOWN(text) (int)(text).len, (const char *)(text).ptr

static void log_line(char *line) {
    plugin_string_t message = {(uint8_t *)line, strlen(line)};
    plugin_list_tuple2_string_string_t fields = {0};
    informer_plugin_log_write(INFORMER_PLUGIN_LOG_LEVEL_INFO, &message, &fields);
}

// Makes the world match the object. An error is retried with a growing delay.
bool exports_informer_plugin_reconciler_reconcile(plugin_string_t *key, exports_informer_plugin_reconciler_outcome_t *outcome,
                                                  failure_t *failure) {
    uint8_t *slash = memchr(key->ptr, '/', key->len);
    size_t before = slash ? (size_t)(slash - key->ptr) : 0, skipped = slash ? before + 1 : 0;
    informer_plugin_lister_object_key_t object = {{key->ptr, before}, {key->ptr + skipped, key->len - skipped}};
    plugin_string_t deployments = TEXT("apps/v1/deployments");
    plugin_string_t pointers[] = {TEXT("/spec/replicas"), TEXT("/spec/template/spec/containers/0/image")};
    plugin_list_string_t wanted = {pointers, 2};
    plugin_option_list_option_string_t fields;
    informer_plugin_lister_error_t refused;
    bool found = informer_plugin_lister_get_fields(&deployments, &object, &wanted, &fields, &refused);
    if (found) {
        char line[1024];
        if (fields.is_some) {
            plugin_string_t replicas = fields.val.ptr[0].is_some ? fields.val.ptr[0].val : TEXT("1");
            plugin_string_t image = fields.val.ptr[1].is_some ? fields.val.ptr[1].val : TEXT("\"nothing\"");
            // A text in JSON has quotes around it.
            snprintf(line, sizeof line, "reconciled %.*s: %.*s x %.*s", SHOWN(*key), SHOWN(replicas), (int)image.len - 2,
                     (const char *)image.ptr + 1);
        } else {
            snprintf(line, sizeof line, "%.*s is gone", SHOWN(*key));
        }
        log_line(line);
        plugin_option_list_option_string_free(&fields);
        outcome->tag = EXPORTS_INFORMER_PLUGIN_RECONCILER_OUTCOME_DONE;
    } else {
        failure->tag = EXPORTS_INFORMER_PLUGIN_RECONCILER_RECONCILE_ERROR_RETRY;
        failure->val.retry = refused.message;
    }
    plugin_string_free(key);
    return found;
}

void exports_informer_plugin_plugin_describe(exports_informer_plugin_plugin_info_t *info) {
    plugin_string_dup(&info->name, "__NAME__");
    plugin_string_dup(&info->version, "0.1.0");
    plugin_string_dup(&info->sdk, "informer build");
}

bool exports_informer_plugin_plugin_start(plugin_string_t *config, plugin_string_t *why) {
    (void)why;
    plugin_string_free(config);
    return true;
}

void exports_informer_plugin_plugin_stop(void) {}
