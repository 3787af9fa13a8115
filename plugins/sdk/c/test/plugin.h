// The part of the generated bindings that writes.c, errors.c and memory.c need, so that they compile as a native program without a
// toolchain for WebAssembly. The types are those of `bindings/plugin.h` of a project.
#ifndef TEST_PLUGIN_H
#define TEST_PLUGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint8_t *ptr;
    size_t len;
} plugin_string_t;

typedef struct {
    plugin_string_t f0, f1;
} plugin_tuple2_string_string_t;

typedef struct {
    bool is_some;
    plugin_string_t val;
} plugin_option_string_t;

typedef struct {
    plugin_string_t *ptr;
    size_t len;
} plugin_list_string_t;

typedef struct {
    plugin_tuple2_string_string_t *ptr;
    size_t len;
} plugin_list_tuple2_string_string_t;

typedef struct {
    plugin_option_string_t *ptr;
    size_t len;
} plugin_list_option_string_t;

// Only its pointers are used here.
typedef struct informer_plugin_types_object_meta_t informer_plugin_types_object_meta_t;

typedef struct {
    plugin_string_t namespace_, name;
} informer_plugin_types_object_key_t;

typedef struct {
    uint8_t code;
    plugin_string_t message;
} informer_plugin_types_error_t;

typedef uint8_t informer_plugin_log_level_t;

bool informer_plugin_log_enabled(informer_plugin_log_level_t level);
void plugin_string_dup(plugin_string_t *copy, const char *text);

typedef uint8_t informer_plugin_client_patch_kind_t;

#define INFORMER_PLUGIN_CLIENT_PATCH_KIND_MERGE 0
#define INFORMER_PLUGIN_CLIENT_PATCH_KIND_JSON_PATCH 1
#define INFORMER_PLUGIN_CLIENT_PATCH_KIND_APPLY 3

typedef struct {
    uint8_t code;
    plugin_string_t message;
    uint32_t status;
    struct {
        bool is_some;
        uint32_t val;
    } retry_after_ms;
} informer_plugin_client_api_error_t;

typedef struct {
    plugin_option_string_t namespace_;
    plugin_string_t labels, fields;
    uint32_t limit;
    plugin_option_string_t token;
} informer_plugin_client_list_options_t;

typedef struct {
    plugin_list_string_t items;
    plugin_option_string_t next;
    plugin_string_t resource_version;
} informer_plugin_client_object_page_t;

typedef struct {
    bool dry_run, force;
    plugin_string_t subresource;
} informer_plugin_client_write_options_t;

typedef struct {
    bool dry_run;
    plugin_option_string_t uid, resource_version;
    struct {
        bool is_some;
        uint8_t val;
    } propagation;
} informer_plugin_client_delete_options_t;

typedef struct {
    plugin_string_t gvr;
    informer_plugin_types_object_key_t regarding;
    bool warning;
    plugin_string_t reason, action, note;
} informer_plugin_client_object_event_t;

bool informer_plugin_client_get(plugin_string_t *gvr, informer_plugin_types_object_key_t *key, plugin_string_t *subresource,
                                plugin_string_t *object, informer_plugin_client_api_error_t *error);
bool informer_plugin_client_list_objects(plugin_string_t *gvr, informer_plugin_client_list_options_t *options,
                                         informer_plugin_client_object_page_t *page, informer_plugin_client_api_error_t *error);
bool informer_plugin_client_create(plugin_string_t *gvr, plugin_string_t *namespace_, plugin_string_t *body,
                                   informer_plugin_client_write_options_t *options, plugin_string_t *object,
                                   informer_plugin_client_api_error_t *error);
bool informer_plugin_client_update(plugin_string_t *gvr, informer_plugin_types_object_key_t *key, plugin_string_t *body,
                                   informer_plugin_client_write_options_t *options, plugin_string_t *object,
                                   informer_plugin_client_api_error_t *error);
bool informer_plugin_client_patch(plugin_string_t *gvr, informer_plugin_types_object_key_t *key, informer_plugin_client_patch_kind_t kind,
                                  plugin_string_t *body, informer_plugin_client_write_options_t *options, plugin_string_t *object,
                                  informer_plugin_client_api_error_t *error);
bool informer_plugin_client_delete_object(plugin_string_t *gvr, informer_plugin_types_object_key_t *key,
                                          informer_plugin_client_delete_options_t *options, informer_plugin_client_api_error_t *error);
bool informer_plugin_client_record_event(informer_plugin_client_object_event_t *event, informer_plugin_client_api_error_t *error);

#endif
