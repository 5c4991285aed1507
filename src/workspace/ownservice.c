/* SPDX-License-Identifier: Apache-2.0 */
#include "workspace/ownservice.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "isolate/companion.h"

enum {
    MAX_FILE_BYTES = 4096,
    STEPS = 3000, /* half a minute: a killed service's sandboxes may have to end first */
};

struct ownservice {
    struct ownservice_config config;
    unsigned steps;
    pid_t pid; /* 0: not started, or it has ended */
    bool is_started;
    int errors; /* its standard error; -1: none */
};

int ownservice_new(const struct ownservice_config *config, struct ownservice **out_service)
{
    struct ownservice *service = calloc(1, sizeof(*service));

    if (service == NULL)
        return ERR_NO_MEMORY;
    service->config = *config;
    service->errors = -1;
    *out_service = service;
    return 0;
}

void ownservice_free(struct ownservice *service)
{
    if (service == NULL)
        return;
    if (service->errors >= 0)
        close(service->errors);
    free(service);
}

/*
 * What the service wrote down: its address, and its key if it made one. ERR_NOT_FOUND without a
 * service that lives: it keeps the file locked.
 */
static int read_file(const struct ownservice *service, struct arena *arena,
                     const struct json_value **out_object, struct err *err)
{
    const struct json_limits limits = {MAX_FILE_BYTES, 4};
    char *text = arena_alloc(arena, MAX_FILE_BYTES);
    cleanup_fd int fd = -1;
    char path[PATH_MAX];
    ssize_t got;

    if (text == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    if (snprintf(path, sizeof(path), "%s/sandboxes/service.json", service->config.state_dir) >=
        (int)sizeof(path))
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
static bool is_starting(const struct ownservice *service)
{
    cleanup_fd int fd = -1;
    char path[PATH_MAX];

    if (snprintf(path, sizeof(path), "%s/sandboxes", service->config.state_dir) >=
        (int)sizeof(path))
        return false;
    fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) < 0;
}

static int start(struct ownservice *service, struct err *err)
{
    const char *const argv[] = {service->config.program,
                                "--listen",
                                "127.0.0.1:0",
                                "--exit-idle",
                                "1m",
                                "--idle-stop",
                                "15m",
                                "--state-dir",
                                service->config.state_dir,
                                "--log-level",
                                "error",
                                NULL};
    int ends[2];
    int r;

    if (pipe2(ends, O_CLOEXEC) < 0)
        return err_set(err, err_from_errno(errno), "no pipe: %s", err_errno_text(errno));
    r = companion_start_service(service->config.program, service->config.libexec, argv, ends[1],
                                &service->pid, err);
    close(ends[1]);
    service->errors = ends[0];
    service->is_started = r == 0;
    return r;
}

/* It has ended: in its own words. */
static int explain(const struct ownservice *service, struct err *err)
{
    char words[ERR_MESSAGE_BYTES];
    ssize_t got = read(service->errors, words, sizeof(words) - 1);

    words[got > 0 ? got : 0] = '\0';
    words[strcspn(words, "\n")] = '\0';
    return err_set(err, ERR_UNSUPPORTED, "cannot start a sandbox service: %.200s",
                   words[0] != '\0' ? words : "it ended at once");
}

/* True if it has ended, and no other is there. */
static bool has_failed(struct ownservice *service)
{
    if (service->pid > 0 && waitpid(service->pid, NULL, WNOHANG) == service->pid)
        service->pid = 0;
    return service->is_started && service->pid == 0 && !is_starting(service);
}

static int take(const struct json_value *object, struct httpurl *out_url, struct secret *out_key,
                struct err *err)
{
    struct str url;
    struct str key = STR_EMPTY;
    int r;

    /* It is written whole, but the address comes later than the lock. */
    if (!json_get_str(object, STR("url"), &url))
        return ERR_BUSY;
    (void)json_get_str(object, STR("key"), &key);
    r = httpurl_parse(url, out_url, err);
    if (r < 0)
        return r;
    secret_done(out_key);
    if (key.len > 0 && secret_set(out_key, key) < 0)
        r = err_set(err, ERR_INVALID_JSON, "the service's file has no valid key");
    return r;
}

int ownservice_step(struct ownservice *service, struct httpurl *out_url, struct secret *out_key,
                    struct err *err)
{
    cleanup_arena struct arena arena = ARENA_INIT(8 * (size_t)MAX_FILE_BYTES);
    const struct json_value *object;
    int r = read_file(service, &arena, &object, err);

    if (r == 0)
        r = take(object, out_url, out_key, err);
    if (r == 0)
        return 0;
    if (!service->is_started && !is_starting(service)) {
        if (service->config.only_running)
            return r == ERR_BUSY ? err_set_plain(err, ERR_NOT_FOUND) : r;
        r = start(service, err);
        if (r < 0)
            return r;
    }
    if (has_failed(service))
        return explain(service, err);
    if (service->steps++ >= STEPS)
        return err_set(err, ERR_TIMED_OUT, "the sandbox service does not start");
    return ERR_BUSY;
}
