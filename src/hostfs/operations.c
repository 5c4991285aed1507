/* SPDX-License-Identifier: Apache-2.0 */
/* read, write, delete and stat */
#include "hostfs/internal.h"

#include "authority/names/path.h"
#include "base/base64.h"
#include "base/jsonwrite.h"
#include "hostfs/contenttype.h"

enum { BASE64_IN = 3, BASE64_OUT = 4, READ_SPARE_BYTES = 256 };

int hostfs_take_path(struct str given, struct str *out_name, struct err *err)
{
    const struct str root = STR(HOSTFS_ROOT);
    struct str name = given;

    if (given.len == 0)
        return err_set(err, ERR_INVALID_PATH, "the path is empty");
    if (given.ptr[0] == '/') {
        name = str_slice(given, root.len, given.len);
        if (!str_starts_with(given, root) || (name.len > 0 && name.ptr[0] != '/'))
            return err_set(err, ERR_PATH_OUTSIDE_ROOT, "the path is outside of " HOSTFS_ROOT);
        /* What is left is a name, however many slashes are before it. */
        while (name.len > 0 && name.ptr[0] == '/')
            name = str_slice(name, 1, name.len);
    }
    *out_name = name;
    return 0;
}

int hostfs_get_path(const struct hostfs_work *work, struct str key, struct str *out_name)
{
    struct str given;

    if (!json_get_str(work->inputs, key, &given))
        return err_set(work->err, ERR_INVALID_ARGUMENT, "'%.*s' must be a text", STR_ARG(key));
    return hostfs_take_path(given, out_name, work->err);
}

/* ---- read ---- */

struct reading {
    struct buf *out;
    size_t limit; /* of `out`, for what is reserved at once */
    const struct authority_stat *stat;
    char head[CONTENTTYPE_BYTES];
    size_t head_len;
    char carry[BASE64_IN]; /* that do not make four characters yet */
    size_t carried;
};

static int begin_reading(struct reading *reading)
{
    size_t wanted =
        (size_t)reading->stat->size / BASE64_IN * BASE64_OUT + BASE64_OUT + READ_SPARE_BYTES;

    return reading->out->len == 0 && wanted < reading->limit ? buf_reserve(reading->out, wanted)
                                                             : 0;
}

static int encode(struct reading *reading, struct str piece)
{
    size_t whole;
    int r = 0;

    if (reading->carried > 0) {
        while (reading->carried < BASE64_IN && piece.len > 0) {
            reading->carry[reading->carried++] = piece.ptr[0];
            piece = str_slice(piece, 1, piece.len);
        }
        if (reading->carried < BASE64_IN)
            return 0;
        r = base64_append(reading->out, (struct str){reading->carry, BASE64_IN});
        reading->carried = 0;
    }
    whole = piece.len / BASE64_IN * BASE64_IN;
    if (r == 0)
        r = base64_append(reading->out, str_slice(piece, 0, whole));
    for (size_t i = whole; i < piece.len; i++)
        reading->carry[reading->carried++] = piece.ptr[i];
    return r;
}

static int take_piece(void *data, struct str piece)
{
    struct reading *reading = data;
    struct str head = str_slice(piece, 0, CONTENTTYPE_BYTES - reading->head_len);
    int r = begin_reading(reading);

    memcpy(reading->head + reading->head_len, head.ptr, head.len);
    reading->head_len += head.len;
    if (r == 0 && reading->out->len == 0)
        r = buf_append_str(reading->out, STR("{\"bytes\":\""));
    return r == 0 ? encode(reading, piece) : r;
}

static int end_reading(struct reading *reading)
{
    int r = reading->out->len == 0 ? buf_append_str(reading->out, STR("{\"bytes\":\"")) : 0;

    if (r == 0)
        r = base64_append(reading->out, (struct str){reading->carry, reading->carried});
    if (r == 0)
        r = buf_append_str(reading->out, STR("\",\"contentType\":\""));
    if (r == 0)
        r = buf_append_str(reading->out,
                           contenttype_of((struct str){reading->head, reading->head_len}));
    return r == 0 ? buf_append_str(reading->out, STR("\"}")) : r;
}

/*
 * The file is encoded as it is read, up to the length that it had when it was opened: one that
 * grows meanwhile is not longer than the limit either.
 */
int hostfs_read(const struct hostfs_work *work)
{
    const struct authority_read_options options = {.cancel = work->cancel};
    struct authority_stat stat = {.size = 0};
    struct reading reading = {.out = work->out, .limit = work->out->max, .stat = &stat};
    struct str name;
    int r = hostfs_get_path(work, STR("path"), &name);

    if (r == 0)
        r = authority_read_pieces(work->hostfs->scope, name, &options, &stat, take_piece, &reading,
                                  work->err);
    return r == 0 ? end_reading(&reading) : r;
}

/* ---- write ---- */

static int refuse_size(const struct hostfs_work *work)
{
    return err_set(work->err, ERR_TOO_LARGE, "a file has at most %llu bytes",
                   (unsigned long long)work->hostfs->max_file_bytes);
}

/* The content: base64, or a text where that may be. `space` has the decoded one. */
static int get_content(const struct hostfs_work *work, struct buf *space, struct str *out_content)
{
    struct str text;
    struct str type;
    int r;

    if (json_get(work->inputs, STR("contentType")) != NULL &&
        !json_get_str(work->inputs, STR("contentType"), &type))
        return err_set(work->err, ERR_INVALID_ARGUMENT, "'contentType' must be a text");
    if (work->takes_text && json_get_str(work->inputs, STR("content"), &text)) {
        *out_content = text;
        return text.len > work->hostfs->max_file_bytes ? refuse_size(work) : 0;
    }
    if (!json_get_str(work->inputs, STR("bytes"), &text))
        return err_set(work->err, ERR_INVALID_ARGUMENT, "'bytes' must be base64");
    if (text.len / BASE64_OUT * BASE64_IN > work->hostfs->max_file_bytes + BASE64_IN - 1)
        return refuse_size(work);
    buf_init(space, text.len);
    r = base64_decode(space, text);
    if (r == ERR_INVALID_ARGUMENT)
        return err_set(work->err, r, "'bytes' must be base64, padded and without line breaks");
    if (r < 0)
        return err_set_plain(work->err, r);
    *out_content = buf_view(space);
    return space->len > work->hostfs->max_file_bytes ? refuse_size(work) : 0;
}

int hostfs_read_whole(const struct hostfs_work *work, struct str name, struct buf *out)
{
    const struct authority_read_options options = {.cancel = work->cancel};

    return authority_read_bytes(work->hostfs->scope, name, &options, out, work->err);
}

int hostfs_write_whole(const struct hostfs_work *work, struct str name, struct str content)
{
    const struct authority_write_options options = {.make_parents = true, .cancel = work->cancel};

    if (content.len > work->hostfs->max_file_bytes)
        return refuse_size(work);
    return authority_write_bytes(work->hostfs->scope, name, content, &options, work->err);
}

int hostfs_write(const struct hostfs_work *work)
{
    const struct authority_write_options options = {.make_parents = true, .cancel = work->cancel};
    cleanup_buf struct buf space = BUF_INIT(0);
    struct path_name path;
    struct json_writer json;
    struct str content;
    struct str name;
    int r = hostfs_get_path(work, STR("path"), &name);

    if (r == 0)
        r = get_content(work, &space, &content);
    if (r == 0)
        r = authority_write_bytes(work->hostfs->scope, name, content, &options, work->err);
    if (r < 0)
        return r;
    /* As a list would name it; a link in it makes no difference here. */
    if (path_normalise(name, NULL, false, &path) == 0)
        name = path_view(&path);
    json_writer_init(&json, work->out);
    json_begin_object(&json);
    json_put_str(&json, STR("path"), name);
    json_put_int(&json, STR("sizeBytes"), (int64_t)content.len);
    json_end_object(&json);
    return json_writer_finish(&json);
}

/* ---- delete and stat ---- */

static int stat_file(const struct hostfs_work *work, struct str *out_name,
                     struct authority_stat *out_stat)
{
    int r = hostfs_get_path(work, STR("path"), out_name);

    if (r == 0)
        r = authority_stat(work->hostfs->scope, *out_name, out_stat, work->err);
    if (r == 0 && out_stat->type != AUTHORITY_FILE)
        r = err_set_plain(work->err, ERR_NOT_REGULAR_FILE);
    return r;
}

/*
 * The target is looked at first, because a link would be removed wherever it leads. One that is put
 * there in between is removed itself: what it leads to stays.
 */
int hostfs_delete(const struct hostfs_work *work)
{
    const struct authority_remove_options options = {.cancel = work->cancel};
    struct authority_stat stat;
    struct json_writer json;
    struct str name;
    int r = stat_file(work, &name, &stat);

    if (r == 0)
        r = authority_remove(work->hostfs->scope, name, &options, work->err);
    if (r < 0 && r != ERR_NOT_FOUND)
        return r;
    json_writer_init(&json, work->out);
    json_begin_object(&json);
    json_put_bool(&json, STR("deleted"), r == 0);
    json_end_object(&json);
    return json_writer_finish(&json);
}

/* By its beginning; empty if that may not be read. */
static struct str find_type(const struct hostfs_work *work, struct str name)
{
    const struct authority_read_options options = {.max_bytes = CONTENTTYPE_BYTES,
                                                   .cancel = work->cancel};
    cleanup_buf struct buf head = BUF_INIT(CONTENTTYPE_BYTES);

    return authority_read_bytes(work->hostfs->scope, name, &options, &head, NULL) == 0
               ? contenttype_of(buf_view(&head))
               : STR_EMPTY;
}

int hostfs_stat(const struct hostfs_work *work)
{
    char modified[CLOCK_ISO_BYTES];
    struct str type;
    struct authority_stat stat;
    struct json_writer json;
    struct str name;
    int r = stat_file(work, &name, &stat);

    if (r < 0)
        return r;
    type = find_type(work, name);
    clock_format_iso(stat.modified_ms, modified);
    json_writer_init(&json, work->out);
    json_begin_object(&json);
    json_put_int(&json, STR("sizeBytes"), (int64_t)stat.size);
    json_put_str(&json, STR("modifiedAt"), str_from(modified));
    if (type.len > 0)
        json_put_str(&json, STR("contentType"), type);
    json_end_object(&json);
    return json_writer_finish(&json);
}
