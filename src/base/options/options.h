/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One table of options provides flags and environment variables, help (options/help.h) and shell
 * completions (options/complete.h). The program acts on the values.
 *
 *     enum { OPT_PORT, OPT_LEVEL, OPT_COUNT };
 *     static const struct option rows[OPT_COUNT] = {
 *         [OPT_PORT] = {.name = "port", .type = OPTION_INT, .min = 1, .max = 65535,
 *                       .fallback = "7655", .env = "APP_PORT",
 *                       .help = "local port to listen on"},
 *
 * Default < file < environment < flag, in whatever order they are read. Every source is checked in
 * full, even if a stronger one overrides it.
 *
 * Flags: --name value, --name=value, -x value, -xvalue, -ab, --no-name for a switch; `--` ends
 * them, `-` alone is an argument, names cannot be abbreviated. An option with a value takes the
 * next word whatever it looks like. The last one wins; only lists from repeated flags add up.
 */
#ifndef BASE_OPTIONS_OPTIONS_H
#define BASE_OPTIONS_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

enum option_type {
    OPTION_SWITCH,   /* except as a bare flag: 1 0 true false yes no, in any case */
    OPTION_TEXT,     /* valid UTF-8 */
    OPTION_PATH,     /* any bytes, not empty */
    OPTION_DIR,      /* the same; completes to directories */
    OPTION_CHOICE,   /* one of the row's choices */
    OPTION_INT,      /* within min and max; both 0: any */
    OPTION_BYTES,    /* "512KB", as parsed by str_to_bytes(); limits as above */
    OPTION_DURATION, /* "1500" (ms), "500ms", "30s", "5m" or "5min", "2h"; limits in ms */
    OPTION_LIST,     /* "a,{b,c}" is two: UTF-8 texts, trimmed, none empty; "" is the empty list */
};

struct option {
    const char *name;  /* without the dashes */
    const char *alias; /* a second name, or NULL */
    enum option_type type;
    char letter;                /* or 0 */
    bool is_file;               /* a path: the file has options, as in options_read_file() */
    bool is_secret;             /* its value is never shown in errors and help */
    bool is_final;              /* a switch like --help: arguments may then be missing */
    bool is_whole;              /* each flag of a list is one item, commas included */
    const char *env;            /* variable; or NULL */
    const char *old_env;        /* another name of it, for when it is not set; or NULL */
    const char *placeholder;    /* "DIR"; NULL: named after the type */
    const char *const *choices; /* NULL-terminated; letters, digits, '-', '_' and '.' */
    int64_t min;
    int64_t max;
    const char *fallback; /* the default, as in the environment; or NULL */
    const char *group; /* heading in the help; rows of a group are adjacent, after those without */
    const char *help;  /* one line */
};

/* A positional argument. Only the last may be rest, and no required one follows an optional one. */
struct option_argument {
    const char *name;
    enum option_type type; /* OPTION_TEXT, _PATH, _DIR or _CHOICE */
    bool is_optional;
    bool is_rest;      /* takes all remaining words */
    bool ends_options; /* words behind it that begin with a dash are arguments as well */
    bool is_secret;
    const char *passes_to; /* the program whose options may stand here, after "--"; or NULL */
    const char *const *choices;
    const char *names; /* of what completions offer: "PROGRAM completions --names NAMES"; or NULL */
    const char *instead; /* the option without which it is needed */
    const char *help;
};

/*
 * A program, or a command of one: "gatehouse", "doctor". Its options also apply to its subcommands.
 * It has commands or arguments, never both.
 */
struct option_command {
    const char *name;
    const char *alias; /* a second name, which completions do not offer, or NULL */
    const char *summary;
    const struct option *options;
    size_t option_count;
    const struct option_argument *arguments;
    size_t argument_count;
    const struct option_command *commands;
    size_t command_count;
};

enum option_source {
    OPTION_UNSET,
    OPTION_DEFAULT,
    OPTION_FILE,
    OPTION_ENVIRONMENT,
    OPTION_FLAG,
};

enum {
    OPTION_MAX_ITEMS = 256,  /* in a list */
    OPTION_NAME_BYTES = 128, /* the longest flag or variable, with decoration */
    OPTION_SHOWN_BYTES = 48, /* of a value in a message */
};

struct option_value {
    uint8_t source;
    uint8_t spelling; /* of a flag: which of the row's names */
    size_t item_count;
    const char *text;
    const char **items;
    int64_t number;
};

/* Values of one command's own options; those of its parent command are in `above`. */
struct option_values {
    const struct option_command *command;
    struct option_values *above; /* NULL for the program itself */
    struct arena *arena;
    struct option_value *slots;
    const char **arguments;
    size_t argument_count;
    const struct option *shadowed; /* one whose env and old_env are both set; or NULL */
};

/* The one of these with that name or alias; NULL if there is none. */
const struct option_command *options_find_command(const struct option_command *commands,
                                                  size_t count, const char *name);

/*
 * Reads flags, commands and arguments; skips argv[0]. *out_values belongs to the innermost command
 * that was named, with defaults filled in; without a command that is the program, and the caller
 * decides what that means. Everything lives in the arena or points into argv, the environment and
 * the program's tables, all of which must outlive the values.
 *
 * Errors: ERR_UNKNOWN_OPTION, ERR_INVALID_OPTION, ERR_NO_MEMORY (or the arena is full). err.field
 * is the flag, command, argument or variable as given.
 */
int options_read_args(struct arena *arena, const struct option_command *program, int argc,
                      char *const *argv, struct option_values **out_values, struct err *err);

/* `environment` is like environ: "NAME=value", NULL-terminated. An empty value counts as unset. */
int options_read_env(struct option_values *values, char *const *environment, struct err *err);

/*
 * The text of a configuration file: a line for each option, "name = value", named as its flag. A
 * value may stand in double quotes; there are no escapes. Empty lines and those that begin with #
 * say nothing. The last line of an option wins. The text is copied.
 */
int options_read_file(struct option_values *values, struct str text, struct err *err);

/*
 * `index` is that of the row, whose type must fit. An unset option is off, NULL, 0 or an empty
 * list.
 */
bool options_is_on(const struct option_values *values, size_t index);
unsigned options_times(const struct option_values *values, size_t index);   /* a switch was given */
const char *options_text(const struct option_values *values, size_t index); /* also path, choice */
size_t options_choice(const struct option_values *values, size_t index); /* index of the choice */
int64_t options_int(const struct option_values *values, size_t index);   /* also bytes, ms */

struct option_list {
    const char *const *items; /* NULL-terminated */
    size_t count;
};
struct option_list options_list(const struct option_values *values, size_t index);

/* The argument at this position, from 0; NULL if it was not given. */
const char *options_argument(const struct option_values *values, size_t index);

enum option_source options_source(const struct option_values *values, size_t index);

/* Shared with help and completions: the placeholder, and whether to mention --no-name. */
const char *option_placeholder(const struct option *row);
bool option_is_on_by_default(const struct option *row);

#endif
