/* SPDX-License-Identifier: Apache-2.0 */
#include "files/preview/preview.h"

#include <stdarg.h>

#include "authority/names/path.h"
#include "authority/names/sensitive.h"
#include "base/utf8.h"
#include "files/consent.h"
#include "files/preview/internal.h"
#include "protocol/toolids.h"

enum {
    DETAIL_NOTE_BYTES = 8 << 10, /* on top of the lines: what was left out, or why */
    NAME_END_BYTES = 100,        /* of a long name, at each end */
};

/* ---- words ---- */

void preview_say(struct preview *preview, const char *format, ...)
{
    va_list args;
    int r;

    va_start(args, format);
    r = buf_vprintf(&preview->out->action, format, args);
    va_end(args);
    if (preview->error == 0)
        preview->error = r;
}

static void say_harmless(struct preview *preview, struct str text)
{
    int r = preview_add_harmless(&preview->out->action, text);

    if (preview->error == 0)
        preview->error = r;
}

/* Cuts a long name in its middle: its end matters most. */
static void say_text(struct preview *preview, struct str name)
{
    struct str tail;

    if (name.len <= 2 * NAME_END_BYTES) {
        say_harmless(preview, name);
        return;
    }
    tail = str_slice(name, name.len - NAME_END_BYTES, NAME_END_BYTES);
    while (tail.len > 0 && ((unsigned char)tail.ptr[0] & 0xC0) == 0x80)
        tail = str_slice(tail, 1, tail.len);
    say_harmless(preview, utf8_cut(name, NAME_END_BYTES));
    preview_say(preview, "…");
    say_harmless(preview, tail);
}

void preview_say_name(struct preview *preview, size_t index)
{
    const struct tool_resource *resource = &preview->call->resources[index];
    __attribute__((uninitialized)) struct path_name name;

    if (resource->resolved.len == 0) {
        preview_say(preview, "the root folder");
        return;
    }
    say_text(preview, resource->given);
    if (preview->only_names)
        return;
    if (tool_given_name(preview->call->box, resource->given, &name) < 0 ||
        !str_eq(path_view(&name), resource->resolved)) {
        preview_say(preview, " → ");
        say_text(preview, resource->resolved);
    }
}

void preview_say_size(struct preview *preview, uint64_t bytes)
{
    char size[PREVIEW_NUMBER_BYTES];

    preview_say(preview, " (%s)", preview_size(bytes, size));
}

void preview_say_seen(struct preview *preview, size_t index)
{
    const struct authority_stat *about = &preview->call->resources[index].about;

    if (!preview->only_names && about->inode != 0 && about->type == AUTHORITY_FILE)
        preview_say_size(preview, about->size);
}

void preview_say_content(struct preview *preview, struct str text)
{
    uint64_t lines = preview_line_count(text);
    char count[PREVIEW_NUMBER_BYTES];
    char size[PREVIEW_NUMBER_BYTES];

    preview_say(preview, "%s line%s, %s", preview_count(lines, count), lines == 1 ? "" : "s",
                preview_size(text.len, size));
}

/* ---- details ---- */

int preview_note(struct preview *preview, const char *words)
{
    return preview_add_lines(&preview->out->detail, str_from(words));
}

int preview_show_arguments(struct preview *preview)
{
    return preview_add_arguments(&preview->out->detail, preview->call->arguments);
}

/* ---- looking only ---- */

/* The reason why it is asked about, where reading is allowed otherwise. */
static bool reads_secrets(const struct preview *preview)
{
    const struct permission_resource *resources;
    struct tool_call *call = preview->call;
    size_t count;

    /* Where a name leads is not for everybody. */
    for (size_t i = 0; i < call->resource_count && preview->only_names; i++)
        if (tool_is_by_path(call->box, call->resources[i].given, sensitive_is_path))
            return true;
    if (preview->only_names || tool_permission_resources(call, &resources, &count, NULL) < 0)
        return false;
    for (size_t i = 0; i < count; i++)
        if (permission_reads_sensitive(resources[i].operation, resources[i].given,
                                       resources[i].resolved))
            return true;
    return false;
}

static int preview_looking(struct preview *preview, struct err *err)
{
    static const char *const verbs[] = {
        [TOOL_GET_FILE_TREE] = "Lists all names below",
        [TOOL_LIST_FILES] = "Lists the entries of",
        [TOOL_READ_FILE] = "Reads",
        [TOOL_SEARCH_FILES] = "Searches the files below",
        [TOOL_STAT_FILE] = "Looks up the details of",
    };

    (void)err;
    preview_say(preview, "%s ", verbs[preview->call->tool->id]);
    preview_say_name(preview, 0);
    preview_say_seen(preview, 0);
    if (preview->call->tool->id == TOOL_READ_FILE && reads_secrets(preview))
        preview_say(preview, ", which usually holds secrets");
    return preview_show_arguments(preview);
}

/* The rest are in the arguments, which are shown. */
static int preview_read_files(struct preview *preview, struct err *err)
{
    (void)err;
    preview_say(preview, "Reads ");
    preview_say_name(preview, 0);
    if (preview->call->resource_count > 1)
        preview_say(preview, " and %zu other file%s", preview->call->resource_count - 1,
                    preview->call->resource_count == 2 ? "" : "s");
    if (reads_secrets(preview))
        preview_say(preview, preview->call->resource_count > 1
                                 ? ", some of which usually hold secrets"
                                 : ", which usually holds secrets");
    return preview_show_arguments(preview);
}

static int preview_list_allowed_directories(struct preview *preview, struct err *err)
{
    (void)err;
    preview_say(preview, "Tells where the root folder is");
    return preview_show_arguments(preview);
}

/* ---- all of them ---- */

static preview_fn *const previews[] = {
    [TOOL_APPEND_FILE] = preview_append_file,
    [TOOL_COPY_FILE] = preview_copy_file,
    [TOOL_CREATE_DIRECTORY] = preview_create_directory,
    [TOOL_DELETE] = preview_delete,
    [TOOL_EDIT_FILE] = preview_edits,
    [TOOL_EDIT_FILES] = preview_edits,
    [TOOL_EXTRACT_ARCHIVE] = preview_extract_archive,
    [TOOL_GET_FILE_TREE] = preview_looking,
    [TOOL_LIST_ALLOWED_DIRECTORIES] = preview_list_allowed_directories,
    [TOOL_LIST_FILES] = preview_looking,
    [TOOL_MOVE] = preview_move,
    [TOOL_READ_FILE] = preview_looking,
    [TOOL_READ_FILES] = preview_read_files,
    [TOOL_SAVE_DOWNLOAD] = preview_save_download,
    [TOOL_SEARCH_FILES] = preview_looking,
    [TOOL_STAT_FILE] = preview_looking,
    [TOOL_UNDO_CHANGES] = preview_undo_changes,
    [TOOL_WRITE_FILE] = preview_write_file,
};

/* For a tool without its own preview: shows its name and arguments. */
static int preview_other(struct preview *preview, struct err *err)
{
    (void)err;
    preview_say(preview, "Runs the tool ");
    say_text(preview, preview->call->tool->name);
    return preview_show_arguments(preview);
}

void tool_preview_init(struct tool_preview *preview)
{
    preview->is_diff = false;
    buf_init(&preview->action, PREVIEW_ACTION_BYTES);
    buf_init(&preview->detail, PREVIEW_MAX_BYTES + DETAIL_NOTE_BYTES);
}

void tool_preview_done(struct tool_preview *preview)
{
    buf_done(&preview->action);
    buf_done(&preview->detail);
}

static void clear(struct tool_preview *out)
{
    buf_clear(&out->action);
    buf_clear(&out->detail);
    out->is_diff = false;
}

static preview_fn *preview_of_tool(const struct catalog_tool *tool)
{
    return tool->id >= 0 && (size_t)tool->id < array_size(previews) && previews[tool->id] != NULL
               ? previews[tool->id]
               : preview_other;
}

/* Tools that only look say nothing of what is there, with only_names. */
static int preview_arguments(struct tool_call *call, struct tool_preview *out, struct err *err)
{
    struct preview preview = {.call = call, .out = out, .only_names = true};
    int r;

    clear(out);
    r = call->tool->group == CATALOG_FILESYSTEM_READ ? preview_of_tool(call->tool)(&preview, err)
                                                     : preview_other(&preview, err);
    if (r == 0)
        r = preview.error;
    return r < 0 ? err_set_plain(err, r) : 0;
}

int tool_preview(struct tool_call *call, const struct cancel *cancel, struct tool_preview *out,
                 struct err *err)
{
    struct preview preview = {.call = call, .out = out, .lines = BUF_INIT(PREVIEW_DIFF_BYTES)};
    struct err why = ERR_INIT;
    int r = cancel_check(cancel);

    clear(out);
    if (call->failure.code != 0) {
        if (err != NULL)
            *err = call->failure;
        return call->failure.code;
    }
    call->cancel = cancel;
    if (r == 0)
        r = preview_of_tool(call->tool)(&preview, &why);
    call->cancel = NULL;
    buf_done(&preview.lines);
    if (r == 0)
        r = preview.error;
    if (r == 0)
        return 0;
    clear(out);
    if (!tool_explain(call, r, &why) && why.code != r)
        return err_set_plain(err, r);
    if (err != NULL)
        *err = why;
    return r;
}

int tool_preview_within(struct tool_call *call, enum decision_disclosure disclosure,
                        const struct cancel *cancel, struct tool_preview *out, struct err *err)
{
    int r;

    if (disclosure == DECISION_DISCLOSES_ALL)
        return tool_preview(call, cancel, out, err);
    r = disclosure == DECISION_DISCLOSES_TO_USER ? tool_preview(call, cancel, out, NULL)
                                                 : ERR_ACCESS_MISSING;
    if (r == 0 || r == ERR_CANCELLED || r == ERR_TIMED_OUT)
        return r < 0 ? err_set_plain(err, r) : 0;
    return preview_arguments(call, out, err);
}
