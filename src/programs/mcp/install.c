/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/mcp/install.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/printable.h"
#include "cli/output.h"
#include "cli/stop.h"
#include "cli/workspace.h"
#include "files/diff.h"
#include "programs/mcp/splice.h"

enum {
    FILE_MAX_BYTES = 32 << 20,
    FILE_MODE = 0600,
    MODE_BITS = 0777,
    ANSWER_BYTES = 16,
    MAX_BACKUP_TRIES = 100,
};

struct installing {
    const struct client_entry *entry;
    struct authority_scope *scope;
    char dir[PATH_MAX];
    char name[PATH_MAX];
    char path[2 * PATH_MAX];
    char backup[PATH_MAX + 64];
    bool takes_out;
    bool is_new;
    struct authority_stat seen;
    struct buf before;
    struct buf after;
};

static void say(struct str text, bool is_lines)
{
    cleanup_output struct output output = OUTPUT_INIT(STDOUT_FILENO, &stop_signal);
    struct str line;

    if (!is_lines)
        output_str(&output, text);
    else
        while (text.len > 0 && str_cut(&text, '\n', &line)) {
            output_shown(&output, line, PRINTABLE_TABS | PRINTABLE_BLANKS);
            output_line_end(&output);
        }
    (void)output_finish(&output, NULL);
}

static int open_scope(struct installing *installing, struct authority *authority, struct err *err)
{
    const struct authority_request request = {
        .subject = {.type = AUTHORITY_CORE, .id = "install"},
        .root = {.kind = AUTHORITY_WORKSPACE, .id = "client", .path = installing->dir},
        .access = AUTHORITY_READ | AUTHORITY_METADATA | AUTHORITY_WRITE | AUTHORITY_DELETE,
        .reason = "the settings of an MCP client, which the user has us change",
        .source = AUTHORITY_FROM_USER_APPROVAL,
        .limits = {.symlinks = AUTHORITY_SYMLINKS_REJECT},
    };
    struct err why = ERR_INIT;
    int r = authority_request_root(authority, &request, &installing->scope, &why);

    return r < 0 ? err_set(err, r, "%s: %s", installing->dir, why.message) : 0;
}

static int take_piece(void *data, struct str piece)
{
    return buf_append_str(data, piece);
}

static int read_file(struct installing *installing, struct err *err)
{
    struct err why = ERR_INIT;
    int r = authority_read_pieces(installing->scope, str_from(installing->name), NULL,
                                  &installing->seen, take_piece, &installing->before, &why);

    installing->is_new = r == ERR_NOT_FOUND;
    if (r == 0 || r == ERR_NOT_FOUND)
        return 0;
    return err_set(err, r, "%s is unchanged: %s", installing->path, why.message);
}

/* The text with the server in it, or without it. */
static int splice(struct installing *installing, struct err *err)
{
    const struct client_entry *entry = installing->entry;
    cleanup_buf struct buf text = BUF_INIT(CLIENTS_TEXT_BYTES);
    struct err why = ERR_INIT;
    int r = installing->takes_out ? 0 : clients_write_entry(entry, &text, err);

    if (r < 0)
        return r;
    switch (entry->client->format) {
    case CLIENT_JSON:
        r = splice_json(buf_view(&installing->before), str_from(entry->client->group),
                        str_from(entry->name), buf_view(&text), &installing->after, &why);
        break;
    case CLIENT_TOML:
        r = splice_toml(buf_view(&installing->before), STR("mcp_servers"), str_from(entry->name),
                        buf_view(&text), &installing->after, &why);
        break;
    case CLIENT_YAML:
    case CLIENT_FORM:
        return buf_append_str(&installing->after, buf_view(&text)) < 0
                   ? err_set_plain(err, ERR_NO_MEMORY)
                   : 0;
    }
    if (r == ERR_UNSUPPORTED && installing->takes_out)
        return err_set(err, r,
                       "%s is unchanged, because it is not understood (%s): remove %s from it "
                       "yourself",
                       installing->path, why.message, entry->name);
    if (r == ERR_UNSUPPORTED) {
        cleanup_buf struct buf snippet = BUF_INIT(CLIENTS_TEXT_BYTES);

        if (clients_write_snippet(entry, &snippet, NULL) == 0)
            say(buf_view(&snippet), false);
        return err_set(
            err, r,
            "%s is unchanged, because it is not understood (%s): put the text above into "
            "it yourself",
            installing->path, why.message);
    }
    return r < 0 ? err_set(err, r, "%s", why.message) : 0;
}

static int show_difference(const struct installing *installing, struct err *err)
{
    const struct diff_options options = {.name = str_from(installing->path + 1)};
    cleanup_buf struct buf diff = BUF_INIT(FILE_MAX_BYTES);
    int r =
        diff_unified(buf_view(&installing->before), buf_view(&installing->after), &options, &diff);

    if (r < 0)
        return err_set_plain(err, r);
    say(buf_view(&diff), true);
    return 0;
}

static int ask(const struct installing *installing, bool is_sure, struct err *err)
{
    char answer[ANSWER_BYTES] = "";

    if (is_sure)
        return 0;
    if (!isatty(STDIN_FILENO))
        return err_set(err, ERR_INVALID_OPTION,
                       "%s is unchanged: add --yes to change it without being asked",
                       installing->path);
    fprintf(stderr, "Change %s? [y/N] ", installing->path);
    if (fgets(answer, sizeof(answer), stdin) == NULL ||
        (strcasecmp(answer, "y\n") != 0 && strcasecmp(answer, "yes\n") != 0))
        return err_set(err, ERR_CANCELLED, "%s is unchanged", installing->path);
    return 0;
}

/* ---- writing ---- */

static int write_new(struct installing *installing, struct err *err)
{
    const struct authority_write_options options = {
        .create = AUTHORITY_CREATE_NEW, .make_parents = true, .mode = FILE_MODE};

    return authority_write_bytes(installing->scope, str_from(installing->name),
                                 buf_view(&installing->after), &options, err);
}

static int back_up(struct installing *installing, struct err *err)
{
    const struct authority_write_options options = {.create = AUTHORITY_CREATE_NEW,
                                                    .mode = installing->seen.mode & MODE_BITS};
    time_t now = (time_t)(clock_wall_ms(&clock_system) / 1000);
    char stamp[32] = "";
    char more[8] = "";
    struct tm utc;
    int r = ERR_ALREADY_EXISTS;

    if (gmtime_r(&now, &utc) != NULL)
        (void)strftime(stamp, sizeof(stamp), "%Y%m%dT%H%M%SZ", &utc);
    for (int i = 0; r == ERR_ALREADY_EXISTS && i < MAX_BACKUP_TRIES; i++) {
        if (i > 0)
            snprintf(more, sizeof(more), "-%02d", i);
        snprintf(installing->backup, sizeof(installing->backup), "%s.backup-%s%s", installing->name,
                 stamp, more);
        r = authority_write_bytes(installing->scope, str_from(installing->backup),
                                  buf_view(&installing->before), &options, err);
    }
    return r;
}

/* Exactly the file that was read: clients write their settings too. */
static int replace(struct installing *installing, struct err *err)
{
    const struct str content = buf_view(&installing->before);
    struct authority_exchange exchange = {.expected = &installing->seen,
                                          .expected_content = &content};
    const struct authority_write_options options = {.create = AUTHORITY_REPLACE_OLD,
                                                    .exchange = &exchange};
    int r = back_up(installing, err);

    if (r < 0)
        return r;
    r = authority_write_bytes(installing->scope, str_from(installing->name),
                              buf_view(&installing->after), &options, err);
    if (r < 0)
        (void)authority_remove(installing->scope, str_from(installing->backup), NULL, NULL);
    return r;
}

/* A file that has nothing else in it. */
static int remove_file(struct installing *installing, struct err *err)
{
    int r = back_up(installing, err);

    return r == 0 ? authority_remove(installing->scope, str_from(installing->name), NULL, err) : r;
}

static int change_file(struct installing *installing, struct err *err)
{
    if (installing->is_new)
        return write_new(installing, err);
    return installing->takes_out && installing->entry->client->format == CLIENT_YAML
               ? remove_file(installing, err)
               : replace(installing, err);
}

static int write_file(struct installing *installing, struct err *err)
{
    struct err why = ERR_INIT;
    int r = change_file(installing, &why);

    if (r == ERR_BUSY || r == ERR_ALREADY_EXISTS)
        return err_set(err, r, "%s is unchanged, because another program changes it: try again",
                       installing->path);
    if (r < 0)
        return err_set(err, r, "%s is unchanged: %s", installing->path, why.message);
    printf("%s is %s %s", installing->entry->name,
           installing->takes_out ? "no longer in" : "now in", installing->path);
    if (!installing->is_new)
        printf("; the old file is %s/%s", installing->dir, installing->backup);
    printf(". %s reads its settings when it starts.\n", installing->entry->client->title);
    return 0;
}

static int nothing_to_do(const struct installing *installing, struct err *err)
{
    if (installing->takes_out)
        return err_set(err, ERR_NOT_FOUND,
                       "there is no %s in %s: name another server with --name, or the folder",
                       installing->entry->name, installing->path);
    printf("%s is in %s already.\n", installing->entry->name, installing->path);
    return 0;
}

static int install(struct installing *installing, struct authority *authority, bool is_sure,
                   struct err *err)
{
    int r = clients_find_file(installing->entry, installing->dir, installing->name, err);

    if (r == 0)
        r = open_scope(installing, authority, err);
    if (r < 0)
        return r;
    snprintf(installing->path, sizeof(installing->path), "%s/%s", installing->dir,
             installing->name);
    r = read_file(installing, err);
    if (r == 0)
        r = splice(installing, err);
    if (r < 0)
        return r;
    if (str_eq(buf_view(&installing->before), buf_view(&installing->after)))
        return nothing_to_do(installing, err);
    r = show_difference(installing, err);
    if (r == 0)
        r = ask(installing, is_sure, err);
    return r == 0 ? write_file(installing, err) : r;
}

static int run(struct authority *authority, const struct client_entry *entry, bool takes_out,
               bool is_sure, struct err *err)
{
    struct installing installing = {.entry = entry,
                                    .takes_out = takes_out,
                                    .before = BUF_INIT(FILE_MAX_BYTES),
                                    .after = BUF_INIT(FILE_MAX_BYTES + CLIENTS_TEXT_BYTES)};
    int r = install(&installing, authority, is_sure, err);

    if (fflush(stdout) != 0 && r == 0)
        r = err_set(err, ERR_IO, "cannot write to standard output");
    authority_scope_free(installing.scope);
    buf_done(&installing.before);
    buf_done(&installing.after);
    return r;
}

/* The name of the folder comes from its real path; of one that has gone, from the given one. */
static int find_root(struct authority *authority, const char *folder, char out_path[PATH_MAX],
                     struct err *err)
{
    struct authority_request request = {
        .subject = {.type = AUTHORITY_CORE, .id = "install"},
        .root = {.kind = AUTHORITY_WORKSPACE, .id = "folder"},
        .access = AUTHORITY_METADATA,
        .reason = "the name of a folder that the user named",
        .source = AUTHORITY_FROM_USER_APPROVAL,
    };
    struct authority_scope *scope = NULL;
    char given[PATH_MAX];
    char real[PATH_MAX];
    size_t len;
    int r = session_state_absolute_path(folder, given, err);

    if (r < 0)
        return r;
    len = strlen(given);
    while (len > 1 && given[len - 1] == '/')
        given[--len] = '\0';
    request.root.path = given;
    if (authority_request_root(authority, &request, &scope, NULL) == 0 &&
        authority_scope_path(scope, real) == 0)
        snprintf(out_path, PATH_MAX, "%s", real);
    else
        snprintf(out_path, PATH_MAX, "%s", given);
    authority_scope_free(scope);
    return 0;
}

/* ---- copies of projects ---- */

static int open_records(const struct session_state *state, struct authority_scope **out_scope)
{
    char path[PATH_MAX];
    const struct authority_request request = {
        .subject = {.type = AUTHORITY_CORE, .id = "install"},
        .root = {.kind = AUTHORITY_WORKSPACE, .id = "workspaces", .path = path},
        .access = AUTHORITY_ALL_ACCESS,
        .reason = "notes which clients know the copy of a project",
        .source = AUTHORITY_FROM_CORE,
        .limits = {.symlinks = AUTHORITY_SYMLINKS_REJECT},
    };

    if (snprintf(path, sizeof(path), "%s/workspaces", state->state_path) >= (int)sizeof(path))
        return ERR_INVALID_PATH;
    return authority_request_root(state->authority, &request, out_scope, NULL);
}

/* The workspace whose copy this folder is; NULL if it is none. */
static const char *workspace_of(const struct session_state *state, const char *root)
{
    char copies[PATH_MAX];
    char real[PATH_MAX];
    size_t len;

    if (workspace_copies_dir(state->state_path, copies, NULL) < 0 ||
        find_root(state->authority, copies, real, NULL) < 0)
        return NULL;
    len = strlen(real);
    return strncmp(root, real, len) == 0 && root[len] == '/' && workspace_is_name(root + len + 1)
               ? root + len + 1
               : NULL;
}

/* So that `gatehouse workspace rm` can say what is left. It is no reason to fail. */
static void note_client(const struct session_state *state, const struct client_entry *entry,
                        const char *root, bool takes_out)
{
    const struct authority_write_options writing = {.mode = FILE_MODE};
    cleanup_buf struct buf old = BUF_INIT(WORKSPACE_TOLD_BYTES);
    cleanup_buf struct buf text = BUF_INIT(WORKSPACE_TOLD_BYTES);
    cleanup_buf struct buf own = BUF_INIT(WORKSPACE_TOLD_BYTES);
    const char *workspace = workspace_of(state, root);
    struct authority_scope *scope = NULL;
    char name[WORKSPACE_TOLD_NAME_BYTES];
    struct str rest;
    struct str line;
    int r;

    if (workspace == NULL || open_records(state, &scope) < 0)
        return;
    snprintf(name, sizeof(name), "%s" WORKSPACE_TOLD_SUFFIX, workspace);
    r = authority_read_bytes(scope, str_from(name), NULL, &old, NULL);
    if (r == 0 || (r == ERR_NOT_FOUND && !takes_out))
        r = buf_printf(&own, "%s %s", mcp_clients[entry->id], entry->name);
    rest = buf_view(&old);
    while (r == 0 && rest.len > 0 && str_cut(&rest, '\n', &line))
        if (!str_eq(line, buf_view(&own)))
            r = buf_printf(&text, "%.*s\n", STR_ARG(line));
    if (r == 0 && !takes_out)
        r = buf_printf(&text, "%.*s\n", STR_ARG(buf_view(&own)));
    if (r == 0)
        (void)authority_write_bytes(scope, str_from(name), buf_view(&text), &writing, NULL);
    authority_scope_free(scope);
}

int install_run(struct session *session, const struct client_entry *entry, bool is_sure,
                struct err *err)
{
    int r = run(session->state.authority, entry, false, is_sure, err);

    if (r == 0)
        note_client(&session->state, entry, session->folders[0].root_path, false);
    return r;
}

int install_undo(struct arena *arena, const struct option_values *values, struct err *err)
{
    const struct session_state_config config = {.state_dir =
                                                    options_text(values, MCP_OPTION_STATE_DIR)};
    enum mcp_client id = (enum mcp_client)options_choice(values, MCP_OPTION_UNINSTALL);
    struct session_state state;
    struct client_entry entry;
    char root[PATH_MAX];
    int r = session_state_open(&config, &state, err);

    if (r == 0)
        r = find_root(state.authority,
                      values->argument_count > 0 ? options_argument(values, 0) : ".", root, err);
    if (r == 0)
        r = clients_make(arena, values, id, root, &entry, err);
    if (r == 0)
        r = run(state.authority, &entry, true, options_is_on(values, MCP_OPTION_YES), err);
    if (r == 0)
        note_client(&state, &entry, root, true);
    session_state_close(&state);
    return r;
}
