// Values of JSON that the host has read by pointer, and single values in the text of an object. This file needs nothing of the host.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "informer.h"

// The deepest nesting that is followed. The host refuses objects that are nested deeper.
#define DEPTH 256

static const char *space(const char *at) {
    while (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r') {
        at++;
    }
    return at;
}

// The end of a string, behind its quote, or NULL.
static const char *end_of_string(const char *at) {
    for (at++; *at != '"'; at++) {
        if (*at == '\\') {
            at++;
        }
        if (!*at) {
            return NULL;
        }
    }
    return at + 1;
}

// The end of a value, or NULL.
static const char *end_of_value(const char *at) {
    int depth = 0;
    do {
        at = space(at);
        if (*at == '"') {
            if (!(at = end_of_string(at))) {
                return NULL;
            }
        } else if (*at == '{' || *at == '[') {
            if (++depth > DEPTH) {
                return NULL;
            }
            at++;
        } else if (*at == '}' || *at == ']') {
            if (--depth < 0) {
                return NULL;
            }
            at++;
        } else if (depth && (*at == ',' || *at == ':')) {
            at++;
        } else {
            size_t length = strcspn(at, " \t\n\r,:{}[]\"");
            if (!length) {
                return NULL;
            }
            at += length;
        }
    } while (depth);
    return at;
}

static int hex(char digit) {
    if (digit >= '0' && digit <= '9') {
        return digit - '0';
    }
    digit |= 0x20;
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

static long unit(const char *at) {
    long value = 0;
    for (int i = 0; i < 4; i++) {
        int digit = hex(at[i]);
        if (digit < 0) {
            return -1;
        }
        value = value * 16 + digit;
    }
    return value;
}

static char *utf8(char *out, long code) {
    if (code < 0x80) {
        *out++ = (char)code;
    } else if (code < 0x800) {
        *out++ = (char)(0xc0 | code >> 6);
        *out++ = (char)(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
        *out++ = (char)(0xe0 | code >> 12);
        *out++ = (char)(0x80 | (code >> 6 & 0x3f));
        *out++ = (char)(0x80 | (code & 0x3f));
    } else {
        *out++ = (char)(0xf0 | code >> 18);
        *out++ = (char)(0x80 | (code >> 12 & 0x3f));
        *out++ = (char)(0x80 | (code >> 6 & 0x3f));
        *out++ = (char)(0x80 | (code & 0x3f));
    }
    return out;
}

// The text of a string from its quote to its end. No escape is longer than what it stands for. NULL if an escape is malformed.
static char *unescaped(const char *at, const char *end) {
    char *text = informer_allocate((size_t)(end - at) + 1), *out = text;
    for (at++; at < end - 1; at++) {
        if (*at != '\\') {
            *out++ = *at;
            continue;
        }
        static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
        const char *simple = strchr(from, *++at);
        if (simple && *at) {
            *out++ = to[simple - from];
            continue;
        }
        long code = *at == 'u' ? unit(at + 1) : -1;
        if (code < 0) {
            return NULL;
        }
        at += 4;
        if (code >= 0xd800 && code < 0xdc00 && at[1] == '\\' && at[2] == 'u') {
            long low = unit(at + 3);
            if (low >= 0xdc00 && low < 0xe000) {
                code = 0x10000 + (code - 0xd800) * 0x400 + (low - 0xdc00);
                at += 6;
            }
        }
        // A zero byte would end the text, which would then equal a shorter one.
        out = utf8(out, !code || (code >= 0xd800 && code < 0xe000) ? 0xfffd : code);
    }
    *out = 0;
    return text;
}

int64_t informer_integer(informer_value value, int64_t otherwise) {
    if (!value.json || !strchr("-0123456789", *value.json) || !*value.json) {
        return otherwise;
    }
    char *end;
    errno = 0;
    long long number = strtoll(value.json, &end, 10);
    return errno || *end ? otherwise : number;
}

bool informer_boolean(informer_value value, bool otherwise) {
    if (value.json && !strcmp(value.json, "true")) {
        return true;
    }
    return value.json && !strcmp(value.json, "false") ? false : otherwise;
}

const char *informer_text(informer_value value, const char *otherwise) {
    if (!value.json || *value.json != '"') {
        return otherwise;
    }
    const char *end = end_of_string(value.json);
    const char *text = end && !*end ? unescaped(value.json, end) : NULL;
    return text ? text : otherwise;
}

// The length of the character of UTF-8 at the beginning of a text. 0 if the text begins with no character.
static size_t length_of_character(const unsigned char *at) {
    size_t length = *at < 0x80 ? 1 : *at < 0xc2 ? 0 : *at < 0xe0 ? 2 : *at < 0xf0 ? 3 : *at < 0xf5 ? 4 : 0;
    for (size_t i = 1; i < length; i++) {
        // The second byte excludes longer forms than needed, halves of characters, and numbers above those of Unicode.
        unsigned char least = i > 1 ? 0x80 : *at == 0xe0 ? 0xa0 : *at == 0xf0 ? 0x90 : 0x80;
        unsigned char most = i > 1 ? 0xbf : *at == 0xed ? 0x9f : *at == 0xf4 ? 0x8f : 0xbf;
        if (at[i] < least || at[i] > most) {
            return 0;
        }
    }
    return length;
}

const char *informer_utf8(const char *text) {
    const unsigned char *at = (const unsigned char *)text;
    size_t length;
    while (at && *at && (length = length_of_character(at))) {
        at += length;
    }
    if (!at || !*at) {
        return text;
    }
    char *made = informer_allocate(3 * strlen(text) + 1), *out = made;
    for (at = (const unsigned char *)text; *at;) {
        length = length_of_character(at);
        if (length) {
            memcpy(out, at, length);
            out += length;
            at += length;
        } else {
            out = utf8(out, 0xfffd);
            at++;
        }
    }
    *out = 0;
    return made;
}

const char *informer_json_string(const char *text) {
    text = informer_utf8(text);
    char *json = informer_allocate(6 * strlen(text) + 3), *out = json;
    *out++ = '"';
    for (; *text; text++) {
        unsigned char byte = (unsigned char)*text;
        if (byte == '"' || byte == '\\') {
            *out++ = '\\';
            *out++ = (char)byte;
        } else if (byte < 0x20) {
            memcpy(out, "\\u00", 4);
            out[4] = "0123456789abcdef"[byte >> 4];
            out[5] = "0123456789abcdef"[byte & 15];
            out += 6;
        } else {
            *out++ = (char)byte;
        }
    }
    *out++ = '"';
    *out = 0;
    return json;
}

// The next part of a pointer, with ~1 and ~0 resolved.
static const char *part_of(const char **pointer) {
    size_t length = strcspn(*pointer, "/");
    char *part = informer_allocate(length + 1), *out = part;
    for (size_t i = 0; i < length; i++) {
        char c = (*pointer)[i];
        if (c == '~' && i + 1 < length && ((*pointer)[i + 1] == '0' || (*pointer)[i + 1] == '1')) {
            c = (*pointer)[++i] == '1' ? '/' : '~';
        }
        *out++ = c;
    }
    *out = 0;
    *pointer += length;
    return part;
}

// The value of a member or an element, or NULL.
static const char *inside(const char *at, const char *part) {
    bool object = *at == '{';
    size_t index = 0;
    if (!object && (*at != '[' || strspn(part, "0123456789") != strlen(part) || !*part || (*part == '0' && part[1]))) {
        return NULL;
    }
    size_t wanted = object ? 0 : strtoul(part, NULL, 10);
    for (at = space(at + 1); *at && *at != '}' && *at != ']'; at = space(at)) {
        bool found = !object && index++ == wanted;
        if (object) {
            const char *end = *at == '"' ? end_of_string(at) : NULL;
            const char *name = end ? unescaped(at, end) : NULL;
            if (!name || *(at = space(end)) != ':') {
                return NULL;
            }
            found = !strcmp(name, part);
            at = space(at + 1);
        }
        if (found) {
            return at;
        }
        if (!(at = end_of_value(at))) {
            return NULL;
        }
        at = space(at);
        if (*at == ',') {
            at++;
        }
    }
    return NULL;
}

informer_value informer_json_at(const char *json, const char *pointer) {
    const char *at = json ? space(json) : NULL;
    while (at && *pointer == '/') {
        pointer++;
        at = inside(at, part_of(&pointer));
    }
    const char *end = at && !*pointer ? end_of_value(at) : NULL;
    if (!end) {
        return (informer_value){NULL};
    }
    char *text = informer_allocate((size_t)(end - at) + 1);
    memcpy(text, at, (size_t)(end - at));
    text[end - at] = 0;
    return (informer_value){text};
}
