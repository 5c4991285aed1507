/* SPDX-License-Identifier: Apache-2.0 */
/* gatehouse-sandboxctl: the commands of `gatehouse sandbox` that ask a sandbox service. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/jsonwrite.h"
#include "base/options/options.h"
#include "base/secret.h"
#include "cli/output.h"
#include "cli/runner.h"
#include "cli/sandbox.h"
#include "loop/loop.h"
#include "net/http/client.h"
#include "session/state.h"

enum {
    MAX_TEXT_BYTES = 64 << 20,
    MAX_LINE_BYTES = 64 << 20, /* of an event */
    MAX_BODY_BYTES = 1 << 20,
    MAX_FILE_BYTES = 4096,
    MAX_PATH_BYTES = 512,
    MAX_WAIT_MS = 24 * 60 * 60 * 1000, /* a build or a command may be silent for long */
};

struct ctl {
    struct loop *loop;
    struct httpclient *client;
    struct httpurl url;
    struct secret key;
    /* Of the present request. */
    int status;
    int error; /* ERR_*: nothing was answered */
    struct err err;
    struct buf body;
    /* Of a command's output. */
    bool is_stream;
    bool has_ended;
    int exit_code;
};

/* ---- where the service is ---- */

/* What the service of this user wrote down: its address, and its key if it made one. */
static int read_service_file(const struct option_values *values, struct arena *arena,
                             const struct json_value **out_object, struct err *err)
{
    const struct json_limits limits = {MAX_FILE_BYTES, 4};
    const char *given = options_text(values, SANDBOX_ASK_STATE_DIR);
    char *text = arena_alloc(arena, MAX_FILE_BYTES);
    cleanup_fd int fd = -1;
    char parent[PATH_MAX];
    char path[PATH_MAX];
    ssize_t got;
    int r = given != NULL ? session_state_absolute_path(given, parent, err)
                          : session_state_default_dir(parent, err);

    if (r < 0)
        return r;
    if (text == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    if (snprintf(path, sizeof(path), "%s/sandboxes/service.json", parent) >= (int)sizeof(path))
        return err_set(err, ERR_INVALID_PATH, "the state directory's path is too long");
    fd = open(path, O_RDONLY | O_CLOEXEC);
    got = fd >= 0 ? read(fd, text, MAX_FILE_BYTES) : -1;
    if (got < 0)
        return err_set(err, ERR_NOT_FOUND,
                       "no sandbox service of yours is known: start one with 'gatehouse sandbox "
                       "serve', or name one with --url and " SANDBOX_KEY_ENV);
    return json_parse(arena, (struct str){text, (size_t)got}, limits, out_object, err);
}

static int find_service(struct ctl *ctl, const struct option_values *values, struct err *err)
{
    cleanup_arena struct arena arena = ARENA_INIT(1 << 20);
    const char *given = options_text(values, SANDBOX_ASK_URL);
    const char *given_key = getenv(SANDBOX_KEY_ENV);
    struct str url = given != NULL ? str_from(given) : STR_EMPTY;
    struct str key = given_key != NULL ? str_from(given_key) : STR_EMPTY;
    const struct json_value *object = NULL;
    int r = 0;

    /* The key in the file is for the address in the file, and for no other. */
    if (given == NULL) {
        r = read_service_file(values, &arena, &object, err);
        if (r == 0 && !json_get_str(object, STR("url"), &url))
            r = err_set(err, ERR_INVALID_JSON, "the service's file names no address");
        if (r == 0 && key.len == 0)
            (void)json_get_str(object, STR("key"), &key);
    }
    if (r == 0)
        r = httpurl_parse(url, &ctl->url, err);
    if (r == 0 && ctl->url.is_tls)
        r = err_set(err, ERR_INVALID_OPTION, "--url: this command has no TLS; use http://");
    if (r == 0 && httpurl_is_exposed(&ctl->url))
        r = err_set(err, ERR_INVALID_OPTION,
                    "--url: the key would be sent unprotected to another machine");
    if (r == 0 && secret_set(&ctl->key, key) < 0)
        r = err_set(err, ERR_INVALID_OPTION, "set the service's key in " SANDBOX_KEY_ENV);
    return r;
}

/* ---- requests ---- */

static void write_all(int fd, struct str text)
{
    while (text.len > 0) {
        ssize_t written = write(fd, text.ptr, text.len);

        if (written < 0 && errno != EINTR)
            return; /* nobody reads */
        if (written > 0)
            text = str_slice(text, (size_t)written, text.len);
    }
}

static void take_event(struct ctl *ctl, struct str line)
{
    cleanup_arena struct arena arena = ARENA_INIT(2 * (size_t)MAX_LINE_BYTES);
    const struct json_limits limits = {MAX_LINE_BYTES, 4};
    const struct json_value *event;
    struct str type = STR_EMPTY;
    struct str data = STR_EMPTY;
    int64_t code = SANDBOX_EXIT_FAILED;
    bool is_timed_out = false;

    if (json_parse(&arena, line, limits, &event, NULL) < 0)
        return;
    (void)json_get_str(event, STR("type"), &type);
    if (json_get_str(event, STR("data"), &data)) {
        write_all(str_eq(type, STR("stderr")) ? STDERR_FILENO : STDOUT_FILENO, data);
    } else if (str_eq(type, STR("exit"))) {
        (void)json_get_int(event, STR("exit_code"), &code);
        (void)json_get_bool(event, STR("timed_out"), &is_timed_out);
        ctl->has_ended = true;
        ctl->exit_code = is_timed_out ? SANDBOX_EXIT_TIMED_OUT
                         : code < 0   ? SANDBOX_EXIT_SIGNAL + SIGKILL
                                      : (int)code;
    } else if (json_get_str(event, STR("error"), &data)) {
        err_set(&ctl->err, ERR_TOOL_FAILED, "%.*s", STR_ARG(data));
        ctl->error = ERR_TOOL_FAILED;
    }
}

static void on_head(void *data, const struct http_response *response)
{
    ((struct ctl *)data)->status = response->status;
}

static void on_bytes(void *data, struct str bytes)
{
    struct ctl *ctl = data;
    size_t end;

    if (buf_append_str(&ctl->body, bytes) < 0)
        ctl->error = err_set(&ctl->err, ERR_TOO_LARGE, "the service's answer is too large");
    if (!ctl->is_stream || ctl->status != 200)
        return;
    while ((end = str_find(buf_view(&ctl->body), STR("\n"))) != SIZE_MAX) {
        take_event(ctl, str_slice(buf_view(&ctl->body), 0, end));
        buf_drop_front(&ctl->body, end + 1);
    }
}

static void on_done(void *data, const struct httpclient_result *result)
{
    struct ctl *ctl = data;

    if (result->code < 0 && ctl->error == 0) {
        ctl->error = result->code;
        ctl->err = result->err;
    }
    loop_stop(ctl->loop);
}

static bool may_reach(void *data, const struct httpurl *url)
{
    return httpurl_same_origin(&((const struct ctl *)data)->url, url);
}

/* The service's own words for a refusal. */
static int explain(const struct ctl *ctl, struct err *err)
{
    cleanup_arena struct arena arena = ARENA_INIT(2 * (size_t)MAX_TEXT_BYTES);
    const struct json_limits limits = {MAX_TEXT_BYTES, 4};
    const struct json_value *answer;
    struct str text;

    if (json_parse(&arena, buf_view(&ctl->body), limits, &answer, NULL) < 0 ||
        !json_get_str(answer, STR("error"), &text))
        return err_set(err, ERR_TOOL_FAILED, "the service answered %d", ctl->status);
    if (text.len >= ERR_MESSAGE_BYTES) { /* the output of a step: all of it is of use */
        write_all(STDERR_FILENO, text);
        write_all(STDERR_FILENO, STR("\n"));
        text = STR("the service refused; see above");
    }
    return err_set(err, ERR_TOOL_FAILED, "%.*s", STR_ARG(text));
}

/* Sends it and waits for the end of the answer. */
static int ask(struct ctl *ctl, enum http_method method, struct str target, struct buf *body,
               struct err *err)
{
    static const struct httpclient_events events = {
        .on_head = on_head, .on_bytes = on_bytes, .on_done = on_done};
    const struct http_field fields[] = {
        {STR("X-Api-Key"), secret_reveal(&ctl->key)}, /* to send it */
        {STR("Content-Type"), STR("application/json")},
    };
    const struct httpclient_request request = {.method = method,
                                               .url = &ctl->url,
                                               .target = target,
                                               .fields = fields,
                                               .field_count = body != NULL ? 2 : 1,
                                               .body = body,
                                               .head_ms = MAX_WAIT_MS,
                                               .idle_ms = MAX_WAIT_MS};
    struct httpclient_call *call;
    int r = httpclient_send(ctl->client, &request, &events, ctl, &call, err);

    if (r < 0)
        return r;
    loop_run(ctl->loop);
    if (ctl->error < 0) {
        *err = ctl->err;
        return ctl->error;
    }
    return ctl->status >= 300 ? explain(ctl, err) : 0;
}

/* ---- commands ---- */

/* Only what an id may have, so that it stays one part of a path. */
static int make_path(const char *format, const char *id, char out_path[MAX_PATH_BYTES],
                     struct err *err)
{
    for (const char *at = id; *at != '\0'; at++)
        if (!((*at >= '0' && *at <= '9') || (*at >= 'a' && *at <= 'f') || *at == '-'))
            return err_set(err, ERR_INVALID_OPTION, "an id has only digits, a to f and dashes");
    if (id[0] == '\0' || strlen(id) > 64)
        return err_set(err, ERR_INVALID_OPTION, "this is no id");
    snprintf(out_path, MAX_PATH_BYTES, "%.100s%s", format, id);
    return 0;
}

/* Prints a member of the answer, a line. */
static int print_member(const struct ctl *ctl, struct str key, struct err *err)
{
    cleanup_arena struct arena arena = ARENA_INIT(2 * (size_t)MAX_TEXT_BYTES);
    const struct json_limits limits = {MAX_TEXT_BYTES, 4};
    const struct json_value *answer;
    struct str text;

    if (json_parse(&arena, buf_view(&ctl->body), limits, &answer, NULL) < 0 ||
        !json_get_str(answer, key, &text))
        return err_set(err, ERR_TOOL_FAILED, "the service's answer makes no sense");
    write_all(STDOUT_FILENO, text);
    write_all(STDOUT_FILENO, STR("\n"));
    return 0;
}

static int create(struct ctl *ctl, const struct option_values *values, struct err *err)
{
    cleanup_buf struct buf body = BUF_INIT(MAX_BODY_BYTES);
    const char *image = options_text(values, SANDBOX_CREATE_IMAGE);
    struct json_writer json;
    int r;

    json_writer_init(&json, &body);
    json_begin_object(&json);
    if (image != NULL)
        json_put_str(&json, STR("image_id"), str_from(image));
    json_put_bool(&json, STR("ephemeral"), options_is_on(values, SANDBOX_CREATE_EPHEMERAL));
    json_end_object(&json);
    r = json_writer_finish(&json);
    if (r < 0)
        return err_set_plain(err, r);
    r = ask(ctl, HTTP_METHOD_POST, STR("/sandboxes"), &body, err);
    return r == 0 ? print_member(ctl, STR("id"), err) : r;
}

/* 'it'\''s' */
static int quote(struct buf *out, const char *word)
{
    int r = buf_append_char(out, '\'');

    for (; *word != '\0' && r == 0; word++)
        r = *word == '\'' ? buf_append_str(out, STR("'\\''")) : buf_append_char(out, *word);
    return r == 0 ? buf_append_char(out, '\'') : r;
}

static int write_command(const struct option_values *values, struct buf *out, struct err *err)
{
    cleanup_buf struct buf command = BUF_INIT(MAX_BODY_BYTES);
    const struct option_list env = options_list(values, SANDBOX_EXEC_ENV);
    const char *workdir = options_text(values, SANDBOX_EXEC_WORKDIR);
    struct json_writer json;
    int r = 0;

    for (size_t i = 1; i < values->argument_count && r == 0; i++) {
        r = i > 1 ? buf_append_char(&command, ' ') : 0;
        if (r == 0)
            r = quote(&command, values->arguments[i]);
    }
    if (r < 0)
        return err_set_plain(err, r);
    json_writer_init(&json, out);
    json_begin_object(&json);
    json_put_str(&json, STR("command"), buf_view(&command));
    json_put_bool(&json, STR("exact_output"), true);
    json_put_int(&json, STR("timeout_ms"), options_int(values, SANDBOX_EXEC_TIMEOUT));
    if (workdir != NULL)
        json_put_str(&json, STR("workdir"), str_from(workdir));
    json_key(&json, STR("env"));
    json_begin_object(&json);
    for (size_t i = 0; i < env.count; i++) {
        struct str value = str_from(env.items[i]);
        struct str name = STR_EMPTY;

        (void)str_cut(&value, '=', &name);
        if (value.ptr == NULL || name.len == 0)
            return err_set(err, ERR_INVALID_OPTION, "--env needs a name and a value, like CI=1");
        json_put_str(&json, name, value);
    }
    json_end_object(&json);
    json_end_object(&json);
    r = json_writer_finish(&json);
    return r < 0 ? err_set_plain(err, r) : 0;
}

/* The command ends with our connection, so also with us. */
static int run_command(struct ctl *ctl, const struct option_values *values, struct err *err)
{
    cleanup_buf struct buf body = BUF_INIT(MAX_BODY_BYTES);
    char path[MAX_PATH_BYTES];
    int r = make_path("/sandboxes/", options_argument(values, 0), path, err);

    if (r == 0)
        r = write_command(values, &body, err);
    if (r < 0)
        return r;
    snprintf(path + strlen(path), sizeof(path) - strlen(path), "/exec");
    ctl->is_stream = true;
    r = ask(ctl, HTTP_METHOD_POST, str_from(path), &body, err);
    if (r == 0 && !ctl->has_ended)
        r = err_set(err, ERR_CONNECTION_LOST, "the service ended before the command did");
    return r == 0 ? ctl->exit_code : r;
}

/* A table of what was listed, or the JSON itself. */
static int list(struct ctl *ctl, const struct option_values *values, struct str target,
                struct err *err)
{
    cleanup_arena struct arena arena = ARENA_INIT(2 * (size_t)MAX_TEXT_BYTES);
    cleanup_output struct output output = OUTPUT_INIT(STDOUT_FILENO, NULL);
    static const volatile sig_atomic_t never = 0;
    const struct json_limits limits = {MAX_TEXT_BYTES, 8};
    const struct json_value *answer;
    int r = ask(ctl, HTTP_METHOD_GET, target, NULL, err);

    output.stopped_by = &never;
    if (r < 0)
        return r;
    if (options_is_on(values, SANDBOX_LS_JSON)) {
        output_str(&output, buf_view(&ctl->body));
        output_line_end(&output);
        return output_finish(&output, err);
    }
    r = json_parse(&arena, buf_view(&ctl->body), limits, &answer, err);
    if (r < 0)
        return r;
    json_each_item (item, answer) {
        char time[CLOCK_ISO_BYTES];
        struct str id = STR_EMPTY;
        struct str status = STR_EMPTY;
        int64_t created = 0;
        bool is_used = false;

        (void)json_get_str(item, STR("id"), &id);
        (void)json_get_int(item, STR("created_at"), &created);
        if (!json_get_str(item, STR("status"), &status) &&
            json_get_bool(item, STR("in_use"), &is_used))
            status = is_used ? STR("in use") : STR("unused");
        clock_format_iso(created * 1000, time);
        output_shown(&output, id, 0);
        output_printf(&output, "  %-8.*s  %.19sZ", STR_ARG(status), time);
        output_line_end(&output);
    }
    return output_finish(&output, err);
}

static int remove_one(struct ctl *ctl, const struct option_values *values, const char *path_of,
                      struct err *err)
{
    char path[MAX_PATH_BYTES];
    int r = make_path(path_of, options_argument(values, 0), path, err);

    return r == 0 ? ask(ctl, HTTP_METHOD_DELETE, str_from(path), NULL, err) : r;
}

/* The API builds an image for a sandbox; that one is not needed. */
static int build(struct ctl *ctl, const struct option_values *values, struct err *err)
{
    cleanup_buf struct buf body = BUF_INIT(MAX_BODY_BYTES);
    cleanup_arena struct arena arena = ARENA_INIT(1 << 20);
    const struct json_limits limits = {MAX_TEXT_BYTES, 4};
    const struct json_value *answer;
    char path[MAX_PATH_BYTES];
    struct json_writer json;
    struct str id;
    int r;

    json_writer_init(&json, &body);
    json_begin_object(&json);
    json_put_bool(&json, STR("ephemeral"), true);
    json_key(&json, STR("dockerfile_steps"));
    json_begin_array(&json);
    for (size_t i = 0; i < values->argument_count; i++)
        json_write_str(&json, str_from(values->arguments[i]));
    json_end_array(&json);
    json_end_object(&json);
    r = json_writer_finish(&json);
    if (r < 0)
        return err_set_plain(err, r);
    r = ask(ctl, HTTP_METHOD_POST, STR("/sandboxes"), &body, err);
    if (r == 0)
        r = print_member(ctl, STR("image_id"), err);
    if (r < 0 || json_parse(&arena, buf_view(&ctl->body), limits, &answer, err) < 0 ||
        !json_get_str(answer, STR("id"), &id))
        return r;
    snprintf(path, sizeof(path), "/sandboxes/%.*s", STR_ARG(str_slice(id, 0, 64)));
    buf_clear(&ctl->body);
    return ask(ctl, HTTP_METHOD_DELETE, str_from(path), NULL, err);
}

static int work(struct ctl *ctl, const struct option_values *values, struct err *err)
{
    const struct option_command *command = values->command;

    if (command == &sandbox_commands[SANDBOX_CREATE])
        return create(ctl, values, err);
    if (command == &sandbox_commands[SANDBOX_EXEC])
        return run_command(ctl, values, err);
    if (command == &sandbox_commands[SANDBOX_LS])
        return list(ctl, values, STR("/sandboxes"), err);
    if (command == &sandbox_commands[SANDBOX_RM])
        return remove_one(ctl, values, "/sandboxes/", err);
    if (command == &sandbox_image_commands[SANDBOX_IMAGE_LS])
        return list(ctl, values, STR("/images"), err);
    if (command == &sandbox_image_commands[SANDBOX_IMAGE_BUILD])
        return build(ctl, values, err);
    if (command == &sandbox_image_commands[SANDBOX_IMAGE_RM])
        return remove_one(ctl, values, "/images/", err);
    return err_set(err, ERR_INVALID_OPTION, "this program asks a sandbox service; see --help");
}

static int run(const struct option_values *values, struct arena *arena, struct err *err)
{
    struct ctl ctl = {.body = BUF_INIT(MAX_TEXT_BYTES)};
    const struct httpclient_config config = {.may_reach = may_reach, .data = &ctl};
    int r = find_service(&ctl, values, err);

    (void)arena;
    if (r == 0) {
        r = loop_new(&clock_system, &ctl.loop);
        if (r == 0)
            r = httpclient_new(ctl.loop, &config, &ctl.client);
        r = r < 0 ? err_set_plain(err, r) : work(&ctl, values, err);
    }
    if (ctl.client != NULL)
        httpclient_free(ctl.client);
    if (ctl.loop != NULL)
        loop_free(ctl.loop);
    buf_done(&ctl.body);
    secret_done(&ctl.key);
    return r;
}

static const struct runner runner = {
    .program = SANDBOXCTL_PROGRAM,
    .title = "gatehouse sandbox",
    .see = "'gatehouse sandbox --help'",
    .command = SANDBOX_COMMAND,
    .failed_status = SANDBOX_EXIT_FAILED,
    .checks_options_late = true,
    .run = run,
};

int main(int argc, char **argv)
{
    return runner_main(&runner, argc, argv);
}
