/* SPDX-License-Identifier: Apache-2.0 */
#include "permission/rules/form.h"

#include <arpa/inet.h>

#include "base/cleanup.h"

/* ---- Paths ---- */

/* Already normalised: most are, and need no copy. */
static bool is_formed(struct str path)
{
    struct str rest = path;

    if (path.len == 0)
        return true;
    if (path.len >= PATH_MAX - 1 || path.ptr[path.len - 1] == '/' || str_has_nul(path))
        return false;
    while (rest.len > 0) {
        struct str part = path_take(&rest);

        if (part.len == 0 || part.len > NAME_MAX || str_eq(part, STR(".")) ||
            str_eq(part, STR("..")))
            return false;
    }
    return true;
}

static bool goes_back(struct str path)
{
    struct str part;

    while (str_cut(&path, '/', &part))
        if (str_eq(part, STR("..")))
            return true;
    return false;
}

bool form_path(struct str given, bool may_go_back, struct path_name *room, struct str *out_path)
{
    struct str below;

    if (given.len == 0 || given.ptr[0] != '/')
        return false;
    below = str_slice(given, 1, given.len);
    if (is_formed(below)) {
        *out_path = below;
        return true;
    }
    if ((!may_go_back && goes_back(given)) || path_normalise(given, "/", false, room) < 0)
        return false;
    *out_path = path_view(room);
    return true;
}

/* ---- Hosts ---- */

static bool write_ipv4(const struct in_addr *address, struct form_host *out_host)
{
    if (inet_ntop(AF_INET, address, out_host->text, INET_ADDRSTRLEN) == NULL)
        return false;
    out_host->len = strlen(out_host->text);
    out_host->is_address = true;
    return true;
}

static bool form_ipv6(struct str text, struct form_host *out_host)
{
    char plain[INET6_ADDRSTRLEN];
    struct in6_addr address;
    struct in_addr mapped;

    if (text.len >= sizeof(plain) || str_has_nul(text))
        return false;
    memcpy(plain, text.ptr, text.len);
    plain[text.len] = '\0';
    if (inet_pton(AF_INET6, plain, &address) != 1)
        return false;
    /* ::ffff:127.0.0.1 leads to 127.0.0.1. */
    if (IN6_IS_ADDR_V4MAPPED(&address)) {
        memcpy(&mapped, &address.s6_addr[12], sizeof(mapped));
        return write_ipv4(&mapped, out_host);
    }
    if (inet_ntop(AF_INET6, &address, out_host->text + 1, INET6_ADDRSTRLEN) == NULL)
        return false;
    out_host->len = strlen(out_host->text + 1) + 2;
    out_host->text[0] = '[';
    out_host->text[out_host->len - 1] = ']';
    out_host->is_address = true;
    return true;
}

/* Browsers take a host whose last label is a number for an address, in any old notation. */
static bool form_ipv4(struct form_host *host)
{
    char plain[FORM_HOST_MAX_BYTES + 1];
    struct in_addr address;

    memcpy(plain, host->text, host->len);
    plain[host->len] = '\0';
    return inet_aton(plain, &address) != 0 && write_ipv4(&address, host);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_hex(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f');
}

static bool is_number(struct str label)
{
    bool is_decimal = label.len > 0;
    bool is_hexadecimal = label.len >= 2 && label.ptr[0] == '0' && label.ptr[1] == 'x';

    for (size_t i = 0; i < label.len; i++) {
        is_decimal = is_decimal && is_digit(label.ptr[i]);
        is_hexadecimal = is_hexadecimal && (i < 2 || is_hex(label.ptr[i]));
    }
    return is_decimal || is_hexadecimal;
}

/* Lower case, and only labels of letters, digits, "-" and "_". */
static bool form_labels(struct str text, struct form_host *out_host)
{
    size_t label_start = 0;

    if (text.len == 0 || text.len > FORM_HOST_MAX_BYTES)
        return false;
    for (size_t i = 0; i <= text.len; i++) {
        char c = i < text.len ? text.ptr[i] : '.';

        if (c == '.') {
            if (i == label_start || i - label_start > FORM_LABEL_MAX_BYTES)
                return false;
            label_start = i + 1;
        } else if (c >= 'A' && c <= 'Z') {
            c = (char)(c - 'A' + 'a');
        } else if (!is_digit(c) && !(c >= 'a' && c <= 'z') && c != '-' && c != '_') {
            return false;
        }
        out_host->text[i] = c;
    }
    out_host->len = text.len;
    out_host->is_address = false;
    return true;
}

static bool is_port(struct str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (!is_digit(text.ptr[i]))
            return false;
    return text.len > 0 && text.len <= 5;
}

/* "[::1]", with or without a port. */
static bool form_bracketed(struct str given, struct form_host *out_host)
{
    const char *close = memchr(given.ptr, ']', given.len);
    struct str inside, behind;

    if (close == NULL)
        return false;
    inside = (struct str){given.ptr + 1, (size_t)(close - given.ptr) - 1};
    behind = str_slice(given, inside.len + 2, given.len);
    if (behind.len > 0 && (behind.ptr[0] != ':' || !is_port(str_slice(behind, 1, behind.len))))
        return false;
    return form_ipv6(inside, out_host);
}

static bool form_name(struct str name, struct form_host *out_host)
{
    const char *dot;
    size_t last;

    if (name.len > 1 && name.ptr[name.len - 1] == '.')
        name.len--;
    if (!form_labels(name, out_host))
        return false;
    dot = memrchr(out_host->text, '.', out_host->len);
    last = dot == NULL ? 0 : (size_t)(dot - out_host->text) + 1;
    return !is_number((struct str){out_host->text + last, out_host->len - last}) ||
           form_ipv4(out_host);
}

bool form_host(struct str given, struct form_host *out_host)
{
    size_t colon = str_find(given, STR(":"));

    if (given.len > 0 && given.ptr[0] == '[')
        return form_bracketed(given, out_host);
    if (colon == SIZE_MAX)
        return form_name(given, out_host);
    if (is_port(str_slice(given, colon + 1, given.len)))
        return form_name(str_slice(given, 0, colon), out_host);
    return form_ipv6(given, out_host);
}

/* ---- Commands ---- */

static bool is_redirection(char c)
{
    return c == '<' || c == '>';
}

/* Shell characters that end a word without a blank. */
static bool is_operator(char c)
{
    return c == '|' || c == ';' || c == '&' || c == '`' || c == '\n' || c == '<' || c == '>' ||
           c == '(' || c == ')';
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

bool form_is_plain_command(struct str command)
{
    for (size_t i = 0; i < command.len; i++) {
        char c = command.ptr[i];
        bool is_expansion = i > 0 && command.ptr[i - 1] == '$';

        /* "%(refname)" is an argument like any other; "$(" and "${ " run commands. */
        if (c == '(' || c == ')' || c == '{') {
            if (is_expansion)
                return false;
        } else if (is_operator(c) || c == '\r' || c == '\0') {
            return false;
        }
    }
    return true;
}

/* Builtins that take variable names or arithmetic, and evaluate the subscripts in these. */
static const char *const evaluating_builtins[] = {
    "[",      "[[",   "declare",   "export",   "getopts", "let",     "local", "mapfile",
    "printf", "read", "readarray", "readonly", "test",    "typeset", "unset", "wait",
};

/* An assignment, an option, or a word of bash after which a builtin is still one. */
static bool stands_before_builtin(struct str word)
{
    static const char *const words[] = {"!", "builtin", "command", "coproc", "time"};

    return str_index(word, words, array_size(words)) != SIZE_MAX ||
           (word.len > 0 && (word.ptr[0] == '-' || memchr(word.ptr, '=', word.len) != NULL));
}

/*
 * Brackets, or what may become some: a file name found by a pattern, `{Y..a..2}`, `$'\x5b'`, and a
 * variable, since $PWD is a name that a command may have chosen.
 */
static bool may_become_subscript(struct str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] != '\0' && strchr("[*?{$", text.ptr[i]) != NULL)
            return true;
    return false;
}

bool form_evaluates(struct str command)
{
    __attribute__((uninitialized)) struct form_words words;
    struct str word;

    if (str_find(command, STR("$[")) != SIZE_MAX)
        return true;
    form_words_init(&words, command, true);
    do {
        if (!form_words_next(&words, &word))
            return false;
    } while (stands_before_builtin(word));
    return str_index(word, evaluating_builtins, array_size(evaluating_builtins)) != SIZE_MAX &&
           may_become_subscript(words.rest);
}

void form_words_init(struct form_words *words, struct str command, bool is_loose)
{
    words->rest = command;
    words->is_loose = is_loose;
    words->is_first = true;
    words->begins_command = false;
    words->is_redirected = false;
}

static struct str take_plain_word(struct str *rest)
{
    struct str word = {rest->ptr, 0};

    while (word.len < rest->len && !is_blank(rest->ptr[word.len]))
        word.len++;
    *rest = str_slice(*rest, word.len, rest->len);
    return word;
}

/* A backslash at the end of a line: shells join it with the next one. */
static bool is_joint(struct str text, size_t at)
{
    return text.ptr[at] == '\\' && at + 1 < text.len && text.ptr[at + 1] == '\n';
}

static struct str take_loose_word(struct form_words *words)
{
    struct str *rest = &words->rest;
    size_t len = 0;
    size_t i = 0;

    for (; i < rest->len; i++) {
        char c = rest->ptr[i];

        if (is_joint(*rest, i)) {
            i++;
            continue;
        }
        if (is_blank(c) || is_operator(c))
            break;
        if (c == '\'' || c == '"' || c == '\\' || (c == '$' && len == 0))
            continue;
        if (len < sizeof(words->room))
            words->room[len++] = c;
    }
    *rest = str_slice(*rest, i, rest->len);
    return (struct str){words->room, len};
}

static bool is_descriptor(const struct form_words *words, struct str word)
{
    return words->rest.len > 0 && is_redirection(words->rest.ptr[0]) && is_number(word);
}

bool form_words_next(struct form_words *words, struct str *out_word)
{
    struct str *rest = &words->rest;

    words->begins_command = words->is_first;
    words->is_redirected = false;
    words->is_first = false;
    while (rest->len > 0) {
        char c = rest->ptr[0];
        size_t len = 1;

        if (words->is_loose && is_joint(*rest, 0)) {
            len = 2;
        } else if (words->is_loose && is_operator(c)) {
            words->is_redirected = words->is_redirected || is_redirection(c);
            words->begins_command = words->begins_command || !is_redirection(c);
        } else if (!is_blank(c)) {
            break;
        }
        *rest = str_slice(*rest, len, rest->len);
    }
    if (rest->len == 0)
        return false;
    *out_word = words->is_loose ? take_loose_word(words) : take_plain_word(rest);
    if (words->is_loose && is_descriptor(words, *out_word))
        words->is_redirected = true;
    return true;
}

struct str form_program(struct str word, struct path_name *room)
{
    struct str below;

    if (!form_path(word, true, room, &below) || below.ptr != room->text ||
        below.len + 1 >= sizeof(room->text))
        return word;
    memmove(room->text + 1, below.ptr, below.len);
    room->text[0] = '/';
    return (struct str){room->text, below.len + 1};
}

/* ---- the screen ---- */

bool form_screen(struct str resource)
{
    return str_eq(resource, STR("*")) || str_eq(resource, STR("screenshot")) ||
           str_eq(resource, STR("mouse-keyboard"));
}
