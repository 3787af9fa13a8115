// Prints what the functions of json.c find, for a test that compares it with another parser.
//
// Standard input is a list of texts, each with a zero byte at its end: a pointer, JSON, a pointer, JSON, and so on. Four texts are
// printed for each pair: the value, its text, its number, and the text as a JSON string.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "informer.h"

static struct {
    void *start;
    size_t length;
} regions[1 << 16];

static size_t used;

// Memory that ends where a page ends. The next page cannot be accessed, so an access behind the end is a fault.
void *informer_allocate(size_t size) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE), room = (size + page - 1) / page * page;
    char *start = mmap(NULL, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED || mprotect(start + room, page, PROT_NONE) || used == sizeof regions / sizeof *regions) {
        abort();
    }
    regions[used].start = start;
    regions[used++].length = room + page;
    return start + room - size;
}

static void free_all(void) {
    while (used) {
        used--;
        munmap(regions[used].start, regions[used].length);
    }
}

// The next text of the input. NULL at the end of the input.
static char *next(void) {
    static char *line;
    static size_t room;
    ssize_t length = getdelim(&line, &room, 0, stdin);
    return length < 0 ? NULL : memcpy(informer_allocate((size_t)length), line, (size_t)length);
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
        free_all();
    }
    return 0;
}
