/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the readers of options share, and nobody else needs: turning a text
 * into a value of the row's type, and the words of a refusal.
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
    OPTION_BY_PLACE, /* an argument */
};

/* Which option was given, and how: all that a message needs besides the value. */
struct option_given {
    const struct option *row;
    enum option_source source;
    enum option_spelling spelling;
};

/* "--port", "-p", "APP_PORT", "default", "not set". Returns out_name. */
const char *option_given_name(const struct option_given *given, char out_name[OPTION_NAME_BYTES]);

/*
 * Begins a value from this source. Only flags add to the list there was. The
 * text stays where it is; the items of a list are copied.
 */
struct option_value option_value_begin(const struct option_value *slot,
                                       const struct option_given *given);
int option_value_convert(struct arena *arena, const struct option_given *given, const char *text,
                         struct option_value *value, struct err *err);
int option_value_add_item(struct arena *arena, const struct option_given *given, struct str item,
                          struct option_value *value, struct err *err);

/* A weaker source does not replace a stronger one, however late it is read. */
static inline void option_value_store(struct option_value *slot, const struct option_value *value)
{
    if (value->source >= slot->source)
        *slot = *value;
}

/* Begin, convert and store. The row is one of the command's. */
int option_value_give(struct option_values *values, const struct option_given *given,
                      const char *text, struct err *err);

/* "--port: 'x' is not a number"; without a text, "--port: needs a value". */
int option_refuse(const struct option_given *given, const char *text, const char *why,
                  struct err *err);
int option_no_memory(struct err *err);

enum { OPTION_SHOWN_ROOM = OPTION_SHOWN_BYTES + PRINTABLE_CUT_BYTES };

/* Text from outside as it may stand in a message: cut, and only printable UTF-8. Returns out. */
const char *option_printable(struct str text, char out[OPTION_SHOWN_ROOM]);

/* The nearest of the names that are there to one that is not. */
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
