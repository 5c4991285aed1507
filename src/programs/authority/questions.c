/* SPDX-License-Identifier: Apache-2.0 */
/* What the host decides: its policy, its hooks, and its user. */
#include "programs/authority/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gatehouse/audit.h"
#include "programs/authority/request.h"

enum {
    DECISION_MS = 30 * 1000,
    USER_MS = 15 * 60 * 1000,
    QUESTION_BYTES = 64 << 10,
    EVENT_BYTES = AUDIT_MAX_RECORD_BYTES + 1,
    MAX_HOOK_ID = 64, /* as the audit log keeps */
};

struct question {
    struct list node;
    uint32_t number;
    bool is_answered;
    struct authority_decision decision;
};

/* Threads run requests, and the authority calls back in the same thread. */
static _Thread_local struct served_request *current;

void questions_begin_request(struct served_request *request)
{
    current = request;
}

/* ---- what a question says ---- */

static void put_subject(struct json_writer *w, const struct authority_subject *subject)
{
    json_key(w, STR("subject"));
    json_begin_object(w);
    json_put_str(w, STR("type"), str_from(authority_subject_type_name(subject->type)));
    json_put_str_lossy(w, STR("id"), str_from(subject->id));
    if (subject->run_id != NULL)
        json_put_str_lossy(w, STR("runId"), str_from(subject->run_id));
    json_end_object(w);
}

static void put_root(struct json_writer *w, const struct authority_root *root)
{
    json_key(w, STR("root"));
    json_begin_object(w);
    json_put_str(w, STR("kind"), str_from(authority_root_kind_name(root->kind)));
    json_put_str_lossy(w, STR("id"), str_from(root->id));
    if (root->display_name != NULL)
        json_put_str_lossy(w, STR("displayName"), str_from(root->display_name));
    if (root->label_count > 0) {
        json_key(w, STR("labels"));
        json_begin_object(w);
        for (size_t i = 0; i < root->label_count; i++)
            json_put_str_lossy(w, str_from(root->labels[i].key), str_from(root->labels[i].value));
        json_end_object(w);
    }
    json_end_object(w);
}

static void put_context(struct json_writer *w, const struct authority_context *context)
{
    char id[24];

    snprintf(id, sizeof(id), "%llu", (unsigned long long)context->request_id);
    json_key(w, STR("context"));
    json_begin_object(w);
    json_put_str(w, STR("requestId"), str_from(id));
    put_subject(w, context->subject);
    put_root(w, context->root);
    json_put_str(w, STR("operation"), str_from(authority_operation_name(context->operation)));
    if (context->name.len > 0)
        service_put_name(w, STR("relativePath"), STR("relativePathHex"), context->name);
    if (context->destination.len > 0)
        service_put_name(w, STR("destinationPath"), STR("destinationPathHex"),
                         context->destination);
    json_key(w, STR("access"));
    json_begin_array(w);
    for (unsigned bit = 1; bit <= AUTHORITY_ALL_ACCESS; bit <<= 1)
        if ((context->access & bit) != 0)
            json_write_str(w, str_from(authority_access_name((enum authority_access)bit)));
    json_end_array(w);
    if (context->reason != NULL)
        json_put_str_lossy(w, STR("reason"), str_from(context->reason));
    json_end_object(w);
}

static void begin_question(struct json_writer *w, struct buf *json, const char *kind,
                           const char *hook, const struct authority_context *context)
{
    json_writer_init(w, json);
    json_begin_object(w);
    json_put_str(w, STR("kind"), str_from(kind));
    if (hook != NULL)
        json_put_str(w, STR("hook"), str_from(hook));
    put_context(w, context);
}

/* ---- asking ---- */

static bool is_given_up(const struct authority_service *service)
{
    return service->is_over || (current != NULL && cancel_check(&current->cancel) == ERR_CANCELLED);
}

/* While this thread waits, another one may work. */
static bool wait_for_answer(struct authority_service *service, const struct question *question,
                            int64_t ms)
{
    int64_t deadline_ms = monitor_now_ms() + ms;

    service->running_count--;
    current->party->running_count--;
    service_use_threads(service);
    while (!question->is_answered && !is_given_up(service))
        if (!monitor_wait(&service->monitor, deadline_ms))
            break;
    service->running_count++;
    current->party->running_count++;
    return question->is_answered;
}

/* `w` has written all of the question but its end. */
static void ask(struct authority_service *service, struct json_writer *w, struct buf *json,
                int64_t ms, struct authority_decision *decision)
{
    struct question question = {.is_answered = false};

    json_end_object(w);
    if (json_writer_finish(w) < 0) {
        decision->verdict = AUTHORITY_FAIL;
        return;
    }
    monitor_enter(&service->monitor);
    question.number = ++service->last_question;
    list_append(&service->questions, &question.node);
    monitor_leave(&service->monitor);
    service_send(service, question.number, WIRE_QUESTION, buf_view(json), STR_EMPTY);
    monitor_enter(&service->monitor);
    if (wait_for_answer(service, &question, ms)) {
        *decision = question.decision;
    } else {
        decision->verdict = AUTHORITY_FAIL;
        snprintf(decision->text, sizeof(decision->text), "the host did not answer");
    }
    list_remove(&question.node);
    monitor_leave(&service->monitor);
}

bool questions_has(const struct authority_service *service, uint32_t number)
{
    list_each (node, &service->questions) {
        const struct question *question = list_entry(node, struct question, node);

        if (question->number == number)
            return !question->is_answered;
    }
    return false;
}

void questions_take_answer(struct authority_service *service, uint32_t number,
                           const struct json_value *json)
{
    list_each (node, &service->questions) {
        struct question *question = list_entry(node, struct question, node);

        if (question->number != number || question->is_answered)
            continue;
        request_parse_decision(json, &question->decision);
        question->is_answered = true;
    }
    monitor_tell(&service->monitor);
}

/* ---- for the authority ---- */

static void decide_as(struct authority_service *service, const char *kind, const char *hook,
                      const struct authority_context *context, struct authority_decision *decision)
{
    cleanup_buf struct buf json = BUF_INIT(QUESTION_BYTES);
    struct json_writer w;

    begin_question(&w, &json, kind, hook, context);
    ask(service, &w, &json, DECISION_MS, decision);
}

static void decide(void *data, const struct authority_context *context,
                   struct authority_decision *decision)
{
    struct authority_service *service = data;

    if (context->operation == AUTHORITY_OP_REQUEST_ROOT && current->is_unserved) {
        decision->verdict = AUTHORITY_DENY;
        snprintf(decision->text, sizeof(decision->text), "the root is in no directory of ours");
    } else if (service->has_policy) {
        decide_as(service, "policy", NULL, context, decision);
    }
}

static void before(void *data, const struct authority_context *context,
                   struct authority_decision *decision)
{
    const struct service_hook *hook = data;

    decide_as(hook->service, "before", hook->id, context, decision);
}

static void after(void *data, const struct authority_context *context, int result)
{
    const struct service_hook *hook = data;
    cleanup_buf struct buf json = BUF_INIT(QUESTION_BYTES);
    struct json_writer w;

    begin_question(&w, &json, "after", hook->id, context);
    json_put_str(&w, STR("outcome"), result < 0 ? STR("failure") : STR("success"));
    if (result < 0)
        json_put_str(&w, STR("error"), str_from(err_name(result)));
    json_end_object(&w);
    if (json_writer_finish(&w) == 0)
        service_send(hook->service, 0, WIRE_QUESTION, buf_view(&json), STR_EMPTY);
}

static bool ask_user(void *data, const struct authority_context *context, const char *prompt)
{
    struct authority_service *service = data;
    struct authority_decision decision = {.verdict = AUTHORITY_DENY};
    cleanup_buf struct buf json = BUF_INIT(QUESTION_BYTES);
    struct json_writer w;

    begin_question(&w, &json, "ask", NULL, context);
    json_put_str_lossy(&w, STR("prompt"), str_from(prompt));
    ask(service, &w, &json, USER_MS, &decision);
    return decision.verdict == AUTHORITY_ALLOW;
}

static int tell(void *data, const struct authority_event *event)
{
    cleanup_buf struct buf json = BUF_INIT(EVENT_BYTES);

    if (audit_format(event, &json) == 0)
        service_send(data, 0, WIRE_EVENT, buf_view(&json), STR_EMPTY);
    return 0;
}

/* ---- what the host answers ---- */

static int add_hook(struct authority_service *service, const struct json_value *id, struct err *err)
{
    struct service_hook *hook = &service->hooks[service->hook_count];
    struct authority_hook row = {.before = before, .after = after, .data = hook};
    int r;

    if (id->type != JSON_STRING || id->size == 0 || id->size > MAX_HOOK_ID ||
        str_has_nul(json_str(id)))
        return err_set(err, ERR_INVALID_ARGUMENT, "\"hooks\": expected ids of up to 64 bytes");
    if (service->hook_count == AUTHORITY_MAX_HOOKS)
        return err_set(err, ERR_TOO_LARGE, "there are more than 16 hooks");
    hook->service = service;
    hook->id = strndup(id->text, id->size);
    if (hook->id == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    service->hook_count++;
    row.id = hook->id;
    r = authority_add_hook(service->config.authority, &row);
    return r < 0 ? err_set(err, r, "two hooks have the id \"%.64s\"", hook->id) : 0;
}

void questions_begin(struct authority_service *service)
{
    authority_set_policy(service->config.authority, "policy", decide, service);
}

int questions_configure(struct authority_service *service, const struct json_value *json,
                        struct err *err)
{
    const struct json_value *hooks = json_get(json, STR("hooks"));
    struct authority *authority = service->config.authority;
    int r = 0;

    if (service->is_configured)
        return err_set(err, ERR_INVALID_ARGUMENT, "\"configure\" came twice");
    if (hooks != NULL && hooks->type != JSON_ARRAY)
        return err_set(err, ERR_INVALID_ARGUMENT, "\"hooks\": expected an array");
    service->has_policy = request_is_on(json, STR("policy"));
    if (request_is_on(json, STR("ask")))
        authority_set_ask(authority, ask_user, service);
    if (hooks != NULL) {
        json_each_item (hook, hooks) {
            if (r == 0)
                r = add_hook(service, hook, err);
        }
    }
    if (r == 0 && request_is_on(json, STR("events")))
        r = authority_add_listener(authority, tell, service);
    /* After a failure too: what was added stays, so there is no second try. */
    service->is_configured = r == 0;
    return r < 0 && err->code == 0 ? err_set_plain(err, r) : r;
}

void questions_done(struct authority_service *service)
{
    struct authority *authority = service->config.authority;

    authority_set_policy(authority, "default", NULL, NULL);
    authority_set_ask(authority, NULL, NULL);
    authority_remove_listener(authority, tell, service);
    for (size_t i = 0; i < service->hook_count; i++) {
        authority_remove_hook(authority, service->hooks[i].id);
        free(service->hooks[i].id);
    }
}
