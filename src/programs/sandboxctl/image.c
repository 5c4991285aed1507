/* SPDX-License-Identifier: Apache-2.0 */
/* `gatehouse sandbox image import`, `name` and `rm`. */
#include "programs/sandboxctl/ctl.h"

#include <stdio.h>
#include <string.h>

#include "base/jsonwrite.h"
#include "cli/sandbox.h"

#define ARCHIVE_PATH "/home/user/archive"

/* ---- which one ---- */

static bool has_name(const struct json_value *image, const char *given, size_t *out_names)
{
    const struct json_value *names = json_get(image, STR("names"));

    if (names == NULL || names->type != JSON_ARRAY)
        return false;
    json_each_item (name, names)
        if (name->type == JSON_STRING && str_eq_c(json_str(name), given)) {
            *out_names = names->size;
            return true;
        }
    return false;
}

int ctl_find_image(struct ctl *ctl, const char *given, char out_id[CTL_ID_BYTES], size_t *out_names,
                   struct err *err)
{
    cleanup_arena struct arena arena = ARENA_INIT(2 * (size_t)CTL_MAX_TEXT_BYTES);
    const struct json_value *answer = NULL;
    size_t names = 0;
    int r = ctl_ask_json(ctl, HTTP_METHOD_GET, "/images", NULL, &arena, &answer, err);

    if (r < 0 || answer == NULL)
        return r;
    json_each_item (image, answer) {
        struct str id = STR_EMPTY;

        if (!has_name(image, given, &names) || !json_get_str(image, STR("id"), &id) ||
            id.len >= CTL_ID_BYTES)
            continue;
        snprintf(out_id, CTL_ID_BYTES, "%.*s", STR_ARG(id));
        if (out_names != NULL)
            *out_names = names;
        return 0;
    }
    if (out_names != NULL)
        *out_names = 0;
    if (given[0] == '\0' || strspn(given, "0123456789abcdef") != strlen(given))
        return err_set(err, ERR_NOT_FOUND,
                       "no image has the name '%.128s': 'gatehouse sandbox image ls' lists yours",
                       given);
    return ctl_find_id(ctl, "/images", given, out_id, err);
}

/* ---- names ---- */

int ctl_name_image(struct ctl *ctl, const struct option_values *values, struct err *err)
{
    cleanup_buf struct buf body = BUF_INIT(CTL_MAX_BODY_BYTES);
    char image[CTL_ID_BYTES];
    struct json_writer json;
    int r = ctl_find_image(ctl, options_argument(values, 1), image, NULL, err);

    if (r < 0)
        return r;
    json_writer_init(&json, &body);
    json_begin_object(&json);
    json_put_str(&json, STR("name"), str_from(options_argument(values, 0)));
    json_put_str(&json, STR("image_id"), str_from(image));
    json_end_object(&json);
    r = json_writer_finish(&json);
    return r < 0 ? err_set_plain(err, r)
                 : ctl_ask(ctl, HTTP_METHOD_PUT, "/admin/names", &body, err);
}

/* One of several names; the image stays. */
static int remove_name(struct ctl *ctl, const char *name, struct err *err)
{
    cleanup_buf struct buf text = BUF_INIT(CTL_TARGET_BYTES - 1);
    int r = buf_append_str(&text, STR("/admin/names?name="));

    if (r == 0)
        r = ctl_encode(&text, str_from(name));
    if (r == 0)
        r = buf_append_char(&text, '\0');
    return r < 0 ? err_set_plain(err, r) : ctl_ask(ctl, HTTP_METHOD_DELETE, text.data, NULL, err);
}

/* As many as were named; the first that fails ends it. */
int ctl_remove_images(struct ctl *ctl, const struct option_values *values, struct err *err)
{
    int r = 0;

    for (size_t i = 0; i < values->argument_count && r == 0; i++) {
        const char *given = values->arguments[i];
        char target[CTL_TARGET_BYTES];
        char id[CTL_ID_BYTES];
        size_t names = 0;

        r = ctl_find_image(ctl, given, id, &names, err);
        if (r < 0)
            return r;
        snprintf(target, sizeof(target), "/images/%s", id);
        r = names > 1 ? remove_name(ctl, given, err)
                      : ctl_ask(ctl, HTTP_METHOD_DELETE, target, NULL, err);
    }
    return r;
}

/* ---- importing ---- */

/* A sandbox for the archive, until it is unpacked. */
static int make_place(struct ctl *ctl, char out_sandbox[CTL_ID_BYTES], struct err *err)
{
    cleanup_arena struct arena arena = ARENA_INIT(2 * (size_t)CTL_MAX_TEXT_BYTES);
    cleanup_buf struct buf body = BUF_INIT(CTL_MAX_BODY_BYTES);
    const struct json_value *answer = NULL;
    struct str id = STR_EMPTY;
    int r = buf_append_str(&body, STR("{\"ephemeral\":true}"));

    if (r < 0)
        return err_set_plain(err, r);
    r = ctl_ask_json(ctl, HTTP_METHOD_POST, "/sandboxes", &body, &arena, &answer, err);
    if (r < 0)
        return r;
    if (!json_get_str(answer, STR("id"), &id) || id.len >= CTL_ID_BYTES)
        return err_set(err, ERR_TOOL_FAILED, "the service's answer makes no sense");
    snprintf(out_sandbox, CTL_ID_BYTES, "%.*s", STR_ARG(id));
    return 0;
}

static int import_from(struct ctl *ctl, const struct option_values *values,
                       const struct archive_place *place, struct err *err)
{
    cleanup_buf struct buf body = BUF_INIT(CTL_MAX_BODY_BYTES);
    char digest[CTL_ID_BYTES];
    struct json_writer json;
    int r = ctl_send_archive(ctl, values, options_argument(values, 1), place, digest, err);

    if (r < 0)
        return r;
    json_writer_init(&json, &body);
    json_begin_object(&json);
    json_put_str(&json, STR("name"), str_from(options_argument(values, 0)));
    json_put_str(&json, STR("sandbox"), str_from(place->sandbox));
    json_put_str(&json, STR("path"), str_from(place->path));
    json_put_str(&json, STR("sha256"), str_from(digest));
    json_end_object(&json);
    r = json_writer_finish(&json);
    return r < 0 ? err_set_plain(err, r) : ctl_follow_build(ctl, "/admin/images", &body, err);
}

int ctl_import(struct ctl *ctl, const struct option_values *values, struct err *err)
{
    char sandbox[CTL_ID_BYTES];
    char target[CTL_TARGET_BYTES];
    struct err ignored = ERR_INIT;
    int r = make_place(ctl, sandbox, err);

    if (r < 0)
        return r;
    r = import_from(ctl, values, &(struct archive_place){sandbox, ARCHIVE_PATH}, err);
    snprintf(target, sizeof(target), "/sandboxes/%s", sandbox);
    (void)ctl_ask(ctl, HTTP_METHOD_DELETE, target, NULL, &ignored); /* else it goes when idle */
    return r;
}
