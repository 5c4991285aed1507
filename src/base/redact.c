/* SPDX-License-Identifier: Apache-2.0 */
#include "base/redact.h"

#include <limits.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/utf8.h"

/* Endings of names that indicate a secret. "tokens" is not among them: that is usually a count. */
static const struct str secret_words[] = {
    STR_LITERAL("token"),       STR_LITERAL("secret"),    STR_LITERAL("secrets"),
    STR_LITERAL("password"),    STR_LITERAL("passwords"), STR_LITERAL("passwd"),
    STR_LITERAL("passphrase"),  STR_LITERAL("apikey"),    STR_LITERAL("accesskey"),
    STR_LITERAL("privatekey"),  STR_LITERAL("secretkey"), STR_LITERAL("sessionkey"),
    STR_LITERAL("auth"),        STR_LITERAL("bearer"),    STR_LITERAL("authorization"),
    STR_LITERAL("credential"),  STR_LITERAL("cookie"),    STR_LITERAL("cookies"),
    STR_LITERAL("credentials"),
};

/* These may be between a name and its secret; the first two announce one without any name. */
static const struct str auth_schemes[] = {
    STR_LITERAL("bearer"), STR_LITERAL("basic"),     STR_LITERAL("token"),
    STR_LITERAL("digest"), STR_LITERAL("negotiate"),
};

/* Prefixes of our own keys, wherever they occur. */
static const struct str key_prefixes[] = {STR_LITERAL("gw_"), STR_LITERAL("sess_")};

enum {
    LONGEST_WORD = 16,
    SCHEMES_WITHOUT_NAME = 2,
    MAX_SCHEMES = 2,     /* that are skipped before one value; a row of them stays linear */
    LEAST_OF_SCHEME = 4, /* characters after "Bearer " that are no plain word */
    LEAST_OF_KEY = 8,
    LEAST_INSIDE_WORD = 16, /* "log_gw_events" may be a file name */
    PORT_DIGITS = 5,
};

/* Characters that end a value without quotes. */
static const char value_stops[] = " \t\n\v\f\r&\"',;}";

/* Half open; empty if there is nothing to hide. */
struct span {
    size_t from;
    size_t to;
};

static const struct span no_span;

static bool is_one_of(char c, const char *set)
{
    return c != '\0' && strchr(set, c) != NULL;
}

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static char fold(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

static bool is_letter(char c)
{
    return fold(c) >= 'a' && fold(c) <= 'z';
}

static bool is_key_char(char c)
{
    return is_letter(c) || is_digit(c) || is_one_of(c, "_-.~+/");
}

/* Whether `word` is right before `end`, in any case. */
static bool ends_before(struct str text, size_t end, struct str word)
{
    return end >= word.len && str_eq_nocase(str_slice(text, end - word.len, word.len), word);
}

/*
 * The secret's word at the end of a text, or NULL. "session_key", "Session-Key" and "sessionKey2"
 * are the same word.
 */
static const struct str *secret_word_at_end(struct str text)
{
    char letters[LONGEST_WORD];
    size_t first = LONGEST_WORD;
    size_t i = text.len;

    while (i > 0 && (is_digit(text.ptr[i - 1]) || is_one_of(text.ptr[i - 1], "_-.")))
        i--;
    for (; i > 0 && first > 0; i--) {
        if (is_letter(text.ptr[i - 1]))
            letters[--first] = fold(text.ptr[i - 1]);
        else if (!is_one_of(text.ptr[i - 1], "_-."))
            break;
    }
    for (size_t w = 0; w < array_size(secret_words); w++)
        if (str_ends_with((struct str){letters + first, LONGEST_WORD - first}, secret_words[w]))
            return &secret_words[w];
    return NULL;
}

/* Same for the name before the '=' or ':' that ends at `end`; both may be percent-encoded. */
static const struct str *secret_name_before(struct str text, size_t end)
{
    if (end > 0 && is_one_of(text.ptr[end - 1], "=:"))
        end--;
    else if (ends_before(text, end, STR("%3d")) || ends_before(text, end, STR("%3a")))
        end -= 3;
    else
        return NULL;
    for (;;) {
        if (end > 0 && (is_blank(text.ptr[end - 1]) || is_one_of(text.ptr[end - 1], "\"'\\")))
            end--;
        else if (ends_before(text, end, STR("%22")) || ends_before(text, end, STR("%20")))
            end -= 3;
        else
            return secret_word_at_end(str_slice(text, 0, end));
    }
}

/* Length of a scheme and the blank after it; 0 if there is none at `from`. */
static size_t scheme_length(struct str text, size_t from)
{
    for (size_t i = 0; i < array_size(auth_schemes); i++) {
        size_t end = from + auth_schemes[i].len;

        if (end < text.len && is_blank(text.ptr[end]) && ends_before(text, end, auth_schemes[i]))
            return auth_schemes[i].len + 1;
    }
    return 0;
}

/*
 * Position of the quote that closes what was opened by one after `depth` backslashes: text quoted
 * inside quoted text has its own quotes after more of them.
 */
static size_t quoted_end(struct str text, size_t from, char quote, size_t depth)
{
    size_t backslashes = 0;

    for (size_t i = from; i < text.len; i++) {
        if (text.ptr[i] == quote && backslashes % (2 * (depth + 1)) == depth)
            return i - depth;
        backslashes = text.ptr[i] == '\\' ? backslashes + 1 : 0;
    }
    return text.len;
}

/* Position after the bracket that closes the one at `from`. */
static size_t bracket_end(struct str text, size_t from)
{
    char open = text.ptr[from];
    char close = open == '[' ? ']' : '}';
    size_t depth = 0;

    for (size_t i = from; i < text.len; i++) {
        depth += text.ptr[i] == open;
        depth -= text.ptr[i] == close;
        if (depth == 0)
            return i + 1;
    }
    return text.len;
}

/* The value at `from`, without what precedes it and without its quotes. */
static struct span value_at(struct str text, size_t from, const char *stops)
{
    size_t schemes = 0;
    size_t quote;
    size_t to;

    for (;;) {
        size_t scheme = schemes < MAX_SCHEMES ? scheme_length(text, from) : 0;

        if (scheme > 0)
            schemes++;
        else if (from < text.len && (is_blank(text.ptr[from]) || is_one_of(text.ptr[from], "=:>")))
            scheme = 1;
        else
            break;
        from += scheme;
    }
    for (quote = from; quote < text.len && text.ptr[quote] == '\\';)
        quote++;
    if (quote < text.len && is_one_of(text.ptr[quote], "\"'"))
        return (struct span){quote + 1, quoted_end(text, quote + 1, text.ptr[quote], quote - from)};
    if (from < text.len && is_one_of(text.ptr[from], "[{"))
        return (struct span){from, bracket_end(text, from)};
    for (to = from; to < text.len && !is_one_of(text.ptr[to], stops);)
        to++;
    return (struct span){from, to};
}

/* The value after a secret's name that ends, with its '=' or ':', at `at`. */
static struct span named_secret(struct str text, size_t at)
{
    const struct str *word = secret_name_before(text, at);

    if (word == NULL)
        return no_span;
    /* A header holds many cookies. */
    return value_at(text, at, str_starts_with(*word, STR("cookie")) ? "\r\n\"'" : value_stops);
}

/* What follows "Bearer" or "Basic". */
static struct span scheme_secret(struct str text, size_t at)
{
    for (size_t i = 0; i < SCHEMES_WITHOUT_NAME && is_blank(text.ptr[at]); i++) {
        struct span value;

        if (!ends_before(text, at, auth_schemes[i]))
            continue;
        value = value_at(text, at, value_stops);
        if (value.to - value.from >= LEAST_OF_SCHEME || value.to == text.len)
            return value;
    }
    return no_span;
}

/*
 * What follows gw_ or sess_: the random part of our own key. Inside a word it may be a part of a
 * file's name, which is short and ends with a slash. The text may have been cut.
 */
static struct span key_secret(struct str text, size_t at)
{
    for (size_t i = 0; i < array_size(key_prefixes); i++) {
        size_t to = at;
        size_t start;
        bool is_inside;
        size_t least;

        if (!ends_before(text, at, key_prefixes[i]))
            continue;
        start = at - key_prefixes[i].len;
        is_inside = start > 0 && is_key_char(text.ptr[start - 1]) && text.ptr[start - 1] != '/';
        while (to < text.len && is_key_char(text.ptr[to]) && !(is_inside && text.ptr[to] == '/'))
            to++;
        if (to == text.len)
            least = is_inside ? LEAST_OF_KEY : 0;
        else
            least = is_inside ? LEAST_INSIDE_WORD : LEAST_OF_KEY;
        if (to - at >= least)
            return (struct span){at, to};
    }
    return no_span;
}

/* The password in "://user:password@", whose "://" ends at `from`. */
static struct span url_password(struct str text, size_t from)
{
    size_t colon = SIZE_MAX;
    size_t at_sign = SIZE_MAX;
    size_t digits = 0;
    bool is_in_host = true;
    size_t i;

    if (from < text.len && text.ptr[from] == '[')
        return no_span;
    /* Up to the next URL at most, so that a row of them is read once. */
    for (i = from; i < text.len && !is_blank(text.ptr[i]) && !is_one_of(text.ptr[i], "\"<>"); i++) {
        char c = text.ptr[i];

        if (c == ':' && str_starts_with(str_slice(text, i, text.len), STR("://")))
            break;
        if (is_one_of(c, "/?#")) {
            if (colon == SIZE_MAX || at_sign != SIZE_MAX)
                break;
            is_in_host = false;
        }
        if (c == ':' && colon == SIZE_MAX)
            colon = i;
        if (c == '@')
            at_sign = i;
        /* A password may contain an '@', but not after a slash. */
        if (c == '@' && !is_in_host)
            break;
    }
    if (colon == SIZE_MAX || (at_sign != SIZE_MAX && at_sign < colon))
        return no_span;
    if (at_sign != SIZE_MAX && is_in_host)
        return (struct span){colon + 1, at_sign};
    while (colon + 1 + digits < i && is_digit(text.ptr[colon + 1 + digits]))
        digits++;
    if (digits <= PORT_DIGITS &&
        (colon + 1 + digits == i || is_one_of(text.ptr[colon + 1 + digits], "/?#,;')]}.")))
        return no_span;
    if (at_sign != SIZE_MAX)
        return (struct span){colon + 1, at_sign};
    /* A cut may have taken the '@'. */
    return is_in_host && i == text.len ? (struct span){colon + 1, i} : no_span;
}

/* The secret announced by what ends at `at`. */
static struct span secret_behind(struct str text, size_t at)
{
    switch (fold(text.ptr[at - 1])) {
    case 'd': /* %3D */
    case 'a': /* %3A */
        if (at < 2 || text.ptr[at - 2] != '3')
            return no_span;
        return named_secret(text, at);
    case '=':
    case ':':
        return named_secret(text, at);
    case '_':
        return key_secret(text, at);
    case 'r':
    case 'c':
        return scheme_secret(text, at);
    default:
        return no_span;
    }
}

/* What stands before and behind a character. */
enum { ANYTHING = 1, A_3 = 2, W_OR_S = 4, SLASH = 8, BLANK = 16 };

static const unsigned char kinds[UCHAR_MAX + 1] = {
    ['3'] = A_3,   ['W'] = W_OR_S, ['w'] = W_OR_S, ['S'] = W_OR_S, ['s'] = W_OR_S, ['/'] = SLASH,
    [' '] = BLANK, ['\t'] = BLANK, ['\n'] = BLANK, ['\v'] = BLANK, ['\f'] = BLANK, ['\r'] = BLANK,
};

/*
 * What may announce a secret ends with one of these, between such others: see secret_behind(); the
 * slash ends "://".
 */
static const struct {
    unsigned char before;
    unsigned char behind;
} announces[UCHAR_MAX + 1] = {
    ['='] = {.before = ANYTHING}, [':'] = {.before = ANYTHING}, ['D'] = {.before = A_3},
    ['d'] = {.before = A_3},      ['A'] = {.before = A_3},      ['a'] = {.before = A_3},
    ['_'] = {.before = W_OR_S},   ['/'] = {.before = SLASH},    ['R'] = {.behind = BLANK},
    ['r'] = {.behind = BLANK},    ['C'] = {.behind = BLANK},    ['c'] = {.behind = BLANK},
};

/* The first place from `from` on with one of these before it; `to` if there is none. */
static size_t next_announced(struct str text, size_t from, size_t to)
{
    const unsigned char *bytes = (const unsigned char *)text.ptr;
    unsigned before = ANYTHING;

    from += from == 0;
    if (from >= 2 && from < to)
        before |= kinds[bytes[from - 2]];
    for (; from < to; from++) {
        unsigned char last = bytes[from - 1];

        if (((announces[last].before & before) | (announces[last].behind & kinds[bytes[from]])) !=
            0)
            return from;
        before = ANYTHING | kinds[last];
    }
    return to;
}

/*
 * Everything that announces a secret comes before it, so what was scanned once is decided, and the
 * search continues after what was hidden.
 */
int redact_cut(struct str text, size_t max, struct buf *out, size_t *out_used)
{
    struct span url = no_span;
    size_t done = 0;
    struct str rest;
    int r = 0;

    for (size_t i = 0; i < text.len && i - done <= max;) {
        size_t end = max < text.len - done ? done + max + 1 : text.len;
        struct span secret;
        struct str before;

        if (i < url.from || i >= url.to)
            i = next_announced(text, i, i < url.from && url.from < end ? url.from : end);
        if (i == end)
            continue;
        secret = secret_behind(text, i);
        if (ends_before(text, i, STR("://")))
            url = url_password(text, i);
        if (secret.from == secret.to && i >= url.from && i < url.to)
            secret = (struct span){i, url.to};
        if (secret.from == secret.to) {
            i++;
            continue;
        }
        i = secret.to;
        before = str_slice(text, done, secret.from - done);
        /* Directly after the last one it is redundant. */
        if (before.len > 0 || done == 0) {
            if (before.len + STR(REDACT_MARK).len > max) {
                text = str_slice(text, 0, secret.from);
                break;
            }
            r = buf_append_str(out, before);
            if (r == 0)
                r = buf_append_str(out, STR(REDACT_MARK));
            if (r < 0)
                return r;
            max -= before.len + STR(REDACT_MARK).len;
        }
        done = secret.to;
    }
    rest = utf8_cut(str_slice(text, done, text.len), max);
    r = buf_append_str(out, rest);
    if (r == 0)
        *out_used = done + rest.len;
    return r;
}

int redact_all(struct str text, struct buf *out)
{
    size_t used;

    return redact_cut(text, SIZE_MAX, out, &used);
}

bool redact_names_secret(struct str name)
{
    return secret_word_at_end(name) != NULL;
}
