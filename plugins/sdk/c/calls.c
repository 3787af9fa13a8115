// The exports of the plugin. `informer build` writes world.h, which lists the exports of its world.
#include "internal.h"
#include "world.h"

#define SDK "informer-sdk-c 0.1.0"

// A plugin that does not define one of these gets it from here.
#define DEFAULT __attribute__((__weak__))

DEFAULT const char *const informer_name = "plugin";
DEFAULT const char *const informer_version = "0.1.0";

DEFAULT const char *informer_start(const char *config) {
    (void)config;
    return NULL;
}

DEFAULT void informer_stop(void) {}

void exports_informer_plugin_plugin_describe(exports_informer_plugin_plugin_info_t *info) {
    informer_collecting = false;
    *info = (exports_informer_plugin_plugin_info_t){informer_kept(informer_name), informer_kept(informer_version), informer_kept(SDK)};
    informer_end_call();
}

bool exports_informer_plugin_plugin_start(plugin_string_t *config, plugin_string_t *why) {
    informer_collecting = false;
    const char *refused = informer_start(informer_given(*config));
    if (refused) {
        *why = informer_kept(refused);
    }
    informer_end_call();
    return !refused;
}

void exports_informer_plugin_plugin_stop(void) {
    informer_collecting = false;
    informer_stop();
    informer_end_call();
}

// Writes the failure of a result. Returns true if it is a success, as is a result that has no meaning here.
__attribute__((__unused__)) static bool succeeded(informer_result result, informer_plugin_types_failure_t *failure) {
    switch (result.what) {
    case INFORMER_RESULT_RETRY:
        failure->tag = INFORMER_PLUGIN_TYPES_FAILURE_RETRY;
        failure->val.retry = informer_kept(result.message);
        break;
    case INFORMER_RESULT_RETRY_AFTER:
        failure->tag = INFORMER_PLUGIN_TYPES_FAILURE_RETRY_AFTER;
        failure->val.retry_after.f0 = informer_kept(result.message);
        failure->val.retry_after.f1 = result.millis;
        break;
    case INFORMER_RESULT_TERMINAL:
        failure->tag = INFORMER_PLUGIN_TYPES_FAILURE_PERMANENT;
        failure->val.permanent = informer_kept(result.message);
        break;
    default:
        return true;
    }
    return false;
}

// Ends the call with its answer.
__attribute__((__unused__)) static bool answered(informer_result result, informer_plugin_types_failure_t *failure) {
    bool done = succeeded(result, failure);
    informer_end_call();
    return done;
}

#ifdef INFORMER_WORLD_HANDLER

DEFAULT informer_result informer_on_add(const informer_object *object) {
    (void)object;
    return informer_done();
}

DEFAULT informer_result informer_on_update(const informer_object *old, const informer_object *object) {
    (void)old, (void)object;
    return informer_done();
}

DEFAULT informer_result informer_on_delete(const informer_object *object) {
    (void)object;
    return informer_done();
}

static informer_object object_of(exports_informer_plugin_handler_event_object_t *from, informer_cause cause) {
    return (informer_object){
        .gvr = informer_given(from->gvr),
        .meta = informer_meta_of(&from->meta),
        .cause = cause,
        .token = from->id,
    };
}

bool exports_informer_plugin_handler_on_add(exports_informer_plugin_handler_event_object_t *added,
                                            exports_informer_plugin_handler_cause_t cause,
                                            exports_informer_plugin_handler_failure_t *failure) {
    informer_collecting = false;
    informer_object object = object_of(added, (informer_cause)cause);
    return answered(informer_on_add(&object), failure);
}

bool exports_informer_plugin_handler_on_update(uint32_t before, exports_informer_plugin_handler_event_object_t *updated,
                                               exports_informer_plugin_handler_cause_t cause,
                                               exports_informer_plugin_handler_failure_t *failure) {
    informer_collecting = false;
    informer_object object = object_of(updated, (informer_cause)cause);
    informer_plugin_types_object_meta_t meta;
    informer_plugin_types_error_t refused;
    if (!HOST(informer_plugin_objects_meta(before, &meta, &refused))) {
        return answered(informer_refused(informer_refusal(&refused)), failure);
    }
    informer_object old = {.gvr = object.gvr, .meta = informer_meta_of(&meta), .cause = object.cause, .token = before};
    return answered(informer_on_update(&old, &object), failure);
}

bool exports_informer_plugin_handler_on_delete(exports_informer_plugin_handler_event_object_t *deleted, bool final_state_known,
                                               exports_informer_plugin_handler_failure_t *failure) {
    informer_collecting = false;
    informer_object object = object_of(deleted, INFORMER_LIVE);
    object.final_state_unknown = !final_state_known;
    return answered(informer_on_delete(&object), failure);
}

#endif

#ifdef INFORMER_WORLD_BATCH_HANDLER

#include <stdlib.h>

DEFAULT void informer_on_batch(size_t count, const informer_notification notifications[], informer_result outcomes[]) {
    (void)count, (void)notifications, (void)outcomes;
}

// Returns false if the host refuses the state before an update.
static bool notification_of(exports_informer_plugin_batch_handler_notification_t *from, informer_notification *notification) {
    *notification = (informer_notification){
        .verb = (informer_verb)from->verb,
        .object = {
            .gvr = informer_given(from->gvr),
            .meta = informer_meta_of(&from->meta),
            .cause = (informer_cause)from->cause,
            .final_state_unknown = !from->final_state_known,
            .token = from->id,
        },
        .attempt = from->attempt,
    };
    informer_plugin_types_object_meta_t meta;
    informer_plugin_types_error_t refused;
    if (!from->old.is_some) {
        return true;
    }
    if (!HOST(informer_plugin_objects_meta(from->old.val, &meta, &refused))) {
        return false;
    }
    informer_object *old = informer_allocate(sizeof *old);
    *old = notification->object;
    old->meta = informer_meta_of(&meta);
    old->token = from->old.val;
    notification->old = old;
    return true;
}

void exports_informer_plugin_batch_handler_on_batch(exports_informer_plugin_batch_handler_list_notification_t *given,
                                                    exports_informer_plugin_batch_handler_list_outcome_t *answer) {
    informer_collecting = false;
    size_t count = given->len;
    informer_notification *notifications = informer_allocate(count * sizeof *notifications);
    informer_result *outcomes = informer_allocate(count * sizeof *outcomes);
    for (size_t i = 0; i < count; i++) {
        if (!notification_of(&given->ptr[i], &notifications[i])) {
            // Without outcomes, the host delivers each notification alone.
            *answer = (exports_informer_plugin_batch_handler_list_outcome_t){0};
            informer_end_call();
            return;
        }
        outcomes[i] = informer_done();
    }
    informer_on_batch(count, notifications, outcomes);
    // The generated code frees it after the call.
    answer->len = count;
    answer->ptr = malloc(count * sizeof *answer->ptr);
    if (count && !answer->ptr) {
        abort();
    }
    for (size_t i = 0; i < count; i++) {
        exports_informer_plugin_batch_handler_outcome_t *outcome = &answer->ptr[i];
        if (outcomes[i].what == INFORMER_RESULT_AGAIN) {
            outcome->tag = EXPORTS_INFORMER_PLUGIN_BATCH_HANDLER_OUTCOME_AGAIN;
            outcome->val.again = outcomes[i].millis;
        } else if (succeeded(outcomes[i], &outcome->val.failed)) {
            outcome->tag = EXPORTS_INFORMER_PLUGIN_BATCH_HANDLER_OUTCOME_HANDLED;
        } else {
            outcome->tag = EXPORTS_INFORMER_PLUGIN_BATCH_HANDLER_OUTCOME_FAILED;
        }
    }
    informer_end_call();
}

#endif

#ifdef INFORMER_WORLD_RECONCILER

bool exports_informer_plugin_reconciler_reconcile(plugin_string_t *key, exports_informer_plugin_reconciler_outcome_t *outcome,
                                                  exports_informer_plugin_reconciler_reconcile_error_t *failure) {
    informer_collecting = false;
    const char *text = informer_given(*key);
    informer_result result = informer_reconcile(text);
    bool done = true;
    outcome->tag = EXPORTS_INFORMER_PLUGIN_RECONCILER_OUTCOME_DONE;
    switch (result.what) {
    case INFORMER_RESULT_RETRY:
        done = false;
        failure->tag = EXPORTS_INFORMER_PLUGIN_RECONCILER_RECONCILE_ERROR_RETRY;
        failure->val.retry = informer_kept(result.message);
        break;
    case INFORMER_RESULT_TERMINAL:
        done = false;
        failure->tag = EXPORTS_INFORMER_PLUGIN_RECONCILER_RECONCILE_ERROR_TERMINAL;
        failure->val.terminal = informer_kept(result.message);
        break;
    case INFORMER_RESULT_REQUEUE:
        outcome->tag = EXPORTS_INFORMER_PLUGIN_RECONCILER_OUTCOME_REQUEUE;
        break;
    case INFORMER_RESULT_RETRY_AFTER:
        // The interface has no failure with a delay.
        informer_log_fields(INFORMER_WARN, result.message, 1, &(informer_pair){"key", text});
        // fall through
    case INFORMER_RESULT_REQUEUE_AFTER:
        outcome->tag = EXPORTS_INFORMER_PLUGIN_RECONCILER_OUTCOME_REQUEUE_AFTER;
        outcome->val.requeue_after = result.millis;
        break;
    default:
        break;
    }
    informer_end_call();
    return done;
}

#endif

#ifdef INFORMER_WORLD_SYNC_HANDLER

DEFAULT informer_result informer_on_synced(const informer_synced *synced) {
    (void)synced;
    return informer_done();
}

bool exports_informer_plugin_sync_handler_on_synced(plugin_string_t *gvr, uint32_t count, plugin_string_t *resource_version,
                                                    exports_informer_plugin_sync_handler_failure_t *failure) {
    informer_collecting = false;
    informer_synced synced = {informer_given(*gvr), count, informer_given(*resource_version)};
    return answered(informer_on_synced(&synced), failure);
}

#endif

#ifdef INFORMER_WORLD_TIMER_HANDLER

DEFAULT informer_result informer_on_timer(const char *name) {
    (void)name;
    return informer_done();
}

bool exports_informer_plugin_timer_handler_on_timer(plugin_string_t *name, exports_informer_plugin_timer_handler_failure_t *failure) {
    informer_collecting = false;
    return answered(informer_on_timer(informer_given(*name)), failure);
}

#endif

#ifdef INFORMER_WORLD_CONFIG_HANDLER

DEFAULT informer_result informer_on_config(const char *config) {
    (void)config;
    return informer_done();
}

bool exports_informer_plugin_config_handler_on_config(plugin_string_t *config, exports_informer_plugin_config_handler_failure_t *failure) {
    informer_collecting = false;
    return answered(informer_on_config(informer_given(*config)), failure);
}

#endif
