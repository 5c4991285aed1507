/* SPDX-License-Identifier: Apache-2.0 */
/* What the tools share: arguments, words, results. */
#include "files/tool.h"

#include <stdio.h>

#include "base/utf8.h"
#include "protocol/toolresult.h"

int64_t tool_int(const struct tool_call *call, struct str key, int64_t fallback)
{
    int64_t number = fallback;

    (void)json_get_whole(call->arguments, key, &number);
    return number;
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

int tool_write_result(struct buf *out, struct str text, struct str structured, bool is_error)
{
    return toolresult_write(out, text, structured, is_error);
}

int tool_write_error(const struct err *err, struct buf *out)
{
    return toolresult_write_error(err, out);
}
