/* SPDX-License-Identifier: Apache-2.0 */
#include "workspace/imagefiles.h"

#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/cleanup.h"

enum { PATH_BYTES = 512, PIECE_BYTES = IMAGEFILES_STEP_BYTES };

/* Commands run as this user, and steps as root; where nobody else has a number, both are one. */
#define OWN "{ chown 1000:1000"
#define END " 2>/dev/null || :; }"

/* Nothing that a shell or a Dockerfile reads as anything but itself between single quotes. */
static bool is_plain(struct str path)
{
    static const char allowed[] =
        "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ._-/+@,= ";

    if (path.len == 0 || path.len > PATH_BYTES)
        return false;
    for (size_t i = 0; i < path.len; i++)
        if (memchr(allowed, path.ptr[i], sizeof(allowed) - 1) == NULL)
            return false;
    return true;
}

/* The folders above the file, which belong to the user as well. */
static int put_folders(struct buf *out, const char *home, struct str path)
{
    const char *slash = memrchr(path.ptr, '/', path.len);
    int r;

    if (slash == NULL)
        return 0;
    r = buf_printf(out, "mkdir -p '%s/%.*s' && " OWN, home, (int)(slash - path.ptr), path.ptr);
    for (size_t i = 1; i < path.len && r == 0; i++)
        if (path.ptr[i] == '/')
            r = buf_printf(out, " '%s/%.*s'", home, (int)i, path.ptr);
    return r == 0 ? buf_append_str(out, STR(END " && ")) : r;
}

static int put_file(struct buf *out, const char *home, const struct workspace_file *file)
{
    int r = put_folders(out, home, file->path);

    if (r == 0)
        r = buf_append_str(out, STR("printf %s '"));
    if (r == 0)
        r = base64_append(out, file->content);
    if (r == 0)
        r = buf_printf(out, "' | base64 -d > '%s/%.*s'", home, STR_ARG(file->path));
    if (r == 0 && file->is_executable)
        r = buf_printf(out, " && chmod 755 '%s/%.*s'", home, STR_ARG(file->path));
    return r == 0 ? buf_printf(out, " && " OWN " '%s/%.*s'" END, home, STR_ARG(file->path)) : r;
}

/* Behind the last step, if it has room. */
static int add(struct imagefiles *images, struct str piece, size_t *step_len)
{
    bool is_first = *step_len == 0;
    bool is_next = !is_first && *step_len + piece.len > IMAGEFILES_STEP_BYTES;
    int r = 0;

    if (!is_first && !is_next) {
        images->steps.len--; /* the NUL */
        r = buf_append_str(&images->steps, STR(" && "));
    } else {
        *step_len = 0;
        r = buf_append_str(&images->steps, STR("RUN "));
    }
    if (r == 0)
        r = buf_append_str(&images->steps, piece);
    *step_len += piece.len + sizeof(" && ") - 1;
    return r == 0 ? buf_append_str(&images->steps, (struct str){"", 1}) : r;
}

int imagefiles_init(struct imagefiles *images, const char *home, const struct workspace_file *files,
                    size_t count)
{
    size_t step_len = 0;
    int r = 0;

    buf_init(&images->steps, IMAGEFILES_BYTES + 2 * IMAGEFILES_STEP_BYTES);
    images->has = calloc(count + 1, sizeof(*images->has));
    if (images->has == NULL)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < count && r == 0; i++) {
        cleanup_buf struct buf piece = BUF_INIT(PIECE_BYTES);

        if (files[i].content.len > IMAGEFILES_FILE_BYTES || !is_plain(files[i].path) ||
            put_file(&piece, home, &files[i]) < 0 ||
            images->steps.len + piece.len > IMAGEFILES_BYTES)
            continue;
        r = add(images, buf_view(&piece), &step_len);
        images->has[i] = r == 0;
    }
    return r;
}

void imagefiles_done(struct imagefiles *images)
{
    buf_done(&images->steps);
    free(images->has);
    images->has = NULL;
}

void imagefiles_write(const struct imagefiles *images, struct json_writer *json)
{
    struct str rest = buf_view(&images->steps);
    struct str step;

    while (rest.len > 0 && str_cut(&rest, '\0', &step))
        json_write_str(json, step);
}
