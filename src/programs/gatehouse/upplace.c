/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/gatehouse/upplace.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "authority/names/path.h"
#include "base/cleanup.h"
#include "base/sha256.h"
#include "cli/shared.h"
#include "cli/workspace.h"
#include "files/patterns.h"
#include "isolate/environment.h"
#include "programs/gatehouse/start.h"
#include "programs/gatehouse/status.h"
#include "programs/gatehouse/up.h"

enum {
    FIRST_PORT = 17654, /* of folders' own; below those that the kernel gives away */
    PORTS = 1000,
    NAME_CHARS = 32, /* of a folder, in that of its state */
    PATHS_BYTES = 64 << 20,
};

/* Its one true name, so that it is recognised. Before anything starts: the daemon would say after
 * the address that it is not there. */
static int find_folder(const char *given, char out_folder[PATH_MAX], struct err *err)
{
    char named[PATH_MAX];
    char inside[PATH_MAX + 2]; /* only a directory has this */
    int r = start_absolute(given, named, err);

    if (r < 0)
        return r;
    snprintf(inside, sizeof(inside), "%s/.", named);
    return access(inside, R_OK | X_OK) == 0 && realpath(named, out_folder) != NULL
               ? 0
               : err_set(err, err_from_errno(errno), "cannot use the folder '%s': %s", named,
                         err_errno_text(errno));
}

/* As the server and the daemon find it. */
static int find_state(char out_state[PATH_MAX], struct err *err)
{
    const char *given = getenv("GATEHOUSE_STATE_DIR");

    return workspace_find_state(given != NULL && given[0] != '\0' ? given : NULL, out_state, err);
}

/* "up-project-1f2e3d4c", below the usual directory, which agents never see. */
static int name_own_state(const char *state, const char *folder, const unsigned char *digest,
                          char out_path[PATH_MAX], struct err *err)
{
    const char *last = strrchr(folder, '/') + 1;
    char name[NAME_CHARS + 1];
    size_t len = 0;

    for (; len < NAME_CHARS && last[len] != '\0'; len++) {
        bool is_plain = (last[len] >= 'a' && last[len] <= 'z') ||
                        (last[len] >= 'A' && last[len] <= 'Z') ||
                        (last[len] >= '0' && last[len] <= '9');

        name[len] = '-';
        if (is_plain)
            name[len] = last[len];
    }
    name[len] = '\0';
    return snprintf(out_path, PATH_MAX, "%s/up-%s-%02x%02x%02x%02x", state, name, digest[0],
                    digest[1], digest[2], digest[3]) < PATH_MAX
               ? 0
               : err_set(err, ERR_INVALID_PATH, "the state directory's path is too long");
}

static bool is_free(int port)
{
    const struct sockaddr_in address = {.sin_family = AF_INET,
                                        .sin_port = htons((uint16_t)port),
                                        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    cleanup_fd int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int on = 1;

    /* As the server does it: connections that have ended do not count. */
    return fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
           bind(fd, (const struct sockaddr *)&address, sizeof(address)) == 0 && listen(fd, 1) == 0;
}

/*
 * Whether the port is free, also of others that start now and have chosen it, but whose servers do
 * not listen yet. The claim is a name that belongs to the network, as the port does, and goes with
 * its process.
 */
static bool claim(int port, int *out_claim)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char *name = address.sun_path + 1; /* behind a NUL: no file */
    size_t len = (size_t)snprintf(name, sizeof(address.sun_path) - 1, "gatehouse-up-%d", port);
    cleanup_fd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    len += offsetof(struct sockaddr_un, sun_path) + 1;
    if (fd >= 0 && bind(fd, (const struct sockaddr *)&address, (socklen_t)len) < 0 &&
        errno == EADDRINUSE)
        return false;
    if (!is_free(port))
        return false;
    *out_claim = steal_fd(&fd);
    return true;
}

/* The same with each start, as long as nobody else takes it. */
static int own_port(const unsigned char *digest, int *out_claim)
{
    int start = (digest[4] << 8 | digest[5]) % PORTS;

    for (int i = 0; i < PORTS; i++)
        if (claim(FIRST_PORT + (start + i) % PORTS, out_claim))
            return FIRST_PORT + (start + i) % PORTS;
    return FIRST_PORT + start;
}

/* A folder that had keys and logins of its own keeps them, and its address: agents know both. */
static int choose_state(const unsigned char *digest, bool is_taken, struct upplace *place,
                        struct err *err)
{
    char usual[PATH_MAX];
    char own[PATH_MAX];
    int r = find_state(usual, err);

    if (r == 0)
        r = name_own_state(usual, place->folder, digest, own, err);
    if (r < 0 || (!is_taken && access(own, F_OK) < 0))
        return r;
    snprintf(place->state, sizeof(place->state), "%s", usual);
    snprintf(place->server_state, sizeof(place->server_state), "%s", own);
    return 0;
}

bool upplace_own_state(struct str folder, char out_path[PATH_MAX])
{
    char named[PATH_MAX];
    char usual[PATH_MAX];
    unsigned char digest[SHA256_BYTES];

    sha256_of(folder, digest);
    return (size_t)snprintf(named, sizeof(named), "%.*s", STR_ARG(folder)) == folder.len &&
           named[0] == '/' && find_state(usual, NULL) == 0 &&
           name_own_state(usual, named, digest, out_path, NULL) == 0 && access(out_path, F_OK) == 0;
}

/* Without an address: the usual one, if nobody has it. */
static int choose_free(int port, const char *state, struct upplace *place, struct err *err)
{
    cleanup_fd int usual = -1;
    bool is_taken = !claim(port, &usual);
    unsigned char digest[SHA256_BYTES];
    int r = 0;

    sha256_of(str_from(place->folder), digest);
    if (state == NULL)
        r = choose_state(digest, is_taken, place, err);
    if (is_taken || place->server_state[0] != '\0')
        port = own_port(digest, &place->claim);
    else
        place->claim = steal_fd(&usual);
    snprintf(place->listen, sizeof(place->listen), "127.0.0.1:%d", port);
    return r;
}

struct wish {
    const char *url; /* of an address that was given, or NULL */
    const char *folder;
    struct err *err;
};

static int refuse_second(void *data, const struct status_up *up)
{
    const struct wish *wish = data;

    if (wish->url != NULL ? !str_eq_c(up->page, wish->url) : !str_eq_c(up->folder, wish->folder))
        return 0;
    return err_set(wish->err, ERR_ALREADY_EXISTS,
                   "it is already running at %.*s, for '%.*s': use that ('gatehouse status' says "
                   "how another browser gets in), or stop it with 'gatehouse down'%s",
                   STR_ARG(up->page), STR_ARG(up->folder),
                   wish->url != NULL ? ", or leave out --port and --listen" : "");
}

/* Before anything starts, like the first; only that one is recognised by its true name. */
static int check_others(const struct option_values *values, struct err *err)
{
    static const size_t about_commands[] = {UP_OPTION_SHELL_DOMAIN, UP_OPTION_SHELL_ENV};
    const struct option_list lists[] = {options_list(values, UP_OPTION_RW),
                                        options_list(values, UP_OPTION_RO)};
    static const struct {
        const char *name;
        size_t option;
    } changing[] = {{"--permission-filesystem-write", UP_OPTION_PERMISSION_WRITE},
                    {"--permission-shell", UP_OPTION_PERMISSION_SHELL}};
    char path[PATH_MAX];
    int r;

    if (lists[0].count > 0 && options_is_on(values, UP_OPTION_READ_ONLY))
        return err_set(err, ERR_INVALID_OPTION,
                       "--rw has no effect with --read-only: omit one of them");
    if (lists[0].count + lists[1].count >= SHARED_MAX_FOLDERS)
        return err_set(err, ERR_INVALID_OPTION, "at most %d folders can be served",
                       SHARED_MAX_FOLDERS);
    for (size_t i = 0; i < array_size(about_commands); i++)
        if (options_source(values, about_commands[i]) == OPTION_FLAG &&
            options_is_on(values, UP_OPTION_READ_ONLY))
            return err_set(err, ERR_INVALID_OPTION,
                           "--%s has no effect with --read-only, which offers no commands: "
                           "omit one of them",
                           up_options[about_commands[i]].name);
    for (size_t i = 0; i < array_size(changing); i++)
        if (options_source(values, changing[i].option) == OPTION_FLAG &&
            strcmp(shared_modes[options_choice(values, changing[i].option)], "deny") != 0 &&
            options_is_on(values, UP_OPTION_READ_ONLY))
            return err_set(err, ERR_INVALID_OPTION,
                           "%s has no effect with --read-only: omit one of them", changing[i].name);
    if (options_list(values, UP_OPTION_SHELL_ENV).count > ENVIRONMENT_MAX)
        return err_set(err, ERR_INVALID_OPTION, "--shell-env: at most %d variables",
                       ENVIRONMENT_MAX);
    r = environment_check("--shell-env", options_list(values, UP_OPTION_SHELL_ENV).items, environ,
                          err);
    if (r == 0)
        r = shared_check_domains(values, UP_OPTION_SHELL_DOMAIN, "shell-domain", err);
    for (size_t i = 0; i < array_size(lists); i++)
        for (size_t k = 0; k < lists[i].count && r == 0; k++)
            r = find_folder(lists[i].items[k], path, err);
    return r;
}

bool upplace_hides_commands(const struct option_values *values)
{
    return options_list(values, UP_OPTION_ALLOW).count > 0;
}

/* The daemon knows the first folder only by its true name: another would match nothing. */
static int check_name(const struct option_values *values, size_t option, const char *given,
                      const char *folder, struct err *err)
{
    const struct option_list globs = options_list(values, option);
    char path[PATH_MAX];
    int r = start_absolute(given, path, err);

    for (size_t i = 0; i < globs.count && r == 0; i++) {
        struct str by_given = str_from(globs.items[i]);
        struct str by_name = by_given;

        if (path_strip_root(&by_given, path) && !path_strip_root(&by_name, folder))
            r = err_set(err, ERR_INVALID_OPTION,
                        "--%s '%.150s': the folder is '%s', by its real path; write a path "
                        "relative to it",
                        up_options[option].name, globs.items[i], folder);
    }
    return r;
}

/* The paths of a folder as given and without links, for patterns_take(). */
static int add_paths(struct arena *arena, const char *given, const char **paths, struct err *err)
{
    char path[PATH_MAX];
    int r = start_absolute(given, path, err);

    if (r == 0)
        paths[0] = arena_copy(arena, str_from(path));
    if (r == 0)
        r = find_folder(given, path, err);
    if (r == 0)
        paths[1] = arena_copy(arena, str_from(path));
    return r == 0 && arena->error != 0 ? err_set_plain(err, arena->error) : r;
}

/* As in each session, for each folder by itself. */
static int check_globs_of(struct arena *arena, const struct option_values *values,
                          const char *const *paths, size_t count, size_t folder, struct err *err)
{
    const char *const roots[] = {paths[2 * folder], paths[2 * folder + 1], NULL};
    const char *others[2 * SHARED_MAX_FOLDERS + 1];
    const char *const *globs;
    size_t other_count = 0;
    int r;

    for (size_t i = 0; i < 2 * count; i++)
        if (i / 2 != folder)
            others[other_count++] = paths[i];
    others[other_count] = NULL;
    r = patterns_take(arena, "--deny", options_list(values, UP_OPTION_DENY).items, roots, others,
                      &globs, err);
    return r == 0 ? patterns_take(arena, "--allow", options_list(values, UP_OPTION_ALLOW).items,
                                  roots, others, &globs, err)
                  : r;
}

static int check_globs(const struct option_values *values, const char *given, const char *folder,
                       struct err *err)
{
    cleanup_arena struct arena arena = ARENA_INIT(PATHS_BYTES);
    const struct option_list lists[] = {options_list(values, UP_OPTION_RW),
                                        options_list(values, UP_OPTION_RO)};
    const char *paths[2 * SHARED_MAX_FOLDERS];
    size_t count = 1;
    int r;

    if (options_list(values, UP_OPTION_DENY).count == 0 && !upplace_hides_commands(values))
        return 0;
    if (upplace_hides_commands(values) &&
        options_source(values, UP_OPTION_PERMISSION_SHELL) == OPTION_FLAG &&
        strcmp(shared_modes[options_choice(values, UP_OPTION_PERMISSION_SHELL)], "deny") != 0)
        return err_set(err, ERR_INVALID_OPTION, SHARED_ALLOW_REFUSAL);
    r = check_name(values, UP_OPTION_DENY, given, folder, err);
    if (r == 0)
        r = check_name(values, UP_OPTION_ALLOW, given, folder, err);
    if (r == 0)
        r = add_paths(&arena, folder, paths, err);
    for (size_t i = 0; i < array_size(lists); i++)
        for (size_t k = 0; k < lists[i].count && r == 0; k++)
            r = add_paths(&arena, lists[i].items[k], paths + 2 * count++, err);
    for (size_t i = 0; i < count && r == 0; i++)
        r = check_globs_of(&arena, values, paths, count, i, err);
    return r;
}

int upplace_choose(const struct option_values *values, struct upplace *out_place, struct err *err)
{
    const char *folder = options_argument(values, UP_ARGUMENT_DIR);
    const char *state = options_text(values, UP_OPTION_STATE_DIR);
    const char *address = options_text(values, UP_OPTION_LISTEN);
    bool has_port = options_source(values, UP_OPTION_PORT) == OPTION_FLAG;
    int port = (int)options_int(values, UP_OPTION_PORT);
    char url[UPPLACE_ADDRESS_BYTES + 8];
    struct upplace place = {.claim = -1};
    int r = find_folder(folder != NULL ? folder : ".", place.folder, err);

    if (r == 0)
        r = check_others(values, err);
    if (r == 0)
        r = check_globs(values, folder != NULL ? folder : ".", place.folder, err);
    if (r == 0 && address != NULL && has_port)
        r = err_set(err, ERR_INVALID_OPTION, "use either --port or --listen");
    if (r == 0 && state != NULL)
        r = start_absolute(state, place.state, err);
    if (r < 0)
        return r;
    if (address != NULL)
        snprintf(place.listen, sizeof(place.listen), "%s", address);
    else
        snprintf(place.listen, sizeof(place.listen), "127.0.0.1:%d", port);
    snprintf(url, sizeof(url), "http://%s", place.listen);
    if (address != NULL || has_port)
        r = status_each_up(refuse_second, &(struct wish){.url = url, .err = err});
    else if (state == NULL)
        r = status_each_up(refuse_second, &(struct wish){.folder = place.folder, .err = err});
    if (r == 0 && address == NULL && !has_port)
        r = choose_free(port, state, &place, err);
    if (r == 0)
        *out_place = place;
    return r;
}
