/* SPDX-License-Identifier: Apache-2.0 */
/* Requests on a screen that only notes what is done to it: two monitors, the second is primary. */
#include "test.h"

#include <stdlib.h>

#include "screen/host.h"

enum { LOOK_MS = 20, NOTES_BYTES = 4096, PIXEL_BYTES = 4, MAX_PIXELS = 2000 * 1000 };

struct fake {
    struct screen base;
    struct buf notes;
    uint8_t *pixels; /* as many as the largest monitor has */
    struct screen_area grabbed;
    int fails_at; /* the button event that fails; 0: none does */
    int buttons;
    bool makes_gesture;
    bool was_drawn_on; /* not told yet */
    int grabs;
    bool has_gone;
};

static struct fake *fake_of(struct screen *screen)
{
    return (struct fake *)screen;
}

static int monitors(struct screen *screen, struct screen_monitor out_monitors[SCREEN_MAX_MONITORS],
                    int *out_count, struct err *err)
{
    (void)screen;
    (void)err;
    out_monitors[0] = (struct screen_monitor){.area = {0, 0, 1000, 500}, .name = "a"};
    out_monitors[1] =
        (struct screen_monitor){.area = {1000, 100, 2000, 1000}, .is_primary = true, .name = "b"};
    *out_count = 2;
    return 0;
}

static int pointer(struct screen *screen, int *out_x, int *out_y, struct err *err)
{
    (void)screen;
    (void)err;
    *out_x = 3;
    *out_y = 4;
    return 0;
}

static int windows(struct screen *screen, struct json_writer *json, struct err *err)
{
    (void)screen;
    (void)json;
    (void)err;
    return 0;
}

static int grab(struct screen *screen, const struct screen_area *area, bool has_cursor,
                struct image *out_image, struct err *err)
{
    struct fake *fake = fake_of(screen);

    (void)has_cursor;
    (void)err;
    fake->grabbed = *area;
    fake->grabs++;
    *out_image =
        (struct image){fake->pixels, area->width, area->height, (size_t)area->width * PIXEL_BYTES};
    return area->width * area->height <= MAX_PIXELS ? 0 : ERR_TOO_LARGE;
}

static bool has_changed(struct screen *screen)
{
    bool was_drawn_on = fake_of(screen)->was_drawn_on;

    fake_of(screen)->was_drawn_on = false;
    return was_drawn_on;
}

static int move(struct screen *screen, int x, int y, struct err *err)
{
    (void)err;
    return buf_printf(&fake_of(screen)->notes, "move %d,%d;", x, y);
}

static int button(struct screen *screen, unsigned which, bool is_down, struct err *err)
{
    struct fake *fake = fake_of(screen);

    if (++fake->buttons == fake->fails_at)
        return err_set(err, ERR_IO, "no");
    return buf_printf(&fake->notes, "%u%s;", which, is_down ? "down" : "up");
}

static int type(struct screen *screen, struct str text, struct err *err)
{
    (void)err;
    return buf_printf(&fake_of(screen)->notes, "type %.*s;", STR_ARG(text));
}

static int press(struct screen *screen, const uint32_t *symbols, int count, unsigned hold_ms,
                 struct err *err)
{
    (void)err;
    for (int i = 0; i < count; i++)
        assert_int_equal(buf_printf(&fake_of(screen)->notes, "%x;", symbols[i]), 0);
    return buf_printf(&fake_of(screen)->notes, "for %u;", hold_ms);
}

static void release_all(struct screen *screen)
{
    (void)buf_append_str(&fake_of(screen)->notes, STR("release all;"));
}

static int descriptor(struct screen *screen)
{
    (void)screen;
    return -1;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): as in the table */
static int events(struct screen *screen, bool *out_is_stopped, int *out_wait_ms, struct err *err)
{
    (void)out_wait_ms;
    *out_is_stopped = fake_of(screen)->makes_gesture;
    return fake_of(screen)->has_gone ? err_set(err, ERR_CONNECTION_LOST, "gone") : 0;
}

static void nothing(struct screen *screen)
{
    (void)screen;
}

static const struct screen_ops ops = {
    .name = "fake",
    .monitors = monitors,
    .pointer = pointer,
    .windows = windows,
    .grab = grab,
    .move = move,
    .button = button,
    .type = type,
    .press = press,
    .rest = nothing,
    .release_all = release_all,
    .descriptor = descriptor,
    .events = events,
    .close = nothing,
};

static struct fake *fake;
static struct screen_host *host;
static struct err err;
static struct screen_reply reply;
static struct screen_held held;

static int set_up(void **state)
{
    (void)state;
    fake = calloc(1, sizeof(*fake));
    assert_non_null(fake);
    fake->base.ops = &ops;
    fake->pixels = calloc(MAX_PIXELS, PIXEL_BYTES);
    assert_non_null(fake->pixels);
    buf_init(&fake->notes, NOTES_BYTES);
    held = (struct screen_held){0};
    return screen_host_new(&fake->base, &(struct screen_host_stop){.held = &held, .fd = -1}, &host);
}

static int tear_down(void **state)
{
    (void)state;
    screen_host_free(host);
    buf_done(&fake->notes);
    free(fake->pixels);
    free(fake);
    return 0;
}

static int ask(struct screen_request request, const char *text)
{
    cleanup_buf struct buf out = BUF_INIT(SCREEN_MAX_REPLY);
    cleanup_buf struct buf image = BUF_INIT(SCREEN_MAX_IMAGE);

    buf_clear(&fake->notes);
    err = (struct err)ERR_INIT;
    reply = (struct screen_reply){0};
    if (request.button == 0)
        request.button = 1;
    return screen_host_do(host, &request, str_from(text), &reply, &out, &image, &err);
}

static void did(const char *notes)
{
    assert_int_equal(buf_append_char(&fake->notes, '\0'), 0);
    assert_string_equal(fake->notes.data, notes);
}

static void a_display_that_asks_is_left_alone_at_the_start(void **state)
{
    struct screen_ops asking = ops;

    (void)state;
    assert_int_equal(ask((struct screen_request){.action = SCREEN_START}, ""), 0);
    asking.asks_first = true;
    asking.monitors = NULL;
    fake->base.ops = &asking;
    assert_int_equal(ask((struct screen_request){.action = SCREEN_START}, ""), 0);
    fake->base.ops = &ops;
}

static void without_a_picture_coordinates_are_the_screens(void **state)
{
    (void)state;
    assert_int_equal(ask((struct screen_request){.action = SCREEN_MOVE, .x = 2999, .y = 1099}, ""),
                     0);
    did("move 2999,1099;");
    assert_int_equal(ask((struct screen_request){.action = SCREEN_MOVE, .x = 3000, .y = 0}, ""),
                     ERR_INVALID_ARGUMENT);
    did("");
}

static void with_a_size_they_are_the_primary_monitors(void **state)
{
    (void)state;
    assert_int_equal(ask((struct screen_request){.action = SCREEN_CLICK,
                                                 .x = 500,
                                                 .y = 250,
                                                 .image_width = 1000,
                                                 .image_height = 500,
                                                 .count = 1},
                         ""),
                     0);
    did("move 2000,600;1down;1up;");
    assert_int_equal(ask((struct screen_request){.action = SCREEN_CLICK,
                                                 .x = 1000,
                                                 .y = 250,
                                                 .image_width = 1000,
                                                 .image_height = 500,
                                                 .count = 1},
                         ""),
                     ERR_INVALID_ARGUMENT);
    did("");
}

static void after_a_picture_they_are_its_own(void **state)
{
    (void)state;
    assert_int_equal(
        ask((struct screen_request){.action = SCREEN_GRAB, .monitor = 1, .max_side = 100}, ""), 0);
    assert_int_equal(reply.image, 1);
    assert_int_equal(reply.width, 100);
    assert_int_equal(reply.height, 50);
    assert_int_equal(ask((struct screen_request){.action = SCREEN_MOVE, .x = 10, .y = 49}, ""), 0);
    did("move 100,490;");
    /* A part of it, enlarged: the next coordinates are of that. */
    assert_int_equal(ask((struct screen_request){.action = SCREEN_GRAB,
                                                 .x = 50,
                                                 .y = 10,
                                                 .width = 20,
                                                 .height = 10,
                                                 .max_side = 1000},
                         ""),
                     0);
    assert_int_equal(reply.image, 2);
    assert_int_equal(reply.width, 200);
    assert_int_equal(fake->grabbed.x, 500);
    assert_int_equal(fake->grabbed.y, 100);
    assert_int_equal(ask((struct screen_request){.action = SCREEN_MOVE, .x = 10, .y = 20}, ""), 0);
    did("move 510,120;");
    /* An earlier one can be named. */
    assert_int_equal(
        ask((struct screen_request){.action = SCREEN_MOVE, .x = 10, .y = 20, .image = 1}, ""), 0);
    did("move 100,200;");
    assert_int_equal(
        ask((struct screen_request){.action = SCREEN_MOVE, .x = 1, .y = 2, .image = 9}, ""),
        ERR_INVALID_ARGUMENT);
    assert_non_null(strstr(err.message, "s9"));
}

static void what_no_monitor_shows_is_not_clicked(void **state)
{
    (void)state;
    /* Below the first monitor, above the second. */
    assert_int_equal(
        ask((struct screen_request){.action = SCREEN_CLICK, .x = 10, .y = 900, .count = 1}, ""),
        ERR_INVALID_ARGUMENT);
    assert_int_equal(
        ask((struct screen_request){.action = SCREEN_CLICK, .x = 1500, .y = 50, .count = 1}, ""),
        ERR_INVALID_ARGUMENT);
    did("");
}

static void after_a_stop_there_is_no_more_input(void **state)
{
    static const uint32_t inputs[] = {SCREEN_MOVE,   SCREEN_CLICK, SCREEN_BUTTON, SCREEN_DRAG,
                                      SCREEN_SCROLL, SCREEN_TYPE,  SCREEN_PRESS,  SCREEN_HOLD};

    (void)state;
    /* In the middle of a drag. */
    fake->makes_gesture = true;
    assert_int_equal(ask((struct screen_request){.action = SCREEN_DRAG, .to_x = 48}, ""),
                     ERR_GRANT_REVOKED);
    did("move 0,0;1down;release all;1up;");
    fake->makes_gesture = false;
    for (size_t i = 0; i < array_size(inputs); i++) {
        assert_int_equal(ask((struct screen_request){.action = inputs[i]}, "a"), ERR_GRANT_REVOKED);
        did("");
    }
    assert_int_equal(ask((struct screen_request){.action = SCREEN_GRAB}, ""), 0);
}

static void a_display_that_goes_away_ends_a_drag(void **state)
{
    (void)state;
    fake->has_gone = true;
    assert_int_equal(ask((struct screen_request){.action = SCREEN_DRAG, .to_x = 48}, ""),
                     ERR_CONNECTION_LOST);
    did("move 0,0;1down;1up;");
}

static void a_region_is_cut_to_what_there_is(void **state)
{
    static const struct screen_request outside[] = {
        {.action = SCREEN_GRAB, .x = 5000, .width = 10, .height = 10},
        {.action = SCREEN_GRAB, .x = -20, .width = 10, .height = 10},
        {.action = SCREEN_GRAB, .width = 10, .height = -1},
        {.action = SCREEN_GRAB, .x = 2147483647, .width = 2147483647, .height = 1},
        {.action = SCREEN_GRAB, .monitor = 3},
        {.action = SCREEN_GRAB, .monitor = -1},
    };

    (void)state;
    assert_int_equal(
        ask(
            (struct screen_request){
                .action = SCREEN_GRAB, .x = -50, .y = -50, .width = 100, .height = 100},
            ""),
        0);
    assert_int_equal(fake->grabbed.width, 50);
    assert_int_equal(fake->grabbed.height, 50);
    for (size_t i = 0; i < array_size(outside); i++)
        assert_int_equal(ask(outside[i], ""), ERR_INVALID_ARGUMENT);
}

static uint64_t look_at(int width, bool is_same, int grabs)
{
    struct screen_request request = {.action = SCREEN_LOOK, .width = width, .height = 10};

    assert_int_equal(ask(request, ""), 0);
    assert_int_equal(reply.is_same, is_same);
    assert_int_equal(fake->grabs, grabs);
    return reply.fingerprint;
}

static void a_display_that_tells_of_changes_is_looked_at_only_then(void **state)
{
    struct screen_ops telling = ops;
    uint64_t first;

    (void)state;
    telling.has_changed = has_changed;
    fake->base.ops = &telling;
    first = look_at(10, false, 1);
    assert_true(look_at(10, true, 1) == first);
    /* The old one, though there is another picture: nobody has told. */
    fake->pixels[0] = 1;
    assert_true(look_at(10, true, 1) == first);
    fake->was_drawn_on = true;
    assert_true(look_at(10, false, 2) != first);
    (void)look_at(10, true, 2);
    /* Another place. */
    (void)look_at(20, false, 3);
    (void)look_at(10, false, 4);
    /* After an image, coordinates count others. */
    assert_int_equal(ask((struct screen_request){.action = SCREEN_GRAB, .max_side = 50}, ""), 0);
    (void)look_at(10, false, 6);
    fake->has_gone = true;
    assert_int_equal(ask((struct screen_request){.action = SCREEN_LOOK, .ms = 1}, ""),
                     ERR_CONNECTION_LOST);
    fake->base.ops = &ops;
}

static void any_other_display_is_looked_at_each_time(void **state)
{
    (void)state;
    (void)look_at(10, false, 1);
    (void)look_at(10, false, 2);
}

/* Not everything that draws says so. */
static void now_and_then_it_is_looked_at_in_any_case(void **state)
{
    struct screen_request request = {
        .action = SCREEN_LOOK, .width = 10, .height = 10, .ms = LOOK_MS};
    struct screen_ops telling = ops;
    uint64_t first;

    (void)state;
    telling.has_changed = has_changed;
    fake->base.ops = &telling;
    assert_int_equal(ask(request, ""), 0);
    first = reply.fingerprint;
    fake->pixels[0] = 1;
    while (fake->grabs == 1)
        assert_int_equal(ask(request, ""), 0);
    assert_true(reply.fingerprint != first);
    fake->base.ops = &ops;
}

static void a_drag_moves_in_steps_and_always_lets_go(void **state)
{
    const struct screen_request drag = {
        .action = SCREEN_DRAG, .x = 0, .y = 0, .to_x = 48, .to_y = 24};

    (void)state;
    assert_int_equal(ask(drag, ""), 0);
    did("move 0,0;1down;move 12,6;move 24,12;move 36,18;move 48,24;1up;");
    fake->fails_at = 4; /* the next one's release */
    assert_int_equal(ask(drag, ""), ERR_IO);
}

static void the_wheel_turns_where_it_is_told(void **state)
{
    static const char *const notes[] = {
        "move 1,2;4down;4up;4down;4up;", "move 1,2;5down;5up;5down;5up;",
        "move 1,2;6down;6up;6down;6up;", "move 1,2;7down;7up;7down;7up;"};

    (void)state;
    for (uint32_t i = 0; i < SCREEN_DIRECTIONS; i++) {
        assert_int_equal(
            ask(
                (struct screen_request){
                    .action = SCREEN_SCROLL, .x = 1, .y = 2, .direction = i, .count = 2},
                ""),
            0);
        did(notes[i]);
    }
}

static void keys_are_known_before_any_is_pressed(void **state)
{
    (void)state;
    assert_int_equal(ask((struct screen_request){.action = SCREEN_PRESS}, "ctrl\nc"), 0);
    did("ffe3;63;for 0;");
    assert_int_equal(ask((struct screen_request){.action = SCREEN_PRESS}, "ctrl\nnokey"),
                     ERR_INVALID_ARGUMENT);
    assert_non_null(strstr(err.message, "nokey"));
    did("");
    assert_int_equal(
        ask((struct screen_request){.action = SCREEN_PRESS}, "a\na\na\na\na\na\na\na\na"),
        ERR_INVALID_ARGUMENT);
    did("");
}

static void what_is_out_of_bounds_is_refused(void **state)
{
    static const struct screen_request wrong[] = {
        {.action = SCREEN_ACTIONS},
        {.action = SCREEN_GRAB, .format = SCREEN_FORMATS},
        {.action = SCREEN_SCROLL, .direction = SCREEN_DIRECTIONS},
        {.action = SCREEN_SCROLL, .count = 101},
        {.action = SCREEN_CLICK, .count = 4},
        {.action = SCREEN_CLICK, .button = 4},
        {.action = SCREEN_GRAB, .max_side = -1},
        {.action = SCREEN_HOLD, .ms = 10001},
    };

    (void)state;
    for (size_t i = 0; i < array_size(wrong); i++) {
        assert_int_equal(ask(wrong[i], "a"), ERR_INVALID_ARGUMENT);
        did("");
    }
    assert_int_equal(ask((struct screen_request){.action = SCREEN_TYPE}, "\xff"),
                     ERR_INVALID_ARGUMENT);
    did("");
}

#define SCREEN(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

TEST_MAIN(SCREEN(a_display_that_asks_is_left_alone_at_the_start),
          SCREEN(without_a_picture_coordinates_are_the_screens),
          SCREEN(with_a_size_they_are_the_primary_monitors),
          SCREEN(after_a_picture_they_are_its_own), SCREEN(a_region_is_cut_to_what_there_is),
          SCREEN(a_display_that_tells_of_changes_is_looked_at_only_then),
          SCREEN(any_other_display_is_looked_at_each_time),
          SCREEN(now_and_then_it_is_looked_at_in_any_case),
          SCREEN(what_no_monitor_shows_is_not_clicked), SCREEN(after_a_stop_there_is_no_more_input),
          SCREEN(a_display_that_goes_away_ends_a_drag),
          SCREEN(a_drag_moves_in_steps_and_always_lets_go),
          SCREEN(the_wheel_turns_where_it_is_told), SCREEN(keys_are_known_before_any_is_pressed),
          SCREEN(what_is_out_of_bounds_is_refused))
