// HTTP requests: wasi:http sends a request in steps, which are the head, the body, and then the answer.
#include <string.h>
#include <strings.h>

#include "internal.h"

// The most bytes that a stream takes at once, and those that are read at once.
#define PIECE 4096
#define READ 65536

#define NANOS_PER_MILLI 1000000ULL

// The words of the interface, by their numbers.
static const char *const CODES[] = {
    "dns-timeout",
    "dns-error",
    "destination-not-found",
    "destination-unavailable",
    "destination-ip-prohibited",
    "destination-ip-unroutable",
    "connection-refused",
    "connection-terminated",
    "connection-timeout",
    "connection-read-timeout",
    "connection-write-timeout",
    "connection-limit-reached",
    "tls-protocol-error",
    "tls-certificate-error",
    "tls-alert-received",
    "http-request-denied",
    "http-request-length-required",
    "http-request-body-size",
    "http-request-method-invalid",
    "http-request-uri-invalid",
    "http-request-uri-too-long",
    "http-request-header-section-size",
    "http-request-header-size",
    "http-request-trailer-section-size",
    "http-request-trailer-size",
    "http-response-incomplete",
    "http-response-header-section-size",
    "http-response-header-size",
    "http-response-body-size",
    "http-response-trailer-section-size",
    "http-response-trailer-size",
    "http-response-transfer-coding",
    "http-response-content-coding",
    "http-response-timeout",
    "http-upgrade-failed",
    "http-protocol-error",
    "loop-detected",
    "configuration-error",
    "internal-error",
};

// A URL in the parts of a request.
typedef struct {
    bool https;
    // Scheme and host. The path of a webhook is often a secret, and so is a password before the host.
    const char *place;
    const char *authority, *path;
} address;

static informer_kind addressed(const char *url, address *found) {
    bool https = !strncasecmp(url, "https://", 8);
    if (!https && strncasecmp(url, "http://", 7)) {
        return informer_failed(INFORMER_INVALID, "the URL does not begin with http:// or https://", 0);
    }
    const char *authority = url + (https ? 8 : 7), *path = authority + strcspn(authority, "/?#");
    int length = (int)(path - authority), target = (int)strcspn(path, "#");
    found->https = https;
    found->authority = informer_format("%.*s", length, authority);
    const char *at = strrchr(found->authority, '@');
    found->place = informer_format("%s://%s", https ? "https" : "http", at ? at + 1 : found->authority);
    found->path = informer_format("%s%.*s", *path == '/' ? "" : "/", target, path);
    return length ? INFORMER_OK : informer_failed(INFORMER_INVALID, "the URL has no host", 0);
}

static informer_kind failed(const char *method, const char *place, const wasi_http_types_error_code_t *error) {
    if (error->tag == WASI_HTTP_TYPES_ERROR_CODE_HTTP_REQUEST_DENIED) {
        const char *why = "%s %s: the host denies it; `http` under [plugin.grant] names the places, and the log has the reason";
        return informer_failed(INFORMER_HTTP_REQUEST_DENIED, informer_format(why, method, place), 0);
    }
    const char *code = error->tag < sizeof CODES / sizeof *CODES ? CODES[error->tag] : "internal-error";
    return informer_failed(INFORMER_HTTP_FAILED, informer_format("%s %s: %s", method, place, code), 0);
}

static informer_kind unfit(const char *method, const char *place, const char *part) {
    return informer_failed(INFORMER_INVALID, informer_format("%s %s: the host refuses the %s", method, place, part), 0);
}

static wasi_http_types_method_t wire_method(const char *method) {
    static const char *const METHODS[] = {"GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"};
    wasi_http_types_method_t wire = {.tag = WASI_HTTP_TYPES_METHOD_OTHER, .val.other = informer_wire(method)};
    for (size_t i = 0; i < sizeof METHODS / sizeof *METHODS; i++) {
        if (!strcmp(method, METHODS[i])) {
            wire.tag = (uint8_t)i;
        }
    }
    return wire;
}

// The name of the header that the host refuses, or NULL.
static const char *append(wasi_http_types_borrow_fields_t fields, const char *name, const char *value) {
    plugin_string_t wire = informer_wire(name), text = informer_wire(value);
    wasi_http_types_field_value_t bytes = {text.ptr, text.len};
    wasi_http_types_header_error_t refused;
    return HOST(wasi_http_types_method_fields_append(fields, &wire, &bytes, &refused)) ? NULL : name;
}

// The head of a request. `*refused` is the part that the host refuses, or NULL.
static wasi_http_types_own_outgoing_request_t head(const informer_request *request, const char *method, const address *to,
                                                   const char **refused) {
    wasi_http_types_own_fields_t fields = wasi_http_types_constructor_fields();
    wasi_http_types_borrow_fields_t borrowed = wasi_http_types_borrow_fields(fields);
    *refused = NULL;
    for (size_t i = 0; i < request->header_count && !*refused; i++) {
        const char *name = request->headers[i].name;
        // Servers refuse a request with two headers of this name, and the length of the body is added below.
        if (!request->body || strcasecmp(name, "content-length")) {
            *refused = append(borrowed, name, request->headers[i].value);
        }
    }
    if (request->body && !*refused) {
        *refused = append(borrowed, "content-length", informer_format("%zu", request->length));
    }
    wasi_http_types_own_outgoing_request_t made = wasi_http_types_constructor_outgoing_request(fields);
    wasi_http_types_borrow_outgoing_request_t of = wasi_http_types_borrow_outgoing_request(made);
    wasi_http_types_method_t wire = wire_method(method);
    wasi_http_types_scheme_t scheme = {.tag = to->https ? WASI_HTTP_TYPES_SCHEME_HTTPS : WASI_HTTP_TYPES_SCHEME_HTTP};
    plugin_string_t authority = informer_wire(to->authority), path = informer_wire(to->path);
    if (*refused) {
        return made;
    }
    if (!wasi_http_types_method_outgoing_request_set_method(of, &wire)) {
        *refused = "method";
    } else if (!wasi_http_types_method_outgoing_request_set_scheme(of, &scheme)) {
        *refused = "scheme";
    } else if (!wasi_http_types_method_outgoing_request_set_authority(of, &authority)) {
        *refused = "host";
    } else if (!wasi_http_types_method_outgoing_request_set_path_with_query(of, &path)) {
        *refused = "path";
    }
    return made;
}

static wasi_http_types_own_request_options_t patience(uint32_t millis) {
    wasi_http_types_own_request_options_t options = wasi_http_types_constructor_request_options();
    wasi_http_types_borrow_request_options_t of = wasi_http_types_borrow_request_options(options);
    wasi_http_types_duration_t nanos = millis * NANOS_PER_MILLI;
    wasi_http_types_method_request_options_set_connect_timeout(of, &nanos);
    wasi_http_types_method_request_options_set_first_byte_timeout(of, &nanos);
    wasi_http_types_method_request_options_set_between_bytes_timeout(of, &nanos);
    return options;
}

// True if the stream goes on. The error of one that broke off is dropped, or becomes its code.
static bool flows(bool done, wasi_io_streams_stream_error_t *error, wasi_http_types_error_code_t *code, bool *broken) {
    if (!done && error->tag == WASI_IO_STREAMS_STREAM_ERROR_LAST_OPERATION_FAILED) {
        wasi_io_error_own_error_t failure = error->val.last_operation_failed;
        *broken = true;
        if (!HOST(wasi_http_types_http_error_code(wasi_io_error_borrow_error(failure), code))) {
            // The host has no code for an answer that breaks off. Its log has the reason.
            *code = (wasi_http_types_error_code_t){.tag = WASI_HTTP_TYPES_ERROR_CODE_HTTP_RESPONSE_INCOMPLETE};
        }
        wasi_io_error_error_drop_own(failure);
    }
    return done;
}

// Sends the body. If that fails, the answer reports it.
static void write_body(wasi_http_types_own_outgoing_body_t body, const informer_request *request) {
    wasi_http_types_own_output_stream_t stream;
    wasi_io_streams_stream_error_t error;
    wasi_http_types_error_code_t code;
    bool open = wasi_http_types_method_outgoing_body_write(wasi_http_types_borrow_outgoing_body(body), &stream), broken = false;
    for (size_t sent = 0; open && !broken && sent < request->length; sent += PIECE) {
        size_t left = request->length - sent;
        plugin_list_u8_t piece = {(uint8_t *)request->body + sent, left < PIECE ? left : PIECE};
        wasi_io_streams_borrow_output_stream_t to = wasi_io_streams_borrow_output_stream(stream);
        broken = !flows(HOST(wasi_io_streams_method_output_stream_blocking_write_and_flush(to, &piece, &error)), &error, &code, &broken);
    }
    if (open) {
        wasi_io_streams_output_stream_drop_own(stream);
    }
    if (open && !broken) {
        HOST(wasi_http_types_static_outgoing_body_finish(body, NULL, &code));
    } else {
        wasi_http_types_outgoing_body_drop_own(body);
    }
}

// Waits for the head of the answer.
static bool received(wasi_http_types_own_future_incoming_response_t future, wasi_http_types_own_incoming_response_t *response,
                 wasi_http_types_error_code_t *code) {
    wasi_http_types_borrow_future_incoming_response_t of = wasi_http_types_borrow_future_incoming_response(future);
    wasi_http_types_result_result_own_incoming_response_error_code_void_t got;
    wasi_io_poll_own_pollable_t ready = wasi_http_types_method_future_incoming_response_subscribe(of);
    wasi_io_poll_method_pollable_block(wasi_io_poll_borrow_pollable(ready));
    wasi_io_poll_pollable_drop_own(ready);
    bool present = HOST(wasi_http_types_method_future_incoming_response_get(of, &got));
    if (!present || got.is_err) {
        *code = (wasi_http_types_error_code_t){.tag = WASI_HTTP_TYPES_ERROR_CODE_INTERNAL_ERROR};
        return false;
    }
    if (got.val.ok.is_err) {
        *code = got.val.ok.val.err;
        return false;
    }
    *response = got.val.ok.val.ok;
    return true;
}

// Reads the body, in pieces that become one text at its end.
static bool read_body(wasi_http_types_borrow_incoming_response_t response, informer_answer *answer, wasi_http_types_error_code_t *code) {
    struct piece {
        struct piece *before;
        plugin_list_u8_t bytes;
    } *last = NULL;
    wasi_http_types_own_incoming_body_t body;
    wasi_http_types_own_input_stream_t stream;
    wasi_io_streams_stream_error_t error;
    bool broken = false;
    answer->body = "";
    if (!wasi_http_types_method_incoming_response_consume(response, &body)) {
        return true;
    }
    if (wasi_http_types_method_incoming_body_stream(wasi_http_types_borrow_incoming_body(body), &stream)) {
        wasi_io_streams_borrow_input_stream_t from = wasi_io_streams_borrow_input_stream(stream);
        plugin_list_u8_t bytes;
        while (flows(HOST(wasi_io_streams_method_input_stream_blocking_read(from, READ, &bytes, &error)), &error, code, &broken)) {
            struct piece *piece = informer_allocate(sizeof *piece);
            *piece = (struct piece){last, bytes};
            answer->length += bytes.len;
            last = piece;
        }
        wasi_io_streams_input_stream_drop_own(stream);
    }
    wasi_http_types_incoming_body_drop_own(body);
    char *whole = informer_allocate(answer->length + 1), *end = whole + answer->length;
    *end = 0;
    for (; last; last = last->before) {
        end -= last->bytes.len;
        memcpy(end, last->bytes.ptr, last->bytes.len);
    }
    answer->body = whole;
    return !broken;
}

static void read_headers(wasi_http_types_borrow_incoming_response_t response, informer_answer *answer) {
    wasi_http_types_own_fields_t fields = wasi_http_types_method_incoming_response_headers(response);
    wasi_http_types_list_tuple2_field_name_field_value_t entries;
    informer_collecting = true;
    wasi_http_types_method_fields_entries(wasi_http_types_borrow_fields(fields), &entries);
    informer_collecting = false;
    wasi_http_types_fields_drop_own(fields);
    informer_pair *headers = informer_allocate(entries.len * sizeof *headers);
    for (size_t i = 0; i < entries.len; i++) {
        wasi_http_types_field_value_t value = entries.ptr[i].f1;
        headers[i] = (informer_pair){informer_given(entries.ptr[i].f0), informer_given((plugin_string_t){value.ptr, value.len})};
    }
    answer->headers = headers;
    answer->header_count = entries.len;
}

const char *informer_header(const informer_answer *answer, const char *name) {
    for (size_t i = 0; i < answer->header_count; i++) {
        if (!strcasecmp(answer->headers[i].name, name)) {
            return answer->headers[i].value;
        }
    }
    return NULL;
}

informer_kind informer_send(informer_request request, informer_answer *answer) {
    const char *method = request.method ? request.method : request.body ? "POST" : "GET", *refused;
    address to;
    informer_kind kind = addressed(request.url, &to);
    if (kind) {
        return kind;
    }
    wasi_http_types_own_outgoing_request_t made = head(&request, method, &to, &refused);
    wasi_http_types_own_outgoing_body_t body;
    if (!refused && request.body &&
        !wasi_http_types_method_outgoing_request_body(wasi_http_types_borrow_outgoing_request(made), &body)) {
        refused = "body";
    }
    if (refused) {
        wasi_http_types_outgoing_request_drop_own(made);
        return unfit(method, to.place, refused);
    }
    wasi_http_types_own_request_options_t options;
    if (request.timeout_ms) {
        options = patience(request.timeout_ms);
    }
    wasi_http_types_own_future_incoming_response_t future;
    wasi_http_types_error_code_t code;
    if (!HOST(wasi_http_outgoing_handler_handle(made, request.timeout_ms ? &options : NULL, &future, &code))) {
        if (request.body) {
            wasi_http_types_outgoing_body_drop_own(body);
        }
        return failed(method, to.place, &code);
    }
    if (request.body) {
        write_body(body, &request);
    }
    wasi_http_types_own_incoming_response_t response;
    bool answered = received(future, &response, &code);
    wasi_http_types_future_incoming_response_drop_own(future);
    if (!answered) {
        return failed(method, to.place, &code);
    }
    wasi_http_types_borrow_incoming_response_t of = wasi_http_types_borrow_incoming_response(response);
    *answer = (informer_answer){.status = wasi_http_types_method_incoming_response_status(of)};
    read_headers(of, answer);
    bool whole = read_body(of, answer, &code);
    wasi_http_types_incoming_response_drop_own(response);
    return whole ? INFORMER_OK : failed(method, to.place, &code);
}
