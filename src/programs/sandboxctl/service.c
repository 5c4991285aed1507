/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the service is. Without --url it is the user's own: the one that runs, found by a file in
 * its state directory, which it keeps locked; else one that this starts, which exits when nobody
 * needs it any more.
 */
#include "programs/sandboxctl/ctl.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/programs.h"
#include "cli/sandbox.h"
#include "isolate/companion.h"
#include "session/state.h"

enum {
    MAX_FILE_BYTES = 4096,
    WAIT_MS = 10,
    TRIES = 3000, /* half a minute: a killed service's sandboxes may have to end first */
};

/* What the service needs to be started, and what came of it. */
struct own_service {
    char state[PATH_MAX]; /* the user's state directory */
    pid_t pid;            /* 0: not started, or it has ended */
    bool is_started;
    int errors; /* its standard error; -1: none */
};

/*
 * What the service wrote down: its address, and its key if it made one. ERR_NOT_FOUND without a
 * service that lives: it keeps the file locked.
 */
static int read_file(const struct own_service *own, struct arena *arena,
                     const struct json_value **out_object, struct err *err)
{
    const struct json_limits limits = {MAX_FILE_BYTES, 4};
    char *text = arena_alloc(arena, MAX_FILE_BYTES);
    cleanup_fd int fd = -1;
    char path[PATH_MAX];
    ssize_t got;

    if (text == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    if (snprintf(path, sizeof(path), "%s/sandboxes/service.json", own->state) >= (int)sizeof(path))
        return err_set(err, ERR_INVALID_PATH, "the state directory's path is too long");
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || flock(fd, LOCK_SH | LOCK_NB) == 0)
        return err_set(err, ERR_NOT_FOUND, "no sandbox service of yours is running");
    got = read(fd, text, MAX_FILE_BYTES);
    if (got < 0)
        return err_set(err, err_from_errno(errno), "cannot read the service's file: %s",
                       err_errno_text(errno));
    return json_parse(arena, (struct str){text, (size_t)got}, limits, out_object, err);
}

/* Whoever holds this lock is a service, which may not have written its file yet. */
static bool is_starting(const struct own_service *own)
{
    cleanup_fd int fd = -1;
    char path[PATH_MAX];

    if (snprintf(path, sizeof(path), "%s/sandboxes", own->state) >= (int)sizeof(path))
        return false;
    fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) < 0;
}

static int start(struct own_service *own, struct err *err)
{
    const char *const argv[] = {
        SANDBOXD_PROGRAM, "--listen", "127.0.0.1:0", "--exit-idle", "1m", "--idle-stop", "15m",
        "--state-dir",    own->state, "--log-level", "error",       NULL};
    int ends[2];
    int r;

    if (pipe2(ends, O_CLOEXEC) < 0)
        return err_set(err, err_from_errno(errno), "no pipe: %s", err_errno_text(errno));
    r = companion_start_service(SANDBOXD_PROGRAM, GATEHOUSE_LIBEXECDIR, argv, ends[1], &own->pid,
                                err);
    close(ends[1]);
    own->errors = ends[0];
    own->is_started = r == 0;
    return r;
}

/* It has ended: in its own words. */
static int explain(const struct own_service *own, struct err *err)
{
    char words[ERR_MESSAGE_BYTES];
    ssize_t got = read(own->errors, words, sizeof(words) - 1);

    words[got > 0 ? got : 0] = '\0';
    words[strcspn(words, "\n")] = '\0';
    return err_set(err, ERR_UNSUPPORTED, "cannot start a sandbox service: %s",
                   words[0] != '\0' ? words : "it ended at once");
}

/* True if it has ended, and no other is there. */
static bool has_failed(struct own_service *own)
{
    if (own->pid > 0 && waitpid(own->pid, NULL, WNOHANG) == own->pid)
        own->pid = 0;
    return own->is_started && own->pid == 0 && !is_starting(own);
}

/* Waits until the service's file has an address. */
static int find_own(struct own_service *own, struct arena *arena,
                    const struct json_value **out_object, struct err *err)
{
    struct str url;

    for (unsigned i = 0; i < TRIES; i++) {
        int r = read_file(own, arena, out_object, err);

        if (r == 0 && json_get_str(*out_object, STR("url"), &url))
            return 0;
        if (!own->is_started && !is_starting(own)) {
            r = start(own, err);
            if (r < 0)
                return r;
        }
        if (has_failed(own))
            return explain(own, err);
        (void)poll(NULL, 0, WAIT_MS);
    }
    return err_set(err, ERR_TIMED_OUT, "the sandbox service does not start");
}

static int find_state(const struct option_values *values, char out_path[PATH_MAX], struct err *err)
{
    const char *given = options_text(values, SANDBOX_ASK_STATE_DIR);

    return given != NULL ? session_state_absolute_path(given, out_path, err)
                         : session_state_default_dir(out_path, err);
}

int ctl_find_service(struct ctl *ctl, const struct option_values *values, struct err *err)
{
    cleanup_arena struct arena arena = ARENA_INIT(TRIES * (size_t)MAX_FILE_BYTES * 4);
    struct own_service own = {.errors = -1};
    const char *given = options_text(values, SANDBOX_ASK_URL);
    const char *given_key = getenv(SANDBOX_KEY_ENV);
    struct str url = given != NULL ? str_from(given) : STR_EMPTY;
    struct str key = given_key != NULL ? str_from(given_key) : STR_EMPTY;
    const struct json_value *object = NULL;
    int r = 0;

    /* The key in the file is for the address in the file, and for no other. */
    if (given == NULL) {
        r = find_state(values, own.state, err);
        if (r == 0)
            r = find_own(&own, &arena, &object, err);
        if (own.errors >= 0)
            close(own.errors);
        if (r == 0 && !json_get_str(object, STR("url"), &url))
            r = err_set(err, ERR_INVALID_JSON, "the service's file names no address");
        if (r == 0 && key.len == 0)
            (void)json_get_str(object, STR("key"), &key);
    }
    if (r == 0)
        r = httpurl_parse(url, &ctl->url, err);
    if (r == 0 && ctl->url.is_tls)
        r = err_set(err, ERR_INVALID_OPTION, "--url: this command has no TLS; use http://");
    if (r == 0 && httpurl_is_exposed(&ctl->url))
        r = err_set(err, ERR_INVALID_OPTION,
                    "--url: the key would be sent unprotected to another machine");
    if (r == 0 && secret_set(&ctl->key, key) < 0)
        r = err_set(err, ERR_INVALID_OPTION, "set the service's key in " SANDBOX_KEY_ENV);
    return r;
}
