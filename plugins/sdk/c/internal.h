// Declarations that the files of the SDK share.
#ifndef INFORMER_INTERNAL_H
#define INFORMER_INTERNAL_H

#include "informer.h"
#include "plugin.h"

// True while a function of the host runs, and between calls: memory that the host places in the plugin then belongs to the call.
extern bool informer_collecting;
#define HOST(call) (informer_collecting = true, informer_collected(call))
static inline bool informer_collected(bool done) {
    informer_collecting = false;
    return done;
}

// The kinds of an informer_result.
enum {
    INFORMER_RESULT_DONE,
    INFORMER_RESULT_RETRY,
    INFORMER_RESULT_RETRY_AFTER,
    INFORMER_RESULT_TERMINAL,
    INFORMER_RESULT_REQUEUE,
    INFORMER_RESULT_REQUEUE_AFTER,
    INFORMER_RESULT_AGAIN,
};

// Frees the memory of the call.
void informer_end_call(void);

// A text of the host as one of C. The host places a zero byte behind it.
const char *informer_given(plugin_string_t text);
plugin_string_t informer_wire(const char *text);
plugin_list_string_t informer_wire_all(size_t count, const char *const texts[]);
// The text of a key or a name. INFORMER_INVALID if the text is not UTF-8, which would be a trap. `what` is a noun for the text.
informer_kind informer_wire_key(const char *what, const char *text, plugin_string_t *wire);
// The host receives the names and the values in UTF-8.
plugin_list_tuple2_string_string_t informer_wire_pairs(size_t count, const informer_pair pairs[]);
void informer_values_of(plugin_list_option_string_t from, size_t count, informer_value values[]);
informer_meta informer_meta_of(informer_plugin_types_object_meta_t *meta);

// Remembers why the host refused, and returns the kind.
informer_kind informer_failed(informer_kind kind, const char *message, int status);
informer_kind informer_refusal(informer_plugin_types_error_t *error);

// The kind of an error of the API server.
informer_kind informer_api_refusal(informer_plugin_client_api_error_t *error);

// A message in UTF-8 that outlives the call, because the generated code frees it.
plugin_string_t informer_kept(const char *text);

#endif
