/* SPDX-License-Identifier: Apache-2.0 */
/* archive: create one of a file or directory, or extract one into a new directory. */
#include "hostfs/internal.h"

#include "base/jsonwrite.h"

static const struct {
    struct str name;
    struct str suffix;
    struct str short_suffix; /* or empty */
    enum authority_archive_format format;
} formats[] = {
    {STR_LITERAL("zip"), STR_LITERAL(".zip"), STR_LITERAL(""), AUTHORITY_ZIP},
    {STR_LITERAL("tar.gz"), STR_LITERAL(".tar.gz"), STR_LITERAL(".tgz"), AUTHORITY_TAR_GZ},
    {STR_LITERAL("tar.xz"), STR_LITERAL(".tar.xz"), STR_LITERAL(".txz"), AUTHORITY_TAR_XZ},
    {STR_LITERAL("tar.zst"), STR_LITERAL(".tar.zst"), STR_LITERAL(".tzst"), AUTHORITY_TAR_ZST},
};

/* As it is named, or by the archive's name. */
static int get_format(const struct hostfs_work *work, struct str archive,
                      enum authority_archive_format *out_format)
{
    struct str given = STR_EMPTY;
    bool is_given = json_get(work->inputs, STR("format")) != NULL;

    if (is_given && !json_get_str(work->inputs, STR("format"), &given))
        return err_set(work->err, ERR_INVALID_ARGUMENT, "'format' must be a text");
    for (size_t i = 0; i < array_size(formats); i++) {
        bool fits = is_given ? str_eq(given, formats[i].name)
                             : str_ends_with(archive, formats[i].suffix) ||
                                   (formats[i].short_suffix.len > 0 &&
                                    str_ends_with(archive, formats[i].short_suffix));

        if (fits) {
            *out_format = formats[i].format;
            return 0;
        }
    }
    return err_set(work->err, ERR_INVALID_ARGUMENT,
                   "'format' must be zip, tar.gz, tar.xz or tar.zst");
}

static int write_result(const struct hostfs_work *work, struct str name,
                        const struct authority_archive_result *result,
                        const struct authority_stat *archive)
{
    struct json_writer json;

    json_writer_init(&json, work->out);
    json_begin_object(&json);
    json_put_str(&json, STR("path"), name);
    if (archive != NULL)
        json_put_int(&json, STR("sizeBytes"), (int64_t)archive->size);
    json_put_int(&json, STR("files"), (int64_t)result->files);
    json_put_int(&json, STR("directories"), (int64_t)result->directories);
    json_put_int(&json, STR("contentBytes"), (int64_t)result->bytes);
    json_end_object(&json);
    return json_writer_finish(&json);
}

static int create(const struct hostfs_work *work, struct str source, struct str archive,
                  const struct authority_archive_options *options)
{
    struct authority_archive_result result;
    enum authority_archive_format format = AUTHORITY_TAR_GZ; /* for gcc 14 */
    struct authority_stat stat;
    int r = get_format(work, archive, &format);

    if (r == 0)
        r = authority_create_archive(work->hostfs->scope, source, archive, format, options, &result,
                                     work->err);
    if (r == 0)
        r = authority_stat(work->hostfs->scope, archive, &stat, work->err);
    return r == 0 ? write_result(work, archive, &result, &stat) : r;
}

int hostfs_archive(const struct hostfs_work *work)
{
    const struct authority_archive_options options = {
        .max_archive_bytes = work->hostfs->max_file_bytes,
        .max_entry_bytes = work->hostfs->max_file_bytes,
        .cancel = work->cancel,
    };
    struct authority_archive_result result;
    struct str operation = STR_EMPTY;
    struct str path;
    struct str to;
    int r = hostfs_get_path(work, STR("path"), &path);

    if (r == 0)
        r = hostfs_get_path(work, STR("to"), &to);
    if (r < 0)
        return r;
    (void)json_get_str(work->inputs, STR("op"), &operation);
    if (str_eq(operation, STR("create")))
        return create(work, path, to, &options);
    if (!str_eq(operation, STR("extract")))
        return err_set(work->err, ERR_INVALID_ARGUMENT, "'op' must be create or extract");
    r = authority_extract_archive(work->hostfs->scope, path, to, &options, &result, work->err);
    return r == 0 ? write_result(work, to, &result, NULL) : r;
}
