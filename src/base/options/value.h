/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the readers of options only: converting a text to a value of the row's type, and error
 * messages.
 */
#ifndef BASE_OPTIONS_VALUE_H
#define BASE_OPTIONS_VALUE_H

#include "base/options/options.h"
#include "base/printable.h"
#include "base/str.h"

enum option_spelling {
    OPTION_BY_NAME,
    OPTION_BY_ALIAS,
    OPTION_BY_LETTER,
    OPTION_NEGATED,
    OPTION_BY_PLACE, /* a positional argument */
};

/* Which option was given, and how: everything a message needs besides the value. */
struct option_given {
    const struct option *row;
    enum option_source source;
    enum option_spelling spelling;
};

/* The text is not copied; items of a list are. */
int option_value_convert(struct arena *arena, const struct option_given *given, const char *text,
                         struct option_value *value, struct err *err);

/* A weaker source does not replace a stronger one, even if read later. */
static inline void option_value_store(struct option_value *slot, const struct option_value *value)
{
    if (value->source >= slot->source)
        *slot = *value;
}

/* Starts, converts and stores. The row must be one of the command's. */
int option_value_give(struct option_values *values, const struct option_given *given,
                      const char *text, struct err *err);

/* "--port: 'x' is not a number"; without a text, "--port: needs a value". */
int option_refuse(const struct option_given *given, const char *text, const char *why,
                  struct err *err);
int option_no_memory(struct err *err);

enum { OPTION_SHOWN_ROOM = OPTION_SHOWN_BYTES + PRINTABLE_CUT_BYTES };

/* Untrusted text for a message: cut, and only printable UTF-8. Returns out. */
const char *option_printable(struct str text, char out[OPTION_SHOWN_ROOM]);

/* Finds the existing name nearest to an unknown one. */
struct option_guess {
    struct str wanted;
    const char *best; /* NULL: nothing is near enough */
    size_t distance;
};
void option_guess_consider(struct option_guess *guess, const char *name);

/* "--prot: unknown option; did you mean --port?" `name` is printable, `before` the dashes. */
int option_guess_fail(const struct option_guess *guess, const char *where, const char *before,
                      const char *name, const char *what, struct err *err);

#endif
