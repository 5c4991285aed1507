/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/options/complete.h"
#include "base/options/help.h"
#include "base/options/options.h"
#include "option_sample.h"

enum { ARENA_MAX = 8 << 20 };

static struct arena arena;
static struct err err;
static struct option_values *values; /* of the innermost command */

static int set_up(void **state)
{
    (void)state;
    arena_init(&arena, ARENA_MAX);
    err = (struct err)ERR_INIT;
    values = NULL;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    arena_done(&arena);
    return 0;
}

#define behaviour(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

/* SAFETY: argv and environ are not const in C, but their strings are only read. */
static char *const *as_argv(const char *const *words)
{
    union {
        const char *const *in;
        char *const *out;
    } same = {.in = words};

    return same.out;
}

static int read_words(const char *const *words)
{
    int count = 0;

    while (words[count] != NULL)
        count++;
    return options_read_args(&arena, &sample_program, count, as_argv(words), &values, &err);
}

#define args(...)     read_words((const char *[]){"my-app", __VA_ARGS__, NULL})
#define connect_(...) args("connect", "url", __VA_ARGS__)
#define env(...)      options_read_env(values, as_argv((const char *[]){__VA_ARGS__, NULL}), &err)

static void assert_refused(int r, int code, const char *field, const char *message)
{
    assert_int_equal(r, code);
    assert_int_equal(err.code, code);
    assert_string_equal(err.message, message);
    assert_string_equal(err.field, field);
}

static void assert_source(size_t index, enum option_source source)
{
    assert_int_equal(options_source(values, index), source);
}

/* Flags. */

static void no_words_give_defaults(void **state)
{
    (void)state;
    assert_int_equal(connect_(NULL), 0);
    assert_string_equal(values->command->name, "connect");
    assert_int_equal(options_int(values, OPT_PORT), 7655);
    assert_int_equal(options_int(values, OPT_TIMEOUT), 30000);
    assert_int_equal(options_int(values, OPT_LIMIT), 512000);
    assert_string_equal(options_text(values, OPT_SHELL), "deny");
    assert_null(options_text(values, OPT_DIR));
    assert_null(options_text(values, OPT_NAME));
    assert_false(options_is_on(values, OPT_WRITE));
    assert_int_equal(options_list(values, OPT_ORIGINS).count, 0);
    assert_source(OPT_PORT, OPTION_DEFAULT);
    assert_source(OPT_DIR, OPTION_UNSET);
    assert_true(options_is_on(values->above, OPT_COLOUR));
    assert_null(values->above->above);
}

static void no_argv_at_all_is_the_bare_program(void **state)
{
    char *none[] = {NULL};

    (void)state;
    assert_int_equal(options_read_args(&arena, &sample_program, 0, none, &values, &err), 0);
    assert_ptr_equal(values->command, &sample_program);
}

static void every_way_to_write_a_value_is_read(void **state)
{
    (void)state;
    assert_int_equal(connect_("--port", "80"), 0);
    assert_int_equal(options_int(values, OPT_PORT), 80);
    assert_int_equal(connect_("--port=81"), 0);
    assert_int_equal(options_int(values, OPT_PORT), 81);
    assert_int_equal(connect_("-p", "82"), 0);
    assert_int_equal(options_int(values, OPT_PORT), 82);
    assert_source(OPT_PORT, OPTION_FLAG);
    assert_int_equal(connect_("-p83"), 0);
    assert_int_equal(options_int(values, OPT_PORT), 83);
    assert_int_equal(connect_("--dir=/x"), 0);
    assert_string_equal(options_text(values, OPT_DIR), "/x");
    assert_source(OPT_DIR, OPTION_FLAG);
    assert_int_equal(connect_("--name=a=b"), 0);
    assert_string_equal(options_text(values, OPT_NAME), "a=b");
}

static void letters_group_and_the_last_may_take_a_value(void **state)
{
    (void)state;
    assert_int_equal(connect_("-vwp84"), 0);
    assert_true(options_is_on(values, OPT_WRITE));
    assert_true(options_is_on(values->above, OPT_VERBOSE));
    assert_int_equal(options_int(values, OPT_PORT), 84);
    assert_int_equal(connect_("-wp", "85"), 0);
    assert_int_equal(options_int(values, OPT_PORT), 85);
}

static void a_switch_can_be_turned_off_again(void **state)
{
    (void)state;
    assert_int_equal(connect_("--write-access", "--no-write-access"), 0);
    assert_false(options_is_on(values, OPT_WRITE));
    assert_source(OPT_WRITE, OPTION_FLAG);
    assert_int_equal(connect_("--write-access=NO"), 0);
    assert_false(options_is_on(values, OPT_WRITE));
    assert_int_equal(args("--no-colour"), 0);
    assert_false(options_is_on(values, OPT_COLOUR));
    assert_refused(connect_("--no-write-access=1"), ERR_INVALID_OPTION, "--no-write-access",
                   "--no-write-access: takes no value");
    assert_refused(connect_("--no-port"), ERR_UNKNOWN_OPTION, "--no-port",
                   "--no-port: unknown option; did you mean --port?");
    assert_int_equal(args("--no-help"), ERR_UNKNOWN_OPTION);
}

static void the_last_single_value_wins(void **state)
{
    (void)state;
    assert_int_equal(connect_("--port=1", "-p2", "--port", "3"), 0);
    assert_int_equal(options_int(values, OPT_PORT), 3);
    assert_refused(connect_("--port=x", "--port=3"), ERR_INVALID_OPTION, "--port",
                   "--port: 'x' is not a whole number between 1 and 65535");
}

static void repeated_list_flags_add_up(void **state)
{
    struct option_list list;

    (void)state;
    assert_int_equal(connect_("--allowed-origins=a, b", "-oc"), 0);
    list = options_list(values, OPT_ORIGINS);
    assert_int_equal(list.count, 3);
    assert_string_equal(list.items[0], "a");
    assert_string_equal(list.items[1], "b");
    assert_string_equal(list.items[2], "c");
    assert_int_equal(connect_("--allowed-origins="), 0);
    assert_int_equal(options_list(values, OPT_ORIGINS).count, 0);
    assert_source(OPT_ORIGINS, OPTION_FLAG);
    assert_refused(connect_("-oa,,b"), ERR_INVALID_OPTION, "-o", "-o: has an empty item");
}

static void a_comma_in_braces_separates_nothing(void **state)
{
    struct option_list list;

    (void)state;
    assert_int_equal(connect_("--allowed-origins", "*.{a,b},c{d,{e,f}},g}h,{i,j"), 0);
    list = options_list(values, OPT_ORIGINS);
    assert_int_equal(list.count, 4);
    assert_string_equal(list.items[0], "*.{a,b}");
    assert_string_equal(list.items[1], "c{d,{e,f}}");
    assert_string_equal(list.items[2], "g}h");
    assert_string_equal(list.items[3], "{i,j");
}

static void a_list_has_a_ceiling(void **state)
{
    char text[2 * OPTION_MAX_ITEMS + 2];

    (void)state;
    for (size_t i = 0; i < sizeof(text); i += 2)
        memcpy(text + i, "x,", 2);
    text[2 * OPTION_MAX_ITEMS - 1] = '\0';
    assert_int_equal(connect_("-o", text), 0);
    assert_int_equal(options_list(values, OPT_ORIGINS).count, OPTION_MAX_ITEMS);
    assert_refused(connect_("-o", text, "-oy"), ERR_INVALID_OPTION, "-o", "-o: has too many items");
}

static void two_dashes_end_the_options(void **state)
{
    (void)state;
    assert_int_equal(args("show", "--", "text", "--help", "--"), 0);
    assert_int_equal(values->argument_count, 3);
    assert_string_equal(options_argument(values, 1), "--help");
    assert_string_equal(options_argument(values, 2), "--");
    assert_null(options_argument(values, 3));
}

static void a_lone_dash_is_an_argument(void **state)
{
    (void)state;
    assert_int_equal(args("show", "text", "-"), 0);
    assert_string_equal(options_argument(values, 1), "-");
}

static void options_and_arguments_mix(void **state)
{
    (void)state;
    assert_int_equal(
        args("-v", "connect", "-p1", "url", "-w", "tok", "--log-level", "debug", "dir"), 0);
    assert_string_equal(options_argument(values, 0), "url");
    assert_string_equal(options_argument(values, 1), "tok");
    assert_string_equal(options_argument(values, 2), "dir");
    assert_int_equal(options_choice(values->above, OPT_LEVEL), 4);
    assert_string_equal(options_text(values->above, OPT_LEVEL), "debug");
    assert_true(options_is_on(values->above, OPT_VERBOSE));
}

static void names_are_never_shortened(void **state)
{
    (void)state;
    assert_int_equal(connect_("--por", "1"), ERR_UNKNOWN_OPTION);
    assert_int_equal(connect_("--", "--por"), 0);
    assert_int_equal(args("conn"), ERR_UNKNOWN_OPTION);
}

static void a_value_may_look_like_an_option(void **state)
{
    (void)state;
    assert_int_equal(connect_("--offset", "-5", "--name", "--port"), 0);
    assert_int_equal(options_int(values, OPT_OFFSET), -5);
    assert_string_equal(options_text(values, OPT_NAME), "--port");
    assert_refused(connect_("--port"), ERR_INVALID_OPTION, "--port",
                   "--port: needs a value (NUMBER)");
    assert_refused(connect_("-wd"), ERR_INVALID_OPTION, "-d", "-d: needs a value (DIR)");
}

static void a_final_switch_excuses_missing_arguments(void **state)
{
    (void)state;
    assert_int_equal(args("connect", "--help"), 0);
    assert_string_equal(values->command->name, "connect");
    assert_true(options_is_on(values->above, OPT_HELP));
    assert_int_equal(args("-h", "connect"), 0);
}

static void commands_nest(void **state)
{
    (void)state;
    assert_int_equal(args("box", "list", "-av"), 0);
    assert_string_equal(values->command->name, "list");
    assert_string_equal(values->above->command->name, "box");
    assert_true(options_is_on(values, 0));
    assert_true(options_is_on(values->above->above, OPT_VERBOSE));
    /* The option belongs to the command, so it is not known before it. */
    assert_int_equal(args("-a", "box", "list"), ERR_UNKNOWN_OPTION);
}

static void a_failed_read_leaves_the_output(void **state)
{
    (void)state;
    assert_int_equal(connect_("--bogus"), ERR_UNKNOWN_OPTION);
    assert_null(values);
}

static void errors_may_go_unheard(void **state)
{
    const char *words[] = {"my-app", "--bogus", NULL};

    (void)state;
    assert_int_equal(options_read_args(&arena, &sample_program, 2, as_argv(words), &values, NULL),
                     ERR_UNKNOWN_OPTION);
}

static void a_full_arena_is_said(void **state)
{
    (void)state;
    arena_done(&arena);
    arena_init(&arena, 16);
    assert_int_equal(connect_("-v"), ERR_NO_MEMORY);
}

/* Values. */

static void numbers_keep_their_limits(void **state)
{
    static const struct {
        const char *word;
        const char *message; /* NULL: accepted */
    } rows[] = {
        {"--port=1", NULL},
        {"--port=65535", NULL},
        {"--port=0", "--port: '0' is not between 1 and 65535"},
        {"--port=99999", "--port: '99999' is not between 1 and 65535"},
        {"--port=", "--port: '' is not a whole number between 1 and 65535"},
        {"--port=+1", "--port: '+1' is not a whole number between 1 and 65535"},
        {"--port=1 ", "--port: '1 ' is not a whole number between 1 and 65535"},
        {"--port=99999999999999999999",
         "--port: '99999999999999999999' is not a whole number between 1 and 65535"},
        {"--offset=-9223372036854775808", NULL},
        {"--offset=1.5", "--offset: '1.5' is not a whole number"},
        {"--timeout=1500", NULL},
        {"--timeout=2ms", NULL},
        {"--timeout=5min", NULL},
        {"--timeout=5m", NULL},
        {"--timeout=1h", NULL},
        {"--timeout=2h", "--timeout: '2h' is not between 1ms and 1h"},
        {"--timeout=s", "--timeout: 's' is not a time like 500ms, 30s or 5m between 1ms and 1h"},
        {"--timeout=9223372036854775807h",
         "--timeout: '9223372036854775807h' is not a time like 500ms, 30s or 5m between 1ms and "
         "1h"},
        {"--max-file-size=1KiB", NULL},
        {"--max-file-size=1023", "--max-file-size: '1023' is not between 1KiB and 1GiB"},
        {"--max-file-size=-1",
         "--max-file-size: '-1' is not a size like 512KB between 1KiB and 1GiB"},
    };

    (void)state;
    for (size_t i = 0; i < array_size(rows); i++) {
        int r = connect_(rows[i].word);

        assert_int_equal(r, rows[i].message == NULL ? 0 : ERR_INVALID_OPTION);
        if (rows[i].message != NULL)
            assert_string_equal(err.message, rows[i].message);
    }
}

static void a_variable_may_have_an_old_name(void **state)
{
    static const struct option rows[] = {{.name = "port",
                                          .type = OPTION_INT,
                                          .min = 1,
                                          .max = 9,
                                          .env = "APP_PORT",
                                          .old_env = "OLD_PORT"}};
    static const struct option_command program = {
        .name = "app", .options = rows, .option_count = array_size(rows)};
    static const struct {
        const char *variables[3];
        int64_t port;
        bool is_shadowed;
    } cases[] = {{{"OLD_PORT=2"}, 2, false},
                 {{"APP_PORT=3"}, 3, false},
                 {{"OLD_PORT=2", "APP_PORT=3"}, 3, true},
                 {{"OLD_PORT=3", "APP_PORT=3"}, 3, false},
                 {{"OLD_PORT=2", "APP_PORT="}, 2, false}};
    const char *words[] = {"app"};
    const char *wrong[] = {"OLD_PORT=x", NULL};
    struct option_values *read;

    (void)state;
    for (size_t i = 0; i < array_size(cases); i++) {
        assert_int_equal(options_read_args(&arena, &program, 1, as_argv(words), &read, &err), 0);
        assert_int_equal(options_read_env(read, as_argv(cases[i].variables), &err), 0);
        assert_int_equal(options_int(read, 0), cases[i].port);
        assert_int_equal(read->shadowed != NULL, cases[i].is_shadowed);
    }
    assert_int_equal(options_read_args(&arena, &program, 1, as_argv(words), &read, &err), 0);
    assert_int_equal(options_read_env(read, as_argv(wrong), &err), ERR_INVALID_OPTION);
    assert_string_equal(err.message, "OLD_PORT: 'x' is not a whole number between 1 and 9");
}

static void options_may_end_at_the_first_argument(void **state)
{
    static const struct option rows[] = {{.name = "loud", .letter = 'l'}};
    static const struct option_argument arguments[] = {
        {.name = "COMMAND", .type = OPTION_TEXT, .is_rest = true, .ends_options = true}};
    static const struct option_command program = {.name = "run",
                                                  .options = rows,
                                                  .option_count = array_size(rows),
                                                  .arguments = arguments,
                                                  .argument_count = array_size(arguments)};
    const char *plain[] = {"run", "-l", "ls", "-l", "--", "--loud=x"};
    const char *explicit_[] = {"run", "--", "-x", "-l"};
    struct option_values *read;

    (void)state;
    assert_int_equal(
        options_read_args(&arena, &program, array_size(plain), as_argv(plain), &read, &err), 0);
    assert_true(options_is_on(read, 0));
    assert_int_equal(read->argument_count, 4);
    assert_string_equal(options_argument(read, 1), "-l");
    assert_string_equal(options_argument(read, 2), "--");
    assert_int_equal(
        options_read_args(&arena, &program, array_size(explicit_), as_argv(explicit_), &read, &err),
        0);
    assert_false(options_is_on(read, 0));
    assert_string_equal(options_argument(read, 0), "-x");
}

static void durations_and_sizes_have_units(void **state)
{
    (void)state;
    assert_int_equal(connect_("--timeout=5min", "--max-file-size=2 MiB"), 0);
    assert_int_equal(options_int(values, OPT_TIMEOUT), 300000);
    assert_int_equal(connect_("--timeout=5m"), 0);
    assert_int_equal(options_int(values, OPT_TIMEOUT), 300000);
    assert_int_equal(connect_("--timeout=90s", "--max-file-size=2 MiB"), 0);
    assert_int_equal(options_int(values, OPT_TIMEOUT), 90000);
    assert_int_equal(options_int(values, OPT_LIMIT), 2 << 20);
}

static void a_wrong_choice_lists_the_right_ones(void **state)
{
    (void)state;
    assert_refused(args("--log-level", "loud"), ERR_INVALID_OPTION, "--log-level",
                   "--log-level: 'loud' is not one of silent, error, warn, info, debug");
    assert_refused(args("-lINFO"), ERR_INVALID_OPTION, "-l",
                   "-l: 'INFO' is not one of silent, error, warn, info, debug");
    assert_refused(args("show", "xml"), ERR_INVALID_OPTION, "FORMAT",
                   "FORMAT: 'xml' is not one of text, json");
}

static void text_is_utf8_and_paths_are_any_bytes(void **state)
{
    (void)state;
    assert_refused(connect_("--name=a\xFF"), ERR_INVALID_OPTION, "--name",
                   "--name: 'a\\xff' is not valid UTF-8");
    assert_refused(connect_("-oa,\xC3"), ERR_INVALID_OPTION, "-o",
                   "-o: 'a,\\xc3' is not valid UTF-8");
    assert_int_equal(args("connect", "\xFF"), ERR_INVALID_OPTION);
    assert_int_equal(connect_("--dir=a\xFF", "--log-file", "\xC3"), 0);
    assert_string_equal(options_text(values, OPT_DIR), "a\xFF");
    assert_int_equal(args("show", "text", "\xFF"), 0);
}

static void empty_text_is_a_text_but_no_path(void **state)
{
    (void)state;
    assert_int_equal(connect_("--name=", "--name", ""), 0);
    assert_string_equal(options_text(values, OPT_NAME), "");
    assert_refused(connect_("--dir="), ERR_INVALID_OPTION, "--dir", "--dir: is empty");
    assert_int_equal(args(""), ERR_UNKNOWN_OPTION);
    assert_int_equal(args("show", ""), ERR_INVALID_OPTION);
}

static void control_characters_do_not_reach_a_message(void **state)
{
    static const char next_line[] = {'\xC2', '\x85', '\0'};
    static const char right_to_left[] = {'\xE2', '\x80', '\xAE', '\0'};
    char word[64];

    (void)state;
    snprintf(word, sizeof(word), "--port=\x1B[2J\r\n\x7F%s%s1", next_line, right_to_left);
    assert_refused(
        connect_(word), ERR_INVALID_OPTION, "--port",
        "--port: '\\x1b[2J\\r\\n\\x7f\\u{85}\\u{202e}1' is not a whole number between 1 and 65535");
    assert_refused(args("--a\x1B[1mb"), ERR_UNKNOWN_OPTION, "--a\\x1b[1mb",
                   "--a\\x1b[1mb: unknown option");
    /* Neither do characters without a shape: a soft hyphen, a zero-width space, a tag. */
    assert_refused(args("--a\xC2\xAD\xE2\x80\x8B\xF3\xA0\x81\x81"), ERR_UNKNOWN_OPTION,
                   "--a\\u{ad}\\u{200b}\\u{e0041}",
                   "--a\\u{ad}\\u{200b}\\u{e0041}: unknown option");
    assert_refused(args("-\x1B"), ERR_UNKNOWN_OPTION, "-\\x1b", "-\\x1b: unknown option");
    assert_refused(args("a\nb"), ERR_UNKNOWN_OPTION, "a\\nb", "a\\nb: unknown command");
}

static void a_megabyte_is_cut_in_a_message(void **state)
{
    enum { MEGABYTE = 1 << 20 };
    cleanup_free char *word = malloc(MEGABYTE + 1);
    char shown[OPTION_SHOWN_BYTES + 4];

    (void)state;
    memset(word, 'x', MEGABYTE);
    word[MEGABYTE] = '\0';
    memset(shown, 'x', OPTION_SHOWN_BYTES);
    memcpy(shown + OPTION_SHOWN_BYTES, "...", 4);
    assert_int_equal(connect_("--port", word), ERR_INVALID_OPTION);
    assert_non_null(strstr(err.message, shown));
    assert_non_null(strstr(err.message, "between 1 and 65535"));
    assert_int_equal(connect_("--name", word), 0);
    assert_ptr_equal(options_text(values, OPT_NAME), word);
    assert_int_equal(args(word), ERR_UNKNOWN_OPTION);
    assert_string_equal(err.field, shown);
    memcpy(word, "--", 2);
    assert_int_equal(args(word), ERR_UNKNOWN_OPTION);
    memcpy(word, "-v", 2);
    assert_int_equal(args(word), ERR_UNKNOWN_OPTION);
    assert_string_equal(err.field, "-x");
}

static void a_secret_is_never_shown(void **state)
{
    (void)state;
    assert_refused(connect_("--key=hunter2\xFF"), ERR_INVALID_OPTION, "--key",
                   "--key: the value is not valid UTF-8");
    assert_refused(connect_("--pin", "hunter2"), ERR_INVALID_OPTION, "--pin",
                   "--pin: the value is not a whole number between 1000 and 9999");
    assert_refused(connect_("--kye=hunter2"), ERR_UNKNOWN_OPTION, "--kye",
                   "--kye: unknown option; did you mean --key?");
    assert_refused(connect_("-xhunter2"), ERR_UNKNOWN_OPTION, "-x", "-x: unknown option");
    assert_refused(connect_("hunter2\xFF"), ERR_INVALID_OPTION, "TOKEN",
                   "TOKEN: the value is not valid UTF-8");
    assert_refused(connect_("a", "b", "hunter2"), ERR_INVALID_OPTION, "(not shown)",
                   "unexpected argument 4: (not shown)");
    assert_int_equal(connect_(NULL), 0);
    assert_refused(env("APP_PIN=hunter2"), ERR_INVALID_OPTION, "APP_PIN",
                   "APP_PIN: the value is not a whole number between 1000 and 9999");
}

static void missing_and_surplus_arguments_are_named(void **state)
{
    (void)state;
    assert_refused(args("connect"), ERR_INVALID_OPTION, "URL", "missing argument URL");
    assert_refused(args("box", "remove", "a", "b"), ERR_INVALID_OPTION, "b",
                   "unexpected argument 2: b");
    assert_refused(args("box", "list", "x"), ERR_INVALID_OPTION, "x", "unexpected argument 1: x");
    assert_int_equal(args("show", "json", "a", "b", "c"), 0);
    assert_int_equal(values->argument_count, 4);
}

static void an_option_can_stand_for_an_argument(void **state)
{
    static const struct option rows[] = {{.name = "url", .type = OPTION_TEXT}};
    static const struct option_argument arguments[] = {
        {.name = "URL", .type = OPTION_TEXT, .instead = "url"}};
    static const struct option_command program = {.name = "join",
                                                  .options = rows,
                                                  .option_count = array_size(rows),
                                                  .arguments = arguments,
                                                  .argument_count = array_size(arguments)};
    const char *none[] = {"join"};
    const char *option[] = {"join", "--url", "x"};
    struct option_values *read;

    (void)state;
    assert_int_equal(options_read_args(&arena, &program, 1, as_argv(none), &read, &err),
                     ERR_INVALID_OPTION);
    assert_string_equal(err.message, "missing argument URL");
    assert_int_equal(
        options_read_args(&arena, &program, array_size(option), as_argv(option), &read, &err), 0);
    assert_string_equal(options_text(read, 0), "x");
}

static void near_misses_get_a_suggestion(void **state)
{
    (void)state;
    assert_refused(args("--log-levle", "x"), ERR_UNKNOWN_OPTION, "--log-levle",
                   "--log-levle: unknown option; did you mean --log-level?");
    assert_refused(connect_("--drr=x"), ERR_UNKNOWN_OPTION, "--drr",
                   "--drr: unknown option; did you mean --dir?");
    assert_refused(args("conect"), ERR_UNKNOWN_OPTION, "conect",
                   "conect: unknown command; did you mean connect?");
    assert_refused(args("--zzzzzz"), ERR_UNKNOWN_OPTION, "--zzzzzz", "--zzzzzz: unknown option");
    assert_refused(args("--="), ERR_UNKNOWN_OPTION, "--", "--: unknown option");
}

/* Environment. */

static void switches_in_the_environment_have_words(void **state)
{
    static const char *const on[] = {"APP_WRITE=1", "APP_WRITE=true", "APP_WRITE=YES"};
    static const char *const off[] = {"APP_WRITE=0", "APP_WRITE=False", "APP_WRITE=no"};

    (void)state;
    for (size_t i = 0; i < array_size(on); i++) {
        assert_int_equal(connect_(NULL), 0);
        assert_int_equal(env(on[i]), 0);
        assert_true(options_is_on(values, OPT_WRITE));
        assert_source(OPT_WRITE, OPTION_ENVIRONMENT);
        assert_int_equal(env(off[i]), 0);
        assert_false(options_is_on(values, OPT_WRITE));
    }
    assert_refused(env("APP_WRITE=on"), ERR_INVALID_OPTION, "APP_WRITE",
                   "APP_WRITE: 'on' must be one of 1, 0, true, false, yes, no");
}

static void a_file_is_weaker_than_environment_and_flags(void **state)
{
    (void)state;
    assert_int_equal(connect_("--port", "1"), 0);
    assert_int_equal(env("APP_NAME=from environment"), 0);
    assert_int_equal(options_read_file(values,
                                       STR("# words\n\n port = 2 \r\nname=3\nwrite-access=yes\n"
                                           "filesystem-dir = \"/a b\"\nfilesystem-dir=/c=d"),
                                       &err),
                     0);
    assert_int_equal(options_int(values, OPT_PORT), 1);
    assert_string_equal(options_text(values, OPT_NAME), "from environment");
    assert_true(options_is_on(values, OPT_WRITE));
    assert_source(OPT_WRITE, OPTION_FILE);
    assert_string_equal(options_text(values, OPT_DIR), "/c=d"); /* the last one wins */
}

static void a_line_of_a_file_that_says_nothing_is_refused(void **state)
{
    (void)state;
    assert_int_equal(connect_(NULL), 0);
    assert_refused(options_read_file(values, STR("\nport"), &err), ERR_INVALID_OPTION, "",
                   "line 2: expected name = value");
    assert_refused(options_read_file(values, STR("dir = x"), &err), ERR_INVALID_OPTION, "",
                   "line 1: there is no option 'dir'");
    assert_refused(options_read_file(values, STR("port = 0"), &err), ERR_INVALID_OPTION, "port",
                   "port: '0' is not between 1 and 65535");
    assert_refused(options_read_file(values, STR("name = a\0b"), &err), ERR_INVALID_OPTION, "",
                   "line 1: has a NUL character");
}

static void an_empty_variable_is_not_set(void **state)
{
    (void)state;
    assert_int_equal(connect_(NULL), 0);
    assert_int_equal(env("APP_PORT=", "APP_DIR=", "APP_WRITE=", "APP_NAME"), 0);
    assert_source(OPT_PORT, OPTION_DEFAULT);
    assert_source(OPT_DIR, OPTION_UNSET);
}

static void variables_are_matched_whole(void **state)
{
    (void)state;
    assert_int_equal(connect_(NULL), 0);
    assert_int_equal(env("APP_PORTS=1", "XAPP_PORT=2", "APP_POR=3", "=4"), 0);
    assert_int_equal(options_int(values, OPT_PORT), 7655);
    assert_int_equal(env("APP_ORIGINS=a,b", "APP_LOG_LEVEL=warn"), 0);
    assert_int_equal(options_list(values, OPT_ORIGINS).count, 2);
    assert_int_equal(options_choice(values->above, OPT_LEVEL), 2);
    assert_refused(env("APP_PORT=99999"), ERR_INVALID_OPTION, "APP_PORT",
                   "APP_PORT: '99999' is not between 1 and 65535");
}

/* Precedence. */

static void the_stronger_source_wins(void **state)
{
    static const int ports[] = {7655, 2, 4, 4};

    (void)state;
    for (unsigned given = 0; given < 4; given++) {
        assert_int_equal(connect_(given & 2 ? "--port=4" : NULL), 0);
        if ((given & 1) != 0)
            assert_int_equal(env("APP_PORT=2"), 0);
        assert_int_equal(options_int(values, OPT_PORT), ports[given]);
        assert_source(OPT_PORT, given & 2   ? OPTION_FLAG
                                : given & 1 ? OPTION_ENVIRONMENT
                                            : OPTION_DEFAULT);
    }
}

static void a_stronger_list_replaces_a_weaker_one(void **state)
{
    (void)state;
    assert_int_equal(connect_("-oflag"), 0);
    assert_int_equal(env("APP_ORIGINS=c,d,e"), 0);
    assert_int_equal(options_list(values, OPT_ORIGINS).count, 1);
    assert_string_equal(options_list(values, OPT_ORIGINS).items[0], "flag");
}

static void an_overridden_value_is_checked_all_the_same(void **state)
{
    (void)state;
    assert_int_equal(connect_("--port=4"), 0);
    assert_int_equal(env("APP_PORT=x"), ERR_INVALID_OPTION);
    assert_int_equal(options_int(values, OPT_PORT), 4);
}

/* Help and completions. */

static void help_is_wrapped_and_aligned(void **state)
{
    static const char wide[] =
        "Usage: my-app connect [OPTIONS] URL [TOKEN] [DIR]\n"
        "\n"
        "Connect this machine to an instance.\n"
        "\n"
        "Arguments:\n"
        "  URL                         address of the instance\n"
        "  TOKEN                       pairing token\n"
        "  DIR                         same as --filesystem-dir\n"
        "\n"
        "Options:\n"
        "  -p, --port NUMBER           local port to listen on (default: 7655; env:\n"
        "                              APP_PORT)\n"
        "  -d, --filesystem-dir, --dir DIR\n"
        "                              directory that is opened (env: APP_DIR)\n"
        "      --offset NUMBER         any number\n"
        "  -n, --name TEXT             name of this machine (env: APP_NAME)\n"
        "      --log-file FILE         file to log to (env: APP_LOG_FILE)\n"
        "  -k, --key TEXT              key of the instance (env: APP_KEY)\n"
        "      --pin NUMBER            four digits (env: APP_PIN)\n"
        "\n"
        "Permissions:\n"
        "  -w, --write-access          allow changes (env: APP_WRITE)\n"
        "      --permission-shell MODE\n"
        "                              mode of the shell group (one of deny, ask, allow;\n"
        "                              default: deny; env: APP_PERMISSION_SHELL)\n"
        "  -o, --allowed-origins LIST  origins that may ask (env: APP_ORIGINS)\n"
        "\n"
        "Limits:\n"
        "      --timeout TIME          longest run of a command (default: 30s; env:\n"
        "                              APP_TIMEOUT)\n"
        "      --max-file-size SIZE    largest file (default: 512KB; env: APP_LIMIT)\n"
        "\n"
        "Global options:\n"
        "  -h, --help                  show this page\n"
        "  -v, --verbose               say more (env: APP_VERBOSE)\n"
        "      --[no-]colour           use colours (default: on)\n"
        "  -l, --log-level LEVEL       what's worth [a] line: least to log (one of\n"
        "                              silent, error, warn, info, debug; default: info;\n"
        "                              env: APP_LOG_LEVEL)\n";
    cleanup_buf struct buf page = BUF_INIT(1 << 16);

    (void)state;
    assert_int_equal(args("connect", "--help"), 0);
    assert_int_equal(options_help(values, 80, &page), 0);
    assert_str(buf_view(&page), wide);
}

static void help_of_a_program_lists_its_commands(void **state)
{
    static const char narrow[] = "Usage: my-app [OPTIONS] COMMAND\n"
                                 "\n"
                                 "A sample of everything.\n"
                                 "\n"
                                 "Commands:\n"
                                 "  connect      Connect this machine to\n"
                                 "               an instance.\n"
                                 "  show         Print what's there:\n"
                                 "               files.\n"
                                 "  box          Work with boxes.\n"
                                 "\n"
                                 "Options:\n"
                                 "  -h, --help   show this page\n"
                                 "  -v, --verbose\n"
                                 "               say more (env:\n"
                                 "               APP_VERBOSE)\n"
                                 "      --[no-]colour\n"
                                 "               use colours (default: on)\n"
                                 "  -l, --log-level LEVEL\n"
                                 "               what's worth [a] line:\n"
                                 "               least to log (one of\n"
                                 "               silent, error, warn,\n"
                                 "               info, debug; default:\n"
                                 "               info; env: APP_LOG_LEVEL)\n";
    cleanup_buf struct buf page = BUF_INIT(1 << 16);

    (void)state;
    assert_int_equal(args("-h"), 0);
    /* Less than the smallest width is taken as that. */
    assert_int_equal(options_help(values, 1, &page), 0);
    assert_str(buf_view(&page), narrow);
}

static void help_says_when_its_buffer_is_full(void **state)
{
    cleanup_buf struct buf page = BUF_INIT(100);

    (void)state;
    assert_int_equal(args("-h"), 0);
    assert_int_equal(options_help(values, 80, &page), ERR_TOO_LARGE);
    assert_int_equal(options_complete(&sample_program, OPTION_BASH, &page), ERR_TOO_LARGE);
}

static bool mentions(const struct buf *text, const char *before, const char *name)
{
    char wanted[OPTION_NAME_BYTES];

    snprintf(wanted, sizeof(wanted), "%s%s", before, name);
    return str_find(buf_view(text), str_from(wanted)) != SIZE_MAX;
}

static void every_row_is_in_help_and_completions(void **state)
{
    cleanup_buf struct buf help = BUF_INIT(1 << 16);
    struct buf scripts[3];

    (void)state;
    assert_int_equal(args("connect", "--help"), 0);
    assert_int_equal(options_help(values, 80, &help), 0);
    for (int shell = OPTION_BASH; shell <= OPTION_FISH; shell++) {
        buf_init(&scripts[shell], 1 << 20);
        assert_int_equal(
            options_complete(&sample_program, (enum option_shell)shell, &scripts[shell]), 0);
    }
    for (const struct option_values *v = values; v != NULL; v = v->above) {
        for (size_t i = 0; i < v->command->option_count; i++) {
            const struct option *row = &v->command->options[i];

            assert_true(
                mentions(&help, option_is_on_by_default(row) ? "--[no-]" : "--", row->name));
            assert_true(row->env == NULL || mentions(&help, "", row->env));
            assert_true(mentions(&scripts[OPTION_BASH], " --", row->name));
            assert_true(mentions(&scripts[OPTION_ZSH], "--", row->name));
            assert_true(mentions(&scripts[OPTION_FISH], "-l ", row->name));
        }
        for (size_t i = 0; i < v->command->command_count; i++)
            for (int shell = OPTION_BASH; shell <= OPTION_FISH; shell++)
                assert_true(mentions(&scripts[shell], "", v->command->commands[i].name));
    }
    assert_false(mentions(&help, "", "hidden-default"));
    for (int shell = OPTION_BASH; shell <= OPTION_FISH; shell++) {
        assert_false(mentions(&scripts[shell], "", "hidden-default"));
        buf_done(&scripts[shell]);
    }
}

TEST_MAIN(
    behaviour(a_file_is_weaker_than_environment_and_flags),
    behaviour(a_line_of_a_file_that_says_nothing_is_refused), behaviour(no_words_give_defaults),
    behaviour(no_argv_at_all_is_the_bare_program), behaviour(every_way_to_write_a_value_is_read),
    behaviour(letters_group_and_the_last_may_take_a_value),
    behaviour(a_switch_can_be_turned_off_again), behaviour(the_last_single_value_wins),
    behaviour(repeated_list_flags_add_up), behaviour(a_comma_in_braces_separates_nothing),
    behaviour(a_list_has_a_ceiling), behaviour(two_dashes_end_the_options),
    behaviour(a_lone_dash_is_an_argument), behaviour(options_and_arguments_mix),
    behaviour(names_are_never_shortened), behaviour(a_value_may_look_like_an_option),
    behaviour(a_final_switch_excuses_missing_arguments), behaviour(commands_nest),
    behaviour(a_failed_read_leaves_the_output), behaviour(errors_may_go_unheard),
    behaviour(a_full_arena_is_said), behaviour(numbers_keep_their_limits),
    behaviour(a_variable_may_have_an_old_name), behaviour(options_may_end_at_the_first_argument),
    behaviour(durations_and_sizes_have_units), behaviour(a_wrong_choice_lists_the_right_ones),
    behaviour(text_is_utf8_and_paths_are_any_bytes), behaviour(empty_text_is_a_text_but_no_path),
    behaviour(control_characters_do_not_reach_a_message), behaviour(a_megabyte_is_cut_in_a_message),
    behaviour(a_secret_is_never_shown), behaviour(missing_and_surplus_arguments_are_named),
    behaviour(an_option_can_stand_for_an_argument), behaviour(near_misses_get_a_suggestion),
    behaviour(switches_in_the_environment_have_words), behaviour(an_empty_variable_is_not_set),
    behaviour(variables_are_matched_whole),

    behaviour(the_stronger_source_wins), behaviour(a_stronger_list_replaces_a_weaker_one),
    behaviour(an_overridden_value_is_checked_all_the_same), behaviour(help_is_wrapped_and_aligned),
    behaviour(help_of_a_program_lists_its_commands), behaviour(help_says_when_its_buffer_is_full),
    behaviour(every_row_is_in_help_and_completions))
