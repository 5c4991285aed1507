/* SPDX-License-Identifier: Apache-2.0 */
#include "asking/notifier.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/plain.h"

struct waiting {
    uint64_t id;
    const struct question *question;
};

struct notifier {
    struct loop *loop;
    struct question_queue *queue;
    struct desktop *desktop;
    struct waiting waiting[QUESTION_QUEUE_MAX_OPEN]; /* oldest first */
    size_t count;
    bool is_shown; /* the first one */
    bool has_answer;
    enum permission_choice answer;
    struct loop_task turn;
};

/* ---- words ---- */

static int add_row(struct buf *out, struct str text)
{
    int r = text.len > 0 && out->len > 0 ? buf_append_str(out, STR("; ")) : 0;

    return r == 0 ? question_add_line(out, text) : r;
}

/* All that the terminal shows. False if it is too long, or would be shown otherwise. */
static bool write_whole(const struct question *question, struct buf *out)
{
    cleanup_buf struct buf plain = BUF_INIT(NOTIFIER_WHOLE_BYTES);
    int r = add_row(out, question->action);

    for (size_t i = 0; i < question->resource_count && r == 0; i++)
        if (question_first_of(question, i) == i)
            r = add_row(out, question->resources[i].shown);
    if (r == 0)
        r = add_row(out, question->detail);
    if (r == 0)
        r = add_row(out, question->asker);
    if (r == 0)
        r = add_row(out, question->client);
    return r == 0 && plain_line(buf_view(out), NOTIFIER_WHOLE_BYTES, &plain) == 0 &&
           str_eq(buf_view(out), buf_view(&plain));
}

static void show(struct notifier *notifier, const struct question *question)
{
    cleanup_buf struct buf whole = BUF_INIT(NOTIFIER_WHOLE_BYTES);

    if (write_whole(question, &whole))
        desktop_ask(notifier->desktop, STR("Gatehouse asks"), buf_view(&whole),
                    (question->choices & 1U << CHOICE_ALLOW_ONCE) != 0);
    else
        desktop_ask(notifier->desktop, STR("Gatehouse asks, in the terminal of gatehouse ask"),
                    question->action, false);
}

/* ---- whose turn it is ---- */

static void wake(struct notifier *notifier)
{
    loop_defer(notifier->loop, &notifier->turn);
}

static void leave(struct notifier *notifier, size_t index)
{
    notifier->count--;
    memmove(&notifier->waiting[index], &notifier->waiting[index + 1],
            (notifier->count - index) * sizeof(notifier->waiting[0]));
    if (index == 0) {
        notifier->is_shown = false;
        notifier->has_answer = false;
    }
    wake(notifier);
}

static void take_turn(void *data)
{
    struct notifier *notifier = data;

    if (notifier->count == 0)
        return;
    if (notifier->has_answer) {
        uint64_t id = notifier->waiting[0].id;

        leave(notifier, 0);
        (void)question_queue_answer(notifier->queue, id, notifier->answer, NOTIFIER_NAME);
    } else if (!notifier->is_shown) {
        notifier->is_shown = true;
        show(notifier, notifier->waiting[0].question);
    }
}

static void on_button(void *data, bool allows)
{
    struct notifier *notifier = data;

    if (!notifier->is_shown)
        return;
    notifier->has_answer = true;
    notifier->answer = allows ? CHOICE_ALLOW_ONCE : CHOICE_DENY_ONCE;
    wake(notifier);
}

/* ---- the surface ---- */

static void on_show(void *data, uint64_t id, const struct question *question)
{
    struct notifier *notifier = data;

    assert(notifier->count < QUESTION_QUEUE_MAX_OPEN);
    notifier->waiting[notifier->count++] = (struct waiting){id, question};
    wake(notifier);
}

static void on_withdraw(void *data, uint64_t id, enum question_queue_end end, const char *by)
{
    struct notifier *notifier = data;

    (void)end;
    (void)by;
    for (size_t i = 0; i < notifier->count; i++) {
        if (notifier->waiting[i].id != id)
            continue;
        if (i == 0 && notifier->is_shown)
            desktop_withdraw(notifier->desktop);
        leave(notifier, i);
        return;
    }
}

int notifier_new(struct loop *loop, struct question_queue *queue, const char *program,
                 struct notifier **out_notifier)
{
    struct notifier *notifier = calloc(1, sizeof(*notifier));
    const struct question_queue_surface surface = {NOTIFIER_NAME, on_show, on_withdraw, notifier};
    int r;

    if (notifier == NULL)
        return ERR_NO_MEMORY;
    notifier->loop = loop;
    notifier->queue = queue;
    loop_task_init(&notifier->turn, take_turn, notifier);
    r = desktop_new(loop, program, &notifier->desktop);
    if (r == 0) {
        desktop_on_button(notifier->desktop, on_button, notifier);
        r = question_queue_add(queue, &surface);
    }
    if (r < 0) {
        desktop_free(notifier->desktop);
        free(notifier);
        return r;
    }
    *out_notifier = notifier;
    return 0;
}

void notifier_free(struct notifier *notifier)
{
    if (notifier == NULL)
        return;
    loop_task_cancel(&notifier->turn);
    desktop_free(notifier->desktop);
    question_queue_remove(notifier->queue, NOTIFIER_NAME);
    free(notifier);
}
