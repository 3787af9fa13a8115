// The memory of a call: chunks that are freed together.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

#define CHUNK 65536

typedef struct chunk {
    struct chunk *before;
    size_t used, size;
    max_align_t data[];
} chunk;

static chunk *chunks;

// False while the constructors run, so memory that the adapter of WASI allocates during that time stays allocated.
bool informer_collecting = false;

__attribute__((__constructor__)) static void begin(void) { informer_collecting = true; }

void *informer_allocate(size_t size) {
    size = (size + sizeof(max_align_t) - 1) / sizeof(max_align_t) * sizeof(max_align_t);
    if (!chunks || chunks->size - chunks->used < size) {
        size_t wanted = size > CHUNK ? size : CHUNK;
        chunk *made = malloc(sizeof(chunk) + wanted);
        if (!made) {
            abort();
        }
        *made = (chunk){.before = chunks, .size = wanted};
        chunks = made;
    }
    void *memory = (char *)chunks->data + chunks->used;
    chunks->used += size;
    return memory;
}

void informer_end_call(void) {
    // Text in the buffer of stdout becomes lines of this call.
    fflush(stdout);
    // The sentence of the last failure is in the memory of this call.
    informer_failed(INFORMER_OK, "", 0);
    // One chunk stays for the next call.
    while (chunks && (chunks->before || chunks->size > CHUNK)) {
        chunk *before = chunks->before;
        free(chunks);
        chunks = before;
    }
    if (chunks) {
        chunks->used = 0;
    }
    informer_collecting = true;
}

// The host places arguments and answers by this function, which replaces the one of the generated code.
__attribute__((__export_name__("cabi_realloc"))) void *cabi_realloc(void *old, size_t old_size, size_t align, size_t size) {
    if (!informer_collecting) {
        void *memory = size ? realloc(old, size) : (void *)align;
        if (!memory) {
            abort();
        }
        return memory;
    }
    char *memory = informer_allocate(size + 1);
    if (old) {
        memcpy(memory, old, old_size < size ? old_size : size);
    }
    memory[size] = 0;
    return memory;
}

const char *informer_given(plugin_string_t text) { return text.len ? (const char *)text.ptr : ""; }

plugin_string_t informer_wire(const char *text) {
    return (plugin_string_t){(uint8_t *)text, text ? strlen(text) : 0};
}

informer_kind informer_wire_key(const char *what, const char *text, plugin_string_t *wire) {
    const char *mended = informer_utf8(text);
    if (mended != text) {
        return informer_failed(INFORMER_INVALID, informer_format("%s \"%s\" is not UTF-8: use informer_utf8", what, mended), 0);
    }
    *wire = informer_wire(text);
    return INFORMER_OK;
}

plugin_list_string_t informer_wire_all(size_t count, const char *const texts[]) {
    plugin_list_string_t list = {informer_allocate(count * sizeof(plugin_string_t)), count};
    for (size_t i = 0; i < count; i++) {
        list.ptr[i] = informer_wire(texts[i]);
    }
    return list;
}

plugin_list_tuple2_string_string_t informer_wire_pairs(size_t count, const informer_pair pairs[]) {
    plugin_list_tuple2_string_string_t list = {informer_allocate(count * sizeof(plugin_tuple2_string_string_t)), count};
    for (size_t i = 0; i < count; i++) {
        list.ptr[i] = (plugin_tuple2_string_string_t){
            informer_wire(informer_utf8(pairs[i].name)),
            informer_wire(informer_utf8(pairs[i].value)),
        };
    }
    return list;
}

plugin_string_t informer_kept(const char *text) {
    plugin_string_t kept;
    plugin_string_dup(&kept, text ? informer_utf8(text) : "");
    return kept;
}

static const char *formatted(const char *format, va_list arguments) {
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    char *text = informer_allocate(length < 0 ? 1 : (size_t)length + 1);
    text[0] = 0;
    if (length >= 0) {
        vsnprintf(text, (size_t)length + 1, format, again);
    }
    va_end(again);
    return text;
}

#define FORMATTED(text, format)           \
    const char *text;                     \
    do {                                  \
        va_list arguments;                \
        va_start(arguments, format);      \
        text = formatted(format, arguments); \
        va_end(arguments);                \
    } while (0)

const char *informer_format(const char *format, ...) {
    FORMATTED(text, format);
    return text;
}

// === Results, which have texts of the call ===

informer_result informer_done(void) { return (informer_result){.what = INFORMER_RESULT_DONE}; }

informer_result informer_retry(const char *format, ...) {
    FORMATTED(text, format);
    return (informer_result){.what = INFORMER_RESULT_RETRY, .message = text};
}

informer_result informer_retry_after(uint32_t millis, const char *format, ...) {
    FORMATTED(text, format);
    return (informer_result){.what = INFORMER_RESULT_RETRY_AFTER, .millis = millis, .message = text};
}

informer_result informer_terminal(const char *format, ...) {
    FORMATTED(text, format);
    return (informer_result){.what = INFORMER_RESULT_TERMINAL, .message = text};
}

informer_result informer_refused(informer_kind kind) {
    const char *word = informer_word(kind), *why = informer_message();
    return *why ? informer_retry("%s: %s", word, why) : informer_retry("%s", word);
}

informer_result informer_requeue(void) { return (informer_result){.what = INFORMER_RESULT_REQUEUE}; }

informer_result informer_requeue_after(uint32_t millis) { return (informer_result){.what = INFORMER_RESULT_REQUEUE_AFTER, .millis = millis}; }

informer_result informer_again(uint32_t millis) { return (informer_result){.what = INFORMER_RESULT_AGAIN, .millis = millis}; }

void informer_log(informer_level level, const char *format, ...) {
    if (informer_plugin_log_enabled((informer_plugin_log_level_t)level)) {
        FORMATTED(text, format);
        informer_log_fields(level, text, 0, NULL);
    }
}
