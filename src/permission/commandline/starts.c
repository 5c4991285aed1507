/* SPDX-License-Identifier: Apache-2.0 */
#include "permission/commandline/starts.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* The longest word of the table. */
enum { NAME_ROOM = 24 };

enum word_kind { RESERVED, RUNNER, SHELL };

struct known_word {
    const char *name;
    enum word_kind kind;
    unsigned operands;
};

/* Sorted by strcmp(). */
static const struct known_word known_words[] = {
    {"!", RESERVED, 0},
    {"ash", SHELL, 0},
    {"bash", SHELL, 0},
    {"builtin", RUNNER, 0},
    {"busybox", RUNNER, 0},
    {"chpst", RUNNER, 0},
    {"chroot", RUNNER, 1},
    {"chrt", RUNNER, 1},
    {"command", RUNNER, 0},
    {"coproc", RUNNER, 1},
    {"cpulimit", RUNNER, 0},
    {"dash", SHELL, 0},
    {"dbus-run-session", RUNNER, 0},
    {"do", RESERVED, 0},
    {"doas", RUNNER, 0},
    {"elif", RESERVED, 0},
    {"else", RESERVED, 0},
    {"env", RUNNER, 0},
    {"eval", RUNNER, 0},
    {"exec", RUNNER, 0},
    {"faketime", RUNNER, 1},
    {"fakeroot", RUNNER, 0},
    {"flock", RUNNER, 1},
    {"function", RUNNER, 1},
    {"gdb", RUNNER, 0},
    {"if", RESERVED, 0},
    {"ionice", RUNNER, 0},
    {"ksh", SHELL, 0},
    {"linux32", RUNNER, 0},
    {"linux64", RUNNER, 0},
    {"ltrace", RUNNER, 0},
    {"mksh", SHELL, 0},
    {"nice", RUNNER, 0},
    {"nocorrect", RUNNER, 0},
    {"noglob", RUNNER, 0},
    {"nohup", RUNNER, 0},
    {"nsenter", RUNNER, 0},
    {"numactl", RUNNER, 0},
    {"parallel", RUNNER, 0},
    {"pkexec", RUNNER, 0},
    {"prlimit", RUNNER, 0},
    {"rlwrap", RUNNER, 0},
    {"runuser", RUNNER, 1},
    {"script", SHELL, 0},
    {"setarch", RUNNER, 1},
    {"setpriv", RUNNER, 0},
    {"setsid", RUNNER, 0},
    {"sh", SHELL, 0},
    {"stdbuf", RUNNER, 0},
    {"strace", RUNNER, 0},
    {"su", SHELL, 1},
    {"sudo", RUNNER, 0},
    {"systemd-run", RUNNER, 0},
    {"taskset", RUNNER, 1},
    {"then", RESERVED, 0},
    {"time", RUNNER, 0},
    {"timeout", RUNNER, 1},
    {"toybox", RUNNER, 0},
    {"trap", RUNNER, 0},
    {"unbuffer", RUNNER, 0},
    {"unshare", RUNNER, 0},
    {"until", RESERVED, 0},
    {"watch", RUNNER, 0},
    {"while", RESERVED, 0},
    {"xargs", RUNNER, 0},
    {"xvfb-run", RUNNER, 0},
    {"zsh", SHELL, 0},
    {"{", RESERVED, 0},
};

/* Arguments of a program that a command follows. */
static const char *const starting_options[] = {"-exec", "-execdir", "-ok", "-okdir"};

/* ---- characters ---- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static bool is_redirection(char c)
{
    return c == '<' || c == '>';
}

static bool is_operator(char c)
{
    return c != '\0' && strchr("|;&`\n()", c) != NULL;
}

static bool is_joint(struct str text, size_t at)
{
    return text.ptr[at] == '\\' && at + 1 < text.len && text.ptr[at + 1] == '\n';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_name_character(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || is_digit(c);
}

/* ---- words ---- */

/* A word without its quotes and, for a path, its directory; as much as fits. */
struct bare_word {
    char text[NAME_ROOM];
    size_t len;
    bool is_whole;
    bool has_slash;
};

static size_t word_length(struct str text)
{
    size_t len = 0;

    while (len < text.len) {
        if (is_joint(text, len))
            len++;
        else if (is_blank(text.ptr[len]) || is_operator(text.ptr[len]) ||
                 is_redirection(text.ptr[len]))
            break;
        len++;
    }
    return len;
}

static void strip(struct str word, struct bare_word *out_bare)
{
    out_bare->len = 0;
    out_bare->is_whole = true;
    out_bare->has_slash = false;
    for (size_t i = 0; i < word.len; i++) {
        char c = word.ptr[i];

        if (c == '\'' || c == '"' || c == '\\' || c == '\n' || (c == '$' && out_bare->len == 0))
            continue;
        if (c == '/') {
            out_bare->len = 0;
            out_bare->is_whole = true;
            out_bare->has_slash = true;
        } else if (out_bare->len + 1 < sizeof(out_bare->text)) {
            out_bare->text[out_bare->len++] = c;
        } else {
            out_bare->is_whole = false;
        }
    }
    out_bare->text[out_bare->len] = '\0';
}

static int compare_known(const void *name, const void *known)
{
    return strcmp(name, ((const struct known_word *)known)->name);
}

static const struct known_word *find_known(const struct bare_word *bare)
{
    const struct known_word *known;

    if (!bare->is_whole || bare->len == 0)
        return NULL;
    known = bsearch(bare->text, known_words, array_size(known_words), sizeof(known_words[0]),
                    compare_known);
    return known != NULL && bare->has_slash && known->kind == RESERVED ? NULL : known;
}

/* NAME=, NAME+= and NAME[, quoted or not: env accepts them. */
static bool is_assignment(struct str word)
{
    size_t at = 0;
    size_t len = 0;

    while (at < word.len && (word.ptr[at] == '\'' || word.ptr[at] == '"'))
        at++;
    while (at + len < word.len && is_name_character(word.ptr[at + len]))
        len++;
    if (len == 0 || is_digit(word.ptr[at]) || at + len == word.len)
        return false;
    return word.ptr[at + len] == '=' || word.ptr[at + len] == '[' ||
           (word.ptr[at + len] == '+' && at + len + 1 < word.len && word.ptr[at + len + 1] == '=');
}

/* "2" of "2>x", "{fd}" of "{fd}>x". */
static bool is_descriptor(struct str word)
{
    if (word.ptr[0] == '{')
        return word.ptr[word.len - 1] == '}';
    for (size_t i = 0; i < word.len; i++)
        if (!is_digit(word.ptr[i]))
            return false;
    return true;
}

/* The quote that is open after the word: the character that closes it, or '$' for "$'". */
static char quote_behind(struct str word, char quote)
{
    for (size_t i = 0; i < word.len; i++) {
        char c = word.ptr[i];
        char next = i + 1 < word.len ? word.ptr[i + 1] : '\0';

        if (c == '\\' && quote != '\'') {
            i++;
        } else if (quote != '\0') {
            if (c == (quote == '$' ? '\'' : quote))
                quote = '\0';
        } else if (c == '$' && (next == '\'' || next == '{')) {
            quote = next == '{' ? '}' : '$';
            i++;
        } else if (c == '\'' || c == '"') {
            quote = c;
        }
    }
    return quote;
}

/* ---- the head of a command ---- */

static void begin(struct command_starts *starts)
{
    starts->is_head = true;
    starts->is_runner = false;
    starts->is_shell = false;
    starts->may_be_value = false;
    starts->operands = 0;
}

static void take_known(struct command_starts *starts, const struct known_word *known)
{
    begin(starts);
    starts->is_runner = known->kind != RESERVED;
    starts->is_shell = known->kind == SHELL;
    starts->operands = known->operands;
}

static void take_option(struct command_starts *starts, struct str word)
{
    bool is_long = word.len > 1 && word.ptr[1] == '-';

    /* After -c comes the command, not a value. */
    starts->may_be_value =
        !(starts->is_shell && !is_long && memchr(word.ptr, 'c', word.len) != NULL);
}

/* A word of the head was read: does the head continue after it? */
static void pass(struct command_starts *starts, struct str word, bool is_target)
{
    bool was_in_quote = starts->quote != '\0';
    const struct known_word *known;
    struct bare_word bare;

    starts->quote = quote_behind(word, starts->quote);
    if (was_in_quote || is_target || is_assignment(word))
        return;
    strip(word, &bare);
    known = find_known(&bare);
    if (known != NULL) {
        take_known(starts, known);
    } else if (starts->is_runner && bare.len > 0 && bare.text[0] == '-' && !bare.has_slash) {
        take_option(starts, word);
    } else if (starts->may_be_value) {
        starts->may_be_value = false;
    } else if (starts->operands > 0) {
        starts->operands--;
    } else if (starts->rest.len == 0 || !is_redirection(starts->rest.ptr[0]) ||
               !is_descriptor(word)) {
        starts->is_head = false;
        starts->quote = '\0';
    }
}

/* ---- the line ---- */

/* ">&2" and ">|x" still need their target. */
static void begin_behind(struct command_starts *starts, char operator)
{
    begin(starts);
    starts->is_target = starts->is_target && (operator== '&' || operator== '|');
}

/* Advances to the next word. False: there is none. */
static bool go_to_word(struct command_starts *starts)
{
    struct str *rest = &starts->rest;

    while (rest->len > 0) {
        size_t len = 1;

        if (is_joint(*rest, 0))
            len = 2;
        else if (is_redirection(rest->ptr[0]))
            starts->is_target = true;
        else if (is_operator(rest->ptr[0]))
            begin_behind(starts, rest->ptr[0]);
        else if (!is_blank(rest->ptr[0]))
            return true;
        *rest = str_slice(*rest, len, rest->len);
    }
    return false;
}

void command_starts_init(struct command_starts *starts, struct str command)
{
    *starts = (struct command_starts){.rest = command, .is_head = true};
}

bool command_starts_next(struct command_starts *starts, struct str *out_text)
{
    while (go_to_word(starts)) {
        struct str text = starts->rest;
        struct str word = str_slice(text, 0, word_length(text));
        bool is_target = starts->is_target;

        starts->rest = str_slice(text, word.len, text.len);
        starts->is_target = false;
        if (starts->is_head) {
            pass(starts, word, is_target);
            *out_text = text;
            return true;
        }
        if (str_index(word, starting_options, array_size(starting_options)) != SIZE_MAX)
            begin(starts);
    }
    return false;
}
