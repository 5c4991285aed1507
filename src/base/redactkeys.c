/* SPDX-License-Identifier: Apache-2.0 */
#include "base/redactkeys.h"

#include <string.h>

#include "base/cleanup.h"

enum {
    MAX_KEYS = 64, /* that are recognised again */
    LEAST_JWT_PART = 8,
    LEAST_BEARER = 16,
    MAX_USER = 64, /* in a URL, and the same for the password */
    MAX_PEM = 16 << 10,
};

enum alphabet {
    ALNUM,
    WORD, /* with '_' */
    NAME, /* with '_' and '-' */
    UPPER,
    HEX,
};

static const struct shape {
    struct str prefix;
    const char *kind;
    size_t least; /* characters after the prefix */
    size_t most;  /* more are no key; 0: any number */
    enum alphabet alphabet;
    bool is_mixed; /* only with a digit and a capital, since words may look the same */
} shapes[] = {
    {STR_LITERAL("ghp_"), "github-token", 36, 0, ALNUM, false},
    {STR_LITERAL("gho_"), "github-token", 36, 0, ALNUM, false},
    {STR_LITERAL("ghu_"), "github-token", 36, 0, ALNUM, false},
    {STR_LITERAL("ghs_"), "github-token", 36, 0, ALNUM, false},
    {STR_LITERAL("ghr_"), "github-token", 36, 0, ALNUM, false},
    {STR_LITERAL("github_pat_"), "github-token", 22, 0, WORD, false},
    {STR_LITERAL("glpat-"), "gitlab-token", 20, 0, NAME, false},
    {STR_LITERAL("xoxa-"), "slack-token", 10, 0, NAME, false},
    {STR_LITERAL("xoxb-"), "slack-token", 10, 0, NAME, false},
    {STR_LITERAL("xoxp-"), "slack-token", 10, 0, NAME, false},
    {STR_LITERAL("xoxr-"), "slack-token", 10, 0, NAME, false},
    {STR_LITERAL("xoxs-"), "slack-token", 10, 0, NAME, false},
    {STR_LITERAL("xapp-"), "slack-token", 20, 0, NAME, true},
    {STR_LITERAL("sk-"), "api-key", 20, 0, NAME, true},
    {STR_LITERAL("sk_live_"), "stripe-key", 16, 0, ALNUM, false},
    {STR_LITERAL("sk_test_"), "stripe-key", 16, 0, ALNUM, false},
    {STR_LITERAL("rk_live_"), "stripe-key", 16, 0, ALNUM, false},
    {STR_LITERAL("whsec_"), "stripe-key", 24, 0, ALNUM, false},
    {STR_LITERAL("AKIA"), "aws-key", 16, 16, UPPER, false},
    {STR_LITERAL("ASIA"), "aws-key", 16, 16, UPPER, false},
    {STR_LITERAL("AIza"), "google-key", 35, 35, NAME, false},
    {STR_LITERAL("ya29."), "google-token", 20, 0, NAME, false},
    {STR_LITERAL("npm_"), "npm-token", 36, 36, ALNUM, false},
    {STR_LITERAL("pypi-"), "pypi-token", 50, 0, NAME, true},
    {STR_LITERAL("hf_"), "api-key", 30, 0, ALNUM, true},
    {STR_LITERAL("dop_v1_"), "api-key", 64, 64, HEX, false},
    {STR_LITERAL("shpat_"), "api-key", 32, 32, HEX, false},
    {STR_LITERAL("lin_api_"), "api-key", 30, 0, ALNUM, false},
    {STR_LITERAL("gw_"), "gatehouse-key", 16, 0, NAME, false},
    {STR_LITERAL("sess_"), "gatehouse-key", 16, 0, NAME, true},
};

struct key {
    const char *kind; /* NULL: none */
    size_t from;
    size_t to;
};

static const struct key no_key;

static bool is_one_of(char c, const char *set)
{
    return c != '\0' && strchr(set, c) != NULL;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

static bool is_alnum(char c)
{
    return is_digit(c) || is_upper(c) || (c >= 'a' && c <= 'z');
}

static bool is_of(char c, enum alphabet alphabet)
{
    switch (alphabet) {
    case ALNUM:
        return is_alnum(c);
    case WORD:
        return is_alnum(c) || c == '_';
    case NAME:
        return is_alnum(c) || c == '_' || c == '-';
    case UPPER:
        return is_digit(c) || is_upper(c);
    case HEX:
        return is_digit(c) || (c >= 'a' && c <= 'f');
    }
    return false;
}

/* Where a run of such characters ends. */
static size_t run_end(struct str text, size_t from, enum alphabet alphabet)
{
    while (from < text.len && is_of(text.ptr[from], alphabet))
        from++;
    return from;
}

/* Whether a word can begin here; a letter before may be the end of an escape. */
static bool is_start(struct str text, size_t at)
{
    if (at == 0 || !is_of(text.ptr[at - 1], NAME))
        return true;
    if (at >= 2 && text.ptr[at - 2] == '\\' && is_one_of(text.ptr[at - 1], "bfnrt"))
        return true;
    return at >= 6 && text.ptr[at - 6] == '\\' && text.ptr[at - 5] == 'u' &&
           run_end(str_slice(text, 0, at), at - 4, ALNUM) == at;
}

static bool starts_at(struct str text, size_t at, struct str prefix)
{
    return text.len - at >= prefix.len && memcmp(text.ptr + at, prefix.ptr, prefix.len) == 0;
}

static bool is_mixed(struct str word)
{
    bool has_digit = false;
    bool has_upper = false;

    for (size_t i = 0; i < word.len; i++) {
        has_digit = has_digit || is_digit(word.ptr[i]);
        has_upper = has_upper || is_upper(word.ptr[i]);
    }
    return has_digit && has_upper;
}

static struct key shaped_key(struct str text, size_t at)
{
    for (size_t i = 0; i < array_size(shapes); i++) {
        const struct shape *shape = &shapes[i];
        size_t from = at + shape->prefix.len;
        size_t to;

        if (!starts_at(text, at, shape->prefix))
            continue;
        to = run_end(text, from, shape->alphabet);
        if (to - from < shape->least || (shape->most > 0 && to - from > shape->most) ||
            (shape->is_mixed && !is_mixed(str_slice(text, from, to - from))))
            continue;
        return (struct key){shape->kind, at, to};
    }
    return no_key;
}

/* Three parts with points between; the first two are objects, whose texts begin alike. */
static struct key web_token(struct str text, size_t at)
{
    size_t part = at;
    size_t end;

    if (!starts_at(text, at, STR("eyJ")))
        return no_key;
    end = run_end(text, part, NAME);
    if (end - part < LEAST_JWT_PART || !starts_at(text, end, STR(".eyJ")))
        return no_key;
    part = end + 1;
    end = run_end(text, part, NAME);
    if (end - part < LEAST_JWT_PART || end == text.len || text.ptr[end] != '.')
        return no_key;
    return (struct key){"token", at, run_end(text, end + 1, NAME)};
}

static bool is_token_char(char c)
{
    return is_of(c, NAME) || is_one_of(c, ".~+/=");
}

/* Words follow, too: "Bearer of good news". */
static struct key bearer_token(struct str text, size_t at)
{
    size_t from = at + STR("Bearer ").len;
    size_t to = from;

    if (!starts_at(text, at, STR("Bearer ")) && !starts_at(text, at, STR("bearer ")))
        return no_key;
    while (to < text.len && is_token_char(text.ptr[to]))
        to++;
    if (to - from < LEAST_BEARER || !is_mixed(str_slice(text, from, to - from)))
        return no_key;
    return (struct key){"token", from, to};
}

/* What is before the '@' is no longer than people write it, so that this takes no time. */
static struct key url_password(struct str text, size_t at)
{
    size_t from = at + STR("://").len;
    size_t colon;
    size_t to;

    if (!starts_at(text, at, STR("://")))
        return no_key;
    for (colon = from; colon < text.len && colon - from < MAX_USER && text.ptr[colon] != ':';
         colon++)
        if (!is_token_char(text.ptr[colon]) || text.ptr[colon] == '/')
            return no_key;
    if (colon == text.len || text.ptr[colon] != ':')
        return no_key;
    for (to = colon + 1; to < text.len && to - colon <= MAX_USER && text.ptr[to] != '@'; to++)
        if ((unsigned char)text.ptr[to] <= ' ' || is_one_of(text.ptr[to], "\"\\/?#<>"))
            return no_key;
    if (to == text.len || text.ptr[to] != '@' || to == colon + 1)
        return no_key;
    return (struct key){"password", colon + 1, to};
}

/* Up to its end, or as far as it looks like one. Its lines may end with escapes, of any depth. */
static struct key private_key(struct str text, size_t at)
{
    static const struct str ending = STR_LITERAL("PRIVATE KEY-----");
    struct str head = str_slice(text, at, 64);
    size_t to = str_find(head, ending);

    if (!starts_at(text, at, STR("-----BEGIN ")) || to == SIZE_MAX)
        return no_key;
    to += at + ending.len;
    while (to < text.len && to - at < MAX_PEM) {
        size_t slashes = to;

        if (starts_at(text, to, STR("-----END "))) {
            size_t rest = str_find(str_slice(text, to, 64), ending);

            to += rest != SIZE_MAX ? rest + ending.len : 0;
            break;
        }
        while (slashes < text.len && text.ptr[slashes] == '\\')
            slashes++;
        if (slashes > to && slashes < text.len &&
            (text.ptr[slashes] == 'n' || text.ptr[slashes] == 'r'))
            to = slashes + 1;
        else if (is_token_char(text.ptr[to]) || is_one_of(text.ptr[to], " \t\r\n:,"))
            to++;
        else
            break;
    }
    return (struct key){"private-key", at, to};
}

static struct key key_at(struct str text, size_t at)
{
    struct key key;

    if (text.ptr[at] == ':')
        return url_password(text, at);
    if (text.ptr[at] == '-')
        return at == 0 || text.ptr[at - 1] != '-' ? private_key(text, at) : no_key;
    if (!is_alnum(text.ptr[at]) || !is_start(text, at))
        return no_key;
    key = shaped_key(text, at);
    if (key.kind == NULL)
        key = web_token(text, at);
    return key.kind != NULL ? key : bearer_token(text, at);
}

struct numbers {
    struct str seen[MAX_KEYS];
    size_t count;
};

/* The number of a key: that of the same one before, or the next. */
static size_t number_of(void *data, const char *kind, struct str key)
{
    struct numbers *numbers = data;

    (void)kind;
    for (size_t i = 0; i < numbers->count && i < MAX_KEYS; i++)
        if (str_eq(numbers->seen[i], key))
            return i + 1;
    if (numbers->count < MAX_KEYS)
        numbers->seen[numbers->count] = key;
    return ++numbers->count;
}

int redact_keys(struct str text, struct buf *out)
{
    struct numbers numbers;

    numbers.count = 0;
    return redact_keys_numbered(text, number_of, &numbers, out);
}

int redact_keys_numbered(struct str text, redact_number_fn *number, void *data, struct buf *out)
{
    size_t done = 0;
    int r = 0;

    for (size_t i = 0; i < text.len && r == 0;) {
        struct key key = key_at(text, i);

        if (key.kind == NULL) {
            i++;
            continue;
        }
        r = buf_append_str(out, str_slice(text, done, key.from - done));
        if (r == 0)
            r = buf_printf(out, "[REDACTED:%s:%zu]", key.kind,
                           number(data, key.kind, str_slice(text, key.from, key.to - key.from)));
        done = key.to;
        i = key.to;
    }
    return r == 0 ? buf_append_str(out, str_slice(text, done, text.len)) : r;
}
