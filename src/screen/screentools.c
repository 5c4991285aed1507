/* SPDX-License-Identifier: Apache-2.0 */
#include "screen/screentools.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/jsonwrite.h"
#include "base/redact.h"
#include "base/schema/schema.h"
#include "base/utf8.h"
#include "protocol/toolids.h"

enum {
    ARENA_BYTES = 4 << 20,
    SCHEMA_BYTES = 256 << 10,
    WORDS_BYTES = 512,
    DETAIL_BYTES = 8 * SCREEN_MAX_TEXT,
    DEFAULT_SIDE = 1024,
    MAX_IMAGE_SIDE = 65535,
    TOOLS = TOOL_SCREEN_WAIT - TOOL_SCREEN_SCREENSHOT + 1,
    WAIT_LOOK_MS = 50,
    WAIT_WATCH_MS = 20, /* of a look, if the display tells what changes; others wait for it */
    WAIT_TURN_MS = 1,   /* for others */
    WAIT_DEFAULT_MS = 10000,
    WAIT_STILL_MS = 500,
    HELD_MS = 50000, /* shorter than the time that a server gives a call */
    RECORDED_TEXT_BYTES = 200,
};

struct screen_tools {
    struct screen_tools_config config;
    struct arena arena;
    const struct schema *schemas[TOOLS];
};

struct screen_call {
    struct screen_tools *tools;
    const struct catalog_tool *tool;
    const struct json_value *arguments;
    uint64_t number;
    struct screen_request request;
    char *keys;       /* the names of keys, one in a line; or NULL */
    struct str text;  /* to send along */
    unsigned wait_ms; /* before typing, or at most */
    unsigned still_ms;
    bool waits_for_change;
};

/* ---- arguments ---- */

static bool looks_only(const struct catalog_tool *tool)
{
    switch (tool->id) {
    case TOOL_SCREEN_SCREENSHOT:
    case TOOL_SCREEN_SCREENSHOT_REGION:
    case TOOL_SCREEN_INFO:
    case TOOL_SCREEN_WAIT:
    case TOOL_WINDOW_LIST:
        return true;
    default:
        return false;
    }
}

static int32_t number_of(const struct json_value *arguments, const char *name, int32_t fallback)
{
    int64_t number;

    if (!json_get_whole(arguments, str_from(name), &number))
        return fallback;
    return number < INT32_MIN ? INT32_MIN : number > INT32_MAX ? INT32_MAX : (int32_t)number;
}

/* The index of the argument among the words; 0 if it is missing. */
static uint32_t choice_of(const struct json_value *arguments, const char *name,
                          const char *const *words)
{
    struct str text;

    if (json_get_str(arguments, str_from(name), &text))
        for (uint32_t i = 0; words[i] != NULL; i++)
            if (str_eq_c(text, words[i]))
                return i;
    return 0;
}

/* "s12" */
static int take_image(const struct json_value *arguments, struct screen_request *request,
                      struct err *err)
{
    struct str text;
    uint64_t number = 0;

    if (!json_get_str(arguments, STR("image"), &text))
        return 0;
    for (size_t i = 1; i < text.len && number <= UINT32_MAX; i++)
        number = text.ptr[i] >= '0' && text.ptr[i] <= '9'
                     ? number * 10 + (uint64_t)(text.ptr[i] - '0')
                     : UINT64_MAX / 16;
    if (text.len < 2 || text.ptr[0] != 's' || number == 0 || number > UINT32_MAX)
        return err_set_field(err, ERR_INVALID_ARGUMENT, "image",
                             "image must be what a screenshot was called, like s1");
    request->image = (uint32_t)number;
    return 0;
}

static int add_key(struct buf *names, struct str key)
{
    int r = names->len > 0 ? buf_append_char(names, '\n') : 0;

    return r == 0 ? buf_append_str(names, key.len > 1 ? str_trim(key) : key) : r;
}

/* "ctrl+shift+t" is what other tools take; a plus at either end is a key. */
static int add_keys(struct buf *names, struct str keys)
{
    size_t plus;
    int r = 0;

    while (r == 0 && keys.len > 2 &&
           (plus = str_find(str_slice(keys, 1, keys.len - 2), STR("+"))) != SIZE_MAX) {
        r = add_key(names, str_slice(keys, 0, plus + 1));
        keys = str_slice(keys, plus + 2, keys.len);
    }
    return r == 0 ? add_key(names, keys) : r;
}

static int take_keys(struct screen_call *call, struct err *err)
{
    const struct json_value *list = json_get(call->arguments, STR("keys"));
    cleanup_buf struct buf names = BUF_INIT(SCREEN_MAX_TEXT);
    struct str one;
    int r = 0;

    if (list != NULL)
        json_each_item (item, list) {
            if (r == 0)
                r = add_keys(&names, json_str(item));
        }
    else if (json_get_str(call->arguments, STR("key"), &one))
        r = add_keys(&names, one);
    if (r < 0)
        return err_set_plain(err, r);
    call->keys = strndup(names.len > 0 ? names.data : "", names.len);
    if (call->keys == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    call->text = str_from(call->keys);
    return 0;
}

static int take_text(struct screen_call *call, struct err *err)
{
    (void)json_get_str(call->arguments, STR("text"), &call->text);
    if (call->text.len > SCREEN_MAX_TEXT)
        return err_set_field(err, ERR_INVALID_ARGUMENT, "text",
                             "the text is longer than %d KB: type it in parts",
                             SCREEN_MAX_TEXT >> 10);
    return 0;
}

static int take_action(struct screen_call *call, struct err *err)
{
    static const char *const buttons[] = {"left", "middle", "right", NULL};
    static const char *const directions[] = {"up", "down", "left", "right", NULL};
    static const char *const states[] = {"up", "down", NULL};
    static const char *const changes[] = {"still", "change", NULL};
    const struct json_value *arguments = call->arguments;
    struct screen_request *request = &call->request;

    request->button = 1 + choice_of(arguments, "button", buttons);
    request->count = 1;
    switch (call->tool->id) {
    case TOOL_SCREEN_SCREENSHOT:
    case TOOL_SCREEN_SCREENSHOT_REGION:
        request->action = SCREEN_GRAB;
        return 0;
    case TOOL_SCREEN_INFO:
        request->action = SCREEN_INFO;
        return 0;
    case TOOL_WINDOW_LIST:
        request->action = SCREEN_WINDOWS;
        return 0;
    case TOOL_SCREEN_WAIT:
        request->action = SCREEN_LOOK;
        request->ms = WAIT_WATCH_MS;
        call->waits_for_change = choice_of(arguments, "until", changes) == 1;
        call->wait_ms = (unsigned)number_of(arguments, "timeoutMs", WAIT_DEFAULT_MS);
        /* Else it could not be still before the time is up. */
        call->still_ms = call->wait_ms / 2 < WAIT_STILL_MS ? call->wait_ms / 2 : WAIT_STILL_MS;
        call->still_ms = (unsigned)number_of(arguments, "stillMs", (int)call->still_ms);
        return 0;
    case TOOL_MOUSE_MOVE:
        request->action = SCREEN_MOVE;
        return 0;
    case TOOL_MOUSE_CLICK:
        request->action = SCREEN_CLICK;
        request->count = (uint32_t)number_of(arguments, "clickCount", 1);
        return 0;
    case TOOL_MOUSE_DOUBLE_CLICK:
        request->action = SCREEN_CLICK;
        request->count = 2;
        return 0;
    case TOOL_MOUSE_BUTTON:
        request->action = SCREEN_BUTTON;
        request->is_down = choice_of(arguments, "state", states);
        return 0;
    case TOOL_MOUSE_DRAG:
        request->action = SCREEN_DRAG;
        request->x = number_of(arguments, "fromX", 0);
        request->y = number_of(arguments, "fromY", 0);
        request->to_x = number_of(arguments, "toX", 0);
        request->to_y = number_of(arguments, "toY", 0);
        return 0;
    case TOOL_MOUSE_SCROLL:
        request->action = SCREEN_SCROLL;
        request->direction = choice_of(arguments, "direction", directions);
        request->count = (uint32_t)number_of(arguments, "amount", 1);
        return 0;
    case TOOL_KEYBOARD_TYPE:
        request->action = SCREEN_TYPE;
        call->wait_ms = (unsigned)number_of(arguments, "delayMs", 0);
        return take_text(call, err);
    case TOOL_KEYBOARD_HOLD:
        request->action = SCREEN_HOLD;
        request->ms = (uint32_t)number_of(arguments, "durationMs", 0);
        return take_keys(call, err);
    case TOOL_KEYBOARD_KEY_TAP:
    case TOOL_KEYBOARD_SHORTCUT:
        request->action = SCREEN_PRESS;
        return take_keys(call, err);
    default:
        return err_set_plain(err, ERR_UNSUPPORTED);
    }
}

static int take_arguments(struct screen_call *call, struct err *err)
{
    static const char *const formats[] = {"jpeg", "png", "webp", NULL};
    const struct json_value *arguments = call->arguments;
    struct screen_request *request = &call->request;
    bool has_cursor = false;

    request->x = number_of(arguments, "x", 0);
    request->y = number_of(arguments, "y", 0);
    request->width = number_of(arguments, "width", 0);
    request->height = number_of(arguments, "height", 0);
    request->image_width = number_of(arguments, "screenWidth", 0);
    request->image_height = number_of(arguments, "screenHeight", 0);
    request->monitor = number_of(arguments, "monitor", 0);
    request->max_side = number_of(arguments, "maxSide", DEFAULT_SIDE);
    request->format = choice_of(arguments, "format", formats);
    (void)json_get_bool(arguments, STR("cursor"), &has_cursor);
    request->has_cursor = has_cursor;
    if (request->image_width > MAX_IMAGE_SIDE || request->image_height > MAX_IMAGE_SIDE)
        return err_set(
            err, ERR_INVALID_ARGUMENT,
            "screenWidth and screenHeight are the size of an image that you saw: at most "
            "%d",
            MAX_IMAGE_SIDE);
    /* An empty region is not the whole screen. */
    if (call->tool->id == TOOL_SCREEN_SCREENSHOT_REGION &&
        (request->width <= 0 || request->height <= 0))
        return err_set(err, ERR_INVALID_ARGUMENT,
                       "the region is empty: width and height must be at least 1");
    return take_image(arguments, request, err);
}

static void free_call(void *data)
{
    struct screen_call *call = data;

    free(call->keys);
    free(call);
}

static bool has(const void *self, const struct catalog_tool *tool)
{
    (void)tool;
    return self != NULL;
}

static int prepare(void *self, const struct catalog_tool *tool, const struct json_value *arguments,
                   uint64_t number, const struct cancel *cancel, void **out_call, struct err *err)
{
    struct screen_tools *tools = self;
    struct screen_call *call;
    int r =
        schema_check_arguments(tools->schemas[tool->id - TOOL_SCREEN_SCREENSHOT], arguments, err);

    (void)cancel;
    if (r < 0)
        return r;
    call = calloc(1, sizeof(*call));
    if (call == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    call->tools = tools;
    call->tool = tool;
    call->arguments = arguments;
    call->number = number;
    r = take_arguments(call, err);
    if (r == 0)
        r = take_action(call, err);
    if (r < 0) {
        free_call(call);
        return r;
    }
    *out_call = call;
    return 0;
}

/* ---- permission ---- */

static int subject(void *data, const void *session, struct arena *arena,
                   const struct cancel *cancel, struct provider_subject *out_subject,
                   struct err *err)
{
    const struct screen_call *call = data;
    struct permission_resource *resource = arena_new(arena, struct permission_resource);
    uint64_t mark;
    int r = provider_mark(call->arguments, STR_EMPTY, &mark);

    (void)session;
    (void)cancel;
    if (r < 0)
        return err_set_plain(err, r);
    if (resource == NULL)
        return err_set_plain(err, arena->error);
    *resource = (struct permission_resource){
        .group = CATALOG_COMPUTER,
        .given = looks_only(call->tool) ? STR("screenshot") : STR("mouse-keyboard"),
        .operation = PERMISSION_USES,
    };
    *out_subject = (struct provider_subject){.resources = resource, .count = 1, .mark = mark};
    return 0;
}

/* One sentence. */
static void say_action(const struct screen_call *call, char out_words[WORDS_BYTES])
{
    static const char *const buttons[] = {"", "", "middle ", "right "};
    static const char *const directions[] = {"up", "down", "left", "right"};
    static const char *const clicks[] = {"Clicks", "Double-clicks", "Triple-clicks"};
    const struct screen_request *request = &call->request;
    const char *button = buttons[request->button];

    switch (call->tool->id) {
    case TOOL_SCREEN_SCREENSHOT:
        snprintf(out_words, WORDS_BYTES, "Takes a picture of the screen");
        return;
    case TOOL_SCREEN_SCREENSHOT_REGION:
        snprintf(out_words, WORDS_BYTES,
                 "Takes a picture of a part of the screen: %d x %d at (%d, %d)", request->width,
                 request->height, request->x, request->y);
        return;
    case TOOL_SCREEN_INFO:
        snprintf(out_words, WORDS_BYTES, "Looks up monitors and where the pointer is");
        return;
    case TOOL_WINDOW_LIST:
        snprintf(out_words, WORDS_BYTES, "Lists the windows with their titles");
        return;
    case TOOL_SCREEN_WAIT:
        snprintf(out_words, WORDS_BYTES, "Watches the screen until it %s",
                 call->waits_for_change ? "changes" : "is still");
        return;
    case TOOL_MOUSE_MOVE:
        snprintf(out_words, WORDS_BYTES, "Moves the pointer to (%d, %d)", request->x, request->y);
        return;
    case TOOL_MOUSE_CLICK:
    case TOOL_MOUSE_DOUBLE_CLICK:
        snprintf(out_words, WORDS_BYTES, "%s with the %sbutton at (%d, %d)",
                 clicks[request->count - 1], request->button == 1 ? "left " : button, request->x,
                 request->y);
        return;
    case TOOL_MOUSE_BUTTON:
        snprintf(out_words, WORDS_BYTES, "%s the %sbutton at (%d, %d)",
                 request->is_down != 0 ? "Presses" : "Releases",
                 request->button == 1 ? "left " : button, request->x, request->y);
        return;
    case TOOL_MOUSE_DRAG:
        snprintf(out_words, WORDS_BYTES, "Drags from (%d, %d) to (%d, %d)", request->x, request->y,
                 request->to_x, request->to_y);
        return;
    case TOOL_MOUSE_SCROLL:
        snprintf(out_words, WORDS_BYTES, "Scrolls %s by %u at (%d, %d)",
                 directions[request->direction], request->count, request->x, request->y);
        return;
    case TOOL_KEYBOARD_TYPE:
        snprintf(out_words, WORDS_BYTES, "Types %zu characters", utf8_count(call->text));
        return;
    case TOOL_KEYBOARD_HOLD:
        snprintf(out_words, WORDS_BYTES, "Holds keys down for %u ms", request->ms);
        return;
    default:
        snprintf(out_words, WORDS_BYTES, "Presses keys");
        return;
    }
}

static int preview(void *data, struct arena *arena, enum decision_disclosure disclosure,
                   const struct cancel *cancel, struct question *question, struct err *err)
{
    const struct screen_call *call = data;
    char words[WORDS_BYTES];

    (void)disclosure;
    (void)cancel;
    say_action(call, words);
    if (!arena_copy_str(arena, str_from(words), &question->action) ||
        !arena_copy_str(arena, call->text, &question->detail))
        return err_set_plain(err, arena->error);
    return 0;
}

/* ---- the audit log ---- */

/* What is typed goes into the log without secrets, and only its beginning. */
static int describe(const struct screen_call *call, struct buf *out)
{
    char words[WORDS_BYTES];
    size_t used;
    int r;

    say_action(call, words);
    r = buf_append_str(out, str_from(words));
    if (r == 0 && call->text.len > 0)
        r = buf_append_str(out, STR(": "));
    return r == 0 && call->text.len > 0 ? redact_cut(call->text, RECORDED_TEXT_BYTES, out, &used)
                                        : r;
}

static int note(const struct screen_call *call, const char *decision, struct authority_note *note)
{
    cleanup_buf struct buf words = BUF_INIT(WORDS_BYTES + 2 * RECORDED_TEXT_BYTES);
    const struct authority_call about = {
        .tool = call->tool->name.ptr, /* of the catalogue, which ends its texts */
        .decision = decision,
        .id = call->number,
    };
    int r = describe(call, &words);

    if (call->tools->config.recorded == NULL)
        return 0;
    if (r < 0 && r != ERR_TOO_LARGE)
        return r;
    note->operation = AUTHORITY_OP_EXECUTE;
    note->name = buf_view(&words);
    note->destination = STR(".");
    return authority_note_call(call->tools->config.recorded, &about, note);
}

static void refused(void *data, const void *session, const struct permission_resource *resource,
                    const char *source, const char *rule, int code)
{
    struct authority_note refusal = {
        .outcome = AUTHORITY_DENIED, .error = code, .policy_source = source, .policy_rule = rule};

    (void)session;
    (void)resource;
    (void)note(data, NULL, &refusal);
}

/* ---- running ---- */

static void pause_ms(int ms)
{
    struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};

    (void)nanosleep(&time, NULL);
}

static bool is_asking(const struct screen_call *call)
{
    struct open_questions *questions = call->tools->config.questions;

    return questions != NULL && open_questions_any(questions);
}

static int wait_ms(int64_t ms, const struct cancel *cancel)
{
    int64_t end_ms = clock_monotonic_ms(&clock_system) + ms;

    while (clock_monotonic_ms(&clock_system) < end_ms) {
        if (cancel_check(cancel) < 0)
            return ERR_CANCELLED;
        pause_ms(ms < WAIT_LOOK_MS ? (int)ms : WAIT_LOOK_MS);
    }
    return 0;
}

/* No agent may answer a question that is about agents. */
static int wait_for_answers(const struct screen_call *call, const struct cancel *cancel,
                            struct err *err)
{
    int64_t end_ms = clock_monotonic_ms(&clock_system) + HELD_MS;

    while (is_asking(call)) {
        if (cancel_check(cancel) < 0)
            return err_set_plain(err, ERR_CANCELLED);
        if (clock_monotonic_ms(&clock_system) >= end_ms)
            return err_set(err, ERR_BUSY,
                           "a question to the user is open, and there is no input meanwhile: try "
                           "again when it is answered");
        pause_ms(WAIT_LOOK_MS);
    }
    return 0;
}

static int write_image(const struct screen_call *call, const struct screen_reply *reply,
                       struct str image, struct buf *out)
{
    static const char *const types[] = {"image/jpeg", "image/png", "image/webp"};
    char words[WORDS_BYTES];
    int r = buf_append_str(out, STR("{\"content\":[{\"type\":\"image\",\"data\":\""));

    snprintf(words, sizeof(words),
             "Image s%u, %d x %d pixels. Mouse tools and regions take its coordinates.%s",
             reply->image, reply->width, reply->height,
             is_asking(call) ? " A question to the user is open: no input until it is answered."
                             : "");
    if (r == 0)
        r = base64_append(out, image);
    if (r == 0)
        r = buf_printf(out, "\",\"mimeType\":\"%s\"},{\"type\":\"text\",\"text\":\"%s\"}]}",
                       types[call->request.format], words);
    return r;
}

/* Looks again and again, so that other calls get their turn in between. */
static int wait_for_screen(const struct screen_call *call, const struct cancel *cancel,
                           struct buf *out, struct err *err)
{
    cleanup_buf struct buf text = BUF_INIT(SCREEN_MAX_REPLY);
    cleanup_buf struct buf image = BUF_INIT(SCREEN_MAX_IMAGE);
    int64_t start_ms = clock_monotonic_ms(&clock_system);
    int64_t since_ms = start_ms;
    int64_t now_ms = start_ms;
    uint64_t before = 0;
    bool is_first = true;
    bool has_come = false;
    char object[WORDS_BYTES];

    while (!has_come) {
        struct screen_request request = call->request;
        struct screen_reply reply = {0};
        int r = cancel_check(cancel) < 0 ? err_set_plain(err, ERR_CANCELLED) : 0;

        buf_clear(&text);
        if (r == 0)
            r = screen_client_ask(call->tools->config.client, &request, STR_EMPTY, &reply, &text,
                                  &image, err);
        if (r < 0)
            return r;
        now_ms = clock_monotonic_ms(&clock_system);
        if (!is_first && reply.fingerprint != before) {
            since_ms = now_ms;
            has_come = call->waits_for_change;
        } else if (!call->waits_for_change) {
            has_come = now_ms - since_ms >= call->still_ms;
        }
        before = reply.fingerprint;
        is_first = false;
        if (!has_come && now_ms - start_ms >= call->wait_ms)
            break;
        if (!has_come)
            pause_ms(reply.is_same ? WAIT_TURN_MS : WAIT_LOOK_MS);
    }
    snprintf(object, sizeof(object), "{\"%s\":%s,\"elapsedMs\":%lld}",
             call->waits_for_change ? "changed" : "still", has_come ? "true" : "false",
             (long long)(now_ms - start_ms));
    return toolresult_write_object(out, str_from(object), call->tools->config.form, false);
}

static int do_call(struct screen_call *call, const struct cancel *cancel, struct buf *out,
                   struct err *err)
{
    cleanup_buf struct buf text = BUF_INIT(SCREEN_MAX_REPLY);
    cleanup_buf struct buf image = BUF_INIT(SCREEN_MAX_IMAGE);
    struct screen_reply reply = {0};
    int r;

    if (call->tool->id == TOOL_SCREEN_WAIT)
        return wait_for_screen(call, cancel, out, err);
    r = wait_ms(call->tool->id == TOOL_KEYBOARD_TYPE ? call->wait_ms : 0, cancel);
    if (r < 0)
        return err_set_plain(err, r);
    if (!looks_only(call->tool))
        r = wait_for_answers(call, cancel, err);
    if (r == 0)
        r = screen_client_ask(call->tools->config.client, &call->request, call->text, &reply, &text,
                              &image, err);
    if (r < 0)
        return r;
    if (call->request.action == SCREEN_GRAB)
        return write_image(call, &reply, buf_view(&image), out);
    if (text.len > 0)
        return toolresult_write_object(out, buf_view(&text), call->tools->config.form, false);
    return toolresult_write(out, STR("ok"), STR_EMPTY, false);
}

static bool changes(const struct catalog_tool *tool)
{
    return !looks_only(tool);
}

static int run(void *data, const char *decision, const struct cancel *cancel,
               provider_progress_fn *progress, void *progress_data, struct buf *out,
               struct err *err)
{
    struct screen_call *call = data;
    struct authority_note intent = {.outcome = AUTHORITY_INTENT, .policy_source = decision};
    struct authority_note outcome = {.outcome = AUTHORITY_SUCCESS, .policy_source = decision};
    struct err why = ERR_INIT;
    int r = note(call, decision, &intent);

    (void)progress;
    (void)progress_data;
    if (r < 0)
        return err_set_plain(err, r);
    r = do_call(call, cancel, out, &why);
    outcome.request_id = intent.request_id;
    if (r < 0) {
        outcome.outcome = AUTHORITY_FAILED;
        outcome.error = r;
        outcome.reason = err_text(r);
    }
    (void)note(call, decision, &outcome);
    if (r == ERR_CANCELLED || r == ERR_NO_MEMORY || r == 0) {
        if (r < 0)
            err_set_plain(err, r);
        return r;
    }
    buf_clear(out);
    return toolresult_write_error(&why, call->tools->config.form, out);
}

const struct provider screen_provider = {
    .name = "screen",
    .has = has,
    .prepare = prepare,
    .free = free_call,
    .subject = subject,
    .preview = preview,
    .refused = refused,
    .run = run,
    .changes = changes,
};

/* ---- making ---- */

int screen_tools_new(const struct screen_tools_config *config, struct screen_tools **out_tools,
                     struct err *err)
{
    struct screen_tools *tools = calloc(1, sizeof(*tools));
    int r = 0;

    if (tools == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    tools->config = *config;
    tools->arena = (struct arena)ARENA_INIT(ARENA_BYTES);
    for (int i = 0; i < TOOLS && r == 0; i++) {
        cleanup_arena struct arena arena = ARENA_INIT(SCHEMA_BYTES);
        const struct json_value *document;

        r = json_parse(&arena, catalog_tools[TOOL_SCREEN_SCREENSHOT + i].input_schema,
                       JSON_LIMITS_DEFAULT, &document, err);
        if (r == 0)
            r = schema_compile(&tools->arena, document, &tools->schemas[i], err);
    }
    if (r < 0) {
        screen_tools_free(tools);
        return r;
    }
    *out_tools = tools;
    return 0;
}

void screen_tools_free(struct screen_tools *tools)
{
    if (tools == NULL)
        return;
    arena_done(&tools->arena);
    free(tools);
}
