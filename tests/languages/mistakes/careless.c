// Mistakes at run time.
#include <stdlib.h>
#include <string.h>

#include "informer.h"

const char *const informer_name = "careless";

static volatile unsigned long turns;
static char *volatile eaten;

static informer_result boom(const informer_object *object) {
    informer_log(INFORMER_INFO, "%s", object->meta.key.name);
    __builtin_trap();
}

static informer_result spin(void) {
    for (;;) {
        turns++;
    }
}

static informer_result eat(void) {
    for (;;) {
        eaten = malloc(1 << 20);
        memset(eaten, 1, 1 << 20);
    }
}

informer_result informer_on_add(const informer_object *object) {
    const char *name = object->meta.key.name;
    if (!strcmp(name, "boom")) {
        return boom(object);
    }
    if (!strcmp(name, "spin")) {
        return spin();
    }
    if (!strcmp(name, "eat")) {
        return eat();
    }
    informer_list list = informer_list_of(object->gvr, (informer_selector){0});
    while (informer_next_meta(&list)) {
    }
    return list.kind ? informer_refused(list.kind) : informer_done();
}
