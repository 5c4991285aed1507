/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "base/buf.h"
#include "console/prompt.h"
#include "draw.h"
#include "screen.h"

static const struct stage_look colour = {.has_colour = true, .is_utf8 = true};
static const struct key enter = {.code = KEY_ENTER};
static const struct key escape = {.code = KEY_ESCAPE};

/* All but the wider ones, which need something to name. */
enum {
    ALL_CHOICES = 1 << CHOICE_DENY_ONCE | 1 << CHOICE_ALLOW_ONCE | 1 << CHOICE_ALLOW_SESSION |
                  1 << CHOICE_ALWAYS_ALLOW | 1 << CHOICE_ALWAYS_DENY,
};

static void show(struct prompt *prompt, size_t rows, size_t columns, struct screen *screen)
{
    cleanup_buf struct buf out = BUF_INIT(STAGE_FRAME_MAX);

    prompt_draw(prompt, &(struct stage_size){rows, columns}, 3, &out);
    screen_init(screen, rows, columns);
    screen->is_other = true;
    screen->wraps = false;
    for (size_t i = 0; i < out.len; i++)
        screen_take(screen, out.data[i]);
}

/* A command of many lines: its end is on the last page, whole. */
static void the_end_of_a_long_command_is_there(void **state)
{
    static char command[6000];
    const struct question_resource resource = {.group = CATALOG_SHELL,
                                               .shown = {command, sizeof(command)}};
    const struct question question = {.tool = STR_LITERAL("shell_execute"),
                                      .group = CATALOG_SHELL,
                                      .resources = &resource,
                                      .resource_count = 1,
                                      .choices = ALL_CHOICES};
    const struct key space = {.code = KEY_TEXT, .text = " "};
    enum permission_choice choice;
    struct prompt prompt;
    struct screen screen;
    int pages = 0;

    (void)state;
    memset(command, 'x', sizeof(command));
    memcpy(command + sizeof(command) - 12, " && rm -rf ~", 12);
    prompt_init(&prompt, &question, &colour);
    show(&prompt, 24, 80, &screen);
    assert_true(screen_find(&screen, "more lines (press space)") >= 0);
    while (screen_find(&screen, "&& rm -rf ~") < 0) {
        assert_int_equal(prompt_key(&prompt, &space, &choice), PROMPT_REDRAW);
        show(&prompt, 24, 80, &screen);
        assert_true(++pages < 20);
    }
    assert_true(screen_find(&screen, "more lines") < 0);
    prompt_done(&prompt);
}

static struct question long_question(char *command, size_t len, struct question_resource *resource)
{
    memset(command, 'x', len);
    *resource = (struct question_resource){.group = CATALOG_SHELL, .shown = {command, len}};
    return (struct question){.tool = STR_LITERAL("shell_execute"),
                             .group = CATALOG_SHELL,
                             .resources = resource,
                             .resource_count = 1,
                             .choices = ALL_CHOICES};
}

static void nothing_is_allowed_before_its_end_was_shown(void **state)
{
    static const struct key keys[][3] = {
        {{.code = KEY_TEXT, .text = " "}, {.code = KEY_TEXT, .text = "b"}, {.code = KEY_ENTER}},
        {{.code = KEY_TEXT, .text = "G"}, {.code = KEY_NONE}, {.code = KEY_ENTER}},
    };
    static const struct key two = {.code = KEY_TEXT, .text = "2"};
    static const struct key five = {.code = KEY_TEXT, .text = "5"};
    static char command[2000];
    struct question_resource resource;
    const struct question question = long_question(command, sizeof(command), &resource);
    enum permission_choice choice = CHOICES;
    struct prompt prompt;
    struct screen screen;

    (void)state;
    for (size_t i = 0; i < array_size(keys); i++) {
        choice = CHOICES;
        prompt_init(&prompt, &question, &colour);
        show(&prompt, 24, 80, &screen);
        assert_int_equal(prompt_key(&prompt, &two, &choice), PROMPT_REDRAW);
        assert_int_equal(prompt_key(&prompt, &enter, &choice), PROMPT_REDRAW);
        assert_int_equal(choice, CHOICES);
        show(&prompt, 24, 80, &screen);
        assert_true(screen_find(&screen, "allow it after you have seen its end") >= 0);
        /* The end, and back: it was shown. */
        for (size_t k = 0; k + 1 < array_size(keys[i]); k++)
            if (prompt_key(&prompt, &keys[i][k], &choice) == PROMPT_REDRAW)
                show(&prompt, 24, 80, &screen);
        assert_true(screen_find(&screen, "> 2 Allow once") >= 0);
        assert_int_equal(prompt_key(&prompt, &enter, &choice), PROMPT_ANSWERED);
        assert_int_equal(choice, CHOICE_ALLOW_ONCE);
        prompt_done(&prompt);
    }
    /* To deny it takes no reading. */
    prompt_init(&prompt, &question, &colour);
    show(&prompt, 24, 80, &screen);
    assert_int_equal(prompt_key(&prompt, &five, &choice), PROMPT_REDRAW);
    assert_int_equal(prompt_key(&prompt, &enter, &choice), PROMPT_ANSWERED);
    assert_int_equal(choice, CHOICE_ALWAYS_DENY);
    prompt_done(&prompt);
}

static void in_lines_nothing_is_allowed_before_its_end_was_shown(void **state)
{
    static char command[2000];
    struct question_resource resource;
    const struct question question = long_question(command, sizeof(command), &resource);
    const struct stage_look plain = {.is_plain = true};
    cleanup_buf struct buf out = BUF_INIT(STAGE_FRAME_MAX);
    enum permission_choice choice = CHOICES;
    struct prompt prompt;

    (void)state;
    prompt_init(&prompt, &question, &plain);
    prompt_draw(&prompt, &(struct stage_size){24, 80}, 0, &out);
    buf_clear(&out);
    assert_int_equal(prompt_line(&prompt, STR("2"), &out, &choice), PROMPT_REDRAW);
    assert_true(str_find(buf_view(&out), STR("allow it after you have seen its end")) < out.len);
    for (int i = 0; i < 2; i++)
        assert_int_equal(prompt_line(&prompt, STR("m"), &out, &choice), PROMPT_REDRAW);
    assert_int_equal(prompt_line(&prompt, STR("2"), &out, &choice), PROMPT_ANSWERED);
    assert_int_equal(choice, CHOICE_ALLOW_ONCE);
    prompt_done(&prompt);
}

static void a_choice_says_what_it_covers(void **state)
{
    static const struct question_resource one_file = {.group = CATALOG_FILESYSTEM_READ,
                                                      .shown = STR_LITERAL("/srv/me/a.c"),
                                                      .operation = PERMISSION_READS};
    static const struct question_resource one_command = {.group = CATALOG_SHELL,
                                                         .shown = STR_LITERAL("/w: npm test -x")};
    struct question question = {.tool = STR("read_file"),
                                .group = CATALOG_FILESYSTEM_READ,
                                .resources = &one_file,
                                .resource_count = 1,
                                .folder = STR("/srv/me"),
                                .pattern = STR("/srv/me/**/*.c"),
                                .choices = ALL_CHOICES | 1U << CHOICE_ALLOW_FOLDER |
                                           1U << CHOICE_ALLOW_MATCHING};
    struct prompt prompt;
    struct screen screen;

    (void)state;
    prompt_init(&prompt, &question, &colour);
    show(&prompt, 24, 80, &screen);
    assert_true(screen_find(&screen, "3 Allow this file for this session") >= 0);
    assert_true(screen_find(&screen, "4 Allow everything in \"/srv/me\" for this session") >= 0);
    assert_true(screen_find(&screen, "5 Allow \"/srv/me/**/*.c\" for this session") >= 0);
    assert_true(screen_find(&screen, "can be allowed:") < 0);
    /* What does not fit into its row stands above, whole; and it stays text. */
    question.folder = STR("/srv/me/\x1b[2Ja folder with a long name");
    show(&prompt, 24, 40, &screen);
    assert_true(screen_find(&screen, "The folder that can be allowed:") >= 0);
    assert_true(screen_find(&screen, "| /srv/me/\\x1b[2Ja folder with a long") >= 0);
    prompt_done(&prompt);
    question = (struct question){.tool = STR("shell_execute"),
                                 .group = CATALOG_SHELL,
                                 .resources = &one_command,
                                 .resource_count = 1,
                                 .pattern = STR("npm test"),
                                 .choices = ALL_CHOICES | 1U << CHOICE_ALLOW_MATCHING |
                                            1U << CHOICE_ALWAYS_MATCHING};
    prompt_init(&prompt, &question, &colour);
    show(&prompt, 24, 80, &screen);
    assert_true(screen_find(&screen, "3 Allow this command for this session") >= 0);
    assert_true(
        screen_find(&screen, "4 Allow commands starting with \"npm test\" for this session") >= 0);
    assert_true(screen_find(&screen, "5 Always allow this command, in any folder") >= 0);
    assert_true(
        screen_find(&screen, "6 Always allow commands starting with \"npm test\", in any folder") >=
        0);
    prompt_done(&prompt);
}

static void a_denial_for_good_says_what_its_rule_binds(void **state)
{
    static const struct {
        enum catalog_group group;
        bool is_folder;
        const char *label;
    } rows[] = {
        {CATALOG_FILESYSTEM_WRITE, true, "4 Always deny changes in this folder"},
        {CATALOG_FILESYSTEM_WRITE, false, "4 Always deny changes of this file"},
        {CATALOG_FILESYSTEM_READ, true, "4 Always deny everything in this folder"},
        {CATALOG_FILESYSTEM_READ, false, "4 Always deny this file"},
    };

    (void)state;
    for (size_t i = 0; i < array_size(rows); i++) {
        /* What may not be read may not be changed: a rule for reading is the wider one. */
        const struct question_resource resources[] = {
            {CATALOG_FILESYSTEM_WRITE, STR("/srv/a"), PERMISSION_DELETES},
            {rows[i].group, STR("/srv/a"), PERMISSION_LOOKS_UP},
        };
        const struct question question = {
            .tool = STR("delete"),
            .group = CATALOG_FILESYSTEM_WRITE,
            .resources = resources,
            .resource_count = array_size(resources),
            .is_folder = rows[i].is_folder,
            .choices = 1U << CHOICE_DENY_ONCE | 1U << CHOICE_ALLOW_ONCE |
                       1U << CHOICE_ALLOW_SESSION | 1U << CHOICE_ALWAYS_DENY};
        struct prompt prompt;
        struct screen screen;

        prompt_init(&prompt, &question, &colour);
        show(&prompt, 24, 80, &screen);
        assert_true(screen_find(&screen, rows[i].label) >= 0);
        assert_true(screen_find(&screen, rows[i].is_folder
                                             ? "3 Allow this folder for this session"
                                             : "3 Allow this file for this session") >= 0);
        prompt_done(&prompt);
    }
}

static void for_good_means_in_any_folder(void **state)
{
    static char command[6];
    struct question_resource resource;
    struct question question = long_question(command, sizeof(command), &resource);
    struct prompt prompt;
    struct screen screen;

    (void)state;
    prompt_init(&prompt, &question, &colour);
    show(&prompt, 24, 80, &screen);
    assert_true(screen_find(&screen, "4 Always allow this command, in any folder") >= 0);
    assert_true(screen_find(&screen, "5 Always deny this command, in any folder") >= 0);
    prompt_done(&prompt);
    question.group = CATALOG_FILESYSTEM_WRITE;
    prompt_init(&prompt, &question, &colour);
    show(&prompt, 24, 80, &screen);
    assert_true(screen_find(&screen, "any folder") < 0);
    prompt_done(&prompt);
}

/* What stands behind them is seen at once. */
static void many_blanks_are_told_by_their_number(void **state)
{
    static char command[6000];
    struct question_resource resource;
    struct question question = long_question(command, sizeof(command), &resource);
    struct prompt prompt;
    struct screen screen;

    (void)state;
    memset(command, ' ', sizeof(command));
    memcpy(command, "echo hi", 7);
    memcpy(command + sizeof(command) - 6, "; rm x", 6);
    prompt_init(&prompt, &question, &colour);
    show(&prompt, 24, 80, &screen);
    assert_true(screen_find(&screen, "| echo hi\\s{5987}; rm x") >= 0);
    prompt_done(&prompt);
    for (size_t i = 8; i < sizeof(command) - 6; i += 2)
        command[i] = '\t';
    question.resource_count = 0;
    question.detail = resource.shown;
    prompt_init(&prompt, &question, &colour);
    show(&prompt, 24, 80, &screen);
    assert_true(screen_find(&screen, "| echo hi\\s{5987}; rm x") >= 0);
    prompt_done(&prompt);
}

static void what_cannot_be_shown_whole_can_only_be_denied(void **state)
{
    static char detail[8 << 20];
    struct question question = {.tool = STR_LITERAL("write_file"),
                                .detail = {detail, sizeof(detail)},
                                .choices = ALL_CHOICES};
    const struct key down = {.code = KEY_DOWN};
    struct stage_look plain = {.is_plain = true};
    cleanup_buf struct buf out = BUF_INIT(STAGE_FRAME_MAX);
    enum permission_choice choice = CHOICE_ALWAYS_ALLOW;
    struct prompt prompt;
    struct screen screen;

    (void)state;
    memset(detail, '\x1b', sizeof(detail));
    prompt_init(&prompt, &question, &colour);
    show(&prompt, 24, 80, &screen);
    assert_true(screen_find(&screen, "Too large to show") >= 0);
    (void)prompt_key(&prompt, &down, &choice);
    assert_int_equal(prompt_key(&prompt, &enter, &choice), PROMPT_NOTHING);
    assert_int_equal(prompt_key(&prompt, &escape, &choice), PROMPT_ANSWERED);
    assert_int_equal(choice, CHOICE_DENY_ONCE);
    prompt_done(&prompt);
    prompt_init(&prompt, &question, &plain);
    prompt_draw(&prompt, &(struct stage_size){24, 80}, 0, &out);
    choice = CHOICE_ALWAYS_ALLOW;
    assert_int_equal(prompt_line(&prompt, STR("2"), &out, &choice), PROMPT_ANSWERED);
    assert_int_equal(choice, CHOICE_DENY_ONCE);
    prompt_done(&prompt);
}

/* Any text in any window: nothing scrolls, nothing is lost, and the choice can be seen. */
static void any_question_fits_any_window(void **state)
{
    static const char *const pieces[] = {
        "\x1b[2J",      "\r\n", "\n> 2 Allow once\n",       "\xe2\x80\xae",     "name", " ",
        "/srv/me/",     "\t",   "\xe6\xbc\xa2\xe5\xad\x97", "\xf0\x9f\x98\x80", "\x80", "| ",
        "-old\n+new\n",
    };

    (void)state;
    draw_seed = 23;
    for (int i = 0; i < 2000; i++) {
        char texts[4][2048];
        struct question_resource resources[] = {
            {(enum catalog_group)draw(5),
             draw_text(texts[0], 1 + draw(60), pieces, array_size(pieces)),
             (enum permission_operation)draw(PERMISSION_OPERATIONS)},
            {(enum catalog_group)draw(5), draw_text(texts[1], 9, pieces, array_size(pieces)),
             (enum permission_operation)draw(PERMISSION_OPERATIONS)}};
        const struct question question = {
            .tool = draw_text(texts[2], 8, pieces, array_size(pieces)),
            .group = (enum catalog_group)draw(5),
            .resources = resources,
            .resource_count = draw(3),
            .action = STR_LITERAL("Does something"),
            .detail = draw_text(texts[3], 1 + draw(90), pieces, array_size(pieces)),
            .is_diff = draw(2) == 0,
            .deletes = draw(2) == 0,
            .choices = (unsigned)draw(1 << CHOICES) | 1U << CHOICE_DENY_ONCE,
        };
        struct stage_look look = {.has_colour = draw(2) == 0, .is_utf8 = draw(2) == 0};
        size_t rows = 1 + draw(SCREEN_ROWS);
        size_t columns = 1 + draw(SCREEN_COLUMNS);
        struct prompt prompt;
        struct screen screen;

        prompt_init(&prompt, &question, &look);
        show(&prompt, rows, columns, &screen);
        assert_int_equal(screen.foreign + screen.scrolls + screen.lost, 0);
        if (rows >= SHEET_MIN_ROWS && columns >= PAGE_MIN_COLUMNS)
            assert_true(screen_find(&screen, "> 1 Deny once") >= 0);
        if (!look.has_colour)
            assert_int_equal(screen.colours, 0);
        prompt_done(&prompt);
    }
}

static void a_summary_is_one_line(void **state)
{
    static const struct question_resource resources[] = {
        {.group = CATALOG_SHELL, .shown = STR_LITERAL("a\nb\x1b[2J")},
        {.group = CATALOG_SHELL, .shown = STR_LITERAL("c")}};
    const struct question question = {.tool = STR_LITERAL("shell\r_execute"),
                                      .resources = resources,
                                      .resource_count = 2,
                                      .choices = ALL_CHOICES};
    cleanup_buf struct buf out = BUF_INIT(2048);

    (void)state;
    prompt_summary(&question, &colour, prompt_past(CHOICE_ALWAYS_DENY), &out);
    assert_str(buf_view(&out),
               "Always denied: \"shell\\r_execute\" on \"a\\nb\\x1b[2J\" and 1 more");
}

TEST_MAIN(cmocka_unit_test(the_end_of_a_long_command_is_there),
          cmocka_unit_test(nothing_is_allowed_before_its_end_was_shown),
          cmocka_unit_test(in_lines_nothing_is_allowed_before_its_end_was_shown),
          cmocka_unit_test(a_choice_says_what_it_covers),
          cmocka_unit_test(a_denial_for_good_says_what_its_rule_binds),
          cmocka_unit_test(for_good_means_in_any_folder),
          cmocka_unit_test(many_blanks_are_told_by_their_number),
          cmocka_unit_test(what_cannot_be_shown_whole_can_only_be_denied),
          cmocka_unit_test(any_question_fits_any_window), cmocka_unit_test(a_summary_is_one_line))
