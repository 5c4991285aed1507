/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/connect/gatewaysession_internal.h"

#include <inttypes.h>
#include <stdio.h>

#include "browser/installed.h"
#include "cli/shared.h"
#include "cli/status.h"
#include "isolate/companion.h"
#include "isolate/threads.h"

enum { THREADS_MS = 500 }; /* for threads that have ended to be gone */

static int list_folders(const struct connect_choices *choices, struct session_folders *folders,
                        struct err *err)
{
    const bool may_write = choices->modes.of[CATALOG_FILESYSTEM_WRITE] != PERMISSION_DENY;
    int r = session_folders_add(folders, choices->dir, may_write && !choices->only_reads_dir, err);

    for (size_t i = 0; i < choices->other_count && r == 0; i++)
        r = session_folders_add(folders, choices->others[i].path,
                                may_write && choices->others[i].may_write, err);
    return r;
}

int gateway_session_open_files(struct gateway_session *session, struct err *err)
{
    const struct connect_choices *choices = session->config.choices;
    const struct session_consent consent = {
        .modes = choices->modes,
        .settings_dir = choices->settings_dir[0] != '\0' ? choices->settings_dir : NULL,
        .keeps_rules = session->config.queue != NULL || session->config.allows_remote_always,
    };
    struct session_folders folders = {.count = 0};
    struct session_config config = {
        .folders = folders.items,
        .state_dir = choices->state_dir,
        .audit_sync = choices->audit_sync,
        .opened = session->config.opened,
        .session = session->name,
        .has_tools_elsewhere = true,
        .has_staging = choices->modes.of[CATALOG_BROWSER] != PERMISSION_DENY &&
                       browser_installed(STR_EMPTY) != NULL,
        .denied = session->config.denied,
        .allowed = session->config.allowed,
        .consent = &consent,
    };
    int r = list_folders(choices, &folders, err);

    if (r < 0)
        return r;
    config.folder_count = folders.count;
    r = session_open(&config, &session->file_session, err);
    for (size_t i = 0; r == 0 && i < session->file_session->folder_count; i++) {
        const char *warning = session_folder_warning(&session->file_session->folders[i]);

        if (warning != NULL)
            log_write(session->config.log, LOG_WARN, warning);
    }
    return r;
}

static void on_no_commands(void *data)
{
    const struct gateway_session *session = data;

    log_write(session->config.log, LOG_ERROR,
              "the launcher of commands has died, and its commands with it: to run commands again, "
              "restart gatehouse connect or reconnect from the server's page");
}

/* Forks the launcher, while there is one thread: those of an earlier session have ended. */
int gateway_session_open_commands(struct gateway_session *session, struct err *err)
{
    char sockets[PATH_MAX];
    const struct commands_config config = {
        .session = session->file_session,
        .is_open = session->config.shell_is_open,
        .hidden = status_socket_dir(sockets, NULL) == 0 ? sockets : NULL,
        .has_network = session->config.shell_has_network,
        .domains = session->config.shell_domains,
        .libexec = session->config.libexec,
        .writable = session->config.shell_writable,
        .readable = session->config.shell_readable,
        .env = session->config.shell_env,
        .denied = session->config.denied,
        .timeout_ms = session->config.shell_timeout_ms,
        .on_final = on_no_commands,
        .data = session,
    };
    struct err why = ERR_INIT;
    const char *risk;
    int r;

    if (session->config.choices->modes.of[CATALOG_SHELL] == PERMISSION_DENY)
        return 0;
    if (!threads_wait_alone(THREADS_MS)) {
        log_write(session->config.log, LOG_WARN,
                  "commands are not available: something of the previous session hangs; restart "
                  "gatehouse connect");
        return 0;
    }
    if (config.is_open)
        log_write(session->config.log, LOG_WARN, SHARED_OPEN_WARNING);
    r = commands_open(&config, &session->commands, &why);
    if (r == ERR_UNSUPPORTED) {
        log_write(session->config.log, LOG_WARN, "commands are not available",
                  LOG_TEXT("why", why.message));
        return 0;
    }
    if (r < 0)
        return err_set(err, r, "%s", why.message);
    if (commands_warning(session->commands) != NULL)
        log_write(session->config.log, LOG_WARN, commands_warning(session->commands));
    risk = commands_risk(session->commands);
    if (risk != NULL)
        log_write(session->config.log, LOG_WARN, COMMANDS_RISK_WARNING, LOG_TEXT("place", risk));
    return commands_start(session->commands, session->config.loop, err);
}

/* A companion holds the display. Without one, the tools are not offered. */
void gateway_session_open_screen(struct gateway_session *session)
{
    struct err why = ERR_INIT;

    if (session->config.choices->modes.of[CATALOG_COMPUTER] == PERMISSION_DENY)
        return;
    if (screen_client_start(session->config.libexec, STDERR_FILENO, &session->screen, &why) < 0)
        log_write(session->config.log, LOG_WARN, "screen, mouse and keyboard are not available",
                  LOG_TEXT("why", why.message));
}

/* It starts with the first call: few sessions need one. */
void gateway_session_open_browser(struct gateway_session *session)
{
    const struct browser_client_config config = {
        .libexec = session->config.libexec,
        .state_dir = session->file_session->state.state_path,
        .staging_dir = session->file_session->staging.path,
        .is_headless = session->config.choices->is_browser_headless,
        .error_fd = STDERR_FILENO};
    struct err why = ERR_INIT;

    if (session->config.choices->modes.of[CATALOG_BROWSER] == PERMISSION_DENY)
        return;
    if (browser_client_start(&config, &session->browser, &why) < 0)
        log_write(session->config.log, LOG_INFO, "browser tools are not available",
                  LOG_TEXT("why", why.message));
}

static void add_words(struct gateway_session *session, size_t *count, const char *option,
                      const char *value)
{
    session->host_words[(*count)++] = option;
    session->host_words[(*count)++] = value;
}

static void add_globs(struct gateway_session *session, size_t *count, const char *option,
                      const char *const *globs)
{
    for (; globs != NULL && *globs != NULL; globs++)
        add_words(session, count, option, *globs);
}

int gateway_session_write_words(struct gateway_session *session, struct err *err)
{
    const struct gateway_session_config *config = &session->config;
    const struct session *file_session = session->file_session;
    size_t count = 0;

    if (snprintf(session->host_state, sizeof(session->host_state), "%s/toolhost",
                 file_session->state.state_path) >= (int)sizeof(session->host_state))
        return err_set(err, ERR_INVALID_PATH, "the path of the state directory is too long");
    snprintf(session->numbers[0], GATEWAY_SESSION_NUMBER_BYTES, "%d", COMPANION_FD);
    snprintf(session->numbers[1], GATEWAY_SESSION_NUMBER_BYTES, "%d", COMPANION_SECOND_FD);
    snprintf(session->numbers[2], GATEWAY_SESSION_NUMBER_BYTES, "%" PRIu64, config->max_file_bytes);
    snprintf(session->numbers[3], GATEWAY_SESSION_NUMBER_BYTES, "%" PRIu64, config->max_lines);
    session->host_words[count++] = "gatehouse-toolhost";
    add_words(session, &count, "--fd", session->numbers[0]);
    add_words(session, &count, "--media-fd", session->numbers[1]);
    add_words(session, &count, "--max-file-size", session->numbers[2]);
    add_words(session, &count, "--max-lines", session->numbers[3]);
    add_words(session, &count, "--state-dir", session->host_state);
    add_words(session, &count, "--record-dir", file_session->state.state_path);
    if (file_session->staging.path[0] != '\0')
        add_words(session, &count, "--staging-dir", file_session->staging.path);
    if (file_session->settings != NULL)
        add_words(session, &count, "--settings-dir", settings_file_dir(file_session->settings));
    /* Its messages below that level are about the protocol. */
    add_words(session, &count, "--log-level",
              config->log->threshold < LOG_WARN ? log_level_name(config->log->threshold) : "warn");
    if (file_session->folders[0].may_write)
        session->host_words[count++] = "--write";
    /* As given: made absolute, a name might have a comma, and be two. */
    for (size_t i = 0; i < config->choices->other_count; i++)
        add_words(session, &count, file_session->folders[i + 1].may_write ? "--rw" : "--ro",
                  config->choices->others[i].given);
    add_globs(session, &count, "--deny", config->denied);
    add_globs(session, &count, "--allow", config->allowed);
    if (config->choices->modes.sensitive == PERMISSION_ALLOW)
        session->host_words[count++] = "--search-sensitive";
    if (config->reads_hardlinks)
        session->host_words[count++] = "--read-hard-links";
    add_words(session, &count, "--", config->choices->dir);
    session->host_words[count] = NULL;
    return 0;
}

/* ---- rules that change ---- */

static void on_settings(void *data)
{
    struct gateway_session *session = data;
    struct err err = ERR_INIT;

    if (!keeper_is_outdated(session->file_session->keeper))
        return;
    if (keeper_refresh(session->file_session->keeper, &err) < 0)
        log_error(session->config.log,
                  "cannot reload the rules: the last known rules still apply, and everything else "
                  "is asked about until they can be read",
                  &err);
    else
        log_write(session->config.log, LOG_INFO, "rules reloaded");
    hostlink_tell_rules(session->link);
}

int gateway_session_follow_rules(struct gateway_session *session, struct err *err)
{
    bool is_timed;
    int fd;
    int r;

    if (session->file_session->settings == NULL)
        return 0;
    r = settings_file_watch(session->file_session->settings, &fd, &is_timed, err);
    if (r == 0 && is_timed)
        log_write(session->config.log, LOG_WARN, SETTINGS_FILE_TIMED);
    if (r == 0)
        r = ready_watch_new(session->config.loop, fd, on_settings, session, &session->rules);
    return r;
}
