/* SPDX-License-Identifier: Apache-2.0 */
#include "transfer/ssh.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/library.h"

#define LIBRARY "libssh2.so.1"

enum {
    TIMEOUT_MS = 20 * 1000, /* of one step */
    CHUNK_BYTES = 32 << 10,
    NAME_BYTES = 1024,
    WINDOW_BYTES = 2 << 20,
    SIGNAL_STATUS = 255, /* as ssh(1) says it */
    PASSPHRASE_BYTES = 1024,
    NAMED_HOST_BYTES = TRANSFER_HOST_BYTES + 16,
};

/* Of libssh2's interface: numbers that do not change. */
enum {
    METHOD_HOST_KEY = 1,
    FILE_OPENSSH = 1,
    MATCH = 0,
    TYPE_PLAIN = 1,
    ENCODING_RAW = 1 << 16,
    KEY_SHIFT = 18,
    KEY_MASK = 15,
    OUT_OF_MEMORY = -6,
    SEND_FAILED = -7,
    NO_ANSWER = -9,
    DISCONNECTED = -13,
    UNVERIFIED = -19,
    SOCKET_TIMEOUT = -30,
    AGAIN = -37,
    RECEIVE_FAILED = -43,
    OPEN_FILE = 0,
    OPEN_DIRECTORY = 1,
    MAY_READ = 1,
    MAY_WRITE = 2,
    CREATE = 8,
    TRUNCATE = 16,
    HAS_SIZE = 1,
    HAS_PERMISSIONS = 4,
    NO_SUCH_FILE = 2,
    DENIED = 3,
    NEW_FILE_MODE = 0600,
};

/* Opaque here. */
struct session;
struct channel;
struct sftp;
struct handle;
struct hosts;

struct known {
    unsigned magic;
    void *node;
    char *name; /* NULL if only its digest is known */
    char *key;
    int typemask;
};

struct attributes {
    unsigned long flags;
    uint64_t size;
    unsigned long uid, gid, permissions, atime, mtime;
};

/* clang-format off */
static struct {
    int (*libssh2_init)(int flags);
    struct session *(*libssh2_session_init_ex)(void *, void *, void *, void *);
    int (*libssh2_session_method_pref)(struct session *, int method, const char *names);
    int (*libssh2_session_handshake)(struct session *, int fd);
    const char *(*libssh2_session_hostkey)(struct session *, size_t *len, int *type);
    void (*libssh2_session_set_blocking)(struct session *, int blocks);
    void (*libssh2_session_set_timeout)(struct session *, long ms);
    struct hosts *(*libssh2_knownhost_init)(struct session *);
    int (*libssh2_knownhost_readfile)(struct hosts *, const char *path, int type);
    int (*libssh2_knownhost_checkp)(struct hosts *, const char *host, int port, const char *key, size_t len, int typemask, struct known **);
    int (*libssh2_knownhost_get)(struct hosts *, struct known **, struct known *previous);
    int (*libssh2_userauth_password_ex)(struct session *, const char *user, unsigned user_len, const char *password, unsigned len, void *);
    int (*libssh2_userauth_publickey_frommemory)(struct session *, const char *user, size_t user_len, const char *public_key, size_t public_len, const char *key, size_t len, const char *passphrase);
    struct channel *(*libssh2_channel_open_ex)(struct session *, const char *type, unsigned type_len, unsigned window, unsigned packet, const char *, unsigned);
    int (*libssh2_channel_process_startup)(struct channel *, const char *request, unsigned request_len, const char *message, unsigned len);
    ssize_t (*libssh2_channel_read_ex)(struct channel *, int stream, char *out, size_t len);
    int (*libssh2_channel_send_eof)(struct channel *);
    int (*libssh2_channel_eof)(struct channel *);
    int (*libssh2_channel_close)(struct channel *);
    int (*libssh2_channel_get_exit_status)(struct channel *);
    int (*libssh2_channel_get_exit_signal)(struct channel *, char **name, size_t *, char **, size_t *, char **, size_t *);
    struct sftp *(*libssh2_sftp_init)(struct session *);
    struct handle *(*libssh2_sftp_open_ex)(struct sftp *, const char *name, unsigned len, unsigned long flags, long mode, int type);
    ssize_t (*libssh2_sftp_read)(struct handle *, char *out, size_t len);
    ssize_t (*libssh2_sftp_write)(struct handle *, const char *bytes, size_t len);
    int (*libssh2_sftp_readdir_ex)(struct handle *, char *name, size_t size, char *, size_t, struct attributes *);
    int (*libssh2_sftp_close_handle)(struct handle *);
    unsigned long (*libssh2_sftp_last_error)(struct sftp *);
} library;
/* clang-format on */

#define FUNCTIONS(X)                                                                               \
    X(libssh2_init)                                                                                \
    X(libssh2_session_init_ex)                                                                     \
    X(libssh2_session_method_pref)                                                                 \
    X(libssh2_session_handshake)                                                                   \
    X(libssh2_session_hostkey)                                                                     \
    X(libssh2_session_set_blocking)                                                                \
    X(libssh2_session_set_timeout)                                                                 \
    X(libssh2_knownhost_init)                                                                      \
    X(libssh2_knownhost_readfile)                                                                  \
    X(libssh2_knownhost_checkp)                                                                    \
    X(libssh2_knownhost_get)                                                                       \
    X(libssh2_userauth_password_ex)                                                                \
    X(libssh2_userauth_publickey_frommemory)                                                       \
    X(libssh2_channel_open_ex)                                                                     \
    X(libssh2_channel_process_startup)                                                             \
    X(libssh2_channel_read_ex)                                                                     \
    X(libssh2_channel_send_eof)                                                                    \
    X(libssh2_channel_eof)                                                                         \
    X(libssh2_channel_close)                                                                       \
    X(libssh2_channel_get_exit_status)                                                             \
    X(libssh2_channel_get_exit_signal)                                                             \
    X(libssh2_sftp_init)                                                                           \
    X(libssh2_sftp_open_ex)                                                                        \
    X(libssh2_sftp_read)                                                                           \
    X(libssh2_sftp_write)                                                                          \
    X(libssh2_sftp_readdir_ex)                                                                     \
    X(libssh2_sftp_close_handle)                                                                   \
    X(libssh2_sftp_last_error)

/* One process has one connection. */
static struct session *session;
static struct hosts *hosts;

/* ---- before the walls are up ---- */

int ssh_open(struct err *err)
{
    void *handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);

    if (!LIBRARY_FIND(handle, FUNCTIONS) || library.libssh2_init(0) != 0)
        return err_set(err, ERR_UNSUPPORTED, "transfers by SSH need libssh2 (package libssh2-1)");
    session = library.libssh2_session_init_ex(NULL, NULL, NULL, NULL);
    hosts = session != NULL ? library.libssh2_knownhost_init(session) : NULL;
    return hosts != NULL ? 0 : err_set_plain(err, ERR_NO_MEMORY);
}

/* By what stands behind the type's bits. */
static const char *const key_types[KEY_MASK + 1] = {
    [2] = "rsa-sha2-512,rsa-sha2-256", [4] = "ecdsa-sha2-nistp256", [5] = "ecdsa-sha2-nistp384",
    [6] = "ecdsa-sha2-nistp521",       [7] = "ssh-ed25519",
};

/* The server is to show a key of a type that is known, if it has several. */
static int prefer_known_types(const struct transfer_place *server, struct err *err)
{
    char with_port[NAMED_HOST_BYTES];
    char names[128] = "";
    unsigned taken = 0;
    struct known *entry = NULL;
    struct known *previous = NULL;

    snprintf(with_port, sizeof(with_port), "[%s]:%u", server->host, (unsigned)server->port);
    while (library.libssh2_knownhost_get(hosts, &entry, previous) == 0) {
        unsigned type = (unsigned)entry->typemask >> KEY_SHIFT & KEY_MASK;
        size_t len = strlen(names);

        previous = entry;
        if ((taken & 1U << type) != 0 || key_types[type] == NULL ||
            (entry->name != NULL && strcmp(entry->name, with_port) != 0 &&
             strcmp(entry->name, server->host) != 0))
            continue;
        taken |= 1U << type;
        snprintf(names + len, sizeof(names) - len, "%s%s", len > 0 ? "," : "", key_types[type]);
    }
    if (taken == 0 || library.libssh2_session_method_pref(session, METHOD_HOST_KEY, names) != 0)
        return err_set(err, ERR_HOST_KEY, "no usable host key of this server is known");
    return 0;
}

int ssh_load_known_hosts(const char *path, const struct transfer_place *server, struct err *err)
{
    if (path == NULL || library.libssh2_knownhost_readfile(hosts, path, FILE_OPENSSH) <= 0)
        return err_set(err, ERR_HOST_KEY, "this host knows no host keys of servers");
    return prefer_known_types(server, err);
}

/* ---- the connection ---- */

static int check_host_key(const struct transfer_request *request, struct err *err)
{
    char host[TRANSFER_HOST_BYTES];
    size_t len = 0;
    int type;
    const char *key = library.libssh2_session_hostkey(session, &len, &type);
    struct known *entry = NULL;

    snprintf(host, sizeof(host), "%.*s", STR_ARG(request->host));
    if (key == NULL || library.libssh2_knownhost_checkp(hosts, host, request->port, key, len,
                                                        TYPE_PLAIN | ENCODING_RAW, &entry) != MATCH)
        return err_set_plain(err, ERR_HOST_KEY);
    return 0;
}

/* libssh2 1.10 looks at the byte behind the key, so it gets a copy with an end. */
static int log_in_by_key(const struct credential *credential, struct str key, struct str password)
{
    char passphrase[PASSPHRASE_BYTES];
    char *copy = calloc(1, key.len + 1);
    int r;

    if (copy == NULL)
        return OUT_OF_MEMORY;
    memcpy(copy, key.ptr, key.len);
    snprintf(passphrase, sizeof(passphrase), "%.*s", STR_ARG(password));
    r = library.libssh2_userauth_publickey_frommemory(
        session, credential->user, strlen(credential->user), NULL, 0, copy, key.len,
        password.len > 0 ? passphrase : NULL);
    secret_wipe(passphrase, sizeof(passphrase));
    secret_wipe(copy, key.len);
    free(copy);
    return r;
}

static int lost(struct err *err)
{
    return err_set(err, ERR_CONNECTION_LOST, "the connection to the server broke");
}

static bool has_closed(int fd)
{
    struct pollfd state = {.fd = fd, .events = POLLRDHUP};

    return poll(&state, 1, 0) > 0;
}

/* Of a login that has failed. */
static int judge_login(int code, int fd, struct err *err)
{
    switch (code) {
    case SEND_FAILED:
    case DISCONNECTED:
    case RECEIVE_FAILED:
        return lost(err);
    case NO_ANSWER:
    case SOCKET_TIMEOUT:
        return err_set(err, ERR_TIMED_OUT, "the server takes too long");
    case UNVERIFIED:
        /* Also whatever kept the answer to a key from coming. */
        return has_closed(fd) ? lost(err) : err_set_plain(err, ERR_LOGIN_REFUSED);
    default:
        return err_set_plain(err, ERR_LOGIN_REFUSED);
    }
}

static int log_in(const struct credential *credential, int fd, struct err *err)
{
    /* To send it, or to unlock the key. */
    struct str password = secret_text_reveal(&credential->password);
    struct str key = secret_text_reveal(&credential->private_key);
    int r = key.len > 0
                ? log_in_by_key(credential, key, password)
                : library.libssh2_userauth_password_ex(session, credential->user,
                                                       (unsigned)strlen(credential->user),
                                                       password.ptr, (unsigned)password.len, NULL);

    return r == 0 ? 0 : judge_login(r, fd, err);
}

static int too_large(struct err *err)
{
    return err_set(err, ERR_TOO_LARGE, "the server sends more than the limit");
}

/* ---- commands ---- */

/* What has come on one of the outputs: 1 if something, 0 if nothing at present. */
static int take_output(struct channel *channel, int stream, size_t limit, struct buf *out,
                       struct err *err)
{
    char bytes[CHUNK_BYTES];
    ssize_t n = library.libssh2_channel_read_ex(channel, stream, bytes, sizeof(bytes));

    if (n == AGAIN || n == 0)
        return 0;
    if (n < 0)
        return lost(err);
    if ((size_t)n > limit - out->len || buf_append(out, bytes, (size_t)n) < 0)
        return too_large(err);
    return 1;
}

static int take_outputs(struct channel *channel, int fd, size_t limit, struct buf outputs[2],
                        struct err *err)
{
    library.libssh2_session_set_blocking(session, 0);
    while (true) {
        int first = take_output(channel, 0, limit, &outputs[0], err);
        int second = first < 0 ? first : take_output(channel, 1, limit, &outputs[1], err);
        struct pollfd ready = {.fd = fd, .events = POLLIN};

        if (second < 0)
            return second;
        if (first > 0 || second > 0)
            continue;
        if (library.libssh2_channel_eof(channel) != 0)
            return 0;
        /* Without an end: the whole request has one. */
        if (poll(&ready, 1, -1) < 0)
            return lost(err);
    }
}

static int run_command(const struct transfer_request *request, int fd, struct buf *space,
                       struct transfer_answer *out_answer, struct err *err)
{
    struct buf outputs[2] = {BUF_INIT(TRANSFER_MAX_BYTES), BUF_INIT(TRANSFER_MAX_BYTES)};
    static const char kind[] = "session";
    static const char exec[] = "exec";
    struct channel *channel = library.libssh2_channel_open_ex(session, kind, sizeof(kind) - 1,
                                                              WINDOW_BYTES, CHUNK_BYTES, NULL, 0);
    char *signal_name = NULL;
    int r;

    if (channel == NULL || library.libssh2_channel_process_startup(
                               channel, exec, sizeof(exec) - 1, request->target.ptr,
                               (unsigned)request->target.len) != 0)
        return err_set(err, ERR_TRANSFER_FAILED, "the server does not run commands");
    (void)library.libssh2_channel_send_eof(channel); /* there is no input */
    r = take_outputs(channel, fd, request->max_bytes, outputs, err);
    library.libssh2_session_set_blocking(session, 1);
    if (r == 0 && library.libssh2_channel_close(channel) != 0)
        r = lost(err);
    if (r < 0)
        return r;
    out_answer->status = (uint32_t)library.libssh2_channel_get_exit_status(channel);
    if (library.libssh2_channel_get_exit_signal(channel, &signal_name, NULL, NULL, NULL, NULL,
                                                NULL) == 0 &&
        signal_name != NULL)
        out_answer->status = SIGNAL_STATUS;
    r = buf_append_str(space, buf_view(&outputs[0]));
    if (r == 0)
        r = buf_append_str(space, buf_view(&outputs[1]));
    if (r < 0)
        return err_set_plain(err, r);
    out_answer->outputs[0] = str_slice(buf_view(space), 0, outputs[0].len);
    out_answer->outputs[1] = str_slice(buf_view(space), outputs[0].len, outputs[1].len);
    out_answer->output_count = 2;
    return 0; /* the rest is left to the end of the process */
}

/* ---- files ---- */

static int refused(struct sftp *sftp, struct err *err)
{
    switch (library.libssh2_sftp_last_error(sftp)) {
    case NO_SUCH_FILE:
        return err_set(err, ERR_NOT_FOUND, "the server has no such file");
    case DENIED:
        return err_set(err, ERR_PERMISSION_DENIED, "the server does not permit this");
    default:
        return err_set_plain(err, ERR_TRANSFER_FAILED);
    }
}

static int get_file(struct handle *handle, size_t limit, struct buf *space, struct err *err)
{
    char bytes[CHUNK_BYTES];

    while (true) {
        ssize_t n = library.libssh2_sftp_read(handle, bytes, sizeof(bytes));

        if (n == 0)
            return 0;
        if (n < 0)
            return lost(err);
        if ((size_t)n > limit - space->len || buf_append(space, bytes, (size_t)n) < 0)
            return too_large(err);
    }
}

static int put_file(struct sftp *sftp, struct handle *handle, struct str content, struct err *err)
{
    while (content.len > 0) {
        ssize_t n = library.libssh2_sftp_write(handle, content.ptr, content.len);

        if (n <= 0)
            return library.libssh2_sftp_last_error(sftp) != 0 ? refused(sftp, err) : lost(err);
        content = str_slice(content, (size_t)n, content.len);
    }
    return 0;
}

static char kind_of(const struct attributes *attributes)
{
    if ((attributes->flags & HAS_PERMISSIONS) == 0)
        return '?';
    if (S_ISREG(attributes->permissions))
        return 'f';
    if (S_ISDIR(attributes->permissions))
        return 'd';
    return S_ISLNK(attributes->permissions) ? 'l' : '?';
}

static int list_directory(struct handle *handle, size_t limit, struct buf *space,
                          struct transfer_answer *out_answer, struct err *err)
{
    size_t starts[TRANSFER_MAX_ENTRIES + 1];
    char name[NAME_BYTES];
    size_t count = 0;

    while (true) {
        struct attributes attributes = {0};
        int n = library.libssh2_sftp_readdir_ex(handle, name, sizeof(name), NULL, 0, &attributes);
        struct transfer_entry entry = {
            .kind = kind_of(&attributes),
            .size = (attributes.flags & HAS_SIZE) != 0 ? attributes.size : TRANSFER_UNKNOWN_SIZE,
            .name = {name, n > 0 ? (size_t)n : 0}};

        if (n == 0)
            break;
        if (n < 0)
            return lost(err);
        if (str_eq_c(entry.name, ".") || str_eq_c(entry.name, ".."))
            continue;
        if (count == TRANSFER_MAX_ENTRIES) {
            out_answer->status = 1;
            break;
        }
        starts[count++] = space->len;
        if (space->len > limit || transfer_write_entry(&entry, space) < 0)
            return too_large(err);
    }
    starts[count] = space->len;
    for (size_t i = 0; i < count; i++)
        out_answer->outputs[i] = (struct str){space->data + starts[i], starts[i + 1] - starts[i]};
    out_answer->output_count = count;
    return 0;
}

/* The path of a URL is absolute; one that begins with ~ is in the home directory. */
static struct str remote_path(struct str target, struct buf *space)
{
    if (str_eq_c(target, "~") || str_eq_c(target, "~/"))
        return STR(".");
    if (str_starts_with(target, STR("~/")))
        return str_slice(target, 2, target.len);
    if (buf_append_char(space, '/') < 0 || buf_append_str(space, target) < 0)
        return STR_EMPTY;
    return buf_view(space);
}

static int work_on_files(const struct transfer_request *request, struct buf *space,
                         struct transfer_answer *out_answer, struct err *err)
{
    cleanup_buf struct buf room = BUF_INIT(TRANSFER_MAX_TARGET_BYTES + 2);
    struct str path = remote_path(request->target, &room);
    bool is_put = request->operation == TRANSFER_PUT;
    bool is_list = request->operation == TRANSFER_LIST;
    struct sftp *sftp = library.libssh2_sftp_init(session);
    struct handle *handle;
    int r = 0;

    if (sftp == NULL || path.len == 0)
        return err_set(err, ERR_TRANSFER_FAILED, "the server does not offer SFTP");
    handle = library.libssh2_sftp_open_ex(sftp, path.ptr, (unsigned)path.len,
                                          is_put ? MAY_WRITE | CREATE | TRUNCATE : MAY_READ,
                                          NEW_FILE_MODE, is_list ? OPEN_DIRECTORY : OPEN_FILE);
    if (handle == NULL)
        return refused(sftp, err);
    if (is_list)
        return list_directory(handle, request->max_bytes, space, out_answer, err);
    if (is_put)
        r = put_file(sftp, handle, request->content, err);
    else
        r = get_file(handle, request->max_bytes, space, err);
    if (library.libssh2_sftp_close_handle(handle) != 0 && r == 0 && is_put)
        r = refused(sftp, err);
    if (r == 0 && !is_put)
        out_answer->outputs[out_answer->output_count++] = buf_view(space);
    return r;
}

int ssh_work(const struct transfer_request *request, int fd, const struct credential *credential,
             struct buf *space, struct transfer_answer *out_answer, struct err *err)
{
    int r;

    library.libssh2_session_set_timeout(session, TIMEOUT_MS);
    library.libssh2_session_set_blocking(session, 1);
    if (library.libssh2_session_handshake(session, fd) != 0)
        return err_set(err, ERR_TRANSFER_FAILED,
                       "the server speaks no SSH that is understood here, or shows no host key of "
                       "a known type");
    r = check_host_key(request, err);
    if (r == 0)
        r = log_in(credential, fd, err);
    if (r < 0)
        return r;
    return request->operation == TRANSFER_EXEC ? run_command(request, fd, space, out_answer, err)
                                               : work_on_files(request, space, out_answer, err);
}
