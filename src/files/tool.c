/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the tools: arguments, messages, results. */
#include "files/tool.h"

#include <stdio.h>

#include "base/utf8.h"

int64_t tool_int(const struct tool_call *call, struct str key, int64_t fallback)
{
    int64_t number = fallback;

    (void)json_get_whole(call->arguments, key, &number);
    return number;
}

size_t tool_max_results(const struct tool_call *call, size_t fallback, size_t most)
{
    int64_t number = tool_int(call, STR("maxResults"), 0);

    return number < 1 ? fallback : (uint64_t)number > most ? most : (size_t)number;
}

void tool_report(const struct tool_call *call, uint64_t done, uint64_t total, const char *what)
{
    if (call->progress != NULL)
        call->progress(call->progress_data, done, total, what);
}

const char *tool_show(struct str name, char out_text[TOOL_SHOWN_BYTES])
{
    const size_t ellipsis = sizeof("…");
    struct str shown = utf8_cut(name, TOOL_SHOWN_BYTES - ellipsis);

    snprintf(out_text, TOOL_SHOWN_BYTES, "%.*s%s", STR_ARG(shown), shown.len < name.len ? "…" : "");
    return out_text;
}

static int note_entry(void *data, const struct authority_entry *entry)
{
    (void)entry;
    *(bool *)data = true;
    return 0;
}

bool tool_has_entries(struct authority_scope *files, struct str directory)
{
    static const struct authority_list_options one = {.max_entries = 1};
    bool has_any = false;

    return authority_list(files, directory, &one, note_entry, &has_any, NULL) == 0 && has_any;
}
