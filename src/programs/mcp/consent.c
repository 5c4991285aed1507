/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/mcp/consent.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/mcp.h"
#include "console/console.h"
#include "loop/reader.h"

static enum permission_mode write_mode(const struct option_values *values)
{
    if (options_source(values, MCP_OPTION_PERMISSION_WRITE) != OPTION_UNSET)
        return (enum permission_mode)options_choice(values, MCP_OPTION_PERMISSION_WRITE);
    return options_is_on(values, MCP_OPTION_WRITE) ? PERMISSION_ALLOW : PERMISSION_DENY;
}

/* The user's own terminal, named on the command line. */
static int open_terminal(const char *name, int *out_fd, struct err *err)
{
    int fd = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0)
        return err_set(err, ERR_INVALID_OPTION, "--ask-tty: cannot open '%s': %s", name,
                       err_errno_text(errno));
    if (!isatty(fd)) {
        close(fd);
        return err_set(err, ERR_INVALID_OPTION,
                       "--ask-tty: '%s' is not a terminal; run tty to get the name of one", name);
    }
    *out_fd = fd;
    return 0;
}

static bool is_asking(const struct permission_modes *modes)
{
    for (size_t i = 0; i < PERMISSION_GROUPS; i++)
        if (modes->of[i] == PERMISSION_ASK)
            return true;
    return modes->of[CATALOG_FILESYSTEM_READ] == PERMISSION_ALLOW &&
           modes->sensitive == PERMISSION_ASK;
}

int consent_init(struct consent *consent, const struct option_values *values, struct err *err)
{
    const char *terminal = options_text(values, MCP_OPTION_ASK_TTY);
    struct permission_modes *modes = &consent->session.modes;
    bool is_remote = options_is_on(values, MCP_OPTION_ALLOW_REMOTE_ALWAYS);
    int r;

    *consent = (struct consent){.terminal_fd = -1};
    modes->of[CATALOG_FILESYSTEM_READ] =
        (enum permission_mode)options_choice(values, MCP_OPTION_PERMISSION_READ);
    modes->of[CATALOG_FILESYSTEM_WRITE] = write_mode(values);
    modes->of[CATALOG_SHELL] =
        (enum permission_mode)options_choice(values, MCP_OPTION_PERMISSION_SHELL);
    modes->sensitive = (enum permission_mode)options_choice(values, MCP_OPTION_SENSITIVE);
    r = permission_modes_constrain(modes, err);
    if (r < 0)
        return r;
    if (!is_asking(modes) && (terminal != NULL || is_remote))
        return err_set(err, ERR_INVALID_OPTION,
                       "%s has no effect unless something is set to ask: add --permission-… ask",
                       terminal != NULL ? "--ask-tty" : "--allow-remote-always");
    consent->session.settings_dir = options_text(values, MCP_OPTION_SETTINGS_DIR);
    consent->session.keeps_rules = terminal != NULL || is_remote;
    consent->allows_remote_always = is_remote;
    return terminal != NULL ? open_terminal(terminal, &consent->terminal_fd, err) : 0;
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

/* ---- the terminal ---- */

static void on_gone(void *data)
{
    const struct consent *consent = data;

    log_write(consent->log, LOG_WARN,
              "the terminal of --ask-tty is gone: everything that needs permission is refused from "
              "now on");
}

static int open_desk(struct consent *consent, struct loop *loop, struct err *err)
{
    int r;

    if (consent->terminal_fd < 0)
        return 0;
    r = question_queue_new(&consent->queue);
    if (r < 0)
        return err_set_plain(err, r);
    r = console_new(
        &(struct console_config){
            .loop = loop,
            .queue = consent->queue,
            .in_fd = consent->terminal_fd,
            .out_fd = consent->terminal_fd,
            .look = stage_look(getenv("TERM"), getenv("NO_COLOR"), getenv("LC_ALL"),
                               getenv("LC_CTYPE"), getenv("LANG")),
            .on_gone = on_gone,
            .data = consent,
        },
        &consent->console);
    return r < 0 ? err_set(err, r, "--ask-tty: %s", err_text(r)) : 0;
}

int consent_start(struct consent *consent, struct loop *loop, const struct log *log,
                  const struct session *session, struct err *err)
{
    int r;

    consent->log = log;
    consent->base = session;
    tell_findings(consent);
    r = open_desk(consent, loop, err);
    return r == 0 ? follow_rules(consent, loop, err) : r;
}

void consent_done(struct consent *consent)
{
    ready_watch_free(consent->watch);
    console_free(consent->console);
    if (consent->queue != NULL)
        question_queue_free(consent->queue);
    if (consent->terminal_fd >= 0)
        close(consent->terminal_fd);
    *consent = (struct consent){.terminal_fd = -1};
}
