/* SPDX-License-Identifier: Apache-2.0 */
#include "transfer/credential.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json.h"

enum { MAX_FILE_BYTES = 1 << 20, MAX_DEPTH = 4, ARENA_BYTES = 8 << 20 };

void credential_done(struct credential *credential)
{
    secret_text_done(&credential->password);
    secret_text_done(&credential->private_key);
}

static int missing(struct err *err)
{
    return err_set(err, ERR_ACCESS_MISSING,
                   "this host has no such credential for this server and user");
}

/* A member that may be missing. */
static int take_secret(const struct json_value *from, struct str key, struct secret_text *out)
{
    struct str text;

    if (json_get(from, key) == NULL)
        return 0;
    return json_get_str(from, key, &text) && !str_has_nul(text) ? secret_text_set(out, text)
                                                                : ERR_SETTINGS;
}

static bool is_for(const struct json_value *from, const struct transfer_place *server,
                   const char *tenant)
{
    struct transfer_place place;
    struct str url;
    struct str named = STR_EMPTY;
    bool has_name = json_get(from, STR("tenant")) != NULL;

    if (has_name && !json_get_str(from, STR("tenant"), &named))
        return false;
    if (has_name != (tenant != NULL) || (has_name && !str_eq_c(named, tenant)))
        return false;
    return json_get_str(from, STR("url"), &url) && transfer_read_place(url, &place, NULL) == 0 &&
           transfer_is_same_server(&place, server);
}

static int take(const struct json_value *from, struct credential *out_credential)
{
    struct str user;
    int r;

    if (!json_get_str(from, STR("user"), &user) || user.len == 0 ||
        user.len >= sizeof(out_credential->user))
        return ERR_SETTINGS;
    for (size_t i = 0; i < user.len; i++)
        if ((unsigned char)user.ptr[i] < ' ')
            return ERR_SETTINGS;
    memcpy(out_credential->user, user.ptr, user.len);
    out_credential->user[user.len] = '\0';
    r = take_secret(from, STR("password"), &out_credential->password);
    if (r == 0)
        r = take_secret(from, STR("privateKey"), &out_credential->private_key);
    return r;
}

int credential_find(struct str text, struct str name, const struct transfer_place *server,
                    const char *tenant, struct credential *out_credential, struct err *err)
{
    const struct json_limits limits = {MAX_FILE_BYTES, MAX_DEPTH};
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    const struct json_value *all;
    const struct json_value *found;
    int r = json_parse(&arena, text, limits, &all, NULL);

    if (r == 0 && all->type != JSON_OBJECT)
        r = ERR_SETTINGS;
    found = r == 0 ? json_get(all, name) : NULL;
    if (r == 0 && (found == NULL || found->type != JSON_OBJECT || !is_for(found, server, tenant)))
        return missing(err);
    if (r == 0)
        r = take(found, out_credential);
    return r == 0 ? 0
                  : err_set(err, ERR_INTERNAL,
                            "this host's file of credentials is malformed; ask its operator");
}

/* Not one that others can read or have made. */
static bool is_private(int fd)
{
    struct stat about;

    return fstat(fd, &about) == 0 && S_ISREG(about.st_mode) && (about.st_mode & 077) == 0 &&
           (about.st_uid == geteuid() || about.st_uid == 0) && about.st_size <= MAX_FILE_BYTES;
}

static int read_all(int fd, struct buf *out)
{
    while (true) {
        ssize_t n;

        if (buf_reserve(out, 4096) < 0)
            return ERR_TOO_LARGE;
        n = read(fd, out->data + out->len, 4096);
        if (n == 0)
            return 0;
        if (n < 0 && errno != EINTR)
            return ERR_IO;
        out->len += n > 0 ? (size_t)n : 0;
    }
}

int credential_load(const char *path, struct str name, const struct transfer_place *server,
                    const char *tenant, struct credential *out_credential, struct err *err)
{
    cleanup_buf struct buf text = BUF_INIT(MAX_FILE_BYTES + 4096);
    cleanup_fd int fd = -1;
    int r;

    if (path == NULL)
        return missing(err);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0 || !is_private(fd))
        return err_set(err, ERR_INTERNAL,
                       "this host's file of credentials cannot be used: it must be readable for "
                       "its user alone");
    r = buf_reserve(&text, MAX_FILE_BYTES); /* at once: no copies of secrets are left behind */
    if (r == 0)
        r = read_all(fd, &text);
    if (r == 0)
        r = credential_find(buf_view(&text), name, server, tenant, out_credential, err);
    else
        r = err_set_plain(err, r);
    if (text.data != NULL)
        secret_wipe(text.data, text.len);
    return r;
}
