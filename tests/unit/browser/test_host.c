/* SPDX-License-Identifier: Apache-2.0 */
/* The working half of gatehouse-browser, with a browser and a front end that the test plays. */
#include "test.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "browser/host.h"
#include "browser/keeper.h"
#include "browser/wire.h"
#include "ipc/packet.h"

enum { ROOM = 256 << 10 };

struct scene {
    int front;
    int keeper;
    int from_host; /* what the browser reads */
    int to_host;
    pthread_t host;
    pthread_t browser;
    struct browser_host_config config;
    struct browser_wire wire;
    const char *refused; /* the method that the browser refuses, of this session; or NULL */
    const char *refused_session;
    const char *const *story; /* what the browser says when a page is to go somewhere; or NULL */
    const char *const *rest;  /* of it, to be told later; or NULL */
    int64_t asked;            /* the command that it is about */
    int holds[2]; /* a pipe: the page's process answers nothing until it is told to; or 0, 0 */
    bool frame_is_late; /* it comes when a call uses the page */
    bool has_proxy;
    bool is_named;     /* every host, by a rule */
    bool has_run_page; /* what waited was let go */
    bool has_run_frame;
};

static void *live_host(void *data)
{
    struct scene *scene = data;
    struct err err = ERR_INIT;

    (void)browser_host_serve(&scene->config, &err);
    return NULL;
}

static void say(const struct scene *scene, const char *text)
{
    size_t len = strlen(text) + 1; /* with the NUL that ends it */
    ssize_t ignored = write(scene->to_host, text, len);

    (void)ignored; /* the host may have closed it */
}

static void attach(const struct scene *scene, const char *kind, const char *name,
                   const char *parent)
{
    char text[512];

    snprintf(text, sizeof(text),
             "{\"method\":\"Target.attachedToTarget\",\"sessionId\":\"%s\",\"params\":{"
             "\"sessionId\":\"S-%s\",\"targetInfo\":{\"targetId\":\"%s\",\"type\":\"%s\","
             "\"url\":\"about:blank\",\"title\":\"\"},\"waitingForDebugger\":true}}",
             parent, name, name, kind);
    say(scene, text);
}

/* ---- a navigation as the browser tells it ---- */

#define EVENT(method, params)                                                                      \
    "{\"method\":\"" method "\",\"sessionId\":\"S-T1\",\"params\":{" params "}}"
#define STARTS_AS(type, loader)                                                                    \
    EVENT("Page.frameStartedNavigating",                                                           \
          "\"frameId\":\"T1\",\"loaderId\":\"" loader "\",\"navigationType\":\"" type "\"")
#define STARTS(loader) STARTS_AS("differentDocument", loader)
#define SENT(loader)                                                                               \
    EVENT(                                                                                         \
        "Network.requestWillBeSent",                                                               \
        "\"frameId\":\"T1\",\"requestId\":\"" loader "\",\"loaderId\":\"" loader                   \
        "\",\"type\":\"Document\",\"request\":{\"url\":\"http://a.example/\",\"method\":\"GET\"}")
#define ARRIVED(loader, url)                                                                       \
    EVENT("Page.frameNavigated",                                                                   \
          "\"frame\":{\"id\":\"T1\",\"loaderId\":\"" loader "\",\"url\":\"" url "\"}")             \
    , EVENT("Runtime.executionContextCreated",                                                     \
            "\"context\":{\"id\":7,\"name\":\"gatehouse\",\"auxData\":{\"frameId\":\"T1\"}}")
#define IS(loader, name)                                                                           \
    EVENT("Page.lifecycleEvent",                                                                   \
          "\"frameId\":\"T1\",\"loaderId\":\"" loader "\",\"name\":\"" name "\"")
#define STOPS EVENT("Page.frameStoppedLoading", "\"frameId\":\"T1\"")
#define WITHIN                                                                                     \
    EVENT("Page.navigatedWithinDocument", "\"frameId\":\"T1\",\"url\":\"http://a.example/b\"")
#define HERE   "http://a.example/"
#define ANSWER "answer"
/* The host has taken in what was said before: it answers this itself. */
#define HEARD                                                                                      \
    EVENT("Fetch.requestPaused", "\"requestId\":\"R\",\"frameId\":\"T1\",\"resourceType\":"        \
                                 "\"Image\",\"request\":{\"url\":\"about:blank\"}")

/* The host asks the front end, and goes on when that has answered. */
#define ASKS                                                                                       \
    EVENT("Fetch.requestPaused", "\"requestId\":\"D\",\"frameId\":\"T1\",\"resourceType\":"        \
                                 "\"Document\",\"request\":{\"url\":\"" HERE "\"}")
#define COMES(frame, url, address)                                                                 \
    EVENT("Network.responseReceived",                                                              \
          "\"requestId\":\"L1\",\"frameId\":\"" frame "\",\"type\":\"Document\",\"response\":{"    \
          "\"url\":\"" url "\",\"status\":200,\"remoteIPAddress\":\"" address "\"}")

static void tell(struct scene *scene, const char *const *story)
{
    char line[128];

    for (scene->rest = NULL; *story != NULL && scene->rest == NULL; story++) {
        if (strcmp(*story, ANSWER) == 0) {
            snprintf(line, sizeof(line),
                     "{\"id\":%lld,\"result\":{\"frameId\":\"T1\",\"loaderId\":\"L1\"}}",
                     (long long)scene->asked);
            say(scene, line);
            continue;
        }
        say(scene, *story);
        if (strcmp(*story, HEARD) == 0 || strcmp(*story, ASKS) == 0)
            scene->rest = story + 1;
    }
}

static void wait_for_release(struct scene *scene)
{
    char byte;

    assert_int_equal(write(scene->holds[1], "", 1), 1);
    assert_int_equal(read(scene->holds[1], &byte, 1), 1);
}

/* A browser with one page, which has a frame of another process. */
static void answer_command(struct scene *scene, struct str text)
{
    cleanup_arena struct arena arena = ARENA_INIT(4 << 20);
    const struct json_value *command;
    struct str method = STR_EMPTY;
    struct str session = STR_EMPTY;
    int64_t id = 0;
    char line[512];
    bool is_refused;

    assert_int_equal(json_parse(&arena, text, JSON_LIMITS_DEFAULT, &command, NULL), 0);
    assert_true(json_get_int(command, STR("id"), &id));
    assert_true(json_get_str(command, STR("method"), &method));
    (void)json_get_str(command, STR("sessionId"), &session);
    is_refused = scene->refused != NULL && str_eq_c(method, scene->refused) &&
                 str_eq_c(session, scene->refused_session);
    if (str_eq(method, STR("Runtime.runIfWaitingForDebugger"))) {
        scene->has_run_page = scene->has_run_page || str_eq(session, STR("S-T1"));
        scene->has_run_frame = scene->has_run_frame || str_eq(session, STR("S-F1"));
    }
    if (scene->story != NULL && (str_eq(method, STR("Page.navigate")) ||
                                 str_eq(method, STR("Page.navigateToHistoryEntry")))) {
        scene->asked = id;
        tell(scene, scene->story);
        return;
    }
    if (str_eq(method, STR("Fetch.continueRequest")) && scene->rest != NULL)
        tell(scene, scene->rest);
    if (str_eq(method, STR("Target.createTarget")))
        attach(scene, "page", "T1", "");
    /* The last command of the set-up: all have come, and none is answered yet. */
    if (scene->holds[1] != 0 && str_eq(method, STR("Runtime.runIfWaitingForDebugger")) &&
        str_eq(session, STR("S-T1")))
        wait_for_release(scene);
    snprintf(line, sizeof(line),
             is_refused ? "{\"id\":%lld,\"error\":{\"code\":-32000,\"message\":\"it is broken\"}}"
                        : "{\"id\":%lld,\"result\":{\"targetId\":\"T1\",\"product\":\"Fake/1\","
                          "\"currentIndex\":1,\"entries\":[{\"id\":1},{\"id\":2}]}}",
             (long long)id);
    say(scene, line);
    if (str_eq_c(method, scene->frame_is_late ? "Emulation.setDeviceMetricsOverride"
                                              : "Target.setAutoAttach") &&
        str_eq(session, STR("S-T1"))) {
        attach(scene, "iframe", "F1", "S-T1");
        scene->frame_is_late = false;
    }
}

static void *live_browser(void *data)
{
    struct scene *scene = data;
    cleanup_buf struct buf bytes = BUF_INIT(16 << 20);
    static char room[ROOM];
    ssize_t got;

    while ((got = read(scene->from_host, room, sizeof(room))) > 0) {
        const char *end;

        assert_int_equal(buf_append_str(&bytes, (struct str){room, (size_t)got}), 0);
        while ((end = memchr(bytes.data, '\0', bytes.len)) != NULL) {
            size_t len = (size_t)(end - bytes.data);

            answer_command(scene, (struct str){bytes.data, len});
            buf_drop_front(&bytes, len + 1);
            if (bytes.len == 0)
                break;
        }
    }
    return NULL;
}

/* The keeper's part: nothing to stop, then a browser. */
static void answer_keeper(struct scene *scene)
{
    char room[KEEPER_MAX_PACKET];
    int ignored[KEEPER_FDS];
    int to_browser[2];
    int from_browser[2];
    int fds[2];

    assert_true(packet_receive(scene->keeper, room, sizeof(room), ignored, 0, 0) > 0);
    assert_true(packet_send(scene->keeper, STR("{\"error\":0,\"message\":\"\"}"), NULL, 0, 0) >= 0);
    assert_true(packet_receive(scene->keeper, room, sizeof(room), ignored, 0, 0) > 0);
    assert_int_equal(pipe2(to_browser, O_CLOEXEC), 0);
    assert_int_equal(pipe2(from_browser, O_CLOEXEC), 0);
    fds[0] = to_browser[1];
    fds[1] = from_browser[0];
    assert_true(packet_send(scene->keeper,
                            scene->has_proxy
                                ? STR("{\"error\":0,\"message\":\"\",\"proxy\":true}")
                                : STR("{\"error\":0,\"message\":\"\",\"proxy\":false}"),
                            fds, 2, 0) >= 0);
    close(fds[0]);
    close(fds[1]);
    scene->from_host = to_browser[0];
    scene->to_host = from_browser[1];
    assert_int_equal(pthread_create(&scene->browser, NULL, live_browser, scene), 0);
}

static void call(const struct scene *scene, const char *text)
{
    char length[BROWSER_LENGTH_BYTES];

    browser_wire_length(strlen(text), length);
    assert_int_equal(write(scene->front, length, sizeof(length)), sizeof(length));
    assert_int_equal(write(scene->front, text, strlen(text)), (ssize_t)strlen(text));
}

static void answer_check(const struct scene *scene, const char *check)
{
    char text[128];

    snprintf(text, sizeof(text), "{\"verdict\":%ld,\"allowed\":true,\"named\":%s}",
             strtol(strchr(check, ':') + 1, NULL, 10), scene->is_named ? "true" : "false");
    call(scene, text);
}

/* The next result of a call, as text. */
static void result(struct scene *scene, char out_text[ROOM])
{
    static char room[ROOM];

    while (true) {
        struct str message;
        ssize_t got;

        assert_int_equal(browser_wire_next(&scene->wire, &message), 0);
        if (message.len > 0) {
            snprintf(out_text, ROOM, "%.*s", STR_ARG(message));
            if (strstr(out_text, "\"done\"") != NULL)
                return;
            if (strstr(out_text, "\"check\"") != NULL)
                answer_check(scene, strstr(out_text, "\"check\""));
            continue;
        }
        got = read(scene->front, room, sizeof(room));
        assert_true(got > 0);
        assert_int_equal(browser_wire_feed(&scene->wire, (struct str){room, (size_t)got}), 0);
    }
}

static void begin(struct scene *scene)
{
    int front[2];
    int keeper[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, front), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, keeper), 0);
    scene->front = front[0];
    scene->keeper = keeper[0];
    scene->wire = (struct browser_wire)BROWSER_WIRE_INIT;
    scene->config = (struct browser_host_config){.front_fd = front[1], .keeper_fd = keeper[1]};
    assert_int_equal(pthread_create(&scene->host, NULL, live_host, scene), 0);
    call(scene, "{\"call\":1,\"tool\":\"browser_connect\",\"arguments\":{},\"own\":[]}");
    answer_keeper(scene);
}

static void end(struct scene *scene)
{
    close(scene->front);
    close(scene->keeper);
    pthread_join(scene->host, NULL);
    pthread_join(scene->browser, NULL);
    close(scene->from_host);
    close(scene->to_host);
    close(scene->config.front_fd);
    close(scene->config.keeper_fd);
    browser_wire_done(&scene->wire);
}

static void answer_stop(struct scene *scene)
{
    char room[KEEPER_MAX_PACKET];
    int ignored[KEEPER_FDS];

    assert_true(packet_receive(scene->keeper, room, sizeof(room), ignored, 0, 0) > 0);
    assert_true(packet_send(scene->keeper, STR("{\"error\":0,\"message\":\"\"}"), NULL, 0, 0) >= 0);
}

static void a_page_without_interception_never_runs(void **state)
{
    struct scene scene = {.refused = "Fetch.enable", .refused_session = "S-T1"};
    static char text[ROOM];

    (void)state;
    begin(&scene);
    answer_stop(&scene);
    result(&scene, text);
    assert_non_null(strstr(text, "\"isError\":true"));
    assert_non_null(strstr(text, "cannot be controlled: Fetch.enable: it is broken"));
    end(&scene);
    assert_false(scene.has_run_page);
}

/* A frame of another process has a session of its own; the whole page is given up. */
static void nor_does_a_frame(void **state)
{
    static const char *const methods[] = {"Fetch.enable", "Page.enable", "Target.setAutoAttach"};

    (void)state;
    for (size_t i = 0; i < array_size(methods); i++) {
        struct scene scene = {
            .refused = methods[i], .refused_session = "S-F1", .frame_is_late = true};
        static char text[ROOM];
        int number = 2;

        begin(&scene);
        result(&scene, text);
        assert_non_null(strstr(text, "\"isError\":false"));
        do {
            char line[128];

            snprintf(line, sizeof(line),
                     "{\"call\":%d,\"tool\":\"browser_resize\",\"arguments\":{\"width\":9,"
                     "\"height\":9},\"page\":\"p1\",\"host\":\"\"}",
                     number++);
            call(&scene, line);
            result(&scene, text);
        } while (strstr(text, "\"isError\":false") != NULL);
        assert_non_null(strstr(text, "The page cannot be controlled"));
        assert_non_null(strstr(text, methods[i]));
        end(&scene);
        assert_true(scene.has_run_page);
        assert_int_equal(scene.has_run_frame, i > 0);
    }
}

static void what_is_set_up_is_used(void **state)
{
    struct scene scene = {.refused = NULL};
    static char text[ROOM];

    (void)state;
    begin(&scene);
    result(&scene, text);
    assert_non_null(strstr(text, "Fake/1"));
    call(&scene, "{\"call\":2,\"tool\":\"browser_resize\",\"arguments\":{\"width\":9,\"height\":9},"
                 "\"page\":\"p1\",\"host\":\"\"}");
    result(&scene, text);
    assert_non_null(strstr(text, "\"isError\":false"));
    end(&scene);
}

static void ending_a_browser_stops_no_other_call(void **state)
{
    struct scene scene = {.refused = NULL};
    static char text[ROOM];

    (void)state;
    begin(&scene);
    result(&scene, text);
    call(&scene, "{\"call\":2,\"tool\":\"browser_disconnect\",\"arguments\":{}}");
    call(&scene, "{\"call\":3,\"tool\":\"browser_tab_list\",\"arguments\":{}}");
    result(&scene, text); /* the keeper has not answered yet */
    assert_non_null(strstr(text, "\"done\":3"));
    answer_stop(&scene);
    result(&scene, text);
    assert_non_null(strstr(text, "\"disconnected\":true"));
    end(&scene);
}

/* The browser itself would navigate it already, unseen by what answers later. */
static void a_page_is_used_when_its_process_has_answered(void **state)
{
    struct scene scene = {.refused = NULL};
    static char text[ROOM];
    char byte;

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, scene.holds), 0);
    begin(&scene);
    assert_int_equal(read(scene.holds[0], &byte, 1), 1);
    call(&scene, "{\"call\":2,\"tool\":\"browser_resize\",\"arguments\":{\"width\":9,\"height\":9},"
                 "\"page\":\"p1\",\"host\":\"\"}");
    call(&scene, "{\"call\":3,\"tool\":\"browser_tab_list\",\"arguments\":{}}");
    result(&scene, text);
    assert_non_null(strstr(text, "\"done\":3")); /* which needs no page */
    assert_int_equal(write(scene.holds[0], "", 1), 1);
    result(&scene, text);
    assert_non_null(strstr(text, "\"isError\":false"));
    result(&scene, text);
    assert_non_null(strstr(text, "\"isError\":false"));
    end(&scene);
    close(scene.holds[0]);
    close(scene.holds[1]);
}

/* Connects, and goes somewhere; the result is in `text`. */
static void go(struct scene *scene, const char *const *story, char text[ROOM])
{
    scene->story = story;
    call(scene, "{\"call\":2,\"tool\":\"browser_navigate\",\"arguments\":{\"url\":\"" HERE "\"},"
                "\"page\":\"p1\",\"host\":\"\",\"agreed\":\"a.example\"}");
    result(scene, text);
}

/* Its parts tell it independently of each other, so a busy machine changes the order. */
static void a_navigation_is_followed_in_whatever_order_it_is_told(void **state)
{
    static const char *const stories[][16] = {
        {STARTS("L1"), SENT("L1"), ANSWER, ARRIVED("L1", HERE), IS("L1", "DOMContentLoaded"),
         IS("L1", "load"), STOPS},
        {STARTS("L1"), SENT("L1"), ARRIVED("L1", HERE), IS("L1", "DOMContentLoaded"), STOPS, HEARD,
         ANSWER},
        /* The start is told last. */
        {ANSWER, ARRIVED("L1", HERE), IS("L1", "DOMContentLoaded"), STOPS, STARTS("L1"),
         SENT("L1")},
        /* The empty document, which every page begins with, arrives meanwhile. */
        {STARTS("L1"), SENT("L1"), ARRIVED("L0", "about:blank"), IS("L0", "DOMContentLoaded"),
         IS("L0", "load"), STOPS, ANSWER, HEARD, ARRIVED("L1", HERE), IS("L1", "DOMContentLoaded")},
        /* How far it is, is told before its arrival; and the last one is not done yet. */
        {ARRIVED("L0", "about:blank"), ANSWER, IS("L1", "init"), IS("L1", "DOMContentLoaded"),
         ARRIVED("L1", HERE), IS("L0", "networkIdle")},
    };
    static char text[ROOM];

    (void)state;
    for (size_t i = 0; i < array_size(stories); i++) {
        struct scene scene = {.refused = NULL};

        begin(&scene);
        result(&scene, text);
        go(&scene, stories[i], text);
        assert_non_null(strstr(text, "\"isError\":false"));
        assert_non_null(strstr(text, "\"url\":\"" HERE "\""));
        end(&scene);
    }
}

static void going_back_in_a_document_begins_no_navigation(void **state)
{
    static const char *const there[] = {STARTS("L1"), ANSWER, ARRIVED("L1", HERE),
                                        IS("L1", "DOMContentLoaded"), NULL};
    static const char *const back[] = {STARTS_AS("historySameDocument", "L2"), ANSWER, WITHIN,
                                       NULL};
    struct scene scene = {.refused = NULL};
    static char text[ROOM];

    (void)state;
    begin(&scene);
    result(&scene, text);
    go(&scene, there, text);
    scene.story = back;
    call(&scene, "{\"call\":3,\"tool\":\"browser_back\",\"arguments\":{},\"page\":\"p1\",\"host\":"
                 "\"a.example\"}");
    result(&scene, text);
    assert_non_null(strstr(text, "\"isError\":false"));
    assert_non_null(strstr(text, HERE "b"));
    end(&scene);
}

/* Any name can lead to this machine. */
static void a_document_from_a_private_address_needs_a_rule_for_its_host(void **state)
{
#define ARRIVES     ARRIVED("L1", HERE), IS("L1", "DOMContentLoaded"), STOPS
#define FRAME_COMES COMES("F2", "http://b.example/", "10.0.0.1")
    static const struct {
        const char *story[12];
        bool is_named;
        bool has_proxy;
        const char *strays_to; /* or NULL: it is used */
    } cases[] = {
        {{ASKS, COMES("T1", HERE, "192.0.2.1"), ANSWER, ARRIVES}, .strays_to = NULL},
        {{ASKS, COMES("T1", HERE, "127.0.0.1"), ANSWER, ARRIVES}, .strays_to = "127.0.0.1"},
        {{ASKS, COMES("T1", HERE, "[::1]"), ANSWER, ARRIVES}, .strays_to = "[::1]"},
        {{ASKS, COMES("T1", HERE, "192.168.1.1"), ANSWER, ARRIVES}, .strays_to = "192.168.1.1"},
        {{ASKS, COMES("T1", HERE, "127.0.0.1"), ANSWER, ARRIVES}, .is_named = true},
        {{ASKS, COMES("T1", HERE, "10.0.0.1"), ANSWER, ARRIVES}, .has_proxy = true},
        /* The rules were asked about an address before. */
        {{ASKS, COMES("T1", "http://10.0.0.1/", "10.0.0.1"), ANSWER, ARRIVES}, .strays_to = NULL},
        /* Not only one that was named before. */
        {{ASKS, COMES("T1", "http://b.example/", "10.0.0.1"), ANSWER, ARRIVES},
         .is_named = true,
         .strays_to = "10.0.0.1"},
        {{ASKS, COMES("T1", HERE, "192.0.2.1"), ANSWER, ARRIVED("L1", HERE), FRAME_COMES,
          IS("L1", "DOMContentLoaded")},
         .strays_to = "10.0.0.1"},
        {{ASKS, COMES("T1", HERE, "10.0.0.2"), ANSWER, ARRIVED("L1", HERE), FRAME_COMES,
          IS("L1", "DOMContentLoaded")},
         .is_named = true},
    };
    static char text[ROOM];

    (void)state;
    for (size_t i = 0; i < array_size(cases); i++) {
        struct scene scene = {.is_named = cases[i].is_named, .has_proxy = cases[i].has_proxy};

        begin(&scene);
        result(&scene, text);
        go(&scene, cases[i].story, text);
        if (cases[i].strays_to == NULL) {
            assert_non_null(strstr(text, "\"isError\":false"));
        } else {
            char expected[64];

            snprintf(expected, sizeof(expected), "leads to %s, ", cases[i].strays_to);
            assert_non_null(strstr(text, "\"isError\":true"));
            assert_non_null(strstr(text, expected));
            assert_non_null(strstr(text, "gatehouse rules add allow browser host:"));
        }
        end(&scene);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_page_without_interception_never_runs),
        cmocka_unit_test(nor_does_a_frame),
        cmocka_unit_test(what_is_set_up_is_used),
        cmocka_unit_test(a_page_is_used_when_its_process_has_answered),
        cmocka_unit_test(ending_a_browser_stops_no_other_call),
        cmocka_unit_test(a_navigation_is_followed_in_whatever_order_it_is_told),
        cmocka_unit_test(going_back_in_a_document_begins_no_navigation),
        cmocka_unit_test(a_document_from_a_private_address_needs_a_rule_for_its_host),
    };

    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
