// Tests of memory.c. The program ends with the status 0 if all of them pass; otherwise it prints what is wrong:
//
//     cc -std=c11 -D_DEFAULT_SOURCE -I test -I . errors.c test/memory.c -o memory && ./memory

// `__export_name__` has a meaning for WebAssembly only.
#pragma GCC diagnostic ignored "-Wattributes"
#include "../memory.c"

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

void informer_log_fields(informer_level level, const char *message, size_t count, const informer_pair fields[]) {
    (void)level, (void)message, (void)count, (void)fields;
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

int main(void) {
    a_failure_of_an_earlier_call_does_not_show_what_stands_in_its_memory_now();
    return wrong ? 1 : 0;
}
