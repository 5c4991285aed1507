/* SPDX-License-Identifier: Apache-2.0 */
/* For commandline/commandline.c alone: the words of a shell's line, and what is known about some of
 * them. */
#ifndef PERMISSION_COMMANDLINE_WORDS_H
#define PERMISSION_COMMANDLINE_WORDS_H

#include <stdbool.h>

#include "base/str.h"

/* ---- splitting ---- */

struct command_word {
    struct str text;    /* as it stands there, quotes included */
    bool has_quotes;    /* or backslashes */
    bool has_expansion; /* $NAME */
    bool has_pattern;   /* unquoted: what may become several words, or a home directory */
    bool has_redirection;
};

enum command_split {
    COMMAND_WORD,
    COMMAND_END,
    COMMAND_ODD, /* shells differ about it, or it is more than words */
};

/* Takes the next word off *rest, which holds no operator that command_is_compound() looks for. */
enum command_split command_next_word(struct str *rest, struct command_word *out_word);

/* Any of | ; & $( ` <( >(, a line's end or a NUL, quoted or not. */
bool command_is_compound(struct str text);

/* ---- what is known ---- */

/* A program that runs the one behind its options. What is not listed makes the command as is. */
struct command_wrapper {
    struct str name;
    const char *flags;    /* short options without a value */
    const char *values;   /* with one, attached or in the next word */
    const char *attached; /* with one that can only be attached */
    /* Up to a NULL: "--null"; "--replace" and "--replace=R"; "--user=U" and "--user U". */
    const char *const *long_flags;
    const char *const *long_maybe;
    const char *const *long_values;
    bool has_numbers;       /* -10 */
    bool has_dash;          /* - alone */
    bool unsets;            /* its values name variables */
    bool takes_assignments; /* NAME=value behind its options */
    bool is_fed;            /* what it reads becomes arguments */
};

/* NULL when it is none. */
const struct command_wrapper *command_find_wrapper(struct str name);

/* The variable's name of NAME=value, unquoted up to the sign; empty when it is no such word. */
struct str command_assigned_name(struct str text);

/* Whether a variable of that name may choose programs, libraries, settings or servers. */
bool command_is_weighty_variable(struct str name);

/* A program, by its name or its path, to which no variable is harmless: what it reads may use any.
 */
bool command_reads_any_variable(struct str program);

/* Words of the shell that begin more than a simple command, or run what follows in another way. */
bool command_is_shell_word(struct str name);

/* A program's name that shells do nothing to: neither quoted nor expanded. May hold slashes. */
bool command_is_bare_name(struct str text);
/* The same for an option or its value: "{}" and "=" may stand in it. */
bool command_is_bare_option(struct str text);

#endif
