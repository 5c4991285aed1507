/* SPDX-License-Identifier: Apache-2.0 */
#include "hostfs/errors.h"

#include "base/jsonwrite.h"

struct form {
    const char *name;
    int status;
    /* A member of the details, besides the service. */
    const char *key;
    const char *value;
};

struct row {
    int code;
    struct form first;
    struct form second;
};

#define SAME(name, status)                                                                         \
    {name, status, NULL, NULL},                                                                    \
    {                                                                                              \
        name, status, NULL, NULL                                                                   \
    }
#define OUTSIDE                                                                                    \
    {"path_outside_sandbox", 403, NULL, NULL},                                                     \
    {                                                                                              \
        "forbidden", 403, "reason", "path-outside-sandbox"                                         \
    }
#define DENIED                                                                                     \
    {"fs_permission_denied", 403, NULL, NULL},                                                     \
    {                                                                                              \
        "forbidden", 403, "reason", "permission-denied"                                            \
    }
#define INVALID  SAME("validation_error", 400)
#define ARCHIVE  SAME("archive_refused", 422)
#define MEDIA    SAME("media_refused", 422)
#define NOT_HERE SAME("busy", 503)
#define TRANSFER SAME("transport_failed", 502)

/* clang-format off */
static const struct row rows[] = {
    {ERR_PATH_OUTSIDE_ROOT, OUTSIDE},
    {ERR_SYMLINK_REJECTED, OUTSIDE},
    {ERR_CROSSES_MOUNT, OUTSIDE},
    {ERR_TOO_LARGE, {"file_too_large", 413, NULL, NULL}, {"storage_limit_exceeded", 422, "limit", "maxFileSizeBytes"}},
    {ERR_PERMISSION_DENIED, DENIED},
    {ERR_HARDLINK_REJECTED, DENIED},
    {ERR_DENIED_BY_POLICY, DENIED},
    {ERR_ACCESS_MISSING, DENIED},
    {ERR_SCOPE_MISSING, DENIED},
    {ERR_ROOT_PROTECTED, DENIED},
    {ERR_NOT_FOUND, {"file_not_found", 404, NULL, NULL}, {"not_found", 404, NULL, NULL}},
    {ERR_SESSION_OVER, SAME("not_found", 404)},
    {ERR_NOT_REGULAR_FILE, SAME("not_a_file", 409)},
    {ERR_NOT_A_DIRECTORY, SAME("not_a_directory", 409)},
    {ERR_ALREADY_EXISTS, SAME("file_exists", 409)},
    {ERR_NOT_EMPTY, SAME("file_exists", 409)},
    {ERR_NO_SPACE, SAME("no_space", 507)},
    {ERR_INVALID_PATH, INVALID},
    {ERR_INVALID_ARGUMENT, INVALID},
    {ERR_INVALID_REQUEST, INVALID},
    {ERR_INVALID_JSON, INVALID},
    {ERR_INVALID_UTF8, INVALID},
    {ERR_JSON_DEPTH, INVALID},
    {ERR_JSON_DUPLICATE_KEY, INVALID},
    {ERR_ARCHIVE_FORMAT, ARCHIVE},
    {ERR_ARCHIVE_ENTRY_PATH, ARCHIVE},
    {ERR_ARCHIVE_ENTRY_LINK, ARCHIVE},
    {ERR_ARCHIVE_ENTRY_TYPE, ARCHIVE},
    {ERR_ARCHIVE_BYTES, ARCHIVE},
    {ERR_ARCHIVE_ENTRIES, ARCHIVE},
    {ERR_ARCHIVE_RATIO, ARCHIVE},
    {ERR_ARCHIVE_DEPTH, ARCHIVE},
    {ERR_MEDIA_FORMAT, MEDIA},
    {ERR_MEDIA_LIMIT, MEDIA},
    {ERR_SERVER_DENIED, SAME("transport_refused", 403)},
    {ERR_HOST_KEY, TRANSFER},
    {ERR_LOGIN_REFUSED, TRANSFER},
    {ERR_HOST_UNKNOWN, TRANSFER},
    {ERR_UNREACHABLE, TRANSFER},
    {ERR_CONNECTION_LOST, TRANSFER},
    {ERR_TRANSFER_FAILED, TRANSFER},
    {ERR_UNAUTHORIZED, SAME("unauthenticated", 401)},
    {ERR_UNSUPPORTED, {"host_capability_missing", 501, NULL, NULL}, {"capability_not_provided", 422, NULL, NULL}},
    {ERR_HTTP_VERSION, SAME("protocol_version_unsupported", 406)},
    {ERR_BUSY, NOT_HERE},
    {ERR_WORKERS_LOST, NOT_HERE},
    {ERR_NO_MEMORY, NOT_HERE},
    {ERR_AUDIT_UNAVAILABLE, SAME("audit_unavailable", 503)},
    {ERR_TIMED_OUT, SAME("timed_out", 504)},
};
/* clang-format on */

static const struct row other = {ERR_INTERNAL, SAME("internal_error", 500)};

static const struct form *find_form(enum hostfs_major major, int code)
{
    const struct row *row = &other;

    for (size_t i = 0; i < array_size(rows); i++)
        if (rows[i].code == code)
            row = &rows[i];
    return major == HOSTFS_V1 ? &row->first : &row->second;
}

/* The name says too little. */
static bool has_reason(const struct form *form)
{
    static const char *const names[] = {"archive_refused", "media_refused", "transport_refused",
                                        "transport_failed"};

    return str_index(str_from(form->name), names, array_size(names)) < array_size(names);
}

static void put_details(struct json_writer *json, const struct form *form, int code)
{
    json_key(json, STR("details"));
    json_begin_object(json);
    json_put_str(json, STR("service"), STR("fs"));
    if (form->key != NULL)
        json_put_str(json, str_from(form->key), str_from(form->value));
    else if (has_reason(form))
        json_put_str(json, STR("reason"), str_from(err_name(code)));
    json_end_object(json);
}

static int write_form(enum hostfs_major major, struct str key, const struct err *err,
                      struct buf *out)
{
    const struct form *form = find_form(major, err->code);
    const char *message = err->message[0] != '\0' ? err->message : err_text(err->code);
    struct json_writer json;

    json_writer_init(&json, out);
    json_begin_object(&json);
    json_put_str(&json, key, str_from(form->name));
    json_put_str_lossy(&json, STR("message"), str_from(message));
    if (major == HOSTFS_V2 || has_reason(form))
        put_details(&json, form, err->code);
    json_end_object(&json);
    (void)json_writer_finish(&json); /* the status says enough without a body */
    return form->status;
}

int hostfs_write_error(enum hostfs_major major, const struct err *err, struct buf *out)
{
    return write_form(major, STR("error"), err, out);
}

int hostfs_write_event_error(const struct err *err, struct buf *out)
{
    return write_form(HOSTFS_V2, STR("code"), err, out);
}
