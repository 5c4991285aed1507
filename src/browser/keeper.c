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
#include "isolate/newfile.h"
#include "isolate/profile.h"
#include "isolate/userbrowser.h"
#include "isolate/x11place.h"
#include "protocol/staged.h"

enum {
    ARENA_BYTES = 1 << 20,
    MAX_WORDS = 48,
    MORE = 8, /* variables of its environment, with the NULL */
    PIPE_BYTES = 1 << 20,
    END_MS = 5000,
    EXIT_IN_USE = 21, /* of Chromium: another one has the profile */
};

#define COOKIE "xauthority" /* in the profile's directory, beside what the browser writes */

/* Where it opens windows. */
struct window_place {
    struct x11place x11;
    char cookie[PATH_MAX]; /* or empty */
};

#define SCRATCH_BYTES (UINT64_C(2) << 30) /* shared memory of the browser's parts, too */

/*
 * The one about input: what a page does after a click would wait for its next frame. The one about
 * sandboxed frames: such a frame with a process of its own, but without an address, does not wait
 * until its requests are intercepted. The last ones are pages of the browser's own address bar,
 * which take a process of 160 MB and a second of CPU at the start.
 */
static const char without_features[] =
    "--disable-features=DeferRendererTasksAfterInput,MediaRouter,OptimizationHints,Translate,"
    "InterestFeedContentSuggestions,IsolateSandboxedIframes,"
    "CertificateTransparencyComponentUpdater,DialMediaRouteProvider,PreloadTopChromeWebUI,"
    "WebUIOmniboxPopup,WebUIOmniboxAimPopup";

struct browser_keeper {
    const struct browser_keeper_config *config;
    struct profile profile;
    bool is_running;
    bool has_windows;
    bool has_proxy;
    struct box_process process;
    bool has_failed; /* it ended by itself, and nobody was told */
    struct box_end end;
};

/* ---- starting ---- */

struct launch {
    struct str mode;
    struct str profile;
    struct str browser;
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
                       const char *path, bool has_windows, struct arena *arena,
                       const char *words[MAX_WORDS])
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
        "--disable-gpu", /* a box has none: to look for it takes a quarter of the start */
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
    words[count++] =
        "[ -z \"$GATEHOUSE_LINK\" ] || ln -s \"$GATEHOUSE_SOCKET\" \"$GATEHOUSE_LINK\"; "
        "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1";
    words[count++] = path;
    for (size_t i = 0; i < array_size(fixed); i++)
        words[count++] = fixed[i];
    words[count++] = has_windows ? "--ozone-platform=x11" : "--headless";
    words[count++] = arena_copy(arena, buf_view(&data));
    words[count++] = arena_copy(arena, buf_view(&closed));
    words[count] = NULL;
    return arena->error;
}

/* `window` is NULL for a browser without windows. */
static int make_box(struct browser_keeper *keeper, const struct window_place *window,
                    struct box **out_box, struct err *err)
{
    char data[PATH_MAX];
    char uploads[PATH_MAX];
    char downloads[PATH_MAX];
    const char *staging = keeper->config->staging_dir;
    struct box_place places[6] = {
        {.path = data, .access = BOX_WRITE},
        /* Without it, each start reads all fonts. */
        {.path = "/var/cache/fontconfig", .access = BOX_READ, .is_optional = true},
    };
    struct box_plan plan = {
        .places = places,
        .place_count = 2,
        .network = BOX_NETWORK_HOST,
        .tmp_bytes = SCRATCH_BYTES,
        .holds_sandboxes = true,
    };

    if (snprintf(data, sizeof(data), "%s/" PROFILE_DATA, keeper->profile.path) >= PATH_MAX ||
        (staging != NULL &&
         (snprintf(uploads, PATH_MAX, "%s/" STAGED_UPLOADS, staging) >= PATH_MAX ||
          snprintf(downloads, PATH_MAX, "%s/" STAGED_DOWNLOADS, staging) >= PATH_MAX)))
        return err_set_plain(err, ERR_TOO_LARGE);
    if (staging != NULL) {
        places[plan.place_count++] = (struct box_place){.path = uploads, .access = BOX_READ};
        places[plan.place_count++] = (struct box_place){.path = downloads, .access = BOX_WRITE};
    }
    if (window != NULL)
        places[plan.place_count++] =
            (struct box_place){.path = window->x11.socket, .access = BOX_WRITE, .is_socket = true};
    if (window != NULL && window->cookie[0] != '\0')
        places[plan.place_count++] = (struct box_place){.path = window->cookie, .access = BOX_READ};
    return box_new(&plan, out_box, err);
}

/* Adds the variables by which a program finds the display, and the cookie alone, as a file. */
static int add_display(struct browser_keeper *keeper, struct window_place *window,
                       struct arena *arena, const char *out_more[MORE])
{
    cleanup_buf struct buf text = BUF_INIT(PATH_MAX + 64);
    size_t count = 2;
    int r = buf_printf(&text, "DISPLAY=:%d", X11PLACE_OTHER_NUMBER(window->x11.number));

    out_more[count++] = arena_copy(arena, buf_view(&text));
    if (snprintf(window->cookie, sizeof(window->cookie), "%s/" COOKIE, keeper->profile.path) >=
        PATH_MAX)
        return ERR_TOO_LARGE;
    if (!x11place_write_cookie(&window->x11, window->cookie))
        window->cookie[0] = '\0'; /* the server may let everybody in */
    buf_clear(&text);
    if (r == 0 && window->cookie[0] != '\0') {
        r = buf_printf(&text, "XAUTHORITY=%s", window->cookie);
        out_more[count++] = arena_copy(arena, buf_view(&text));
    }
    buf_clear(&text);
    if (r == 0)
        r = buf_printf(&text, "GATEHOUSE_LINK=/tmp/.X11-unix/X%d",
                       X11PLACE_OTHER_NUMBER(window->x11.number));
    out_more[count++] = arena_copy(arena, buf_view(&text));
    buf_clear(&text);
    if (r == 0)
        r = buf_printf(&text, "GATEHOUSE_SOCKET=%s", window->x11.socket);
    out_more[count++] = arena_copy(arena, buf_view(&text));
    out_more[count] = NULL;
    return r == 0 ? arena->error : r;
}

/* A proxy has looked up the names, and the browser knows its address only. */
static bool names_proxy(const char *const *env)
{
    for (; *env != NULL; env++) {
        struct str value = str_from(*env);
        struct str name;

        if (str_cut(&value, '=', &name) && value.len > 0 && !str_eq_nocase(name, STR("no_proxy")) &&
            (str_ends_with(name, STR("_proxy")) || str_ends_with(name, STR("_PROXY"))))
            return true;
    }
    return false;
}

/* `theirs` are what the browser reads and writes. */
static int start(struct browser_keeper *keeper, const struct launch *launch, const char *path,
                 const int theirs[2], struct err *err)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    cleanup_box struct box *box = NULL;
    struct window_place window = {.cookie = ""};
    bool has_windows = !keeper->config->is_headless && x11place_find(&window.x11);
    const char *more[MORE] = {"HOME=/tmp", "TMPDIR=/tmp", NULL};
    const char *words[MAX_WORDS];
    struct box_command command = {
        .argv = words, .cwd = "/tmp", .fds = {theirs[0], theirs[1], BOX_FD_NULL}};
    int r = has_windows ? add_display(keeper, &window, &arena, more) : 0;

    if (r < 0)
        return err_set_plain(err, r);
    r = make_box(keeper, has_windows ? &window : NULL, &box, err);
    if (r == 0)
        r = environment_clean(&arena, environ, more, &command.env, err);
    if (r < 0)
        return r;
    r = write_words(keeper, launch, path, has_windows, &arena, words);
    if (r < 0)
        return err_set_plain(err, r);
    r = box_start(box, &command, &keeper->process, err);
    keeper->is_running = r == 0;
    keeper->has_windows = has_windows;
    keeper->has_proxy = names_proxy(command.env);
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
                       browser_installed(STR_EMPTY) != NULL
                           ? "%.*s is not installed\nLeave browser out to start the one that is"
                           : "%.*s is not installed\nInstall it, for example the package chromium",
                       STR_ARG(launch->browser.len > 0 ? launch->browser : STR("A browser")));
    if (keeper->is_running)
        return err_set(err, ERR_BUSY, "a browser runs already");
    if (str_eq(launch->mode, STR("persistent")) && launch->profile.len == 0)
        return err_set(err, ERR_INVALID_ARGUMENT,
                       "persistent needs profile, a name of your choice, like work");
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
    int r = jsonf(&text, "{\"error\":%d,\"message\":%z,\"windows\":%b,\"proxy\":%b}",
                  (int64_t)error, message, keeper->is_running && keeper->has_windows,
                  keeper->is_running && keeper->has_proxy);

    if (r == 0)
        (void)packet_send(keeper->config->socket, buf_view(&text), fds, fd_count, 0);
}

static void on_launch(struct browser_keeper *keeper, const struct json_value *wish)
{
    struct launch launch = {.mode = STR_EMPTY, .profile = STR_EMPTY, .browser = STR_EMPTY};
    struct err err = ERR_INIT;
    int fds[2];
    int r;

    (void)json_get_str(wish, STR("mode"), &launch.mode);
    (void)json_get_str(wish, STR("profile"), &launch.profile);
    (void)json_get_str(wish, STR("browser"), &launch.browser);
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

/* The working half can reach nothing by itself: it gets the connection. Without one, no error. */
static void on_attach(const struct browser_keeper *keeper, const struct json_value *wish)
{
    cleanup_buf struct buf text = BUF_INIT(KEEPER_MAX_PACKET);
    struct userbrowser browser = {.port = 0};
    struct str name = STR_EMPTY;
    int fd = -1;

    (void)json_get_str(wish, STR("browser"), &name);
    (void)userbrowser_connect(name, &browser, &fd, NULL);
    if (jsonf(&text, "{\"error\":0,\"message\":\"\",\"port\":%d,\"path\":%z}",
              (int64_t)browser.port, browser.path) == 0)
        (void)packet_send(keeper->config->socket, buf_view(&text), &fd, fd >= 0 ? 1 : 0, 0);
    if (fd >= 0)
        close(fd);
}

/* Where the user's own browser may come by itself. */
static void on_listen(const struct browser_keeper *keeper)
{
    cleanup_buf struct buf text = BUF_INIT(KEEPER_MAX_PACKET);
    struct err err = ERR_INIT;
    uint16_t port = 0;
    int fd = -1;
    int r = userbrowser_listen(&port, &fd, &err);

    if (jsonf(&text, "{\"error\":%d,\"message\":%z,\"port\":%d}", (int64_t)r, err.message,
              (int64_t)port) == 0)
        (void)packet_send(keeper->config->socket, buf_view(&text), &fd, fd >= 0 ? 1 : 0, 0);
    if (fd >= 0)
        close(fd);
}

/* Only this page: the working half reads what pages say, and has no say in what else is opened. */
static void on_open(const struct browser_keeper *keeper, const struct json_value *wish)
{
    cleanup_buf struct buf text = BUF_INIT(KEEPER_MAX_PACKET);
    struct str browser = STR_EMPTY;
    struct str path = STR_EMPTY;
    int64_t port = 0;
    int r = ERR_INVALID_ARGUMENT;

    (void)json_get_str(wish, STR("browser"), &browser);
    (void)json_get_str(wish, STR("path"), &path);
    if (json_get_int(wish, STR("port"), &port) && port > 0 && port <= UINT16_MAX)
        r = userbrowser_open(browser, (uint16_t)port, path, NULL);
    if (jsonf(&text, "{\"error\":0,\"message\":\"\",\"opened\":%d}", (int64_t)r) == 0)
        (void)packet_send(keeper->config->socket, buf_view(&text), NULL, 0, 0);
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

/* For the half that may open nothing. */
static void on_file(const struct browser_keeper *keeper, struct str name)
{
    char directory[PATH_MAX];
    struct err err = ERR_INIT;
    int fd = -1;
    int r = 0;

    if (keeper->config->staging_dir == NULL || !staged_is_download(name) ||
        snprintf(directory, sizeof(directory), "%s/" STAGED_DOWNLOADS,
                 keeper->config->staging_dir) >= PATH_MAX)
        r = err_set_plain(&err, ERR_INVALID_ARGUMENT);
    if (r == 0)
        r = newfile_create(directory, name, &fd, &err);
    answer(keeper, r, r < 0 ? err.message : "", &fd, r < 0 ? 0 : 1);
    if (fd >= 0)
        close(fd);
}

static void take_request(struct browser_keeper *keeper, struct str text)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    const struct json_value *request;
    struct str file;

    if (json_parse(&arena, text, JSON_LIMITS_DEFAULT, &request, NULL) < 0)
        return;
    if (json_get(request, STR("launch")) != NULL)
        on_launch(keeper, json_get(request, STR("launch")));
    else if (json_get(request, STR("attach")) != NULL)
        on_attach(keeper, json_get(request, STR("attach")));
    else if (json_get(request, STR("listen")) != NULL)
        on_listen(keeper);
    else if (json_get(request, STR("open")) != NULL)
        on_open(keeper, json_get(request, STR("open")));
    else if (json_get_str(request, STR("file"), &file))
        on_file(keeper, file);
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
