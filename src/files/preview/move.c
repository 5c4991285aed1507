/* SPDX-License-Identifier: Apache-2.0 */
/* Previews of move, copy_file, save_download, delete and extract_archive. */
#include "files/preview/internal.h"

enum { SOURCE, DESTINATION };

static const char *kind_of(const struct authority_stat *about)
{
    switch (about->type) {
    case AUTHORITY_DIRECTORY:
        return "the folder ";
    case AUTHORITY_SYMLINK:
        return "the link ";
    case AUTHORITY_FILE:
    case AUTHORITY_OTHER:
        break;
    }
    return "";
}

/* " to b, replacing b (3.4 KB)" */
static void say_destination(struct preview *preview)
{
    const struct tool_call *call = preview->call;
    struct authority_stat about;

    preview_say(preview, " to ");
    preview_say_name(preview, DESTINATION);
    if (authority_stat(call->box->config.files, tool_name(call, DESTINATION), &about, NULL) < 0)
        return;
    preview_say(preview, ", replacing ");
    if (about.type == AUTHORITY_DIRECTORY) {
        preview_say(preview, "the existing empty folder");
        return;
    }
    preview_say_name(preview, DESTINATION);
    if (about.type == AUTHORITY_FILE) {
        preview_say_size(preview, about.size);
    }
}

/* Both ends of a checked move or copy. */
static int say_way(struct preview *preview, const char *verb, struct err *err)
{
    const struct tool_call *call = preview->call;
    struct authority_stat about;
    struct err why = ERR_INIT;
    int r;

    if (str_eq(tool_name(call, SOURCE), tool_name(call, DESTINATION))) {
        preview_say(preview, "Changes nothing, source and destination are the same: ");
        preview_say_name(preview, SOURCE);
        return preview_show_arguments(preview);
    }
    r = authority_stat(call->box->config.files, tool_name(call, SOURCE), &about, &why);
    if (r < 0)
        return change_refuse(err, r, change_given(call, SOURCE), &why);
    preview_say(preview, "%s %s", verb, kind_of(&about));
    preview_say_name(preview, SOURCE);
    if (about.type == AUTHORITY_DIRECTORY)
        preview_say(preview, " with everything in it");
    say_destination(preview);
    return preview_show_arguments(preview);
}

int preview_move(struct preview *preview, struct err *err)
{
    int r = change_check_move(preview->call, err);

    return r < 0 ? r : say_way(preview, "Moves", err);
}

int preview_copy_file(struct preview *preview, struct err *err)
{
    int r = change_check_copy(preview->call, err);

    return r < 0 ? r : say_way(preview, "Copies", err);
}

int preview_save_download(struct preview *preview, struct err *err)
{
    const struct tool_call *call = preview->call;
    struct authority_stat about;
    int r = change_check_download(call, err);

    if (r < 0)
        return r;
    preview_say(preview, "Saves a download of the browser");
    if (authority_stat(call->box->config.downloads, change_text(call, STR("downloadId")), &about,
                       NULL) == 0)
        preview_say_size(preview, about.size);
    preview_say(preview, " as ");
    preview_say_name(preview, 0);
    if (authority_stat(call->box->config.files, tool_name(call, 0), &about, NULL) == 0)
        preview_say(preview, ", replacing the existing file");
    return preview_show_arguments(preview);
}

static int count_entry(void *data, const struct authority_entry *entry)
{
    (void)entry;
    ++*(uint64_t *)data;
    return 0;
}

static int say_entries(struct preview *preview)
{
    const struct tool_call *call = preview->call;
    const struct authority_walk_options options = {.max_entries = PREVIEW_MAX_ENTRIES + 1,
                                                   .cancel = call->cancel};
    char count[PREVIEW_NUMBER_BYTES];
    uint64_t entries = 0;
    int r = authority_walk(call->box->config.files, tool_name(call, 0), &options, count_entry,
                           &entries, NULL);

    if (preview_is_over(r))
        return r;
    if (entries > PREVIEW_MAX_ENTRIES)
        preview_say(preview, " (more than %s entries)", preview_count(PREVIEW_MAX_ENTRIES, count));
    else if (r == 0)
        preview_say(preview, " (%s %s)", preview_count(entries, count),
                    entries == 1 ? "entry" : "entries");
    return 0;
}

int preview_delete(struct preview *preview, struct err *err)
{
    const struct tool_call *call = preview->call;
    struct authority_stat about;
    struct err why = ERR_INIT;
    int r;

    if (call->resources[0].is_root)
        return err_set_plain(err, ERR_ROOT_PROTECTED);
    r = authority_stat(call->box->config.files, tool_name(call, 0), &about, &why);
    if (r < 0)
        return change_refuse(err, r, change_given(call, 0), &why);
    preview_say(preview, "Deletes %s", kind_of(&about));
    preview_say_name(preview, 0);
    if (about.type == AUTHORITY_DIRECTORY) {
        preview_say(preview, " with everything in it");
        r = say_entries(preview);
    } else if (about.type == AUTHORITY_FILE) {
        preview_say_size(preview, about.size);
    }
    return r < 0 ? r : preview_show_arguments(preview);
}

int preview_extract_archive(struct preview *preview, struct err *err)
{
    int r = change_check_extract(preview->call, err);

    if (r < 0)
        return r;
    preview_say(preview, "Unpacks ");
    preview_say_name(preview, SOURCE);
    preview_say_seen(preview, SOURCE);
    preview_say(preview, " into the folder ");
    preview_say_name(preview, DESTINATION);
    return preview_show_arguments(preview);
}
