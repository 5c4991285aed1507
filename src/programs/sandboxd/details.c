/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/sandboxd/details.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/jsonwrite.h"

enum { MAX_DEPTH = 8, MINUTE_MS = 60 * 1000 };

struct details *details_new(void)
{
    struct details *details = calloc(1, sizeof(*details));

    if (details == NULL)
        return NULL;
    details->auto_stop_minutes = DETAILS_AUTO_STOP_MINUTES;
    details->auto_delete_minutes = DETAILS_NEVER;
    details->auto_archive_minutes = DETAILS_AUTO_ARCHIVE_MINUTES;
    details->labels = strdup("{}");
    details->env = strdup("{}");
    if (details->labels == NULL || details->env == NULL) {
        details_free(details);
        return NULL;
    }
    return details;
}

void details_free(struct details *details)
{
    if (details == NULL)
        return;
    free(details->labels);
    free(details->env);
    free(details->changed_env);
    free(details);
}

void details_drop(struct details **details)
{
    details_free(*details);
}

/* ---- texts ---- */

bool details_is_texts(const struct json_value *object)
{
    size_t bytes = 0;

    if (object->type != JSON_OBJECT)
        return false;
    json_each_member (key, object) {
        if ((key + 1)->type != JSON_STRING)
            return false;
        bytes += json_str(key).len + json_str(key + 1).len;
    }
    return bytes < DETAILS_MAX_TEXT_BYTES;
}

int details_set_texts(char **texts, const struct json_value *object)
{
    cleanup_buf struct buf out = BUF_INIT(4 * DETAILS_MAX_TEXT_BYTES);
    struct json_writer json;
    const char *written;
    char *copy;
    int r;

    json_writer_init(&json, &out);
    json_write_value(&json, object);
    r = json_writer_finish(&json);
    if (r == 0)
        r = buf_terminate(&out, &written);
    if (r < 0)
        return r;
    copy = strdup(written);
    if (copy == NULL)
        return ERR_NO_MEMORY;
    free(*texts);
    *texts = copy;
    return 0;
}

/* ---- the document ---- */

int details_write(const struct details *details, struct buf *out)
{
    struct json_writer json;

    json_writer_init(&json, out);
    json_begin_object(&json);
    json_put_str(&json, STR("name"), str_from(details->name));
    json_put_str(&json, STR("snapshot"), str_from(details->snapshot));
    json_key(&json, STR("labels"));
    json_splice(&json, str_from(details->labels));
    json_key(&json, STR("env"));
    json_splice(&json, str_from(details->env));
    json_put_int(&json, STR("auto_stop"), details->auto_stop_minutes);
    json_put_int(&json, STR("auto_delete"), details->auto_delete_minutes);
    json_put_int(&json, STR("auto_archive"), details->auto_archive_minutes);
    json_put_bool(&json, STR("archived"), details->is_archived);
    json_put_int(&json, STR("updated_s"), details->updated_s);
    json_put_bool(&json, STR("public"), details->is_public);
    json_put_str(&json, STR("signing_salt"), str_from(details->signing_salt));
    json_end_object(&json);
    return json_writer_finish(&json);
}

static bool read_text(const struct json_value *object, struct str key, size_t most, char *out_name)
{
    struct str name = STR_EMPTY;

    if (!json_get_str(object, key, &name) || name.len > most)
        return false;
    memcpy(out_name, name.ptr, name.len);
    out_name[name.len] = '\0';
    return true;
}

static bool read_name(const struct json_value *object, struct str key, char *out_name)
{
    return read_text(object, key, SANDBOXSTORE_MAX_NAME_BYTES, out_name);
}

/* Documents of older versions have none. A wrong one must not bring the first key back. */
static bool read_salt(const struct json_value *object, char *out_salt)
{
    const struct str key = STR("signing_salt");

    return json_get(object, key) == NULL ||
           read_text(object, key, DETAILS_SALT_BYTES - 1, out_salt);
}

static bool read_texts(const struct json_value *object, struct str key, char **out_texts)
{
    const struct json_value *texts = json_get(object, key);

    return texts != NULL && details_is_texts(texts) && details_set_texts(out_texts, texts) == 0;
}

struct details *details_read(struct str document)
{
    cleanup_arena struct arena arena = ARENA_INIT(4 * DETAILS_MAX_DOCUMENT_BYTES);
    cleanup_details struct details *details = details_new();
    const struct json_limits limits = {DETAILS_MAX_DOCUMENT_BYTES, MAX_DEPTH};
    const struct json_value *object;
    struct err err = ERR_INIT;
    struct details *read;

    if (details == NULL || json_parse(&arena, document, limits, &object, &err) < 0 ||
        object->type != JSON_OBJECT || !read_name(object, STR("name"), details->name) ||
        !read_name(object, STR("snapshot"), details->snapshot) ||
        !read_texts(object, STR("labels"), &details->labels) ||
        !read_texts(object, STR("env"), &details->env) ||
        !json_get_int(object, STR("auto_stop"), &details->auto_stop_minutes) ||
        !json_get_int(object, STR("auto_delete"), &details->auto_delete_minutes) ||
        !json_get_int(object, STR("updated_s"), &details->updated_s) ||
        !json_get_bool(object, STR("public"), &details->is_public) ||
        !read_salt(object, details->signing_salt))
        return NULL;
    /* Documents of older versions have neither. */
    (void)json_get_int(object, STR("auto_archive"), &details->auto_archive_minutes);
    (void)json_get_bool(object, STR("archived"), &details->is_archived);
    read = details;
    details = NULL;
    return read;
}

const char *details_env(const struct details *details)
{
    return details->changed_env != NULL ? details->changed_env : details->env;
}

void details_start(struct details *details)
{
    details->is_archived = false;
    free(details->changed_env);
    details->changed_env = NULL;
}

/* ---- idle sandboxes ---- */

bool details_is_archived(const struct details *details, int64_t stopped_ms)
{
    const int64_t minutes = details->auto_archive_minutes > 0 ? details->auto_archive_minutes
                                                              : DETAILS_LAST_ARCHIVE_MINUTES;

    return details->is_archived || stopped_ms >= minutes * MINUTE_MS;
}

enum details_step details_idle(const struct details *details, bool is_stopped, int64_t idle_ms,
                               int64_t stopped_ms)
{
    bool is_idle =
        details->auto_stop_minutes > 0 && idle_ms >= details->auto_stop_minutes * MINUTE_MS;

    if (!is_stopped && !is_idle)
        return DETAILS_KEEP;
    if (details->auto_delete_minutes == 0)
        return DETAILS_DELETE;
    if (!is_stopped)
        return DETAILS_STOP;
    return details->auto_delete_minutes > 0 &&
                   stopped_ms >= details->auto_delete_minutes * MINUTE_MS
               ? DETAILS_DELETE
               : DETAILS_KEEP;
}
