/* SPDX-License-Identifier: Apache-2.0 */
#include "session/commands.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "isolate/box/matches.h"
#include "isolate/box/places.h"
#include "isolate/box/startfiles.h"
#include "isolate/environment.h"
#include "isolate/launcher/launcher.h"
#include "isolate/webproxy.h"
#include "session/denied.h"
#include "session/networklock.h"
#include "shell/launched.h"

enum {
    PLACES_BYTES = 4 << 20,
    /* Enough for a large build, and an end for what only multiplies. */
    MOST_PROCESSES = 2048,
    /* Per cent of the memory of the machine. */
    MEMORY_PERCENT = 50,
    /* The same for all commands of the user together, of all sessions. */
    USER_PROCESSES = 2 * MOST_PROCESSES,
    USER_MEMORY_PERCENT = 80,
    WALK_BYTES = 32 << 20,
    SHOWN_PLACES = 8, /* that commands may change, in a question */
    REACH_BYTES = (SHOWN_PLACES + 1) * PATH_MAX,
};

#define READ_WARNING                                                                               \
    "commands can still read the files of the folder: denied reading applies only to the file "    \
    "tools"
#define UNASKED_WARNING                                                                            \
    "commands run without asking and can read and change the files of the folder, although the "   \
    "file tools ask; use --permission-shell ask to be asked about commands too"

#define DEFAULT_PATH "/usr/local/bin:/usr/bin:/bin"

struct commands {
    struct commands_config config;
    struct arena arena;
    struct places *places; /* of the envelope */
    const char **writable; /* of them, and as the user named them; up to a NULL */
    struct denied denied;  /* the envelope's */
    struct denied since;   /* what rules of later deny besides */
    struct launcher *launcher;
    struct launched *launched;
    struct shell *shell;
};

/* ---- the folders, as far as they are granted ---- */

/* The grants for the folders' files, as far as they hold; the scopes own the strings. */
struct granted {
    const struct session *session;
    size_t count;
    struct authority_grant grants[SESSION_MAX_FOLDERS];
};

static void find_grant(void *data, const struct authority_grant *grant)
{
    struct granted *granted = data;

    for (size_t i = 0; i < granted->session->folder_count; i++) {
        const struct session_folder *folder = &granted->session->folders[i];

        if (grant->id != authority_scope_grant(folder->files))
            continue;
        granted->grants[granted->count] = *grant;
        granted->grants[granted->count++].root.path = folder->root_path;
    }
}

static void find_grants(const struct session *session, struct granted *out_granted)
{
    out_granted->session = session;
    out_granted->count = 0;
    authority_grants(session->state.authority, find_grant, out_granted);
}

/* Adds rules made since the launcher was forked; those that ended since still apply. */
static int add_since(struct commands *commands, struct launched_less *less, struct err *err)
{
    struct permission *permission = keeper_permission(commands->config.session->keeper);
    int r;

    keeper_follow_links(commands->config.session->keeper);
    r = denied_gather_since(&commands->since, &commands->denied, permission, err);
    if (r < 0)
        return r;
    less->denials = commands->since.items;
    less->denial_count = commands->since.count;
    return 0;
}

static int narrow(void *data, struct launched_less *less, struct err *err)
{
    struct commands *commands = data;
    __attribute__((uninitialized)) struct granted granted;

    find_grants(commands->config.session, &granted);
    places_narrow(commands->places, granted.grants, granted.count, clock_wall_ms(&clock_system),
                  less->at_most);
    less->at_most_count = commands->places->count;
    return commands->config.is_open ? 0 : add_since(commands, less, err);
}

static int add_folders(struct places *places, const struct session *session, struct err *err)
{
    __attribute__((uninitialized)) struct granted granted;

    find_grants(session, &granted);
    return places_add_grants(places, granted.grants, granted.count, clock_wall_ms(&clock_system),
                             err);
}

/* What nobody can reach, no command can reach either. */
static int hide_first(struct places *places, const char *path, struct err *err)
{
    int r = places_add(places, path, BOX_HIDDEN, err);

    return r == ERR_PERMISSION_DENIED || r == ERR_NOT_A_DIRECTORY ? 0 : r;
}

/*
 * Deleted files are renamed into a folder of the state, and a command that works in such a
 * directory moves along: if the state lies in the folder, it ends up below the first cover. This is
 * a second one.
 */
static int hide_temporary(struct places *places, const char *state_path, struct err *err)
{
    char path[PATH_MAX];

    if (snprintf(path, sizeof(path), "%s/temp", state_path) >= (int)sizeof(path))
        return err_set_plain(err, ERR_TOO_LARGE);
    return places_add(places, path, BOX_HIDDEN, err);
}

/* Other programs of this user keep settings and state there. */
static int hide_own_places(struct places *places, const struct ownplaces *own, struct err *err)
{
    int r = 0;

    for (size_t i = 0; i < own->count && r == 0; i++)
        r = hide_first(places, own->items[i].path, err);
    return r;
}

/* So that no command creates what is to be hidden, and it can be hidden at all. */
static int make_own_places(const struct places *places, const struct ownplaces *own,
                           struct err *err)
{
    int r = 0;

    for (size_t i = 0; i < places->count && r == 0; i++)
        if (places->items[i].access == BOX_WRITE)
            r = ownplaces_make(own, places->items[i].path, err);
    return r;
}

/* The directories that an option names. */
static int add_given(const struct commands_config *config, const char *const *given,
                     enum box_access access, struct places *places, struct err *err)
{
    const char *option = access == BOX_WRITE ? "--shell-writable" : "--shell-readable";
    size_t before = places->count;
    struct err why = ERR_INIT;
    int r;

    for (size_t i = 0; given != NULL && given[i] != NULL; i++) {
        r = places_add(places, given[i], access, &why);
        if (r < 0)
            return err_set(err, r, "%s: %s", option, why.message);
    }
    for (size_t i = 0; given != NULL && given[i] != NULL; i++)
        if (places_has_link_to(places, given[i]))
            return err_set(err, ERR_INVALID_OPTION,
                           "%s: '%.150s' leads through a link in a folder that commands may "
                           "change; give the real path",
                           option, given[i]);
    for (size_t i = before; i < places->count; i++)
        if (ownplaces_has(&config->session->state.own, places->items[i].path))
            return err_set(err, ERR_INVALID_OPTION,
                           "%s: '%.150s' belongs to Gatehouse and cannot be granted", option,
                           places->items[i].path);
    return 0;
}

static int gather_places(const struct commands_config *config, struct places *places,
                         struct err *err)
{
    const struct session *session = config->session;
    int r = places_add(places, session->state.state_path, BOX_HIDDEN, err);

    if (r == 0)
        r = hide_temporary(places, session->state.state_path, err);
    if (r == 0 && config->hidden != NULL)
        r = hide_first(places, config->hidden, err);
    if (r == 0 && session->settings != NULL)
        r = places_add(places, settings_file_dir(session->settings), BOX_HIDDEN, err);
    if (r == 0)
        r = hide_own_places(places, &session->state.own, err);
    if (r == 0)
        r = add_folders(places, session, err);
    if (r == 0)
        r = add_given(config, config->writable, BOX_WRITE, places, err);
    if (r == 0)
        r = add_given(config, config->readable, BOX_READ, places, err);
    if (r == 0)
        r = make_own_places(places, &session->state.own, err);
    if (r == 0)
        r = places_show_toolchains(places, getenv("HOME"), err);
    if (r == 0)
        r = places_hide_secrets(places, getenv("HOME"), err);
    if (r == 0)
        r = places_hide_sockets(places, err);
    places_sort(places);
    return r;
}

/* By the names that the user gave them, and by those they resolve to. */
static int list_writable(struct commands *commands, struct err *err)
{
    const char *const *given = commands->config.writable;
    const struct session *session = commands->config.session;
    const struct places *places = commands->places;
    size_t given_count = 0;
    size_t count = 0;

    while (given != NULL && given[given_count] != NULL)
        given_count++;
    commands->writable =
        arena_alloc_array(&commands->arena, given_count + session->folder_count + places->count + 1,
                          sizeof(*commands->writable));
    if (commands->writable == NULL)
        return err_set_plain(err, commands->arena.error);
    for (size_t i = 0; i < given_count; i++) {
        commands->writable[count] = arena_copy(&commands->arena, str_from(given[i]));
        if (commands->writable[count++] == NULL)
            return err_set_plain(err, commands->arena.error);
    }
    for (size_t i = 0; i < session->folder_count; i++)
        if (session->folders[i].may_write)
            commands->writable[count++] = session->folders[i].given_path;
    for (size_t i = 0; i < places->count; i++)
        if (places->items[i].access == BOX_WRITE)
            commands->writable[count++] = places->items[i].path;
    commands->writable[count] = NULL;
    return 0;
}

static struct cgroup_limits limits(void)
{
    long pages = sysconf(_SC_PHYS_PAGES);
    long page_bytes = sysconf(_SC_PAGESIZE);
    struct cgroup_limits limits = {.processes = MOST_PROCESSES,
                                   .group = "gatehouse-commands",
                                   .group_processes = USER_PROCESSES};

    if (pages > 0 && page_bytes > 0) {
        uint64_t percent_bytes = (uint64_t)pages * (uint64_t)page_bytes / 100;

        limits.memory_bytes = percent_bytes * MEMORY_PERCENT;
        limits.group_memory_bytes = percent_bytes * USER_MEMORY_PERCENT;
    }
    return limits;
}

static bool hides_sensitive(const struct commands *commands)
{
    struct permission *permission = keeper_permission(commands->config.session->keeper);

    return !commands->config.is_open && permission_modes(permission).sensitive != PERMISSION_ALLOW;
}

static bool keeps_autorun(const struct commands *commands)
{
    struct permission *permission = keeper_permission(commands->config.session->keeper);

    return !commands->config.is_open && !permission_modes(permission).allows_autorun;
}

static struct matches_kinds kinds(const struct commands *commands)
{
    return (struct matches_kinds){.sensitive = hides_sensitive(commands),
                                  .autorun = keeps_autorun(commands)};
}

/* The launcher searches for these files before every command: checks that it can finish. */
static int try_searches(struct commands *commands, struct err *err)
{
    cleanup_arena struct arena arena = ARENA_INIT(WALK_BYTES);
    struct matches matches = {.room = BOX_MAX_DENIALS};
    struct err why = ERR_INIT;
    int r;

    matches.items = arena_alloc_array(&arena, matches.room, sizeof(*matches.items));
    if (matches.items == NULL)
        return err_set_plain(err, arena.error);
    r = matches_find(&arena, commands->denied.items, commands->denied.count,
                     commands->places->items, commands->places->count, &matches, &why);
    if (r < 0)
        return err_set(err, ERR_UNSUPPORTED, "cannot apply your deny patterns to commands: %s",
                       why.message);
    r = matches_find_kinds(&arena, kinds(commands), commands->places->items,
                           commands->places->count, &matches, &why);
    if (r < 0)
        return err_set(err, ERR_UNSUPPORTED,
                       "cannot keep commands from files with secrets and files that run by "
                       "themselves: %s",
                       why.message);
    return 0;
}

/* What --deny hides from the file tools, it hides from commands. */
static int add_globs(struct commands *commands, struct err *err)
{
    const struct session *session = commands->config.session;
    int r = 0;

    for (size_t i = 0; i < session->folder_count && r == 0; i++) {
        const struct session_folder *folder = &session->folders[i];
        const char *const *globs;

        r = session_take_globs(session, folder, &commands->arena, "--deny", commands->config.denied,
                               &globs, err);
        if (r == 0)
            r = denied_add_globs(&commands->denied, folder->root_path, globs, err);
    }
    return r;
}

/* Whether commands reach some hosts and no others. */
static bool has_hosts(const struct commands *commands)
{
    const struct commands_config *config = &commands->config;

    return !config->has_network && !config->is_open && config->domains != NULL &&
           config->domains[0] != NULL;
}

static int fork_launcher(struct commands *commands, struct err *err)
{
    struct arena *arena = &commands->arena;
    struct launcher_envelope envelope = {.env = NULL};
    struct box_plan plan = {.limits = limits(), .spares_host = true};
    cleanup_fd int held_fd = -1;
    const char *const *more = environment_join(
        arena, has_hosts(commands) ? webproxy_variables : NULL, commands->config.env);
    int r;

    if (more == NULL)
        return err_set_plain(err, arena->error);
    commands->places = arena_new(arena, struct places);
    if (commands->places == NULL)
        return err_set_plain(err, arena->error);
    *commands->places = (struct places)PLACES_INIT(arena);
    r = gather_places(&commands->config, commands->places, err);
    if (r == 0)
        r = list_writable(commands, err);
    if (r == 0 && !commands->config.is_open)
        r = denied_gather(&commands->denied, keeper_permission(commands->config.session->keeper),
                          err);
    if (r == 0 && !commands->config.is_open)
        r = add_globs(commands, err);
    if (r == 0 && !commands->config.is_open)
        r = try_searches(commands, err);
    if (r == 0)
        r = environment_clean(arena, environ, more, &envelope.env, err);
    if (r == 0 && (commands->config.has_network || commands->config.is_open))
        r = networklock_share(&held_fd, err);
    if (r < 0)
        return r;
    plan.places = commands->places->items;
    plan.place_count = commands->places->count;
    plan.home = getenv("HOME");
    plan.is_open = commands->config.is_open;
    plan.network = commands->config.has_network ? BOX_NETWORK_HOST
                   : has_hosts(commands)        ? BOX_NETWORK_LISTED
                                                : BOX_NETWORK_NONE;
    plan.hosts = commands->config.domains;
    plan.libexec = commands->config.libexec;
    envelope.plan = &plan;
    envelope.denials = commands->denied.items;
    envelope.denial_count = commands->denied.count;
    envelope.kinds = kinds(commands);
    envelope.held_fd = held_fd > 0 ? held_fd : 0;
    return launcher_new(&envelope, &commands->launcher, err);
}

int commands_open(const struct commands_config *config, struct commands **out_commands,
                  struct err *err)
{
    struct commands *commands;
    struct err why = ERR_INIT;
    int r = config->is_open ? 0 : box_probe(&why);

    if (r < 0)
        return err_set(err, ERR_UNSUPPORTED, "cannot sandbox commands on this machine: %s",
                       why.message);
    commands = calloc(1, sizeof(*commands));
    if (commands == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    commands->config = *config;
    arena_init(&commands->arena, PLACES_BYTES);
    denied_init(&commands->denied);
    denied_init(&commands->since);
    r = fork_launcher(commands, err);
    if (r < 0) {
        commands_free(commands);
        return r;
    }
    *out_commands = commands;
    return 0;
}

const char *commands_risk(const struct commands *commands)
{
    return commands->config.is_open ? NULL : startfiles_writable(commands->places, getenv("HOME"));
}

/* ---- in words, for whoever is asked ---- */

static int say_places(const struct places *places, struct buf *out)
{
    size_t count = 0;
    int r = 0;

    for (size_t i = 0; i < places->count && r == 0; i++) {
        if (places->items[i].access != BOX_WRITE)
            continue;
        if (++count <= SHOWN_PLACES)
            r = buf_printf(out, "%s%s", count > 1 ? ", " : " ", places->items[i].path);
    }
    if (r == 0 && count == 0)
        r = buf_append_str(out, STR(" no files"));
    if (r == 0 && count > SHOWN_PLACES)
        r = buf_printf(out, " and %zu more", count - SHOWN_PLACES);
    return r;
}

static int say_hosts(const char *const *domains, struct buf *out)
{
    size_t count = 0;
    int r = buf_append_str(out, STR(", with access to"));

    for (; domains[count] != NULL && r == 0; count++)
        if (count < SHOWN_PLACES)
            r = buf_printf(out, "%s %s", count > 0 ? "," : "", domains[count]);
    return r == 0 && count > SHOWN_PLACES ? buf_printf(out, " and %zu more", count - SHOWN_PLACES)
                                          : r;
}

static int say_reach(const struct commands *commands, struct buf *out)
{
    int r;

    if (commands->config.is_open)
        return buf_append_str(out, STR(", without a sandbox: it can do everything the user can"));
    if (commands->config.has_network)
        r = buf_append_str(out, STR(", with network access"));
    else
        r = has_hosts(commands) ? say_hosts(commands->config.domains, out)
                                : buf_append_str(out, STR(", without network"));
    if (r == 0)
        r = buf_append_str(out, STR("; it can change"));
    return r == 0 ? say_places(commands->places, out) : r;
}

/* ---- on the loop ---- */

static bool is_hidden(const void *data, const char *path)
{
    return !places_show(data, path);
}

int commands_start(struct commands *commands, struct loop *loop, struct err *err)
{
    const struct session *session = commands->config.session;
    const char *path = getenv("PATH");
    struct shell_config config = {
        .loop = loop,
        .names = session->folders[0].names,
        .root_path = session->folders[0].root_path,
        .given_path = session->folders[0].given_path,
        .recorded = session->folders[0].files,
        .path = path != NULL ? path : DEFAULT_PATH,
        .writable = commands->writable,
        .result_form = session->result_form,
        .timeout_ms = commands->config.timeout_ms,
        .sandbox = {.has_network = commands->config.has_network,
                    .has_hosts = has_hosts(commands),
                    .hides_sensitive = hides_sensitive(commands),
                    .keeps_autorun = keeps_autorun(commands),
                    .is_hidden = commands->config.is_open ? NULL : is_hidden,
                    .data = commands->places},
    };
    cleanup_buf struct buf reach = BUF_INIT(REACH_BYTES);
    int r = say_reach(commands, &reach);

    if (r == 0)
        r = buf_terminate(&reach, &config.reach);
    if (r == 0)
        r = launched_new(loop, commands->launcher, &commands->launched);
    if (r < 0)
        return err_set_plain(err, r);
    launched_set_narrow(commands->launched, narrow, commands);
    launched_set_final(commands->launched, commands->config.on_final, commands->config.data);
    config.starter = launched_starter(commands->launched);
    return shell_new(&config, &commands->shell, err);
}

const char *commands_warning(const struct commands *commands)
{
    struct permission *permission = keeper_permission(commands->config.session->keeper);
    const struct permission_modes modes = permission_modes(permission);

    if (modes.of[CATALOG_FILESYSTEM_READ] == PERMISSION_DENY)
        return READ_WARNING;
    return modes.of[CATALOG_SHELL] == PERMISSION_ALLOW &&
                   (modes.of[CATALOG_FILESYSTEM_READ] == PERMISSION_ASK ||
                    modes.of[CATALOG_FILESYSTEM_WRITE] == PERMISSION_ASK)
               ? UNASKED_WARNING
               : NULL;
}

struct shell *commands_shell(const struct commands *commands)
{
    return commands != NULL ? commands->shell : NULL;
}

void commands_leave(struct commands *commands)
{
    if (commands == NULL)
        return;
    shell_end(commands->shell);
    launched_free(commands->launched);
    launcher_free(commands->launcher);
}

void commands_free(struct commands *commands)
{
    if (commands == NULL)
        return;
    shell_free(commands->shell);
    launched_free(commands->launched);
    launcher_free(commands->launcher);
    denied_done(&commands->denied);
    denied_done(&commands->since);
    arena_done(&commands->arena);
    free(commands);
}
