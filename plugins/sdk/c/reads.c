// Objects of the call, the cache, logs and metrics.
#include <string.h>

#include "internal.h"

informer_meta informer_meta_of(informer_plugin_types_object_meta_t *from) {
    informer_pair *labels = informer_allocate(from->labels.len * sizeof *labels);
    for (size_t i = 0; i < from->labels.len; i++) {
        labels[i] = (informer_pair){informer_given(from->labels.ptr[i].f0), informer_given(from->labels.ptr[i].f1)};
    }
    informer_owner *controller = NULL;
    if (from->controller.is_some) {
        informer_plugin_types_owner_t *owner = &from->controller.val;
        controller = informer_allocate(sizeof *controller);
        *controller = (informer_owner){informer_given(owner->api_version), informer_given(owner->kind), informer_given(owner->name),
                                       informer_given(owner->uid)};
    }
    return (informer_meta){
        .key = {informer_given(from->namespace_), informer_given(from->name)},
        .uid = informer_given(from->uid),
        .resource_version = informer_given(from->resource_version),
        .creation_timestamp = informer_given(from->creation_timestamp),
        .deleting = from->deleting,
        .label_count = from->labels.len,
        .labels = labels,
        .controller = controller,
    };
}

const char *informer_label(const informer_meta *meta, const char *name) {
    for (size_t i = 0; i < meta->label_count; i++) {
        if (!strcmp(meta->labels[i].name, name)) {
            return meta->labels[i].value;
        }
    }
    return NULL;
}

const char *informer_cause_word(informer_cause cause) {
    static const char *const words[] = {"live", "initial", "relist", "resync", "replay"};
    return (size_t)cause < 5 ? words[cause] : "live";
}

const char *informer_key_text(informer_key key) {
    return *key.namespace_ ? informer_format("%s/%s", key.namespace_, key.name) : key.name;
}

bool informer_key_parse(const char *text, informer_key *key) {
    const char *slash = strchr(text, '/');
    key->namespace_ = slash ? informer_format("%.*s", (int)(slash - text), text) : "";
    key->name = slash ? slash + 1 : text;
    return *key->name && !strchr(key->name, '/') && slash != text;
}

bool informer_work_key_parse(const char *text, const char **of, informer_key *key) {
    const char *blank = strrchr(text, ' ');
    *of = blank ? informer_format("%.*s", (int)(blank - text), text) : NULL;
    return informer_key_parse(blank ? blank + 1 : text, key);
}

void informer_values_of(plugin_list_option_string_t from, size_t count, informer_value values[]) {
    for (size_t i = 0; i < count; i++) {
        bool present = i < from.len && from.ptr[i].is_some;
        values[i].json = present ? informer_given(from.ptr[i].val) : NULL;
    }
}

informer_kind informer_fields(const informer_object *object, size_t count, const char *const pointers[], informer_value values[]) {
    plugin_list_string_t wanted = informer_wire_all(count, pointers);
    plugin_list_option_string_t found;
    informer_plugin_objects_error_t refused;
    if (!HOST(informer_plugin_objects_get_many(object->token, &wanted, &found, &refused))) {
        return informer_refusal(&refused);
    }
    informer_values_of(found, count, values);
    return INFORMER_OK;
}

informer_kind informer_json(const informer_object *object, const char **json) {
    plugin_string_t found;
    informer_plugin_objects_error_t refused;
    if (!HOST(informer_plugin_objects_json(object->token, &found, &refused))) {
        return informer_refusal(&refused);
    }
    *json = informer_given(found);
    return INFORMER_OK;
}

informer_kind informer_changed(const informer_object *old, const informer_object *object, size_t count, const char *const pointers[],
                               bool *changed) {
    plugin_list_string_t wanted = informer_wire_all(count, pointers);
    informer_plugin_objects_error_t refused;
    if (!HOST(informer_plugin_objects_differs(old->token, object->token, &wanted, changed, &refused))) {
        return informer_refusal(&refused);
    }
    return INFORMER_OK;
}

void informer_log_fields(informer_level level, const char *message, size_t count, const informer_pair fields[]) {
    plugin_string_t line = informer_wire(informer_utf8(message));
    plugin_list_tuple2_string_string_t pairs = informer_wire_pairs(count, fields);
    informer_plugin_log_write((informer_plugin_log_level_t)level, &line, &pairs);
}

typedef bool record(plugin_string_t *, plugin_list_tuple2_string_string_t *, double, informer_plugin_metrics_error_t *);

static informer_kind recorded(record *record, const char *metric, double value, size_t count, const informer_pair labels[]) {
    plugin_string_t name = informer_wire(metric);
    plugin_list_tuple2_string_string_t pairs = informer_wire_pairs(count, labels);
    informer_plugin_metrics_error_t refused;
    return HOST(record(&name, &pairs, value, &refused)) ? INFORMER_OK : informer_refusal(&refused);
}

informer_kind informer_count(const char *counter, double value, size_t count, const informer_pair labels[]) {
    return recorded(informer_plugin_metrics_counter_add, counter, value, count, labels);
}

informer_kind informer_gauge(const char *gauge, double value, size_t count, const informer_pair labels[]) {
    return recorded(informer_plugin_metrics_gauge_set, gauge, value, count, labels);
}

informer_kind informer_observe(const char *histogram, double value, size_t count, const informer_pair labels[]) {
    return recorded(informer_plugin_metrics_histogram_observe, histogram, value, count, labels);
}

uint32_t informer_attempt(void) {
    informer_plugin_delivery_delivery_info_t info;
    informer_collecting = true;
    informer_plugin_delivery_current(&info);
    informer_collecting = false;
    return info.attempt;
}

informer_kind informer_call_again(uint32_t millis) {
    informer_plugin_delivery_error_t refused;
    return HOST(informer_plugin_delivery_call_again(millis, &refused)) ? INFORMER_OK : informer_refusal(&refused);
}

// === The cache ===

static informer_plugin_types_object_key_t wire_key(informer_key key) {
    return (informer_plugin_types_object_key_t){informer_wire(key.namespace_), informer_wire(key.name)};
}

static informer_kind missing(const char *gvr, informer_key key) {
    return informer_failed(INFORMER_NOT_FOUND, informer_format("the cache does not hold %s %s", gvr, informer_key_text(key)), 0);
}

informer_kind informer_cached(const char *gvr, informer_key key, const char **json) {
    plugin_string_t resource = informer_wire(gvr);
    informer_plugin_types_object_key_t name = wire_key(key);
    plugin_option_string_t found;
    informer_plugin_lister_error_t refused;
    if (!HOST(informer_plugin_lister_get(&resource, &name, &found, &refused))) {
        return informer_refusal(&refused);
    }
    *json = found.is_some ? informer_given(found.val) : NULL;
    return found.is_some ? INFORMER_OK : missing(gvr, key);
}

informer_kind informer_cached_fields(const char *gvr, informer_key key, size_t count, const char *const pointers[],
                                     informer_value values[]) {
    plugin_string_t resource = informer_wire(gvr);
    informer_plugin_types_object_key_t name = wire_key(key);
    plugin_list_string_t wanted = informer_wire_all(count, pointers);
    plugin_option_list_option_string_t found;
    informer_plugin_lister_error_t refused;
    if (!HOST(informer_plugin_lister_get_fields(&resource, &name, &wanted, &found, &refused))) {
        return informer_refusal(&refused);
    }
    if (!found.is_some) {
        return missing(gvr, key);
    }
    informer_values_of(found.val, count, values);
    return INFORMER_OK;
}

informer_list informer_list_of(const char *gvr, informer_selector selector) {
    return (informer_list){.gvr = gvr, .selector = selector};
}

static informer_plugin_lister_selector_t wire_selector(const informer_selector *from) {
    informer_plugin_lister_selector_t selector = {
        .namespace_ = {from->namespace_ != NULL, informer_wire(from->namespace_)},
        .labels = informer_wire(from->labels),
    };
    selector.index.is_some = from->index != NULL;
    selector.index.val = (plugin_tuple2_string_string_t){informer_wire(from->index), informer_wire(from->value)};
    return selector;
}

static informer_plugin_lister_page_t wire_page(const informer_list *list) {
    return (informer_plugin_lister_page_t){list->selector.page_size, {list->token != NULL, informer_wire(list->token)}};
}

// Notes what a page has, or why there is none. Returns true if there is an element.
static bool paged(informer_list *list, bool listed, void *items, size_t length, plugin_option_string_t *next,
                  informer_plugin_types_error_t *refused) {
    list->next = 0;
    if (!listed) {
        list->kind = informer_refusal(refused);
        list->length = 0;
        list->last = true;
        return false;
    }
    list->page = items;
    list->length = length;
    list->last = !next->is_some;
    list->token = next->is_some ? informer_given(next->val) : NULL;
    return length > 0;
}

// True if another page has to be fetched before an element can be returned.
#define NEEDS_PAGE(list) ((list)->next == (list)->length && !(list)->last)
#define ENDED(list) ((list)->next == (list)->length)

const informer_meta *informer_next_meta(informer_list *list) {
    while (NEEDS_PAGE(list)) {
        plugin_string_t resource = informer_wire(list->gvr);
        informer_plugin_lister_selector_t selector = wire_selector(&list->selector);
        informer_plugin_lister_page_t part = wire_page(list);
        informer_plugin_lister_meta_page_t page;
        informer_plugin_lister_error_t refused;
        bool listed = HOST(informer_plugin_lister_list_meta(&resource, &selector, &part, &page, &refused));
        paged(list, listed, page.items.ptr, page.items.len, &page.next, &refused);
    }
    if (ENDED(list)) {
        return NULL;
    }
    informer_meta *meta = informer_allocate(sizeof *meta);
    *meta = informer_meta_of((informer_plugin_types_object_meta_t *)list->page + list->next++);
    return meta;
}

const informer_row *informer_next_row(informer_list *list, size_t count, const char *const pointers[]) {
    while (NEEDS_PAGE(list)) {
        plugin_string_t resource = informer_wire(list->gvr);
        informer_plugin_lister_selector_t selector = wire_selector(&list->selector);
        informer_plugin_lister_page_t part = wire_page(list);
        plugin_list_string_t wanted = informer_wire_all(count, pointers);
        informer_plugin_lister_fields_page_t page;
        informer_plugin_lister_error_t refused;
        bool listed = HOST(informer_plugin_lister_list_fields(&resource, &selector, &wanted, &part, &page, &refused));
        paged(list, listed, page.items.ptr, page.items.len, &page.next, &refused);
    }
    if (ENDED(list)) {
        return NULL;
    }
    informer_plugin_lister_fields_t *found = (informer_plugin_lister_fields_t *)list->page + list->next++;
    informer_row *row = informer_allocate(sizeof *row);
    informer_value *values = informer_allocate(count * sizeof *values);
    informer_values_of(found->values, count, values);
    *row = (informer_row){{informer_given(found->key.namespace_), informer_given(found->key.name)}, values};
    return row;
}

const char *informer_next_json(informer_list *list) {
    while (NEEDS_PAGE(list)) {
        plugin_string_t resource = informer_wire(list->gvr);
        informer_plugin_lister_selector_t selector = wire_selector(&list->selector);
        informer_plugin_lister_page_t part = wire_page(list);
        informer_plugin_lister_json_page_t page;
        informer_plugin_lister_error_t refused;
        bool listed = HOST(informer_plugin_lister_list_json(&resource, &selector, &part, &page, &refused));
        paged(list, listed, page.items.ptr, page.items.len, &page.next, &refused);
    }
    return ENDED(list) ? NULL : informer_given(((plugin_string_t *)list->page)[list->next++]);
}

informer_kind informer_has_synced(const char *gvr, bool *synced) {
    plugin_string_t resource = informer_wire(gvr);
    informer_plugin_lister_error_t refused;
    return HOST(informer_plugin_lister_has_synced(&resource, synced, &refused)) ? INFORMER_OK : informer_refusal(&refused);
}

informer_kind informer_wait(const char *gvr, const char *namespace_, const char *resource_version, uint32_t millis, bool *arrived) {
    plugin_string_t resource = informer_wire(gvr), of = informer_wire(namespace_), version = informer_wire(resource_version);
    informer_plugin_lister_error_t refused;
    bool waited = HOST(informer_plugin_lister_wait_until(&resource, of.len ? &of : NULL, &version, millis, arrived, &refused));
    return waited ? INFORMER_OK : informer_refusal(&refused);
}

informer_list informer_index_values_of(const char *gvr, const char *index, const char *namespace_) {
    return (informer_list){.gvr = gvr, .selector = {.index = index, .namespace_ = namespace_}};
}

const informer_index_value *informer_next_index_value(informer_list *list) {
    while (NEEDS_PAGE(list)) {
        plugin_string_t resource = informer_wire(list->gvr), index = informer_wire(list->selector.index);
        plugin_string_t of = informer_wire(list->selector.namespace_), after = {0};
        if (list->token) {
            // A value may have a zero byte, at which the token ends. The list would repeat this value without end.
            after = ((informer_plugin_lister_index_value_t *)list->page)[list->length - 1].value;
        }
        informer_plugin_lister_list_index_value_t page = {0};
        informer_plugin_lister_error_t refused;
        bool listed = HOST(informer_plugin_lister_index_values(&resource, &index, list->selector.namespace_ ? &of : NULL,
                                                               list->token ? &after : NULL, list->selector.page_size, &page, &refused));
        // The list ends with an empty page. The next one begins behind the last value.
        plugin_option_string_t next = {.is_some = page.len > 0};
        if (next.is_some) {
            next.val = page.ptr[page.len - 1].value;
        }
        paged(list, listed, page.ptr, page.len, &next, &refused);
    }
    if (ENDED(list)) {
        return NULL;
    }
    informer_plugin_lister_index_value_t *found = (informer_plugin_lister_index_value_t *)list->page + list->next++;
    informer_index_value *value = informer_allocate(sizeof *value);
    *value = (informer_index_value){informer_given(found->value), found->objects};
    return value;
}

informer_kind informer_state(const char *gvr, informer_cache *state) {
    plugin_string_t resource = informer_wire(gvr);
    informer_plugin_lister_cache_state_t found;
    informer_plugin_lister_error_t refused;
    if (!HOST(informer_plugin_lister_state(&resource, &found, &refused))) {
        return informer_refusal(&refused);
    }
    int64_t age_ms = found.age_ms.is_some ? (int64_t)found.age_ms.val : -1;
    *state = (informer_cache){found.synced, informer_given(found.resource_version), age_ms};
    return INFORMER_OK;
}
