// What a plugin in C does with the SDK. story.js does the same.
#include <stdio.h>
#include <string.h>

#include "informer.h"

#define DEPLOYMENTS "apps/v1/deployments"

static const informer_key WEB = {"default", "web"}, SECRET = {"default", "x"};

const char *const informer_name = "story";

const char *informer_start(const char *config) {
    const char *greeting;
    if (informer_config("greeting", &greeting) || strcmp(greeting, informer_text(informer_json_at(config, "/greeting"), ""))) {
        return "the greetings differ";
    }
    informer_log_fields(INFORMER_INFO, "started", 1, &(informer_pair){"greeting", greeting});
    return NULL;
}

static informer_kind list(void) {
    char names[256] = "";
    informer_list list = informer_list_of(DEPLOYMENTS, (informer_selector){.namespace_ = "default", .page_size = 2});
    for (const informer_meta *meta; (meta = informer_next_meta(&list));) {
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", *names ? "," : "", meta->key.name);
    }
    informer_log(INFORMER_INFO, "pages: %s", names);
    return list.kind;
}

static const char *change(const informer_value values[], void *attempts) {
    if (++*(int *)attempts == 1) {
        informer_merge_patch(DEPLOYMENTS, WEB, "{\"metadata\":{\"labels\":{\"tier\":\"meanwhile\"}}}", (informer_write){0}, NULL);
    }
    (void)values;
    return "{\"op\":\"add\",\"path\":\"/metadata/labels/tier\",\"value\":\"changed\"}";
}

static informer_kind modify(void) {
    int attempts = 0;
    const char *answer;
    informer_kind kind = informer_modify(DEPLOYMENTS, WEB, 0, NULL, change, &attempts, &answer);
    if (!kind) {
        const char *tier = informer_text(informer_json_at(answer, "/metadata/labels/tier"), "");
        informer_log(INFORMER_INFO, "changed at attempt %d: %s", attempts, tier);
    }
    return kind;
}

static informer_kind call(void) {
    static char large[10000];
    static const informer_pair headers[] = {{"x-mood", "calm"}, {"Content-Length", "1"}};
    const char *url;
    informer_answer answer;
    informer_kind kind;
    if ((kind = informer_config("url", &url))) {
        return kind;
    }
    informer_request request = {.url = informer_format("%s/hook", url), .header_count = 2, .headers = headers, .body = "späti"};
    request.length = strlen(request.body);
    if ((kind = informer_send(request, &answer))) {
        return kind;
    }
    const char *heard = informer_header(&answer, "X-Heard");
    informer_log(INFORMER_INFO, "http: %d %s, %s", answer.status, heard ? heard : "none", answer.body);
    memset(large, 'x', sizeof large);
    request.body = large;
    request.length = sizeof large;
    if ((kind = informer_send(request, &answer))) {
        return kind;
    }
    informer_log(INFORMER_INFO, "http: %zu bytes", answer.length - strlen("POST "));
    request.url = informer_format("%s/other", url);
    informer_log(INFORMER_INFO, "denied: %s", informer_word(informer_send(request, &answer)));
    return INFORMER_OK;
}

static informer_kind keep(void) {
    static const char kept[] = "{\"text\":\"sp\\u00e4ti \\ud83e\\udd80\"}";
    const char *value;
    size_t length;
    uint64_t sum;
    int keys = 0;
    informer_kind kind;
    if ((kind = informer_store("story", "ключ", kept, strlen(kept))) || (kind = informer_load("story", "ключ", &value, &length)) ||
        (kind = informer_increment("story", "n", 2, &sum))) {
        return kind;
    }
    informer_list list = informer_keys_of("story");
    while (informer_next_key(&list)) {
        keys++;
    }
    informer_log(INFORMER_INFO, "kept: %s, %d, %d keys", informer_text(informer_json_at(value, "/text"), ""), (int)sum, keys);
    return list.kind;
}

static informer_kind apply(void) {
    const char *answer;
    informer_kind kind = informer_apply(DEPLOYMENTS, WEB,
                                        "{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"metadata\":{\"namespace\":\"default\","
                                        "\"name\":\"web\",\"annotations\":{\"example.com/applied\":\"yes\"}}}",
                                        (informer_write){0}, &answer);
    if (!kind) {
        const char *applied = informer_text(informer_json_at(answer, "/metadata/annotations/example.com~1applied"), "no");
        informer_log(INFORMER_INFO, "applied: %s", applied);
    }
    return kind;
}

static informer_result tell(const informer_object *object) {
    const char *json;
    informer_kind kind = list();
    if (kind) {
        return informer_refused(kind);
    }
    informer_log(INFORMER_INFO, "refused: %s", informer_word(informer_cached("v1/secrets", SECRET, &json)));
    kind = informer_get(DEPLOYMENTS, (informer_key){"default", "none"}, &json);
    informer_log(INFORMER_INFO, "missing: %s %d", informer_word(kind), informer_status());
    if ((kind = call()) || (kind = modify()) || (kind = keep()) ||
        (kind = informer_record(DEPLOYMENTS, object->meta.key, false, "Told", "Telling", "the story")) || (kind = apply())) {
        return informer_refused(kind);
    }
    return informer_done();
}

informer_result informer_on_add(const informer_object *object) {
    const char *name = object->meta.key.name, *json;
    if (!strcmp(name, "go")) {
        return tell(object);
    }
    if (!strcmp(name, "later")) {
        if (informer_attempt() == 1) {
            return informer_retry_after(5, "soon");
        }
        informer_log(INFORMER_INFO, "later: attempt %u", (unsigned)informer_attempt());
    }
    if (!strcmp(name, "bad")) {
        return informer_terminal("boom: %s has %zu labels", name, object->meta.label_count);
    }
    if (!strcmp(name, "uncaught")) {
        return informer_refused(informer_cached("v1/secrets", SECRET, &json));
    }
    if (!strcmp(name, "again")) {
        informer_kind kind = informer_call_again(5);
        return kind ? informer_refused(kind) : informer_done();
    }
    return informer_done();
}

informer_result informer_on_update(const informer_object *old, const informer_object *object) {
    static const char *const applied[] = {"/metadata/annotations/example.com~1applied"}, *const annotations[] = {"/metadata/annotations"};
    informer_value value;
    bool differs;
    if (!strcmp(object->meta.key.name, "again")) {
        informer_log(INFORMER_INFO, "again: %s", informer_cause_word(object->cause));
    }
    informer_kind kind = informer_fields(object, 1, applied, &value);
    if (kind || (kind = informer_changed(old, object, 1, annotations, &differs))) {
        return informer_refused(kind);
    }
    if (!strcmp(informer_text(value, ""), "yes")) {
        informer_log(INFORMER_INFO, "own write: %s, differs: %s", informer_wrote(&object->meta) ? "true" : "false",
                     differs ? "true" : "false");
    }
    return informer_done();
}

static const char *word(bool truth) { return truth ? "true" : "false"; }

informer_result informer_on_synced(const informer_synced *synced) {
    char values[256] = "";
    informer_cache cache;
    informer_kind kind;
    // The plugin with the signals has one object.
    if (synced->count != 1) {
        return informer_done();
    }
    if ((kind = informer_state(synced->gvr, &cache))) {
        return informer_refused(kind);
    }
    bool fresh = *cache.resource_version && cache.age_ms >= 0 && cache.age_ms < 60000;
    informer_log(INFORMER_INFO, "synced: %s, version: %s, cache: %s %s", synced->gvr, word(*synced->resource_version), word(cache.synced),
                 word(fresh));
    informer_list list = informer_index_values_of(synced->gvr, "app", NULL);
    list.selector.page_size = 2;
    for (const informer_index_value *found; (found = informer_next_index_value(&list));) {
        size_t used = strlen(values);
        snprintf(values + used, sizeof values - used, "%s%s %u", used ? ", " : "", found->value, (unsigned)found->objects);
    }
    if (list.kind) {
        return informer_refused(list.kind);
    }
    informer_log(INFORMER_INFO, "values: %s", values);
    kind = informer_timer("never", 50);
    informer_cancel_timer("never");
    if (kind || (kind = informer_timer("soon", 5)) || (kind = informer_timer("bad", 5))) {
        return informer_refused(kind);
    }
    informer_log(INFORMER_INFO, "taken: %s", informer_word(informer_timer("tick", 5)));
    return informer_done();
}

informer_result informer_on_timer(const char *name) {
    if (!strcmp(name, "bad")) {
        return informer_terminal("boom: %s has no object", name);
    }
    if (!strcmp(name, "soon") && informer_attempt() == 1) {
        return informer_retry("not yet");
    }
    informer_log(INFORMER_INFO, "timer: %s, again: %s", name, informer_word(informer_call_again(5)));
    return informer_done();
}

informer_result informer_on_config(const char *config) {
    const char *greeting = informer_text(informer_json_at(config, "/greeting"), "");
    informer_log(INFORMER_INFO, "config: %s %s", greeting, informer_text(informer_json_at(config, "/mood"), ""));
    return informer_done();
}
