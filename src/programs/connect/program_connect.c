/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/connect/program_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/shared.h"
#include "console/confirm.h"
#include "programs/connect/folder.h"
#include "session/networklock.h"
#include "session/state.h"

#define DOUBT                                                                                      \
    "Commands with network access are running, and one of them could have sent this request. "

void program_url_text(const struct httpurl *url, char out_text[PROGRAM_URL_BYTES])
{
    cleanup_buf struct buf origin = BUF_INIT(ORIGINS_TEXT_BYTES);

    (void)httpurl_append_origin(url, &origin); /* without memory there is the path */
    snprintf(out_text, PROGRAM_URL_BYTES, "%.*s%s", STR_ARG(buf_view(&origin)), url->path);
}

/* ---- what commands may do ---- */

static bool is_shell_open(const struct program *program)
{
    return options_is_on(program->values, CONNECT_OPTION_SHELL_OPEN);
}

static bool has_network(const struct program *program)
{
    return options_choice(program->values, CONNECT_OPTION_SHELL_NETWORK) == SHARED_NETWORK_ALLOW;
}

/* Hosts that a proxy of ours reaches for commands: this machine is not among them. */
static struct option_list domains(const struct program *program)
{
    return options_list(program->values, CONNECT_OPTION_SHELL_DOMAIN);
}

static bool reads_hardlinks(const struct program *program)
{
    return options_choice(program->values, CONNECT_OPTION_HARD_LINKS) == SHARED_HARD_LINKS_ALLOW;
}

static struct option_list denied(const struct program *program)
{
    return options_list(program->values, CONNECT_OPTION_DENY);
}

static struct option_list allowed(const struct program *program)
{
    return options_list(program->values, CONNECT_OPTION_ALLOW);
}

const char *program_commands_refusal(const struct program *program)
{
    if (allowed(program).count > 0)
        return SHARED_ALLOW_REFUSAL;
    return is_shell_open(program) && denied(program).count > 0 ? SHARED_DENY_REFUSAL : NULL;
}

static bool has_commands(const struct program *program)
{
    return program->session != NULL &&
           program->agreed.choices.modes.of[CATALOG_SHELL] != PERMISSION_DENY;
}

/* Then a command, which runs as the user, could send any header and imitate a page. */
static bool have_commands_network(const struct program *program)
{
    return has_commands(program) && (has_network(program) || is_shell_open(program));
}

/* Commands of this session, or of another program of the user. */
static bool could_command_ask(const struct program *program)
{
    return have_commands_network(program) || networklock_is_shared();
}

/* ---- ends of what somebody wanted ---- */

/* Nobody waits for it any more. Wipes the token, used or not. */
static uint64_t end_attempt(struct program *program)
{
    uint64_t number = program->attempt.number;

    program->attempt.state = ATTEMPT_NONE;
    program->attempt.number = 0;
    secret_done(&program->attempt.key);
    secret_done(&program->attempt.kept.key);
    cleanup_fd_(&program->attempt.kept_lock_fd);
    program->attempt.kept_lock_fd = -1;
    return number;
}

/* NULL: it is connected. */
static void answer_attempt(struct program *program, const struct err *err)
{
    uint64_t number = end_attempt(program);

    if (number == PROGRAM_HANDED_OVER)
        control_answer(program->control, err);
    else if (number != 0 && err != NULL)
        port_failed(program->port, number, err);
    else if (number != 0)
        port_done(program->port, number);
}

static void drop_session(void *data)
{
    struct program *program = data;
    bool had_commands_network = have_commands_network(program);

    loop_task_cancel(&program->drop);
    gateway_session_free(program->session);
    program->session = NULL;
    program->is_over = false;
    /* Its commands are gone, and what they sent before would no longer be doubted. */
    if (had_commands_network && program->port != NULL)
        port_cut(program->port);
}

/* ---- the session ---- */

static void follow_attempt(struct program *program)
{
    struct gateway_session_state state;

    if (program->attempt.state != ATTEMPT_JOINING)
        return;
    gateway_session_state(program->session, &state);
    if (state.is_connected) {
        answer_attempt(program, NULL);
    } else if (program->attempt.number == 0 && state.state != RECONNECT_OFF &&
               state.state != RECONNECT_PAIRING) {
        /* The server has accepted it and nobody waits: from here on it only retries. */
        (void)end_attempt(program);
    }
}

/* A static key may be accepted again; the key of a forgotten session never is. */
static void end_without_hope(struct program *program)
{
    struct gateway_session_state state;
    struct err err = ERR_INIT;

    gateway_session_state(program->session, &state);
    if (state.state != RECONNECT_REFUSED || program->port != NULL ||
        program->attempt.is_static_key || program->is_leaving)
        return;
    err_set(&err, ERR_GATEWAY_DENIED,
            "the server has forgotten this session, and there is no local port on which a new "
            "token could arrive; start gatehouse connect again with a new token");
    program_fail(program, &err);
}

static void on_change(void *data)
{
    struct program *program = data;

    follow_attempt(program);
    end_without_hope(program);
    program_tell(program);
}

static void on_dismissed(struct program *program)
{
    struct err err = ERR_INIT;

    if (program->port == NULL) {
        log_write(&program->log, LOG_WARN,
                  "exiting: there is no local port on which a new token could arrive");
        program_stop(program);
        return;
    }
    if (program->attempt.state != ATTEMPT_JOINING)
        return;
    err_set(&err, ERR_CANCELLED, "the server ended the session");
    answer_attempt(program, &err);
}

static void on_failed(struct program *program, const struct err *err)
{
    if (!program->agreed.is_from_outside) {
        program_fail(program, err);
        return;
    }
    log_error(&program->log, "connection failed", err);
    if (program->attempt.state == ATTEMPT_JOINING)
        answer_attempt(program, err);
}

static void finish(struct program *program)
{
    for (size_t i = 0; i < program->leaving_count; i++)
        port_done(program->port, program->leaving[i]);
    program->leaving_count = 0;
    program_stop(program);
}

static void on_over(void *data, enum gateway_session_end end, const struct err *err)
{
    struct program *program = data;

    program->is_over = true;
    loop_defer(program->loop, &program->drop);
    if (program->is_leaving) {
        finish(program);
        return;
    }
    switch (end) {
    case GATEWAY_SESSION_FAILED:
        on_failed(program, err);
        break;
    case GATEWAY_SESSION_DISMISSED:
    case GATEWAY_SESSION_LEFT:
        on_dismissed(program);
        break;
    }
    program_tell(program);
}

static void digest_terms(const struct program *program, const struct connect_choices *choices,
                         char out_terms[SAVED_SESSION_TERMS_BYTES])
{
    const struct saved_session_terms terms = {
        .url = &program->attempt.url,
        .choices = choices,
        .shell_is_open = is_shell_open(program),
        .shell_has_network = has_network(program),
        .shell_domains = domains(program).items,
        .shell_writable = options_list(program->values, CONNECT_OPTION_SHELL_WRITABLE).items,
        .shell_readable = options_list(program->values, CONNECT_OPTION_SHELL_READABLE).items,
        .shell_env = options_list(program->values, CONNECT_OPTION_SHELL_ENV).items,
        .shell_timeout_ms = options_int(program->values, CONNECT_OPTION_SHELL_TIMEOUT),
        .asks_here = program->asks_here,
        .allows_remote_always = options_is_on(program->values, CONNECT_OPTION_REMOTE_ALWAYS),
        .max_file_bytes = (uint64_t)options_int(program->values, CONNECT_OPTION_MAX_FILE_SIZE),
        .max_lines = (uint64_t)options_int(program->values, CONNECT_OPTION_MAX_LINES),
        .reads_hardlinks = reads_hardlinks(program),
        .denied = denied(program).items,
        .allowed = allowed(program).items,
    };

    saved_session_digest(&terms, out_terms);
}

void program_terms(const struct program *program, char out_terms[SAVED_SESSION_TERMS_BYTES])
{
    digest_terms(program, &program->choices, out_terms);
}

/* Ignores a session that another daemon uses. */
void program_look_for_session(struct program *program)
{
    const struct session_state *state = &program->state;
    struct attempt *attempt = &program->attempt;
    cleanup_fd int lock_fd = -1;
    struct saved_session seen = {.dialect = GATEWAY_N8N};
    char terms[SAVED_SESSION_TERMS_BYTES];
    int r;

    digest_terms(program, &program->choices, terms);
    r = saved_session_read(state->authority, state->state_path, &attempt->url, terms, &seen);
    secret_done(&seen.key);
    if (r == 0)
        r = saved_session_lock(state->audit_dir_fd, &attempt->url, &lock_fd, NULL);
    /* Once more: the previous owner of the lock may have changed it. */
    if (r == 0)
        r = saved_session_read(state->authority, state->state_path, &attempt->url, terms,
                               &attempt->kept);
    if (r == 0)
        attempt->kept_lock_fd = steal_fd(&lock_fd);
}

/* The session did not start. If that is the folder's fault, the user or the page must fix it. */
static int blame_folder(const struct connect_choices *choices, int error, struct err *err)
{
    struct err why = ERR_INIT;

    if (folder_check(choices->state_dir, choices->dir, &why) < 0)
        return err_set(err, ERR_INVALID_PATH, "%s; %s", why.message, choices->dir_advice);
    for (size_t i = 0; i < choices->other_count; i++)
        if (folder_check(choices->state_dir, choices->others[i].path, &why) < 0)
            return err_set(err, ERR_INVALID_PATH, "%s; it comes from --%s", why.message,
                           choices->others[i].may_write ? "rw" : "ro");
    return error;
}

static int begin(struct program *program, const struct connect_choices *choices, struct err *err)
{
    struct attempt *attempt = &program->attempt;
    struct agreed *agreed = &program->agreed;
    const struct gateway_session_config config = {
        .loop = program->loop,
        .log = &program->log,
        .choices = &agreed->choices,
        .opened = program->state.authority != NULL ? &program->state : NULL,
        .board = &program->board,
        .queue = program->asks_here ? program->queue : NULL,
        .asks_there_too = program->console != NULL,
        .allows_remote_always = options_is_on(program->values, CONNECT_OPTION_REMOTE_ALWAYS),
        .url = attempt->url,
        .own_port = program->port != NULL ? port_number(program->port) : 0,
        .key = &attempt->key,
        .is_static_key = attempt->is_static_key,
        .is_patient = attempt->is_static_key &&
                      options_is_on(program->values, CONNECT_OPTION_NON_INTERACTIVE),
        .resumed = attempt->kept.key.len > 0 ? &attempt->kept : NULL,
        .kept_lock_fd = attempt->kept_lock_fd,
        .terms = agreed->terms,
        .keeps = program_keeps_session(program) && !attempt->is_static_key,
        .authorities_pem = buf_view(&program->authorities),
        .leftovers = &program->leftovers,
        .libexec = GATEHOUSE_LIBEXECDIR,
        .max_file_bytes = (uint64_t)options_int(program->values, CONNECT_OPTION_MAX_FILE_SIZE),
        .max_lines = (uint64_t)options_int(program->values, CONNECT_OPTION_MAX_LINES),
        .reads_hardlinks = reads_hardlinks(program),
        .denied = denied(program).items,
        .allowed = allowed(program).items,
        .shell_is_open = is_shell_open(program),
        .shell_has_network = has_network(program),
        .shell_domains = domains(program).items,
        .shell_writable = options_list(program->values, CONNECT_OPTION_SHELL_WRITABLE).items,
        .shell_readable = options_list(program->values, CONNECT_OPTION_SHELL_READABLE).items,
        .shell_env = options_list(program->values, CONNECT_OPTION_SHELL_ENV).items,
        .shell_timeout_ms = options_int(program->values, CONNECT_OPTION_SHELL_TIMEOUT),
        .on_change = on_change,
        .on_over = on_over,
        .data = program,
    };
    const char *refusal = program_commands_refusal(program);
    int r;

    if (choices->modes.of[CATALOG_SHELL] != PERMISSION_DENY && refusal != NULL)
        return err_set(err, ERR_INVALID_OPTION, "%s", refusal);
    if (httpurl_is_exposed(&attempt->url))
        log_write(&program->log, LOG_WARN,
                  "the connection is not encrypted: others on the network can read and change "
                  "everything, including the key; use https",
                  LOG_TEXT("server", attempt->url_text));
    /* It may be there yet, trying to come back to a server that has forgotten it. */
    drop_session(program);
    attempt->state = ATTEMPT_JOINING;
    agreed->is_from_outside = attempt->is_from_outside;
    agreed->choices = *choices;
    snprintf(agreed->url_text, sizeof(agreed->url_text), "%s", attempt->url_text);
    digest_terms(program, choices, agreed->terms);
    r = gateway_session_new(&config, &program->session, err);
    attempt->kept_lock_fd = -1;
    secret_done(&attempt->key);
    secret_done(&attempt->kept.key);
    if (r < 0)
        return blame_folder(choices, r, err);
    program_tell(program);
    return 0;
}

/* ---- agreeing ---- */

/* What the user has edited is for this session only. */
static int take_answer(const struct program *program, const struct confirm_result *result,
                       struct connect_choices *out_choices, struct err *err)
{
    char dir[PATH_MAX];

    *out_choices = program->choices;
    out_choices->modes = result->modes;
    out_choices->has_write_access = result->has_write_access;
    if (!result->has_write_access)
        out_choices->modes.of[CATALOG_FILESYSTEM_WRITE] = PERMISSION_DENY;
    if (snprintf(dir, sizeof(dir), "%.*s", STR_ARG(result->dir)) >= (int)sizeof(dir))
        return err_set(err, ERR_INVALID_PATH, "the folder's path is too long");
    out_choices->dir_advice = "it was confirmed in the prompt; choose another there";
    return session_state_absolute_path(dir, out_choices->dir, err);
}

/* Reports it to the page; for the command line the program ends. */
static void refuse_attempt(struct program *program, const struct err *err)
{
    if (!program->attempt.is_from_outside) {
        program_fail(program, err);
        return;
    }
    log_error(&program->log, "connection failed", err);
    answer_attempt(program, err);
    program_tell(program);
}

static void on_confirmed(void *data, const struct confirm_result *result)
{
    struct program *program = data;
    struct connect_choices choices;
    struct err err = ERR_INIT;

    noticeboard_remove(&program->board, NOTICEBOARD_CONNECT);
    if (!result->is_accepted) {
        err_set(&err, ERR_DENIED_BY_POLICY, "The user said no.");
        answer_attempt(program, &err);
        program_leave(program);
        return;
    }
    if (take_answer(program, result, &choices, &err) < 0 || begin(program, &choices, &err) < 0)
        refuse_attempt(program, &err);
}

static int take_dir(void *data, struct str typed, struct buf *out_dir, struct err *err)
{
    const struct program *program = data;
    char path[PATH_MAX];
    int r = folder_name(typed, path, err);

    if (r == 0)
        r = folder_check(program->choices.state_dir, path, err);
    return r == 0 ? buf_append_str(out_dir, str_from(path)) : r;
}

static int ask(struct program *program, struct err *err)
{
    const struct option_list writable =
        options_list(program->values, CONNECT_OPTION_SHELL_WRITABLE);
    struct str shown[CONFIRM_MAX_WRITABLE];
    struct confirm_folder others[CONFIRM_MAX_OTHERS];
    struct confirm_offer offer = {
        .url = str_from(program->attempt.url_text),
        .is_exposed = httpurl_is_exposed(&program->attempt.url),
        .dir = str_from(program->choices.dir),
        .modes = program->choices.modes,
        .has_write_access = program->choices.has_write_access,
        .only_reads_dir = program->choices.only_reads_dir,
        .others = others,
        .shell_is_open = is_shell_open(program),
        .shell_has_network = has_network(program),
        .shell_domains = domains(program).items,
        .shell_writable = shown,
        .denied = denied(program).items,
        .allowed = allowed(program).items,
        .commands_refusal = program_commands_refusal(program),
        .take_dir = take_dir,
    };
    int r;

    if (writable.count > array_size(shown))
        return err_set(err, ERR_INVALID_OPTION,
                       "--shell-writable: too many directories to show in the prompt");
    for (size_t i = 0; i < writable.count; i++)
        shown[offer.shell_writable_count++] = str_from(writable.items[i]);
    for (size_t i = 0; i < program->choices.other_count; i++)
        others[offer.other_count++] = (struct confirm_folder){
            str_from(program->choices.others[i].path), program->choices.others[i].may_write};
    r = confirm_ask(program->console, &offer, on_confirmed, program);
    if (r < 0)
        return err_set_plain(err, r);
    noticeboard_put(&program->board, NOTICEBOARD_CONNECT);
    program->attempt.state = ATTEMPT_ASKING;
    program_tell(program);
    return 0;
}

static void cancel_asking(struct program *program)
{
    confirm_cancel(program->console);
    noticeboard_remove(&program->board, NOTICEBOARD_CONNECT);
}

int program_connect(struct program *program, struct err *err)
{
    return program_needs_agreement(program) ? ask(program, err)
                                            : begin(program, &program->choices, err);
}

void program_stop_asking(struct program *program)
{
    struct err err = ERR_INIT;

    program->is_leaving = true;
    if (program->session != NULL && !program->is_over)
        gateway_session_end_calls(program->session);
    if (program->attempt.state != ATTEMPT_ASKING)
        return;
    cancel_asking(program);
    err_set(&err, ERR_CANCELLED, "gatehouse connect was stopped before the user answered");
    answer_attempt(program, &err);
}

void program_leave(struct program *program)
{
    program_stop_asking(program);
    if (program->session == NULL || program->is_over)
        finish(program);
    else
        gateway_session_leave(program->session);
}

bool program_has_open_commands(const struct program *program)
{
    return has_commands(program) && is_shell_open(program);
}

/* ---- what pages want ---- */

static int take_request(struct program *program, uint64_t number,
                        const struct port_connect *request, struct err *err)
{
    struct attempt *attempt = &program->attempt;

    if (program->is_leaving || attempt->state != ATTEMPT_NONE)
        return err_set(err, ERR_BUSY,
                       attempt->state == ATTEMPT_ASKING
                           ? "A confirmation is already on screen. Answer that one first."
                           : "Another connection is in progress.");
    *attempt = (struct attempt){
        .is_from_outside = true,
        .is_doubtful = could_command_ask(program),
        .number = number,
        .url = *request->url,
        .key = *request->token,
        .kept_lock_fd = -1,
    };
    program_url_text(request->url, attempt->url_text);
    log_write(&program->log, LOG_INFO, "a page asks to connect this machine",
              LOG_STR("page", request->origin), LOG_TEXT("server", attempt->url_text));
    if (program_needs_agreement(program) && program->console == NULL)
        return err_set(err, ERR_DENIED_BY_POLICY, "%sThere is no terminal to ask the user on.",
                       attempt->is_doubtful ? DOUBT : "");
    return 0;
}

static void on_page_connect(void *data, uint64_t number, const struct port_connect *request)
{
    struct program *program = data;
    struct err err = ERR_INIT;
    int r = take_request(program, number, request, &err);

    if (r == ERR_BUSY) {
        port_failed(program->port, number, &err);
        return;
    }
    if (r == 0 && program_needs_agreement(program))
        program_notify_user(program, "Gatehouse: connect?", request->origin);
    if (r == 0)
        r = program_connect(program, &err);
    if (r < 0)
        refuse_attempt(program, &err);
}

static void on_page_gone(void *data, uint64_t number)
{
    struct program *program = data;
    struct err err = ERR_INIT;

    if (program->attempt.number != number)
        return;
    err_set(&err, ERR_CANCELLED, "the page was closed");
    if (program->attempt.state == ATTEMPT_ASKING) {
        cancel_asking(program);
        answer_attempt(program, &err);
        program_tell(program);
        return;
    }
    /* The user agreed, so it goes on. */
    program->attempt.number = 0;
    port_failed(program->port, number, &err);
    follow_attempt(program);
}

static void on_page_disconnect(void *data, uint64_t number)
{
    struct program *program = data;

    struct err err = ERR_INIT;

    if (program->session == NULL || program->is_over) {
        port_done(program->port, number);
        return;
    }
    if (could_command_ask(program))
        err_set(&err, ERR_DENIED_BY_POLICY,
                DOUBT "Stop gatehouse connect on its own terminal or service.");
    else if (program->leaving_count == array_size(program->leaving))
        err_set(&err, ERR_BUSY, "Too many requests are already waiting.");
    if (err.code != 0) {
        port_failed(program->port, number, &err);
        return;
    }
    program->leaving[program->leaving_count++] = number;
    if (program->is_leaving)
        return;
    log_write(&program->log, LOG_INFO, "a page asks to disconnect this machine");
    program_leave(program);
}

static void on_stranger(void *data, struct str origin, const char *why)
{
    const struct program *program = data;

    log_write(&program->log, LOG_DEBUG, "refused a request at the local port",
              LOG_STR("page", origin), LOG_TEXT("why", why));
}

const struct port_owner program_port_owner = {
    .report = program_report,
    .connect = on_page_connect,
    .connect_gone = on_page_gone,
    .disconnect = on_page_disconnect,
    .stranger = on_stranger,
};

/* ---- what another start brings ---- */

/* A start on the same terms is the user's consent, given before. */
static int check_handover(const struct program *program, const struct handover *handover,
                          struct err *err)
{
    const struct agreed *agreed = &program->agreed;
    struct gateway_session_state state = {.needs_token = true};
    char url_text[PROGRAM_URL_BYTES];

    program_url_text(&handover->url, url_text);
    if (agreed->terms[0] == '\0')
        return err_set(err, ERR_DENIED_BY_POLICY,
                       "it was not connected yet and waits for its server's page");
    if (strcmp(url_text, agreed->url_text) != 0)
        return err_set(err, ERR_DENIED_BY_POLICY, "it is for another server, %s", agreed->url_text);
    if (strcmp(handover->terms, agreed->terms) != 0)
        return err_set(err, ERR_DENIED_BY_POLICY,
                       "its folder, permissions or limits differ from those given now");
    /* Those may outlive their session, too. */
    if (is_shell_open(program) && agreed->choices.modes.of[CATALOG_SHELL] != PERMISSION_DENY)
        return err_set(
            err, ERR_DENIED_BY_POLICY,
            "its commands run without a sandbox, and one of them could have sent this request");
    if (program->is_leaving || program->attempt.state != ATTEMPT_NONE)
        return err_set(err, ERR_BUSY, "it is connecting or stopping");
    if (program->session != NULL && !program->is_over)
        gateway_session_state(program->session, &state);
    if (!state.needs_token)
        return err_set(err, ERR_ALREADY_EXISTS,
                       state.is_connected ? "it is already connected"
                                          : "it is about to connect with its own key");
    return 0;
}

static int on_handover(void *data, const struct handover *handover, struct err *err)
{
    struct program *program = data;
    struct attempt *attempt = &program->attempt;
    const struct connect_choices choices = program->agreed.choices;
    struct err why = ERR_INIT;
    int r = check_handover(program, handover, err);

    if (r < 0 || handover->token.len == 0)
        return r;
    *attempt = (struct attempt){
        .is_from_outside = true,
        .number = PROGRAM_HANDED_OVER,
        .url = handover->url,
        .key = handover->token,
        .kept_lock_fd = -1,
    };
    program_url_text(&handover->url, attempt->url_text);
    log_write(&program->log, LOG_INFO, "another 'gatehouse connect' sent a new token",
              LOG_TEXT("server", attempt->url_text));
    /* From here on it is taken, whatever comes of it. */
    if (begin(program, &choices, &why) < 0)
        refuse_attempt(program, &why);
    return 0;
}

/* The user typed it, so it continues. */
static void on_bringer_gone(void *data)
{
    struct program *program = data;

    if (program->attempt.number != PROGRAM_HANDED_OVER)
        return;
    program->attempt.number = 0;
    follow_attempt(program);
}

const struct control_taker program_taker = {.take = on_handover, .gone = on_bringer_gone};

/* ---- making ---- */

void program_connect_init(struct program *program)
{
    loop_task_init(&program->drop, drop_session, program);
    leftovers_init(&program->leftovers, program->loop);
}

void program_connect_close(struct program *program)
{
    drop_session(program);
    leftovers_done(&program->leftovers);
    (void)end_attempt(program);
}
