/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <string.h>

#include "base/err.h"
#include "draw.h"
#include "permission/questionqueue.h"

enum { IDS = 4096 };

static const char *const names[] = {"terminal", "page", "client"};

struct fixture;

/* What one surface was told about each question. */
struct seen {
    struct fixture *fixture;
    const char *name;
    bool is_there;
    bool holds[IDS]; /* shown, and not told that it is over */
    int shown[IDS];
    int withdrawn[IDS];
    enum question_queue_end end[IDS];
    const char *by[IDS];
    bool answers_at_once;
    bool leaves_at_once;
    bool asks_on_withdraw;
};

struct fixture {
    struct question_queue *queue;
    struct seen seen[array_size(names)];
    int answers[IDS];
    enum permission_choice choice[IDS];
    const char *by[IDS];
    bool asks_again;
};

static const struct question plain = {
    .tool = STR_LITERAL("write_file"),
    .group = CATALOG_FILESYSTEM_WRITE,
    .choices = 1U << CHOICE_ALLOW_ONCE | 1U << CHOICE_ALLOW_SESSION,
};

static void note_answer(void *data, uint64_t id, enum permission_choice choice, const char *by);

static const char *name_of(const char *by)
{
    return by == NULL ? "nobody" : by;
}

static uint64_t ask(struct fixture *fixture)
{
    uint64_t id = 0;

    assert_int_equal(question_queue_ask(fixture->queue, &plain, note_answer, fixture, &id), 0);
    assert_in_range(id, 1, IDS - 1);
    return id;
}

static void assert_others_were_told(const struct fixture *fixture, uint64_t id, const char *by)
{
    for (size_t i = 0; i < array_size(names); i++)
        assert_true(!fixture->seen[i].holds[id] || (by != NULL && strcmp(names[i], by) == 0));
}

static void note_answer(void *data, uint64_t id, enum permission_choice choice, const char *by)
{
    struct fixture *fixture = data;

    fixture->answers[id]++;
    assert_others_were_told(fixture, id, by);
    fixture->choice[id] = choice;
    fixture->by[id] = name_of(by);
    if (fixture->asks_again) {
        fixture->asks_again = false;
        ask(fixture);
    }
}

static void forget(struct seen *seen)
{
    seen->is_there = false;
    memset(seen->holds, 0, sizeof(seen->holds));
}

static void note_show(void *data, uint64_t id, const struct question *question)
{
    struct seen *seen = data;

    assert_true(seen->is_there);
    assert_str(question->tool, "write_file");
    assert_false(seen->holds[id]);
    seen->holds[id] = true;
    seen->shown[id]++;
    if (seen->answers_at_once)
        assert_int_equal(
            question_queue_answer(seen->fixture->queue, id, CHOICE_ALLOW_ONCE, seen->name), 0);
    if (seen->leaves_at_once) {
        forget(seen);
        question_queue_remove(seen->fixture->queue, seen->name);
    }
}

static void note_withdraw(void *data, uint64_t id, enum question_queue_end end, const char *by)
{
    struct seen *seen = data;

    assert_true(seen->is_there);
    assert_true(seen->holds[id]);
    seen->holds[id] = false;
    seen->withdrawn[id]++;
    seen->end[id] = end;
    seen->by[id] = name_of(by);
    if (seen->asks_on_withdraw) {
        seen->asks_on_withdraw = false;
        ask(seen->fixture);
    }
}

static int add(struct fixture *fixture, size_t which)
{
    struct seen *seen = &fixture->seen[which];
    const struct question_queue_surface surface = {names[which], note_show, note_withdraw, seen};

    seen->is_there = true;
    return question_queue_add(fixture->queue, &surface);
}

static void take_away(struct fixture *fixture, size_t which)
{
    forget(&fixture->seen[which]);
    question_queue_remove(fixture->queue, names[which]);
}

static int set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));

    assert_non_null(fixture);
    for (size_t i = 0; i < array_size(names); i++)
        fixture->seen[i] = (struct seen){.fixture = fixture, .name = names[i]};
    assert_int_equal(question_queue_new(&fixture->queue), 0);
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;

    question_queue_free(fixture->queue);
    free(fixture);
    return 0;
}

static void the_first_answer_wins_and_the_others_are_told_once(void **state)
{
    struct fixture *fixture = *state;
    uint64_t id;

    for (size_t i = 0; i < 3; i++)
        assert_int_equal(add(fixture, i), 0);
    id = ask(fixture);
    assert_int_equal(question_queue_waiting(fixture->queue), 1);
    assert_int_equal(question_queue_answer(fixture->queue, id, CHOICE_ALLOW_SESSION, names[1]), 0);
    assert_int_equal(question_queue_answer(fixture->queue, id, CHOICE_DENY_ONCE, "terminal"),
                     ERR_NOT_FOUND);
    assert_int_equal(fixture->answers[id], 1);
    assert_int_equal(fixture->choice[id], CHOICE_ALLOW_SESSION);
    assert_string_equal(fixture->by[id], "page");
    assert_int_equal(fixture->seen[0].withdrawn[id], 1);
    assert_int_equal(fixture->seen[0].end[id], QUESTION_QUEUE_ANSWERED_ELSEWHERE);
    assert_string_equal(fixture->seen[0].by[id], "page");
    assert_int_equal(fixture->seen[1].withdrawn[id], 0);
    assert_int_equal(fixture->seen[2].withdrawn[id], 1);
    assert_int_equal(question_queue_waiting(fixture->queue), 0);
}

static void only_what_was_offered_can_be_answered(void **state)
{
    struct fixture *fixture = *state;
    uint64_t id;

    add(fixture, 0);
    id = ask(fixture);
    assert_int_equal(question_queue_answer(fixture->queue, id, CHOICE_ALWAYS_ALLOW, "terminal"),
                     ERR_INVALID_ARGUMENT);
    assert_int_equal(question_queue_answer(fixture->queue, id, CHOICES, "terminal"),
                     ERR_INVALID_ARGUMENT);
    assert_int_equal(fixture->answers[id], 0);
    assert_int_equal(question_queue_waiting(fixture->queue), 1);
    /* Not offered by who asked, and there all the same. */
    assert_int_equal(question_queue_answer(fixture->queue, id, CHOICE_DENY_ONCE, "terminal"), 0);
    assert_int_equal(question_queue_answer(fixture->queue, id + 1, CHOICE_DENY_ONCE, "terminal"),
                     ERR_NOT_FOUND);
}

static void a_cancelled_question_leaves_unanswered(void **state)
{
    static const enum question_queue_end ends[] = {QUESTION_QUEUE_CANCELLED,
                                                   QUESTION_QUEUE_TIMED_OUT};
    struct fixture *fixture = *state;

    add(fixture, 0);
    add(fixture, 1);
    for (size_t i = 0; i < array_size(ends); i++) {
        uint64_t id = ask(fixture);

        question_queue_cancel(fixture->queue, id, ends[i]);
        question_queue_cancel(fixture->queue, id, ends[i]);
        assert_int_equal(fixture->answers[id], 0);
        for (int s = 0; s < 2; s++) {
            assert_int_equal(fixture->seen[s].withdrawn[id], 1);
            assert_int_equal(fixture->seen[s].end[id], ends[i]);
        }
        assert_int_equal(question_queue_answer(fixture->queue, id, CHOICE_ALLOW_ONCE, "page"),
                         ERR_NOT_FOUND);
    }
    assert_int_equal(question_queue_waiting(fixture->queue), 0);
}

static void nobody_denies(void **state)
{
    struct fixture *fixture = *state;
    uint64_t id = ask(fixture);
    uint64_t second;

    assert_int_equal(fixture->answers[id], 1);
    assert_int_equal(fixture->choice[id], CHOICE_DENY_ONCE);
    assert_string_equal(fixture->by[id], "nobody");
    /* When the last one goes, it is the same. */
    add(fixture, 0);
    add(fixture, 1);
    id = ask(fixture);
    second = ask(fixture);
    take_away(fixture, 0);
    assert_int_equal(fixture->answers[id], 0);
    take_away(fixture, 1);
    assert_int_equal(fixture->answers[id], 1);
    assert_int_equal(fixture->answers[second], 1);
    assert_int_equal(fixture->choice[second], CHOICE_DENY_ONCE);
    assert_string_equal(fixture->by[second], "nobody");
    /* Who has gone is told nothing. */
    assert_int_equal(fixture->seen[0].withdrawn[id] + fixture->seen[1].withdrawn[id], 0);
}

static void who_comes_later_is_shown_what_is_open(void **state)
{
    struct fixture *fixture = *state;
    uint64_t first;
    uint64_t second;

    add(fixture, 0);
    first = ask(fixture);
    second = ask(fixture);
    assert_int_equal(add(fixture, 1), 0);
    assert_int_equal(fixture->seen[1].shown[first], 1);
    assert_int_equal(fixture->seen[1].shown[second], 1);
    assert_int_equal(add(fixture, 1), ERR_ALREADY_EXISTS);
    fixture->seen[2].answers_at_once = true;
    assert_int_equal(add(fixture, 2), 0);
    assert_string_equal(fixture->by[first], "client");
    assert_string_equal(fixture->by[second], "client");
    assert_int_equal(fixture->seen[1].withdrawn[second], 1);
}

static void surfaces_and_open_questions_have_a_ceiling(void **state)
{
    static const char *const more[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    static char text[QUESTION_MAX_BYTES];
    struct fixture *fixture = *state;
    struct question large = plain;
    uint64_t id = 7;

    add(fixture, 0);
    for (size_t i = 0; i < QUESTION_QUEUE_MAX_SURFACES; i++) {
        const struct question_queue_surface surface = {more[i], note_show, note_withdraw,
                                                       &fixture->seen[1]};

        fixture->seen[1].is_there = true;
        assert_int_equal(question_queue_add(fixture->queue, &surface),
                         i + 1 < QUESTION_QUEUE_MAX_SURFACES ? 0 : ERR_BUSY);
    }
    for (size_t i = 0; i + 1 < QUESTION_QUEUE_MAX_SURFACES; i++)
        question_queue_remove(fixture->queue, more[i]);
    for (int i = 0; i < QUESTION_QUEUE_MAX_OPEN; i++)
        ask(fixture);
    assert_int_equal(question_queue_ask(fixture->queue, &plain, note_answer, fixture, &id),
                     ERR_BUSY);
    assert_int_equal(id, 7);
    take_away(fixture, 0);
    assert_int_equal(question_queue_waiting(fixture->queue), 0);
    add(fixture, 0);
    large.detail = (struct str){text, sizeof(text) - plain.tool.len};
    for (int i = 0; i < QUESTION_QUEUE_MAX_BYTES / QUESTION_MAX_BYTES; i++)
        assert_int_equal(question_queue_ask(fixture->queue, &large, note_answer, fixture, &id), 0);
    assert_int_equal(question_queue_ask(fixture->queue, &plain, note_answer, fixture, &id),
                     ERR_BUSY);
    question_queue_cancel(fixture->queue, id, QUESTION_QUEUE_CANCELLED);
    ask(fixture);
    large.detail.len++;
    assert_int_equal(question_queue_ask(fixture->queue, &large, note_answer, fixture, &id),
                     ERR_TOO_LARGE);
}

static void callbacks_may_answer_ask_and_leave(void **state)
{
    struct fixture *fixture = *state;
    uint64_t id;

    add(fixture, 0);
    fixture->seen[1].answers_at_once = true;
    add(fixture, 1);
    add(fixture, 2);
    fixture->asks_again = true;
    id = ask(fixture);
    assert_string_equal(fixture->by[id], "page");
    assert_string_equal(fixture->by[id + 1], "page");
    assert_int_equal(fixture->seen[0].withdrawn[id], 1);
    assert_int_equal(fixture->seen[2].shown[id], 0); /* it was over by then */
    fixture->seen[1].answers_at_once = false;
    fixture->seen[1].leaves_at_once = true;
    fixture->seen[0].asks_on_withdraw = true;
    id = ask(fixture);
    assert_int_equal(question_queue_answer(fixture->queue, id, CHOICE_DENY_ONCE, "client"), 0);
    assert_int_equal(fixture->seen[0].shown[id + 1], 1);
    assert_int_equal(fixture->seen[1].shown[id + 1], 0);
    assert_int_equal(fixture->seen[1].withdrawn[id], 0);
    assert_int_equal(question_queue_waiting(fixture->queue), 1);
}

static void freeing_denies_what_is_open(void **state)
{
    struct fixture *fixture = *state;
    uint64_t id;

    add(fixture, 0);
    id = ask(fixture);
    question_queue_free(fixture->queue);
    fixture->queue = NULL;
    assert_int_equal(fixture->answers[id], 1);
    assert_int_equal(fixture->choice[id], CHOICE_DENY_ONCE);
    assert_string_equal(fixture->by[id], "nobody");
    assert_int_equal(fixture->seen[0].withdrawn[id], 1);
}

/* Whatever happens in whatever order: one end for each, and everybody hears of it once. */
static void any_order_gives_each_question_one_end(void **state)
{
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct fixture *fixture = NULL;
        bool is_cancelled[IDS] = {false};
        uint64_t last = 0;

        (void)state;
        set_up((void **)&fixture);
        draw_seed = seed * UINT64_C(0x9E3779B97F4A7C15);
        for (int step = 0; step < 300; step++) {
            size_t which = draw(array_size(names));
            uint64_t id = last > 0 ? 1 + draw(last) : 0;
            struct seen *seen = &fixture->seen[which];

            switch (draw(8)) {
            case 0:
            case 1:
            case 2:
                if (question_queue_ask(fixture->queue, &plain, note_answer, fixture, &id) == 0)
                    last = id;
                break;
            case 3:
                if (!seen->is_there)
                    assert_int_equal(add(fixture, which), 0);
                break;
            case 4:
                if (draw(4) == 0)
                    take_away(fixture, which);
                break;
            case 5:
                seen->answers_at_once = draw(8) == 0;
                break;
            case 6:
                if (id > 0 && fixture->answers[id] == 0 && !is_cancelled[id]) {
                    is_cancelled[id] = true;
                    question_queue_cancel(fixture->queue, id, QUESTION_QUEUE_TIMED_OUT);
                    assert_others_were_told(fixture, id, NULL);
                }
                break;
            default:
                if (id > 0 && seen->is_there) {
                    bool is_over = fixture->answers[id] > 0 || is_cancelled[id];

                    assert_int_equal(
                        question_queue_answer(fixture->queue, id, CHOICE_ALLOW_ONCE, names[which]),
                        is_over ? ERR_NOT_FOUND : 0);
                }
            }
        }
        for (size_t i = 0; i < array_size(names); i++)
            take_away(fixture, i);
        assert_int_equal(question_queue_waiting(fixture->queue), 0);
        for (uint64_t id = 1; id <= last; id++)
            assert_int_equal(fixture->answers[id], is_cancelled[id] ? 0 : 1);
        tear_down((void **)&fixture);
    }
}

#define desk_test(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

TEST_MAIN(desk_test(the_first_answer_wins_and_the_others_are_told_once),
          desk_test(only_what_was_offered_can_be_answered),
          desk_test(a_cancelled_question_leaves_unanswered), desk_test(nobody_denies),
          desk_test(who_comes_later_is_shown_what_is_open),
          desk_test(surfaces_and_open_questions_have_a_ceiling),
          desk_test(callbacks_may_answer_ask_and_leave), desk_test(freeing_denies_what_is_open),
          cmocka_unit_test(any_order_gives_each_question_one_end))
