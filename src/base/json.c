/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"

#include <assert.h>
#include <limits.h>
#include <string.h>

#include "base/checked.h"
#include "base/hash.h"
#include "base/hex.h"
#include "base/scan.h"
#include "base/utf8.h"

/* Objects up to this size are checked for duplicates by comparing, larger ones by hashing. */
enum { COMPARED_KEYS = 12 };

enum { WORTH_RETURNING_BYTES = 16 << 10, LONE_SURROGATE_BECOMES = 0xFFFD };

#define likely(condition)   __builtin_expect((condition), 1)
#define unlikely(condition) __builtin_expect((condition), 0)

struct parser {
    struct arena *arena;
    const char *start;
    const char *end;
    unsigned max_depth;
    bool is_mended; /* lone surrogates are replaced */

    struct json_value *values; /* grows by moving, so open containers are known by index */
    size_t count;
    size_t capacity;

    /* Where strings with escapes are decoded: as large as the text that is left. */
    char *decoded;

    /* What went wrong, and where. */
    const char *complaint;
    const char *complaint_at;
};

static int fail(struct parser *p, int code, const char *at, const char *complaint)
{
    p->complaint = complaint;
    p->complaint_at = at;
    return code;
}

static int report(const struct parser *p, int code, struct err *err)
{
    size_t line = 1;
    size_t column = 1;

    for (const char *at = p->start; at < p->complaint_at; at++) {
        /* Columns count characters, so continuation bytes do not. */
        column += ((unsigned char)*at & 0xC0) != 0x80;
        if (*at == '\n') {
            line++;
            column = 1;
        }
    }
    return err_set(err, code, "JSON, line %zu column %zu: %s", line, column, p->complaint);
}

static int out_of_room(struct parser *p, const char *at)
{
    return fail(p, p->arena->error, at,
                p->arena->error == ERR_TOO_LARGE ? "the document exceeds its memory limit"
                                                 : "out of memory");
}

static int grow_values(struct parser *p, const char *at)
{
    size_t bytes;
    struct json_value *values;
    size_t capacity = p->capacity * 2;

    if (p->capacity == 0) {
        /* Eight to sixteen bytes of text a value is usual; the rest is returned at the end. */
        capacity = (size_t)(p->end - p->start) / 12 + 16;
        if (capacity > 4096)
            capacity = 4096;
    }
    if (!checked_mul(capacity, sizeof(*values), &bytes))
        return fail(p, ERR_NO_MEMORY, at, "out of memory");
    values = arena_regrow(p->arena, p->values, bytes);
    if (values == NULL)
        return out_of_room(p, at);
    p->values = values;
    p->capacity = capacity;
    return 0;
}

static inline int push(struct parser *p, const char *at, struct json_value value)
{
    if (unlikely(p->count == p->capacity)) {
        int r = grow_values(p, at);

        if (r < 0)
            return r;
        assert(p->values != NULL);
    }
    p->values[p->count++] = value;
    return 0;
}

static inline const char *skip_space(const char *at, const char *end)
{
    /* Most documents have none. */
    if (likely(at < end && (unsigned char)*at > ' '))
        return at;
    while (at < end && (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t'))
        at++;
    return at;
}

/* The four hex digits at `at` as a number, or -1. */
static int32_t read_hex4(const char *at, const char *end)
{
    int32_t number = 0;

    if (end - at < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        int digit = hex_digit(at[i]);

        if (digit < 0)
            return -1;
        number = number << 4 | digit;
    }
    return number;
}

/* \uXXXX, or a pair of them; `at` is after the u. */
static int decode_unicode(struct parser *p, const char **at, char **to)
{
    const char *escape = *at - 2;
    int32_t unit = read_hex4(*at, p->end);
    uint32_t code_point;

    if (unit < 0)
        return fail(p, ERR_INVALID_JSON, escape, "\\u needs four hexadecimal digits");
    *at += 4;
    code_point = (uint32_t)unit;
    if (unit >= 0xDC00 && unit <= 0xDFFF) {
        if (!p->is_mended)
            return fail(p, ERR_INVALID_JSON, escape,
                        "second half of a surrogate pair without a first");
        code_point = LONE_SURROGATE_BECOMES;
    } else if (unit >= 0xD800 && unit <= 0xDBFF) {
        int32_t low = p->end - *at >= 6 && (*at)[0] == '\\' && (*at)[1] == 'u'
                          ? read_hex4(*at + 2, p->end)
                          : -1;

        if (low >= 0xDC00 && low <= 0xDFFF) {
            *at += 6;
            code_point = 0x10000 + (((uint32_t)unit - 0xD800) << 10) + ((uint32_t)low - 0xDC00);
        } else if (p->is_mended) {
            code_point = LONE_SURROGATE_BECOMES;
        } else {
            return fail(p, ERR_INVALID_JSON, escape,
                        "first half of a surrogate pair without a second");
        }
    }
    *to += utf8_encode(code_point, *to);
    return 0;
}

/* What the character after a backslash stands for; 0 for all others. */
static const char short_escapes[UCHAR_MAX + 1] = {
    ['"'] = '"',  ['\\'] = '\\', ['/'] = '/',  ['b'] = '\b',
    ['f'] = '\f', ['n'] = '\n',  ['r'] = '\r', ['t'] = '\t'};

/* The escape at `at`, which is after its backslash. */
static int decode_escape(struct parser *p, const char **at, char **to)
{
    if (*at == p->end)
        return fail(p, ERR_INVALID_JSON, *at, "the document ends inside a string");
    if (*(*at)++ != 'u')
        return fail(p, ERR_INVALID_JSON, *at - 2, "unknown escape sequence");
    return decode_unicode(p, at, to);
}

/*
 * A byte that is not plain and neither quote nor backslash: a control, or the start of a sequence.
 * Returns its length, or an error.
 */
static int check_other(struct parser *p, const char *at)
{
    size_t len;

    if (at == p->end)
        return fail(p, ERR_INVALID_JSON, at, "the document ends inside a string");
    if ((unsigned char)*at < 0x20)
        return fail(p, ERR_INVALID_JSON, at,
                    "control character in a string; write it as an escape");
    len = utf8_sequence(at, (size_t)(p->end - at));
    if (len == 0)
        return fail(p, ERR_INVALID_UTF8, at, "not valid UTF-8");
    return (int)len;
}

/* The rest of a string, from its first escape; `start` is its first byte. */
static int read_escaped_string(struct parser *p, const char *start, const char **at)
{
    const char *from = *at;
    char *text;
    char *to;
    int r;

    /* Decoded text is never longer than its source, and strings come in order: what is left of
     * the text bounds everything still to be decoded. SCAN_STEP more for whole-step copies. */
    if (p->decoded == NULL) {
        size_t room = (size_t)(p->end - start) + SCAN_STEP;

        p->decoded = arena_alloc(p->arena, room);
        if (p->decoded == NULL)
            return out_of_room(p, start);
    }
    text = p->decoded;
    memcpy(text, start, (size_t)(from - start));
    to = text + (from - start);
    while (true) {
        from = scan_copy_plain(from, p->end, &to);
        if (from < p->end && *from == '"')
            break;
        if (from < p->end && *from == '\\') {
            const char c = p->end - ++from > 0 ? short_escapes[(unsigned char)*from] : '\0';

            if (likely(c != '\0')) {
                *to++ = c;
                from++;
                continue;
            }
            r = decode_escape(p, &from, &to);
            if (r < 0)
                return r;
            continue;
        }
        r = check_other(p, from);
        if (r < 0)
            return r;
        memcpy(to, from, (size_t)r);
        to += r;
        from += r;
    }
    p->decoded = to;
    *at = from + 1;
    return push(
        p, start,
        (struct json_value){.type = JSON_STRING, .size = (uint32_t)(to - text), .text = text});
}

/* A string; *at is after its opening quote and ends after its closing one. */
static inline int read_string(struct parser *p, const char **at)
{
    const char *start = *at;
    const char *from = start;

    while (true) {
        int r;

        from = scan_plain(from, p->end);
        if (likely(from < p->end && *from == '"'))
            break;
        if (from < p->end && *from == '\\') {
            *at = from;
            return read_escaped_string(p, start, at);
        }
        r = check_other(p, from);
        if (r < 0)
            return r;
        from += r;
    }
    *at = from + 1;
    return push(
        p, start,
        (struct json_value){.type = JSON_STRING, .size = (uint32_t)(from - start), .text = start});
}

static inline bool is_digit(const char *at, const char *end)
{
    return at < end && *at >= '0' && *at <= '9';
}

static const char *skip_digits(const char *at, const char *end)
{
    while (is_digit(at, end))
        at++;
    return at;
}

static int read_number(struct parser *p, const char **at)
{
    const char *start = *at;
    const char *from = start;
    const char *digits;
    bool is_integer = true;
    struct json_value value;

    if (*from == '-')
        from++;
    if (!is_digit(from, p->end))
        return fail(p, ERR_INVALID_JSON, from, "a number needs a digit here");
    digits = from;
    from = skip_digits(from, p->end);
    if (*digits == '0' && from - digits > 1)
        return fail(p, ERR_INVALID_JSON, digits, "a number must not start with 0");
    if (from < p->end && *from == '.') {
        is_integer = false;
        if (!is_digit(++from, p->end))
            return fail(p, ERR_INVALID_JSON, from, "a number needs a digit here");
        from = skip_digits(from, p->end);
    }
    if (from < p->end && (*from == 'e' || *from == 'E')) {
        is_integer = false;
        from++;
        if (from < p->end && (*from == '+' || *from == '-'))
            from++;
        if (!is_digit(from, p->end))
            return fail(p, ERR_INVALID_JSON, from, "a number needs a digit here");
        from = skip_digits(from, p->end);
    }
    *at = from;
    value =
        (struct json_value){.type = JSON_NUMBER, .size = (uint32_t)(from - start), .text = start};
    if (is_integer) {
        int64_t integer;

        /* An int64_t has no negative zero: -0 keeps its text. */
        if (str_to_int64((struct str){start, (size_t)(from - start)}, &integer) &&
            !(integer == 0 && *start == '-'))
            value = (struct json_value){.type = JSON_INT, .integer = integer};
    }
    return push(p, start, value);
}

static int read_word(struct parser *p, const char **at)
{
    static const struct {
        struct str text;
        uint8_t type;
        int8_t integer;
    } words[] = {
        {STR_LITERAL("true"), JSON_BOOL, 1},
        {STR_LITERAL("false"), JSON_BOOL, 0},
        {STR_LITERAL("null"), JSON_NULL, 0},
    };
    struct str rest = {*at, (size_t)(p->end - *at)};

    for (size_t i = 0; i < array_size(words); i++) {
        if (!str_starts_with(rest, words[i].text))
            continue;
        *at += words[i].text.len;
        return push(p, rest.ptr,
                    (struct json_value){.type = words[i].type, .integer = words[i].integer});
    }
    return fail(p, ERR_INVALID_JSON, *at, "a value was expected here");
}

static int complain_of_keys(struct parser *p, const char *at)
{
    return fail(p, ERR_JSON_DUPLICATE_KEY, at, "duplicate key in the object that ends here");
}

static int check_keys_by_hashing(struct parser *p, const struct json_value *object, const char *at)
{
    const struct hash_key *hash_key = hash_process_key();
    size_t slot_count = 16;
    uint32_t *slots; /* distance of a key from the object; 0 is free */
    int r = 0;

    while (slot_count < (size_t)object->size * 2)
        slot_count *= 2;
    slots = arena_regrow(p->arena, NULL, slot_count * sizeof(*slots));
    if (slots == NULL)
        return out_of_room(p, at);
    memset(slots, 0, slot_count * sizeof(*slots));
    json_each_member (key, object) {
        size_t i = hash_str(hash_key, json_str(key)) & (slot_count - 1);

        while (slots[i] != 0 && !str_eq(json_str(object + slots[i]), json_str(key)))
            i = (i + 1) & (slot_count - 1);
        if (slots[i] != 0) {
            r = complain_of_keys(p, at);
            break;
        }
        slots[i] = (uint32_t)(key - object);
    }
    arena_regrow_free(p->arena, slots);
    return r;
}

/* `at` is the closing brace. */
static int check_keys(struct parser *p, const struct json_value *object, const char *at)
{
    __attribute__((uninitialized)) const struct json_value *seen[COMPARED_KEYS];
    size_t count = 0;

    if (object->size > COMPARED_KEYS)
        return check_keys_by_hashing(p, object, at);
    json_each_member (key, object) {
        for (size_t i = 0; i < count; i++)
            if (seen[i]->size == key->size && memcmp(seen[i]->text, key->text, key->size) == 0)
                return complain_of_keys(p, at);
        seen[count++] = key;
    }
    return 0;
}

/*
 * The grammar, without recursion: `container` is the index of the innermost open one. Until it is
 * closed, its span holds the index of its parent, and its size grows with every item.
 */
static int read_document(struct parser *p)
{
    const size_t none = SIZE_MAX;
    const char *at = p->start;
    const char *const end = p->end;
    size_t container = none;
    unsigned depth = 0;
    struct json_value *open;
    size_t outer;
    int r;

value:
    at = skip_space(at, end);
    if (at == end)
        return fail(p, ERR_INVALID_JSON, at, "the document ends where a value was expected");
    switch (*at) {
    case '"':
        at++;
        r = read_string(p, &at);
        break;
    case '{':
    case '[':
        if (++depth > p->max_depth)
            return fail(p, ERR_JSON_DEPTH, at, "nested too deeply");
        r = push(
            p, at,
            (struct json_value){.type = *at == '{' ? JSON_OBJECT : JSON_ARRAY, .span = container});
        if (r < 0)
            return r;
        container = p->count - 1;
        at = skip_space(at + 1, end);
        if (at < end && *at == (p->values[container].type == JSON_OBJECT ? '}' : ']'))
            goto close;
        if (p->values[container].type == JSON_OBJECT)
            goto key;
        goto value;
    case '-':
    case '0':
    case '1':
    case '2':
    case '3':
    case '4':
    case '5':
    case '6':
    case '7':
    case '8':
    case '9':
        r = read_number(p, &at);
        break;
    default:
        r = read_word(p, &at);
        break;
    }
    if (r < 0)
        return r;

after_value:
    at = skip_space(at, end);
    if (container == none) {
        if (at < end)
            return fail(p, ERR_INVALID_JSON, at, "unexpected text after the document");
        return 0;
    }
    open = &p->values[container];
    open->size++;
    if (at == end)
        return fail(p, ERR_INVALID_JSON, at,
                    open->type == JSON_OBJECT ? "the document ends inside an object"
                                              : "the document ends inside an array");
    if (*at == ',') {
        at = skip_space(at + 1, end);
        if (open->type == JSON_OBJECT)
            goto key;
        goto value;
    }
    if (*at == (open->type == JSON_OBJECT ? '}' : ']'))
        goto close;
    return fail(p, ERR_INVALID_JSON, at,
                open->type == JSON_OBJECT ? "a comma or } was expected here"
                                          : "a comma or ] was expected here");

key:
    if (at == end || *at != '"')
        return fail(p, ERR_INVALID_JSON, at, "a key in double quotes was expected here");
    at++;
    r = read_string(p, &at);
    if (r < 0)
        return r;
    at = skip_space(at, end);
    if (at == end || *at != ':')
        return fail(p, ERR_INVALID_JSON, at, "a colon was expected here");
    at++;
    goto value;

close:
    open = &p->values[container];
    outer = open->span;
    open->span = p->count - container;
    if (open->type == JSON_OBJECT) {
        r = check_keys(p, open, at);
        if (r < 0)
            return r;
    }
    at++;
    container = outer;
    depth--;
    goto after_value;
}

static int parse(struct arena *arena, struct str text, struct json_limits limits, bool is_mended,
                 const struct json_value **out_document, struct err *err)
{
    const char *start = text.len > 0 ? text.ptr : "";
    struct parser p = {
        .arena = arena,
        .start = start,
        .end = start + text.len,
        .max_depth = limits.max_depth,
        .is_mended = is_mended,
    };
    struct json_value *kept;
    int r;

    assert(limits.max_bytes <= JSON_MAX_BYTES && limits.max_depth <= JSON_LARGEST_MAX_DEPTH);
    if (text.len > limits.max_bytes)
        return err_set(err, ERR_TOO_LARGE, "JSON: %zu bytes, but the limit is %zu", text.len,
                       limits.max_bytes);
    r = read_document(&p);
    if (r < 0) {
        arena_regrow_free(arena, p.values);
        return report(&p, r, err);
    }
    kept = p.values;
    /* Returns surplus memory, if that is worthwhile. */
    if ((p.capacity - p.count) * sizeof(*p.values) > WORTH_RETURNING_BYTES) {
        kept = arena_regrow(arena, p.values, p.count * sizeof(*p.values));
        if (kept == NULL)
            kept = p.values;
    }
    arena_adopt(arena, kept);
    *out_document = kept;
    return 0;
}

int json_parse(struct arena *arena, struct str text, struct json_limits limits,
               const struct json_value **out_document, struct err *err)
{
    return parse(arena, text, limits, false, out_document, err);
}

int json_parse_mended(struct arena *arena, struct str text, struct json_limits limits,
                      const struct json_value **out_document, struct err *err)
{
    return parse(arena, text, limits, true, out_document, err);
}
