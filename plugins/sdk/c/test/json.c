// Prints what the functions of json.c find, for a test that compares it with another parser.
//
// Standard input is a list of texts, each with a zero byte at its end: a pointer, JSON, a pointer, JSON, and so on. Four texts are
// printed for each pair: the value, its text, its number, and the text as a JSON string.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "informer.h"

void *informer_allocate(size_t size) {
    void *memory = malloc(size);
    if (!memory) {
        abort();
    }
    return memory;
}

// The next text of the input in memory of its own, so that a sanitizer sees each access behind its end. NULL at the end of the input.
static char *next(void) {
    size_t length = 0, room = 64;
    char *text = malloc(room);
    for (int byte; text && (byte = getchar()) > 0; text[length++] = (char)byte) {
        if (length + 1 == room) {
            text = realloc(text, room *= 2);
        }
    }
    if (!text || feof(stdin)) {
        return NULL;
    }
    text[length++] = 0;
    return realloc(text, length);
}

static void print(const char *text) {
    fwrite(text, 1, strlen(text) + 1, stdout);
}

int main(void) {
    for (char *pointer; (pointer = next());) {
        char *json = next();
        if (!json) {
            return 1;
        }
        informer_value value = informer_json_at(json, pointer);
        const char *text = informer_text(value, "no text");
        char number[32];
        snprintf(number, sizeof number, "%lld", (long long)informer_integer(value, -7));
        print(value.json ? value.json : "");
        print(text);
        print(number);
        print(informer_json_string(text));
    }
    return 0;
}
