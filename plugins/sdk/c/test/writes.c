// Tests of writes.c against an API server in memory with one object. The program ends with the status 0 if all of them pass; otherwise it
// prints what is wrong:
//
//     cc -std=c11 -D_DEFAULT_SOURCE -I test -I . json.c errors.c writes.c test/writes.c -o writes && ./writes
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

#define CONFLICT 9
#define MISSING 7
#define INVALID 4

static const informer_key KEY = {"shop", "web"};

// The object of the server: its version, and its finalizers as JSON.
static int version;
static const char *finalizers;
// The UID of the object, and the member of its metadata that a deleted object has, or "".
static const char *uid = "u1", *deletion = "";
// The version after the next read, if another client writes then, and the finalizers that it writes.
static const char *meanwhile;
// What the server answers to the next patches, and the number of patches.
static int refusals, code, patches;
// The server changes nothing, and so answers with the version that it has.
static bool unchanged;
// The object is gone.
static bool gone;
static int wrong;

static void check(bool passed, const char *what) {
    if (!passed) {
        printf("%s\n", what);
        wrong++;
    }
}

// === What the other files of the SDK have ===

bool informer_collecting;

void *informer_allocate(size_t size) {
    void *memory = malloc(size + 1);
    return memory ? memory : (abort(), NULL);
}

const char *informer_format(const char *format, ...) {
    char *text = informer_allocate(4096);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, 4096, format, arguments);
    va_end(arguments);
    return text;
}

const char *informer_given(plugin_string_t text) { return text.len ? (const char *)text.ptr : ""; }

plugin_string_t informer_wire(const char *text) { return (plugin_string_t){(uint8_t *)text, text ? strlen(text) : 0}; }

informer_result informer_done(void) { return (informer_result){.what = INFORMER_RESULT_DONE}; }

informer_result informer_refused(informer_kind kind) {
    return (informer_result){.what = INFORMER_RESULT_RETRY, .message = informer_word(kind)};
}

informer_list informer_list_of(const char *gvr, informer_selector selector) {
    return (informer_list){.gvr = gvr, .selector = selector};
}

informer_kind informer_fields(const informer_object *object, size_t count, const char *const pointers[], informer_value values[]) {
    (void)object, (void)count, (void)pointers, (void)values;
    return INFORMER_INTERNAL;
}

// === The server ===

static plugin_string_t object_now(void) {
    const char *text = "{\"metadata\": {\"name\": \"web\", \"uid\": \"%s\", %s\"resourceVersion\": \"%d\", \"finalizers\": %s}}";
    return informer_wire(informer_format(text, uid, deletion, version, finalizers));
}

static bool refused(informer_plugin_client_api_error_t *error, uint8_t why, const char *message) {
    *error = (informer_plugin_client_api_error_t){.code = why, .message = informer_wire(message), .status = why == INVALID ? 422 : 409};
    return false;
}

bool informer_plugin_client_get(plugin_string_t *gvr, informer_plugin_types_object_key_t *key, plugin_string_t *subresource,
                                plugin_string_t *object, informer_plugin_client_api_error_t *error) {
    (void)gvr, (void)key, (void)subresource;
    if (gone) {
        return refused(error, MISSING, "there is no such object");
    }
    *object = object_now();
    if (meanwhile) {
        version++;
        finalizers = meanwhile;
        meanwhile = NULL;
    }
    return true;
}

static bool answer(plugin_string_t *object) {
    version += !unchanged;
    *object = object_now();
    return true;
}

bool informer_plugin_client_create(plugin_string_t *gvr, plugin_string_t *namespace_, plugin_string_t *body,
                                   informer_plugin_client_write_options_t *options, plugin_string_t *object,
                                   informer_plugin_client_api_error_t *error) {
    (void)gvr, (void)namespace_, (void)body, (void)options, (void)error;
    return answer(object);
}

bool informer_plugin_client_update(plugin_string_t *gvr, informer_plugin_types_object_key_t *key, plugin_string_t *body,
                                   informer_plugin_client_write_options_t *options, plugin_string_t *object,
                                   informer_plugin_client_api_error_t *error) {
    (void)gvr, (void)key, (void)body, (void)options, (void)error;
    return answer(object);
}

// As a server does: it applies a patch first, and compares the version afterwards.
bool informer_plugin_client_patch(plugin_string_t *gvr, informer_plugin_types_object_key_t *key, informer_plugin_client_patch_kind_t kind,
                                  plugin_string_t *body, informer_plugin_client_write_options_t *options, plugin_string_t *object,
                                  informer_plugin_client_api_error_t *error) {
    (void)gvr, (void)key, (void)options;
    patches++;
    if (refusals > 0) {
        refusals--;
        return refused(error, (uint8_t)code, "refused");
    }
    if (kind != INFORMER_PLUGIN_CLIENT_PATCH_KIND_JSON_PATCH) {
        return answer(object);
    }
    const char *patch = informer_given(*body), *path = informer_text(informer_json_at(patch, "/1/path"), "");
    bool removes = !strcmp(informer_text(informer_json_at(patch, "/1/op"), ""), "remove");
    if (removes && !informer_json_at(finalizers, path + strlen("/metadata/finalizers")).json) {
        return refused(error, INVALID, "the patch does not fit");
    }
    const char *read = informer_text(informer_json_at(patch, "/0/value"), "");
    if (atoi(read) != version) {
        return refused(error, CONFLICT, "the object has been modified");
    }
    if (removes) {
        finalizers = "[]";
    }
    return answer(object);
}

bool informer_plugin_client_list_objects(plugin_string_t *gvr, informer_plugin_client_list_options_t *options,
                                         informer_plugin_client_object_page_t *page, informer_plugin_client_api_error_t *error) {
    (void)gvr, (void)options, (void)page, (void)error;
    return false;
}

bool informer_plugin_client_delete_object(plugin_string_t *gvr, informer_plugin_types_object_key_t *key,
                                          informer_plugin_client_delete_options_t *options, informer_plugin_client_api_error_t *error) {
    (void)gvr, (void)key, (void)options, (void)error;
    return true;
}

bool informer_plugin_client_record_event(informer_plugin_client_object_event_t *event, informer_plugin_client_api_error_t *error) {
    (void)event, (void)error;
    return true;
}

// === The tests ===

static void begin(int first, const char *has) {
    version = first;
    finalizers = has;
    meanwhile = NULL;
    refusals = patches = 0;
    unchanged = gone = false;
    uid = "u1";
    deletion = "";
}

static bool wrote(int of) {
    const char *text = informer_format("%d", of);
    return informer_wrote(&(informer_meta){.uid = "u1", .resource_version = text});
}

static const char *operation(const informer_value values[], void *context) {
    (void)values;
    return context;
}

static void a_write_that_changes_nothing_does_not_make_the_version_of_another_client_an_own_one(void) {
    char *test = "{\"op\":\"test\",\"path\":\"/kind\"}";
    begin(100, "[]");
    const char *same = informer_given(object_now());
    unchanged = true;

    informer_update("v1/pods", KEY, same, (informer_write){0}, NULL);
    informer_merge_patch("v1/pods", KEY, same, (informer_write){0}, NULL);
    informer_apply("v1/pods", KEY, same, (informer_write){0}, NULL);
    const char *compared = "[{\"op\":\"test\",\"path\":\"/metadata/resourceVersion\",\"value\":\"100\"},"
                           "{\"op\":\"test\",\"path\":\"/kind\"}]";
    informer_json_patch("v1/pods", KEY, compared, (informer_write){0}, NULL);
    check(!wrote(100), "the request had the version of another client");
    informer_modify("v1/pods", KEY, 0, NULL, operation, test, NULL);
    check(patches == 4 && !wrote(100), "informer_modify read the version of another client");

    informer_merge_patch("v1/pods", KEY, "{}", (informer_write){0}, NULL);
    check(wrote(100), "the version before the write is not known");
}

static void a_write_that_changes_something_is_an_own_one_unless_it_is_a_dry_run(void) {
    begin(200, "[]");
    informer_update("v1/pods", KEY, informer_given(object_now()), (informer_write){.dry_run = true}, NULL);
    check(!wrote(201), "a dry run makes no version");
    informer_update("v1/pods", KEY, informer_given(object_now()), (informer_write){0}, NULL);
    check(wrote(202) && !wrote(201), "an update has been made");
    informer_create("v1/pods", "shop", "{}", (informer_write){0}, NULL);
    check(wrote(203), "an object has been created");
    informer_modify("v1/pods", KEY, 0, NULL, operation, "{\"op\":\"add\",\"path\":\"/a\",\"value\":1}", NULL);
    check(wrote(204), "an object has been modified");
    check(!informer_wrote(&(informer_meta){.uid = "u2", .resource_version = "204"}), "another object has the version");
}

static void a_patch_that_does_not_fit_what_another_client_wrote_is_made_again(void) {
    begin(300, "[\"a\",\"b\",\"mine\"]");
    meanwhile = "[\"mine\"]";
    informer_kind kind = informer_remove_finalizer("v1/pods", KEY, "mine");
    check(kind == INFORMER_OK && patches == 2, "the finalizer is at another position now");

    begin(400, "[\"a\"]");
    meanwhile = "[\"a\",\"b\"]";
    kind = informer_remove_finalizer("v1/pods", KEY, "a");
    check(kind == INFORMER_OK && patches == 2, "the object has another version now");
}

static void a_patch_that_is_invalid_itself_is_refused_at_once_and_a_conflict_that_stays_at_the_fifth_attempt(void) {
    begin(500, "[]");
    code = INVALID;
    refusals = 9;
    informer_kind kind = informer_modify("v1/pods", KEY, 0, NULL, operation, "{}", NULL);
    check(kind == INFORMER_INVALID && patches == 1, "the patch is invalid, whatever the version is");
    check(informer_status() == 422 && !strcmp(informer_message(), "refused"), "the failure is that of the patch");

    begin(600, "[]");
    code = CONFLICT;
    refusals = 9;
    kind = informer_modify("v1/pods", KEY, 0, NULL, operation, "{}", NULL);
    check(kind == INFORMER_CONFLICT && patches == 5, "there are five attempts");
}

static void a_change_without_operations_is_not_sent(void) {
    char *none[] = {NULL, ""};
    for (int i = 0; i < 2; i++) {
        begin(700, "[]");
        const char *answer = NULL;
        informer_kind kind = informer_modify("v1/pods", KEY, 0, NULL, operation, none[i], &answer);
        check(kind == INFORMER_OK && patches == 0 && answer, "nothing changes");
    }
}

static int cleaned;

static informer_result clean_up(const char *json, void *failure) {
    cleaned++;
    check(informer_json_at(json, "/metadata/deletionTimestamp").json != NULL, "only a deleted object is cleaned up");
    return failure ? (informer_result){.what = INFORMER_RESULT_RETRY, .message = failure} : informer_done();
}

// Returns `lives`. `fails` is why the clean-up fails, or NULL.
static bool finalized(const char *json, void *fails, int what) {
    bool lives = true;
    cleaned = 0;
    informer_result result = informer_finalize("v1/pods", json, "b", clean_up, fails, &lives);
    check(result.what == what, "the result of informer_finalize is another one");
    return lives;
}

static const char DELETED[] = "\"deletionTimestamp\": \"2026-01-01T00:00:00Z\", ";

static void a_living_object_gets_the_finalizer_once(void) {
    begin(700, "[]");
    check(finalized(informer_given(object_now()), NULL, INFORMER_RESULT_DONE) && patches == 1 && !cleaned, "it gets the finalizer");
    begin(710, "[\"a\",\"b\"]");
    check(finalized(informer_given(object_now()), NULL, INFORMER_RESULT_DONE) && patches == 0, "it has the finalizer");
}

static void a_deleted_object_loses_the_finalizer_after_the_clean_up(void) {
    begin(720, "[\"a\",\"b\"]");
    deletion = DELETED;
    const char *json = informer_given(object_now());
    check(!finalized(json, "not yet", INFORMER_RESULT_RETRY) && cleaned == 1 && patches == 0, "the finalizer stays");
    check(!finalized(json, NULL, INFORMER_RESULT_DONE) && cleaned == 1 && patches == 1, "it loses the finalizer");
    begin(730, "[\"a\"]");
    deletion = DELETED;
    check(!finalized(informer_given(object_now()), NULL, INFORMER_RESULT_DONE) && !cleaned && patches == 0, "it is cleaned up once");
}

static void a_new_object_of_the_same_name_keeps_its_finalizers_and_one_that_is_gone_is_no_failure(void) {
    begin(740, "[\"b\"]");
    deletion = DELETED;
    const char *json = informer_given(object_now());
    deletion = "";
    uid = "u2";
    check(!finalized(json, NULL, INFORMER_RESULT_DONE) && cleaned == 1 && patches == 0, "the new object keeps its finalizer");
    gone = true;
    check(!finalized(json, NULL, INFORMER_RESULT_DONE) && cleaned == 1, "an object that is gone has no finalizer");
}

static void an_object_that_was_deleted_meanwhile_gets_no_finalizer_and_does_not_live(void) {
    begin(750, "[\"a\"]");
    const char *json = informer_given(object_now());
    deletion = DELETED;
    check(!finalized(json, NULL, INFORMER_RESULT_DONE) && !cleaned && patches == 0, "the finalizer comes too late");
    gone = true;
    check(!finalized(json, NULL, INFORMER_RESULT_RETRY) && !cleaned, "an object that is gone gets no finalizer");
}

int main(void) {
    a_living_object_gets_the_finalizer_once();
    a_deleted_object_loses_the_finalizer_after_the_clean_up();
    a_new_object_of_the_same_name_keeps_its_finalizers_and_one_that_is_gone_is_no_failure();
    an_object_that_was_deleted_meanwhile_gets_no_finalizer_and_does_not_live();
    a_write_that_changes_nothing_does_not_make_the_version_of_another_client_an_own_one();
    a_write_that_changes_something_is_an_own_one_unless_it_is_a_dry_run();
    a_patch_that_does_not_fit_what_another_client_wrote_is_made_again();
    a_patch_that_is_invalid_itself_is_refused_at_once_and_a_conflict_that_stays_at_the_fifth_attempt();
    a_change_without_operations_is_not_sent();
    return wrong ? 1 : 0;
}
