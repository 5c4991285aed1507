/* SPDX-License-Identifier: Apache-2.0 */
/* Mouse, keyboard and files: trusted input at points that the script in the page has checked. */
#include "browser/internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "browser/jsonf.h"
#include "browser/keeper.h"
#include "browser/keys.h"

enum {
    MAX_TRIES = 3,
    MAX_HELD = 8,
    DRAG_STEPS = 5,
    MAX_FIELDS = 100,
    MAX_FILES = 20,
    DEFAULT_SCROLL = 500,
};

/* A point in the page's own viewport. */
struct point {
    double x;
    double y;
    char ref[48];
};

/* ---- where ---- */

/* From a frame's viewport to that of the page, from the inside out. */
static int to_page(struct browser_task *call, const struct place *place, struct point *point,
                   struct err *err)
{
    char frame[ID_BYTES];
    char target[ID_BYTES];

    COPY(frame, str_from(place->frame));
    COPY(target, str_from(call->page->target));
    while (strcmp(frame, target) != 0) {
        cleanup_cdp_answer struct cdp_answer owner = CDP_ANSWER_INIT;
        cleanup_cdp_answer struct cdp_answer node = CDP_ANSWER_INIT;
        cleanup_cdp_answer struct cdp_answer moved = CDP_ANSWER_INIT;
        const struct json_value *result;
        struct place parent;
        char above[ID_BYTES] = "";
        int r;

        list_each (item, &call->page->frames) {
            const struct frame *one = list_entry(item, struct frame, node);

            if (strcmp(one->id, frame) == 0)
                COPY(above, str_from(one->parent));
        }
        if (above[0] == '\0')
            return err_set(err, ERR_TOOL_FAILED, "the frame has gone");
        r = place_of_frame(call, str_from(above), &parent, err);
        if (r == 0)
            r = ask(call, parent.session, "DOM.getFrameOwner", &owner, err, "{\"frameId\":%z}",
                    frame);
        if (r == 0)
            r = ask(call, parent.session, "DOM.resolveNode", &node, err,
                    "{\"backendNodeId\":%d,\"executionContextId\":%d}",
                    whole_of(owner.result, "backendNodeId", 0), parent.context);
        if (r == 0)
            r = ask(call, parent.session, "Runtime.callFunctionOn", &moved, err,
                    "{\"functionDeclaration\":\"function(e,x,y){return gatehouse.run('frame',"
                    "{target:e,x:x,y:y})}\",\"executionContextId\":%d,\"returnByValue\":true,"
                    "\"awaitPromise\":true,\"arguments\":[{\"objectId\":%s},{\"value\":%f},"
                    "{\"value\":%f}]}",
                    parent.context, text_of(json_get(node.result, STR("object")), "objectId"),
                    point->x, point->y);
        if (r < 0)
            return r;
        result = value_of(&moved);
        if (result == NULL || json_get(result, STR("error")) != NULL)
            return err_set(err, ERR_TOOL_FAILED, "%.*s",
                           STR_ARG(text_of(result != NULL ? json_get(result, STR("error")) : NULL,
                                           "message")));
        point->x = number_of(result, "x", 0);
        point->y = number_of(result, "y", 0);
        COPY(frame, str_from(above));
    }
    return 0;
}

/*
 * With `out_asked`, the point is guarded for so many clicks, and the page is asked already what
 * they will hit: behind their events, it would often answer only after the frame that they cause.
 */
static int find_point(struct browser_task *call, const struct json_value *target, const char *kind,
                      int64_t clicks, struct place *out_place, struct point *out_point,
                      struct cdp_command **out_asked, struct err *err)
{
    cleanup_cdp_answer struct cdp_answer answer = CDP_ANSWER_INIT;
    const struct json_value *result;
    struct cdp_command *command;
    int64_t ms = whole_of(call->arguments, "timeoutMs", ACTION_MS);
    int r = place_of_target(call, target, out_place, err);
    char prefix[24];

    if (r < 0)
        return r;
    place_prefix(call, out_place, prefix);
    call_hold(call);
    r = script_begin(call, out_place, "prepare", &command, err,
                     "{\"target\":%v,\"kind\":%z,\"timeoutMs\":%d,\"guard\":%b,\"force\":%b}",
                     target, kind, ms, out_asked != NULL, flag_of(call->arguments, "force"));
    if (r == 0 && out_asked != NULL)
        (void)script_begin(call, out_place, "outcome", out_asked, NULL, "{\"clicks\":%d}", clicks);
    call_release(call);
    if (r == 0)
        r = script_end(call, command, ms, &answer, &result, err);
    if (r < 0)
        return r;
    out_point->x = number_of(result, "x", 0);
    out_point->y = number_of(result, "y", 0);
    COPY(out_point->ref, text_of(result, "ref"));
    return to_page(call, out_place, out_point, err);
}

static int prepare(struct browser_task *call, const struct json_value *target, const char *kind,
                   struct place *out_place, struct point *out_point, struct err *err)
{
    return find_point(call, target, kind, 0, out_place, out_point, NULL, err);
}

/* ---- the mouse ---- */

static int begin_mouse(struct browser_task *call, const char *type, double x, double y,
                       const char *button, int64_t buttons, int64_t count, int64_t modifiers,
                       struct cdp_command **out_command, struct err *err)
{
    cleanup_buf struct buf params = BUF_INIT(1024);
    int r = jsonf(&params,
                  "{\"type\":%z,\"x\":%f,\"y\":%f,\"button\":%z,\"buttons\":%d,\"clickCount\":%d,"
                  "\"modifiers\":%d}",
                  type, x, y, button, buttons, count, modifiers);

    return r < 0 ? err_set_plain(err, r)
                 : cdp_begin(call->link->cdp, str_from(call->page->session),
                             "Input.dispatchMouseEvent", buf_view(&params), out_command, err);
}

/* A dialog that the input opened holds its answer back, and is what the call reports. */
static int end_input(struct browser_task *call, struct cdp_command *command, struct err *err)
{
    int64_t deadline_ms = monitor_now_ms() + COMMAND_MS;
    int r = cdp_finish(call->link->cdp, command,
                       deadline_ms < call->deadline_ms ? deadline_ms : call->deadline_ms,
                       call_is_over, call, NULL, err);

    return r == ERR_CANCELLED && (call->page->dialog.is_open || call->page->is_closed) &&
                   !call->is_cancelled
               ? 0
               : r;
}

static int mouse(struct browser_task *call, const char *type, double x, double y,
                 const char *button, int64_t buttons, int64_t count, int64_t modifiers,
                 struct err *err)
{
    struct cdp_command *command;
    int r = begin_mouse(call, type, x, y, button, buttons, count, modifiers, &command, err);

    return r == 0 ? end_input(call, command, err) : r;
}

static int64_t modifiers_of(const struct browser_task *call)
{
    const struct json_value *list = json_get(call->arguments, STR("modifiers"));
    int64_t bits = 0;

    if (list != NULL)
        json_each_item (item, list) {
            struct browser_key key;

            if (item->type == JSON_STRING && browser_key_find(json_str(item), &key))
                bits |= key.modifier;
        }
    return bits;
}

/* The events of up to three clicks, all on their way at once: each is handled after the other. */
struct clicks {
    struct cdp_command *events[2 * 3 + 1];
    size_t count;
};

static void add_event(struct browser_task *call, struct clicks *clicks, const char *type, double x,
                      double y, const char *button, int64_t buttons, int64_t number, int *r,
                      struct err *err)
{
    if (*r == 0)
        *r = begin_mouse(call, type, x, y, button, buttons, number, modifiers_of(call),
                         &clicks->events[clicks->count], err);
    clicks->count += *r == 0;
}

static int begin_clicks(struct browser_task *call, double x, double y, int64_t count,
                        struct clicks *out_clicks, struct err *err)
{
    static const char *const names[] = {"left", "right", "middle"};
    size_t which = str_index(text_of(call->arguments, "button"), names, array_size(names));
    const char *button = names[which == SIZE_MAX ? 0 : which];
    int64_t held = which == SIZE_MAX || which == 0 ? 1 : which == 1 ? 2 : 4;
    int r = 0;

    out_clicks->count = 0;
    add_event(call, out_clicks, "mouseMoved", x, y, "none", 0, 0, &r, err);
    for (int64_t i = 1; i <= count; i++) {
        add_event(call, out_clicks, "mousePressed", x, y, button, held, i, &r, err);
        add_event(call, out_clicks, "mouseReleased", x, y, button, 0, i, &r, err);
    }
    return r;
}

static int end_clicks(struct browser_task *call, const struct clicks *clicks, int r,
                      struct err *err)
{
    for (size_t i = 0; i < clicks->count; i++) {
        int ended = end_input(call, clicks->events[i], r == 0 ? err : NULL);

        r = r == 0 ? ended : r;
    }
    return r;
}

static void forget_clicks(struct browser_task *call, const struct clicks *clicks)
{
    for (size_t i = 0; i < clicks->count; i++)
        cdp_forget(call->link->cdp, clicks->events[i]);
}

static int click_at(struct browser_task *call, double x, double y, int64_t count, struct err *err)
{
    struct clicks clicks;
    int r = begin_clicks(call, x, y, count, &clicks, err);

    return end_clicks(call, &clicks, r, err);
}

static bool are_done(const struct clicks *clicks)
{
    for (size_t i = 0; i < clicks->count; i++)
        if (!cdp_is_done(clicks->events[i]))
            return false;
    return true;
}

enum hit { HIT_NOT, HIT, HIT_UNKNOWN };

/*
 * What the guard saw, as soon as the page has had the clicks and its next task. If it saw none of
 * them, since they went to something else, the answers to the events say when to ask.
 */
static enum hit guard_outcome(struct browser_task *call, const struct place *place,
                              const struct clicks *clicks, struct cdp_command *asked)
{
    cleanup_cdp_answer struct cdp_answer answer = CDP_ANSWER_INIT;
    const struct json_value *hit;
    struct cdp_command *hurry;
    int64_t deadline_ms = monitor_now_ms() + COMMAND_MS;

    if (deadline_ms > call->deadline_ms)
        deadline_ms = call->deadline_ms;
    while (!cdp_is_done(asked) && !are_done(clicks) && !call_is_over(call))
        if (!monitor_wait(&call->host->monitor, deadline_ms))
            break;
    if (!cdp_is_done(asked) && !call_is_over(call) &&
        script_begin(call, place, "outcome", &hurry, NULL, "{\"hurry\":true}") == 0)
        cdp_forget(call->link->cdp, hurry);
    if (cdp_finish(call->link->cdp, asked, deadline_ms, call_is_over, call, &answer, NULL) < 0)
        return HIT_UNKNOWN; /* the page has gone on, or a dialog is open */
    hit = json_get(value_of(&answer), STR("hit"));
    return hit == NULL || hit->type != JSON_BOOL ? HIT_UNKNOWN : hit->integer != 0 ? HIT : HIT_NOT;
}

static int click(struct browser_task *call, const struct json_value *target, int64_t count,
                 struct point *out_point, bool *out_has_reacted, struct err *err)
{
    for (int i = 0; i < MAX_TRIES; i++) {
        struct cdp_command *asked = NULL;
        enum hit hit = HIT_UNKNOWN;
        struct clicks clicks;
        struct place place;
        int r = find_point(call, target, "click", count, &place, out_point, &asked, err);

        if (r < 0 && asked != NULL)
            cdp_forget(call->link->cdp, asked);
        if (r < 0)
            return r;
        call_hold(call);
        r = begin_clicks(call, out_point->x, out_point->y, count, &clicks, err);
        call_release(call);
        if (asked != NULL)
            hit = guard_outcome(call, &place, &clicks, asked);
        if (hit == HIT)
            forget_clicks(call, &clicks);
        else
            r = end_clicks(call, &clicks, r, err);
        *out_has_reacted = hit == HIT && strcmp(place.frame, call->page->target) == 0;
        if (r < 0 || hit != HIT_NOT)
            return r;
    }
    return err_set(err, ERR_TOOL_FAILED,
                   "The element moves away before it can be clicked\nTry again, or with force");
}

static int finish_after(struct browser_task *call, const struct mark *mark, bool has_reacted,
                        const char *word, const char *ref, struct err *err)
{
    int r = result_add(call, word, "true");

    if (r == 0 && ref != NULL && ref[0] != '\0')
        r = result_add(call, "ref", "%z", ref);
    if (r < 0)
        return err_set_plain(err, r);
    r = has_reacted ? settle_now(call, mark, err) : settle(call, mark, err);
    return r == 0 ? add_outcome(call, mark, false, err) : r;
}

static int finish(struct browser_task *call, const struct mark *mark, const char *word,
                  const char *ref, struct err *err)
{
    return finish_after(call, mark, false, word, ref, err);
}

int tool_click(struct browser_task *call, struct err *err)
{
    int64_t count = whole_of(call->arguments, "clickCount", 1);
    struct point point = {0};
    bool has_reacted = false;
    struct mark mark;
    int r;

    mark_now(call->page, &mark);
    r = click(call, json_get(call->arguments, STR("element")),
              count < 1   ? 1
              : count > 3 ? 3
                          : count,
              &point, &has_reacted, err);
    return r == 0 ? finish_after(call, &mark, has_reacted, "clicked", point.ref, err) : r;
}

/* Elsewhere a click hits nothing, and nobody would know. */
static int check_in_view(struct browser_task *call, double x, double y, struct err *err)
{
    cleanup_cdp_answer struct cdp_answer metrics = CDP_ANSWER_INIT;
    int r = ask(call, call->page->session, "Page.getLayoutMetrics", &metrics, err, "{}");
    const struct json_value *view;
    double width;
    double height;

    if (r < 0)
        return r;
    view = json_get(metrics.result, STR("cssLayoutViewport"));
    width = number_of(view, "clientWidth", 0);
    height = number_of(view, "clientHeight", 0);
    if (x >= 0 && y >= 0 && x < width && y < height)
        return 0;
    return err_set(err, ERR_TOOL_FAILED,
                   "(%.0f, %.0f) is outside of the viewport, which has %.0f x %.0f pixels\nScroll "
                   "first, or use browser_click",
                   x, y, width, height);
}

int tool_click_xy(struct browser_task *call, struct err *err)
{
    int64_t count = whole_of(call->arguments, "clickCount", 1);
    double x = number_of(call->arguments, "x", 0);
    double y = number_of(call->arguments, "y", 0);
    struct mark mark;
    int r;

    mark_now(call->page, &mark);
    r = check_in_view(call, x, y, err);
    if (r == 0)
        r = click_at(call, x, y, count < 1 ? 1 : count > 3 ? 3 : count, err);
    return r == 0 ? finish(call, &mark, "clicked", NULL, err) : r;
}

int tool_hover(struct browser_task *call, struct err *err)
{
    struct place place;
    struct point point = {0};
    struct mark mark;
    int r;

    mark_now(call->page, &mark);
    r = prepare(call, json_get(call->arguments, STR("element")), "hover", &place, &point, err);
    if (r == 0)
        r = mouse(call, "mouseMoved", point.x, point.y, "none", 0, 0, 0, err);
    return r == 0 ? finish(call, &mark, "hovered", point.ref, err) : r;
}

/* ---- dragging ---- */

/* The page began a drag of its own: it gets the events that a desktop would send. */
static int drop(struct browser_task *call, const struct json_value *data, const struct point *to,
                struct err *err)
{
    static const char *const steps[] = {"dragEnter", "dragOver", "drop"};
    int r = 0;

    for (size_t i = 0; i < array_size(steps) && r == 0; i++)
        r = ask(call, call->page->session, "Input.dispatchDragEvent", NULL, err,
                "{\"type\":%z,\"x\":%f,\"y\":%f,\"data\":%v}", steps[i], to->x, to->y, data);
    return r;
}

static int move_held(struct browser_task *call, const struct point *from, const struct point *to,
                     struct err *err)
{
    int r = 0;

    for (int i = 1; i <= DRAG_STEPS && r == 0 && call->page->drag == NULL; i++)
        r = mouse(call, "mouseMoved", from->x + (to->x - from->x) * i / DRAG_STEPS,
                  from->y + (to->y - from->y) * i / DRAG_STEPS, "left", 1, 0, 0, err);
    return r;
}

static int drag(struct browser_task *call, const struct point *from,
                const struct json_value *target, struct err *err)
{
    struct place place;
    struct point to = {0};
    int r = mouse(call, "mouseMoved", from->x, from->y, "none", 0, 0, 0, err);

    if (r == 0)
        r = mouse(call, "mousePressed", from->x, from->y, "left", 1, 1, 0, err);
    /* A small way first: pages begin to drag only then. */
    if (r == 0)
        r = mouse(call, "mouseMoved", from->x + 4, from->y + 4, "left", 1, 0, 0, err);
    if (r == 0)
        r = prepare(call, target, "drop", &place, &to, err);
    if (r == 0)
        r = move_held(call, from, &to, err);
    if (r == 0 && call->page->drag != NULL) {
        const struct json_value *data;

        r = json_parse(&call->arena, str_from(call->page->drag), JSON_LIMITS_DEFAULT, &data, err);
        if (r == 0)
            r = drop(call, data, &to, err);
    }
    /* Also after an error: a button stays pressed otherwise. */
    if (!call->page->is_closed) {
        int released = mouse(call, "mouseReleased", to.x, to.y, "left", 0, 1, 0, NULL);

        r = r == 0 ? released : r;
    }
    return r;
}

int tool_drag(struct browser_task *call, struct err *err)
{
    struct place place;
    struct point from = {0};
    struct mark mark;
    int r;

    mark_now(call->page, &mark);
    free(call->page->drag);
    call->page->drag = NULL;
    r = ask(call, call->page->session, "Input.setInterceptDrags", NULL, err, "{\"enabled\":true}");
    if (r == 0)
        r = prepare(call, json_get(call->arguments, STR("from")), "drag", &place, &from, err);
    if (r == 0)
        r = drag(call, &from, json_get(call->arguments, STR("to")), err);
    if (!call->page->is_closed)
        tell_browser(call->host, str_from(call->page->session), "Input.setInterceptDrags",
                     "{\"enabled\":false}");
    return r == 0 ? finish(call, &mark, "dragged", NULL, err) : r;
}

/* ---- the keyboard ---- */

static int key_event(struct browser_task *call, const char *type, const struct browser_key *key,
                     int64_t modifiers, bool has_text, struct err *err)
{
    cleanup_buf struct buf params = BUF_INIT(2048);
    struct cdp_command *command;
    /* Keys that type nothing with these held must not type. */
    const char *text =
        has_text && (modifiers & (KEY_CONTROL | KEY_META | KEY_ALT)) == 0 ? key->text : "";
    int r = jsonf(&params,
                  "{\"type\":%z,\"key\":%z,\"code\":%z,\"windowsVirtualKeyCode\":%d,"
                  "\"modifiers\":%d,\"text\":%z,\"unmodifiedText\":%z",
                  type, key->key, key->code, (int64_t)key->windows, modifiers, text, text);

    /* What a desktop would make of it: headless has none that does. */
    if (r == 0 && has_text && modifiers == KEY_CONTROL && str_eq_c(STR("KeyA"), key->code))
        r = buf_append_str(&params, STR(",\"commands\":[\"selectAll\"]"));
    if (r == 0)
        r = buf_append_char(&params, '}');
    if (r < 0)
        return err_set_plain(err, r);
    r = cdp_begin(call->link->cdp, str_from(call->page->session), "Input.dispatchKeyEvent",
                  buf_view(&params), &command, err);
    return r == 0 ? end_input(call, command, err) : r;
}

static int press_key(struct browser_task *call, const struct browser_key *key, int64_t modifiers,
                     struct err *err)
{
    bool types = key->text[0] != '\0' && (modifiers & (KEY_CONTROL | KEY_META | KEY_ALT)) == 0;
    int r = key_event(call, types ? "keyDown" : "rawKeyDown", key, modifiers, true, err);

    /* A dialog that it opened has taken the release along. */
    if (r == 0 && !call_is_over(call))
        r = key_event(call, "keyUp", key, modifiers, false, err);
    return r;
}

/* "Control+Shift+a"; a plus alone is the key. */
static int press(struct browser_task *call, struct str keys, struct err *err)
{
    struct browser_key held[MAX_HELD];
    size_t count = 0;
    int64_t modifiers = 0;
    struct str name = STR_EMPTY;
    struct browser_key key = {.key = ""};
    size_t plus = SIZE_MAX;
    int r = 0;

    while (r == 0 && keys.len > 0 && count < MAX_HELD) {
        plus = keys.len > 1 ? str_find(str_slice(keys, 1, keys.len), STR("+")) : SIZE_MAX;

        name = plus == SIZE_MAX ? keys : str_slice(keys, 0, plus + 1);
        keys = plus == SIZE_MAX ? STR_EMPTY : str_slice(keys, plus + 2, keys.len);
        if (!browser_key_find(name, &key))
            r = err_set(err, ERR_TOOL_FAILED,
                        "there is no key '%.*s'\nUse a character, or a name such as Enter, Tab, "
                        "Escape, ArrowDown, PageDown or F5, after keys to hold: Control+Shift+a",
                        str_print_length(str_slice(name, 0, 60)), name.ptr);
        else if (plus == SIZE_MAX)
            break;
        else if (key.modifier == 0)
            r = err_set(err, ERR_TOOL_FAILED,
                        "'%.*s' cannot be held: only Control, Shift, Alt and Meta can",
                        STR_ARG(name));
        if (r == 0) {
            modifiers |= key.modifier;
            held[count++] = key;
            r = key_event(call, "rawKeyDown", &key, modifiers, false, err);
        }
    }
    if (r == 0 && (name.len == 0 || plus != SIZE_MAX))
        r = err_set(err, ERR_TOOL_FAILED,
                    "%s\nEnd keys with one to press, as in Enter or Control+A",
                    count == MAX_HELD ? "too many keys are held" : "no key is named to be pressed");
    if (r == 0)
        r = press_key(call, &key, modifiers, err);
    while (count > 0 && !call->page->is_closed) {
        int released;

        count--;
        modifiers &= ~(int64_t)held[count].modifier;
        released = key_event(call, "keyUp", &held[count], modifiers, false, NULL);
        r = r == 0 && !call_is_over(call) ? released : r;
    }
    return r;
}

int tool_press(struct browser_task *call, struct err *err)
{
    struct mark mark;
    int r;

    mark_now(call->page, &mark);
    r = press(call, text_of(call->arguments, "keys"), err);
    return r == 0 ? finish(call, &mark, "pressed", NULL, err) : r;
}

static int insert(struct browser_task *call, struct str text, struct err *err)
{
    cleanup_buf struct buf params = BUF_INIT(64 << 20);
    struct cdp_command *command;
    int r = jsonf(&params, "{\"text\":%s}", text);

    if (r < 0)
        return err_set_plain(err, r);
    r = cdp_begin(call->link->cdp, str_from(call->page->session), "Input.insertText",
                  buf_view(&params), &command, err);
    return r == 0 ? end_input(call, command, err) : r;
}

static void wait_between(struct browser_task *call, int64_t ms)
{
    int64_t until = monitor_now_ms() + ms;

    while (!call_is_over(call) && monitor_wait(&call->host->monitor, until))
        ;
}

/* Key by key; what no key has is inserted as an input method does. */
static int type_keys(struct browser_task *call, struct str text, int64_t delay_ms, struct err *err)
{
    int r = 0;

    while (text.len > 0 && r == 0 && !call_is_over(call)) {
        unsigned char first = (unsigned char)text.ptr[0];
        size_t len = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
        struct str one = str_slice(text, 0, len);
        struct browser_key key;

        text = str_slice(text, len, text.len);
        if (str_eq(one, STR("\n")) || str_eq(one, STR("\r")))
            one = STR("Enter");
        else if (str_eq(one, STR("\t")))
            one = STR("Tab");
        if (len == 1 && browser_key_find(one, &key)) {
            bool is_shifted =
                one.len == 1 && ((one.ptr[0] >= 'A' && one.ptr[0] <= 'Z') ||
                                 strchr("!@#$%^&*()_+{}|:\"~<>?", one.ptr[0]) != NULL);

            r = press_key(call, &key, is_shifted ? KEY_SHIFT : 0, err);
        } else {
            r = insert(call, one, err);
        }
        if (delay_ms > 0)
            wait_between(call, delay_ms);
    }
    return r;
}

/*
 * Focus, with the caret where the text goes; returns the element's ref. Into fields with a picker,
 * keys are typed part by part: those get the text as a whole, and then have it.
 */
static int focus(struct browser_task *call, const struct json_value *target, struct str text,
                 bool is_replaced, char out_ref[48], bool *out_has_text, struct err *err)
{
    cleanup_cdp_answer struct cdp_answer answer = CDP_ANSWER_INIT;
    cleanup_cdp_answer struct cdp_answer filled = CDP_ANSWER_INIT;
    const struct json_value *result = NULL;
    struct place place;
    struct point point = {0};
    int r = prepare(call, target, "fill", &place, &point, err);

    if (r == 0)
        r = script(call, &place, "focus", ACTION_MS, &answer, &result, err,
                   "{\"target\":%v,\"text\":%s,\"select\":%z}", target, text,
                   is_replaced ? "all" : "end");
    *out_has_text = r == 0 && flag_of(result, "isPicked");
    if (*out_has_text)
        r = script(call, &place, "fill", ACTION_MS, &filled, &result, err,
                   "{\"target\":%v,\"value\":%s}", target, text);
    if (r == 0)
        snprintf(out_ref, 48, "%s", point.ref);
    return r;
}

int tool_type(struct browser_task *call, struct err *err)
{
    struct str text = text_of(call->arguments, "text");
    bool is_replaced = flag_of(call->arguments, "clear");
    int64_t delay_ms = whole_of(call->arguments, "delay", 0);
    bool is_pasted = str_eq(text_of(call->arguments, "mode"), STR("paste"));
    struct browser_key erase;
    char ref[48] = "";
    bool has_text = false;
    struct mark mark;
    int r;

    mark_now(call->page, &mark);
    r = focus(call, json_get(call->arguments, STR("element")), text, is_replaced, ref, &has_text,
              err);
    (void)browser_key_find(STR("Delete"), &erase);
    if (r == 0 && is_replaced && !has_text)
        r = press_key(call, &erase, 0, err);
    if (r == 0 && is_pasted && !has_text)
        r = insert(call, text, err);
    else if (r == 0 && !has_text)
        r = type_keys(call, text, delay_ms, err);
    if (r == 0 && flag_of(call->arguments, "submit") && !call_is_over(call))
        r = press(call, STR("Enter"), err);
    if (r == 0)
        r = result_add(call, "text", "%s", text);
    return r == 0 ? finish(call, &mark, "typed", ref, err) : r;
}

/* ---- forms ---- */

static int select_values(struct browser_task *call, const struct json_value *target,
                         const struct json_value *values, struct err *err)
{
    cleanup_cdp_answer struct cdp_answer answer = CDP_ANSWER_INIT;
    const struct json_value *result;
    struct place place;
    struct point point;
    int r = prepare(call, target, "select", &place, &point, err);

    if (r == 0)
        r = script(call, &place, "select", ACTION_MS, &answer, &result, err,
                   "{\"target\":%v,\"values\":%v}", target, values);
    return r == 0 ? result_add(call, "selected", "%v", json_get(result, STR("selected"))) : r;
}

int tool_select(struct browser_task *call, struct err *err)
{
    struct mark mark;
    int r;

    mark_now(call->page, &mark);
    r = select_values(call, json_get(call->arguments, STR("element")),
                      json_get(call->arguments, STR("values")), err);
    if (r == 0)
        r = settle(call, &mark, err);
    return r == 0 ? add_outcome(call, &mark, false, err) : r;
}

static int fill(struct browser_task *call, const struct json_value *field, struct err *err)
{
    cleanup_cdp_answer struct cdp_answer answer = CDP_ANSWER_INIT;
    const struct json_value *target = json_get(field, STR("element"));
    const struct json_value *result;
    struct place place;
    struct point point;
    bool has_reacted;
    int r = place_of_target(call, target, &place, err);

    if (r == 0)
        r = script(call, &place, "fill", ACTION_MS, &answer, &result, err,
                   "{\"target\":%v,\"value\":%v}", target, json_get(field, STR("value")));
    if (r < 0)
        return r;
    if (flag_of(result, "click"))
        return click(call, target, 1, &point, &has_reacted, err);
    if (json_get(result, STR("insert")) == NULL)
        return 0;
    if (text_of(result, "insert").len == 0)
        return press(call, STR("Delete"), err);
    return insert(call, text_of(result, "insert"), err);
}

int tool_fill_form(struct browser_task *call, struct err *err)
{
    const struct json_value *fields = json_get(call->arguments, STR("fields"));
    int64_t count = 0;
    struct mark mark;
    int r = 0;

    mark_now(call->page, &mark);
    json_each_item (field, fields) {
        struct err why = ERR_INIT;

        if (call_is_over(call))
            break;
        r = fill(call, field, &why);
        if (r < 0)
            return err_set(err, r, "Field %lld: %s", (long long)count + 1, why.message);
        count++;
    }
    r = result_add(call, "filled", "%d", count);
    if (r == 0 && flag_of(call->arguments, "submit") && !call_is_over(call))
        r = press(call, STR("Enter"), err);
    if (r == 0)
        r = settle(call, &mark, err);
    return r == 0 ? add_outcome(call, &mark, false, err) : r;
}

/* ---- scrolling ---- */

int tool_scroll(struct browser_task *call, struct err *err)
{
    cleanup_cdp_answer struct cdp_answer answer = CDP_ANSWER_INIT;
    const struct json_value *target = json_get(call->arguments, STR("element"));
    const struct json_value *result;
    struct place place;
    struct mark mark;
    int r;

    if (target == NULL && text_of(call->arguments, "direction").len == 0)
        return err_set(err, ERR_TOOL_FAILED,
                       str_eq(text_of(call->arguments, "mode"), STR("element"))
                           ? "element is required for the mode element"
                           : "direction is required for the mode direction: up, down, left or "
                             "right");
    mark_now(call->page, &mark);
    r = target != NULL ? place_of_target(call, target, &place, err) : place_main(call, &place, err);
    if (r == 0 && target != NULL)
        r = script(call, &place, "scroll", ACTION_MS, &answer, &result, err, "{\"target\":%v}",
                   target);
    else if (r == 0)
        r = script(call, &place, "scroll", ACTION_MS, &answer, &result, err,
                   "{\"direction\":%s,\"amount\":%d}", text_of(call->arguments, "direction"),
                   whole_of(call->arguments, "amount", DEFAULT_SCROLL));
    return r == 0 ? finish(call, &mark, "scrolled", NULL, err) : r;
}
