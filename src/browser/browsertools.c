/* SPDX-License-Identifier: Apache-2.0 */
#include "browser/browsertools.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/jsonwrite.h"
#include "base/list.h"
#include "base/redact.h"
#include "base/redactkeys.h"
#include "base/schema/schema.h"
#include "base/secret.h"
#include "browser/jsonf.h"
#include "browser/secrets.h"
#include "browser/upload.h"
#include "browser/url.h"
#include "permission/rules/form.h"
#include "protocol/toolids.h"

enum {
    ARENA_BYTES = 8 << 20,
    SCHEMA_BYTES = 512 << 10,
    WORDS_BYTES = 768,
    MESSAGE_BYTES = 64 << 20,
    RESULT_BYTES = 256 << 20,
    HOST_BYTES = FORM_HOST_MAX_BYTES + 3,
    FIRST = TOOL_BROWSER_CONNECT,
    TOOLS = TOOL_BROWSER_CREATE_CREDENTIAL - TOOL_BROWSER_CONNECT + 1,
    MAX_HOSTS = 2,
    RECORDED_BYTES = 300,
    DAEMON_PORT = 7655, /* where `gatehouse connect` listens unless told otherwise */
    CALL_MS = 120000,
    CREDENTIAL_BYTES = 8 << 20,
};

#define MODE_LOCAL    "local"
#define LOCAL_BROWSER "local-browser" /* the resource, as a host */

struct browser_tools {
    struct browser_tools_config config;
    struct arena arena;
    const struct schema *schemas[TOOLS];
    struct browser_secrets *secrets;
    struct list posts; /* calls that wait for the server */
};

struct browser_call {
    struct browser_tools *tools;
    const struct catalog_tool *tool;
    const struct json_value *arguments;
    uint64_t number;
    char page[BROWSER_PAGE_ID_BYTES]; /* or empty */
    char page_host[HOST_BYTES];       /* where it is; empty: nowhere */
    char to_host[HOST_BYTES];         /* where the call leads; empty: nowhere */
    bool is_anywhere;                 /* it can reach any host */
    bool is_users_page;               /* a tab of the user, in his own browser */
    bool is_local;                    /* it connects to the user's own browser */
    struct provider_events events;
    struct authority_note intent;
    uint64_t id;
    struct list post; /* in the list of the tools, while the server is asked */
    void *credential; /* then: its handle */
};

/* ---- what a call is about ---- */

static bool has_page(const struct catalog_tool *tool)
{
    switch (tool->id) {
    case TOOL_BROWSER_CONNECT:
    case TOOL_BROWSER_DISCONNECT:
    case TOOL_BROWSER_TAB_OPEN:
    case TOOL_BROWSER_TAB_LIST:
    case TOOL_BROWSER_DOWNLOADS:
    case TOOL_BROWSER_CREATE_CREDENTIAL:
        return false;
    default:
        return true;
    }
}

/* Whether what it does with the page needs the host's permission: leaving one does not. */
static bool uses_page(const struct catalog_tool *tool)
{
    return has_page(tool) && tool->id != TOOL_BROWSER_NAVIGATE &&
           tool->id != TOOL_BROWSER_TAB_FOCUS && tool->id != TOOL_BROWSER_TAB_CLOSE &&
           tool->id != TOOL_BROWSER_RESIZE;
}

/*
 * A tab of the user may have what he has not saved, and to control it is more than to look: only to
 * bring it to the front needs no permission for the host. It is never closed.
 */
static bool needs_page_host(const struct browser_call *call)
{
    return call->page_host[0] != '\0' &&
           (uses_page(call->tool) ||
            (call->is_users_page &&
             (call->tool->id == TOOL_BROWSER_NAVIGATE || call->tool->id == TOOL_BROWSER_RESIZE)));
}

/* The user has chosen his own browser, not one that is started. */
static bool is_local_default(const struct browser_tools_config *config)
{
    return config->default_browser != NULL && strcmp(config->default_browser, MODE_LOCAL) == 0;
}

/* The host in the form of rules. */
static bool put_host(struct str host, char out_host[HOST_BYTES])
{
    struct form_host form;

    if (!form_host(host, &form))
        return false;
    snprintf(out_host, HOST_BYTES, "%.*s", (int)form.len, form.text);
    return true;
}

static bool is_own(const struct browser_tools *tools, struct str host, uint16_t port)
{
    const struct browser_tools_config *config = &tools->config;
    struct str server = config->server_host != NULL ? str_from(config->server_host) : STR_EMPTY;
    char here[HOST_BYTES];
    char there[HOST_BYTES];

    if (browser_host_is_loopback(host))
        return port == DAEMON_PORT || (port != 0 && port == config->own_port) ||
               (port == config->server_port && browser_host_is_loopback(server));
    return port == config->server_port && put_host(host, here) && put_host(server, there) &&
           strcmp(here, there) == 0;
}

static int take_url(struct browser_call *call, struct str text, struct err *err)
{
    struct browser_url url;

    if (!browser_url_parse(text, &url))
        return err_set_field(err, ERR_INVALID_ARGUMENT, "url",
                             "url: '%.100s' is not a plain address", text.ptr);
    if (url.scheme == BROWSER_OTHER)
        return err_set_field(
            err, ERR_DENIED_BY_POLICY, "url",
            "url: only http and https addresses are opened; for files use the file "
            "tools");
    if (url.scheme == BROWSER_BLANK) {
        call->is_anywhere = text.len > 5 && str_eq_nocase(str_slice(text, 0, 5), STR("data:"));
        return 0;
    }
    if (is_own(call->tools, url.host, url.port))
        return err_set_field(err, ERR_DENIED_BY_POLICY, "url",
                             "url: this is Gatehouse itself, which no page can reach");
    if (!put_host(url.host, call->to_host))
        return err_set_field(err, ERR_INVALID_ARGUMENT, "url",
                             "url: '%.*s' is not the name of a host", STR_ARG(url.host));
    return 0;
}

static int take_page(struct browser_call *call, struct err *err)
{
    struct browser_client_page page;
    struct browser_url url;
    struct str id = STR_EMPTY;

    (void)json_get_str(call->arguments, STR("pageId"), &id);
    if (!browser_client_page(call->tools->config.client, id, &page)) {
        /* gatehouse-browser knows better what is missing. */
        snprintf(call->page, sizeof(call->page), "%.*s", STR_ARG(id));
        return 0;
    }
    snprintf(call->page, sizeof(call->page), "%s", page.id);
    call->is_users_page = page.is_users;
    if (!browser_url_parse(str_from(page.url), &url) || url.scheme == BROWSER_OTHER ||
        (url.host.len > 0 && !put_host(url.host, call->page_host)))
        return err_set(err, ERR_DENIED_BY_POLICY,
                       "the page is not of the web: navigate it elsewhere");
    /* A page of nobody has no host that limits what its scripts do. */
    if (url.host.len == 0 &&
        (call->tool->id == TOOL_BROWSER_EVALUATE || call->tool->id == TOOL_BROWSER_WAIT))
        call->is_anywhere = call->tool->id == TOOL_BROWSER_EVALUATE ||
                            json_get(call->arguments, STR("predicate")) != NULL;
    return 0;
}

static int take_arguments(struct browser_call *call, struct err *err)
{
    struct str mode;
    struct str url;
    int r = 0;

    if (call->tool->id == TOOL_BROWSER_CONNECT)
        call->is_local = json_get_str(call->arguments, STR("mode"), &mode)
                             ? str_eq(mode, STR(MODE_LOCAL))
                             : is_local_default(&call->tools->config);
    if (has_page(call->tool))
        r = take_page(call, err);
    if (r == 0 && call->tool->id != TOOL_BROWSER_WAIT &&
        json_get_str(call->arguments, STR("url"), &url) && url.len > 0)
        r = take_url(call, url, err);
    return r;
}

static void free_call(void *data)
{
    free(data);
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
    int r = schema_check(tools->schemas[tool->id - FIRST], arguments, err);

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
    r = take_arguments(call, err);
    if (r < 0) {
        free_call(call);
        return r;
    }
    *out_call = call;
    return 0;
}

/* ---- permission ---- */

static int subject(void *data, const void *session, struct arena *arena,
                   const struct cancel *cancel, struct provider_subject *out_subject,
                   struct err *err)
{
    const struct browser_call *call = data;
    const char *hosts[MAX_HOSTS + 1];
    struct permission_resource *resources;
    size_t count = 0;
    int r;

    (void)session;
    (void)cancel;
    if (call->to_host[0] != '\0')
        hosts[count++] = call->to_host;
    if (needs_page_host(call) && strcmp(call->page_host, call->to_host) != 0)
        hosts[count++] = call->page_host;
    if (call->is_anywhere)
        hosts[count++] = "*";
    if (call->tool->id == TOOL_BROWSER_CREATE_CREDENTIAL)
        hosts[count++] = "credentials";
    if (call->is_local)
        hosts[count++] = LOCAL_BROWSER;
    *out_subject = (struct provider_subject){.count = 0};
    r = provider_mark(call->arguments, str_from(call->page), &out_subject->mark);
    if (r < 0)
        return err_set_plain(err, r);
    if (count == 0)
        return 0;
    resources = arena_alloc_array(arena, count, sizeof(*resources));
    if (resources == NULL)
        return err_set_plain(err, arena->error);
    for (size_t i = 0; i < count; i++) {
        resources[i] =
            (struct permission_resource){.group = CATALOG_BROWSER, .operation = PERMISSION_USES};
        if (!arena_copy_str(arena, str_from(hosts[i]), &resources[i].given))
            return err_set_plain(err, arena->error);
    }
    out_subject->resources = resources;
    out_subject->count = count;
    return 0;
}

/* What it does in the browser, and where. */
static const char *verb_of(const struct browser_call *call)
{
    switch (call->tool->id) {
    case TOOL_BROWSER_CONNECT:
        return call->is_local
                   ? "Uses your own browser, which is in no sandbox and has your logins; "
                     "sees the addresses and titles of its tabs"
                   : "Starts a browser";
    case TOOL_BROWSER_DISCONNECT:
        return "Ends the browser";
    case TOOL_BROWSER_TAB_OPEN:
        return "Opens a tab";
    case TOOL_BROWSER_TAB_CLOSE:
        return "Closes a tab";
    case TOOL_BROWSER_NAVIGATE:
        return "Opens a page";
    case TOOL_BROWSER_BACK:
    case TOOL_BROWSER_FORWARD:
    case TOOL_BROWSER_RELOAD:
        return "Loads a page again";
    case TOOL_BROWSER_CLICK:
    case TOOL_BROWSER_MOUSE_CLICK_XY:
        return "Clicks";
    case TOOL_BROWSER_TYPE:
    case TOOL_BROWSER_PRESS:
        return "Types";
    case TOOL_BROWSER_SELECT:
    case TOOL_BROWSER_FILL_FORM:
        return "Fills in a form";
    case TOOL_BROWSER_DRAG:
        return "Drags";
    case TOOL_BROWSER_UPLOAD:
        return "Uploads files";
    case TOOL_BROWSER_DOWNLOADS:
        return "Lists downloads";
    case TOOL_BROWSER_DIALOG:
        return "Answers a dialog";
    case TOOL_BROWSER_EVALUATE:
        return "Runs a script";
    case TOOL_BROWSER_CAPTURE_SECRET:
        return "Keeps a secret of a page";
    case TOOL_BROWSER_CREATE_CREDENTIAL:
        return "Creates a credential at the server";
    case TOOL_BROWSER_COOKIES:
        return "Uses cookies";
    case TOOL_BROWSER_STORAGE:
        return "Uses what the site stores";
    default:
        return "Looks at a page";
    }
}

static void say_action(const struct browser_call *call, char out_words[WORDS_BYTES])
{
    const char *where = call->to_host[0] != '\0' ? call->to_host : call->page_host;

    snprintf(out_words, WORDS_BYTES, "%s%s%s", verb_of(call), where[0] != '\0' ? " on " : "",
             where);
}

static int preview(void *data, struct arena *arena, enum decision_disclosure disclosure,
                   const struct cancel *cancel, struct question *question, struct err *err)
{
    const struct browser_call *call = data;
    cleanup_buf struct buf detail = BUF_INIT(MESSAGE_BYTES);
    struct json_writer json;
    char words[WORDS_BYTES];

    (void)disclosure;
    (void)cancel;
    say_action(call, words);
    json_writer_init(&json, &detail);
    json_writer_set_pretty(&json);
    json_write_value(&json, call->arguments);
    if (json_writer_finish(&json) < 0)
        return err_set_plain(err, ERR_TOO_LARGE);
    if (!arena_copy_str(arena, str_from(words), &question->action) ||
        !arena_copy_str(arena, buf_view(&detail), &question->detail))
        return err_set_plain(err, arena->error);
    return 0;
}

/* ---- the audit log ---- */

static int note(const struct browser_call *call, const char *decision, struct authority_note *note)
{
    cleanup_buf struct buf words = BUF_INIT(WORDS_BYTES + 2 * RECORDED_BYTES);
    cleanup_buf struct buf arguments = BUF_INIT(MESSAGE_BYTES);
    const struct authority_call about = {
        .tool = call->tool->name.ptr, /* of the catalogue, which ends its texts */
        .decision = decision,
        .id = call->number,
    };
    char text[WORDS_BYTES];
    size_t used;
    int r;

    if (call->tools->config.recorded == NULL)
        return 0;
    say_action(call, text);
    r = buf_append_str(&words, str_from(text));
    if (r == 0)
        r = jsonf(&arguments, ": %v", call->arguments);
    if (r == 0)
        r = redact_cut(buf_view(&arguments), RECORDED_BYTES, &words, &used);
    if (r < 0 && r != ERR_TOO_LARGE)
        return r;
    note->operation = AUTHORITY_OP_EXECUTE;
    note->name = buf_view(&words);
    note->destination = STR(".");
    return authority_note_call(call->tools->config.recorded, &about, note);
}

static void refused(void *data, const void *session, const struct permission_resource *resource,
                    const char *source, int code)
{
    struct authority_note refusal = {
        .outcome = AUTHORITY_DENIED, .error = code, .policy_source = source};

    (void)session;
    (void)resource;
    (void)note(data, NULL, &refusal);
}

/* ---- running ---- */

/* Pages show keys, and whoever reads the result may be led to pass them on. */
static int write_redacted(const struct browser_call *call, const struct json_value *result,
                          struct buf *out)
{
    cleanup_buf struct buf whole = BUF_INIT(RESULT_BYTES);
    int r;

    if (call->tool->id == TOOL_BROWSER_PDF)
        return jsonf(out, "%v", result); /* bytes, not words */
    r = jsonf(&whole, "%v", result);
    return r == 0 ? redact_keys(buf_view(&whole), out) : r;
}

static int write_image(const struct browser_call *call, struct str image,
                       const struct json_value *result, struct buf *out)
{
    cleanup_buf struct buf text = BUF_INIT(RESULT_BYTES);
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
    cleanup_buf struct buf object = BUF_INIT(RESULT_BYTES);
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

static void end_call(struct browser_call *call, int error, struct buf *result)
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
    (void)note(call, call->events.decision, &outcome);
    call->events.on_done(call->events.data, error, buf_view(result));
    free_call(call);
}

/* The secret stays here: the result only names it. */
static int keep_secret(struct browser_call *call, struct str secret, struct buf *out)
{
    cleanup_buf struct buf object = BUF_INIT(RESULT_BYTES);
    struct browser_secrets *secrets = call->tools->secrets;
    struct err err = ERR_INIT;
    struct str key = STR_EMPTY;
    struct str field = STR_EMPTY;
    int r;

    (void)json_get_str(call->arguments, STR("credentialsKey"), &key);
    (void)json_get_str(call->arguments, STR("field"), &field);
    if (browser_secrets_put(secrets, key, field, secret, &err) < 0)
        return toolresult_write_error(&err, call->tools->config.form, out);
    r = buf_append_str(&object, STR("{\"ok\":true,\"fieldsCaptured\":"));
    if (r == 0)
        r = browser_secrets_write_names(secrets, key, &object);
    if (r == 0)
        r = buf_append_char(&object, '}');
    return r == 0 ? toolresult_write_object(out, buf_view(&object), call->tools->config.form, false)
                  : r;
}

static void on_done(void *data, const struct json_value *message)
{
    struct browser_call *call = data;
    cleanup_buf struct buf result = BUF_INIT(RESULT_BYTES);
    struct err err = ERR_INIT;
    struct str secret;
    int r = 0;

    if (message != NULL && json_get_str(message, STR("secret"), &secret)) {
        r = keep_secret(call, secret, &result);
    } else if (message != NULL) {
        r = write_result(call, message, &result);
    } else {
        err_set(&err, ERR_CONNECTION_LOST,
                "gatehouse-browser has ended: restart Gatehouse to use the browser again");
        r = toolresult_write_error(&err, call->tools->config.form, &result);
    }
    end_call(call, r, &result);
}

struct refusal {
    struct loop_task task;
    struct browser_call *call;
    struct err err;
};

static void refuse_later(void *data)
{
    struct refusal *refusal = data;
    cleanup_buf struct buf result = BUF_INIT(RESULT_BYTES);
    int r = toolresult_write_error(&refusal->err, refusal->call->tools->config.form, &result);

    end_call(refusal->call, r, &result);
    free(refusal);
}

/* on_done must not come from inside start(). */
static uint64_t refuse(struct browser_call *call, const struct err *err)
{
    struct refusal *refusal = calloc(1, sizeof(*refusal));

    if (refusal == NULL)
        abort(); /* there is no way to say so */
    refusal->call = call;
    refusal->err = *err;
    loop_task_init(&refusal->task, refuse_later, refusal);
    loop_defer(call->tools->config.loop, &refusal->task);
    return 0;
}

/*
 * This machine and private networks are not meant by a mode that allows all sites, nor by a rule
 * for all hosts: they need a rule of their own.
 */
static bool is_named(const struct browser_tools *tools, struct str host)
{
    cleanup_rulebook struct rulebook *book =
        permission_book(keeper_permission(tools->config.keeper));
    const struct rule *rule = book != NULL ? rulebook_find(book, RULE_ALLOW, CATALOG_BROWSER, host,
                                                           STR_EMPTY, clock_wall_ms(&clock_system))
                                           : NULL;

    return rule != NULL && !str_eq(rule->pattern, STR("*"));
}

/* Without a question, and by what does not name it. */
static bool is_allowed_unnamed(const struct browser_tools *tools, struct str host)
{
    const struct permission_resource resource = {
        .group = CATALOG_BROWSER, .operation = PERMISSION_USES, .given = host};
    struct permission_decision decision;

    permission_decide(keeper_permission(tools->config.keeper), &resource, &decision);
    return decision.verdict == PERMISSION_ALLOW &&
           (decision.source == PERMISSION_BY_MODE || decision.source == PERMISSION_BY_ALLOW_RULE) &&
           !is_named(tools, host);
}

/* The decision about the call names one of its hosts, so each is looked at. */
static const char *too_private_host(const struct browser_call *call)
{
    const char *hosts[] = {call->to_host, needs_page_host(call) ? call->page_host : ""};

    for (size_t i = 0; i < array_size(hosts); i++)
        if (hosts[i][0] != '\0' && browser_host_is_private(str_from(hosts[i])) &&
            is_allowed_unnamed(call->tools, str_from(hosts[i])))
            return hosts[i];
    return NULL;
}

/* Nor is the user's own browser, unless he chose it by an option. */
static bool is_too_personal(const struct browser_call *call)
{
    return call->is_local && !is_local_default(&call->tools->config) &&
           is_allowed_unnamed(call->tools, STR(LOCAL_BROWSER));
}

/*
 * For the browser itself, whose parts can reach what no interception sees: workers, WebSockets,
 * names that lead to this machine. A port of ours is closed for all hosts.
 */
static int write_own(const struct browser_tools_config *config, struct buf *out)
{
    struct str server = config->server_host != NULL ? str_from(config->server_host) : STR_EMPTY;
    bool is_here = server.len > 0 && browser_host_is_loopback(server);
    bool is_v6 = str_find(server, STR(":")) != SIZE_MAX && server.ptr[0] != '[';
    int r = buf_printf(out, "[\"*:%d\"", DAEMON_PORT);

    if (r == 0 && config->own_port != 0)
        r = buf_printf(out, ",\"*:%u\"", config->own_port);
    if (r == 0 && is_here)
        r = buf_printf(out, ",\"*:%u\"", config->server_port);
    else if (r == 0 && server.len > 0)
        r = buf_printf(out, is_v6 ? ",\"[%.*s]:%u\"" : ",\"%.*s:%u\"", STR_ARG(server),
                       config->server_port);
    return r == 0 ? buf_append_char(out, ']') : r;
}

static int write_call(const struct browser_call *call, struct buf *out)
{
    const struct browser_tools_config *config = &call->tools->config;
    cleanup_buf struct buf own = BUF_INIT(WORDS_BYTES);
    int r = write_own(config, &own);

    if (r == 0 && has_staging(config))
        r = jsonf(out, "\"staging\":%z,", config->staging_dir);
    if (r == 0 && call->tool->id == TOOL_BROWSER_UPLOAD) {
        r = buf_append_str(out, STR("\"files\":"));
        if (r == 0)
            r = browser_upload_write_files(call->arguments, call->number, config->staging_dir, out);
        if (r == 0)
            r = buf_append_char(out, ',');
    }
    if (r == 0 && is_local_default(config))
        r = buf_append_str(out, STR("\"mode\":\"" MODE_LOCAL "\","));
    if (r < 0)
        return r;
    return jsonf(
        out,
        "\"tool\":%s,\"arguments\":%v,\"page\":%z,\"host\":%z,\"agreed\":%z,"
        "\"browser\":%z,\"ms\":%d,\"own\":%r",
        call->tool->name, call->arguments, call->page, call->page_host,
        call->tool->id == TOOL_BROWSER_COOKIES ? "" : call->to_host,
        config->default_browser != NULL && !is_local_default(config) ? config->default_browser : "",
        (int64_t)CALL_MS, buf_view(&own));
}

static int post_credential(struct browser_call *call, struct err *err);
static void drop_posts(struct browser_tools *tools);

static uint64_t start(void *data, const struct provider_events *events)
{
    struct browser_call *call = data;
    cleanup_buf struct buf members = BUF_INIT(MESSAGE_BYTES);
    struct err err = ERR_INIT;
    const char *host;
    int r;

    call->events = *events;
    call->intent =
        (struct authority_note){.outcome = AUTHORITY_INTENT, .policy_source = events->decision};
    r = note(call, events->decision, &call->intent);
    host = r == 0 ? too_private_host(call) : NULL;
    if (host != NULL)
        r = err_set(&err, ERR_DENIED_BY_POLICY,
                    "%s is this machine or on a private network, which needs a rule of its own: "
                    "gatehouse rules add allow browser host:%s",
                    host, host);
    if (r == 0 && is_too_personal(call))
        r = err_set(&err, ERR_DENIED_BY_POLICY,
                    "the user's own browser needs a rule of its own: gatehouse rules add allow "
                    "browser host:" LOCAL_BROWSER);
    if (r == 0 && call->tool->id == TOOL_BROWSER_CREATE_CREDENTIAL) {
        r = post_credential(call, &err);
        if (r == 0)
            return 0;
    }
    if (r == 0)
        r = write_call(call, &members);
    if (r == 0)
        r = browser_client_call(call->tools->config.client, buf_view(&members), on_done, call,
                                &call->id);
    if (r == 0)
        return call->id;
    if (err.code == 0)
        err_set_plain(&err, r);
    return refuse(call, &err);
}

/* ---- credentials ---- */

static void on_created(void *context, const struct err *err, struct str id)
{
    struct browser_call *call = context;
    cleanup_buf struct buf result = BUF_INIT(RESULT_BYTES);
    cleanup_buf struct buf object = BUF_INIT(RESULT_BYTES);
    struct str key = STR_EMPTY;
    bool clears = true;
    int r;

    list_remove(&call->post);
    if (err != NULL) {
        r = toolresult_write_error(err, call->tools->config.form, &result);
    } else {
        (void)json_get_str(call->arguments, STR("credentialsKey"), &key);
        (void)json_get_bool(call->arguments, STR("clear"), &clears);
        if (clears)
            browser_secrets_drop(call->tools->secrets, key);
        r = jsonf(&object, "{\"ok\":true,\"credentialId\":%s}", id);
        if (r == 0)
            r = toolresult_write_object(&result, buf_view(&object), call->tools->config.form,
                                        false);
    }
    end_call(call, r, &result);
}

static int write_credential(const struct browser_call *call, struct buf *out, struct err *err)
{
    struct str key = STR_EMPTY;
    struct str project = STR_EMPTY;
    int r;

    (void)json_get_str(call->arguments, STR("credentialsKey"), &key);
    r = jsonf(out, "{\"name\":%v,\"type\":%v,\"data\":", json_get(call->arguments, STR("name")),
              json_get(call->arguments, STR("type")));
    if (r < 0)
        return err_set_plain(err, r);
    r = browser_secrets_write_data(call->tools->secrets, key,
                                   json_get(call->arguments, STR("data")),
                                   json_get(call->arguments, STR("resolveData")), out, err);
    if (r == 0 && json_get_str(call->arguments, STR("projectId"), &project))
        r = jsonf(out, ",\"projectId\":%s", project);
    return r == 0 ? buf_append_char(out, '}') : r;
}

/* Nobody can make the server forget it, so it cannot be cancelled. */
static int post_credential(struct browser_call *call, struct err *err)
{
    const struct browser_credentials *credentials = call->tools->config.credentials;
    struct buf body = BUF_INIT(CREDENTIAL_BYTES);
    int r = write_credential(call, &body, err);

    if (r == 0) {
        list_append(&call->tools->posts, &call->post);
        r = credentials->create(credentials->data, &body, on_created, call, &call->credential, err);
        if (r < 0)
            list_remove(&call->post);
    }
    if (body.len > 0)
        secret_wipe(body.data, body.len);
    buf_done(&body);
    return r;
}

static void drop_posts(struct browser_tools *tools)
{
    struct err err = ERR_INIT;

    err_set_plain(&err, ERR_CANCELLED);
    while (!list_is_empty(&tools->posts)) {
        struct browser_call *call = list_entry(tools->posts.next, struct browser_call, post);

        tools->config.credentials->cancel(call->credential);
        on_created(call, &err, STR_EMPTY);
    }
}

static void end_session(void *self, const void *session)
{
    struct browser_tools *tools = self;

    (void)session;
    browser_secrets_clear(tools->secrets);
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
    .subject = subject,
    .preview = preview,
    .refused = refused,
    .start = start,
    .cancel = cancel,
    .end_session = end_session,
};

/* ---- where pages go by themselves ---- */

/* Nobody can be asked about a redirect in time: what would have to be asked is refused. */
static bool may_go(void *data, struct str host, uint16_t port, bool is_agreed)
{
    const struct browser_tools *tools = data;
    struct permission_decision decision;
    struct permission_resource resource = {.group = CATALOG_BROWSER, .operation = PERMISSION_USES};
    char name[HOST_BYTES];

    if (is_own(tools, host, port) || !put_host(host, name))
        return false;
    if (is_agreed)
        return true;
    resource.given = str_from(name);
    permission_decide(keeper_permission(tools->config.keeper), &resource, &decision);
    return decision.verdict == PERMISSION_ALLOW &&
           (!browser_host_is_private(resource.given) || !is_allowed_unnamed(tools, resource.given));
}

/* ---- making ---- */

static int compile_schemas(struct browser_tools *tools, struct err *err)
{
    int r = 0;

    for (int i = 0; i < TOOLS && r == 0; i++) {
        cleanup_arena struct arena arena = ARENA_INIT(SCHEMA_BYTES);
        const struct json_value *document;

        r = json_parse(&arena, catalog_tools[FIRST + i].input_schema, JSON_LIMITS_DEFAULT,
                       &document, err);
        if (r == 0)
            r = schema_compile(&tools->arena, document, &tools->schemas[i], err);
    }
    return r;
}

int browser_tools_new(const struct browser_tools_config *config, struct browser_tools **out_tools,
                      struct err *err)
{
    struct browser_tools *tools = calloc(1, sizeof(*tools));
    const struct browser_client_events events = {.may_go = may_go, .data = tools};
    int r;

    if (tools == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    tools->config = *config;
    tools->arena = (struct arena)ARENA_INIT(ARENA_BYTES);
    list_init(&tools->posts);
    r = compile_schemas(tools, err);
    if (r == 0)
        r = browser_secrets_new(&tools->secrets);
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
    drop_posts(tools);
    browser_secrets_free(tools->secrets);
    arena_done(&tools->arena);
    free(tools);
}
