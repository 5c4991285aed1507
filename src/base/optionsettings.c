/* SPDX-License-Identifier: Apache-2.0 */
#include "base/optionsettings.h"

#include <stdio.h>
#include <string.h>

#include "base/optionvalue.h"
#include "base/str.h"

enum { WHY_BYTES = 96 };

struct settings {
    struct option_values *values;
    const struct option_command *program;
    option_unknown_fn *unknown;
    void *context;
};

enum key_match { KEY_UNKNOWN, KEY_AROUND, KEY_EXACT };

/* Is this the key of an option anywhere in the program, or an object around some? */
static enum key_match match_key(const struct option_command *command, const char *path)
{
    enum key_match best = KEY_UNKNOWN;
    size_t len = strlen(path);

    for (size_t i = 0; i < command->option_count; i++) {
        const char *key = command->options[i].key;

        if (key == NULL || strncmp(key, path, len) != 0)
            continue;
        if (key[len] == '\0')
            return KEY_EXACT;
        if (key[len] == '.')
            best = KEY_AROUND;
    }
    for (size_t i = 0; i < command->command_count; i++) {
        enum key_match match = match_key(&command->commands[i], path);

        best = match > best ? match : best;
    }
    return best;
}

static void guess_key(const struct option_command *command, struct option_guess *guess)
{
    for (size_t i = 0; i < command->option_count; i++)
        option_guess_consider(guess, command->options[i].key);
    for (size_t i = 0; i < command->command_count; i++)
        guess_key(&command->commands[i], guess);
}

static int refuse_type(const struct option_given *given, const char *wanted, uint8_t type,
                       struct err *err)
{
    char why[WHY_BYTES];

    snprintf(why, sizeof(why), "is of type %s, not %s", json_type_name(type), wanted);
    return option_refuse(given, NULL, why, err);
}

static int copy_string(struct arena *arena, const struct option_given *given,
                       const struct json_value *value, const char **out_text, struct err *err)
{
    if (str_has_nul(json_str(value)))
        return option_refuse(given, NULL, "contains a NUL character", err);
    *out_text = arena_copy(arena, json_str(value));
    return *out_text != NULL ? 0 : option_no_memory(err);
}

/* The value as a flag would give it, when its type fits. An array is not for here. */
static int setting_text(struct arena *arena, const struct option_given *given,
                        const struct json_value *value, const char **out_text, struct err *err)
{
    enum option_type type = given->row->type;
    bool is_number = type == OPTION_INT || type == OPTION_BYTES || type == OPTION_DURATION;
    char digits[24];

    if (value->type == JSON_STRING && type != OPTION_SWITCH && type != OPTION_INT)
        return copy_string(arena, given, value, out_text, err);
    if (value->type == JSON_BOOL && type == OPTION_SWITCH) {
        *out_text = value->integer != 0 ? "1" : "0";
        return 0;
    }
    if (value->type == JSON_INT && is_number) {
        snprintf(digits, sizeof(digits), "%lld", (long long)value->integer);
        *out_text = arena_copy(arena, str_from(digits));
        return *out_text != NULL ? 0 : option_no_memory(err);
    }
    return refuse_type(given,
                       type == OPTION_SWITCH ? "boolean"
                       : type == OPTION_INT  ? "integer"
                       : is_number           ? "integer or string"
                       : type == OPTION_LIST ? "array of strings"
                                             : "string",
                       value->type, err);
}

static int give_items(struct option_values *values, const struct option_given *given,
                      const struct json_value *array, struct err *err)
{
    struct option_value *slot = &values->slots[given->row - values->command->options];
    struct option_value value = option_value_begin(slot, given);

    json_each_item (item, array) {
        const char *text;
        int r;

        if (item->type != JSON_STRING)
            return option_refuse(given, NULL, "holds an item that is no string", err);
        r = copy_string(values->arena, given, item, &text, err);
        if (r == 0)
            r = option_value_add_item(values->arena, given, str_from(text), &value, err);
        if (r < 0)
            return r;
    }
    option_value_store(slot, &value);
    return 0;
}

static int give_setting(struct option_values *values, const char *key,
                        const struct json_value *value, struct err *err)
{
    for (struct option_values *v = values; v != NULL; v = v->above) {
        for (size_t i = 0; i < v->command->option_count; i++) {
            struct option_given given = {&v->command->options[i], OPTION_SETTINGS, OPTION_BY_NAME};
            const char *text = "";
            int r;

            if (given.row->key == NULL || strcmp(given.row->key, key) != 0)
                continue;
            if (given.row->type == OPTION_LIST && value->type == JSON_ARRAY) {
                r = give_items(v, &given, value, err);
            } else {
                r = setting_text(v->arena, &given, value, &text, err);
                if (r == 0 && text[0] != '\0')
                    r = option_value_give(v, &given, text, err);
            }
            if (r < 0)
                return r;
        }
    }
    return 0;
}

static int unknown_key(const struct settings *settings, const char *shown,
                       const struct json_value *value, struct err *err)
{
    struct option_guess guess = {.wanted = str_from(shown)};

    if (settings->unknown != NULL && settings->unknown(settings->context, shown, value))
        return 0;
    guess_key(settings->program, &guess);
    return option_guess_fail(&guess, "settings: ", "", shown, "key", err);
}

/* The path of a member: `above` ends in a dot or is empty. False: too long to be in a table. */
static bool join_key(const char *above, struct str name, char out_path[OPTION_NAME_BYTES])
{
    /* A key that has dots of its own is not a path. */
    if (name.len == 0 || str_has_nul(name) || memchr(name.ptr, '.', name.len) != NULL)
        return false;
    return snprintf(out_path, OPTION_NAME_BYTES, "%s%.*s", above, STR_ARG(name)) <
           OPTION_NAME_BYTES;
}

/* Goes no deeper than the keys of the tables. */
static int read_object(const struct settings *settings, const char *above,
                       const struct json_value *object, struct err *err)
{
    json_each_member (key, object) {
        enum key_match match = KEY_UNKNOWN;
        char path[OPTION_NAME_BYTES];
        char part[OPTION_SHOWN_ROOM];
        char shown[OPTION_NAME_BYTES + OPTION_SHOWN_ROOM];
        int r;

        snprintf(shown, sizeof(shown), "%s%s", above, option_printable(json_str(key), part));
        if (join_key(above, json_str(key), path))
            match = match_key(settings->program, path);
        if (match == KEY_EXACT) {
            r = give_setting(settings->values, path, key + 1, err);
        } else if (match == KEY_UNKNOWN) {
            r = unknown_key(settings, shown, key + 1, err);
        } else if (key[1].type == JSON_OBJECT) {
            snprintf(shown, sizeof(shown), "%s.", path);
            r = read_object(settings, shown, key + 1, err);
        } else {
            r = err_set_field(err, ERR_INVALID_OPTION, path,
                              "settings: %s: is of type %s, not object", path,
                              json_type_name(key[1].type));
        }
        if (r < 0)
            return r;
    }
    return 0;
}

int options_read_settings(struct option_values *values, const struct json_value *document,
                          option_unknown_fn *unknown, void *context, struct err *err)
{
    struct settings settings = {values, values->command, unknown, context};

    for (const struct option_values *v = values; v != NULL; v = v->above)
        settings.program = v->command;
    if (document->type != JSON_OBJECT)
        return err_set_field(err, ERR_INVALID_OPTION, "", "settings: is of type %s, not object",
                             json_type_name(document->type));
    return read_object(&settings, "", document, err);
}
