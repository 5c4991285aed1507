/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <stdlib.h>
#include <time.h>

#include "cli/table.h"

/* 2026-03-31T10:30:00Z */
#define NOW INT64_C(1774953000000)

static volatile sig_atomic_t stopped_by;

static const struct table_column columns[] = {
    {.title = "NAME", .usual = 6, .fair = 10, .least = 6},
    {.title = "CREATED", .usual = 16},
    {.title = "COUNT", .usual = 5, .is_number = true, .goes = 1},
    {.title = "NOTE", .usual = 4, .least = 4, .is_optional = true},
    {.title = "FOLDER", .usual = 6, .least = 6, .is_path = true},
};

static void open_table(struct table *table, struct output *output, size_t width)
{
    setenv("TZ", "UTC", 1);
    tzset();
    table_init(table, output, columns, array_size(columns));
    table->is_terminal = table->has_head = width > 0;
    table->width = width;
    table->has_colour = false;
    table->now_ms = NOW;
}

static void put_row(struct table *table, const char *name, int count, const char *note,
                    const char *folder)
{
    table_cell(table, str_from(name));
    table_cell_time(table, NOW, STR("then"));
    table_cell_printf(table, "%d", count);
    table_cell_coloured(table, str_from(note), STR("\033[31m"));
    table_cell(table, str_from(folder));
}

static void expect(struct output *output, const char *wanted)
{
    const char *shown;

    assert_int_equal(output->error, 0);
    assert_int_equal(buf_terminate(&output->text, &shown), 0);
    assert_string_equal(shown, wanted);
    buf_clear(&output->text);
}

static void columns_are_as_wide_as_their_texts(void **state)
{
    cleanup_output struct output output = OUTPUT_INIT(-1, &stopped_by);
    cleanup_table struct table table = {.count = 0};

    (void)state;
    open_table(&table, &output, 100);
    put_row(&table, "a", 7, "", "/srv/a");
    put_row(&table, "\u00e4\u4e2d and more", 12345678, "", "");
    expect(&output, "");
    table_end(&table, NULL);
    expect(&output, "NAME         CREATED              COUNT  FOLDER\n"
                    "a            2026-03-31 10:30         7  /srv/a\n"
                    "\u00e4\u4e2d and more  2026-03-31 10:30  12345678  -\n");
}

static void lines_fit_a_narrow_terminal(void **state)
{
    cleanup_output struct output output = OUTPUT_INIT(-1, &stopped_by);
    cleanup_table struct table table = {.count = 0};

    (void)state;
    open_table(&table, &output, 50);
    put_row(&table, "a name of many words", 7, "", "/srv/projects/shop/of/somebody");
    table_end(&table, NULL);
    expect(&output, "NAME        CREATED      COUNT  FOLDER\n"
                    "a name of…  03-31 10:30      7  …/shop/of/somebody\n");
    table_done(&table);
    open_table(&table, &output, 39);
    put_row(&table, "a name of many words", 7, "mine", "/srv/projects/shop/of/somebody");
    table_end(&table, NULL);
    expect(&output, "NAME       CREATED      NOTE  FOLDER\n"
                    "a name o…  03-31 10:30  mine  …somebody\n");
}

static void a_pipe_gets_everything_and_no_head(void **state)
{
    cleanup_output struct output output = OUTPUT_INIT(-1, &stopped_by);
    cleanup_table struct table table = {.count = 0};

    (void)state;
    open_table(&table, &output, 0);
    table_begin(&table);
    put_row(&table, "a name of many words", 7, "", "/srv");
    put_row(&table, "a", 8, "", "");
    expect(&output, "a name of many words  then                  7  -     /srv\n"
                    "a       then                  8\n");
    table_end(&table, "There is nothing");
    expect(&output, "");
}

static void a_column_for_people_leaves_nothing_in_a_pipe(void **state)
{
    static const struct table_column of_two[] = {
        {.title = "NAME", .usual = 1}, {.title = "PLACE", .usual = 1}, {.title = "CREATED"}};
    cleanup_output struct output output = OUTPUT_INIT(-1, &stopped_by);
    cleanup_table struct table table = {.count = 0};

    (void)state;
    table_init(&table, &output, of_two, array_size(of_two));
    table.is_terminal = table.has_head = false;
    table.gap = "\t";
    table_cell(&table, STR("a"));
    table_cell(&table, STR_EMPTY);
    table_cell_time(&table, NOW, STR_EMPTY);
    expect(&output, "a\n");
}

static void what_comes_later_has_the_widths_of_what_was_before(void **state)
{
    cleanup_output struct output output = OUTPUT_INIT(-1, &stopped_by);
    cleanup_table struct table table = {.count = 0};

    (void)state;
    open_table(&table, &output, 60);
    table_begin(&table);
    expect(&output, "NAME        CREATED           COUNT  NOTE  FOLDER\n");
    put_row(&table, "a name of many words", 7, "", "/srv");
    expect(&output, "a name of…  2026-03-31 10:30      7  -     /srv\n");
}

static void nothing_in_a_cell_steers_the_terminal(void **state)
{
    cleanup_output struct output output = OUTPUT_INIT(-1, &stopped_by);
    cleanup_table struct table table = {.count = 0};

    (void)state;
    open_table(&table, &output, 100);
    put_row(&table, "\033[2J", 7, "a\nb", "\xe2\x80\xae");
    table_end(&table, NULL);
    expect(&output, "NAME     CREATED           COUNT  NOTE  FOLDER\n"
                    "\\x1b[2J  2026-03-31 10:30      7  a\\nb  \\u{202e}\n");
}

static void a_large_table_is_printed_as_it_comes(void **state)
{
    cleanup_output struct output output = OUTPUT_INIT(-1, &stopped_by);
    cleanup_table struct table table = {.count = 0};
    size_t most = 0;

    (void)state;
    stopped_by = 1; /* nothing is kept for the terminal */
    open_table(&table, &output, 100);
    for (int i = 0; i < 100000; i++) {
        put_row(&table, "a", i, "", "/srv");
        most = table.cells.len > most ? table.cells.len : most;
    }
    assert_int_equal(output.error, 0);
    assert_in_range(most, 1, 1 << 20);
    stopped_by = 0;
}

TEST_MAIN(cmocka_unit_test(columns_are_as_wide_as_their_texts),
          cmocka_unit_test(lines_fit_a_narrow_terminal),
          cmocka_unit_test(a_pipe_gets_everything_and_no_head),
          cmocka_unit_test(a_column_for_people_leaves_nothing_in_a_pipe),
          cmocka_unit_test(what_comes_later_has_the_widths_of_what_was_before),
          cmocka_unit_test(nothing_in_a_cell_steers_the_terminal),
          cmocka_unit_test(a_large_table_is_printed_as_it_comes))
