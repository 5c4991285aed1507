/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/connect/remotequestions.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/jsonwrite.h"
#include "base/rand.h"
#include "permission/confirmation.h"

#define SURFACE "the server's page"

enum {
    ONCE = 1 << CHOICE_DENY_ONCE | 1 << CHOICE_ALLOW_ONCE | 1 << CHOICE_ALLOW_SESSION,
    LASTING = 1 << CHOICE_ALWAYS_ALLOW | 1 << CHOICE_ALWAYS_DENY,
    ID_BYTES = 48,
};

struct shown {
    uint64_t id; /* 0: none */
    const struct question *question;
};

struct remote_questions {
    struct remote_questions_config config;
    uint64_t tag; /* of this session: an answer to another one's question fits none of these */
    struct shown shown[QUESTION_QUEUE_MAX_OPEN];
};

static unsigned choices_of(const struct remote_questions *questions)
{
    return questions->config.may_keep ? ONCE | LASTING : ONCE;
}

static void name_question(const struct remote_questions *questions, uint64_t id,
                          char out_name[ID_BYTES])
{
    snprintf(out_name, ID_BYTES, "%016" PRIx64 "-%" PRIu64, questions->tag, id);
}

static struct shown *find(struct remote_questions *questions, uint64_t id)
{
    for (size_t i = 0; i < QUESTION_QUEUE_MAX_OPEN; i++)
        if (questions->shown[i].id == id)
            return &questions->shown[i];
    return NULL;
}

static void send_question(const struct remote_questions *questions, const struct shown *shown)
{
    cleanup_buf struct buf event = BUF_INIT(REMOTE_QUESTION_BYTES);
    char name[ID_BYTES];
    struct json_writer json;
    int r;

    name_question(questions, shown->id, name);
    json_writer_init(&json, &event);
    json_begin_object(&json);
    json_put_str(&json, STR("type"), STR("question"));
    json_put_str(&json, STR("questionId"), str_from(name));
    if (shown->question->client.len > 0)
        json_put_str_lossy(&json, STR("client"), shown->question->client);
    r = confirmation_write_members(shown->question, choices_of(questions), &json);
    json_end_object(&json);
    if (r == 0)
        r = json_writer_finish(&json);
    if (r == 0)
        questions->config.send(questions->config.data, str_from(name), buf_view(&event));
}

static void show(void *data, uint64_t id, const struct question *question)
{
    struct remote_questions *questions = data;
    struct shown *shown = find(questions, 0);

    if (shown == NULL)
        return;
    *shown = (struct shown){id, question};
    send_question(questions, shown);
}

static void withdraw(void *data, uint64_t id, enum question_queue_end end, const char *by)
{
    static const char *const words[] = {
        [QUESTION_QUEUE_ANSWERED_ELSEWHERE] = "the machine",
        [QUESTION_QUEUE_CANCELLED] = "the agent, who gave up",
        [QUESTION_QUEUE_TIMED_OUT] = "its time limit",
    };
    struct remote_questions *questions = data;
    cleanup_buf struct buf event = BUF_INIT(REMOTE_QUESTION_BYTES);
    struct shown *shown = find(questions, id);
    char name[ID_BYTES];
    struct json_writer json;

    (void)by;
    if (shown == NULL)
        return;
    shown->id = 0;
    name_question(questions, id, name);
    json_writer_init(&json, &event);
    json_begin_object(&json);
    json_put_str(&json, STR("type"), STR("question-closed"));
    json_put_str(&json, STR("questionId"), str_from(name));
    json_put_str(&json, STR("by"), str_from(words[end]));
    json_end_object(&json);
    if (json_writer_finish(&json) == 0)
        questions->config.send(questions->config.data, str_from(name), buf_view(&event));
}

void remote_questions_resend(struct remote_questions *questions)
{
    for (size_t i = 0; i < QUESTION_QUEUE_MAX_OPEN; i++)
        if (questions->shown[i].id != 0)
            send_question(questions, &questions->shown[i]);
}

int remote_questions_decide(struct remote_questions *questions, struct str id, struct str answer)
{
    enum permission_choice choice;
    char name[ID_BYTES];
    struct shown *shown = NULL;
    uint64_t number;
    int r;

    for (size_t i = 0; i < QUESTION_QUEUE_MAX_OPEN && shown == NULL; i++) {
        if (questions->shown[i].id == 0)
            continue;
        name_question(questions, questions->shown[i].id, name);
        if (str_eq_c(id, name))
            shown = &questions->shown[i];
    }
    if (shown == NULL)
        return ERR_NOT_FOUND;
    if (!permission_choice_from(answer, &choice) || (choices_of(questions) & 1U << choice) == 0)
        return ERR_INVALID_ARGUMENT;
    number = shown->id;
    shown->id = 0; /* who answers is not told */
    r = question_queue_answer(questions->config.queue, number, choice, SURFACE);
    if (r == ERR_INVALID_ARGUMENT) /* it was not offered, and stays open */
        shown->id = number;
    return r;
}

int remote_questions_new(const struct remote_questions_config *config,
                         struct remote_questions **out_questions)
{
    struct remote_questions *questions = calloc(1, sizeof(*questions));
    int r;

    if (questions == NULL)
        return ERR_NO_MEMORY;
    questions->config = *config;
    rand_bytes(&questions->tag, sizeof(questions->tag));
    r = question_queue_add(
        config->queue, &(struct question_queue_surface){
                           .name = SURFACE, .show = show, .withdraw = withdraw, .data = questions});
    if (r < 0) {
        free(questions);
        return r;
    }
    *out_questions = questions;
    return 0;
}

void remote_questions_free(struct remote_questions *questions)
{
    if (questions == NULL)
        return;
    question_queue_remove(questions->config.queue, SURFACE);
    free(questions);
}
