/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/servicefile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/jsonwrite.h"

enum { MAX_BYTES = 4096 };

#define NEW_NAME "service.json.new"

int servicefile_read_key(int dir_fd, struct secret *out_key, struct err *err)
{
    cleanup_arena struct arena arena = ARENA_INIT(1 << 20);
    cleanup_fd int fd = openat(dir_fd, SERVICEFILE_NAME, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
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

static int write_text(int dir_fd, struct str text, int *out_fd)
{
    cleanup_fd int fd =
        openat(dir_fd, NEW_NAME, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);

    if (fd < 0)
        return -errno;
    if (write(fd, text.ptr, text.len) != (ssize_t)text.len)
        return errno != 0 ? -errno : -ENOSPC;
    if (flock(fd, LOCK_EX | LOCK_NB) < 0 ||
        renameat(dir_fd, NEW_NAME, dir_fd, SERVICEFILE_NAME) < 0)
        return -errno;
    *out_fd = steal_fd(&fd);
    return 0;
}

int servicefile_write(int dir_fd, const char *url, struct str key, int *out_fd, struct err *err)
{
    cleanup_buf struct buf out = BUF_INIT(MAX_BYTES);
    struct json_writer json;
    int r;

    json_writer_init(&json, &out);
    json_begin_object(&json);
    json_put_str(&json, STR("url"), str_from(url));
    json_put_int(&json, STR("pid"), getpid());
    if (key.len > 0)
        json_put_str(&json, STR("key"), key);
    json_end_object(&json);
    r = json_writer_finish(&json);
    if (r < 0)
        return err_set_plain(err, r);
    r = write_text(dir_fd, buf_view(&out), out_fd);
    secret_wipe(out.data, out.len);
    return r < 0 ? err_set(err, err_from_errno(-r), "cannot write " SERVICEFILE_NAME ": %s",
                           err_errno_text(-r))
                 : 0;
}

/* Its number may be one of another container, or be used again. */
static bool is_process_of_ours(int64_t pid)
{
    return pid > 0 && pid <= INT_MAX && kill((pid_t)pid, 0) == 0;
}

static int take(struct str text, struct servicefile_service *out_service)
{
    cleanup_arena struct arena arena = ARENA_INIT(1 << 20);
    const struct json_limits limits = {MAX_BYTES, 4};
    const struct json_value *object;
    int64_t pid = 0;
    struct str url;

    if (json_parse(&arena, text, limits, &object, NULL) < 0 ||
        !json_get_str(object, STR("url"), &url) || url.len >= SERVICEFILE_URL_BYTES)
        return ERR_NOT_FOUND;
    memcpy(out_service->url, url.ptr, url.len);
    out_service->url[url.len] = '\0';
    (void)json_get_int(object, STR("pid"), &pid); /* an older one did not say */
    out_service->pid = is_process_of_ours(pid) ? (pid_t)pid : 0;
    return 0;
}

int servicefile_find(const char *directory, struct servicefile_service *out_service)
{
    char text[MAX_BYTES];
    char path[PATH_MAX];
    struct stat about;
    cleanup_fd int fd = -1;
    ssize_t got;
    int r;

    if (snprintf(path, sizeof(path), "%s/" SERVICEFILE_NAME, directory) >= (int)sizeof(path))
        return ERR_NOT_FOUND;
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &about) < 0 || !S_ISREG(about.st_mode) || about.st_uid != geteuid())
        return ERR_NOT_FOUND;
    /* A service locks the file before it gets its name: nobody is in the way of one that starts. */
    if (flock(fd, LOCK_SH | LOCK_NB) == 0 || errno != EWOULDBLOCK)
        return ERR_NOT_FOUND;
    got = read(fd, text, sizeof(text));
    r = got > 0 ? take((struct str){text, (size_t)got}, out_service) : ERR_NOT_FOUND;
    secret_wipe(text, sizeof(text)); /* there may be a key */
    return r;
}
