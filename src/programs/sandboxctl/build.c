/* SPDX-License-Identifier: Apache-2.0 */
/* `gatehouse sandbox image build`. */
#include "programs/sandboxctl/ctl.h"

#include <stdio.h>
#include <unistd.h>

#include "base/jsonwrite.h"
#include "cli/sandbox.h"
#include "loop/timer.h"

enum { PROGRESS_BYTES = 80, PROGRESS_MS = 250 };

struct build {
    struct ctl *ctl;
    struct timer shown;
    int64_t began_ms;
};

static void show_time(void *data)
{
    const struct build *build = data;
    char words[PROGRESS_BYTES];

    snprintf(words, sizeof(words), "building, %lld s",
             (long long)(loop_now_ms(build->ctl->loop) - build->began_ms) / 1000);
    ctl_progress(words);
}

static int write_steps(const struct option_values *values, struct buf *out, struct err *err)
{
    struct json_writer json;
    int r;

    json_writer_init(&json, out);
    json_begin_object(&json);
    json_put_bool(&json, STR("ephemeral"), true);
    json_key(&json, STR("dockerfile_steps"));
    json_begin_array(&json);
    for (size_t i = 0; i < values->argument_count; i++)
        json_write_str(&json, str_from(values->arguments[i]));
    json_end_array(&json);
    json_end_object(&json);
    r = json_writer_finish(&json);
    return r < 0 ? err_set_plain(err, r) : 0;
}

/* The API builds an image for a sandbox; that one is not needed. */
static int drop_sandbox(struct ctl *ctl, struct str id, struct err *err)
{
    char target[CTL_TARGET_BYTES];

    snprintf(target, sizeof(target), "/sandboxes/%.*s", STR_ARG(str_slice(id, 0, CTL_ID_BYTES)));
    return ctl_ask(ctl, HTTP_METHOD_DELETE, target, NULL, err);
}

int ctl_build(struct ctl *ctl, const struct option_values *values, struct err *err)
{
    cleanup_arena struct arena arena = ARENA_INIT(2 * (size_t)CTL_MAX_TEXT_BYTES);
    cleanup_buf struct buf body = BUF_INIT(CTL_MAX_BODY_BYTES);
    struct build build = {.ctl = ctl, .began_ms = loop_now_ms(ctl->loop)};
    const struct json_value *answer;
    struct str image;
    struct str id;
    int r = write_steps(values, &body, err);

    if (r < 0)
        return r;
    timer_init(&build.shown, ctl->loop, show_time, &build);
    timer_start_repeating(&build.shown, PROGRESS_MS);
    r = ctl_ask_json(ctl, HTTP_METHOD_POST, "/sandboxes", &body, &arena, &answer, err);
    timer_stop(&build.shown);
    ctl_progress(NULL);
    if (r < 0)
        return r;
    if (!json_get_str(answer, STR("image_id"), &image) || !json_get_str(answer, STR("id"), &id))
        return err_set(err, ERR_TOOL_FAILED, "the service's answer makes no sense");
    ctl_write(STDOUT_FILENO, image);
    ctl_write(STDOUT_FILENO, STR("\n"));
    return drop_sandbox(ctl, id, err);
}
