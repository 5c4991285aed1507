/* SPDX-License-Identifier: Apache-2.0 */
#include "permission/commandline/words.h"

#include "base/cleanup.h"

/* ---- characters ---- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_one_of(char c, const char *set)
{
    return c != '\0' && strchr(set, c) != NULL;
}

bool command_is_compound(struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        char next = i + 1 < text.len ? text.ptr[i + 1] : '\0';

        if (c == '\0' || is_one_of(c, "|;&`\n\r") || (next == '(' && is_one_of(c, "$<>")))
            return true;
    }
    return false;
}

bool command_is_bare_name(struct str text)
{
    if (text.len == 0 || is_one_of(text.ptr[0], "-+"))
        return false;
    for (size_t i = 0; i < text.len; i++)
        if (!is_letter(text.ptr[i]) && !is_digit(text.ptr[i]) && !is_one_of(text.ptr[i], "./-+,:@"))
            return false;
    return true;
}

bool command_is_bare_option(struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];

        if (c == '{' && i + 1 < text.len && text.ptr[i + 1] == '}')
            i++;
        else if (!is_letter(c) && !is_digit(c) && !is_one_of(c, "./-+,:@=%"))
            return false;
    }
    return text.len > 0;
}

/* ---- splitting ---- */

/* Length of the expansion at a dollar; 0 if it is more than a variable's name. */
static size_t expansion_length(struct str text, size_t at, bool is_quoted)
{
    size_t end = at + 1;
    bool has_brace = end < text.len && text.ptr[end] == '{';

    if (has_brace)
        end++;
    while (end < text.len && (is_letter(text.ptr[end]) || is_digit(text.ptr[end])))
        end++;
    if (has_brace)
        return end < text.len && text.ptr[end] == '}' && end > at + 2 ? end + 1 - at : 0;
    /* $'…' and $"…" are quotes in some shells; $[…] counts in some. */
    if (end == at + 1 && end < text.len &&
        (text.ptr[end] == '[' || (!is_quoted && is_one_of(text.ptr[end], "'\""))))
        return 0;
    return end - at;
}

/* Position after the quote that begins at `at`; 0 if it does not end. */
static size_t skip_quote(struct str text, size_t at, struct command_word *word)
{
    char quote = text.ptr[at];

    for (size_t i = at + 1; i < text.len; i++) {
        if (text.ptr[i] == quote)
            return i + 1;
        if (quote == '\'')
            continue;
        if (text.ptr[i] == '\\') {
            i++;
        } else if (text.ptr[i] == '$') {
            size_t len = expansion_length(text, i, true);

            if (len == 0)
                return 0;
            word->has_expansion = true;
            i += len - 1;
        }
    }
    return 0;
}

/* Position after the character or the quoted part at `at`; 0 if it is odd. */
static size_t skip_part(struct str text, size_t at, struct command_word *word)
{
    char c = text.ptr[at];
    size_t len;

    switch (c) {
    case '\'':
    case '"':
        return skip_quote(text, at, word);
    case '\\':
        return at + 1 < text.len ? at + 2 : 0;
    case '$':
        len = expansion_length(text, at, false);
        word->has_expansion = true;
        return len > 0 ? at + len : 0;
    case '(':
    case ')':
        return 0;
    case '<':
    case '>':
        word->has_redirection = true;
        return at + 1;
    default:
        if (is_one_of(c, "*?[]{}~"))
            word->has_pattern = true;
        return at + 1;
    }
}

enum command_split command_next_word(struct str *rest, struct command_word *out_word)
{
    struct command_word word = {0};
    size_t start = 0;
    size_t end;

    while (start < rest->len && is_blank(rest->ptr[start]))
        start++;
    if (start == rest->len)
        return COMMAND_END;
    if (rest->ptr[start] == '#') /* a comment, or not: that depends on the shell's options */
        return COMMAND_ODD;
    for (end = start; end < rest->len && !is_blank(rest->ptr[end]);) {
        end = skip_part(*rest, end, &word);
        if (end == 0)
            return COMMAND_ODD;
    }
    word.text = str_slice(*rest, start, end - start);
    *rest = str_slice(*rest, end, rest->len);
    *out_word = word;
    return COMMAND_WORD;
}

/* ---- wrappers ---- */

/*
 * Options omitted on purpose, so that a command with them keeps its whole text: those that run a
 * shell or an editor (sudo -s -i -e), go elsewhere (sudo -D -R -h, env -C), split a text (env -S),
 * take all variables away (env -i),
 * read arguments or write results somewhere (xargs -a, time -o), name the program in another way
 * (env -a), or run nothing.
 */
static const struct command_wrapper wrappers[] = {
    {
        .name = STR_LITERAL("doas"),
        .flags = "n",
        .values = "au",
    },
    {
        .name = STR_LITERAL("env"),
        .flags = "v",
        .values = "u",
        .long_flags = (const char *const[]){"debug", NULL},
        .long_maybe =
            (const char *const[]){"block-signal", "default-signal", "ignore-signal", NULL},
        .long_values = (const char *const[]){"unset", NULL},
        .unsets = true,
        .takes_assignments = true,
    },
    {
        .name = STR_LITERAL("nice"),
        .values = "n",
        .long_values = (const char *const[]){"adjustment", NULL},
        .has_numbers = true,
    },
    {
        .name = STR_LITERAL("nohup"),
    },
    {
        .name = STR_LITERAL("sudo"),
        .flags = "ABbEHknNPS",
        .values = "aCcgprTtu",
        .long_flags =
            (const char *const[]){"askpass", "background", "bell", "no-update", "non-interactive",
                                  "preserve-groups", "reset-timestamp", "set-home", "stdin", NULL},
        .long_maybe = (const char *const[]){"preserve-env", NULL},
        .long_values = (const char *const[]){"auth-type", "close-from", "command-timeout", "group",
                                             "login-class", "prompt", "role", "type", "user", NULL},
        .takes_assignments = true,
    },
    {
        /* A word of bash that knows -p alone, and a program elsewhere. */
        .name = STR_LITERAL("time"),
        .flags = "pqv",
        .values = "f",
        .long_flags = (const char *const[]){"portability", "quiet", "verbose", NULL},
        .long_values = (const char *const[]){"format", NULL},
    },
    {
        .name = STR_LITERAL("xargs"),
        .flags = "0oprtx",
        .values = "dEILnPs",
        .attached = "eil",
        .long_flags = (const char *const[]){"exit", "interactive", "no-run-if-empty", "null",
                                            "open-tty", "verbose", NULL},
        .long_maybe = (const char *const[]){"eof", "max-lines", "replace", NULL},
        .long_values =
            (const char *const[]){"delimiter", "max-args", "max-chars", "max-procs", NULL},
        .is_fed = true,
    },
};

const struct command_wrapper *command_find_wrapper(struct str name)
{
    for (size_t i = 0; i < array_size(wrappers); i++)
        if (str_eq(wrappers[i].name, name))
            return &wrappers[i];
    return NULL;
}

/* ---- names ---- */

struct str command_assigned_name(struct str text)
{
    size_t len = 0;

    while (len < text.len && (is_letter(text.ptr[len]) || is_digit(text.ptr[len])))
        len++;
    if (len == 0 || len == text.len || text.ptr[len] != '=' || is_digit(text.ptr[0]))
        return STR_EMPTY;
    return str_slice(text, 0, len);
}

/*
 * Language, time zone, colours and the size of the terminal: what they change is how a program
 * shows things. By the whole name, but for LC_, since a name too many would be a hole.
 */
static const char *const harmless_names[] = {
    "CARGO_TERM_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLORTERM", "COLUMNS", "FORCE_COLOR", "LANG",
    "LANGUAGE",         "LINES",    "NO_COLOR",       "PY_COLORS", "TERM",    "TZ",
};

bool command_is_harmless_variable(struct str name)
{
    return str_index(name, harmless_names, array_size(harmless_names)) != SIZE_MAX ||
           str_starts_with(name, STR("LC_"));
}

/* A path could be one to a catalogue of messages or another file that the agent has written. */
bool command_is_harmless_assignment(struct str name, struct str value)
{
    bool is_zone = str_eq_c(name, "TZ");

    if (!command_is_harmless_variable(name))
        return false;
    for (size_t i = 0; i < value.len; i++) {
        char c = value.ptr[i];
        bool is_slash = is_zone && c == '/' && i > 0 && value.ptr[i - 1] != '.';

        if (!is_letter(c) && !is_digit(c) && !is_slash &&
            !is_one_of(c, is_zone ? "+-,." : "+-,.@:="))
            return false;
    }
    return true;
}

bool command_reads_any_variable(struct str program)
{
    static const char *const names[] = {"bmake", "gmake", "make"};
    const char *slash = program.len == 0 ? NULL : memrchr(program.ptr, '/', program.len);

    if (slash != NULL)
        program = str_slice(program, (size_t)(slash + 1 - program.ptr), program.len);
    return str_index(program, names, array_size(names)) != SIZE_MAX;
}

static const char *const shell_words[] = {
    "!",        ".",        "..",     "alias",   "bind",   "builtin", "case",   "command",
    "compgen",  "complete", "coproc", "declare", "do",     "done",    "elif",   "else",
    "enable",   "esac",     "eval",   "exec",    "export", "fc",      "fi",     "for",
    "function", "hash",     "if",     "in",      "local",  "mapfile", "noglob", "readarray",
    "readonly", "select",   "set",    "shopt",   "source", "then",    "trap",   "typeset",
    "unset",    "until",    "while",
};

bool command_is_shell_word(struct str name)
{
    return str_index(name, shell_words, array_size(shell_words)) != SIZE_MAX;
}
