/* SPDX-License-Identifier: Apache-2.0 */
#include "permission/commandline/commandline.h"

#include <string.h>

#include "base/err.h"
#include "permission/commandline/words.h"

/* A parser for a command's first words, up to the program that it runs. */
struct head {
    struct str rest;
    /* Whose options come now; NULL: the shell's own words. */
    const struct command_wrapper *wrapper;
    bool has_options;     /* they may still come */
    bool has_assignments; /* NAME=value may still come */
    bool is_fed;          /* by one of the wrappers */
    bool is_assigned_to;  /* an assignment was left out */
};

/* ---- words of the head ---- */

static bool is_on_list(const char *const *list, struct str name)
{
    for (; list != NULL && *list != NULL; list++)
        if (str_eq_c(name, *list))
            return true;
    return false;
}

static bool has_letter(const char *set, char letter)
{
    return set != NULL && strchr(set, letter) != NULL;
}

/* Takes a value from the next word. False: there is none, or it is not a plain word. */
static bool take_value(struct head *head)
{
    struct command_word word;

    if (command_next_word(&head->rest, &word) != COMMAND_WORD || !command_is_bare_option(word.text))
        return false;
    return !head->wrapper->unsets || command_is_harmless_variable(word.text);
}

static bool take_long_option(struct head *head, struct str option)
{
    const char *equals = memchr(option.ptr, '=', option.len);
    struct str name =
        str_slice(option, 0, equals != NULL ? (size_t)(equals - option.ptr) : option.len);
    struct str value = str_slice(option, name.len + 1, option.len);

    if (is_on_list(head->wrapper->long_maybe, name))
        return true;
    if (equals == NULL)
        return is_on_list(head->wrapper->long_flags, name) ||
               (is_on_list(head->wrapper->long_values, name) && take_value(head));
    return is_on_list(head->wrapper->long_values, name) &&
           (!head->wrapper->unsets || command_is_harmless_variable(value));
}

/* "-n", "-n10", "-iu NAME". */
static bool take_short_options(struct head *head, struct str letters)
{
    const struct command_wrapper *wrapper = head->wrapper;

    for (size_t i = 0; i < letters.len; i++) {
        struct str value = str_slice(letters, i + 1, letters.len);

        if (has_letter(wrapper->attached, letters.ptr[i]))
            return true;
        if (has_letter(wrapper->values, letters.ptr[i])) {
            if (value.len == 0)
                return take_value(head);
            return !wrapper->unsets || command_is_harmless_variable(value);
        }
        if (!has_letter(wrapper->flags, letters.ptr[i]))
            return false;
    }
    return true;
}

static bool is_number(struct str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] < '0' || text.ptr[i] > '9')
            return false;
    return text.len > 0;
}

/* Takes an option of the wrapper, with its value. False: it must not be removed. */
static bool take_option(struct head *head, struct str option)
{
    if (!command_is_bare_option(option))
        return false;
    if (str_eq_c(option, "--")) {
        head->has_options = false;
        /* sudo accepts none after it; env does, and gets a superfluous question. */
        head->has_assignments = false;
        return true;
    }
    if (option.len == 1)
        return false;
    if (option.ptr[1] == '-')
        return take_long_option(head, str_slice(option, 2, option.len));
    if (head->wrapper->has_numbers && is_number(str_slice(option, 1, option.len)))
        return true;
    return take_short_options(head, str_slice(option, 1, option.len));
}

/* Whether this assignment may be removed. */
static bool take_assignment(struct head *head, const struct command_word *word, struct str name)
{
    head->has_options = false;
    head->is_assigned_to = true;
    return head->has_assignments && command_is_harmless_assignment(
                                        name, str_slice(word->text, name.len + 1, word->text.len));
}

/* The program's name without a directory of PATH. Empty: not a plain name. */
static struct str program_name(struct str text, const char *const *path_dirs)
{
    struct str name = text;

    if (!command_is_bare_name(text))
        return STR_EMPTY;
    if (memchr(text.ptr, '/', text.len) != NULL) {
        size_t at = text.len;

        if (text.ptr[0] != '/')
            return STR_EMPTY;
        while (text.ptr[at - 1] != '/')
            at--;
        for (; path_dirs != NULL && *path_dirs != NULL; path_dirs++) {
            struct str dir = str_from(*path_dirs);

            while (dir.len > 1 && dir.ptr[dir.len - 1] == '/')
                dir.len--;
            if (dir.len > 0 && str_eq(dir, str_slice(text, 0, at - 1)))
                name = str_slice(text, at, text.len);
        }
    }
    return command_is_bare_name(name) && !command_is_shell_word(name) ? name : STR_EMPTY;
}

/* Advances to the program; empty: the command keeps its whole text. */
static struct str find_program(struct head *head, const char *const *path_dirs)
{
    struct command_word word;

    while (command_next_word(&head->rest, &word) == COMMAND_WORD && !word.has_redirection) {
        struct str variable = command_assigned_name(word.text);
        struct str name;

        if (head->has_options && word.text.ptr[0] == '-') {
            if (!take_option(head, word.text))
                break;
            continue;
        }
        if (variable.len > 0) {
            if (!take_assignment(head, &word, variable))
                break;
            continue;
        }
        name = program_name(word.text, path_dirs);
        head->wrapper = command_find_wrapper(name);
        if (head->wrapper == NULL)
            return head->is_assigned_to && command_reads_any_variable(name) ? STR_EMPTY : name;
        head->has_options = true;
        head->has_assignments = head->wrapper->takes_assignments;
        head->is_fed = head->is_fed || head->wrapper->is_fed;
    }
    return STR_EMPTY;
}

/* ---- the whole ---- */

/* Removes blanks and empty lines at the ends. A CR is part of a word to shells, and so is `\ `. */
static struct str trim(struct str text)
{
    size_t end = text.len;

    while (text.len > 0 && (text.ptr[0] == ' ' || text.ptr[0] == '\t' || text.ptr[0] == '\n')) {
        text = str_slice(text, 1, text.len);
        end--;
    }
    while (end > 0 &&
           (text.ptr[end - 1] == ' ' || text.ptr[end - 1] == '\t' || text.ptr[end - 1] == '\n'))
        end--;
    return end > 0 && text.ptr[end - 1] == '\\' ? text : str_slice(text, 0, end);
}

/* The program and the rest, with one blank between words; 0 if they cannot be separated. */
static size_t write_words(const struct head *head, struct str program, char *out)
{
    struct str rest = head->rest;
    struct command_word word;
    enum command_split split;
    size_t len = program.len;

    memcpy(out, program.ptr, len);
    while ((split = command_next_word(&rest, &word)) == COMMAND_WORD) {
        if (word.has_redirection && head->is_fed)
            return 0;
        out[len++] = ' ';
        memcpy(out + len, word.text.ptr, word.text.len);
        len += word.text.len;
    }
    return split == COMMAND_END ? len : 0;
}

int command_normalise(struct arena *arena, struct str command, const char *const *path_dirs,
                      bool has_input, struct str *out_resource, bool *out_is_as_is)
{
    struct str text = trim(command);
    struct head head = {.rest = text, .has_assignments = true};
    struct str program = STR_EMPTY;
    size_t len = 0;
    char *out;

    if (command.len >= COMMAND_MAX_BYTES)
        return ERR_TOO_LARGE;
    out = arena_copy(arena, text);
    if (out == NULL)
        return arena->error;
    if (!command_is_compound(text))
        program = find_program(&head, path_dirs);
    if (program.len > 0 && !(head.is_fed && has_input))
        len = write_words(&head, program, out);
    if (len == 0) /* some words may have been written */
        memcpy(out, text.ptr, text.len);
    *out_is_as_is = len == 0;
    *out_resource = (struct str){out, len > 0 ? len : text.len};
    return 0;
}
