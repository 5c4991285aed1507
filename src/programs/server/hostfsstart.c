/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/server/hostfsstart.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/serve.h"
#include "cli/shared.h"
#include "hostfs/wire.h"
#include "ipc/packet.h"
#include "isolate/companion.h"
#include "isolate/confine.h"
#include "session/state.h"
#include "transfer/place.h"

enum {
    READY_MS = 30 * 1000,
    NUMBER_BYTES = 32,
    MAX_WORDS = 26 + 2 * TRANSFER_MAX_HOSTS,
    READY_BYTES = FRAMES_HEADER_BYTES + HOSTFS_READY_BYTES
};

struct start {
    struct str name;       /* of the user, or empty for the owner */
    const char *directory; /* or NULL: in memory */
};

/* ---- options ---- */

static int add(struct start starts[HOSTFSSTART_MAX_TENANTS], size_t *count, struct start start,
               struct err *err)
{
    for (size_t i = 0; i < *count; i++)
        if (str_eq(starts[i].name, start.name))
            return err_set(err, ERR_INVALID_OPTION, "--fs-tenant: '%.*s' appears twice",
                           STR_ARG(start.name));
    if (*count == HOSTFSSTART_MAX_TENANTS)
        return err_set(err, ERR_INVALID_OPTION, "--fs-tenant: at most %d",
                       HOSTFSSTART_MAX_TENANTS - 1);
    starts[(*count)++] = start;
    return 0;
}

/* "anna=/srv/anna", or "anna" for files in memory. */
static int read_tenant(const char *text, bool in_memory, struct start *out_start, struct err *err)
{
    const char *equals = strchr(text, '=');
    struct str name = {text, equals != NULL ? (size_t)(equals - text) : strlen(text)};

    if (!store_is_name(name) || name.len > STORE_MAX_NAME_BYTES)
        return err_set(err, ERR_INVALID_OPTION,
                       "--fs-tenant needs a user and a directory, like "
                       "anna=/srv/anna");
    if ((equals == NULL) != in_memory || (equals != NULL && equals[1] == '\0'))
        return err_set(err, ERR_INVALID_OPTION, "--fs-tenant: '%.*s' %s", STR_ARG(name),
                       in_memory ? "has a directory, which --fs-memory does without"
                                 : "needs a directory, like anna=/srv/anna");
    *out_start = (struct start){.name = name, .directory = equals != NULL ? equals + 1 : NULL};
    return 0;
}

static int read_options(const struct option_values *values,
                        struct start starts[HOSTFSSTART_MAX_TENANTS], size_t *out_count,
                        struct err *err)
{
    const struct option_list tenants = options_list(values, SERVE_OPTION_FS_TENANT);
    const char *directory = options_text(values, SERVE_OPTION_FS);
    bool in_memory = options_is_on(values, SERVE_OPTION_FS_MEMORY);
    struct start start;
    int r = 0;

    *out_count = 0;
    if (options_is_on(values, SERVE_OPTION_NO_FS))
        return 0;
    if (directory != NULL && in_memory)
        return err_set(err, ERR_INVALID_OPTION,
                       "--fs and --fs-memory exclude each other: files are in a directory or in "
                       "memory");
    if (directory != NULL || in_memory)
        r = add(starts, out_count, (struct start){.name = STR_EMPTY, .directory = directory}, err);
    for (size_t i = 0; i < tenants.count && r == 0; i++) {
        r = read_tenant(tenants.items[i], in_memory, &start, err);
        if (r == 0)
            r = add(starts, out_count, start, err);
    }
    return r;
}

/* ---- processes ---- */

/* A name of a user may have slashes and dots; that of a directory has letters and digits. */
static void append_name(struct str name, char *path, size_t size)
{
    size_t at = strlen(path);

    for (size_t i = 0; i < name.len; i++) {
        unsigned char c = (unsigned char)name.ptr[i];
        bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                        (c >= '0' && c <= '9') || c == '-' || c == '_';

        at += (size_t)snprintf(path + at, size - at, is_plain ? "%c" : "%%%02x", c);
        if (at >= size)
            return;
    }
}

static int wait_until_ready(int fd, unsigned *out_features, struct err *err)
{
    char bytes[READY_BYTES] = {0};
    size_t got = 0;

    while (got < sizeof(bytes)) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        ssize_t n = poll(&ready, 1, READY_MS) == 1 ? read(fd, bytes + got, sizeof(bytes) - got) : 0;

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return err_set(err, ERR_IO, "gatehouse-hostfs does not start; see its message above");
        got += (size_t)n;
    }
    if ((unsigned char)bytes[FRAMES_HEADER_BYTES - 1] != HOSTFS_READY)
        return err_set(err, ERR_IO, "gatehouse-hostfs is of another version");
    *out_features = hostfs_read_ready(bytes + FRAMES_HEADER_BYTES);
    return 0;
}

/* Files are named from where the server was started. */
struct transport_paths {
    char known_hosts[PATH_MAX];
    char credentials[PATH_MAX];
};

static int add_path(const struct option_values *values, size_t option, const char *name,
                    char path[PATH_MAX], const char *words[MAX_WORDS], size_t *count,
                    struct err *err)
{
    const char *given = options_text(values, option);
    int r = given != NULL ? session_state_absolute_path(given, path, err) : 0;

    if (given == NULL || r < 0)
        return r;
    words[(*count)++] = name;
    words[(*count)++] = path;
    return 0;
}

/* What concerns transport, if a server may be reached. */
static int add_transport(const struct option_values *values, const char *tenant,
                         struct transport_paths *paths, const char *words[MAX_WORDS], size_t *count,
                         struct err *err)
{
    const struct option_list hosts = options_list(values, SERVE_OPTION_FS_TRANSPORT_HOST);
    int r;

    if (hosts.count == 0)
        return 0;
    for (size_t i = 0; i < hosts.count; i++) {
        words[(*count)++] = "--transport-host";
        words[(*count)++] = hosts.items[i];
    }
    if (tenant != NULL) {
        words[(*count)++] = "--transport-tenant";
        words[(*count)++] = tenant;
    }
    r = add_path(values, SERVE_OPTION_FS_TRANSPORT_KNOWN_HOSTS, "--transport-known-hosts",
                 paths->known_hosts, words, count, err);
    return r == 0 ? add_path(values, SERVE_OPTION_FS_TRANSPORT_CREDENTIALS,
                             "--transport-credentials", paths->credentials, words, count, err)
                  : r;
}

static int check_transport(const struct option_values *values, struct err *err)
{
    const struct option_list hosts = options_list(values, SERVE_OPTION_FS_TRANSPORT_HOST);
    struct transfer_place place;
    struct err why = ERR_INIT;

    if (hosts.count > TRANSFER_MAX_HOSTS)
        return err_set(err, ERR_INVALID_OPTION, "--fs-transport-host: at most %d",
                       TRANSFER_MAX_HOSTS);
    for (size_t i = 0; i < hosts.count; i++) {
        if (transfer_read_place(str_from(hosts.items[i]), &place, &why) < 0)
            return err_set(err, ERR_INVALID_OPTION, "--fs-transport-host: %s", why.message);
        if (place.path_len > 0)
            return err_set(err, ERR_INVALID_OPTION,
                           "--fs-transport-host names a server, without a path");
    }
    return 0;
}

/* `features` are those that the first has found out; 0 for that one. */
static int start_one(const struct option_values *values, const struct start *start,
                     const char *state_path, unsigned features, int *out_fd, struct err *err)
{
    char state[PATH_MAX];
    char directory[PATH_MAX];
    char limit[NUMBER_BYTES];
    char known[NUMBER_BYTES];
    char name[STORE_MAX_NAME_BYTES + 1];
    const char *words[MAX_WORDS] = {
        "gatehouse-hostfs",
        "--state-dir",
        state,
        "--server-dir",
        state_path,
        "--tenant",
        name,
        "--max-file-size",
        limit,
        "--log-level",
        options_text(values, SERVE_OPTION_LOG_LEVEL),
        "--audit-sync",
        shared_audit_syncs[options_choice(values, SERVE_OPTION_AUDIT_SYNC)],
        "--memory",
        NULL};
    size_t count = 14;
    struct companion companion;
    struct transport_paths paths;
    int r = 0;

    if (start->directory != NULL) {
        r = session_state_absolute_path(start->directory, directory, err);
        words[13] = "--root";
        words[count++] = directory;
    }
    if (features != 0) {
        snprintf(known, sizeof(known), "%u", features);
        words[count++] = "--features";
        words[count++] = known;
    }
    snprintf(name, sizeof(name), "%.*s", STR_ARG(start->name));
    if (r == 0)
        r = add_transport(values, start->name.len > 0 ? name : NULL, &paths, words, &count, err);
    if (r < 0)
        return r;
    if (start->name.len == 0)
        snprintf(name, sizeof(name), "owner");
    snprintf(limit, sizeof(limit), "%lld",
             (long long)options_int(values, SERVE_OPTION_FS_MAX_FILE));
    /* The owner's has a name that none of a user becomes. */
    if (snprintf(state, sizeof(state), "%s/hostfs/%s", state_path,
                 start->name.len == 0 ? "%owner" : "") >= (int)sizeof(state))
        return err_set(err, ERR_INVALID_PATH, "the state directory's path is too long");
    append_name(start->name, state, sizeof(state));
    r = companion_start("gatehouse-hostfs", GATEHOUSE_LIBEXECDIR, words, STDERR_FILENO, &companion,
                        err);
    if (r < 0)
        return r;
    *out_fd = companion.fd;
    return 0;
}

/* ---- the keeper ---- */

struct keeper {
    const struct option_values *values;
    const struct start *starts;
    size_t count;
    const char *state_path;
    unsigned features;
    int fd;
};

/* In the copy, until the server closes. Its children end by themselves, and nobody asks how. */
static int keep(void *data)
{
    const struct keeper *keeper = data;
    const int kept[] = {STDERR_FILENO, keeper->fd};
    uint32_t tenant;

    (void)signal(SIGCHLD, SIG_IGN);
    if (confine_close_fds(kept, array_size(kept), NULL) < 0)
        return EXIT_FAILURE;
    while (packet_receive(keeper->fd, &tenant, sizeof(tenant), NULL, 0, 0) == sizeof(tenant)) {
        const struct str bytes = {(const char *)&tenant, sizeof(tenant)};
        cleanup_fd int fd = -1;

        if (tenant >= keeper->count)
            return EXIT_FAILURE;
        if (start_one(keeper->values, &keeper->starts[tenant], keeper->state_path, keeper->features,
                      &fd, NULL) < 0)
            fd = -1;
        if (packet_send(keeper->fd, bytes, &fd, fd >= 0 ? 1 : 0, 0) < 0)
            break;
    }
    return EXIT_SUCCESS;
}

static int fork_keeper(struct keeper *keeper, int *out_fd, struct err *err)
{
    int ends[2];
    int r;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return err_set(err, err_from_errno(errno), "cannot create sockets: %s",
                       err_errno_text(errno));
    keeper->fd = ends[1];
    r = companion_fork(keep, keeper, err);
    close(ends[1]);
    if (r < 0)
        close(ends[0]);
    else
        *out_fd = ends[0];
    return r;
}

int hostfsstart_ask(const struct hostfs_tenants *tenants, size_t tenant)
{
    uint32_t number = (uint32_t)tenant;

    return packet_send(tenants->keeper_fd, (struct str){(const char *)&number, sizeof(number)},
                       NULL, 0, MSG_DONTWAIT);
}

bool hostfsstart_take(const struct hostfs_tenants *tenants, size_t *out_tenant, int *out_fd)
{
    uint32_t number;
    int fd = -1;

    if (packet_receive(tenants->keeper_fd, &number, sizeof(number), &fd, 1, MSG_DONTWAIT) !=
            sizeof(number) ||
        number >= tenants->count) {
        if (fd >= 0)
            close(fd);
        return false;
    }
    *out_tenant = number;
    *out_fd = fd;
    return true;
}

int hostfsstart_open(const struct option_values *values, const char *state_path,
                     struct hostfs_tenants *out_tenants, struct err *err)
{
    struct start starts[HOSTFSSTART_MAX_TENANTS];
    struct keeper keeper = {.values = values, .starts = starts, .state_path = state_path};
    size_t count;
    int r = read_options(values, starts, &count, err);

    if (r == 0)
        r = check_transport(values, err);
    *out_tenants = (struct hostfs_tenants){
        .keeper_fd = -1, .max_file_bytes = (uint64_t)options_int(values, SERVE_OPTION_FS_MAX_FILE)};
    for (size_t i = 0; i < count && r == 0; i++) {
        struct hostfs_tenant *tenant = &out_tenants->items[i];

        tenant->fd = -1;
        snprintf(tenant->name, sizeof(tenant->name), "%.*s", STR_ARG(starts[i].name));
        out_tenants->count = i + 1;
        r = start_one(values, &starts[i], state_path, out_tenants->features, &tenant->fd, err);
        if (r == 0)
            r = wait_until_ready(tenant->fd, &out_tenants->features, err);
    }
    keeper.count = count;
    keeper.features = out_tenants->features;
    return r == 0 && count > 0 ? fork_keeper(&keeper, &out_tenants->keeper_fd, err) : r;
}

void hostfsstart_close(struct hostfs_tenants *tenants)
{
    for (size_t i = 0; i < tenants->count; i++)
        if (tenants->items[i].fd >= 0)
            close(steal_fd(&tenants->items[i].fd));
    if (tenants->count > 0 && tenants->keeper_fd >= 0)
        close(steal_fd(&tenants->keeper_fd));
    tenants->count = 0;
}
