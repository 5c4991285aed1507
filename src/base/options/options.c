/* SPDX-License-Identifier: Apache-2.0 */
#include "base/options/options.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/options/value.h"
#include "base/str.h"

/* A command's values, with the defaults filled in; NULL without memory. */
static struct option_values *open_command(struct arena *arena, const struct option_command *command,
                                          struct option_values *above)
{
    struct option_values *values = arena_new(arena, struct option_values);
    struct option_value *slots =
        arena_alloc_array(arena, command->option_count + 1, sizeof(*slots));

    assert(command->command_count == 0 || command->argument_count == 0);
    if (values == NULL || slots == NULL)
        return NULL;
    memset(slots, 0, command->option_count * sizeof(*slots));
    *values =
        (struct option_values){.command = command, .above = above, .arena = arena, .slots = slots};
    for (size_t i = 0; i < command->option_count; i++) {
        struct option_given given = {&command->options[i], OPTION_DEFAULT, OPTION_BY_NAME};
        int r = 0;

        if (given.row->fallback != NULL)
            r = option_value_give(values, &given, given.row->fallback, NULL);
        assert(r == 0 || r == ERR_NO_MEMORY);
        if (r < 0)
            return NULL;
    }
    return values;
}

struct words {
    int count;
    int next;
    char *const *list;
    bool is_ended; /* no more options */
};

static bool names_row(const struct option *row, struct str name, enum option_spelling *out_spelling)
{
    struct str no = STR("no-");

    if (str_eq_c(name, row->name))
        *out_spelling = OPTION_BY_NAME;
    else if (row->alias != NULL && str_eq_c(name, row->alias))
        *out_spelling = OPTION_BY_ALIAS;
    else if (row->type == OPTION_SWITCH && !row->is_final && str_starts_with(name, no) &&
             str_eq_c(str_slice(name, no.len, name.len), row->name))
        *out_spelling = OPTION_NEGATED;
    else
        return false;
    return true;
}

/* `value` is what followed '=' or the letter; if NULL and needed, the next word is used. */
static int give_flag(struct option_values *values, const struct option_given *given,
                     const char *value, struct words *words, struct err *err)
{
    char why[OPTION_NAME_BYTES];

    if (given->spelling == OPTION_NEGATED && value != NULL)
        return option_refuse(given, NULL, "takes no value", err);
    if (given->row->type == OPTION_SWITCH) {
        if (value == NULL)
            value = given->spelling == OPTION_NEGATED ? "0" : "1";
    } else if (value == NULL) {
        if (words->next == words->count) {
            snprintf(why, sizeof(why), "needs a value (%s)", option_placeholder(given->row));
            return option_refuse(given, NULL, why, err);
        }
        value = words->list[words->next++];
    }
    return option_value_give(values, given, value, err);
}

static int unknown_long(const struct option_values *values, struct str name, struct err *err)
{
    struct option_guess guess = {.wanted = name};
    char shown[OPTION_SHOWN_ROOM];
    const struct option_command *command = values->command;
    const struct option_argument *last =
        command->argument_count > 0 ? &command->arguments[command->argument_count - 1] : NULL;

    for (const struct option_values *v = values; v != NULL; v = v->above) {
        for (size_t i = 0; i < v->command->option_count; i++) {
            option_guess_consider(&guess, v->command->options[i].name);
            option_guess_consider(&guess, v->command->options[i].alias);
        }
    }
    if (guess.best == NULL && last != NULL && last->passes_to != NULL) {
        char field[OPTION_SHOWN_ROOM + 2];

        snprintf(field, sizeof(field), "--%s", option_printable(name, shown));
        return err_set_field(err, ERR_UNKNOWN_OPTION, field,
                             "%s: unknown option; those of '%s' stand after --", field,
                             last->passes_to);
    }
    return option_guess_fail(&guess, "", "--", option_printable(name, shown), "option", err);
}

static int take_long(struct option_values *values, const char *word, struct words *words,
                     struct err *err)
{
    const char *equals = strchr(word, '=');
    struct str name = {word, equals != NULL ? (size_t)(equals - word) : strlen(word)};

    for (struct option_values *v = values; v != NULL; v = v->above) {
        for (size_t i = 0; i < v->command->option_count; i++) {
            struct option_given given = {&v->command->options[i], OPTION_FLAG, OPTION_BY_NAME};

            if (names_row(given.row, name, &given.spelling))
                return give_flag(v, &given, equals != NULL ? equals + 1 : NULL, words, err);
        }
    }
    return unknown_long(values, name, err);
}

static struct option_values *find_letter(struct option_values *values, char letter,
                                         const struct option **out_row)
{
    for (struct option_values *v = values; v != NULL; v = v->above) {
        for (size_t i = 0; i < v->command->option_count; i++) {
            if (v->command->options[i].letter != letter)
                continue;
            *out_row = &v->command->options[i];
            return v;
        }
    }
    return NULL;
}

static int take_letters(struct option_values *values, const char *letters, struct words *words,
                        struct err *err)
{
    for (; *letters != '\0'; letters++) {
        struct option_given given = {NULL, OPTION_FLAG, OPTION_BY_LETTER};
        struct option_values *owner = find_letter(values, *letters, &given.row);
        /*
         * What is attached to a letter may be a secret: for an unknown letter nothing of it is
         * shown.
         */
        char shown[OPTION_SHOWN_ROOM];
        int r;

        if (owner == NULL)
            return option_guess_fail(&(struct option_guess){.best = NULL}, "", "-",
                                     option_printable((struct str){letters, 1}, shown), "option",
                                     err);
        if (given.row->type != OPTION_SWITCH)
            return give_flag(owner, &given, letters[1] != '\0' ? letters + 1 : NULL, words, err);
        r = give_flag(owner, &given, NULL, words, err);
        if (r < 0)
            return r;
    }
    return 0;
}

const struct option_command *options_find_command(const struct option_command *commands,
                                                  size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(commands[i].name, name) == 0 ||
            (commands[i].alias != NULL && strcmp(commands[i].alias, name) == 0))
            return &commands[i];
    return NULL;
}

static int take_command(struct option_values **values, const char *word, struct words *words,
                        struct err *err)
{
    const struct option_command *command = (*values)->command;
    const struct option_command *named;
    struct option_guess guess = {.wanted = str_from(word)};
    char shown[OPTION_SHOWN_ROOM];

    /* "help sandbox run" and "sandbox help run" are "sandbox run --help". */
    if (strcmp(word, "help") == 0)
        return take_long(*values, word, words, err);
    named = options_find_command(command->commands, command->command_count, word);
    if (named != NULL) {
        struct option_values *below = open_command((*values)->arena, named, *values);

        if (below == NULL)
            return option_no_memory(err);
        *values = below;
        return 0;
    }
    for (size_t i = 0; i < command->command_count; i++)
        option_guess_consider(&guess, command->commands[i].name);
    return option_guess_fail(&guess, "", "", option_printable(guess.wanted, shown), "command", err);
}

static int too_many(const struct option_command *command, const char *word, struct err *err)
{
    struct str last = str_from(word);
    char shown[OPTION_SHOWN_ROOM];

    /* With a surplus word the secret may be in the wrong place. */
    for (size_t i = 0; i < command->argument_count; i++)
        if (command->arguments[i].is_secret)
            last = STR("(not shown)");
    option_printable(last, shown);
    return err_set_field(err, ERR_INVALID_OPTION, shown, "unexpected argument %zu: %s",
                         command->argument_count + 1, shown);
}

static int take_argument(struct option_values *values, const char *word, struct words *words,
                         struct err *err)
{
    const struct option_command *command = values->command;
    size_t count = command->argument_count;
    size_t place = values->argument_count;
    const struct option_argument *argument;
    struct option row;
    int r;

    if (place >= count && count > 0 && command->arguments[count - 1].is_rest)
        place = count - 1;
    if (place >= count)
        return too_many(command, word, err);
    argument = &command->arguments[place];
    row = (struct option){.name = argument->name,
                          .type = argument->type,
                          .choices = argument->choices,
                          .is_secret = argument->is_secret};
    r = option_value_convert(values->arena,
                             &(struct option_given){&row, OPTION_FLAG, OPTION_BY_PLACE}, word,
                             &(struct option_value){.source = OPTION_FLAG}, err);
    if (r < 0)
        return r;
    words->is_ended = words->is_ended || argument->ends_options;
    if (values->arguments == NULL)
        values->arguments =
            arena_alloc_array(values->arena, (size_t)words->count, sizeof(*values->arguments));
    if (values->arguments == NULL)
        return option_no_memory(err);
    values->arguments[values->argument_count++] = word;
    return 0;
}

static bool is_final_given(const struct option_values *values)
{
    for (const struct option_values *v = values; v != NULL; v = v->above)
        for (size_t i = 0; i < v->command->option_count; i++)
            if (v->command->options[i].is_final && v->slots[i].source == OPTION_FLAG &&
                v->slots[i].number != 0)
                return true;
    return false;
}

static bool is_replaced(const struct option_values *values, const char *option)
{
    for (size_t i = 0; option != NULL && i < values->command->option_count; i++)
        if (strcmp(values->command->options[i].name, option) == 0)
            return values->slots[i].source == OPTION_FLAG;
    return false;
}

static int check_complete(const struct option_values *values, struct err *err)
{
    const struct option_command *command = values->command;
    size_t place = values->argument_count;

    if (place >= command->argument_count || command->arguments[place].is_optional ||
        is_replaced(values, command->arguments[place].instead) || is_final_given(values))
        return 0;
    return err_set_field(err, ERR_INVALID_OPTION, command->arguments[place].name,
                         "missing argument %s", command->arguments[place].name);
}

int options_read_args(struct arena *arena, const struct option_command *program, int argc,
                      char *const *argv, struct option_values **out_values, struct err *err)
{
    struct words words = {.count = argc, .next = 1, .list = argv};
    struct option_values *values = open_command(arena, program, NULL);
    int r = 0;

    if (values == NULL)
        return option_no_memory(err);
    while (r == 0 && words.next < words.count) {
        const char *word = words.list[words.next++];
        bool is_flag = !words.is_ended && word[0] == '-' && word[1] != '\0';

        if (is_flag && strcmp(word, "--") == 0)
            words.is_ended = true;
        else if (is_flag && word[1] == '-')
            r = take_long(values, word + 2, &words, err);
        else if (is_flag)
            r = take_letters(values, word + 1, &words, err);
        else if (values->command->command_count > 0)
            r = take_command(&values, word, &words, err);
        else
            r = take_argument(values, word, &words, err);
    }
    if (r == 0)
        r = check_complete(values, err);
    if (r == 0)
        *out_values = values;
    return r;
}

static const char *env_value(char *const *environment, const char *name)
{
    size_t len = strlen(name);

    for (; *environment != NULL; environment++)
        if (strncmp(*environment, name, len) == 0 && (*environment)[len] == '=')
            return *environment + len + 1;
    return NULL;
}

/* Whether the old name says something else. */
static bool is_shadowed(const struct option *row, const char *text, char *const *environment)
{
    const char *old = row->old_env != NULL ? env_value(environment, row->old_env) : NULL;

    return old != NULL && old[0] != '\0' && strcmp(old, text) != 0;
}

int options_read_env(struct option_values *values, char *const *environment, struct err *err)
{
    for (struct option_values *v = values; v != NULL; v = v->above) {
        for (size_t i = 0; i < v->command->option_count; i++) {
            struct option_given given = {&v->command->options[i], OPTION_ENVIRONMENT,
                                         OPTION_BY_NAME};
            const char *text = NULL;
            int r;

            if (given.row->env != NULL)
                text = env_value(environment, given.row->env);
            if (text == NULL || text[0] == '\0') {
                if (given.row->old_env != NULL)
                    text = env_value(environment, given.row->old_env);
                given.spelling = OPTION_BY_ALIAS;
            } else if (is_shadowed(given.row, text, environment) && values->shadowed == NULL) {
                values->shadowed = given.row;
            }
            if (text == NULL || text[0] == '\0')
                continue;
            r = option_value_give(v, &given, text, err);
            if (r < 0)
                return r;
        }
    }
    return 0;
}

/* ---- files ---- */

static int refuse_line(struct err *err, size_t number, const char *why)
{
    return err_set(err, ERR_INVALID_OPTION, "line %zu: %s", number, why);
}

static const struct option *row_named(const struct option_command *command, struct str name)
{
    for (size_t i = 0; i < command->option_count; i++) {
        const struct option *row = &command->options[i];

        if (str_eq(name, str_from(row->name)) && !row->is_final && !row->is_file)
            return row;
    }
    return NULL;
}

static int take_line(struct option_values *values, struct str line, size_t number, struct err *err)
{
    struct option_given given = {NULL, OPTION_FILE, OPTION_BY_NAME};
    char shown[OPTION_SHOWN_ROOM];
    struct str name;
    const char *text;

    line = str_trim(line);
    if (line.len == 0 || line.ptr[0] == '#')
        return 0;
    str_cut(&line, '=', &name);
    if (line.ptr == NULL)
        return refuse_line(err, number, "expected name = value");
    name = str_trim(name);
    line = str_trim(line);
    if (line.len >= 2 && line.ptr[0] == '"' && line.ptr[line.len - 1] == '"')
        line = str_slice(line, 1, line.len - 1);
    given.row = row_named(values->command, name);
    if (given.row == NULL)
        return err_set(err, ERR_INVALID_OPTION, "line %zu: there is no option '%s'", number,
                       option_printable(name, shown));
    if (memchr(line.ptr, '\0', line.len) != NULL)
        return refuse_line(err, number, "has a NUL character");
    text = arena_copy(values->arena, line);
    return text != NULL ? option_value_give(values, &given, text, err) : option_no_memory(err);
}

int options_read_file(struct option_values *values, struct str text, struct err *err)
{
    struct str line;
    int r = 0;

    for (size_t number = 1; r == 0 && str_cut(&text, '\n', &line); number++)
        r = take_line(values, line, number, err);
    return r;
}

static const struct option_value *slot_of(const struct option_values *values, size_t index,
                                          unsigned types)
{
    assert(index < values->command->option_count);
    assert((types >> values->command->options[index].type & 1) != 0);
    return &values->slots[index];
}

bool options_is_on(const struct option_values *values, size_t index)
{
    return slot_of(values, index, 1u << OPTION_SWITCH)->number != 0;
}

unsigned options_times(const struct option_values *values, size_t index)
{
    return (unsigned)slot_of(values, index, 1u << OPTION_SWITCH)->number;
}

const char *options_text(const struct option_values *values, size_t index)
{
    return slot_of(values, index,
                   1u << OPTION_TEXT | 1u << OPTION_PATH | 1u << OPTION_DIR | 1u << OPTION_CHOICE)
        ->text;
}

size_t options_choice(const struct option_values *values, size_t index)
{
    return (size_t)slot_of(values, index, 1u << OPTION_CHOICE)->number;
}

int64_t options_int(const struct option_values *values, size_t index)
{
    return slot_of(values, index, 1u << OPTION_INT | 1u << OPTION_BYTES | 1u << OPTION_DURATION)
        ->number;
}

struct option_list options_list(const struct option_values *values, size_t index)
{
    static const char *const none[] = {NULL};
    const struct option_value *slot = slot_of(values, index, 1u << OPTION_LIST);

    return (struct option_list){slot->item_count > 0 ? slot->items : none, slot->item_count};
}

const char *options_argument(const struct option_values *values, size_t index)
{
    return index < values->argument_count ? values->arguments[index] : NULL;
}

enum option_source options_source(const struct option_values *values, size_t index)
{
    return slot_of(values, index, ~0u)->source;
}
