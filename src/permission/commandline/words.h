/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Internal to commandline/commandline.c: splits a shell command into words, and knows some of them.
 */
#ifndef PERMISSION_COMMANDLINE_WORDS_H
#define PERMISSION_COMMANDLINE_WORDS_H

#include <stdbool.h>

#include "base/str.h"

/* ---- splitting ---- */

struct command_word {
    struct str text;    /* raw, with quotes */
    bool has_expansion; /* $NAME */
    bool has_pattern;   /* unquoted: may expand to several words, or to a home directory */
    bool has_redirection;
};

enum command_split {
    COMMAND_WORD,
    COMMAND_END,
    COMMAND_ODD, /* shells differ about it, or it is more than words */
};

/*
 * Takes the next word off *rest, which must hold no operator that command_is_compound() looks for.
 */
enum command_split command_next_word(struct str *rest, struct command_word *out_word);

/* Whether it contains | ; & $( ` <( >(, a newline or a NUL, quoted or not. */
bool command_is_compound(struct str text);

/* ---- known words ---- */

/*
 * A program that runs the command after its options. Options not listed leave the command as it is.
 */
struct command_wrapper {
    struct str name;
    const char *flags;    /* short options without a value; NULL: none, as for the others */
    const char *values;   /* short options with a value, attached or in the next word */
    const char *attached; /* short options with a value that can only be attached */
    /* NULL-terminated: "--null"; "--replace" and "--replace=R"; "--user=U" and "--user U". */
    const char *const *long_flags;
    const char *const *long_maybe;
    const char *const *long_values;
    bool has_numbers;       /* -10 */
    bool unsets;            /* its values are names of variables */
    bool takes_assignments; /* NAME=value after its options */
    bool is_fed;            /* its input becomes arguments */
};

/* NULL if it is not a wrapper. */
const struct command_wrapper *command_find_wrapper(struct str name);

/* The variable of NAME=value, unquoted up to the sign; empty if it is no assignment. */
struct str command_assigned_name(struct str text);

/* Whether this variable is known to change nothing but how a program shows things. */
bool command_is_harmless_variable(struct str name);
/* Same for such a variable with this value, as written: a plain word that leads to no file. */
bool command_is_harmless_assignment(struct str name, struct str value);

/*
 * Whether no variable is harmless for this program, given by name or path: what it reads may use
 * any.
 */
bool command_reads_any_variable(struct str program);

/* Whether it is a shell word that begins a compound command, or changes how the rest is run. */
bool command_is_shell_word(struct str name);

/*
 * Whether shells leave this program name unchanged: neither quoted nor expanded. May hold slashes.
 */
bool command_is_bare_name(struct str text);
/* Same for an option or its value, which may contain "{}" and "=". */
bool command_is_bare_option(struct str text);

#endif
