/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/mcp/consent.h"

#include "cli/mcp.h"
#include "cli/shared.h"
#include "loop/reader.h"

static enum permission_mode write_mode(const struct option_values *values)
{
    if (options_source(values, MCP_OPTION_PERMISSION_WRITE) != OPTION_UNSET)
        return (enum permission_mode)options_choice(values, MCP_OPTION_PERMISSION_WRITE);
    return options_is_on(values, MCP_OPTION_WRITE) ? PERMISSION_ALLOW : PERMISSION_DENY;
}

/* Folders may be writable each by itself; how that is decided is the same for all. */
static void add_writable(struct consent *consent, const struct option_values *values)
{
    enum permission_mode *mode = &consent->session.modes.of[CATALOG_FILESYSTEM_WRITE];

    consent->writes_unmarked = *mode != PERMISSION_DENY;
    if (options_list(values, MCP_OPTION_RW).count > 0 &&
        options_source(values, MCP_OPTION_PERMISSION_WRITE) == OPTION_UNSET)
        *mode = PERMISSION_ALLOW;
}

/* Changes are denied, whatever --rw says. */
static int refuse_writable(struct consent *consent, const struct option_values *values,
                           struct err *err)
{
    consent->writes_unmarked = false;
    if (options_list(values, MCP_OPTION_RW).count == 0)
        return 0;
    return err_set(err, ERR_INVALID_OPTION,
                   "--rw has no effect with --permission-filesystem-%s deny: omit one of them",
                   consent->session.modes.of[CATALOG_FILESYSTEM_READ] == PERMISSION_DENY ? "read"
                                                                                         : "write");
}

static bool is_asking(const struct permission_modes *modes)
{
    for (size_t i = 0; i < PERMISSION_GROUPS; i++)
        if (modes->of[i] == PERMISSION_ASK)
            return true;
    return false;
}

static bool asks_about_sensitive(const struct permission_modes *modes)
{
    return modes->of[CATALOG_FILESYSTEM_READ] == PERMISSION_ALLOW &&
           modes->sensitive == PERMISSION_ASK;
}

static void open_workspace(struct permission_modes *modes, const struct option_values *values)
{
    if (options_source(values, MCP_OPTION_PERMISSION_WRITE) == OPTION_UNSET)
        modes->of[CATALOG_FILESYSTEM_WRITE] = PERMISSION_ALLOW;
    if (options_source(values, MCP_OPTION_PERMISSION_SHELL) == OPTION_DEFAULT)
        modes->of[CATALOG_SHELL] = PERMISSION_ALLOW;
    if (options_source(values, MCP_OPTION_SENSITIVE) == OPTION_DEFAULT)
        modes->sensitive = PERMISSION_ALLOW;
    modes->allows_autorun = true; /* no program of the user does */
}

int consent_init(struct consent *consent, const struct option_values *values, bool in_workspace,
                 struct err *err)
{
    struct permission_modes *modes = &consent->session.modes;
    bool is_remote = options_is_on(values, MCP_OPTION_ALLOW_REMOTE_ALWAYS);
    int r;

    *consent = (struct consent){.board = NOTICEBOARD_INIT, .socket = ASKING_SOCKET_INIT};
    modes->of[CATALOG_FILESYSTEM_READ] =
        (enum permission_mode)options_choice(values, MCP_OPTION_PERMISSION_READ);
    modes->of[CATALOG_FILESYSTEM_WRITE] = write_mode(values);
    modes->of[CATALOG_SHELL] =
        (enum permission_mode)options_choice(values, MCP_OPTION_PERMISSION_SHELL);
    modes->of[CATALOG_COMPUTER] =
        (enum permission_mode)options_choice(values, MCP_OPTION_PERMISSION_COMPUTER);
    modes->of[CATALOG_BROWSER] =
        (enum permission_mode)options_choice(values, MCP_OPTION_PERMISSION_BROWSER);
    modes->sensitive = (enum permission_mode)options_choice(values, MCP_OPTION_SENSITIVE);
    modes->allows_autorun = options_choice(values, MCP_OPTION_AUTORUN) == SHARED_AUTORUN_ALLOW;
    if (in_workspace)
        open_workspace(modes, values);
    add_writable(consent, values);
    r = permission_modes_constrain(modes, err);
    if (r == 0 && modes->of[CATALOG_FILESYSTEM_WRITE] == PERMISSION_DENY)
        r = refuse_writable(consent, values, err);
    if (r < 0)
        return r;
    if (is_remote && !is_asking(modes) && !asks_about_sensitive(modes))
        return err_set(err, ERR_INVALID_OPTION,
                       "--allow-remote-always has no effect unless something is set to ask: add "
                       "--permission-… ask");
    consent->session.settings_dir = options_text(values, MCP_OPTION_SETTINGS_DIR);
    /* Not for sensitive files alone: a server that only reads could then write here. */
    consent->session.keeps_rules = is_asking(modes) || is_remote;
    consent->allows_remote_always = is_remote;
    return 0;
}

/* ---- rules that change ---- */

static void on_settings(void *data)
{
    struct consent *consent = data;
    struct err err = ERR_INIT;

    if (!keeper_is_outdated(consent->base->keeper))
        return;
    if (keeper_refresh(consent->base->keeper, &err) < 0)
        log_write(consent->log, LOG_WARN,
                  "cannot reload the rules: the last known rules still apply, and everything else "
                  "is asked about until they can be read",
                  LOG_TEXT("error", err.message));
    else
        log_write(consent->log, LOG_INFO, "rules reloaded");
}

static int follow_rules(struct consent *consent, struct loop *loop, struct err *err)
{
    bool is_timed;
    int fd;
    int r;

    if (consent->base->settings == NULL)
        return 0;
    r = settings_file_watch(consent->base->settings, &fd, &is_timed, err);
    if (r == 0 && is_timed)
        log_write(consent->log, LOG_WARN, SETTINGS_FILE_TIMED);
    if (r == 0)
        r = ready_watch_new(loop, fd, on_settings, consent, &consent->watch);
    return r;
}

static void tell_findings(const struct consent *consent)
{
    const struct settings_findings *findings = &consent->base->findings;

    if (findings->is_set_aside)
        log_write(consent->log, LOG_WARN,
                  "malformed settings were moved aside: everything is asked about until you repair "
                  "and restore that file, or remove it",
                  LOG_TEXT("file", findings->set_aside), LOG_TEXT("error", findings->why));
    if (consent->base->settings == NULL)
        log_write(consent->log, LOG_WARN,
                  "cannot find or create the settings, so none of your rules apply: set HOME, or "
                  "use --settings-dir");
    if (consent->base->settings != NULL && settings_file_note(consent->base->settings)[0] != '\0')
        log_write(consent->log, LOG_WARN, settings_file_note(consent->base->settings));
}

/* ---- terminals of `gatehouse ask` ---- */

static int describe(void *data, struct buf *out)
{
    const struct consent *consent = data;

    return buf_printf(out, "gatehouse mcp, folder %s", consent->base->folders[0].root_path);
}

void consent_listen(struct consent *consent, const struct log *log)
{
    struct err err = ERR_INIT;

    if (asking_socket_open(&consent->socket, &err) < 0)
        log_error(log, "'gatehouse ask' will not show questions of this server", &err);
    if (noticeboard_open(&consent->board, &err) < 0)
        log_error(log, "agents with mouse and keyboard will not wait for questions of others",
                  &err);
}

static int open_queue(struct consent *consent, struct loop *loop, struct err *err)
{
    int r = question_queue_new(&consent->queue);

    if (r == 0 && consent->socket.listen_fd >= 0)
        r = asker_new(&(struct asker_config){.loop = loop,
                                             .queue = consent->queue,
                                             .listen_fd = consent->socket.listen_fd,
                                             .describe = describe,
                                             .data = consent},
                      &consent->asker);
    return r < 0 ? err_set_plain(err, r) : 0;
}

int consent_start(struct consent *consent, struct loop *loop, const struct log *log,
                  const struct session *session, struct err *err)
{
    int r;

    consent->log = log;
    consent->base = session;
    tell_findings(consent);
    r = open_queue(consent, loop, err);
    return r == 0 ? follow_rules(consent, loop, err) : r;
}

void consent_done(struct consent *consent)
{
    ready_watch_free(consent->watch);
    asker_free(consent->asker);
    question_queue_free(consent->queue);
    asking_socket_close(&consent->socket);
    noticeboard_close(&consent->board);
    *consent = (struct consent){.board = NOTICEBOARD_INIT, .socket = ASKING_SOCKET_INIT};
}
