/* SPDX-License-Identifier: Apache-2.0 */
#include "base/options/value.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/printable.h"
#include "base/utf8.h"

enum { WHY_BYTES = 192, LIMIT_BYTES = 32, LONGEST_GUESS = 48 };

const char *option_printable(struct str text, char out[OPTION_SHOWN_ROOM])
{
    (void)printable_cut(text, PRINTABLE_LINE, out, OPTION_SHOWN_BYTES);
    return out;
}

/* "--port", "-p", "APP_PORT", "default", "not set". */
static void name_given(const struct option_given *given, char out_name[OPTION_NAME_BYTES])
{
    const struct option *row = given->row;
    const char letter[2] = {row->letter, '\0'};
    const char *before = "";
    const char *text = "not set";

    switch (given->source) {
    case OPTION_UNSET:
        break;
    case OPTION_DEFAULT:
        text = "default";
        break;
    case OPTION_FILE:
        text = row->name;
        break;
    case OPTION_ENVIRONMENT:
        text = given->spelling == OPTION_BY_ALIAS ? row->old_env : row->env;
        break;
    case OPTION_FLAG:
        before = (const char *[]){"--", "--", "-", "--no-", ""}[given->spelling];
        text = given->spelling == OPTION_BY_ALIAS    ? row->alias
               : given->spelling == OPTION_BY_LETTER ? letter
                                                     : row->name;
        break;
    }
    snprintf(out_name, OPTION_NAME_BYTES, "%s%s", before, text);
}

int option_refuse(const struct option_given *given, const char *text, const char *why,
                  struct err *err)
{
    char name[OPTION_NAME_BYTES];
    char shown[OPTION_SHOWN_ROOM];

    name_given(given, name);
    if (text == NULL)
        return err_set_field(err, ERR_INVALID_OPTION, name, "%s: %s", name, why);
    if (given->row->is_secret)
        return err_set_field(err, ERR_INVALID_OPTION, name, "%s: the value %s", name, why);
    return err_set_field(err, ERR_INVALID_OPTION, name, "%s: '%s' %s", name,
                         option_printable(str_from(text), shown), why);
}

int option_no_memory(struct err *err)
{
    return err_set_plain(err, ERR_NO_MEMORY);
}

static bool to_switch(struct str text, int64_t *out_number)
{
    static const char *const words[] = {"0", "1", "false", "true", "no", "yes"};

    for (size_t i = 0; i < array_size(words); i++) {
        if (!str_eq_nocase(text, str_from(words[i])))
            continue;
        *out_number = (int64_t)(i % 2);
        return true;
    }
    return false;
}

static bool to_duration(struct str text, int64_t *out_ms)
{
    static const struct {
        struct str name;
        int64_t ms;
    } units[] = {
        {STR_LITERAL(""), 1},      {STR_LITERAL("ms"), 1},      {STR_LITERAL("s"), 1000},
        {STR_LITERAL("m"), 60000}, {STR_LITERAL("min"), 60000}, {STR_LITERAL("h"), 3600000},
    };
    size_t digits = strspn(text.ptr, "0123456789");
    int64_t number;

    if (!str_to_int64(str_slice(text, 0, digits), &number))
        return false;
    for (size_t i = 0; i < array_size(units); i++)
        if (str_eq(str_slice(text, digits, text.len), units[i].name))
            return !__builtin_mul_overflow(number, units[i].ms, out_ms);
    return false;
}

/* As people write it: 16MiB, 1h. */
static void show_limit(enum option_type type, int64_t limit, char out_text[LIMIT_BYTES])
{
    static const struct {
        enum option_type type;
        const char *name;
        int64_t size;
    } units[] = {
        {OPTION_BYTES, "TiB", INT64_C(1) << 40},
        {OPTION_BYTES, "GiB", 1 << 30},
        {OPTION_BYTES, "MiB", 1 << 20},
        {OPTION_BYTES, "KiB", 1 << 10},
        {OPTION_DURATION, "h", 3600000},
        {OPTION_DURATION, "m", 60000},
        {OPTION_DURATION, "s", 1000},
        {OPTION_DURATION, "ms", 1},
    };

    for (size_t i = 0; i < array_size(units); i++)
        if (units[i].type == type && limit != 0 && limit % units[i].size == 0) {
            snprintf(out_text, LIMIT_BYTES, "%lld%s", (long long)(limit / units[i].size),
                     units[i].name);
            return;
        }
    snprintf(out_text, LIMIT_BYTES, "%lld", (long long)limit);
}

static int convert_number(const struct option_given *given, const char *text, int64_t *out_number,
                          struct err *err)
{
    const struct option *row = given->row;
    bool is_limited = row->min != 0 || row->max != 0;
    int64_t max = is_limited ? row->max : INT64_MAX;
    int64_t min = is_limited ? row->min : 0;
    const char *kind = "a whole number";
    char least[LIMIT_BYTES];
    char most[LIMIT_BYTES];
    char why[WHY_BYTES];
    int64_t number = 0;
    uint64_t bytes;
    bool is_read;

    if (row->type == OPTION_BYTES) {
        is_read = str_to_bytes(str_from(text), &bytes) && bytes <= INT64_MAX;
        number = is_read ? (int64_t)bytes : 0;
        kind = "a size like 512KB";
    } else if (row->type == OPTION_DURATION) {
        is_read = to_duration(str_from(text), &number);
        kind = "a time like 500ms, 30s or 5m";
    } else {
        is_read = str_to_int64(str_from(text), &number);
        if (!is_limited)
            min = INT64_MIN;
    }
    if (is_read && number >= min && number <= max) {
        *out_number = number;
        return 0;
    }
    show_limit(row->type, min, least);
    show_limit(row->type, max, most);
    if (is_limited)
        snprintf(why, sizeof(why), "is not %s%sbetween %s and %s", is_read ? "" : kind,
                 is_read ? "" : " ", least, most);
    else
        snprintf(why, sizeof(why), "is not %s", kind);
    return option_refuse(given, text, why, err);
}

static int convert_choice(const struct option_given *given, const char *text,
                          struct option_value *value, struct err *err)
{
    const char *const *choices = given->row->choices;
    char why[WHY_BYTES] = "is not one of ";
    size_t len = strlen(why);

    for (size_t i = 0; choices[i] != NULL; i++) {
        if (strcmp(choices[i], text) == 0) {
            value->number = (int64_t)i;
            value->text = text;
            return 0;
        }
        if (len < sizeof(why))
            len += (size_t)snprintf(why + len, sizeof(why) - len, "%s%s", i > 0 ? ", " : "",
                                    choices[i]);
    }
    return option_refuse(given, text, why, err);
}

static int add_item(struct arena *arena, const struct option_given *given, struct str item,
                    struct option_value *value, struct err *err)
{
    if (item.len == 0)
        return option_refuse(given, NULL, "has an empty item", err);
    if (value->items == NULL)
        value->items = arena_alloc_array(arena, OPTION_MAX_ITEMS + 1, sizeof(*value->items));
    if (value->items == NULL)
        return option_no_memory(err);
    if (value->item_count == OPTION_MAX_ITEMS)
        return option_refuse(given, NULL, "has too many items", err);
    value->items[value->item_count] = arena_copy(arena, item);
    if (value->items[value->item_count] == NULL)
        return option_no_memory(err);
    value->items[++value->item_count] = NULL;
    return 0;
}

/* Up to the next comma outside of braces: "*.{key,pem}" is one item. */
static bool cut_item(struct str *rest, struct str *out_item)
{
    struct str whole = *rest;
    size_t depth = 0;

    if (whole.ptr == NULL)
        return false;
    for (size_t i = 0; i < whole.len; i++) {
        if (whole.ptr[i] == '{')
            depth++;
        else if (whole.ptr[i] == '}' && depth > 0)
            depth--;
        if (whole.ptr[i] == ',' && depth == 0) {
            *out_item = str_slice(whole, 0, i);
            *rest = str_slice(whole, i + 1, whole.len);
            return true;
        }
    }
    *out_item = whole;
    *rest = STR_CUT_END;
    return true;
}

int option_value_convert(struct arena *arena, const struct option_given *given, const char *text,
                         struct option_value *value, struct err *err)
{
    enum option_type type = given->row->type;
    struct str rest = str_from(text);
    struct str item;
    int r;

    if (type == OPTION_PATH || type == OPTION_DIR) {
        if (text[0] == '\0')
            return option_refuse(given, NULL, "is empty", err);
        value->text = text;
        return 0;
    }
    if (!utf8_is_valid(rest))
        return option_refuse(given, text, "is not valid UTF-8", err);
    switch (type) {
    case OPTION_SWITCH:
        if (!to_switch(rest, &value->number))
            return option_refuse(given, text, "must be one of 1, 0, true, false, yes, no", err);
        return 0;
    case OPTION_PATH:
    case OPTION_DIR:
    case OPTION_TEXT:
        value->text = text;
        return 0;
    case OPTION_CHOICE:
        return convert_choice(given, text, value, err);
    case OPTION_INT:
    case OPTION_BYTES:
    case OPTION_DURATION:
        return convert_number(given, text, &value->number, err);
    case OPTION_LIST:
        if (given->row->is_whole)
            return text[0] != '\0' ? add_item(arena, given, str_from(text), value, err) : 0;
        while (text[0] != '\0' && cut_item(&rest, &item)) {
            r = add_item(arena, given, str_trim(item), value, err);
            if (r < 0)
                return r;
        }
        return 0;
    }
    return ERR_INTERNAL;
}

/* Starts a value from this source. Only flags add to an existing list. */
static struct option_value begin_value(const struct option_value *slot,
                                       const struct option_given *given)
{
    struct option_value value = {.source = (uint8_t)given->source,
                                 .spelling = (uint8_t)given->spelling};

    if (given->source == OPTION_FLAG && slot->source == OPTION_FLAG) {
        value.items = slot->items;
        value.item_count = slot->item_count;
    }
    return value;
}

int option_value_give(struct option_values *values, const struct option_given *given,
                      const char *text, struct err *err)
{
    struct option_value *slot = &values->slots[given->row - values->command->options];
    struct option_value value = begin_value(slot, given);
    int r;

    r = option_value_convert(values->arena, given, text, &value, err);
    if (r < 0)
        return r;
    /* A switch that is given again counts on; one that is turned off begins anew. */
    if (given->row->type == OPTION_SWITCH && value.number > 0 && slot->source == value.source &&
        slot->number < OPTION_MAX_ITEMS)
        value.number += slot->number;
    option_value_store(slot, &value);
    return 0;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Edits from a to b, where swapping two neighbours is one. Neither is longer than LONGEST_GUESS. */
static size_t edit_distance(struct str a, struct str b)
{
    size_t rows[3][LONGEST_GUESS + 1];

    for (size_t j = 0; j <= b.len; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a.len; i++) {
        size_t *row = rows[i % 3];
        const size_t *last = rows[(i + 2) % 3];

        row[0] = i;
        for (size_t j = 1; j <= b.len; j++) {
            size_t change = last[j - 1] + (a.ptr[i - 1] != b.ptr[j - 1]);

            row[j] = smaller(change, smaller(last[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && a.ptr[i - 1] == b.ptr[j - 2] && a.ptr[i - 2] == b.ptr[j - 1])
                row[j] = smaller(row[j], rows[(i + 1) % 3][j - 2] + 1);
        }
    }
    return rows[a.len % 3][b.len];
}

void option_guess_consider(struct option_guess *guess, const char *name)
{
    size_t distance;

    if (name == NULL || guess->wanted.len > LONGEST_GUESS || strlen(name) > LONGEST_GUESS)
        return;
    distance = edit_distance(guess->wanted, str_from(name));
    /* About a third of the letters may be wrong; beyond that a guess is noise. */
    if (distance == 0 || distance > (guess->wanted.len + 2) / 3 || distance >= guess->wanted.len)
        return;
    if (guess->best != NULL && distance >= guess->distance)
        return;
    guess->best = name;
    guess->distance = distance;
}

int option_guess_fail(const struct option_guess *guess, const char *where, const char *before,
                      const char *name, const char *what, struct err *err)
{
    char field[ERR_FIELD_BYTES];

    snprintf(field, sizeof(field), "%s%s", before, name);
    if (guess->best == NULL)
        return err_set_field(err, ERR_UNKNOWN_OPTION, field, "%s%s: unknown %s", where, field,
                             what);
    return err_set_field(err, ERR_UNKNOWN_OPTION, field, "%s%s: unknown %s; did you mean %s%s?",
                         where, field, what, before, guess->best);
}

const char *option_placeholder(const struct option *row)
{
    static const char *const by_type[] = {
        [OPTION_SWITCH] = "YES", [OPTION_TEXT] = "TEXT",     [OPTION_PATH] = "FILE",
        [OPTION_DIR] = "DIR",    [OPTION_CHOICE] = "WORD",   [OPTION_INT] = "NUMBER",
        [OPTION_BYTES] = "SIZE", [OPTION_DURATION] = "TIME", [OPTION_LIST] = "LIST",
    };

    return row->placeholder != NULL ? row->placeholder : by_type[row->type];
}

bool option_is_on_by_default(const struct option *row)
{
    int64_t number = 0;

    return row->type == OPTION_SWITCH && row->fallback != NULL &&
           to_switch(str_from(row->fallback), &number) && number != 0;
}
