/* SPDX-License-Identifier: Apache-2.0 */
/* `gatehouse sandbox image build`, and what `import` shares with it. */
#include "programs/sandboxctl/ctl.h"

#include <stdio.h>
#include <unistd.h>

#include "base/hex.h"
#include "base/jsonwrite.h"
#include "base/printable.h"
#include "base/sha256.h"
#include "cli/sandbox.h"
#include "loop/timer.h"
#include "programs/sandboxctl/tree.h"

enum { PROGRESS_BYTES = 80, PROGRESS_MS = 250, STEP_SHOWN_BYTES = 200 };

struct build {
    struct ctl *ctl;
    struct timer shown;
    int64_t began_ms;
    struct ctl_request request;
    char image[CTL_ID_BYTES]; /* or empty */
    int error;
    struct err err;
};

static void show_time(void *data)
{
    const struct build *build = data;
    char words[PROGRESS_BYTES];

    snprintf(words, sizeof(words), "building, %lld s",
             (long long)(loop_now_ms(build->ctl->loop) - build->began_ms) / 1000);
    ctl_progress(words);
}

/* ---- what happens ---- */

/* The output of steps, as it is; the line of the progress goes below it. */
static void show_output(struct build *build, struct str data)
{
    if (data.len == 0)
        return;
    ctl_progress(NULL);
    ctl_write(STDERR_FILENO, data);
    /* A line that is not complete would be written over. */
    if (data.ptr[data.len - 1] != '\n')
        timer_stop(&build->shown);
    else
        timer_start_repeating(&build->shown, PROGRESS_MS);
}

static void show_step(struct build *build, const struct json_value *event)
{
    char words[STEP_SHOWN_BYTES + PRINTABLE_CUT_BYTES];
    char line[sizeof(words) + PROGRESS_BYTES];
    struct str text = STR_EMPTY;
    bool is_cached = false;
    int64_t step = 0;
    int64_t steps = 0;

    (void)json_get_str(event, STR("text"), &text);
    (void)json_get_bool(event, STR("cached"), &is_cached);
    (void)json_get_int(event, STR("step"), &step);
    (void)json_get_int(event, STR("steps"), &steps);
    (void)printable_cut(text, PRINTABLE_LINE, words, STEP_SHOWN_BYTES);
    snprintf(line, sizeof(line), "step %lld/%lld%s: %s\n", (long long)step, (long long)steps,
             is_cached ? " (cached)" : "", words);
    show_output(build, str_from(line));
}

static void take_event(void *data, struct str line)
{
    cleanup_arena struct arena arena = ARENA_INIT(2 * (size_t)CTL_MAX_TEXT_BYTES);
    const struct json_limits limits = {CTL_MAX_TEXT_BYTES, 8};
    struct build *build = data;
    const struct json_value *event;
    struct str type = STR_EMPTY;
    struct str text = STR_EMPTY;

    if (json_parse(&arena, line, limits, &event, NULL) < 0 ||
        !json_get_str(event, STR("type"), &type))
        return;
    if (str_eq(type, STR("step"))) {
        show_step(build, event);
    } else if (str_eq(type, STR("image")) && json_get_str(event, STR("image_id"), &text)) {
        snprintf(build->image, sizeof(build->image), "%.*s", STR_ARG(text));
    } else if (str_eq(type, STR("error")) && json_get_str(event, STR("error"), &text)) {
        build->error = err_set(&build->err, ERR_TOOL_FAILED, "%.*s", STR_ARG(text));
    } else if (json_get_str(event, STR("data"), &text)) {
        show_output(build, text);
    }
}

/* ---- the request ---- */

/* Uploads the folder for COPY steps; its name is empty without one. */
static int send_context(struct ctl *ctl, const struct option_values *values,
                        char out_key[CTL_ID_BYTES], struct err *err)
{
    cleanup_buf struct buf archive = BUF_INIT(CTL_MAX_BODY_BYTES);
    const char *folder = options_text(values, SANDBOX_BUILD_CONTEXT);
    char target[CTL_TARGET_BYTES];
    unsigned char digest[SHA256_BYTES];
    struct sha256 hash;
    struct tree tree;
    int r;

    out_key[0] = '\0';
    if (folder == NULL)
        return 0;
    tree_init(&tree);
    r = tree_open(&tree, values, folder, false, err);
    if (r == 0)
        r = tree_gather(&tree, err);
    if (r == 0 && !tree.items[0].is_directory)
        r = err_set(err, ERR_INVALID_OPTION, "--context needs a folder");
    if (r == 0)
        r = tree_pack(&tree, &archive, err);
    tree_done(&tree);
    if (r < 0)
        return r;
    sha256_init(&hash);
    sha256_add(&hash, buf_view(&archive));
    sha256_end(&hash, digest);
    hex_text(out_key, digest, sizeof(digest));
    snprintf(target, sizeof(target), "/contexts/%s", out_key);
    return ctl_ask(ctl, HTTP_METHOD_PUT, target, &archive, err);
}

static int write_steps(const struct option_values *values, const char *context, struct buf *out,
                       struct err *err)
{
    const struct option_list hosts = options_list(values, SANDBOX_BUILD_DOMAIN);
    struct json_writer json;
    int r;

    json_writer_init(&json, out);
    json_begin_object(&json);
    if (context[0] != '\0')
        json_put_str(&json, STR("context"), str_from(context));
    json_key(&json, STR("dockerfile_steps"));
    json_begin_array(&json);
    for (size_t i = 0; i < values->argument_count; i++)
        json_write_str(&json, str_from(values->arguments[i]));
    json_end_array(&json);
    if (hosts.count > 0) {
        json_key(&json, STR("network_policy"));
        json_begin_object(&json);
        ctl_put_list(&json, STR("allowed_domains"), hosts);
        json_end_object(&json);
    }
    json_end_object(&json);
    r = json_writer_finish(&json);
    return r < 0 ? err_set_plain(err, r) : 0;
}

int ctl_build(struct ctl *ctl, const struct option_values *values, struct err *err)
{
    cleanup_buf struct buf body = BUF_INIT(CTL_MAX_BODY_BYTES);
    char context[CTL_ID_BYTES];
    int r = send_context(ctl, values, context, err);

    if (r == 0)
        r = write_steps(values, context, &body, err);
    return r < 0 ? r : ctl_follow_build(ctl, "/images", &body, err);
}

int ctl_follow_build(struct ctl *ctl, const char *target, struct buf *body, struct err *err)
{
    struct build build = {.ctl = ctl, .began_ms = loop_now_ms(ctl->loop)};
    int r;

    request_init(&build.request, ctl);
    snprintf(build.request.target, sizeof(build.request.target), "%s", target);
    build.request.take_line = take_event;
    build.request.data = &build;
    timer_init(&build.shown, ctl->loop, show_time, &build);
    timer_start_repeating(&build.shown, PROGRESS_MS);
    r = request_send(&build.request, HTTP_METHOD_POST, body, err);
    if (r == 0)
        r = request_wait(&build.request, err);
    request_done(&build.request);
    timer_stop(&build.shown);
    ctl_progress(NULL);
    if (r == 0 && build.error < 0) {
        *err = build.err;
        r = build.error;
    }
    if (r == 0 && build.image[0] == '\0')
        r = err_set(err, ERR_TOOL_FAILED, "the service's answer makes no sense");
    if (r < 0)
        return r;
    ctl_write(STDOUT_FILENO, str_from(build.image));
    ctl_write(STDOUT_FILENO, STR("\n"));
    return 0;
}
