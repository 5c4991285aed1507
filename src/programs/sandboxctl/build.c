/* SPDX-License-Identifier: Apache-2.0 */
/* `gatehouse sandbox image build`. */
#include "programs/sandboxctl/ctl.h"

#include <stdio.h>
#include <unistd.h>

#include "base/hex.h"
#include "base/jsonwrite.h"
#include "base/sha256.h"
#include "cli/sandbox.h"
#include "loop/timer.h"
#include "programs/sandboxctl/tree.h"

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
    struct json_writer json;
    int r;

    json_writer_init(&json, out);
    json_begin_object(&json);
    json_put_bool(&json, STR("ephemeral"), true);
    if (context[0] != '\0')
        json_put_str(&json, STR("context"), str_from(context));
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
    char context[CTL_ID_BYTES];
    int r = send_context(ctl, values, context, err);

    if (r == 0)
        r = write_steps(values, context, &body, err);
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
