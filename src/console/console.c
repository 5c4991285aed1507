/* SPDX-License-Identifier: Apache-2.0 */
#include "console/console.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "console/internal.h"

enum { SUMMARY_BYTES = 2048, MORE_BYTES = 4 << 20 };

static void wake(struct console *console)
{
    loop_defer(console->config.loop, &console->turn);
}

static size_t count_behind(const struct console *console)
{
    return console->queue_count - 1;
}

/* ---- the act ---- */

static void end_prompt(struct console *console, const char *what_happened)
{
    cleanup_buf struct buf words = BUF_INIT(SUMMARY_BYTES);

    prompt_summary(console->queue[0].question, &console->prompt.look, what_happened, &words);
    stage_end(console->stage, buf_view(&words));
    prompt_done(&console->prompt);
    console->is_prompting = false;
    wake(console);
}

static void take_result(struct console *console, enum prompt_result result,
                        enum permission_choice choice)
{
    switch (result) {
    case PROMPT_NOTHING:
        break;
    case PROMPT_REDRAW:
        stage_redraw(console->stage);
        break;
    case PROMPT_ANSWERED:
        console->has_answer = true;
        console->answer = choice;
        end_prompt(console, prompt_past(choice));
        break;
    }
}

static void on_draw(void *data, const struct stage_size *size, struct buf *out)
{
    struct console *console = data;

    prompt_draw(&console->prompt, size, count_behind(console), out);
}

static void on_key(void *data, const struct key *key)
{
    struct console *console = data;
    enum permission_choice choice = CHOICE_DENY_ONCE;
    enum prompt_result result = prompt_key(&console->prompt, key, &choice);

    take_result(console, result, choice);
}

static void on_line(void *data, struct str line)
{
    struct console *console = data;
    cleanup_buf struct buf more = BUF_INIT(MORE_BYTES);
    enum permission_choice choice = CHOICE_DENY_ONCE;
    enum prompt_result result = prompt_line(&console->prompt, line, &more, &choice);

    if (result == PROMPT_REDRAW)
        stage_print(console->stage, buf_view(&more));
    else
        take_result(console, result, choice);
}

/* ---- the surface ---- */

static void on_show(void *data, uint64_t id, const struct question *question)
{
    struct console *console = data;

    /* The queue has no more than fit. */
    assert(console->queue_count < QUESTION_QUEUE_MAX_OPEN);
    console->queue[console->queue_count++] = (struct waiting){id, question};
    if (console->is_prompting)
        stage_redraw(console->stage); /* one more waits */
    wake(console);
}

static void drop(struct console *console, size_t index)
{
    console->queue_count--;
    memmove(&console->queue[index], &console->queue[index + 1],
            (console->queue_count - index) * sizeof(console->queue[0]));
}

static void on_withdraw(void *data, uint64_t id, enum question_queue_end end, const char *by)
{
    static const char *const past[] = {
        [QUESTION_QUEUE_ANSWERED_ELSEWHERE] = "Answered elsewhere",
        [QUESTION_QUEUE_CANCELLED] = "Withdrawn",
        [QUESTION_QUEUE_TIMED_OUT] = "Timed out",
    };
    struct console *console = data;
    size_t index = 0;

    (void)by;
    while (index < console->queue_count && console->queue[index].id != id)
        index++;
    if (index == console->queue_count)
        return;
    if (index == 0 && console->is_prompting)
        end_prompt(console, past[end]);
    if (index == 0)
        console->has_answer = false;
    drop(console, index);
    if (console->is_prompting)
        stage_redraw(console->stage);
}

/* ---- whose turn it is ---- */

static void begin_prompt(struct console *console)
{
    const struct stage_look look = stage_look_of(console->stage);
    const struct stage_act act = {.draw = on_draw, .key = on_key, .line = on_line, .data = console};

    prompt_init(&console->prompt, console->queue[0].question, &look);
    console->is_prompting = true;
    if (stage_begin(console->stage, &act) < 0) {
        prompt_done(&console->prompt);
        console->is_prompting = false;
    }
}

/* Answering may free the console, so it must come last. */
static void answer_first(struct console *console, enum permission_choice choice)
{
    uint64_t id = console->queue[0].id;

    console->has_answer = false;
    drop(console, 0);
    wake(console);
    (void)question_queue_answer(console->config.queue, id, choice, CONSOLE_NAME);
}

static void leave_desk(struct console *console)
{
    if (console->confirm != NULL) {
        wake(console);
        confirm_refuse(console->confirm);
    } else if (console->queue_count > 0) {
        answer_first(console, CHOICE_DENY_ONCE);
    } else {
        question_queue_remove(console->config.queue, CONSOLE_NAME);
        if (console->config.on_gone != NULL)
            console->config.on_gone(console->config.data);
    }
}

static void take_turn(void *data)
{
    struct console *console = data;

    if (console->is_gone)
        leave_desk(console);
    else if (console->has_answer)
        answer_first(console, console->answer);
    else if (console->confirm != NULL && confirm_is_over(console->confirm)) {
        wake(console);
        confirm_tell(console->confirm);
    } else if (stage_is_taken(console->stage))
        return;
    else if (console->confirm != NULL)
        confirm_begin(console->confirm);
    else if (console->queue_count > 0)
        begin_prompt(console);
}

static void on_stage_gone(void *data)
{
    struct console *console = data;

    if (console->is_prompting)
        prompt_done(&console->prompt);
    console->is_prompting = false;
    console->has_answer = false;
    console->is_gone = true;
    wake(console);
}

int console_new(const struct console_config *config, struct console **out_console)
{
    struct console *console = calloc(1, sizeof(*console));
    const struct question_queue_surface surface = {CONSOLE_NAME, on_show, on_withdraw, console};
    struct stage_config stage = {
        .loop = config->loop,
        .in_fd = config->in_fd,
        .out_fd = config->out_fd,
        .look = config->look,
        .on_gone = on_stage_gone,
        .data = console,
    };
    int r;

    if (console == NULL)
        return ERR_NO_MEMORY;
    console->config = *config;
    loop_task_init(&console->turn, take_turn, console);
    r = stage_new(&stage, &console->stage);
    if (r == 0)
        r = question_queue_add(config->queue, &surface);
    if (r < 0) {
        stage_free(console->stage);
        loop_task_cancel(&console->turn);
        free(console);
        return r;
    }
    *out_console = console;
    return 0;
}

void console_free(struct console *console)
{
    if (console == NULL)
        return;
    loop_task_cancel(&console->turn);
    stage_free(console->stage);
    if (console->is_prompting)
        prompt_done(&console->prompt);
    confirm_free(console->confirm);
    console->is_prompting = false;
    question_queue_remove(console->config.queue, CONSOLE_NAME);
    free(console);
}

bool console_is_taken(const struct console *console)
{
    return stage_is_taken(console->stage);
}
