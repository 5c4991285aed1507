/* SPDX-License-Identifier: Apache-2.0 */
#include "bench.h"

#include "console/confirm.h"

struct asked {
    int count;
    struct confirm_result result;
    char dir[CONFIRM_MAX_TEXT + 1];
};

static void note_result(void *data, const struct confirm_result *result)
{
    struct asked *asked = data;

    asked->count++;
    asked->result = *result;
    memcpy(asked->dir, result->dir.ptr, result->dir.len);
    asked->dir[result->dir.len] = '\0';
}

static const struct str writable[] = {STR_LITERAL("/srv/cache"), STR_LITERAL("/tmp/x\x1b[2J")};

static struct confirm_offer an_offer(void)
{
    return (struct confirm_offer){
        .url = STR("https://n8n.example.com"),
        .dir = STR("/srv/me/src"),
        .modes = permission_modes_recommended,
        .shell_writable = writable,
        .shell_writable_count = array_size(writable),
    };
}

static void begin(struct bench *bench, const struct stage_look *look,
                  const struct confirm_offer *offer, struct asked *asked)
{
    memset(asked, 0, sizeof(*asked));
    bench_open(bench, look, 30, 80);
    assert_int_equal(confirm_ask(bench->console, offer, note_result, asked), 0);
    bench_settle(bench);
    bench_wait(bench, STAGE_GUARD_MS);
}

static void the_offer_is_shown_as_a_table(void **state)
{
    struct confirm_offer offer = an_offer();
    struct asked asked;
    struct bench bench;

    (void)state;
    begin(&bench, &bench_colour, &offer, &asked);
    assert_shows(&bench, "Connect to this server?");
    assert_shows(&bench, "| https://n8n.example.com");
    assert_shows(&bench, "| \"/srv/me/src\"");
    assert_shows(&bench, "  Read files              Allow");
    assert_shows(&bench, "  Change files            Deny (write access off)");
    assert_shows(&bench, "  Run commands            Deny");
    assert_shows(&bench, "  Screen, mouse, keyboard Deny");
    assert_shows(&bench, "  Browser                 Ask");
    assert_does_not_show(&bench, "network"); /* there are no commands */
    assert_shows(&bench, "  1 Yes, connect");
    assert_shows(&bench, "  2 Edit");
    assert_shows(&bench, "> 3 No");
    bench_close(&bench);

    offer.modes.of[CATALOG_SHELL] = PERMISSION_ASK;
    offer.has_write_access = true;
    begin(&bench, &bench_colour, &offer, &asked);
    assert_shows(&bench, "  Change files            Ask");
    assert_shows(&bench, "Commands have no network.");
    assert_shows(&bench, "rules with patterns apply only to files that exist");
    assert_does_not_show(&bench, "can still read");
    assert_does_not_show(&bench, "Not encrypted");
    assert_shows(&bench, "Commands can change files in:");
    assert_shows(&bench, "| \"/tmp/x\\x1b[2J\"");
    assert_int_equal(bench.screen.foreign, 0);
    bench_close(&bench);

    offer.shell_has_network = true;
    offer.has_write_access = false;
    offer.shell_writable_count = 0;
    offer.is_exposed = true;
    begin(&bench, &bench_colour, &offer, &asked);
    assert_shows(&bench, "Not encrypted: others on the network can read and change everything.");
    assert_shows(&bench, "Commands have the network.");
    assert_shows(&bench, "Commands cannot change files.");
    bench_close(&bench);

    offer.modes.of[CATALOG_FILESYSTEM_READ] = PERMISSION_DENY;
    begin(&bench, &bench_colour, &offer, &asked);
    assert_shows(&bench, "Commands can still read the files of the folder.");
    bench_close(&bench);

    /* Neither of which would be true. */
    offer.is_exposed = false;
    offer.shell_is_open = true;
    offer.shell_has_network = false;
    begin(&bench, &bench_colour, &offer, &asked);
    assert_shows(&bench, "Commands run without a sandbox: they can do everything you can.");
    assert_does_not_show(&bench, "network");
    assert_does_not_show(&bench, "cannot change files");
    bench_close(&bench);
}

static void it_connects_only_when_told_to(void **state)
{
    static const struct {
        const char *keys;
        bool is_accepted;
    } cases[] = {
        {"\r", false},  {"\x1b", false}, {"\x03", false},          {"1\r", true},
        {"3\r", false}, {"kk\r", true},  {"\x1b[A\x1b[A\r", true}, {"1\x1b", false},
    };
    const struct confirm_offer offer = an_offer();

    (void)state;
    for (size_t i = 0; i < array_size(cases); i++) {
        struct asked asked;
        struct bench bench;

        begin(&bench, &bench_colour, &offer, &asked);
        bench_press(&bench, cases[i].keys);
        bench_wait(&bench, STAGE_ESCAPE_MS);
        assert_int_equal(asked.count, 1);
        assert_int_equal(asked.result.is_accepted, cases[i].is_accepted);
        assert_string_equal(asked.dir, "/srv/me/src");
        /* What holds, whatever the mode of the group was. */
        assert_false(asked.result.has_write_access);
        if (cases[i].is_accepted)
            assert_int_equal(asked.result.modes.of[CATALOG_FILESYSTEM_WRITE], PERMISSION_DENY);
        assert_false(bench.screen.is_other);
        bench_assert_restored(&bench);
        bench_close(&bench);
    }
}

static void its_first_moments_do_not_count(void **state)
{
    const struct confirm_offer offer = an_offer();
    struct asked asked = {0};
    struct bench bench;

    (void)state;
    bench_open(&bench, &bench_colour, 30, 80);
    assert_int_equal(confirm_ask(bench.console, &offer, note_result, &asked), 0);
    assert_int_equal(confirm_ask(bench.console, &offer, note_result, &asked), ERR_BUSY);
    bench_settle(&bench);
    bench_press(&bench, "1\r");
    bench_wait(&bench, STAGE_GUARD_MS);
    assert_int_equal(asked.count, 0);
    assert_shows(&bench, "> 3 No");
    confirm_cancel(bench.console);
    bench_settle(&bench);
    assert_int_equal(asked.count, 0);
    bench_assert_restored(&bench);
    assert_int_equal(confirm_ask(bench.console, &offer, note_result, &asked), 0);
    bench_close(&bench);
}

static void modes_are_edited_for_this_session(void **state)
{
    const struct confirm_offer offer = an_offer();
    struct asked asked;
    struct bench bench;

    (void)state;
    begin(&bench, &bench_colour, &offer, &asked);
    bench_press(&bench, "2\r1");
    bench_wait(&bench, STAGE_GUARD_MS);
    assert_shows(&bench, "> 1 Read files              Allow");
    assert_shows(&bench, "For this session only");
    bench_press(&bench, "2\x1b[C");
    assert_shows(&bench, "> 2 Change files            Ask");
    bench_press(&bench, " ");
    assert_shows(&bench, "> 2 Change files            Allow");
    bench_press(&bench, "3\x1b[C");
    assert_shows(&bench, "> 3 Run commands            Ask");
    bench_press(&bench, "5\x1b[D");
    assert_shows(&bench, "> 5 Browser                 Deny");
    bench_press(&bench, "7\r\r\r"); /* once Done, and no more than that */
    assert_int_equal(asked.count, 0);
    assert_shows(&bench, "Connect to this server?");
    assert_shows(&bench, "  Change files            Allow");
    assert_shows(&bench, "Commands have no network.");
    assert_shows(&bench, "> 3 No");
    bench_press(&bench, "1\r");
    assert_int_equal(asked.count, 0);
    bench_wait(&bench, STAGE_GUARD_MS);
    bench_press(&bench, "1\r");
    assert_int_equal(asked.count, 1);
    assert_true(asked.result.is_accepted && asked.result.has_write_access);
    assert_int_equal(asked.result.modes.of[CATALOG_FILESYSTEM_READ], PERMISSION_ALLOW);
    assert_int_equal(asked.result.modes.of[CATALOG_FILESYSTEM_WRITE], PERMISSION_ALLOW);
    assert_int_equal(asked.result.modes.of[CATALOG_SHELL], PERMISSION_ASK);
    assert_int_equal(asked.result.modes.of[CATALOG_BROWSER], PERMISSION_DENY);
    bench_close(&bench);
}

static void what_commands_can_change_is_what_was_edited(void **state)
{
    const struct stage_look plain = {.is_plain = true};
    struct confirm_offer offer = an_offer();
    struct asked asked;
    struct bench bench;
    int row;

    (void)state;
    offer.modes.of[CATALOG_SHELL] = PERMISSION_ALLOW;
    offer.shell_writable_count = 0;
    begin(&bench, &plain, &offer, &asked);
    assert_shows(&bench, "Commands cannot change files.");
    bench_press(&bench, "2\n");
    bench_wait(&bench, STAGE_GUARD_MS);
    bench_press(&bench, "2 allow\n");
    bench_press(&bench, "dir /srv/other\n");
    screen_clear(&bench.screen);
    bench_press(&bench, "done\n");
    bench_wait(&bench, STAGE_GUARD_MS);
    assert_does_not_show(&bench, "Commands cannot change files.");
    row = screen_find(&bench.screen, "Commands can change files in:");
    assert_true(row >= 0);
    assert_string_equal(screen_line(&bench.screen, (size_t)row + 1), "| \"/srv/other\"");
    assert_does_not_show(&bench, "/srv/me/src");
    bench_close(&bench);
    /* And with write access from the beginning. */
    offer.has_write_access = true;
    begin(&bench, &bench_colour, &offer, &asked);
    assert_shows(&bench, "Commands can change files in:");
    bench_press(&bench, "2\r");
    bench_wait(&bench, STAGE_GUARD_MS);
    bench_press(&bench, "2\x1b[D7\r");
    bench_wait(&bench, STAGE_GUARD_MS);
    assert_shows(&bench, "Commands cannot change files.");
    bench_close(&bench);
}

static void each_folder_is_shown_with_what_may_be_done_in_it(void **state)
{
    static const struct confirm_folder others[] = {{STR_LITERAL("/srv/read"), false},
                                                   {STR_LITERAL("/srv/write"), true}};
    struct confirm_offer offer = an_offer();
    struct asked asked;
    struct bench bench;
    int row;

    (void)state;
    offer.others = others;
    offer.other_count = array_size(others);
    offer.only_reads_dir = true;
    offer.has_write_access = true;
    offer.shell_writable_count = 0;
    offer.modes.of[CATALOG_SHELL] = PERMISSION_ASK;
    begin(&bench, &bench_colour, &offer, &asked);
    row = screen_find(&bench.screen, "Folder, only to be read:");
    assert_true(row >= 0);
    assert_string_equal(screen_line(&bench.screen, (size_t)row + 1), "| \"/srv/me/src\"");
    assert_string_equal(screen_line(&bench.screen, (size_t)row + 2), "Also:");
    assert_string_equal(screen_line(&bench.screen, (size_t)row + 3), "| \"/srv/write\"");
    assert_string_equal(screen_line(&bench.screen, (size_t)row + 4), "Also, only to be read:");
    assert_string_equal(screen_line(&bench.screen, (size_t)row + 5), "| \"/srv/read\"");
    row = screen_find(&bench.screen, "Commands can change files in:");
    assert_true(row >= 0);
    assert_string_equal(screen_line(&bench.screen, (size_t)row + 1), "| \"/srv/write\"");
    bench_press(&bench, "2\r");
    bench_wait(&bench, STAGE_GUARD_MS);
    bench_press(&bench, "2\x1b[D7\r");
    bench_wait(&bench, STAGE_GUARD_MS);
    assert_shows(&bench, "Folder:");
    assert_does_not_show(&bench, "only to be read");
    assert_shows(&bench, "| \"/srv/read\"");
    assert_shows(&bench, "Commands cannot change files.");
    bench_close(&bench);
}

static void what_is_hidden_is_shown(void **state)
{
    static const char *const denied[] = {"*.key", "\x1b[2J", NULL};
    static const char *const allowed[] = {"1",  "2",  "3",  "4",  "5",  "6",  "7",  "8",  "9",
                                          "10", "11", "12", "13", "14", "15", "16", "17", NULL};
    struct confirm_offer offer = an_offer();
    struct asked asked;
    struct bench bench;
    int row;

    (void)state;
    offer.denied = denied;
    offer.allowed = allowed;
    begin(&bench, &bench_colour, &offer, &asked);
    row = screen_find(&bench.screen, "Files that it does not see:");
    assert_true(row >= 0);
    assert_string_equal(screen_line(&bench.screen, (size_t)row + 1), "| *.key, \\x1b[2J");
    assert_string_equal(screen_line(&bench.screen, (size_t)row + 2),
                        "The only files that it sees:");
    assert_string_equal(screen_line(&bench.screen, (size_t)row + 3),
                        "| 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 and 1 more");
    bench_close(&bench);
}

static void commands_that_must_be_denied_are_not_accepted(void **state)
{
    struct confirm_offer offer = an_offer();
    struct asked asked;
    struct bench bench;

    (void)state;
    offer.commands_refusal = "they would see more";
    begin(&bench, &bench_colour, &offer, &asked);
    bench_press(&bench, "2\r");
    bench_wait(&bench, STAGE_GUARD_MS);
    bench_press(&bench, "3\x1b[C7\r");
    bench_wait(&bench, STAGE_GUARD_MS);
    assert_shows(&bench, "they would see more");
    bench_press(&bench, "3\x1b[D7\r");
    bench_wait(&bench, STAGE_GUARD_MS);
    bench_press(&bench, "1\r");
    assert_true(asked.result.is_accepted);
    assert_int_equal(asked.result.modes.of[CATALOG_SHELL], PERMISSION_DENY);
    bench_close(&bench);
}

static void reading_denied_is_changing_denied(void **state)
{
    struct confirm_offer offer = an_offer();
    struct asked asked;
    struct bench bench;

    (void)state;
    offer.has_write_access = true;
    offer.modes.of[CATALOG_SHELL] = PERMISSION_ASK;
    begin(&bench, &bench_colour, &offer, &asked);
    bench_press(&bench, "2\r");
    bench_wait(&bench, STAGE_GUARD_MS);
    bench_press(&bench, "1\x1b[C");
    assert_shows(&bench, "> 1 Read files              Deny");
    assert_shows(&bench, "  2 Change files            Deny (reading is denied)");
    bench_press(&bench, "7\r");
    bench_wait(&bench, STAGE_GUARD_MS);
    bench_press(&bench, "1\r");
    assert_true(asked.result.is_accepted);
    assert_false(asked.result.has_write_access);
    assert_int_equal(asked.result.modes.of[CATALOG_FILESYSTEM_WRITE], PERMISSION_DENY);
    bench_close(&bench);
}

static void nothing_allowed_at_all_is_not_accepted(void **state)
{
    struct confirm_offer offer = an_offer();
    struct asked asked;
    struct bench bench;

    (void)state;
    offer.modes.of[CATALOG_BROWSER] = PERMISSION_DENY;
    begin(&bench, &bench_colour, &offer, &asked);
    bench_press(&bench, "2\r");
    bench_wait(&bench, STAGE_GUARD_MS);
    bench_press(&bench, "1\x1b[C7\r");
    bench_wait(&bench, STAGE_GUARD_MS);
    assert_shows(&bench, "Permissions and folder");
    assert_shows(&bench, "all tool groups");
    bench_press(&bench, "3 ");
    assert_does_not_show(&bench, "all tool groups");
    bench_press(&bench, "7\r");
    assert_shows(&bench, "Connect to this server?");
    bench_close(&bench);
    /* Offered like that: write access is off, and what is left is denied. */
    offer.modes.of[CATALOG_FILESYSTEM_READ] = PERMISSION_DENY;
    begin(&bench, &bench_colour, &offer, &asked);
    bench_press(&bench, "1\r");
    assert_int_equal(asked.count, 0);
    assert_shows(&bench, "all tool groups");
    bench_close(&bench);
}

static void the_folder_is_typed(void **state)
{
    const struct confirm_offer offer = an_offer();
    struct asked asked;
    struct bench bench;

    (void)state;
    begin(&bench, &bench_colour, &offer, &asked);
    bench_press(&bench, "2\r");
    bench_wait(&bench, STAGE_GUARD_MS);
    bench_press(&bench, "6\r");
    assert_shows(&bench, "| /srv/me/src");
    bench_press(&bench, "\x7f\x7f\x7f"
                        "b\xc3\xbc\xc3\xbc\x7f"
                        "1j7 ");
    assert_shows(&bench, "| /srv/me/b~1j7");
    bench_press(&bench, "\x1b");
    bench_wait(&bench, STAGE_ESCAPE_MS);
    assert_shows(&bench, "> 6 Folder \"/srv/me/src\"");
    bench_press(&bench, "\r\x15\r");
    assert_shows(&bench, "> 6 Folder \"/srv/me/src\""); /* nothing is no folder */
    bench_press(&bench, "\r\x15/srv/other place\r");
    assert_shows(&bench, "> 6 Folder \"/srv/other place\"");
    bench_press(&bench, "7\r");
    bench_wait(&bench, STAGE_GUARD_MS);
    assert_shows(&bench, "| \"/srv/other place\"");
    bench_press(&bench, "1\r");
    assert_true(asked.result.is_accepted);
    assert_string_equal(asked.dir, "/srv/other place");
    bench_close(&bench);
}

/* A program that has /srv/other alone, which it also calls ~/other. */
static int take_other(void *data, struct str typed, struct buf *out_dir, struct err *err)
{
    (void)data;
    if (str_eq_c(typed, "~/other") || str_eq_c(typed, "/srv/other"))
        return buf_append_str(out_dir, STR("/srv/other"));
    return err_set(err, ERR_NOT_FOUND, "there is no '%.*s'", STR_ARG(typed));
}

static void a_folder_that_cannot_be_used_stays_in_the_editor(void **state)
{
    const struct stage_look plain = {.is_plain = true};
    struct confirm_offer offer = an_offer();
    struct asked asked;
    struct bench bench;

    (void)state;
    offer.take_dir = take_other;
    begin(&bench, &bench_colour, &offer, &asked);
    bench_press(&bench, "1\r"); /* the one that is offered is not there either */
    assert_int_equal(asked.count, 0);
    assert_shows(&bench, "Permissions and folder");
    assert_shows(&bench, "there is no '/srv/me/src'");
    bench_wait(&bench, STAGE_GUARD_MS);
    bench_press(&bench, "6\r\x15/srv/wrong\r");
    assert_shows(&bench, "| /srv/wrong");
    assert_shows(&bench, "there is no '/srv/wrong'");
    bench_press(&bench, "\x15~/other\r");
    assert_shows(&bench, "> 6 Folder \"/srv/other\"");
    assert_does_not_show(&bench, "there is no");
    bench_press(&bench, "7\r");
    bench_wait(&bench, STAGE_GUARD_MS);
    bench_press(&bench, "1\r");
    assert_true(asked.result.is_accepted);
    assert_string_equal(asked.dir, "/srv/other");
    bench_close(&bench);

    offer.dir = STR("/srv/other");
    begin(&bench, &plain, &offer, &asked);
    bench_press(&bench, "2\n");
    bench_wait(&bench, STAGE_GUARD_MS);
    bench_press(&bench, "dir /srv/wrong\n");
    bench_wait(&bench, STAGE_GUARD_MS);
    assert_shows(&bench, "there is no '/srv/wrong'");
    assert_shows(&bench, "Folder \"/srv/other\"");
    bench_press(&bench, "done\n");
    bench_wait(&bench, STAGE_GUARD_MS);
    bench_press(&bench, "1\n");
    assert_true(asked.result.is_accepted);
    assert_string_equal(asked.dir, "/srv/other");
    bench_close(&bench);
}

static void it_works_in_lines_too(void **state)
{
    const struct stage_look plain = {.is_plain = true};
    const struct confirm_offer offer = an_offer();
    struct asked asked;
    struct bench bench;

    (void)state;
    begin(&bench, &plain, &offer, &asked);
    assert_shows(&bench, "== Connect to this server? ==");
    assert_shows(&bench, "  Change files            Deny (write access off)");
    assert_shows(&bench, "Answer 1-3 and Enter (Enter alone: 3, no):");
    bench_press(&bench, "yes\n");
    assert_int_equal(asked.count, 0);
    bench_press(&bench, "2\n");
    bench_wait(&bench, STAGE_GUARD_MS);
    assert_shows(&bench, "Change a row, or \"done\":");
    bench_press(&bench, "2 allow\n");
    assert_shows(&bench, "  2 Change files            Allow");
    bench_press(&bench, "2 always\n");
    bench_press(&bench, "9 ask\n");
    bench_press(&bench, "dir /srv/other place\n");
    assert_shows(&bench, "  6 Folder \"/srv/other place\"");
    bench_press(&bench, "done\n");
    bench_wait(&bench, STAGE_GUARD_MS);
    bench_press(&bench, "1\n");
    assert_int_equal(asked.count, 1);
    assert_true(asked.result.is_accepted && asked.result.has_write_access);
    assert_int_equal(asked.result.modes.of[CATALOG_FILESYSTEM_WRITE], PERMISSION_ALLOW);
    assert_string_equal(asked.dir, "/srv/other place");
    assert_int_equal(bench.screen.foreign + bench.screen.colours, 0);
    bench_assert_restored(&bench);
    bench_close(&bench);
    /* An empty line, and Ctrl-C, are No. */
    for (int i = 0; i < 2; i++) {
        begin(&bench, &plain, &offer, &asked);
        bench_press(&bench, i == 0 ? "\n" : "\x03");
        assert_int_equal(asked.count, 1);
        assert_false(asked.result.is_accepted);
        bench_close(&bench);
    }
}

static void a_small_window_shows_what_is_chosen(void **state)
{
    const struct confirm_offer offer = an_offer();
    struct asked asked = {0};
    struct bench bench;

    (void)state;
    bench_open(&bench, &bench_colour, 5, 20);
    assert_int_equal(confirm_ask(bench.console, &offer, note_result, &asked), 0);
    bench_settle(&bench);
    bench_wait(&bench, STAGE_GUARD_MS);
    assert_shows(&bench, "> 3 No");
    assert_shows(&bench, "more: space");
    bench_press(&bench, " b2\r");
    bench_wait(&bench, STAGE_GUARD_MS);
    bench_press(&bench, "j");
    assert_shows(&bench, "> 2 Deny  Change fil");
    bench_press(&bench, "\x1b[C");
    assert_shows(&bench, "> 2 Ask   Change fil");
    assert_int_equal(bench.screen.lost + bench.screen.scrolls, 0);
    bench_close(&bench);
}

static void questions_wait_for_it_and_it_for_them(void **state)
{
    const struct confirm_offer offer = an_offer();
    const struct question question = {.tool = STR_LITERAL("read_file"), .choices = ALL_CHOICES};
    struct asked asked;
    struct bench bench;
    uint64_t id;

    (void)state;
    begin(&bench, &bench_colour, &offer, &asked);
    id = bench_ask_and_wait(&bench, &question);
    assert_shows(&bench, "Connect to this server?");
    bench_press(&bench, "1\r\r");
    assert_int_equal(asked.count, 1);
    assert_int_equal(bench.answers[id], 0);
    assert_shows(&bench, "Gatehouse asks");
    assert_int_equal(confirm_ask(bench.console, &offer, note_result, &asked), 0);
    bench_wait(&bench, STAGE_GUARD_MS);
    assert_shows(&bench, "Gatehouse asks");
    bench_press(&bench, "\r");
    assert_int_equal(bench.answers[id], 1);
    assert_shows(&bench, "Connect to this server?");
    bench_close(&bench);
}

static void a_terminal_that_is_gone_says_no(void **state)
{
    const struct confirm_offer offer = an_offer();
    struct asked asked;
    struct bench bench;

    (void)state;
    begin(&bench, &bench_colour, &offer, &asked);
    bench_press(&bench, "1");
    close(bench.keeper);
    bench.keeper = -1;
    while (bench.gone == 0)
        loop_run_once(bench.loop);
    assert_int_equal(asked.count, 1);
    assert_false(asked.result.is_accepted);
    bench_close(&bench);
}

TEST_MAIN(cmocka_unit_test(the_offer_is_shown_as_a_table),
          cmocka_unit_test(it_connects_only_when_told_to),
          cmocka_unit_test(its_first_moments_do_not_count),
          cmocka_unit_test(modes_are_edited_for_this_session),
          cmocka_unit_test(what_commands_can_change_is_what_was_edited),
          cmocka_unit_test(each_folder_is_shown_with_what_may_be_done_in_it),
          cmocka_unit_test(what_is_hidden_is_shown),
          cmocka_unit_test(commands_that_must_be_denied_are_not_accepted),
          cmocka_unit_test(reading_denied_is_changing_denied),
          cmocka_unit_test(nothing_allowed_at_all_is_not_accepted),
          cmocka_unit_test(the_folder_is_typed),
          cmocka_unit_test(a_folder_that_cannot_be_used_stays_in_the_editor),
          cmocka_unit_test(it_works_in_lines_too),
          cmocka_unit_test(a_small_window_shows_what_is_chosen),
          cmocka_unit_test(questions_wait_for_it_and_it_for_them),
          cmocka_unit_test(a_terminal_that_is_gone_says_no))
