// Refusals of the host.
#include "internal.h"

static const char *const WORDS[] = {
    "ok",           "unknown-resource", "not-granted", "stale-token",    "stale-page", "invalid",           "too-large",
    "limit-exceeded", "internal",       "bad-argument", "unauthorized",  "forbidden",  "not-found",         "already-exists",
    "conflict",     "gone",             "too-many-requests", "timeout",  "unavailable", "store-failed",     "config-failed",
    "http-request-denied", "http-failed",
};

static const char *message = "";
static int status;

const char *informer_word(informer_kind kind) {
    return (size_t)kind < sizeof WORDS / sizeof *WORDS ? WORDS[kind] : "internal";
}

const char *informer_message(void) { return message; }

int informer_status(void) { return status; }

informer_kind informer_failed(informer_kind kind, const char *why, int answered) {
    message = why;
    status = answered;
    return kind;
}

informer_kind informer_refusal(informer_plugin_types_error_t *error) {
    informer_kind kind = error->code < 8 ? (informer_kind)(INFORMER_UNKNOWN_RESOURCE + error->code) : INFORMER_INTERNAL;
    return informer_failed(kind, informer_given(error->message), 0);
}
