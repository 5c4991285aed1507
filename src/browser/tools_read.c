/* SPDX-License-Identifier: Apache-2.0 */
/* What pages show and keep: snapshots, pictures, text, the console, requests, cookies. */
#include "browser/internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "browser/jsonf.h"
#include "browser/keeper.h"
#include "browser/url.h"

enum {
    TEXT_BYTES = 64 << 20,
    DEFAULT_CHARS = 40000, /* of a snapshot */
    LEAST_CHARS = 200,
    MAX_FRAME_DEPTH = 8,
    MAX_HOSTS = 200, /* as in the script */
    MAX_LOOKS = 3,   /* for closed shadow roots, which may be inside each other */
    MAX_SNAPSHOT_FRAMES = 50,
    BODY_CHARS = 20000,
    PICTURE_MS = 30000,
    MAX_PICTURE_SIDE = 16000,
};

/* ---- snapshots ---- */

struct snapshot {
    struct browser_task *call;
    const struct json_value *options; /* or NULL */
    struct buf *out;
    int64_t left;   /* characters */
    int64_t frames; /* that may still be looked into */
    int64_t found;  /* what options->find or changes asks for */
};

/* The document inside the frame's element, by the name of the frame. */
static int inner_frame(struct browser_task *call, const struct place *place, struct str ref,
                       char out_frame[ID_BYTES])
{
    cleanup_cdp_answer struct cdp_answer object = CDP_ANSWER_INIT;
    cleanup_cdp_answer struct cdp_answer node = CDP_ANSWER_INIT;
    struct str frame;
    int r = ask(call, place->session, "Runtime.callFunctionOn", &object, NULL,
                "{\"functionDeclaration\":\"function(r){return gatehouse.element({ref:r})}\","
                "\"executionContextId\":%d,\"arguments\":[{\"value\":%s}]}",
                place->context, ref);

    if (r == 0)
        r = ask(call, place->session, "DOM.describeNode", &node, NULL, "{\"objectId\":%s}",
                text_of(json_get(object.result, STR("result")), "objectId"));
    if (r < 0)
        return r;
    frame = text_of(json_get(node.result, STR("node")), "frameId");
    copy_text(out_frame, ID_BYTES, frame);
    return frame.len > 0 ? 0 : ERR_NOT_FOUND;
}

/* The root is told to the script, which cannot see it by itself. */
static void adopt_closed_root(struct browser_task *call, const struct place *place,
                              const struct json_value *host)
{
    cleanup_cdp_answer struct cdp_answer answer = CDP_ANSWER_INIT;
    cleanup_cdp_answer struct cdp_answer adopted = CDP_ANSWER_INIT;
    const struct json_value *root = json_get(host, STR("shadowRoots"));

    if (root == NULL || root->type != JSON_ARRAY || root->size == 0)
        return;
    root++;
    if (str_eq(text_of(root, "shadowRootType"), STR("closed")) &&
        ask(call, place->session, "DOM.resolveNode", &answer, NULL,
            "{\"backendNodeId\":%d,\"executionContextId\":%d,\"objectGroup\":\"hosts\"}",
            whole_of(root, "backendNodeId", 0), place->context) == 0)
        (void)ask(
            call, place->session, "Runtime.callFunctionOn", &adopted, NULL,
            "{\"functionDeclaration\":\"function(r){return gatehouse.run('adopt',{root:r})}\","
            "\"executionContextId\":%d,\"returnByValue\":true,"
            "\"arguments\":[{\"objectId\":%s}]}",
            place->context, text_of(json_get(answer.result, STR("object")), "objectId"));
}

/* Looks at all elements that may have a closed root; one that cannot be looked at has none. */
static int look_for_closed_roots(struct browser_task *call, const struct place *place,
                                 struct err *err)
{
    cleanup_cdp_answer struct cdp_answer list = CDP_ANSWER_INIT;
    cleanup_cdp_answer struct cdp_answer hosts = CDP_ANSWER_INIT;
    struct cdp_command *commands[MAX_HOSTS];
    size_t count = 0;
    int r = ask(call, place->session, "Runtime.callFunctionOn", &list, err,
                "{\"functionDeclaration\":\"function(){return gatehouse.hosts()}\","
                "\"executionContextId\":%d,\"objectGroup\":\"hosts\"}",
                place->context);

    if (r == 0)
        r = ask(call, place->session, "Runtime.getProperties", &hosts, err,
                "{\"objectId\":%s,\"ownProperties\":true}",
                text_of(json_get(list.result, STR("result")), "objectId"));
    if (r < 0)
        return r;
    call_hold(call);
    json_each_item (host, json_get(hosts.result, STR("result"))) {
        struct str object = text_of(json_get(host, STR("value")), "objectId");

        if (object.len > 0 && count < MAX_HOSTS &&
            ask_begin(call, place->session, "DOM.describeNode", &commands[count], NULL,
                      "{\"objectId\":%s}", object) == 0)
            count++;
    }
    call_release(call);
    for (size_t i = 0; i < count; i++) {
        cleanup_cdp_answer struct cdp_answer node = CDP_ANSWER_INIT;

        if (await(call, commands[i], COMMAND_MS, &node, NULL) == 0)
            adopt_closed_root(call, place, json_get(node.result, STR("node")));
    }
    return ask(call, place->session, "Runtime.releaseObjectGroup", NULL, err,
               "{\"objectGroup\":\"hosts\"}");
}

/* The object stays open. */
static int write_options(const struct snapshot *snapshot, bool is_first, const char *prefix,
                         int64_t indent, struct buf *out)
{
    const struct json_value *options = snapshot->options;
    bool is_for_reading =
        options != NULL
            ? json_get(options, STR("interactive")) != NULL && !flag_of(options, "interactive")
            : str_eq(text_of(snapshot->call->arguments, "snapshot"), STR("non-interactive"));
    int r = jsonf(out, "{\"maxChars\":%d,\"prefix\":%z,\"indent\":%d,\"refs\":%b", snapshot->left,
                  prefix, indent, !is_for_reading);

    if (r == 0 && options != NULL && text_of(options, "find").len > 0)
        r = jsonf(out, ",\"find\":%s", text_of(options, "find"));
    if (r == 0 && options != NULL && flag_of(options, "changes"))
        r = jsonf(out, ",\"changes\":true");
    if (r == 0 && is_first && options != NULL && json_get(options, STR("scope")) != NULL)
        r = jsonf(out, ",\"scope\":%v", json_get(options, STR("scope")));
    if (r == 0 && is_first && options != NULL && whole_of(options, "skip", 0) > 0)
        r = jsonf(out, ",\"skip\":%d", whole_of(options, "skip", 0));
    return r;
}

static int write_frame(struct snapshot *snapshot, struct place *place, bool is_first, int depth,
                       int64_t indent, struct err *err)
{
    cleanup_buf struct buf options = BUF_INIT(1 << 20);
    cleanup_cdp_answer struct cdp_answer answer = CDP_ANSWER_INIT;
    struct browser_task *call = snapshot->call;
    const struct json_value *result;
    const struct json_value *frames;
    const struct json_value *frame;
    const struct json_value *frames_end;
    char prefix[24];
    int r;

    place_prefix(call, place, prefix);
    r = write_options(snapshot, is_first, prefix, indent, &options);
    if (r < 0)
        return err_set_plain(err, r);
    for (int looks = 0;; looks++) {
        r = script(call, place, "snapshot", COMMAND_MS, &answer, &result, err, "%r%r",
                   buf_view(&options), looks < MAX_LOOKS ? STR(",\"looks\":true}") : STR("}"));
        if (r == 0 && json_get(result, STR("hosts")) == NULL)
            break;
        if (r == 0)
            r = look_for_closed_roots(call, place, err);
        cdp_answer_done(&answer);
        if (r < 0)
            return r;
    }
    snapshot->left -= whole_of(result, "chars", 0);
    /* Without an earlier snapshot, all of it is new. */
    snapshot->found +=
        whole_of(result, json_get(result, STR("matches")) != NULL ? "matches" : "changed", 1);
    frames = json_get(result, STR("frames"));
    frame = frames != NULL && frames->type == JSON_ARRAY ? frames + 1 : NULL;
    frames_end = frame != NULL ? frames + frames->span : NULL;
    if (json_get(result, STR("parts")) == NULL)
        return err_set(err, ERR_TOOL_FAILED, "the page does not answer");
    json_each_item (part, json_get(result, STR("parts"))) {
        char id[ID_BYTES];
        struct place inner;

        r = buf_append_str(snapshot->out, json_str(part));
        if (r < 0)
            return err_set_plain(err, r);
        if (frame == NULL || frame == frames_end)
            continue;
        /* A frame that cannot be seen is no reason to show nothing. */
        if (snapshot->left > LEAST_CHARS && snapshot->frames-- > 0 && depth < MAX_FRAME_DEPTH &&
            inner_frame(call, place, text_of(frame, "ref"), id) == 0 &&
            place_of_frame(call, str_from(id), &inner, NULL) == 0)
            (void)write_frame(snapshot, &inner, false, depth + 1, whole_of(frame, "indent", 0),
                              NULL);
        frame = json_next(frame);
    }
    return 0;
}

static int write_found(struct browser_task *call, const struct json_value *options, struct buf *out,
                       int64_t *out_found, struct err *err)
{
    const struct json_value *scope = options != NULL ? json_get(options, STR("scope")) : NULL;
    int64_t limit = options != NULL ? whole_of(options, "maxChars", DEFAULT_CHARS) : DEFAULT_CHARS;
    struct snapshot snapshot = {.call = call,
                                .options = options,
                                .out = out,
                                .left = limit < LEAST_CHARS ? LEAST_CHARS : limit,
                                .frames = MAX_SNAPSHOT_FRAMES};
    struct place place;
    int r =
        scope != NULL ? place_of_target(call, scope, &place, err) : place_main(call, &place, err);

    if (r == 0)
        r = write_frame(&snapshot, &place, true, 0, 0, err);
    *out_found = snapshot.found;
    return r;
}

int write_snapshot(struct browser_task *call, const struct json_value *options, struct buf *out,
                   struct err *err)
{
    int64_t found;

    return write_found(call, options, out, &found, err);
}

/* An empty text alone looks like an empty page. */
static int add_note(struct browser_task *call, bool is_empty, int64_t found)
{
    struct str find = text_of(call->arguments, "find");
    bool is_for_changes = flag_of(call->arguments, "changes");

    if (found == 0 && find.len > 0)
        return result_add(call, "note", "%s",
                          is_for_changes ? STR("Nothing that has changed matches find")
                                         : STR("Nothing matches find"));
    if (found == 0 && is_for_changes)
        return result_add(call, "note", "%s",
                          STR("Nothing has changed since the last snapshot of this"));
    if (is_empty)
        return result_add(call, "note", "%s", STR("There is nothing to show"));
    return 0;
}

int tool_snapshot(struct browser_task *call, struct err *err)
{
    cleanup_buf struct buf text = BUF_INIT(TEXT_BYTES);
    int64_t found;
    int r = write_found(call, call->arguments, &text, &found, err);

    if (r == 0)
        r = result_add(call, "url", "%z", call->page->url);
    if (r == 0)
        r = result_add(call, "snapshot", "%s", buf_view(&text));
    return r == 0 ? add_note(call, text.len == 0, found) : r;
}

/* ---- pictures and paper ---- */

struct area {
    double x;
    double y;
    double width;
    double height;
};

/* In the page's own coordinates. */
static int area_of_element(struct browser_task *call, const struct json_value *target,
                           struct area *out_area, struct err *err)
{
    cleanup_cdp_answer struct cdp_answer answer = CDP_ANSWER_INIT;
    cleanup_cdp_answer struct cdp_answer metrics = CDP_ANSWER_INIT;
    const struct json_value *result;
    const struct json_value *rect;
    const struct json_value *view;
    struct place place;
    int r = place_of_target(call, target, &place, err);

    if (r == 0 && strcmp(place.frame, call->page->target) != 0)
        r = err_set(err, ERR_TOOL_FAILED,
                    "The element is inside a frame\nTake a picture of the frame's element");
    if (r == 0)
        r = script(call, &place, "prepare", ACTION_MS, &answer, &result, err,
                   "{\"target\":%v,\"kind\":\"screenshot\",\"timeoutMs\":%d}", target,
                   (int64_t)ACTION_MS);
    if (r == 0)
        r = ask(call, call->page->session, "Page.getLayoutMetrics", &metrics, err, "{}");
    if (r < 0)
        return r;
    rect = json_get(result, STR("rect"));
    view = json_get(metrics.result, STR("cssVisualViewport"));
    *out_area = (struct area){number_of(rect, "x", 0) + number_of(view, "pageX", 0),
                              number_of(rect, "y", 0) + number_of(view, "pageY", 0),
                              number_of(rect, "width", 1), number_of(rect, "height", 1)};
    return 0;
}

static int area_of_page(struct browser_task *call, struct area *out_area, struct err *err)
{
    cleanup_cdp_answer struct cdp_answer metrics = CDP_ANSWER_INIT;
    const struct json_value *size;
    int r = ask(call, call->page->session, "Page.getLayoutMetrics", &metrics, err, "{}");

    if (r < 0)
        return r;
    size = json_get(metrics.result, STR("cssContentSize"));
    *out_area = (struct area){0, 0, number_of(size, "width", 1), number_of(size, "height", 1)};
    if (out_area->height > MAX_PICTURE_SIDE)
        out_area->height = MAX_PICTURE_SIDE;
    if (out_area->width > MAX_PICTURE_SIDE)
        out_area->width = MAX_PICTURE_SIDE;
    return 0;
}

int tool_screenshot(struct browser_task *call, struct err *err)
{
    cleanup_cdp_answer struct cdp_answer answer = CDP_ANSWER_INIT;
    const struct json_value *target = json_get(call->arguments, STR("element"));
    struct page *page = call->page;
    struct area area = {0};
    int r = 0;

    if (target != NULL)
        r = area_of_element(call, target, &area, err);
    else if (flag_of(call->arguments, "fullPage"))
        r = area_of_page(call, &area, err);
    /* A page in the background draws nothing. */
    if (r == 0)
        r = ask(call, page->session, "Page.bringToFront", NULL, err, "{}");
    if (r == 0 && area.width > 0)
        r = ask_within(call, page->session, "Page.captureScreenshot", PICTURE_MS, &answer, err,
                       "{\"format\":\"png\",\"captureBeyondViewport\":true,\"clip\":{\"x\":%f,"
                       "\"y\":%f,\"width\":%f,\"height\":%f,\"scale\":1}}",
                       area.x, area.y, area.width, area.height);
    else if (r == 0)
        r = ask_within(call, page->session, "Page.captureScreenshot", PICTURE_MS, &answer, err,
                       "{\"format\":\"png\"}");
    if (r == 0 && flag_of(call->arguments, "asDownload")) {
        cleanup_buf struct buf bytes = BUF_INIT(TEXT_BYTES);

        r = base64_decode(&bytes, text_of(answer.result, "data"));
        r = r < 0 ? err_set_plain(err, r)
                  : keep_as_download(call, buf_view(&bytes), "screenshot.png", err);
    } else if (r == 0) {
        r = buf_append_str(&call->image, text_of(answer.result, "data"));
        if (r < 0)
            err_set_plain(err, r);
    }
    return r == 0 ? result_add(call, "url", "%z", page->url) : r;
}

/* Each page of a PDF has an object of its own, and the file as a whole the count. */
static int64_t count_pages(struct str pdf)
{
    static const struct str word = STR_LITERAL("/Type /Page\n");
    int64_t count = 0;

    while (true) {
        size_t at = str_find(pdf, word);

        if (at == SIZE_MAX)
            return count;
        count++;
        pdf = str_slice(pdf, at + word.len, pdf.len);
    }
}

int tool_pdf(struct browser_task *call, struct err *err)
{
    static const struct {
        struct str name;
        double width;
        double height;
    } papers[] = {{STR_LITERAL("A4"), 8.27, 11.69},
                  {STR_LITERAL("Letter"), 8.5, 11},
                  {STR_LITERAL("Legal"), 8.5, 14}};
    cleanup_cdp_answer struct cdp_answer answer = CDP_ANSWER_INIT;
    cleanup_buf struct buf bytes = BUF_INIT(TEXT_BYTES);
    struct str format = text_of(call->arguments, "format");
    size_t paper = 0;
    int r;

    for (size_t i = 0; i < array_size(papers); i++)
        if (str_eq(format, papers[i].name))
            paper = i;
    r = ask_within(call, call->page->session, "Page.printToPDF", PICTURE_MS, &answer, err,
                   "{\"landscape\":%b,\"printBackground\":true,\"paperWidth\":%f,"
                   "\"paperHeight\":%f}",
                   flag_of(call->arguments, "landscape"), papers[paper].width,
                   papers[paper].height);
    if (r < 0)
        return r;
    r = base64_decode(&bytes, text_of(answer.result, "data"));
    if (r < 0)
        return err_set_plain(err, r);
    r = flag_of(call->arguments, "asDownload")
            ? keep_as_download(call, buf_view(&bytes), "page.pdf", err)
            : result_add(call, "pdf", "%s", text_of(answer.result, "data"));
    if (r == 0)
        r = result_add(call, "pages", "%d", count_pages(buf_view(&bytes)));
    return r;
}

/* ---- text ---- */

int tool_content(struct browser_task *call, struct err *err)
{
    cleanup_cdp_answer struct cdp_answer answer = CDP_ANSWER_INIT;
    struct str selector = text_of(call->arguments, "selector");
    int64_t limit = whole_of(call->arguments, "maxChars", DEFAULT_CHARS);
    const struct json_value *result;
    struct place place;
    int r = place_main(call, &place, err);

    if (r == 0 && selector.len > 0)
        r = script(call, &place, "content", COMMAND_MS, &answer, &result, err,
                   "{\"maxChars\":%d,\"selector\":%s}", limit, selector);
    else if (r == 0)
        r = script(call, &place, "content", COMMAND_MS, &answer, &result, err, "{\"maxChars\":%d}",
                   limit);
    if (r == 0)
        r = result_add(call, "title", "%s", text_of(result, "title"));
    if (r == 0)
        r = result_add(call, "content", "%s", text_of(result, "content"));
    if (r == 0)
        r = result_add(call, "url", "%z", call->page->url);
    if (r == 0 && flag_of(result, "truncated"))
        r = result_add(call, "truncated", "true");
    return r;
}

/*
 * Whether it may do what a page may do only when the user does something, like opening a window. A
 * script that calls nothing and changes nothing does not; to tell the browser of the user takes a
 * quarter of the time of a short script.
 */
static bool may_act(struct str script)
{
    return memchr(script.ptr, '(', script.len) != NULL ||
           memchr(script.ptr, '=', script.len) != NULL ||
           memchr(script.ptr, '`', script.len) != NULL || str_find(script, STR("new")) != SIZE_MAX;
}

/* What the browser says of results. */
static bool is_about_values(const struct err *err)
{
    struct str words = str_from(err->message);

    return str_find(words, STR("reference chain is too long")) != SIZE_MAX ||
           str_find(words, STR("returned by value")) != SIZE_MAX;
}

/* The value itself comes with the answer, unless it is an object and is_late. */
static int evaluate(struct browser_task *call, struct str code, bool is_late,
                    struct cdp_answer *out_answer, struct err *err)
{
    /* The group of this name has $_, the last result. */
    return ask(call, call->page->session, "Runtime.evaluate", out_answer, err,
               "{\"expression\":%s,\"awaitPromise\":true,\"objectGroup\":\"console\"%r%r}", code,
               is_late ? STR(",\"replMode\":true") : STR(",\"returnByValue\":true"),
               may_act(code) ? STR(",\"userGesture\":true") : STR_EMPTY);
}

/*
 * Whether it was not run at all because of an await outside of functions, or because it declares
 * again what such a script has declared. If it throws the same itself, a stack follows.
 */
static bool is_for_console(const struct cdp_answer *answer)
{
    const struct json_value *details = json_get(answer->result, STR("exceptionDetails"));
    struct str words =
        details != NULL ? text_of(json_get(details, STR("exception")), "description") : STR_EMPTY;

    return str_starts_with(words, STR("SyntaxError: ")) &&
           memchr(words.ptr, '\n', words.len) == NULL &&
           (str_find(words, STR("await is only valid")) != SIZE_MAX ||
            str_find(words, STR("has already been declared")) != SIZE_MAX);
}

/* As in the console of developer tools. A promise that is the result is waited for, too. */
static int evaluate_late(struct browser_task *call, struct str code, struct cdp_answer *answer,
                         struct err *err)
{
    cleanup_cdp_answer struct cdp_answer object = CDP_ANSWER_INIT;
    struct str id;
    int r = evaluate(call, code, true, &object, err);

    if (r < 0)
        return r;
    id = text_of(json_get(object.result, STR("result")), "objectId");
    cdp_answer_done(answer);
    if (id.len == 0 || json_get(object.result, STR("exceptionDetails")) != NULL) {
        *answer = object;
        object = (struct cdp_answer)CDP_ANSWER_INIT;
        return 0;
    }
    return ask(call, call->page->session, "Runtime.callFunctionOn", answer, err,
               "{\"functionDeclaration\":\"function(){return this}\",\"objectId\":%s,"
               "\"returnByValue\":true,\"awaitPromise\":true}",
               id);
}

/* {} or [{}], which elements and other things become that have no JSON value. */
static bool is_hollow(const struct json_value *value)
{
    if (value == NULL || (value->type != JSON_OBJECT && value->type != JSON_ARRAY))
        return false;
    if (value->type == JSON_ARRAY)
        return value->size > 0 && value[1].type == JSON_OBJECT && value[1].size == 0;
    return value->size == 0 || (value[2].type == JSON_OBJECT && value[2].size == 0);
}

static int add_what_it_is(struct browser_task *call)
{
    cleanup_cdp_answer struct cdp_answer answer = CDP_ANSWER_INIT;
    const struct json_value *result;
    struct str kind;

    if (ask(call, call->page->session, "Runtime.evaluate", &answer, NULL,
            "{\"expression\":\"$_ instanceof Node?$_:$_?.[0]??$_\",\"includeCommandLineAPI\":true,"
            "\"objectGroup\":\"console\"}") < 0)
        return 0;
    result = json_get(answer.result, STR("result"));
    kind = text_of(result, "subtype");
    if (kind.len == 0 || str_eq(kind, STR("null")) || str_eq(kind, STR("array")))
        return 0;
    return result_add(
        call, "note", "\"A %r has no JSON value: return what you need of it%r\"", kind,
        str_eq(kind, STR("node")) ? STR(", such as its textContent, or use browser_snapshot")
                                  : STR_EMPTY);
}

int tool_evaluate(struct browser_task *call, struct err *err)
{
    cleanup_cdp_answer struct cdp_answer answer = CDP_ANSWER_INIT;
    struct str code = text_of(call->arguments, "script");
    const struct json_value *details;
    const struct json_value *result;
    const struct json_value *value;
    struct mark mark;
    bool is_late = false;
    int r;

    mark_now(call->page, &mark);
    r = evaluate(call, code, false, &answer, err);
    if (r == 0) {
        is_late = is_for_console(&answer);
        if (is_late)
            r = evaluate_late(call, code, &answer, err);
    }
    if (r == 0 && is_function(&answer))
        r = call_function(call, &answer, err);
    if (r == ERR_CANCELLED && call->page->dialog.is_open)
        return add_outcome(call, &mark, false, err);
    if (r == ERR_TOOL_FAILED && is_about_values(err))
        return err_set(
            err, r,
            "The script was run, but its result has no JSON value, as window and symbols "
            "have none\nReturn the properties that you need");
    if (r < 0)
        return r;
    details = json_get(answer.result, STR("exceptionDetails"));
    if (details != NULL) {
        struct str words = text_of(json_get(details, STR("exception")), "description");

        return err_set(err, ERR_TOOL_FAILED, "%.*s",
                       STR_ARG(words.len > 0 ? words : text_of(details, "text")));
    }
    result = json_get(answer.result, STR("result"));
    value = value_of(&answer);
    if (value == NULL && text_of(result, "unserializableValue").len > 0)
        return result_add(call, "result", "%s", text_of(result, "unserializableValue"));
    r = result_add(call, "result", "%v", value);
    if (r == 0 && is_hollow(value))
        r = add_what_it_is(call);
    if (is_late || is_hollow(value))
        tell_browser(call->host, str_from(call->page->session), "Runtime.releaseObjectGroup",
                     "{\"objectGroup\":\"console\"}");
    return r;
}

/* ---- the console and requests ---- */

static void iso_time(int64_t ms, char out_text[CLOCK_ISO_BYTES])
{
    clock_format_iso(ms, out_text);
}

int tool_console(struct browser_task *call, struct err *err)
{
    cleanup_buf struct buf list = BUF_INIT(TEXT_BYTES);
    struct str level = text_of(call->arguments, "level");
    struct page *page = call->page;
    int r = 0;

    for (size_t i = 0; i < page->message_count && r == 0; i++) {
        const struct message *message = &page->messages[(page->message_first + i) % MAX_MESSAGES];
        char when[CLOCK_ISO_BYTES];

        if (level.len > 0 && !str_eq_c(level, message->level))
            continue;
        iso_time(message->at_ms, when);
        r = jsonf(&list, "%r{\"level\":%z,\"text\":%z,\"timestamp\":%z}",
                  list.len > 0 ? STR(",") : STR_EMPTY, message->level,
                  message->text != NULL ? message->text : "", when);
    }
    if (flag_of(call->arguments, "clear"))
        page->message_count = 0;
    if (r == 0)
        r = result_add(call, "entries", "[%r]", buf_view(&list));
    return r < 0 ? err_set_plain(err, r) : 0;
}

/* What was sent back, if the browser still has it. */
static int add_body(struct browser_task *call, const struct request *request, struct buf *list)
{
    cleanup_cdp_answer struct cdp_answer answer = CDP_ANSWER_INIT;
    char session[ID_BYTES];
    char id[ID_BYTES];
    struct str body;
    int r;

    COPY(session, str_from(request->session));
    COPY(id, str_from(request->id));
    r = ask(call, session, "Network.getResponseBody", &answer, NULL, "{\"requestId\":%z}", id);
    if (r < 0)
        return r == ERR_TOOL_FAILED ? 0 : r;
    body = text_of(answer.result, "body");
    if (flag_of(answer.result, "base64Encoded"))
        return jsonf(list, ",\"bodyBase64\":%s", str_slice(body, 0, BODY_CHARS / 4 * 4));
    r = jsonf(list, ",\"body\":%s", str_slice(body, 0, BODY_CHARS));
    return r == 0 && body.len > BODY_CHARS ? jsonf(list, ",\"bodyTruncated\":true") : r;
}

int tool_network(struct browser_task *call, struct err *err)
{
    cleanup_buf struct buf list = BUF_INIT(TEXT_BYTES);
    struct str filter = text_of(call->arguments, "filter");
    bool has_bodies = flag_of(call->arguments, "bodies");
    struct page *page = call->page;
    uint64_t last = page->request_order;
    int r = 0;

    /* By number: while a body is waited for, more come. */
    for (uint64_t order = 0; order <= last && r == 0; order++) {
        const struct request *request = NULL;
        char when[CLOCK_ISO_BYTES];

        for (size_t i = 0; i < page->request_count; i++) {
            const struct request *one = &page->requests[(page->request_first + i) % MAX_REQUESTS];

            if (one->order >= order && one->order <= last) {
                request = one;
                break;
            }
        }
        if (request == NULL)
            break;
        order = request->order;
        if (request->url == NULL ||
            (filter.len > 0 && !browser_glob(filter, str_from(request->url)) &&
             str_find(str_from(request->url), filter) == SIZE_MAX))
            continue;
        iso_time(request->at_ms, when);
        r = jsonf(&list,
                  "%r{\"url\":%z,\"method\":%z,\"status\":%d,\"contentType\":%z,\"timestamp\":%z",
                  list.len > 0 ? STR(",") : STR_EMPTY, request->url, request->method,
                  (int64_t)request->status, request->type, when);
        if (r == 0 && request->has_failed)
            r = jsonf(&list, ",\"failed\":true");
        if (r == 0 && has_bodies && request->is_done && !request->has_failed &&
            !request->is_foreign)
            r = add_body(call, request, &list);
        if (r == 0)
            r = buf_append_char(&list, '}');
    }
    if (flag_of(call->arguments, "clear"))
        page->request_count = 0;
    if (r == 0)
        r = result_add(call, "requests", "[%r]", buf_view(&list));
    return r < 0 ? err_set_plain(err, r) : 0;
}

/* ---- cookies and storage ---- */

/* Of the page's own site, or of the address that permission was asked for. */
static int cookies_get(struct browser_task *call, struct err *err)
{
    cleanup_cdp_answer struct cdp_answer answer = CDP_ANSWER_INIT;
    struct str url = text_of(call->arguments, "url");
    int r = url.len > 0 ? ask(call, call->page->session, "Network.getCookies", &answer, err,
                              "{\"urls\":[%s]}", url)
                        : ask(call, call->page->session, "Network.getCookies", &answer, err, "{}");

    return r == 0 ? result_add(call, "cookies", "%v", json_get(answer.result, STR("cookies"))) : r;
}

static int cookies_set(struct browser_task *call, struct err *err)
{
    const struct json_value *cookies = json_get(call->arguments, STR("cookies"));
    struct str host = page_host(call->page);
    int64_t count = 0;
    int r = 0;

    if (cookies == NULL)
        return err_set(err, ERR_TOOL_FAILED,
                       "cookies is required for set, as in [{\"name\":\"a\",\"value\":\"b\"}]");
    json_each_item (cookie, cookies) {
        struct str domain = text_of(cookie, "domain");
        cleanup_cdp_answer struct cdp_answer answer = CDP_ANSWER_INIT;

        if (domain.len > 0 && domain.ptr[0] == '.')
            domain = str_slice(domain, 1, domain.len);
        /* Permission is for the page's host. */
        if (domain.len > 0 && !str_eq(domain, host) &&
            !(str_ends_with(host, domain) && host.len > domain.len &&
              host.ptr[host.len - domain.len - 1] == '.'))
            return err_set(
                err, ERR_TOOL_FAILED,
                "Cookies can be set for the page's own site only\nNavigate to %.*s first",
                STR_ARG(domain));
        {
            cleanup_buf struct buf params = BUF_INIT(1 << 20);

            r = jsonf(&params, "{\"url\":%z", call->page->url);
            json_each_member (key, cookie)
                if (r == 0)
                    r = jsonf(&params, ",%s:%v", json_str(key), key + 1);
            if (r == 0)
                r = buf_append_char(&params, '}');
            if (r < 0)
                return err_set_plain(err, r);
            r = ask(call, call->page->session, "Network.setCookie", &answer, err, "%r",
                    buf_view(&params));
        }
        if (r < 0)
            return r;
        if (!flag_of(answer.result, "success"))
            return err_set(err, ERR_TOOL_FAILED, "the browser refused the cookie '%.*s'",
                           STR_ARG(text_of(cookie, "name")));
        count++;
    }
    r = result_add(call, "set", "true");
    return r == 0 ? result_add(call, "count", "%d", count) : r;
}

/* Those of the page's site alone. */
static int cookies_clear(struct browser_task *call, struct err *err)
{
    cleanup_cdp_answer struct cdp_answer answer = CDP_ANSWER_INIT;
    const struct json_value *cookies;
    int r = ask(call, call->page->session, "Network.getCookies", &answer, err, "{}");

    cookies = r == 0 ? json_get(answer.result, STR("cookies")) : NULL;
    if (cookies != NULL)
        json_each_item (cookie, cookies)
            if (r == 0)
                r = ask(call, call->page->session, "Network.deleteCookies", NULL, err,
                        "{\"name\":%s,\"domain\":%s,\"path\":%s}", text_of(cookie, "name"),
                        text_of(cookie, "domain"), text_of(cookie, "path"));
    return r == 0 ? result_add(call, "cleared", "true") : r;
}

int tool_cookies(struct browser_task *call, struct err *err)
{
    struct str action = text_of(call->arguments, "action");

    if (str_eq(action, STR("set")))
        return cookies_set(call, err);
    return str_eq(action, STR("clear")) ? cookies_clear(call, err) : cookies_get(call, err);
}

int tool_storage(struct browser_task *call, struct err *err)
{
    cleanup_cdp_answer struct cdp_answer answer = CDP_ANSWER_INIT;
    const struct json_value *result = NULL;
    struct place place;
    int r = 0;

    if (str_eq(text_of(call->arguments, "action"), STR("set")) &&
        json_get(call->arguments, STR("data")) == NULL)
        return err_set(err, ERR_TOOL_FAILED,
                       "data is required for set, as in {\"name\":\"value\"}");
    r = place_main(call, &place, err);
    if (r == 0)
        r = script(call, &place, "storage", COMMAND_MS, &answer, &result, err,
                   "{\"kind\":%s,\"action\":%s,\"data\":%v}", text_of(call->arguments, "kind"),
                   text_of(call->arguments, "action"), json_get(call->arguments, STR("data")));
    if (r < 0 || result == NULL)
        return r;
    json_each_member (key, result)
        if (r == 0) {
            char name[32];

            COPY(name, json_str(key));
            r = result_add(call, name, "%v", key + 1);
        }
    return r < 0 ? err_set_plain(err, r) : 0;
}

/* ---- secrets ---- */

/* Only the front end gets it: it is no part of the result. */
int tool_capture_secret(struct browser_task *call, struct err *err)
{
    cleanup_cdp_answer struct cdp_answer answer = CDP_ANSWER_INIT;
    const struct json_value *target = json_get(call->arguments, STR("element"));
    const struct json_value *result;
    struct place place;
    struct str value;
    int r = place_of_target(call, target, &place, err);

    if (r == 0)
        r = script(call, &place, "value", ACTION_MS, &answer, &result, err, "{\"target\":%v}",
                   target);
    if (r < 0)
        return r;
    value = text_of(result, "value");
    if (value.len == 0)
        return err_set(err, ERR_TOOL_FAILED, "Secret capturing failed: the element has no text");
    r = buf_append_str(&call->secret, value);
    return r < 0 ? err_set(err, r, "Secret capturing failed: the element has too much text") : 0;
}
