/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/gatehouse/up.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/domainlist.h"
#include "base/printable.h"
#include "base/rand.h"
#include "base/secret.h"
#include "base/streams.h"
#include "cli/programs.h"
#include "cli/serve.h"
#include "cli/shared.h"
#include "cli/status.h"
#include "isolate/environment.h"
#include "programs/gatehouse/complain.h"
#include "programs/gatehouse/start.h"
#include "programs/gatehouse/upplace.h"

enum {
    KEY_CHARS = 40,
    MAX_WORDS = 32 + 2 * SHARED_MAX_FOLDERS + 2 * DOMAINLIST_MAX + 2 * ENVIRONMENT_MAX +
                4 * OPTION_MAX_ITEMS,
    SHOWN_GLOBS = 16, /* of a list */
    LINE_BYTES = 4096,
    EXIT_FAILED = 1,
};

const struct option up_options[UP_OPTIONS] = {
    [UP_OPTION_RO] = {SHARED_RO},
    [UP_OPTION_RW] = {SHARED_RW},
    [UP_OPTION_DENY] = {SHARED_DENY},
    [UP_OPTION_ALLOW] = {SHARED_ALLOW},
    [UP_OPTION_HARD_LINKS] = {SHARED_HARD_LINKS},
    [UP_OPTION_PORT] = {.name = "port",
                        .type = OPTION_INT,
                        .min = 1,
                        .max = 65535,
                        .fallback = "7654",
                        .help = "port of the page and of /mcp on this machine; without this "
                                "option, another one if the default is taken"},
    [UP_OPTION_LISTEN] = {.name = "listen",
                          .type = OPTION_TEXT,
                          .placeholder = "ADDRESS",
                          .help = "instead of --port: address and port, like [::1]:7654; of this "
                                  "machine only"},
    [UP_OPTION_READ_ONLY] = {.name = "read-only",
                             .help = "offer no tools that change files or run commands; without "
                                     "this, each of their calls is asked about on the page"},
    [UP_OPTION_STATE_DIR] = {.name = "state-dir",
                             .type = OPTION_DIR,
                             .help = "directory of keys, logins and the audit log (default: "
                                     "~/.local/state/gatehouse; there a second folder has keys "
                                     "and logins of its own)"},
    [UP_OPTION_PERMISSION_READ] = {.name = "permission-filesystem-read",
                                   .type = OPTION_CHOICE,
                                   .choices = shared_modes,
                                   .env = "GATEHOUSE_PERMISSION_FILESYSTEM_READ",
                                   .group = "Consent",
                                   .help = "reading files (default: allow)"},
    [UP_OPTION_PERMISSION_WRITE] = {.name = "permission-filesystem-write",
                                    .type = OPTION_CHOICE,
                                    .choices = shared_modes,
                                    .env = "GATEHOUSE_PERMISSION_FILESYSTEM_WRITE",
                                    .group = "Consent",
                                    .help = "changing files (default: ask)"},
    [UP_OPTION_PERMISSION_SHELL] = {.name = "permission-shell",
                                    .type = OPTION_CHOICE,
                                    .choices = shared_modes,
                                    .env = "GATEHOUSE_PERMISSION_SHELL",
                                    .group = "Consent",
                                    .help = "running commands, each in a sandbox that sees the "
                                            "folder and a read-only system (default: ask)"},
    [UP_OPTION_PERMISSION_COMPUTER] = {.name = "permission-computer",
                                       .type = OPTION_CHOICE,
                                       .choices = shared_modes,
                                       .env = "GATEHOUSE_PERMISSION_COMPUTER",
                                       .group = "Consent",
                                       .help = "seeing the screen, using mouse and keyboard "
                                               "(default: deny)"},
    [UP_OPTION_PERMISSION_BROWSER] = {.name = "permission-browser",
                                      .type = OPTION_CHOICE,
                                      .choices = shared_modes,
                                      .env = "GATEHOUSE_PERMISSION_BROWSER",
                                      .group = "Consent",
                                      .help = "using a browser of its own (default: ask)"},
    [UP_OPTION_SHELL_DOMAIN] = {SHARED_SHELL_DOMAIN},
    [UP_OPTION_SHELL_ENV] = {SHARED_SHELL_ENV},
};

const struct option_argument up_arguments[UP_ARGUMENTS] = {
    [UP_ARGUMENT_DIR] = {.name = "DIR",
                         .type = OPTION_DIR,
                         .is_optional = true,
                         .help = "the folder that agents may use (default: the current one)"},
};

/* Written by the handler only. */
static volatile sig_atomic_t stopped_by;

static const int caught[] = {SIGINT, SIGTERM, SIGHUP, SIGCHLD};

static void on_signal(int signum)
{
    if (signum != SIGCHLD)
        stopped_by = signum;
}

/* The child dies with us, however we end. Ctrl-C reaches only us: the daemon ends before its
 * server does, and does not complain that it lost it. */
static pid_t start_child(const char *program, const char *const *words, int out_fd)
{
    pid_t parent = getpid();
    pid_t pid = fork();
    char *own[MAX_WORDS] = {NULL}; /* execv() takes no constant words */
    struct err err = ERR_INIT;
    sigset_t none;

    if (pid != 0)
        return pid;
    for (size_t i = 0; i < MAX_WORDS - 1 && words[i] != NULL; i++)
        own[i] = strdup(words[i]);
    /* Our handler would take the signal that is to end it, if that comes before it is executed. */
    for (size_t i = 0; i < array_size(caught); i++)
        (void)signal(caught[i], SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (setpgid(0, 0) < 0 || prctl(PR_SET_PDEATHSIG, SIGTERM) < 0 || getppid() != parent ||
        (out_fd >= 0 && dup2(out_fd, STDOUT_FILENO) < 0))
        _exit(EXIT_FAILED);
    (void)start_program(program, own, &err);
    complain("gatehouse up", err.message);
    _exit(EXIT_FAILED);
}

/* ---- the server ---- */

/* Signals arrive only in here, so none is missed. False: one has stopped us. */
static bool wait_for_output(struct pollfd *output, const sigset_t *before)
{
    while (stopped_by == 0)
        if (ppoll(output, 1, NULL, before) > 0)
            return true;
    return false;
}

static void tell_others(struct option_list list, const char *behind)
{
    char shown[LINE_BYTES + PRINTABLE_CUT_BYTES];

    for (size_t i = 0; i < list.count; i++) {
        printable_cut(str_from(list.items[i]), PRINTABLE_LINE, shown, LINE_BYTES);
        printf("  and %s%s\n", shown, behind);
    }
}

static void tell_globs(struct option_list list, const char *title)
{
    char shown[LINE_BYTES + PRINTABLE_CUT_BYTES];

    for (size_t i = 0; i < list.count && i < SHOWN_GLOBS; i++) {
        printable_cut(str_from(list.items[i]), PRINTABLE_LINE, shown, LINE_BYTES);
        printf("%s%s", i == 0 ? title : ", ", shown);
    }
    if (list.count > SHOWN_GLOBS)
        printf(" and %zu more", list.count - SHOWN_GLOBS);
    if (list.count > 0)
        putchar('\n');
}

/* Passes on what it prints, up to its address: it serves when it has printed that. Of the line
 * with the address, what matters here. */
static bool read_address(int fd, const char *folder, const struct option_values *values,
                         const sigset_t *before, char out_url[LINE_BYTES])
{
    const char mark[] = "running at ";
    char shown[LINE_BYTES + PRINTABLE_CUT_BYTES];
    struct pollfd output = {.fd = fd, .events = POLLIN};
    char line[LINE_BYTES];
    size_t len = 0;

    while (len < sizeof(line) - 1 && wait_for_output(&output, before) &&
           read(fd, &line[len], 1) == 1) {
        const char *found;

        if (line[len++] != '\n')
            continue;
        line[len] = '\0';
        found = strstr(line, mark);
        if (found != NULL) {
            snprintf(out_url, LINE_BYTES, "%s", found + strlen(mark));
            out_url[strcspn(out_url, " \n")] = '\0';
            printable_cut(str_from(folder), PRINTABLE_LINE, shown, LINE_BYTES);
            printf("Gatehouse is running at %s for %s\n", out_url, shown);
            tell_others(options_list(values, UP_OPTION_RW), "");
            tell_others(options_list(values, UP_OPTION_RO), " (read only)");
            tell_globs(options_list(values, UP_OPTION_DENY), "Hidden files: ");
            tell_globs(options_list(values, UP_OPTION_ALLOW), "No commands, and no files but: ");
            puts("Ctrl-C stops it.");
            fflush(stdout);
            return true;
        }
        fputs(line, stdout);
        len = 0;
    }
    return false;
}

/* False at its end. */
static bool pass_on(int fd)
{
    char text[LINE_BYTES];
    ssize_t len = read(fd, text, sizeof(text));

    if (len <= 0)
        return false;
    fwrite(text, 1, (size_t)len, stdout);
    fflush(stdout);
    return true;
}

/* ---- both ---- */

struct children {
    pid_t server;
    pid_t daemon;
    int output; /* of the server */
};

static void end_child(pid_t pid)
{
    if (pid > 0)
        kill(pid, SIGTERM);
}

/* The shell's prompt does not begin behind the ^C that the terminal shows. */
static void end_line_of_interrupt(void)
{
    if (stopped_by == SIGINT && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO)) {
        putchar('\n');
        fflush(stdout);
    }
}

/* The first to end takes the other with it. Its status is ours, unless we were stopped. */
static int wait_for_both(struct children *children, const sigset_t *before)
{
    struct pollfd output = {.fd = children->output, .events = POLLIN};
    size_t left = (children->server > 0 ? 1U : 0U) + (children->daemon > 0 ? 1U : 0U);
    bool is_interrupted = false;
    int first = -1;
    int status;

    while (left > 0) {
        pid_t ended = waitpid(-1, &status, WNOHANG);

        if (ended > 0) {
            left--;
            if (first < 0)
                first = WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILED;
            *(ended == children->server ? &children->server : &children->daemon) = 0;
            end_child(children->server + children->daemon);
            continue;
        }
        if (stopped_by != 0) {
            end_line_of_interrupt();
            is_interrupted |= stopped_by == SIGINT;
            stopped_by = 0;
            end_child(first == 0 || children->daemon <= 0 ? children->server : children->daemon);
            first = 0;
        }
        /* Signals arrive only in here, too. */
        if (ppoll(&output, 1, NULL, before) > 0 && !pass_on(output.fd))
            output.fd = -1;
    }
    /* The terminal shows who pressed Ctrl-C, but not who ran `gatehouse down` elsewhere. */
    if (first == 0 && !is_interrupted)
        puts("Gatehouse was stopped.");
    return first < 0 ? EXIT_FAILED : first;
}

/* Settings of a server for others may be in the environment; that one shows no copies. */
static bool is_for_us_only(void)
{
    static const char *const others[] = {"GATEHOUSE_PUBLIC_URL", "GATEHOUSE_TRUSTED_PROXY",
                                         "GATEHOUSE_CONFIG"};

    for (size_t i = 0; i < array_size(others); i++)
        if (getenv(others[i]) != NULL)
            return false;
    return true;
}

/* The server alone has a state of the folder's own: audit log, copies and rules are the user's. */
static int start_server(const struct upplace *place, int out_fd, struct children *children,
                        struct err *err)
{
    /* The key is of this command, whoever else the environment has one for. */
    const char *words[MAX_WORDS] = {STATUS_NAME_OF_UP, "--listen", place->listen,
                                    "--gateway-key-user", "owner"};
    size_t count = 5;

    if (is_for_us_only())
        words[count++] = "--copies";
    if (place->state[0] != '\0') {
        words[count++] = "--state-dir";
        words[count++] = place->server_state[0] != '\0' ? place->server_state : place->state;
    }
    if (place->server_state[0] != '\0' && setenv(SERVE_COPIES_STATE_ENV, place->state, 1) < 0)
        return err_set_plain(err, ERR_NO_MEMORY);
    children->server = start_child(SERVE_PROGRAM, words, out_fd);
    return 0;
}

/* As given: the daemon has the same current directory, and a real path may have a comma. */
static void add_others(struct option_list list, const char *option, const char **words,
                       size_t *count)
{
    for (size_t i = 0; i < list.count; i++) {
        words[(*count)++] = option;
        words[(*count)++] = list.items[i];
    }
}

/* Those of variables are the daemon's, too. */
static void add_permissions(const struct option_values *values, const char **words, size_t *count)
{
    static const struct {
        const char *option;
        size_t index;
        bool is_of_reading;
    } rows[] = {
        {"--permission-filesystem-read", UP_OPTION_PERMISSION_READ, true},
        {"--permission-filesystem-write", UP_OPTION_PERMISSION_WRITE, false},
        {"--permission-shell", UP_OPTION_PERMISSION_SHELL, false},
        {"--permission-computer", UP_OPTION_PERMISSION_COMPUTER, true},
        {"--permission-browser", UP_OPTION_PERMISSION_BROWSER, true},
    };

    for (size_t i = 0; i < array_size(rows); i++) {
        bool is_off = options_is_on(values, UP_OPTION_READ_ONLY) && !rows[i].is_of_reading;

        if (rows[i].index == UP_OPTION_PERMISSION_SHELL && upplace_hides_commands(values))
            is_off = true;
        if (!is_off && options_source(values, rows[i].index) != OPTION_FLAG)
            continue;
        words[(*count)++] = rows[i].option;
        words[(*count)++] = is_off ? "deny" : shared_modes[options_choice(values, rows[i].index)];
    }
}

static pid_t start_daemon(const struct option_values *values, const struct upplace *place,
                          const char *url)
{
    const char *words[MAX_WORDS] = {STATUS_NAME_OF_UP, /* so that 'gatehouse status' says so */
                                    url,
                                    "--dir",
                                    place->folder,
                                    "--auto-confirm",
                                    "--non-interactive",
                                    "--permission-confirmation",
                                    "instance",
                                    "--log-level",
                                    "warn",
                                    "--port",
                                    "0"};
    size_t count = 12;

    /* Being ours, it asks about commands unless the user has chosen otherwise. */
    if (!options_is_on(values, UP_OPTION_READ_ONLY))
        words[count++] = "--filesystem-write-access";
    add_permissions(values, words, &count);
    if (place->state[0] != '\0') {
        words[count++] = "--state-dir";
        words[count++] = place->state;
    }
    add_others(options_list(values, UP_OPTION_RW), "--rw", words, &count);
    add_others(options_list(values, UP_OPTION_RO), "--ro", words, &count);
    /* The variables are the daemon's, too. */
    if (options_source(values, UP_OPTION_DENY) == OPTION_FLAG)
        add_others(options_list(values, UP_OPTION_DENY), "--deny", words, &count);
    if (options_source(values, UP_OPTION_ALLOW) == OPTION_FLAG)
        add_others(options_list(values, UP_OPTION_ALLOW), "--allow", words, &count);
    if (options_source(values, UP_OPTION_HARD_LINKS) == OPTION_FLAG) {
        words[count++] = "--hard-links";
        words[count++] = options_text(values, UP_OPTION_HARD_LINKS);
    }
    if (options_source(values, UP_OPTION_SHELL_DOMAIN) == OPTION_FLAG)
        add_others(options_list(values, UP_OPTION_SHELL_DOMAIN), "--shell-domain", words, &count);
    if (options_source(values, UP_OPTION_SHELL_ENV) == OPTION_FLAG)
        add_others(options_list(values, UP_OPTION_SHELL_ENV), "--shell-env", words, &count);
    return start_child(CONNECT_PROGRAM, words, -1);
}

static int start_both(const struct option_values *values, const sigset_t *before,
                      struct children *children, struct err *err)
{
    struct upplace place;
    char url[LINE_BYTES];
    int pipe_fds[2];
    int r = upplace_choose(values, &place, err);

    if (r == 0 && pipe2(pipe_fds, O_CLOEXEC) < 0)
        r = err_set_plain(err, ERR_NO_MEMORY);
    if (r < 0)
        return r;
    r = start_server(&place, pipe_fds[1], children, err);
    close(pipe_fds[1]);
    children->output = pipe_fds[0];
    if (children->server > 0 && read_address(pipe_fds[0], place.folder, values, before, url))
        children->daemon = start_daemon(values, &place, url);
    return r;
}

static int run(const struct option_values *values, struct err *err)
{
    struct sigaction action = {.sa_handler = on_signal};
    struct children children = {.output = -1};
    char key[KEY_CHARS + 1];
    sigset_t blocked;
    sigset_t before;
    int r;

    sigemptyset(&blocked);
    for (size_t i = 0; i < array_size(caught); i++)
        sigaddset(&blocked, caught[i]);
    sigprocmask(SIG_BLOCK, &blocked, &before);
    for (size_t i = 0; i < array_size(caught); i++)
        sigaction(caught[i], &action, NULL);
    rand_token(key, KEY_CHARS);
    if (setenv(SERVE_STATIC_KEY_ENV, key, 1) < 0)
        return err_set_plain(err, ERR_NO_MEMORY);
    secret_wipe(key, sizeof(key));
    r = start_both(values, &before, &children, err);
    if (r < 0)
        return r;
    return wait_for_both(&children, &before);
}

int up_run(struct option_values *values)
{
    struct err err = ERR_INIT;
    int r = options_read_env(values, environ, &err);

    if (r == 0)
        r = run(values, &err);
    if (r >= 0)
        return r;
    complain("gatehouse up", err.message);
    return EXIT_FAILED;
}
