/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/sandboxd/servicefile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/jsonwrite.h"

enum { MAX_BYTES = 4096 };

#define NEW_NAME "service.json.new"

int servicefile_read_key(int state_fd, struct secret *out_key, struct err *err)
{
    cleanup_arena struct arena arena = ARENA_INIT(1 << 20);
    cleanup_fd int fd = openat(state_fd, SERVICEFILE_NAME, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    const struct json_limits limits = {MAX_BYTES, 4};
    const struct json_value *object;
    char text[MAX_BYTES];
    struct str key;
    ssize_t got;
    int r = ERR_NOT_FOUND;

    if (fd < 0 && errno == ENOENT)
        return ERR_NOT_FOUND;
    got = fd >= 0 ? read(fd, text, sizeof(text)) : -1;
    if (got < 0)
        return err_set(err, err_from_errno(errno), "cannot read " SERVICEFILE_NAME ": %s",
                       err_errno_text(errno));
    if (json_parse(&arena, (struct str){text, (size_t)got}, limits, &object, NULL) == 0 &&
        json_get_str(object, STR("key"), &key))
        r = secret_set(out_key, key);
    secret_wipe(text, sizeof(text));
    return r < 0 ? ERR_NOT_FOUND : 0;
}

static int write_text(int state_fd, struct str text, int *out_fd)
{
    cleanup_fd int fd =
        openat(state_fd, NEW_NAME, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);

    if (fd < 0)
        return -errno;
    if (write(fd, text.ptr, text.len) != (ssize_t)text.len)
        return errno != 0 ? -errno : -ENOSPC;
    if (flock(fd, LOCK_EX | LOCK_NB) < 0 ||
        renameat(state_fd, NEW_NAME, state_fd, SERVICEFILE_NAME) < 0)
        return -errno;
    *out_fd = steal_fd(&fd);
    return 0;
}

int servicefile_write(int state_fd, const char *url, struct str key, int *out_fd, struct err *err)
{
    cleanup_buf struct buf out = BUF_INIT(MAX_BYTES);
    struct json_writer json;
    int r;

    json_writer_init(&json, &out);
    json_begin_object(&json);
    json_put_str(&json, STR("url"), str_from(url));
    if (key.len > 0)
        json_put_str(&json, STR("key"), key);
    json_end_object(&json);
    r = json_writer_finish(&json);
    if (r < 0)
        return err_set_plain(err, r);
    r = write_text(state_fd, buf_view(&out), out_fd);
    secret_wipe(out.data, out.len);
    return r < 0 ? err_set(err, err_from_errno(-r), "cannot write " SERVICEFILE_NAME ": %s",
                           err_errno_text(-r))
                 : 0;
}
