/* SPDX-License-Identifier: Apache-2.0 */
/* The script in the documents of a page, and waiting for what an action causes. */
#include "browser/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "browser/jsonf.h"
#include "browser/url.h"

enum { OPTIONS_BYTES = 32 << 20, SCRIPT_SLACK_MS = 5000, WORLD_MS = 10000, NEW_PAGE_MS = 1000 };

static struct frame *frame_of(struct page *page, struct str id)
{
    list_each (node, &page->frames) {
        struct frame *frame = list_entry(node, struct frame, node);

        if (str_eq_c(id, frame->id))
            return frame;
    }
    return NULL;
}

/* Interrupted by a dialog, a crash or the agent. */
static int say_over(const struct browser_task *call, struct err *err)
{
    if (call->page->dialog.is_open && call->heeds_dialog)
        return err_set(err, ERR_CANCELLED, "a dialog is open");
    if (call->page->has_crashed)
        return err_set(err, ERR_TOOL_FAILED, "the page has crashed: reload it or open another");
    return err_set(err, call->is_cancelled ? ERR_CANCELLED : ERR_TOOL_FAILED,
                   "the page was closed");
}

static int64_t sooner(const struct browser_task *call, int64_t ms)
{
    int64_t deadline_ms = monitor_now_ms() + ms;

    return deadline_ms < call->deadline_ms ? deadline_ms : call->deadline_ms;
}

int place_of_frame(struct browser_task *call, struct str id, struct place *out_place,
                   struct err *err)
{
    int64_t deadline_ms = sooner(call, WORLD_MS);
    char name[ID_BYTES];

    COPY(name, id);
    while (true) {
        const struct frame *frame = frame_of(call->page, str_from(name));

        if (frame != NULL && frame->context != 0 && frame->session[0] != '\0') {
            *out_place = (struct place){.context = frame->context, .number = frame->number};
            COPY(out_place->session, str_from(frame->session));
            COPY(out_place->frame, str_from(frame->id));
            return 0;
        }
        if (call_is_over(call))
            return say_over(call, err);
        if (cdp_has_ended(call->link->cdp))
            return err_set(err, ERR_CONNECTION_LOST, "the browser has ended");
        if (!monitor_wait(&call->host->monitor, deadline_ms))
            return err_set(err, ERR_TIMED_OUT, "the page does not respond");
    }
}

int place_main(struct browser_task *call, struct place *out_place, struct err *err)
{
    return place_of_frame(call, str_from(call->page->target), out_place, err);
}

void place_prefix(struct browser_task *call, struct place *place, char out_prefix[24])
{
    struct frame *frame = frame_of(call->page, str_from(place->frame));

    if (place->number < 0 && frame != NULL && frame->context == place->context) {
        if (frame->number < 0)
            frame->number = call->page->documents++;
        place->number = frame->number;
    }
    out_prefix[0] = '\0';
    if (place->number > 0)
        snprintf(out_prefix, 24, "f%lld", (long long)place->number);
}

/* Of "[ref=e7]", as it stands in a snapshot: "e7". */
static struct str bare_ref(struct str text)
{
    struct str ref = str_trim(text);

    if (ref.len < 6 || !str_starts_with(ref, STR("[ref=")) || !str_ends_with(ref, STR("]")))
        return ref;
    ref = str_slice(ref, 5, ref.len - 6);
    if (ref.len >= 2 && (ref.ptr[0] == '"' || ref.ptr[0] == '\'') &&
        ref.ptr[ref.len - 1] == ref.ptr[0])
        ref = str_slice(ref, 1, ref.len - 2);
    return ref;
}

/* "f2e7" is of the document 2, "e7" of the first one. */
static int64_t number_of_ref(struct str ref)
{
    size_t e = 1;
    int64_t number = 0;

    if (ref.len < 2 || ref.ptr[0] != 'f')
        return 0;
    while (e < ref.len && ref.ptr[e] != 'e')
        e++;
    return str_to_int64(str_slice(ref, 1, e - 1), &number) ? number : -2;
}

/* Text that is not a ref at all is not a stale one either. */
static bool is_ref(struct str ref)
{
    size_t i = 0;

    if (ref.len > 0 && ref.ptr[0] == 'f')
        for (i = 1; i < ref.len && ref.ptr[i] >= '0' && ref.ptr[i] <= '9';)
            i++;
    if (i == 1 || i + 1 >= ref.len || ref.ptr[i] != 'e')
        return false;
    for (i++; i < ref.len; i++)
        if (ref.ptr[i] < '0' || ref.ptr[i] > '9')
            return false;
    return true;
}

static int place_of_ref(struct browser_task *call, struct str ref, struct place *out_place,
                        struct err *err)
{
    int64_t number = number_of_ref(ref);

    if (!is_ref(ref))
        return err_set(err, ERR_TOOL_FAILED,
                       "'%.*s' is no ref\nRefs look like e12 and stand in a browser_snapshot; what "
                       "CSS, text= or role= finds goes into selector",
                       str_print_length(str_slice(ref, 0, 60)), ref.ptr);
    list_each (node, &call->page->frames) {
        const struct frame *frame = list_entry(node, struct frame, node);

        if (frame->number == number && frame->context != 0)
            return place_of_frame(call, str_from(frame->id), out_place, err);
    }
    return err_set(err, ERR_TOOL_FAILED,
                   "Stale element ref: %.*s\nTake a new browser_snapshot and use its refs",
                   STR_ARG(ref));
}

/* The main document first, then the others in which it is found. */
static int place_of_selector(struct browser_task *call, struct str selector,
                             struct place *out_place, struct err *err)
{
    char frames[16][ID_BYTES];
    size_t count = 0;
    int r = place_main(call, out_place, err);

    if (r < 0 || call->page->frame_count < 2)
        return r;
    list_each (node, &call->page->frames) {
        const struct frame *frame = list_entry(node, struct frame, node);

        if (count < array_size(frames) && frame->context != 0) {
            COPY(frames[count], str_from(frame->id));
            count++;
        }
    }
    for (size_t i = 0; i < count; i++) {
        cleanup_cdp_answer struct cdp_answer answer = CDP_ANSWER_INIT;
        const struct json_value *result;
        struct place place;

        if (place_of_frame(call, str_from(frames[i]), &place, NULL) == 0 &&
            script(call, &place, "wait", COMMAND_MS, &answer, &result, NULL,
                   "{\"selector\":%s,\"state\":\"attached\",\"timeoutMs\":0}", selector) == 0 &&
            flag_of(result, "holds")) {
            *out_place = place;
            return 0;
        }
    }
    /* A ref that was given as a selector; if it is none of them, the script says so. */
    if (is_ref(bare_ref(selector)))
        (void)place_of_ref(call, bare_ref(selector), out_place, NULL);
    return 0;
}

int place_of_target(struct browser_task *call, const struct json_value *target,
                    struct place *out_place, struct err *err)
{
    struct str ref = bare_ref(text_of(target, "ref"));

    if (ref.len > 0)
        return place_of_ref(call, ref, out_place, err);
    return place_of_selector(call, text_of(target, "selector"), out_place, err);
}

/* ---- the script ---- */

const struct json_value *value_of(const struct cdp_answer *answer)
{
    const struct json_value *result = json_get(answer->result, STR("result"));

    return result != NULL ? json_get(result, STR("value")) : NULL;
}

/* As in "() => document.title", which other tools call. */
bool is_function(const struct cdp_answer *answer)
{
    return str_eq(text_of(json_get(answer->result, STR("result")), "type"), STR("function"));
}

int call_function(struct browser_task *call, struct cdp_answer *answer, struct err *err)
{
    cdp_answer_done(answer);
    /* $_ is the last result of this group: of several statements, the last may make the function.
     */
    return ask(call, call->page->session, "Runtime.evaluate", answer, err,
               "{\"expression\":\"$_()\",\"includeCommandLineAPI\":true,\"awaitPromise\":true,"
               "\"returnByValue\":true,\"userGesture\":true,\"objectGroup\":\"console\"}");
}

static int explain_exception(const struct json_value *details, struct err *err)
{
    struct str words = text_of(json_get(details, STR("exception")), "description");

    if (words.len == 0)
        words = text_of(details, "text");
    return err_set(err, ERR_TOOL_FAILED, "%.*s", STR_ARG(words));
}

static int script_list(struct browser_task *call, const struct place *place, const char *name,
                       struct cdp_command **out_command, struct err *err, const char *pattern,
                       va_list values)
{
    cleanup_buf struct buf params = BUF_INIT(OPTIONS_BYTES);
    int r = jsonf(&params,
                  "{\"functionDeclaration\":\"function(n,o){return gatehouse.run(n,o)}\","
                  "\"executionContextId\":%d,\"returnByValue\":true,\"awaitPromise\":true,"
                  "\"arguments\":[{\"value\":%z},{\"value\":",
                  place->context, name);

    if (r == 0)
        r = jsonf_list(&params, pattern, values);
    if (r == 0)
        r = buf_append_str(&params, STR("}]}"));
    return r < 0 ? err_set_plain(err, r)
                 : cdp_begin(call->link->cdp, str_from(place->session), "Runtime.callFunctionOn",
                             buf_view(&params), out_command, err);
}

int script_begin(struct browser_task *call, const struct place *place, const char *name,
                 struct cdp_command **out_command, struct err *err, const char *pattern, ...)
{
    va_list values;
    int r;

    va_start(values, pattern);
    r = script_list(call, place, name, out_command, err, pattern, values);
    va_end(values);
    return r;
}

int script_end(struct browser_task *call, struct cdp_command *command, int64_t ms,
               struct cdp_answer *out_answer, const struct json_value **out_result, struct err *err)
{
    cleanup_cdp_answer struct cdp_answer answer = CDP_ANSWER_INIT;
    const struct json_value *result;
    const struct json_value *error;
    int r = await(call, command, ms + SCRIPT_SLACK_MS, &answer, err);

    if (r < 0)
        return r;
    if (json_get(answer.result, STR("exceptionDetails")) != NULL)
        return explain_exception(json_get(answer.result, STR("exceptionDetails")), err);
    result = value_of(&answer);
    if (result == NULL)
        return err_set(err, ERR_TOOL_FAILED, "the page does not answer");
    error = json_get(result, STR("error"));
    if (error != NULL && error->type == JSON_OBJECT) {
        bool is_stale = str_eq(text_of(error, "code"), STR("stale"));
        struct str words = text_of(error, "message");

        return err_set(err, ERR_TOOL_FAILED, "%.*s%s", STR_ARG(words),
                       is_stale ? "\nTake a new browser_snapshot and use its refs" : "");
    }
    *out_result = result;
    *out_answer = answer;
    answer = (struct cdp_answer)CDP_ANSWER_INIT;
    return 0;
}

int script(struct browser_task *call, const struct place *place, const char *name, int64_t ms,
           struct cdp_answer *out_answer, const struct json_value **out_result, struct err *err,
           const char *pattern, ...)
{
    struct cdp_command *command;
    va_list values;
    int r;

    va_start(values, pattern);
    r = script_list(call, place, name, &command, err, pattern, values);
    va_end(values);
    return r == 0 ? script_end(call, command, ms, out_answer, out_result, err) : r;
}

/* ---- waiting ---- */

void mark_now(const struct page *page, struct mark *out_mark)
{
    *out_mark = (struct mark){.goings = page->goings,
                              .commits = page->commits,
                              .requests = page->request_order,
                              .blocks = page->blocks,
                              .errors = page->error_count,
                              .warnings = page->warning_count};
}

static bool has_open_requests(const struct page *page, uint64_t since)
{
    for (size_t i = page->request_count; i > 0; i--) {
        const struct request *request =
            &page->requests[(page->request_first + i - 1) % MAX_REQUESTS];

        if (request->order <= since)
            return false;
        if (!request->is_done && request->counts)
            return true;
    }
    return false;
}

static bool is_settled(const struct page *page, const struct mark *mark)
{
    if (page->blocks != mark->blocks)
        return true;
    if (page->is_going)
        return false;
    if (page->goings != mark->goings && page->commits != mark->commits && !page->is_ready)
        return false;
    return !has_open_requests(page, mark->requests);
}

/*
 * The page has seen the input when its answer has come. What it starts at once, and in its next
 * task, has been told before the answer to this; so nothing is waited for if nothing was started.
 */
static int let_it_react(struct browser_task *call, struct err *err)
{
    const struct frame *frame = page_main_frame(call->page);
    struct err why = ERR_INIT;
    int r;

    if (frame == NULL || frame->context == 0)
        return 0; /* a new document comes */
    r = ask_within(call, frame->session, "Runtime.evaluate", ACTION_MS, NULL, &why,
                   "{\"expression\":\"new Promise(r=>setTimeout(r,0))\",\"contextId\":%d,"
                   "\"awaitPromise\":true}",
                   frame->context);
    if (r == ERR_CONNECTION_LOST) {
        if (err != NULL)
            *err = why;
        return r;
    }
    return 0;
}

int settle(struct browser_task *call, const struct mark *mark, struct err *err)
{
    int r = let_it_react(call, err);

    return r == 0 ? settle_now(call, mark, err) : r;
}

int settle_now(struct browser_task *call, const struct mark *mark, struct err *err)
{
    int64_t now = monitor_now_ms();

    while (!is_settled(call->page, mark)) {
        bool is_going = call->page->goings != mark->goings;
        int64_t limit = now + (is_going ? SETTLE_NAVIGATION_MS : SETTLE_REQUESTS_MS);

        if (call_is_over(call) || cdp_has_ended(call->link->cdp))
            break;
        if (!monitor_wait(&call->host->monitor,
                          limit < call->deadline_ms ? limit : call->deadline_ms))
            break; /* it goes on in the background */
    }
    if (cdp_has_ended(call->link->cdp))
        return err_set(err, ERR_CONNECTION_LOST, "the browser has ended");
    return 0;
}

static bool has_state(const struct page *page, struct str state)
{
    if (str_eq(state, STR("load")))
        return page->is_loaded;
    if (str_eq(state, STR("networkidle")))
        return page->is_loaded && page->is_idle;
    return page->is_ready;
}

int wait_for_state(struct browser_task *call, struct str state, int64_t ms, int64_t going_ms,
                   struct err *err)
{
    const struct page *page = call->page;
    int64_t deadline_ms = sooner(call, ms);
    int64_t going_deadline_ms = sooner(call, going_ms);
    uint64_t blocks = page->blocks;

    while (page->blocks == blocks) {
        bool is_there = has_state(page, state);

        if (is_there && !page->is_going)
            return 0;
        if (call_is_over(call))
            return say_over(call, err);
        if (cdp_has_ended(call->link->cdp))
            return err_set(err, ERR_CONNECTION_LOST, "the browser has ended");
        if (monitor_wait(&call->host->monitor, is_there ? going_deadline_ms : deadline_ms))
            continue;
        if (is_there && going_ms < ms)
            return 0;
        return err_set(err, ERR_TIMED_OUT, "the page did not reach %.*s in %lld ms",
                       STR_ARG(state.len > 0 ? state : STR("domcontentloaded")), (long long)ms);
    }
    return 0;
}

/* ---- what a call reports besides its own result ---- */

static int add_dialog(struct browser_task *call)
{
    const struct page *page = call->page;

    if (page->dialog.is_open)
        return result_add(call, "modalStates",
                          "[{\"type\":\"dialog\",\"description\":%z,\"clearedBy\":"
                          "\"browser_dialog\",\"dialogType\":%z,\"message\":%z}]",
                          "A dialog is open and stops the page", page->dialog.kind,
                          page->dialog.words != NULL ? page->dialog.words : "");
    if (page->chooser.is_open)
        return result_add(call, "modalStates",
                          "[{\"type\":\"filechooser\",\"description\":%z,\"clearedBy\":"
                          "\"browser_upload\"}]",
                          page->chooser.takes_many ? "The page asks for files"
                                                   : "The page asks for a file");
    return 0;
}

static bool is_new(const struct browser_task *call, const struct page *page)
{
    return page->order > call->first_new_page && page != call->page && !page->is_users;
}

/* It is controlled before it goes where it was opened for. */
static bool is_a_new_page_nowhere(const struct browser_task *call)
{
    list_each (node, &call->host->pages) {
        const struct page *page = list_entry(node, struct page, node);

        if (is_new(call, page) && page->url[0] == '\0' && page->defect[0] == '\0' &&
            page->blocks == 0)
            return true;
    }
    return false;
}

/* Where the page was kept from going. */
static int append_blocked(struct buf *out, const struct page *page)
{
    if (page->no_file[0] != '\0')
        return jsonf(out, "{\"url\":%z,\"error\":%z}", page->going_to, page->no_file);
    return jsonf(out,
                 "{\"host\":%z,\"url\":%z,\"hint\":\"Going there needs permission: call "
                 "browser_navigate with the address\"}",
                 page->blocked, page->going_to);
}

static int add_blocked(struct browser_task *call)
{
    cleanup_buf struct buf blocked = BUF_INIT(8 * URL_BYTES);
    int r = append_blocked(&blocked, call->page);

    return r == 0 ? result_add(call, "blocked", "%r", buf_view(&blocked)) : r;
}

static int add_new_pages(struct browser_task *call)
{
    int64_t deadline_ms = monitor_now_ms() + NEW_PAGE_MS;
    cleanup_buf struct buf list = BUF_INIT(MAX_PAGES * 4 * URL_BYTES);
    int r = 0;

    while (is_a_new_page_nowhere(call) && !call->is_cancelled && !cdp_has_ended(call->link->cdp))
        if (!monitor_wait(&call->host->monitor, deadline_ms))
            break;
    list_each (node, &call->host->pages) {
        const struct page *page = list_entry(node, struct page, node);

        if (!is_new(call, page) || r < 0)
            continue;
        r = jsonf(&list, "%r{\"id\":%z,\"title\":%z,\"url\":%z",
                  list.len > 0 ? STR(",") : STR_EMPTY, page->id, page->title, page->url);
        if (r == 0 && page->blocks > 0)
            r = buf_append_str(&list, STR(",\"blocked\":"));
        if (r == 0 && page->blocks > 0)
            r = append_blocked(&list, page);
        if (r == 0)
            r = buf_append_char(&list, '}');
    }
    return r == 0 && list.len > 0 ? result_add(call, "newTabs", "[%r]", buf_view(&list)) : r;
}

static int add_title(struct browser_task *call, struct err *err)
{
    cleanup_cdp_answer struct cdp_answer answer = CDP_ANSWER_INIT;
    struct page *page = call->page;
    int r = 0;

    if (!page->dialog.is_open &&
        ask_within(call, page->session, "Runtime.evaluate", ACTION_MS, &answer, err,
                   "{\"expression\":\"document.title\",\"returnByValue\":true}") == 0) {
        COPY(page->title, text_of(json_get(answer.result, STR("result")), "value"));
        call->host->has_news = true;
    }
    r = result_add(call, "title", "%z", page->title);
    if (r == 0)
        r = result_add(call, "url", "%z", page->url);
    if (r == 0 && page->status > 0)
        r = result_add(call, "status", "%d", (int64_t)page->status);
    return r;
}

int add_outcome(struct browser_task *call, const struct mark *mark, bool is_navigation,
                struct err *err)
{
    struct page *page = call->page;
    struct str wish = text_of(call->arguments, "snapshot");
    bool has_dialog = page->dialog.is_open;
    int r = 0;

    if (page->is_closed)
        return add_new_pages(call);
    if (page->blocks != mark->blocks)
        r = add_blocked(call);
    /* A click on a link leads away, too. */
    if (r == 0 && (is_navigation || page->commits != mark->commits))
        r = add_title(call, err);
    if (r == 0)
        r = add_dialog(call);
    if (r == 0)
        r = add_new_pages(call);
    if (r == 0)
        r = add_new_downloads(call);
    if (r == 0 && !has_dialog && (wish.len > 0 || is_navigation) && !str_eq(wish, STR("none"))) {
        cleanup_buf struct buf text = BUF_INIT(OPTIONS_BYTES);
        struct err why = ERR_INIT;

        if (write_snapshot(call, NULL, &text, &why) == 0)
            r = result_add(call, "snapshot", "%s", buf_view(&text));
        if (r == 0 && (page->error_count > mark->errors || page->warning_count > mark->warnings))
            r = result_add(call, "consoleSummary", "{\"errors\":%d,\"warnings\":%d}",
                           (int64_t)(page->error_count - mark->errors),
                           (int64_t)(page->warning_count - mark->warnings));
    }
    return r < 0 ? err_set_plain(err, r) : 0;
}
