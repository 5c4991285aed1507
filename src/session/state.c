/* SPDX-License-Identifier: Apache-2.0 */
#include "session/state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "files/tool.h"

enum { AUDIT_BYTES = 16 << 20 };

int session_state_default_dir(char out_path[PATH_MAX], struct err *err)
{
    const char *state = getenv("XDG_STATE_HOME");
    const char *home = getenv("HOME");
    int len = -1;

    /* The specification of these variables: a relative path counts as none. */
    if (state != NULL && state[0] == '/')
        len = snprintf(out_path, PATH_MAX, "%s/gatehouse", state);
    else if (home != NULL && home[0] == '/')
        len = snprintf(out_path, PATH_MAX, "%s/.local/state/gatehouse", home);
    if (len < 0 || len >= PATH_MAX)
        return err_set(err, ERR_INVALID_ARGUMENT,
                       "HOME is not an absolute path, so there is no directory for the audit log: "
                       "use --state-dir");
    return 0;
}

int session_state_absolute_path(const char *name, char out_path[PATH_MAX], struct err *err)
{
    char directory[PATH_MAX] = "";

    if (name[0] != '/' && getcwd(directory, sizeof(directory)) == NULL)
        return err_set(err, ERR_NOT_FOUND, "the current directory no longer exists");
    if (strcmp(name, ".") == 0)
        snprintf(out_path, PATH_MAX, "%s", directory);
    else if (snprintf(out_path, PATH_MAX, "%s%s%s", directory, name[0] != '/' ? "/" : "", name) >=
             PATH_MAX)
        return err_set(err, ERR_INVALID_PATH, "the folder's path is too long");
    return 0;
}

/* A directory of its own: a daemon of the same user keeps its audit log beside it. */
int session_state_server_dir(const char *given, char out_path[PATH_MAX], struct err *err)
{
    char parent[PATH_MAX];
    struct err why = ERR_INIT;
    int fd;
    int r = given != NULL ? session_state_absolute_path(given, parent, err)
                          : session_state_default_dir(parent, err);

    if (r < 0)
        return r;
    if (snprintf(out_path, PATH_MAX, "%s/server", parent) >= PATH_MAX)
        return err_set(err, ERR_INVALID_PATH, "the state directory's path is too long");
    for (int i = 0; i < 2 && r == 0; i++) {
        r = audit_dir_open(i == 0 ? parent : out_path, &fd, &why);
        if (r == 0)
            close(fd);
    }
    return r < 0 ? err_set(err, r, "%s; use --state-dir to choose another", why.message) : 0;
}

/* Refuses all changes, since none can be recorded; nobody minds it for reads. */
static int record_nothing(void *data, const struct authority_event *event)
{
    (void)data;
    (void)event;
    return ERR_AUDIT_UNAVAILABLE;
}

static int open_record(struct session_state *state, enum audit_sync sync, struct err *err)
{
    struct audit_config config = {
        .name = SESSION_AUDIT_NAME, .max_bytes = AUDIT_BYTES, .sync = sync, .gathers_reads = true};
    int r = audit_dir_open(state->state_path, &state->audit_dir_fd, err);

    if (r < 0)
        return r;
    config.dir_fd = state->audit_dir_fd;
    r = audit_file_open(&config, &state->audit, err);
    if (r == 0)
        r = authority_add_listener(state->authority, audit_file_record, state->audit);
    return r;
}

/* Other sessions keep their settings and audit logs there, wherever this one keeps its own. */
static int protect_own_places(struct session_state *state, struct err *err)
{
    int r = ownplaces_list(&state->own, err);

    for (size_t i = 0; i < state->own.count && r == 0; i++)
        r = authority_protect(state->authority, state->own.items[i].path, err);
    return r;
}

/* The user chose the directory, or can choose another. */
static int refuse_state(const struct session_state *state, int code, const struct err *why,
                        struct err *err)
{
    char shown[TOOL_SHOWN_BYTES];
    char words[ERR_MESSAGE_BYTES];

    snprintf(words, sizeof(words), "%s", why->code != 0 ? why->message : err_text(code));
    if (strstr(words, state->state_path) != NULL)
        return err_set(err, code, "%s; use --state-dir to choose another", words);
    tool_show(str_from(state->state_path), shown);
    return err_set(err, code, "'%s': %s; use --state-dir to choose another", shown, words);
}

/* A session that was killed may have been the last one with its state directory. */
static void sweep_others(const struct session_state *state)
{
    char common[PATH_MAX];

    if (session_state_default_dir(common, NULL) == 0)
        authority_sweep_known(common, state->state_path);
}

static int open_state(struct session_state *state, const struct session_state_config *given,
                      struct err *err)
{
    const bool on_disk = given->backend == AUTHORITY_LINUX;
    struct authority_config config = {
        .backend = given->backend,
        .state_dir = given->only_reads || !on_disk ? NULL : state->state_path,
    };
    struct err why = ERR_INIT;
    int r = authority_new(&config, &state->authority, &why);

    if (r == ERR_NO_SPACE && given->may_be_full) {
        config.state_dir = NULL;
        r = authority_new(&config, &state->authority, &why);
    }
    if (r < 0)
        return refuse_state(state, r, &why, err);
    if (config.state_dir != NULL)
        sweep_others(state);
    if (on_disk)
        r = protect_own_places(state, err);
    if (r < 0)
        return r;
    if (!given->is_recorded_elsewhere)
        r = open_record(state, given->audit_sync, &why);
    if (r == ERR_NO_SPACE && given->may_be_full) {
        state->is_full = true;
        r = authority_add_listener(state->authority, record_nothing, NULL);
    }
    /* An authority protects its own state directory by itself. */
    if (r == 0 && config.state_dir == NULL && on_disk)
        r = authority_protect(state->authority, state->state_path, &why);
    return r < 0 ? refuse_state(state, r, &why, err) : 0;
}

int session_state_open(const struct session_state_config *config, struct session_state *state,
                       struct err *err)
{
    int r;

    *state = SESSION_STATE_INIT;
    r = config->state_dir != NULL
            ? session_state_absolute_path(config->state_dir, state->state_path, err)
            : session_state_default_dir(state->state_path, err);
    return r == 0 ? open_state(state, config, err) : r;
}

const char *session_state_flush(struct session_state *state)
{
    bool was_failing = state->is_failing;

    if (state->audit == NULL) {
        state->is_failing = state->is_full;
        return state->is_full && !was_failing
                   ? "the state directory is full: changes are refused, and reads are not logged"
                   : NULL;
    }
    audit_file_flush(state->audit);
    state->is_failing = audit_file_untold(state->audit) > 0;
    if (state->is_failing == was_failing)
        return NULL;
    return was_failing
               ? "the audit log is written again; an entry says how many are missing"
               : "cannot write the audit log: changes are refused, and reads are not logged";
}

void session_state_take(struct session_state *from, struct session_state *out_state)
{
    *out_state = *from;
    *from = SESSION_STATE_INIT;
}

void session_state_close(struct session_state *state)
{
    authority_free(state->authority);
    audit_file_close(state->audit);
    ownplaces_free(&state->own);
    if (state->audit_dir_fd >= 0)
        close(state->audit_dir_fd);
    *state = SESSION_STATE_INIT;
}
