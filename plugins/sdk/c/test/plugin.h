// The part of the generated bindings that writes.c, errors.c, memory.c and reads.c need, so that they compile as a native program without
// a toolchain for WebAssembly. The types are those of `bindings/plugin.h` of a project.
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

typedef struct {
    bool is_some;
    plugin_list_option_string_t val;
} plugin_option_list_option_string_t;

typedef struct {
    plugin_string_t api_version, kind, name, uid;
} informer_plugin_types_owner_t;

typedef struct {
    plugin_string_t namespace_, name, uid, resource_version, creation_timestamp;
    bool deleting;
    plugin_list_tuple2_string_string_t labels;
    struct {
        bool is_some;
        informer_plugin_types_owner_t val;
    } controller;
} informer_plugin_types_object_meta_t;

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

// === What reads.c needs. A test defines the functions that it calls. The others are weak, so the program links without them. ===

#define OF_A_TEST __attribute__((__weak__))

typedef informer_plugin_types_error_t informer_plugin_objects_error_t;
typedef informer_plugin_types_error_t informer_plugin_metrics_error_t;
typedef informer_plugin_types_error_t informer_plugin_delivery_error_t;
typedef informer_plugin_types_error_t informer_plugin_lister_error_t;

typedef struct {
    uint32_t attempt, queued_ms;
    plugin_string_t plugin, host_version;
} informer_plugin_delivery_delivery_info_t;

typedef struct {
    plugin_option_string_t namespace_;
    plugin_string_t labels;
    struct {
        bool is_some;
        plugin_tuple2_string_string_t val;
    } index;
} informer_plugin_lister_selector_t;

typedef struct {
    uint32_t limit;
    plugin_option_string_t token;
} informer_plugin_lister_page_t;

typedef struct {
    informer_plugin_types_object_key_t key;
    plugin_list_option_string_t values;
} informer_plugin_lister_fields_t;

typedef struct {
    struct {
        informer_plugin_types_object_meta_t *ptr;
        size_t len;
    } items;
    plugin_option_string_t next;
} informer_plugin_lister_meta_page_t;

typedef struct {
    struct {
        informer_plugin_lister_fields_t *ptr;
        size_t len;
    } items;
    plugin_option_string_t next;
} informer_plugin_lister_fields_page_t;

typedef struct {
    plugin_list_string_t items;
    plugin_option_string_t next;
} informer_plugin_lister_json_page_t;

typedef struct {
    plugin_string_t value;
    uint32_t objects;
} informer_plugin_lister_index_value_t;

typedef struct {
    informer_plugin_lister_index_value_t *ptr;
    size_t len;
} informer_plugin_lister_list_index_value_t;

typedef struct {
    bool synced;
    plugin_string_t resource_version;
    struct {
        bool is_some;
        uint32_t val;
    } age_ms;
} informer_plugin_lister_cache_state_t;

OF_A_TEST bool informer_plugin_objects_get_many(uint32_t id, plugin_list_string_t *pointers, plugin_list_option_string_t *values,
                                                informer_plugin_objects_error_t *error);
OF_A_TEST bool informer_plugin_objects_json(uint32_t id, plugin_string_t *json, informer_plugin_objects_error_t *error);
OF_A_TEST bool informer_plugin_objects_differs(uint32_t old, uint32_t object, plugin_list_string_t *pointers, bool *differs,
                                               informer_plugin_objects_error_t *error);
OF_A_TEST void informer_plugin_log_write(informer_plugin_log_level_t level, plugin_string_t *message,
                                         plugin_list_tuple2_string_string_t *fields);
OF_A_TEST bool informer_plugin_metrics_counter_add(plugin_string_t *name, plugin_list_tuple2_string_string_t *labels, double value,
                                                   informer_plugin_metrics_error_t *error);
OF_A_TEST bool informer_plugin_metrics_gauge_set(plugin_string_t *name, plugin_list_tuple2_string_string_t *labels, double value,
                                                 informer_plugin_metrics_error_t *error);
OF_A_TEST bool informer_plugin_metrics_histogram_observe(plugin_string_t *name, plugin_list_tuple2_string_string_t *labels, double value,
                                                         informer_plugin_metrics_error_t *error);
OF_A_TEST void informer_plugin_delivery_current(informer_plugin_delivery_delivery_info_t *info);
OF_A_TEST bool informer_plugin_delivery_call_again(uint32_t millis, informer_plugin_delivery_error_t *error);
OF_A_TEST bool informer_plugin_lister_get(plugin_string_t *gvr, informer_plugin_types_object_key_t *key, plugin_option_string_t *object,
                                          informer_plugin_lister_error_t *error);
OF_A_TEST bool informer_plugin_lister_get_fields(plugin_string_t *gvr, informer_plugin_types_object_key_t *key,
                                                 plugin_list_string_t *pointers, plugin_option_list_option_string_t *values,
                                                 informer_plugin_lister_error_t *error);
OF_A_TEST bool informer_plugin_lister_list_meta(plugin_string_t *gvr, informer_plugin_lister_selector_t *of,
                                                informer_plugin_lister_page_t *part, informer_plugin_lister_meta_page_t *page,
                                                informer_plugin_lister_error_t *error);
OF_A_TEST bool informer_plugin_lister_list_fields(plugin_string_t *gvr, informer_plugin_lister_selector_t *of,
                                                  plugin_list_string_t *pointers, informer_plugin_lister_page_t *part,
                                                  informer_plugin_lister_fields_page_t *page, informer_plugin_lister_error_t *error);
OF_A_TEST bool informer_plugin_lister_list_json(plugin_string_t *gvr, informer_plugin_lister_selector_t *of,
                                                informer_plugin_lister_page_t *part, informer_plugin_lister_json_page_t *page,
                                                informer_plugin_lister_error_t *error);
OF_A_TEST bool informer_plugin_lister_index_values(plugin_string_t *gvr, plugin_string_t *index, plugin_string_t *namespace_,
                                                   plugin_string_t *after, uint32_t limit,
                                                   informer_plugin_lister_list_index_value_t *page,
                                                   informer_plugin_lister_error_t *error);
OF_A_TEST bool informer_plugin_lister_state(plugin_string_t *gvr, informer_plugin_lister_cache_state_t *state,
                                            informer_plugin_lister_error_t *error);
OF_A_TEST bool informer_plugin_lister_has_synced(plugin_string_t *gvr, bool *synced, informer_plugin_lister_error_t *error);
OF_A_TEST bool informer_plugin_lister_wait_until(plugin_string_t *gvr, plugin_string_t *namespace_, plugin_string_t *version,
                                                 uint32_t millis, bool *arrived, informer_plugin_lister_error_t *error);

#endif
