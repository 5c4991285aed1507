/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Internal to gatehouse-browser: what it knows about the browser, and what a call works with.
 * Everything is used inside the monitor.
 */
#ifndef BROWSER_INTERNAL_H
#define BROWSER_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/list.h"
#include "base/str.h"
#include "browser/cdp.h"
#include "browser/host.h"
#include "browser/keeper.h"
#include "browser/wire.h"
#include "loop/monitor.h"

enum {
    ID_BYTES = 72,
    URL_BYTES = 2048,
    TITLE_BYTES = 256,
    NAME_BYTES = 256,
    HOST_BYTES = 256,
    NO_FILE_BYTES = 400,
    MAX_PAGES = 64,
    MAX_FRAMES = 1024,
    MAX_CALLS = 64,
    MAX_PARKED = 4,     /* threads that wait for a call */
    MAX_MESSAGES = 300, /* of the console, of a page */
    MAX_REQUESTS = 500, /* of a page */
    MAX_PAST = 8,       /* documents of a page that are remembered */
    MAX_DOWNLOADS = 500,
    MESSAGE_BYTES = 2000,
    OUTLET_MAX_BYTES = 256 << 20,
    COMMAND_MS = 30000,
    ACTION_MS = 5000, /* for an element to become usable */
    NAVIGATE_MS = 30000,
    SETTLE_NAVIGATION_MS = 10000,
    SETTLE_REQUESTS_MS = 5000,
};

/* Bytes that leave without ever blocking. */
struct outlet {
    int fd;
    struct buf bytes;
    bool is_broken;
    bool is_held; /* what is sent waits for more */
};

int outlet_send(struct outlet *outlet, const struct str *parts, size_t count);
void outlet_flush(struct outlet *outlet);

/* A connection to a browser, alive as long as a call uses it. */
struct link {
    unsigned refs;
    struct cdp *cdp;
    int in;
    struct outlet out;
    bool is_closed;                /* by us */
    bool is_local;                 /* the user's own browser */
    bool is_relayed;               /* by the host's relay, which has the connection */
    struct browser_socket *socket; /* NULL: a pipe */
};

/* A document of a frame, by its world. */
struct frame {
    struct list node;
    char id[ID_BYTES];
    char parent[ID_BYTES];  /* empty: the page itself */
    char session[ID_BYTES]; /* that speaks for it */
    int64_t context;        /* of the script in it; 0: none yet */
    int64_t number;         /* of its document, in refs; -1: it has none yet */
};

struct message {
    char level[12];
    char *text;
    int64_t at_ms;
};

struct request {
    char id[ID_BYTES];
    char session[ID_BYTES];
    char *url;
    char method[12];
    char kind[24];
    char type[80];
    int status;
    int64_t at_ms;
    bool is_done;
    bool has_failed;
    bool counts;     /* an action waits for it */
    bool is_foreign; /* its answer came from a private address that the page may not reach */
    uint64_t order;
};

struct dialog {
    bool is_open;
    char kind[16];
    char session[ID_BYTES];
    char *words;
};

/* A page asks for files, and browser_upload answers. */
struct chooser {
    bool is_open;
    bool takes_many;
    int64_t node; /* of its input */
    char session[ID_BYTES];
};

enum download_state {
    DOWNLOAD_RUNS,
    DOWNLOAD_DONE,
    DOWNLOAD_CANCELLED,
    DOWNLOAD_REFUSED, /* by us */
};

struct download {
    char id[ID_BYTES]; /* also the name of its file in the staging directory */
    char *url;
    char name[NAME_BYTES]; /* as the site suggests it; for people */
    enum download_state state;
    int64_t bytes;
    int64_t total; /* 0: not known */
};

struct page {
    struct list node;
    unsigned refs;
    char id[16];
    char target[ID_BYTES];
    char session[ID_BYTES];
    char family[ID_BYTES]; /* the target of the first of the pages that opened each other */
    char url[URL_BYTES];
    char title[TITLE_BYTES];
    char loader[ID_BYTES]; /* of its document */
    char told[ID_BYTES];   /* of the document that is_ready, is_loaded and is_idle are about */
    char past[MAX_PAST][ID_BYTES]; /* of the last documents, this one included */
    uint64_t order;                /* of its opening */
    bool is_users;                 /* a tab of the user's own browser that no call opened */
    bool is_wanted;                /* a call has begun to control it */
    bool is_closed;
    bool has_crashed;
    bool is_set_up;   /* its process has answered, so nothing that happens is missed */
    char defect[160]; /* why it cannot be controlled; or empty */
    /* The defect is that this host leads to a private address; or empty. */
    char strayed_to[HOST_BYTES];
    bool is_ready; /* DOMContentLoaded */
    bool is_loaded;
    bool is_idle;
    bool is_going;   /* a navigation of the main frame was begun and has not ended */
    uint64_t goings; /* how many were begun */
    uint64_t commits;
    int status;                  /* of the document; 0: none */
    char failure[128];           /* of the last navigation; or empty */
    char blocked[HOST_BYTES];    /* host that the last navigation was refused for; or empty */
    char no_file[NO_FILE_BYTES]; /* it was for a file: why there is none; or empty */
    char going_to[URL_BYTES];    /* address of the last navigation that was asked about */
    uint64_t blocks;
    int64_t documents; /* numbers that were given */
    struct list frames;
    size_t frame_count;
    struct dialog dialog;
    struct chooser chooser;
    char *drag; /* what the page drags, as JSON; or NULL */
    struct message messages[MAX_MESSAGES];
    size_t message_first;
    size_t message_count;
    uint64_t error_count;
    uint64_t warning_count;
    struct request requests[MAX_REQUESTS];
    size_t request_first;
    size_t request_count;
    uint64_t request_order;
    char agreed[HOST_BYTES]; /* where a call that runs may lead it; or empty */
    char named[HOST_BYTES];  /* where it went last, if that has a rule of its own; or empty */
    char inside[HOST_BYTES]; /* whose documents came from a private address last; or empty */
};

/* A question to the front end: whether a page may go to a host, or what a file contains. */
struct check {
    struct list node;
    int64_t id;
    char session[ID_BYTES];
    char request[ID_BYTES];
    char host[HOST_BYTES];   /* empty: it is about a file */
    const char *wanted_type; /* that the file must have; or empty */
    struct page *page;       /* a reference; NULL: not the main frame */
};

struct host {
    struct monitor monitor;
    struct browser_host_config config;
    struct outlet front;
    struct browser_wire wire;
    int wake[2];         /* a pipe: the reading thread looks again */
    struct link *link;   /* NULL: not connected */
    struct relay *relay; /* for the user's own browser; NULL: there is none */
    bool is_connecting;
    bool asks_keeper;
    bool was_lost; /* and nobody was told */
    char browser[32];
    char mode[16];
    bool has_windows;
    bool knows_addresses; /* of servers; not if they are those of a proxy */
    struct list pages;
    size_t page_count;
    uint64_t page_order;
    struct page *active;
    struct list calls;
    size_t call_count;
    size_t waiting_count; /* of those that no thread has taken */
    size_t thread_count;
    size_t parked_count;
    struct browser_task *own; /* that the reading thread runs or is about to; or NULL */
    bool is_gone;             /* the front end */
    struct list checks;
    int64_t last_check;
    struct download downloads[MAX_DOWNLOADS];
    size_t download_count;
    bool has_news; /* of pages, for the front end */
    bool is_over;
};

struct browser_task {
    struct list node;
    struct host *host;
    int64_t id;
    char *text;
    struct arena arena;
    const struct json_value *message;
    const struct json_value *arguments;
    struct str tool;
    struct link *link;
    struct page *page;
    int64_t deadline_ms;
    bool is_taken; /* by a thread */
    bool is_cancelled;
    bool heeds_dialog; /* a dialog ends its waiting */
    bool heeds_defect; /* a page that is given up, the same */
    uint64_t first_new_page;
    size_t first_new_download;
    struct buf result; /* members of the result's object, each with a comma before */
    struct buf image;  /* base64; or empty */
    struct buf secret; /* for the front end alone; or empty */
};

/* ---- texts ---- */

void copy_text(char *room, size_t size, struct str text);
#define COPY(room, text) copy_text(room, sizeof(room), text)
struct str text_of(const struct json_value *object, const char *name);
bool flag_of(const struct json_value *object, const char *name);
int64_t whole_of(const struct json_value *object, const char *name, int64_t fallback);
double number_of(const struct json_value *object, const char *name, double fallback);

/* ---- links ---- */

void link_unref(struct link *link);
/* Takes the descriptors over. */
int host_open_link(struct host *host, int to_browser, int from_browser, struct err *err);
/* The same for the DevTools of the user's own browser, on a port of this machine. */
int host_open_socket(struct host *host, int fd, uint16_t port, const char *path, struct err *err);
void host_close_link(struct host *host);
/* It has gone by itself: the next call says so once. */
void host_lose_link(struct host *host);
/* Reads what has come; loses the link if that is its end. */
void host_read_link(struct host *host, char *room, size_t size);
/* The same by the relay. */
int host_open_relayed(struct host *host, struct err *err);
/* The reading thread looks again at what there is to wait for. */
void host_wake(struct host *host);
/* Commands between these leave in one piece; the call must not wait meanwhile. */
void call_hold(struct browser_task *call);
void call_release(struct browser_task *call);
/* Without an answer that anybody wants. */
void tell_browser(struct host *host, struct str session, const char *method, const char *pattern,
                  ...);
/* Same, but what the session belongs to is not used any more if it fails. */
void need_of_browser(struct host *host, struct str session, const char *method, const char *pattern,
                     ...);

/* ---- pages ---- */

/* Name of the world that our script has in each document. */
#define PAGE_WORLD "gatehouse"

struct page *page_by_session(struct host *host, struct str session);
struct page *page_by_id(struct host *host, struct str id);
struct page *page_by_target(struct host *host, struct str target);
struct page *new_page(struct host *host, struct str target);
void close_page(struct host *host, struct page *page);
/* Creates it if it is missing. NULL: too many, or no memory. */
struct frame *need_frame(struct page *page, struct str id);
struct frame *find_frame(struct page *page, struct str id);
void drop_frame(struct page *page, struct frame *frame);
/* They stay in their place, empty. */
void free_message(struct message *message);
void free_request(struct request *request);
void page_unref(struct page *page);
void pages_clear(struct host *host);
/* The host of its address; empty: none. */
struct str page_host(const struct page *page);
struct frame *page_main_frame(struct page *page);
bool page_is_main(const struct page *page, struct str frame);
/* Begins to control a new target, or one that starts again after a crash. */
void set_up_target(struct host *host, struct str session);
/* True: the event was about a target. */
bool host_on_target(struct host *host, struct str session, struct str method,
                    const struct json_value *params);
/* Whether this document has arrived; it need not be there any more. */
bool page_has_had(const struct page *page, struct str loader);
void host_on_event(void *data, struct str session, struct str method,
                   const struct json_value *params);
/* A command that set a target up was answered. */
void host_on_answer(void *data, struct str session, const char *method, const char *refusal);
/* A request of the page has stopped: lets it go on or fail, or asks the front end. */
void host_on_paused(struct host *host, struct page *page, struct str session,
                    const struct json_value *params);
/* The front end has answered. */
void host_take_verdict(struct host *host, int64_t id, const struct json_value *message);
/*
 * An answer comes: false if it is from a private address that its host must not lead to. If it is a
 * document, the page is given up.
 */
bool host_check_address(struct host *host, struct page *page, const struct json_value *params);
void host_check_socket(struct host *host, struct page *page, const struct json_value *params);
void host_drop_checks(struct host *host);
/* Tells the front end about the pages if something changed. */
void host_tell_pages(struct host *host);
int host_send(struct host *host, struct str message);

/* ---- files to and from pages ---- */

/* True: the event was about a download. */
bool host_on_download(struct host *host, struct str method, const struct json_value *params);
void host_on_chooser(struct page *page, struct str session, const struct json_value *params);
void host_free_downloads(struct host *host);
/* The browser has gone. */
void host_end_downloads(struct host *host);
/* The directory for files on their way; empty: there is none. */
struct str call_staging(const struct browser_task *call);
/* What an action has begun to download. */
int add_new_downloads(struct browser_task *call);
/* Writes the bytes into a file among the downloads, and adds its id to the result. */
int keep_as_download(struct browser_task *call, struct str bytes, const char *name,
                     struct err *err);

/* ---- calls ---- */

/* Begins or cancels a call, or takes a verdict, as the front end says. */
int host_take_message(struct host *host, struct str text);
/* The reading thread runs the call that was left to it. */
void host_run_own(struct host *host);
bool call_is_over(void *data);
/*
 * Sends a command and waits for its answer, which may be NULL. The deadline is the command's own
 * or the call's.
 */
int ask(struct browser_task *call, const char *session, const char *method,
        struct cdp_answer *out_answer, struct err *err, const char *pattern, ...);
/* Same, for a command that may take longer than others. */
int ask_within(struct browser_task *call, const char *session, const char *method, int64_t ms,
               struct cdp_answer *out_answer, struct err *err, const char *pattern, ...);
/* Same without waiting; ends with await(). */
int ask_begin(struct browser_task *call, const char *session, const char *method,
              struct cdp_command **out_command, struct err *err, const char *pattern, ...);
/* Waits for the answer to a command that was begun. */
int await(struct browser_task *call, struct cdp_command *command, int64_t ms,
          struct cdp_answer *out_answer, struct err *err);

/*
 * Asks the other half (browser/keeper.h). The answer lives as long as `room` and the call;
 * descriptors that did not come stay as they are.
 */
int ask_keeper(struct browser_task *call, struct str request, char room[KEEPER_MAX_PACKET],
               const struct json_value **out_answer, int out_fds[KEEPER_FDS], struct err *err);

/* Where the script of a document is. */
struct place {
    char session[ID_BYTES];
    char frame[ID_BYTES];
    int64_t context;
    int64_t number;
};

/* The page's main document; waits until the script is there. */
int place_main(struct browser_task *call, struct place *out_place, struct err *err);
int place_of_frame(struct browser_task *call, struct str id, struct place *out_place,
                   struct err *err);
/* The document of an element's ref or selector. */
int place_of_target(struct browser_task *call, const struct json_value *target,
                    struct place *out_place, struct err *err);
/* Gives the document its number, and writes the prefix. */
void place_prefix(struct browser_task *call, struct place *place, char out_prefix[24]);

/* Calls the script: ERR_TOOL_FAILED with its message if it reports an error. */
int script(struct browser_task *call, const struct place *place, const char *name, int64_t ms,
           struct cdp_answer *out_answer, const struct json_value **out_result, struct err *err,
           const char *pattern, ...);

/* The same in two steps. Whoever looks at the answer himself takes the first one only. */
int script_begin(struct browser_task *call, const struct place *place, const char *name,
                 struct cdp_command **out_command, struct err *err, const char *pattern, ...);
int script_end(struct browser_task *call, struct cdp_command *command, int64_t ms,
               struct cdp_answer *out_answer, const struct json_value **out_result,
               struct err *err);
/* What a script evaluated to; NULL: nothing. */
const struct json_value *value_of(const struct cdp_answer *answer);
bool is_function(const struct cdp_answer *answer); /* of a script that only made one */
/* Instead of a function, its result: what other tools make of a script like () => document.title.
 */
int call_function(struct browser_task *call, struct cdp_answer *answer, struct err *err);

/* Adds a member to the result: `"name": value`. */
int result_add(struct browser_task *call, const char *name, const char *pattern, ...);

/* ---- waiting ---- */

struct mark {
    uint64_t goings;
    uint64_t commits;
    uint64_t requests;
    uint64_t blocks;
    uint64_t errors;
    uint64_t warnings;
};

void mark_now(const struct page *page, struct mark *out_mark);
/* Until what the action caused has happened. */
int settle(struct browser_task *call, const struct mark *mark, struct err *err);
/* Same, if the page has had a task since the action. */
int settle_now(struct browser_task *call, const struct mark *mark, struct err *err);
/*
 * Until the page has got so far; "load", "domcontentloaded", "networkidle". If it goes on to
 * another document, that one is waited for, but no longer than `going_ms`.
 */
int wait_for_state(struct browser_task *call, struct str state, int64_t ms, int64_t going_ms,
                   struct err *err);
/* The title and address, and what else happened; with a snapshot if `pattern` is not NULL. */
int add_outcome(struct browser_task *call, const struct mark *mark, bool is_navigation,
                struct err *err);

/* ---- the tools ---- */

typedef int tool_fn(struct browser_task *call, struct err *err);

tool_fn tool_connect, tool_disconnect, tool_tab_open, tool_tab_list, tool_tab_focus, tool_tab_close;
tool_fn tool_navigate, tool_back, tool_forward, tool_reload, tool_dialog, tool_wait;
tool_fn tool_click, tool_type, tool_select, tool_drag, tool_hover, tool_press, tool_scroll;
tool_fn tool_fill_form, tool_click_xy, tool_upload, tool_downloads, tool_capture_secret;
tool_fn tool_snapshot, tool_screenshot, tool_content, tool_evaluate, tool_console, tool_pdf;
tool_fn tool_network, tool_cookies, tool_storage, tool_resize;

/* '*' is anything, '?' one character. */
bool browser_glob(struct str pattern, struct str text);

/* Writes a snapshot of the page with its frames. */
int write_snapshot(struct browser_task *call, const struct json_value *options, struct buf *out,
                   struct err *err);

#endif
