/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A search of a tree: what it counts, what it keeps and in which order, what it skips, and how it
 * ends early.
 */
#include "hunt.h"

enum { MANY = 300 };

static void plant_many(struct world *world)
{
    plant_dir(world, WORLD_ROOT, "many");
    for (unsigned i = 0; i < MANY; i++) {
        char name[32];

        snprintf(name, sizeof(name), "many/%03u", i);
        plant(world, WORLD_ROOT, name, "needle one\nhay\nneedle two\n");
    }
}

/* ---- what is found ---- */

static void matches_come_in_the_order_of_the_tree(void **state)
{
    static const unsigned threads[] = {1, 2, 8, 0};
    struct world *world = *state;
    cleanup_hunt struct hunt hunt = {.world = world};

    plant(world, WORLD_ROOT, "a", "no\nab needle\nno\nneedle\n");
    plant(world, WORLD_ROOT, "z", "needle at once");
    plant_dir(world, WORLD_ROOT, "m");
    plant_dir(world, WORLD_ROOT, "m/n");
    plant(world, WORLD_ROOT, "m/b", "needle");
    plant(world, WORLD_ROOT, "m/n/c", "\n\nneedle needle\r\n");
    plant(world, WORLD_ROOT, "m/empty", "");
    hunt_init(&hunt, world, "needle");
    for (size_t i = 0; i < array_size(threads); i++) {
        hunt.request.threads = threads[i];
        assert_found(&hunt, "m/n/c:3[0-6]: needle needle\n"
                            "m/b:1[0-6]: needle\n"
                            "a:2[3-9]: ab needle\n"
                            "a:4[0-6]: needle\n"
                            "z:1[0-6]: needle at once\n");
        assert_int_equal(hunt.result.total, 5);
        assert_int_equal(hunt.result.searched, 5);
        assert_int_equal(hunt.result.missed_count, 0);
    }
    hunt.request.directory = STR("m");
    assert_found(&hunt, "n/c:3[0-6]: needle needle\nb:1[0-6]: needle\n");
}

static void the_first_are_kept_and_all_are_counted(void **state)
{
    static const size_t most[] = {1, 2, 3, 5, MANY, 2 * MANY - 1, 2 * MANY, 2 * MANY + 1};
    static const unsigned threads[] = {1, 2, 8};
    struct world *world = *state;
    cleanup_hunt struct hunt hunt = {.world = world};

    plant_many(world);
    hunt_init(&hunt, world, "needle");
    for (size_t i = 0; i < array_size(most); i++) {
        cleanup_buf struct buf expected = BUF_INIT(WORLD_BUF_BYTES);

        for (unsigned j = 0; j < most[i] && j < 2 * MANY; j++)
            assert_int_equal(buf_printf(&expected, "many/%03u:%d[0-6]: needle %s\n", j / 2,
                                        j % 2 == 0 ? 1 : 3, j % 2 == 0 ? "one" : "two"),
                             0);
        for (size_t j = 0; j < array_size(threads); j++) {
            hunt.request.max_results = most[i];
            hunt.request.threads = threads[j];
            assert_ok(world, hunt_run(&hunt));
            hunt_expect_bytes(&hunt, buf_view(&expected), __FILE__, __LINE__);
            assert_int_equal(hunt.result.total, 2 * MANY);
            assert_int_equal(hunt.result.is_truncated, most[i] < 2 * MANY);
            assert_false(hunt.result.is_total_a_minimum);
        }
    }
}

static void counting_ends_where_it_was_told_to(void **state)
{
    struct world *world = *state;
    cleanup_hunt struct hunt hunt = {.world = world};

    plant_many(world);
    hunt_init(&hunt, world, "needle");
    hunt.request.max_results = 1;
    hunt.request.max_counted = 11;
    assert_ok(world, hunt_run(&hunt));
    assert_true(hunt.result.is_total_a_minimum);
    assert_true(hunt.result.is_truncated);
    assert_in_range(hunt.result.total, 11, 11 + 2 * 2);
    assert_in_range(hunt.result.searched, 6, 8);
    hunt.request.max_counted = 2 * MANY + 1;
    assert_ok(world, hunt_run(&hunt));
    assert_false(hunt.result.is_total_a_minimum);
    assert_int_equal(hunt.result.total, 2 * MANY);
}

static bool wants_odd(void *data, struct str name)
{
    (void)data;
    return ((unsigned)name.ptr[name.len - 1] & 1) != 0;
}

static bool enters_not_shut(void *data, struct str name)
{
    (void)data;
    return !str_eq_c(name, "shut");
}

static void files_are_found_by_their_names(void **state)
{
    static const unsigned threads[] = {1, 2, 8};
    struct world *world = *state;
    cleanup_hunt struct hunt hunt = {.world = world};

    plant_many(world);
    plant(world, WORLD_ROOT, "1", "content is not looked at: \xff");
    plant_dir(world, WORLD_ROOT, "shut");
    plant(world, WORLD_ROOT, "shut/1", "");
    hunt_init(&hunt, world, NULL);
    hunt.request.wants = wants_odd;
    hunt.request.enters = enters_not_shut;
    for (size_t i = 0; i < array_size(threads); i++) {
        hunt.request.threads = threads[i];
        hunt.request.max_results = 3;
        assert_found(&hunt, "many/001\nmany/003\nmany/005\n");
        assert_int_equal(hunt.result.total, MANY / 2 + 1);
        assert_int_equal(hunt.result.searched, MANY + 1);
        hunt.request.max_results = MANY;
        assert_ok(world, hunt_run(&hunt));
        assert_int_equal(hunt.result.kept, MANY / 2 + 1);
        assert_true(str_eq_c(hunt.result.files[MANY / 2]->name, "1"));
    }
    hunt.request.max_counted = 10;
    hunt.request.max_results = 5;
    assert_ok(world, hunt_run(&hunt));
    assert_true(hunt.result.is_total_a_minimum);
    assert_in_range(hunt.result.total, 10, 10 + 8);
}

static void filters_hold_for_content_too(void **state)
{
    struct world *world = *state;
    cleanup_hunt struct hunt hunt = {.world = world};

    plant(world, WORLD_ROOT, "1", "x");
    plant(world, WORLD_ROOT, "2", "x");
    plant_dir(world, WORLD_ROOT, "shut");
    plant(world, WORLD_ROOT, "shut/1", "x");
    hunt_init(&hunt, world, "x");
    hunt.request.wants = wants_odd;
    hunt.request.enters = enters_not_shut;
    assert_found(&hunt, "1:1[0-1]: x\n");
    assert_int_equal(hunt.result.searched, 1);
}

/* ---- what is passed over ---- */

static void binary_and_large_files_are_counted_and_not_searched(void **state)
{
    struct world *world = *state;
    cleanup_hunt struct hunt hunt = {.world = world};
    cleanup_buf struct buf late = BUF_INIT(1 << 20);

    plant_bytes(world, WORLD_ROOT, "binary", STR("needle\0"));
    plant_bytes(world, WORLD_ROOT, "numbers", STR("\1\0\0\0needle\2\0"));
    plant(world, WORLD_ROOT, "text", "needle");
    while (late.len < 70000)
        assert_int_equal(buf_append_str(&late, STR("line of text\n")), 0);
    assert_int_equal(buf_append_str(&late, STR("\0 needle\n")), 0);
    plant_bytes(world, WORLD_ROOT, "late", buf_view(&late));
    hunt_init(&hunt, world, "needle");
    assert_ok(world, hunt_run(&hunt));
    assert_int_equal(hunt.result.total, 2);
    assert_int_equal(hunt.result.binary, 2);
    hunt.request.max_file_bytes = 1000;
    assert_found(&hunt, "text:1[0-6]: needle\n");
    assert_int_equal(hunt.result.too_large, 1);
    assert_int_equal(hunt.result.missed_count, 0);
}

static void bytes_that_are_no_text_are_shown_as_such(void **state)
{
    struct world *world = *state;
    cleanup_hunt struct hunt hunt = {.world = world};

    /* The control character makes it no Latin-1 either. */
    plant(world, WORLD_ROOT, "na\xffme", "\xfe\x01 needle \xc3\n\x80\n");
    hunt_init(&hunt, world, "needle");
    hunt.request.context_lines = 1;
    assert_found(&hunt, "na\xffme:1[5-11]: \xef\xbf\xbd\x01 needle \xef\xbf\xbd\n"
                        "na\xffme-2: \xef\xbf\xbd\n");
}

static void what_cannot_be_read_is_named(void **state)
{
    struct world *world = *state;
    cleanup_hunt struct hunt hunt = {.world = world};

    if (!world->is_memory && geteuid() == 0)
        skip_because("root may read everything");
    plant_dir(world, WORLD_ROOT, "d");
    plant_dir(world, WORLD_ROOT, "d/shut");
    plant(world, WORLD_ROOT, "d/shut/a", "needle");
    plant(world, WORLD_ROOT, "open", "needle");
    set_mode(world, WORLD_ROOT, "d/shut", 0);
    hunt_init(&hunt, world, "needle");
    assert_found(&hunt, "open:1[0-6]: needle\n");
    set_mode(world, WORLD_ROOT, "d/shut", 0700);
    assert_int_equal(hunt.result.missed_count, 1);
    assert_string_equal(hunt.result.missed[0].name, "d/shut");
    assert_int_equal(hunt.result.missed[0].code, ERR_PERMISSION_DENIED);
    for (unsigned i = 0; i < 2 * SEARCH_MAX_MISSED; i++) {
        char name[32];

        snprintf(name, sizeof(name), "d/locked%u", i);
        plant(world, WORLD_ROOT, name, "needle");
        set_mode(world, WORLD_ROOT, name, 0);
    }
    assert_ok(world, hunt_run(&hunt));
    assert_int_equal(hunt.result.missed_count, 2 * SEARCH_MAX_MISSED);
    for (size_t i = 0; i < SEARCH_MAX_MISSED; i++)
        assert_int_equal(hunt.result.missed[i].code, ERR_PERMISSION_DENIED);
    assert_int_equal(hunt.result.total, 2);
}

static void what_is_denied_or_ignored_is_not_searched(void **state)
{
    static const char *const denied[] = {"*.key", "private/**", NULL};
    const struct authority_limits limits = {.denied_globs = denied};
    struct world *world = *state;
    struct authority_scope *limited = world_open_limited(world, &limits);
    cleanup_hunt struct hunt hunt = {.world = world};

    plant(world, WORLD_ROOT, ".gitignore", "*.o\n/build/\n");
    plant(world, WORLD_ROOT, "a.o", "needle");
    plant(world, WORLD_ROOT, "b.key", "needle");
    plant(world, WORLD_ROOT, "c", "needle");
    plant_dir(world, WORLD_ROOT, "build");
    plant(world, WORLD_ROOT, "build/d", "needle");
    plant_dir(world, WORLD_ROOT, "private");
    plant(world, WORLD_ROOT, "private/e", "needle");
    plant(world, WORLD_OUTSIDE, "f", "needle");
    plant_link(world, "link", "c");
    hunt_init(&hunt, world, "needle");
    assert_ok(world, hunt_run_in(&hunt, limited));
    hunt_expect_bytes(&hunt, STR("build/d:1[0-6]: needle\na.o:1[0-6]: needle\nc:1[0-6]: needle\n"),
                      __FILE__, __LINE__);
    hunt.request.heeds_ignore_files = true;
    assert_ok(world, hunt_run_in(&hunt, limited));
    hunt_expect_bytes(&hunt, STR("c:1[0-6]: needle\n"), __FILE__, __LINE__);
    assert_int_equal(hunt.result.missed_count, 0);
    authority_scope_free(limited);
}

/* ---- how much is kept ---- */

/* What is kept has a ceiling in bytes; it is still the first that are kept, and no other. */
static void a_ceiling_of_bytes_cuts_off_the_end(void **state)
{
    static const unsigned threads[] = {1, 2, 8};
    enum { FILES = 30, LINES = 60, CHARACTERS = 200 };
    struct world *world = *state;
    cleanup_hunt struct hunt hunt = {.world = world};
    cleanup_buf struct buf text = BUF_INIT(WORLD_BUF_BYTES);
    char name[32] = "";
    size_t kept = 0;

    for (unsigned i = 0; i < LINES; i++) {
        assert_int_equal(buf_append_str(&text, STR("needle")), 0);
        for (unsigned j = 0; j < CHARACTERS; j++)
            assert_int_equal(buf_append_str(&text, STR("\xe2\x82\xac")), 0);
        assert_int_equal(buf_append_char(&text, '\n'), 0);
    }
    for (unsigned i = 0; i < FILES; i++) {
        snprintf(name, sizeof(name), "f%02u", i);
        plant_bytes(world, WORLD_ROOT, name, buf_view(&text));
    }
    /* A small one at the end would still fit. */
    plant(world, WORLD_ROOT, "last", "needle");
    hunt_init(&hunt, world, "needle");
    hunt.request.context_lines = SEARCH_MAX_CONTEXT;
    for (size_t i = 0; i < 2 * array_size(threads); i++) {
        hunt.request.threads = threads[i % array_size(threads)];
        assert_ok(world, hunt_run(&hunt));
        assert_int_equal(hunt.result.total, FILES * LINES + 1);
        if (i == 0)
            kept = hunt.result.kept;
        assert_int_equal(hunt.result.kept, kept);
        for (size_t j = 0; j < hunt.result.file_count; j++) {
            snprintf(name, sizeof(name), "f%02zu", j);
            assert_true(str_eq_c(hunt.result.files[j]->name, name));
        }
    }
    assert_true(kept < FILES * LINES);
}

static void nothing_behind_a_file_that_was_cut_is_kept(void **state)
{
    enum { LINES = 2500 };
    struct world *world = *state;
    cleanup_hunt struct hunt hunt = {.world = world};
    cleanup_buf struct buf text = BUF_INIT(WORLD_BUF_BYTES);

    for (unsigned i = 0; i < LINES; i++)
        assert_int_equal(buf_printf(&text, "needle%800s\n", ""), 0);
    plant(world, WORLD_ROOT, "a", "needle");
    plant_bytes(world, WORLD_ROOT, "b", buf_view(&text));
    plant(world, WORLD_ROOT, "c", "needle");
    hunt_init(&hunt, world, "needle");
    hunt.request.context_lines = SEARCH_MAX_CONTEXT;
    for (unsigned threads = 1; threads <= 3; threads++) {
        hunt.request.threads = threads;
        assert_ok(world, hunt_run(&hunt));
        assert_int_equal(hunt.result.total, LINES + 2);
        assert_int_equal(hunt.result.file_count, 2);
        assert_in_range(hunt.result.files[1]->match_count, 100, LINES - 1);
    }
}

/* ---- ends before the end ---- */

static void a_pattern_that_costs_too_much_ends_it_and_the_file_is_named(void **state)
{
    struct world *world = *state;
    cleanup_hunt struct hunt hunt = {.world = world};
    cleanup_buf struct buf text = BUF_INIT(1 << 20);

    for (unsigned i = 0; i < 3000; i++)
        assert_int_equal(buf_append_char(&text, 'a'), 0);
    assert_int_equal(buf_append_str(&text, STR("!a\n")), 0);
    plant_dir(world, WORLD_ROOT, "d");
    plant_bytes(world, WORLD_ROOT, "d/hostile", buf_view(&text));
    plant_many(world);
    hunt_init(&hunt, world, "(a+)+$");
    assert_refused(world, hunt_run(&hunt), ERR_PATTERN_COST);
    assert_non_null(strstr(world->err.message, "d/hostile"));
}

static bool cancels(void *data, struct str name)
{
    (void)name;
    cancel_now(data);
    return true;
}

static void cancelling_ends_it(void **state)
{
    struct world *world = *state;
    struct cancel cancel;
    cleanup_hunt struct hunt hunt = {.world = world};

    plant_many(world);
    hunt_init(&hunt, world, "needle");
    cancel_init(&cancel, &clock_system, CANCEL_NO_DEADLINE);
    hunt.request.cancel = &cancel;
    hunt.request.wants = cancels;
    hunt.request.filter_data = &cancel;
    assert_refused(world, hunt_run(&hunt), ERR_CANCELLED);
    assert_in_range(hunt.result.searched, 0, hunt.request.threads);
}

/* Where there is no file at which it could be seen. */
static void cancelling_among_directories_ends_it(void **state)
{
    struct world *world = *state;
    struct cancel cancel;
    cleanup_hunt struct hunt hunt = {.world = world};

    for (unsigned i = 0; i < 10; i++) {
        char name[32];

        snprintf(name, sizeof(name), "d%u", i);
        plant_dir(world, WORLD_ROOT, name);
    }
    hunt_init(&hunt, world, "needle");
    cancel_init(&cancel, &clock_system, CANCEL_NO_DEADLINE);
    hunt.request.cancel = &cancel;
    hunt.request.enters = cancels;
    hunt.request.filter_data = &cancel;
    assert_refused(world, hunt_run(&hunt), ERR_CANCELLED);
    assert_int_equal(hunt.result.missed_count, 0);
}

static bool lets_time_pass(void *data, struct str name)
{
    (void)name;
    clock_fake_advance(data, 10);
    return true;
}

static void its_time_may_be_over(void **state)
{
    struct world *world = *state;
    struct cancel cancel;
    cleanup_hunt struct hunt hunt = {.world = world};

    plant_many(world);
    hunt_init(&hunt, world, "needle");
    cancel_init(&cancel, &world->clock, clock_monotonic_ms(&world->clock) + 100);
    hunt.request.cancel = &cancel;
    hunt.request.wants = lets_time_pass;
    hunt.request.filter_data = &world->clock;
    hunt.request.threads = 1;
    assert_refused(world, hunt_run(&hunt), ERR_TIMED_OUT);
    assert_int_equal(hunt.result.searched, 9);
}

struct progress {
    unsigned calls;
    uint64_t files;
};

static void on_progress(void *data, uint64_t files)
{
    struct progress *progress = data;

    assert_true(files > progress->files);
    progress->calls++;
    progress->files = files;
}

static void progress_is_told_now_and_then(void **state)
{
    struct progress progress = {.calls = 0};
    struct world *world = *state;
    cleanup_hunt struct hunt hunt = {.world = world};

    plant_many(world);
    for (int has_pattern = 0; has_pattern < 2; has_pattern++) {
        hunt_done(&hunt);
        hunt_init(&hunt, world, has_pattern != 0 ? "needle" : NULL);
        hunt.request.threads = 1;
        hunt.request.progress = on_progress;
        hunt.request.progress_data = &progress;
        progress = (struct progress){.calls = 0};
        assert_ok(world, hunt_run(&hunt));
        /* Every 64 files. */
        assert_int_equal(progress.calls, MANY / 64);
        assert_int_equal(progress.files, MANY / 64 * 64);
    }
}

TEST_MAIN(EVERYWHERE(matches_come_in_the_order_of_the_tree),
          EVERYWHERE(the_first_are_kept_and_all_are_counted),
          EVERYWHERE(counting_ends_where_it_was_told_to),
          EVERYWHERE(files_are_found_by_their_names), EVERYWHERE(filters_hold_for_content_too),
          EVERYWHERE(binary_and_large_files_are_counted_and_not_searched),
          EVERYWHERE(bytes_that_are_no_text_are_shown_as_such),
          EVERYWHERE(what_cannot_be_read_is_named),
          EVERYWHERE(what_is_denied_or_ignored_is_not_searched),
          IN_MEMORY(a_ceiling_of_bytes_cuts_off_the_end),
          IN_MEMORY(nothing_behind_a_file_that_was_cut_is_kept),
          EVERYWHERE(a_pattern_that_costs_too_much_ends_it_and_the_file_is_named),
          EVERYWHERE(cancelling_ends_it), EVERYWHERE(cancelling_among_directories_ends_it),
          EVERYWHERE(its_time_may_be_over), EVERYWHERE(progress_is_told_now_and_then))
