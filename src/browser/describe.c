/* SPDX-License-Identifier: Apache-2.0 */
/* What a call does, in words: for the question and the audit log. */
#include "browser/browsertools_internal.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "base/jsonwrite.h"
#include "base/redact.h"
#include "browser/jsonf.h"

enum { WORDS_BYTES = 768, RECORDED_BYTES = 300 };

/* What it does in the browser, and where. */
static const char *verb_of(const struct browser_call *call)
{
    switch (call->tool->id) {
    case TOOL_BROWSER_CONNECT:
        return call->is_local
                   ? "Uses your own browser, which is in no sandbox and has your logins; "
                     "starts it if need be; sees the addresses and titles of its tabs"
                   : "Starts a browser";
    case TOOL_BROWSER_DISCONNECT:
        return "Ends the browser";
    case TOOL_BROWSER_TAB_OPEN:
        return "Opens a tab";
    case TOOL_BROWSER_TAB_CLOSE:
        return "Closes a tab";
    case TOOL_BROWSER_NAVIGATE:
        return "Opens a page";
    case TOOL_BROWSER_BACK:
    case TOOL_BROWSER_FORWARD:
    case TOOL_BROWSER_RELOAD:
        return "Loads a page again";
    case TOOL_BROWSER_CLICK:
    case TOOL_BROWSER_MOUSE_CLICK_XY:
        return "Clicks";
    case TOOL_BROWSER_TYPE:
    case TOOL_BROWSER_PRESS:
        return "Types";
    case TOOL_BROWSER_SELECT:
    case TOOL_BROWSER_FILL_FORM:
        return "Fills in a form";
    case TOOL_BROWSER_DRAG:
        return "Drags";
    case TOOL_BROWSER_UPLOAD:
        return "Uploads files";
    case TOOL_BROWSER_DOWNLOADS:
        return "Lists downloads";
    case TOOL_BROWSER_DIALOG:
        return "Answers a dialog";
    case TOOL_BROWSER_EVALUATE:
        return "Runs a script";
    case TOOL_BROWSER_CAPTURE_SECRET:
        return "Keeps a secret of a page";
    case TOOL_BROWSER_CREATE_CREDENTIAL:
        return "Creates a credential at the server";
    case TOOL_BROWSER_COOKIES:
        return "Uses cookies";
    case TOOL_BROWSER_STORAGE:
        return "Uses what the site stores";
    default:
        return "Looks at a page";
    }
}

static void say_action(const struct browser_call *call, char out_words[WORDS_BYTES])
{
    const char *where = call->to_file != NULL      ? call->to_file
                        : call->to_host[0] != '\0' ? call->to_host
                                                   : call->page_host;

    snprintf(out_words, WORDS_BYTES, "%s%s%s", verb_of(call),
             call->to_file != NULL ? " of the file "
             : where[0] != '\0'    ? " on "
                                   : "",
             where);
}

int browser_call_preview(void *data, struct arena *arena, enum decision_disclosure disclosure,
                         const struct cancel *cancel, struct question *question, struct err *err)
{
    const struct browser_call *call = data;
    cleanup_buf struct buf detail = BUF_INIT(BROWSER_MESSAGE_BYTES);
    struct json_writer json;
    char words[WORDS_BYTES];

    (void)disclosure;
    (void)cancel;
    say_action(call, words);
    json_writer_init(&json, &detail);
    json_writer_set_pretty(&json);
    json_write_value(&json, call->arguments);
    if (json_writer_finish(&json) < 0)
        return err_set_plain(err, ERR_TOO_LARGE);
    if (!arena_copy_str(arena, str_from(words), &question->action) ||
        !arena_copy_str(arena, buf_view(&detail), &question->detail))
        return err_set_plain(err, arena->error);
    return 0;
}

/* ---- the audit log ---- */

int browser_call_note(const struct browser_call *call, const char *decision,
                      struct authority_note *note)
{
    cleanup_buf struct buf words = BUF_INIT(WORDS_BYTES + 2 * RECORDED_BYTES);
    cleanup_buf struct buf arguments = BUF_INIT(BROWSER_MESSAGE_BYTES);
    const struct authority_call about = {
        .tool = call->tool->name.ptr, /* of the catalogue, which ends its texts */
        .decision = decision,
        .id = call->number,
    };
    char text[WORDS_BYTES];
    size_t used;
    int r;

    if (call->tools->config.recorded == NULL)
        return 0;
    say_action(call, text);
    r = buf_append_str(&words, str_from(text));
    if (r == 0)
        r = jsonf(&arguments, ": %v", call->arguments);
    if (r == 0)
        r = redact_cut(buf_view(&arguments), RECORDED_BYTES, &words, &used);
    if (r < 0 && r != ERR_TOO_LARGE)
        return r;
    note->operation = AUTHORITY_OP_EXECUTE;
    note->name = buf_view(&words);
    note->destination = STR(".");
    return authority_note_call(call->tools->config.recorded, &about, note);
}

void browser_call_refused(void *data, const void *session,
                          const struct permission_resource *resource, const char *source,
                          const char *rule, int code)
{
    struct authority_note refusal = {
        .outcome = AUTHORITY_DENIED, .error = code, .policy_source = source, .policy_rule = rule};

    (void)session;
    (void)resource;
    (void)browser_call_note(data, NULL, &refusal);
}
