/* SPDX-License-Identifier: Apache-2.0 */
#include "browser/browsertools.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/redactkeys.h"
#include "browser/browsertools_internal.h"
#include "browser/firsthalf.h"
#include "browser/jsonf.h"

enum {
    ARENA_BYTES = 8 << 20,
    SCHEMA_BYTES = 512 << 10,
    OWN_BYTES = 768,
    CALL_MS = 120000,
};

static void free_call(void *data)
{
    struct browser_call *call = data;

    if (call->opening.next != NULL)
        list_remove(&call->opening);
    free(call->to_file);
    free(call->to_url);
    free(call);
}

static bool has_staging(const struct browser_tools_config *config)
{
    return config->staging_dir != NULL && config->staging_dir[0] != '\0';
}

bool browser_tools_offer(const struct catalog_tool *tool, bool has_staging, bool has_server)
{
    switch (tool->id) {
    case TOOL_BROWSER_UPLOAD:
    case TOOL_BROWSER_DOWNLOADS:
        return has_staging;
    case TOOL_BROWSER_CAPTURE_SECRET:
    case TOOL_BROWSER_CREATE_CREDENTIAL:
        return has_server;
    default:
        return true;
    }
}

static bool has(const void *self, const struct catalog_tool *tool)
{
    const struct browser_tools *tools = self;

    return tools != NULL && browser_tools_offer(tool, has_staging(&tools->config),
                                                tools->config.credentials != NULL);
}

static int prepare(void *self, const struct catalog_tool *tool, const struct json_value *arguments,
                   uint64_t number, const struct cancel *cancel, void **out_call, struct err *err)
{
    struct browser_tools *tools = self;
    struct browser_call *call;
    int r = schema_check_arguments(tools->schemas[tool->id - BROWSER_FIRST_TOOL], arguments, err);

    (void)cancel;
    if (r < 0)
        return r;
    call = calloc(1, sizeof(*call));
    if (call == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    call->tools = tools;
    call->tool = tool;
    call->arguments = arguments;
    call->number = number;
    r = browser_call_aim(call, err);
    if (r < 0) {
        free_call(call);
        return r;
    }
    *out_call = call;
    return 0;
}

/* ---- running ---- */

/* Pages show keys, and whoever reads the result may be led to pass them on. */
static int write_redacted(const struct browser_call *call, const struct json_value *result,
                          struct buf *out)
{
    cleanup_buf struct buf whole = BUF_INIT(BROWSER_RESULT_BYTES);
    struct browser_redacted *redacted = call->tools->redacted;
    char host[BROWSER_HOST_BYTES];
    int r;

    if (call->tool->id == TOOL_BROWSER_PDF)
        return jsonf(out, "%v", result); /* bytes, not words */
    r = jsonf(&whole, "%v", result);
    if (r < 0)
        return r;
    if (redacted == NULL)
        return redact_keys(buf_view(&whole), out);
    browser_call_host_now(call, host);
    return browser_redacted_write(redacted, str_from(host), buf_view(&whole), out);
}

static int write_image(const struct browser_call *call, struct str image,
                       const struct json_value *result, struct buf *out)
{
    cleanup_buf struct buf text = BUF_INIT(BROWSER_RESULT_BYTES);
    int r = write_redacted(call, result, &text);

    return r == 0 ? jsonf(out,
                          "{\"content\":[{\"type\":\"image\",\"data\":%s,\"mimeType\":"
                          "\"image/png\"},{\"type\":\"text\",\"text\":%s}],\"isError\":false}",
                          image, buf_view(&text))
                  : r;
}

static int write_result(const struct browser_call *call, const struct json_value *message,
                        struct buf *out)
{
    cleanup_buf struct buf object = BUF_INIT(BROWSER_RESULT_BYTES);
    const struct json_value *result = json_get(message, STR("result"));
    struct str image = STR_EMPTY;
    bool is_error = false;
    int r;

    (void)json_get_bool(message, STR("isError"), &is_error);
    (void)json_get_str(message, STR("image"), &image);
    if (image.len > 0)
        return write_image(call, image, result, out);
    r = write_redacted(call, result, &object);
    return r == 0
               ? toolresult_write_object(out, buf_view(&object), call->tools->config.form, is_error)
               : r;
}

void browser_call_end(struct browser_call *call, int error, struct buf *result)
{
    struct authority_note outcome = {.outcome = AUTHORITY_SUCCESS,
                                     .policy_source = call->events.decision,
                                     .request_id = call->intent.request_id};
    struct err why = ERR_INIT;

    if (error < 0 || toolresult_is_error(buf_view(result), &why)) {
        outcome.outcome = AUTHORITY_FAILED;
        outcome.error = error < 0 ? error : ERR_TOOL_FAILED;
        outcome.reason = err_text(outcome.error);
    }
    (void)browser_call_note(call, call->events.decision, &outcome);
    call->events.on_done(call->events.data, error, buf_view(result));
    free_call(call);
}

static void on_done(void *data, const struct json_value *message)
{
    struct browser_call *call = data;
    cleanup_buf struct buf result = BUF_INIT(BROWSER_RESULT_BYTES);
    struct err err = ERR_INIT;
    struct str secret;
    int r = 0;

    if (message != NULL && json_get_str(message, STR("secret"), &secret)) {
        r = browser_call_keep_secret(call, secret, &result);
    } else if (message != NULL) {
        r = write_result(call, message, &result);
    } else {
        err_set(&err, ERR_CONNECTION_LOST,
                "The browser was lost, with its pages: gatehouse-browser has ended\n"
                "Call browser_connect to start it again");
        r = toolresult_write_error(&err, call->tools->config.form, &result);
    }
    browser_call_end(call, r, &result);
}

struct ending {
    struct loop_task task;
    struct browser_call *call;
    struct buf result;
    int r;
};

static void end_now(void *data)
{
    struct ending *ending = data;

    browser_call_end(ending->call, ending->r, &ending->result);
    buf_done(&ending->result);
    free(ending);
}

/* on_done must not come from inside start(). */
static struct ending *end_later(struct browser_call *call)
{
    struct ending *ending = calloc(1, sizeof(*ending));

    if (ending == NULL)
        abort(); /* there is no way to say so */
    ending->call = call;
    buf_init(&ending->result, BROWSER_RESULT_BYTES);
    loop_task_init(&ending->task, end_now, ending);
    loop_defer(call->tools->config.loop, &ending->task);
    return ending;
}

static uint64_t refuse(struct browser_call *call, const struct err *err)
{
    struct ending *ending = end_later(call);

    ending->r = toolresult_write_error(err, call->tools->config.form, &ending->result);
    return 0;
}

static bool names_redacted(const struct browser_call *call)
{
    const struct json_value *element = json_get(call->arguments, STR("element"));

    return call->tool->id == TOOL_BROWSER_CAPTURE_SECRET && element != NULL &&
           json_get(element, STR("redactedKey")) != NULL;
}

static int write_call(const struct browser_call *call, struct buf *out)
{
    const struct browser_tools_config *config = &call->tools->config;
    const struct browser_default *defaults = &call->tools->defaults;
    cleanup_buf struct buf own = BUF_INIT(OWN_BYTES);
    int r = browser_tools_write_own(config, &own);

    if (r == 0 && has_staging(config))
        r = jsonf(out, "\"staging\":%z,", config->staging_dir);
    if (r == 0 && call->to_url != NULL)
        r = jsonf(out, "\"file\":%z,", call->to_url);
    if (r == 0 && call->tool->id == TOOL_BROWSER_UPLOAD) {
        r = buf_append_str(out, STR("\"files\":"));
        if (r == 0)
            r = browser_upload_write_files(call->arguments, call->number, config->staging_dir, out);
        if (r == 0)
            r = buf_append_char(out, ',');
    }
    if (r < 0)
        return r;
    return jsonf(out,
                 "\"tool\":%s,\"arguments\":%v,\"page\":%z,\"host\":%z,\"agreed\":%z,"
                 "\"browser\":%s,\"mode\":%s,\"profile\":%s,\"ms\":%d,\"own\":%r",
                 call->tool->name, call->arguments, call->page, call->page_host,
                 call->tool->id == TOOL_BROWSER_COOKIES ? "" : call->to_host, defaults->browser,
                 defaults->mode, defaults->profile, (int64_t)CALL_MS, buf_view(&own));
}

static uint64_t start(void *data, const struct provider_events *events)
{
    struct browser_call *call = data;
    cleanup_buf struct buf members = BUF_INIT(BROWSER_MESSAGE_BYTES);
    struct err err = ERR_INIT;
    int r;

    call->events = *events;
    call->tools->last_number = call->number;
    if (call->to_file != NULL)
        list_append(&call->tools->opening, &call->opening);
    call->intent =
        (struct authority_note){.outcome = AUTHORITY_INTENT, .policy_source = events->decision};
    r = browser_call_note(call, events->decision, &call->intent);
    if (r == 0 && call->tool->id == TOOL_BROWSER_CREATE_CREDENTIAL) {
        r = browser_call_post(call, &err);
        if (r == 0)
            return 0;
    }
    if (r == 0 && names_redacted(call)) {
        struct ending *ending = end_later(call);

        ending->r = browser_call_keep_redacted(call, &ending->result);
        return 0;
    }
    if (r == 0)
        r = write_call(call, &members);
    if (r == 0)
        r = browser_client_call(call->tools->config.client, buf_view(&members),
                                call->tool->id == TOOL_BROWSER_CONNECT, on_done, call, &call->id,
                                &err);
    if (r == 0)
        return call->id;
    if (err.code == 0)
        err_set_plain(&err, r);
    return refuse(call, &err);
}

static void end_session(void *self, const void *session)
{
    struct browser_tools *tools = self;

    (void)session;
    browser_secrets_clear(tools->secrets);
    if (tools->redacted != NULL)
        browser_redacted_clear(tools->redacted);
}

static void cancel(void *self, uint64_t id)
{
    struct browser_tools *tools = self;

    if (id != 0)
        browser_client_cancel(tools->config.client, id);
}

const struct provider browser_provider = {
    .name = "browser",
    .has = has,
    .prepare = prepare,
    .free = free_call,
    .subject = browser_call_subject,
    .preview = browser_call_preview,
    .refused = browser_call_refused,
    .start = start,
    .cancel = cancel,
    .end_session = end_session,
};

/* ---- making ---- */

static int compile_schemas(struct browser_tools *tools, struct err *err)
{
    int r = 0;

    for (int i = 0; i < BROWSER_TOOLS && r == 0; i++) {
        cleanup_arena struct arena arena = ARENA_INIT(SCHEMA_BYTES);
        const struct json_value *document;

        r = json_parse(&arena, catalog_tools[BROWSER_FIRST_TOOL + i].input_schema,
                       JSON_LIMITS_DEFAULT, &document, err);
        if (r == 0)
            r = schema_compile(&tools->arena, document, &tools->schemas[i], err);
    }
    return r;
}

/* Words like "brave,persistent:work"; what is no mode is a browser, which may not be installed. */
static struct browser_default read_default(const char *text)
{
    struct str rest = text != NULL ? str_from(text) : STR_EMPTY;
    struct browser_default defaults = {.mode = STR_EMPTY, .profile = STR("default")};

    while (rest.len > 0) {
        struct str word = STR_EMPTY;
        struct str mode = STR_EMPTY;

        (void)str_cut(&rest, ',', &word);
        word = str_trim(word);
        (void)str_cut(&word, ':', &mode);
        if (str_eq(mode, STR("persistent")) && word.len > 0)
            defaults.profile = word;
        if (str_eq(mode, STR("ephemeral")) || str_eq(mode, STR("persistent")) ||
            str_eq(mode, STR(BROWSER_LOCAL)))
            defaults.mode = mode;
        else
            defaults.browser = mode;
    }
    if (!str_eq(defaults.mode, STR("persistent")))
        defaults.profile = STR_EMPTY;
    return defaults;
}

int browser_tools_new(const struct browser_tools_config *config, struct browser_tools **out_tools,
                      struct err *err)
{
    struct browser_tools *tools = calloc(1, sizeof(*tools));
    const struct browser_client_events events = {
        .may_go = browser_tools_may_go, .want_file = browser_tools_want_file, .data = tools};
    int r;

    if (tools == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    tools->config = *config;
    tools->defaults = read_default(config->default_browser);
    tools->arena = (struct arena)ARENA_INIT(ARENA_BYTES);
    list_init(&tools->posts);
    list_init(&tools->opening);
    list_init(&tools->wanted_files);
    loop_task_init(&tools->next_page_file, browser_tools_next_file, tools);
    r = compile_schemas(tools, err);
    if (r == 0)
        r = browser_secrets_new(&tools->secrets);
    if (r == 0 && config->credentials != NULL)
        r = browser_redacted_new(&tools->redacted);
    if (r == 0)
        r = browser_client_attach(config->client, config->loop, &events);
    if (r < 0) {
        browser_tools_free(tools);
        return r;
    }
    *out_tools = tools;
    return 0;
}

void browser_tools_free(struct browser_tools *tools)
{
    if (tools == NULL)
        return;
    browser_client_detach(tools->config.client);
    browser_tools_drop_files(tools);
    loop_task_cancel(&tools->next_page_file);
    browser_tools_drop_posts(tools);
    browser_secrets_free(tools->secrets);
    browser_redacted_free(tools->redacted);
    arena_done(&tools->arena);
    free(tools);
}
