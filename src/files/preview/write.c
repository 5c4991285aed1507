/* SPDX-License-Identifier: Apache-2.0 */
/* Previews of write_file, append_file, edit_file, edit_files and create_directory. */
#include "files/preview/internal.h"

#include "files/diff.h"
#include "protocol/toolids.h"

enum { NAMED_FILES = 5 }; /* of many, in the sentence */

/* ---- diffs ---- */

/* Adds a diff to the lines; says so if a part cannot be compared. */
static int compare(struct preview *preview, size_t index, struct str before, struct str after)
{
    const struct diff_options options = {.name = change_given(preview->call, index)};
    size_t start = preview->lines.len;
    int r = diff_unified(before, after, &options, &preview->lines);

    if (r != ERR_TOO_LARGE)
        return r;
    preview->lines.len = start;
    return preview_note(preview, "Some of the changes are too large to show.");
}

static int show_diff(struct preview *preview)
{
    if (preview->lines.len == 0)
        return preview->out->detail.len > 0 ? 0
                                            : preview_note(preview, "The content does not change.");
    preview->out->is_diff = true;
    return preview_add_lines(&preview->out->detail, buf_view(&preview->lines));
}

/* ---- writing ---- */

/* The present content of a file; an error is the one that writing would return. */
struct present {
    bool exists;
    bool is_readable; /* as text */
    struct authority_stat about;
    enum encoding encoding; /* of the text */
    struct buf text;
    struct err why_not;
};

static void present_done(struct present *present)
{
    buf_done(&present->text);
}
#define cleanup_present cleanup_with(present_done)

static int look(struct preview *preview, struct present *present, struct err *err)
{
    const struct tool_call *call = preview->call;
    struct change_source source = {.encoding = ENCODING_UTF_8};
    struct err why = ERR_INIT;
    int r;

    if (call->resources[0].is_root)
        return change_refuse_write(call, 0, ERR_ROOT_PROTECTED, &why, err);
    r = authority_stat(call->box->config.files, tool_name(call, 0), &present->about, &why);
    if (r == ERR_NOT_FOUND)
        return 0;
    if (r == 0 && present->about.type != AUTHORITY_FILE)
        r = ERR_NOT_REGULAR_FILE;
    if (r < 0)
        return change_refuse_write(call, 0, r, &why, err);
    present->exists = true;
    buf_init(&present->text, (size_t)call->box->config.max_file_bytes);
    r = change_read(call, 0, &present->text, &source, &present->why_not);
    if (preview_is_over(r))
        return r;
    present->encoding = source.encoding;
    present->is_readable = r == 0;
    return 0;
}

/* Shows the diff; else why there is none, and what would be written. */
static int show_change(struct preview *preview, const struct present *present, struct str after)
{
    int r;

    if (!present->exists || present->is_readable) {
        r = compare(preview, 0, buf_view(&present->text), after);
        return r < 0 ? r : show_diff(preview);
    }
    r = preview_note(preview, "Cannot show the current content:");
    if (r == 0)
        r = preview_note(preview, present->why_not.message);
    return r < 0 ? r : preview_show_arguments(preview);
}

/* A new content is UTF-8, which the texts do not show. */
static int note_encoding(struct preview *preview, const struct present *present)
{
    char words[80];

    if (!present->is_readable || present->encoding == ENCODING_UTF_8)
        return 0;
    snprintf(words, sizeof(words), "The file is %s, and becomes UTF-8.",
             encoding_name(present->encoding));
    return preview_note(preview, words);
}

static void say_present(struct preview *preview, const struct present *present)
{
    preview_say_name(preview, 0);
    if (!present->is_readable || present->encoding != ENCODING_UTF_8) {
        preview_say_size(preview, present->about.size);
        return;
    }
    preview_say(preview, " (");
    preview_say_content(preview, buf_view(&present->text));
    preview_say(preview, ")");
}

static void say_created(struct preview *preview, struct str content)
{
    preview_say(preview, "Creates ");
    preview_say_name(preview, 0);
    preview_say(preview, " (");
    preview_say_content(preview, content);
    preview_say(preview, ")");
}

int preview_write_file(struct preview *preview, struct err *err)
{
    struct str content = change_text(preview->call, STR("content"));
    cleanup_present struct present present = {0};
    int r = change_check_size(preview->call, change_given(preview->call, 0), content.len, err);

    if (r == 0)
        r = look(preview, &present, err);
    if (r < 0)
        return r;
    if (!present.exists) {
        say_created(preview, content);
    } else if (present.is_readable && present.encoding == ENCODING_UTF_8 &&
               str_eq(buf_view(&present.text), content)) {
        preview_say(preview, "Writes the same content again to ");
        say_present(preview, &present);
    } else {
        preview_say(preview, "Replaces ");
        say_present(preview, &present);
        preview_say(preview, " by ");
        preview_say_content(preview, content);
    }
    r = note_encoding(preview, &present);
    if (r < 0)
        return r;
    return show_change(preview, &present, content);
}

int preview_append_file(struct preview *preview, struct err *err)
{
    struct tool_call *call = preview->call;
    struct str content = change_text(call, STR("content"));
    cleanup_appended struct change_appended appended = {.bytes = STR_EMPTY};
    cleanup_present struct present present = {0};
    cleanup_buf struct buf after = BUF_INIT(0);
    int r = look(preview, &present, err);

    if (r == 0)
        r = change_encode_appended(call, &appended, err);
    if (r < 0)
        return r;
    after.max = present.text.max + content.len;
    if (!present.exists) {
        say_created(preview, content);
    } else {
        preview_say(preview, "Appends ");
        preview_say_content(preview, content);
        preview_say(preview, " to ");
        say_present(preview, &present);
    }
    r = buf_append_str(&after, buf_view(&present.text));
    if (r == 0)
        r = buf_append_str(&after, content);
    if (r == ERR_TOO_LARGE) /* it has grown meanwhile */
        return preview_show_arguments(preview);
    return r < 0 ? r : show_change(preview, &present, buf_view(&after));
}

int preview_create_directory(struct preview *preview, struct err *err)
{
    const struct tool_call *call = preview->call;
    struct authority_stat about;
    struct err why = ERR_INIT;
    int r = authority_stat(call->box->config.files, tool_name(call, 0), &about, &why);

    if (r == 0 && about.type != AUTHORITY_DIRECTORY)
        r = ERR_ALREADY_EXISTS;
    if (r < 0 && r != ERR_NOT_FOUND)
        return change_refuse_directory(err, r, change_given(call, 0), &why);
    preview_say(preview,
                r == 0 ? "Changes nothing: the folder already exists: " : "Creates the folder ");
    preview_say_name(preview, 0);
    return preview_show_arguments(preview);
}

/* ---- editing ---- */

static int note_edited(void *data, size_t index, struct str before, struct str after)
{
    struct preview *preview = data;

    if (preview->call->tool->id == TOOL_EDIT_FILE) {
        preview_say_name(preview, index);
        preview_say(preview, " (");
        preview_say_content(preview, before);
        preview_say(preview, ")");
    } else if (preview->files < NAMED_FILES) {
        preview_say(preview, preview->files == 0 ? "" : ", ");
        preview_say_name(preview, index);
    }
    preview->files++;
    return compare(preview, index, before, after);
}

int preview_edits(struct preview *preview, struct err *err)
{
    struct tool_call *call = preview->call;
    char count[PREVIEW_NUMBER_BYTES];
    bool is_dry = false;
    int r;

    (void)json_get_bool(call->arguments, STR("dryRun"), &is_dry);
    preview_say(preview, is_dry ? "Changes nothing, only shows the diff: " : "Edits ");
    r = change_foresee_edits(call, note_edited, preview, err);
    if (r < 0)
        return r;
    if (preview->files > NAMED_FILES)
        preview_say(preview, " and %s more files",
                    preview_count(preview->files - NAMED_FILES, count));
    if (call->tool->id == TOOL_EDIT_FILES)
        preview_say(preview, " (%s passage%s)", preview_count(call->resource_count, count),
                    call->resource_count == 1 ? "" : "s");
    return show_diff(preview);
}
