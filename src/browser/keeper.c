/* SPDX-License-Identifier: Apache-2.0 */
#include "browser/keeper.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "browser/installed.h"
#include "browser/jsonf.h"
#include "ipc/packet.h"
#include "isolate/box/box.h"
#include "isolate/environment.h"
#include "isolate/profile.h"

enum {
    ARENA_BYTES = 1 << 20,
    MAX_WORDS = 48,
    PIPE_BYTES = 1 << 20,
    END_MS = 5000,
    EXIT_IN_USE = 21, /* of Chromium: another one has the profile */
};

#define SCRATCH_BYTES (UINT64_C(2) << 30) /* shared memory of the browser's parts, too */

static const char without_features[] =
    "--disable-features=MediaRouter,OptimizationHints,Translate,InterestFeedContentSuggestions,"
    "CertificateTransparencyComponentUpdater,DialMediaRouteProvider";

struct browser_keeper {
    const struct browser_keeper_config *config;
    struct profile profile;
    bool is_running;
    struct box_process process;
    bool has_failed; /* it ended by itself, and nobody was told */
    struct box_end end;
};

/* ---- starting ---- */

struct launch {
    struct str mode;
    struct str profile;
    struct str browser;
    bool is_headless;
    const struct json_value *own; /* hosts with ports that it must not reach; or NULL */
};

static bool is_host_pattern(struct str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (!isalnum((unsigned char)text.ptr[i]) && strchr(".-:*[]", text.ptr[i]) == NULL)
            return false;
    return text.len > 0;
}

/* A rule of the resolver holds for all parts of a browser, and for addresses as for names. */
static int write_closed(const struct launch *launch, struct buf *out)
{
    int r = buf_append_str(out, STR("--host-resolver-rules="));
    bool is_first = true;

    if (launch->own == NULL || launch->own->type != JSON_ARRAY)
        return ERR_INVALID_ARGUMENT;
    json_each_item (item, launch->own) {
        if (item->type != JSON_STRING || !is_host_pattern(json_str(item)))
            return ERR_INVALID_ARGUMENT;
        if (r == 0)
            r = buf_printf(out, "%sMAP %.*s ~NOTFOUND", is_first ? "" : ",",
                           STR_ARG(json_str(item)));
        is_first = false;
    }
    return r;
}

/*
 * The box has three streams; a browser's pipes are numbered 3 and 4. Nothing of the words is read
 * by the shell but this line.
 */
static int write_words(const struct browser_keeper *keeper, const struct launch *launch,
                       const char *path, struct arena *arena, const char *words[MAX_WORDS])
{
    static const char *const fixed[] = {
        "--remote-debugging-pipe",
        "--no-first-run",
        "--no-default-browser-check",
        "--no-startup-window",
        "--no-service-autorun",
        "--disable-background-networking",
        "--disable-breakpad",
        "--disable-component-update",
        "--disable-default-apps",
        "--disable-domain-reliability",
        "--disable-extensions",
        "--disable-quic",
        "--disable-search-engine-choice-screen",
        "--disable-sync",
        "--disable-background-timer-throttling",
        "--disable-backgrounding-occluded-windows",
        "--disable-renderer-backgrounding",
        without_features,
        "--metrics-recording-only",
        "--password-store=basic",
        "--window-size=1280,800",
    };
    cleanup_buf struct buf data = BUF_INIT(PATH_MAX + 64);
    cleanup_buf struct buf closed = BUF_INIT(KEEPER_MAX_PACKET);
    size_t count = 0;
    int r = buf_printf(&data, "--user-data-dir=%s/" PROFILE_DATA, keeper->profile.path);

    if (r == 0)
        r = write_closed(launch, &closed);
    if (r < 0)
        return r;

    words[count++] = "/bin/sh";
    words[count++] = "-c";
    words[count++] = "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1";
    words[count++] = path;
    for (size_t i = 0; i < array_size(fixed); i++)
        words[count++] = fixed[i];
    if (launch->is_headless)
        words[count++] = "--headless";
    words[count++] = arena_copy(arena, buf_view(&data));
    words[count++] = arena_copy(arena, buf_view(&closed));
    words[count] = NULL;
    return arena->error;
}

static int make_box(struct browser_keeper *keeper, struct box **out_box, struct err *err)
{
    char data[PATH_MAX];
    const struct box_place places[] = {{.path = data, .access = BOX_WRITE}};
    const struct box_plan plan = {
        .places = places,
        .place_count = array_size(places),
        .network = BOX_NETWORK_HOST,
        .tmp_bytes = SCRATCH_BYTES,
        .holds_sandboxes = true,
    };

    if (snprintf(data, sizeof(data), "%s/" PROFILE_DATA, keeper->profile.path) >= PATH_MAX)
        return err_set_plain(err, ERR_TOO_LARGE);
    return box_new(&plan, out_box, err);
}

/* `theirs` are what the browser reads and writes. */
static int start(struct browser_keeper *keeper, const struct launch *launch, const char *path,
                 const int theirs[2], struct err *err)
{
    static const char *const more[] = {"HOME=/tmp", "TMPDIR=/tmp", NULL};
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    cleanup_box struct box *box = NULL;
    const char *words[MAX_WORDS];
    struct box_command command = {
        .argv = words, .cwd = "/tmp", .fds = {theirs[0], theirs[1], BOX_FD_NULL}};
    int r = make_box(keeper, &box, err);

    if (r == 0)
        r = environment_clean(&arena, environ, more, &command.env, err);
    if (r < 0)
        return r;
    r = write_words(keeper, launch, path, &arena, words);
    if (r < 0)
        return err_set_plain(err, r);
    r = box_start(box, &command, &keeper->process, err);
    keeper->is_running = r == 0;
    return r;
}

static int open_pipes(int out_ours[2], int out_theirs[2])
{
    int to[2];
    int from[2];

    if (pipe2(to, O_CLOEXEC) < 0)
        return errno;
    if (pipe2(from, O_CLOEXEC) < 0) {
        close(to[0]);
        close(to[1]);
        return errno;
    }
    (void)fcntl(to[1], F_SETPIPE_SZ, PIPE_BYTES);
    (void)fcntl(from[1], F_SETPIPE_SZ, PIPE_BYTES);
    out_theirs[0] = to[0];
    out_theirs[1] = from[1];
    out_ours[0] = to[1];
    out_ours[1] = from[0];
    return 0;
}

static void end_browser(struct browser_keeper *keeper)
{
    struct pollfd channel = {.fd = keeper->process.channel, .events = POLLIN};

    if (!keeper->is_running)
        return;
    /* Its pipes are closed, which makes it end by itself: then its profile is whole. */
    if (poll(&channel, 1, END_MS) <= 0)
        (void)box_signal(&keeper->process, SIGKILL);
    box_finish(&keeper->process, &keeper->end);
    keeper->is_running = false;
}

static int launch_browser(struct browser_keeper *keeper, const struct launch *launch,
                          int out_fds[2], struct err *err)
{
    const char *path = browser_installed(launch->browser);
    int theirs[2] = {-1, -1};
    int ours[2] = {-1, -1};
    int r;

    if (path == NULL)
        return err_set(err, ERR_NOT_FOUND,
                       "%.*s is not installed\nInstall it, for example the package chromium",
                       STR_ARG(launch->browser.len > 0 ? launch->browser : STR("A browser")));
    if (keeper->is_running)
        return err_set(err, ERR_BUSY, "a browser runs already");
    if (str_eq(launch->mode, STR("persistent")) && launch->profile.len == 0)
        return err_set(err, ERR_INVALID_ARGUMENT, "persistent needs the name of a profile");
    r = profile_open(keeper->config->state_dir,
                     str_eq(launch->mode, STR("persistent")) ? launch->profile : STR_EMPTY,
                     &keeper->profile, err);
    if (r < 0)
        return r;
    r = open_pipes(ours, theirs);
    if (r != 0) {
        profile_close(&keeper->profile);
        return err_set(err, err_from_errno(r), "cannot create pipes");
    }
    r = start(keeper, launch, path, theirs, err);
    close(theirs[0]);
    close(theirs[1]);
    if (r < 0) {
        close(ours[0]);
        close(ours[1]);
        profile_close(&keeper->profile);
        return r;
    }
    keeper->has_failed = false;
    out_fds[0] = ours[0];
    out_fds[1] = ours[1];
    return 0;
}

/* ---- requests ---- */

static void answer(const struct browser_keeper *keeper, int error, const char *message,
                   const int *fds, size_t fd_count)
{
    cleanup_buf struct buf text = BUF_INIT(KEEPER_MAX_PACKET);
    int r = jsonf(&text, "{\"error\":%d,\"message\":%z}", (int64_t)error, message);

    if (r == 0)
        (void)packet_send(keeper->config->socket, buf_view(&text), fds, fd_count, 0);
}

static void on_launch(struct browser_keeper *keeper, const struct json_value *wish)
{
    struct launch launch = {
        .mode = STR_EMPTY, .profile = STR_EMPTY, .browser = STR_EMPTY, .is_headless = false};
    struct err err = ERR_INIT;
    int fds[2];
    int r;

    (void)json_get_str(wish, STR("mode"), &launch.mode);
    (void)json_get_str(wish, STR("profile"), &launch.profile);
    (void)json_get_str(wish, STR("browser"), &launch.browser);
    (void)json_get_bool(wish, STR("headless"), &launch.is_headless);
    launch.own = json_get(wish, STR("own"));
    r = launch_browser(keeper, &launch, fds, &err);
    if (r < 0) {
        answer(keeper, r, err.message, NULL, 0);
        return;
    }
    answer(keeper, 0, "", fds, 2);
    close(fds[0]);
    close(fds[1]);
}

static void on_stop(struct browser_keeper *keeper)
{
    bool had_failed = keeper->has_failed;
    char words[200] = "";

    end_browser(keeper);
    profile_close(&keeper->profile);
    keeper->has_failed = false;
    if (had_failed && !keeper->end.is_signal && keeper->end.value == EXIT_IN_USE)
        snprintf(words, sizeof(words), "The profile is in use by another browser");
    else if (had_failed)
        snprintf(words, sizeof(words), "The browser ended at once (%s %d)",
                 keeper->end.is_signal ? "signal" : "status", keeper->end.value);
    answer(keeper, had_failed ? ERR_TOOL_FAILED : 0, words, NULL, 0);
}

static void take_request(struct browser_keeper *keeper, struct str text)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    const struct json_value *request;

    if (json_parse(&arena, text, JSON_LIMITS_DEFAULT, &request, NULL) < 0)
        return;
    if (json_get(request, STR("launch")) != NULL)
        on_launch(keeper, json_get(request, STR("launch")));
    else
        on_stop(keeper);
}

int browser_keeper_serve(const struct browser_keeper_config *config, struct err *err)
{
    static char room[KEEPER_MAX_PACKET];
    struct browser_keeper keeper = {.config = config, .profile = PROFILE_INIT};
    int ignored[KEEPER_FDS];
    bool is_open = true;

    (void)err;
    profile_sweep(config->state_dir);
    while (is_open) {
        struct pollfd fds[] = {
            {.fd = config->socket, .events = POLLIN},
            {.fd = keeper.is_running ? keeper.process.channel : -1, .events = POLLIN}};

        if (poll(fds, array_size(fds), -1) < 0 && errno != EINTR)
            break;
        if (fds[1].revents != 0) {
            box_finish(&keeper.process, &keeper.end);
            keeper.is_running = false;
            keeper.has_failed = keeper.end.is_signal || keeper.end.value != 0;
        }
        if (fds[0].revents != 0) {
            ssize_t got = packet_receive(config->socket, room, sizeof(room), ignored, 0, 0);

            is_open = got > 0 || (got < 0 && errno == EINTR);
            if (got > 0)
                take_request(&keeper, (struct str){room, (size_t)got});
        }
    }
    end_browser(&keeper);
    profile_close(&keeper.profile);
    return 0;
}

int browser_keeper_ask(int socket, struct str request, char room[KEEPER_MAX_PACKET],
                       struct str *out_answer, int out_fds[KEEPER_FDS], struct err *err)
{
    ssize_t got;

    if (packet_send(socket, request, NULL, 0, 0) < 0)
        return err_set(err, ERR_CONNECTION_LOST, "gatehouse-browser is broken: restart Gatehouse");
    got = packet_receive(socket, room, KEEPER_MAX_PACKET, out_fds, KEEPER_FDS, 0);
    if (got <= 0)
        return err_set(err, ERR_CONNECTION_LOST, "gatehouse-browser is broken: restart Gatehouse");
    *out_answer = (struct str){room, (size_t)got};
    return 0;
}
