// Tests of memory.c and reads.c. The program ends with the status 0 if all of them pass; otherwise it prints what is wrong:
//
//     cc -std=c11 -D_DEFAULT_SOURCE -I test -I . errors.c test/memory.c -o memory && ./memory

// `__export_name__` has a meaning for WebAssembly only.
#pragma GCC diagnostic ignored "-Wattributes"
#include "../json.c"
#include "../memory.c"
#include "../reads.c"

static int wrong;

static void check(bool passed, const char *what) {
    if (!passed) {
        printf("%s\n", what);
        wrong++;
    }
}

// === What the other files of the SDK and the generated code have ===

void plugin_string_dup(plugin_string_t *copy, const char *text) { *copy = informer_wire(text); }

bool informer_plugin_log_enabled(informer_plugin_log_level_t level) {
    (void)level;
    return false;
}

// The values of the index. A page has one of them. The second value has a zero byte.
static informer_plugin_lister_index_value_t values[] = {
    {{(uint8_t *)"a", 1}, 1},
    {{(uint8_t *)"a\0b", 3}, 2},
    {{(uint8_t *)"c", 1}, 3},
};
static size_t pages;

static int compared(plugin_string_t left, plugin_string_t right) {
    int order = memcmp(left.ptr, right.ptr, left.len < right.len ? left.len : right.len);
    return order ? order : (left.len > right.len) - (left.len < right.len);
}

bool informer_plugin_lister_index_values(plugin_string_t *gvr, plugin_string_t *index, plugin_string_t *namespace_, plugin_string_t *after,
                                         uint32_t limit, informer_plugin_lister_list_index_value_t *page,
                                         informer_plugin_lister_error_t *error) {
    (void)gvr, (void)index, (void)namespace_, (void)limit, (void)error;
    pages++;
    *page = (informer_plugin_lister_list_index_value_t){0};
    for (size_t i = 0; i < sizeof values / sizeof *values && !page->len; i++) {
        if (!after || compared(values[i].value, *after) > 0) {
            *page = (informer_plugin_lister_list_index_value_t){&values[i], 1};
        }
    }
    return true;
}

// What the host answers for the state of the cache.
static informer_plugin_lister_cache_state_t cache;

bool informer_plugin_lister_state(plugin_string_t *gvr, informer_plugin_lister_cache_state_t *state,
                                  informer_plugin_lister_error_t *error) {
    (void)gvr, (void)error;
    *state = cache;
    return true;
}

// === The tests ===

static void a_failure_of_an_earlier_call_does_not_show_what_stands_in_its_memory_now(void) {
    informer_collecting = false;
    informer_result result = informer_refused(informer_failed(INFORMER_GONE, informer_format("%s", "the page is too old"), 410));
    check(!strcmp(result.message, "gone: the page is too old") && informer_status() == 410, "the failure of this call");
    informer_end_call();

    // The next call has the same memory.
    informer_collecting = false;
    informer_format("%s", "the value of another object");
    result = informer_refused(INFORMER_INVALID);
    check(!strcmp(result.message, "invalid") && informer_status() == 0, "the host has refused nothing in this call");
    informer_end_call();
}

static bool is(const char *text, const char *expected) {
    return !strcmp(informer_utf8(text), expected);
}

static void a_text_for_people_is_utf_8(void) {
    informer_collecting = false;
    const char *whole = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80";
    check(informer_utf8(whole) == whole && !informer_utf8(NULL), "a text of characters stays");
    check(is("cut \xe2\x82", "cut \xef\xbf\xbd\xef\xbf\xbd") && is("\xff" "a", "\xef\xbf\xbd" "a"), "a character that was cut");
    check(is("\xc0\x80", "\xef\xbf\xbd\xef\xbf\xbd") && is("\xe0\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd") &&
              is("\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd") && is("\xf5", "\xef\xbf\xbd"),
          "a long form, half a surrogate pair, and a number above those of Unicode");
    check(!strcmp(informer_json_string("\xff\""), "\"\xef\xbf\xbd\\\"\""), "a JSON string");

    plugin_string_t failure = informer_kept("bad \xff");
    check(!strcmp((char *)failure.ptr, "bad \xef\xbf\xbd"), "the text of a failure");
    plugin_list_tuple2_string_string_t fields = informer_wire_pairs(1, &(informer_pair){"a\xff", "\xff" "b"});
    check(!strcmp((char *)fields.ptr[0].f0.ptr, "a\xef\xbf\xbd") && !strcmp((char *)fields.ptr[0].f1.ptr, "\xef\xbf\xbd" "b"),
          "the fields of a line");
    informer_end_call();
}

static void a_key_that_is_not_utf_8_is_refused(void) {
    informer_collecting = false;
    plugin_string_t wire;
    check(informer_wire_key("the key", "shop/web", &wire) == INFORMER_OK && wire.len == 8, "a key of UTF-8");
    check(informer_wire_key("the key", "a\xff", &wire) == INFORMER_INVALID &&
              !strcmp(informer_message(), "the key \"a\xef\xbf\xbd\" is not UTF-8: use informer_utf8"),
          "a key of other bytes");
    informer_end_call();
}

static void the_values_of_an_index_end_also_if_one_has_a_zero_byte(void) {
    informer_collecting = false;
    informer_list list = informer_index_values_of("v1/configmaps", "by-size", NULL);
    unsigned objects = 0, count = 0;
    for (const informer_index_value *value; count < 10 && (value = informer_next_index_value(&list)); count++) {
        objects += value->objects;
    }
    check(count == 3 && objects == 6 && pages == 4, "each value once, and the empty page behind the last one");
    informer_end_call();
}

static void a_cache_without_a_list_has_no_age(void) {
    informer_collecting = false;
    informer_cache state;
    check(informer_state("v1/configmaps", &state) == INFORMER_OK && !state.synced && state.age_ms == -1, "no list yet");
    cache.age_ms.is_some = true;
    cache.age_ms.val = UINT32_MAX;
    check(informer_state("v1/configmaps", &state) == INFORMER_OK && state.age_ms == UINT32_MAX, "the longest age");
    informer_end_call();
}

int main(void) {
    the_values_of_an_index_end_also_if_one_has_a_zero_byte();
    a_cache_without_a_list_has_no_age();
    a_text_for_people_is_utf_8();
    a_key_that_is_not_utf_8_is_refused();
    a_failure_of_an_earlier_call_does_not_show_what_stands_in_its_memory_now();
    return wrong ? 1 : 0;
}
