/* SPDX-License-Identifier: Apache-2.0 */
/* Files that the browser shows, and what such pages load from beside them. */
#include "files/change.h"

#include <string.h>

#include "base/base64.h"
#include "base/encoding.h"
#include "files/media.h"
#include "files/resources.h"

enum { FILE_BYTES = 8 << 20, AROUND_BYTES = 4 * PATH_MAX + 256, CHARSET_LOOK_BYTES = 1024 };

static int look(const struct tool_call *call, struct err *err)
{
    struct authority_stat about;
    struct err why = ERR_INIT;
    int r = authority_stat(call->box->config.files, tool_name(call, 0), &about, &why);

    if (r < 0)
        return change_refuse(err, r, change_given(call, 0), &why);
    if (about.type == AUTHORITY_DIRECTORY)
        return change_fail(err, ERR_NOT_REGULAR_FILE, change_given(call, 0),
                           "is a directory: name a file in it, like its index.html");
    if (about.size > FILE_BYTES)
        return change_fail(err, ERR_TOO_LARGE, change_given(call, 0),
                           "is too large for a page: at most %d MiB", FILE_BYTES >> 20);
    return 0;
}

/* A document may say it itself. */
static bool names_charset(struct str content)
{
    struct str head = str_slice(content, 0, CHARSET_LOOK_BYTES);

    return str_find(head, STR("charset")) != SIZE_MAX || str_find(head, STR("CHARSET")) != SIZE_MAX;
}

/* The browser uses scripts and styles of the right type only, and shows no others as text. */
static const char *type_of(const struct tool_call *call, struct str content)
{
    const char *type = media_type_of_content(content);

    if (type != NULL)
        return type;
    if (media_has_early_nul(content) && !encoding_has_mark(content))
        return media_type_of_bytes(tool_name(call, 0));
    type = media_type_of_text(tool_name(call, 0));
    if (str_starts_with(str_from(type), STR("text/")) || strcmp(type, "image/svg+xml") == 0 ||
        strcmp(type, "application/json") == 0 || strcmp(type, "application/xml") == 0)
        return type;
    return "text/plain";
}

static int write_content(const struct tool_call *call, struct str content, struct buf *out)
{
    const char *type = type_of(call, content);
    bool is_told = !str_starts_with(str_from(type), STR("text/")) || names_charset(content);
    int r = buf_reserve(out, content.len / 3 * 4 + 4 + AROUND_BYTES);

    if (r == 0)
        r = buf_append_str(out,
                           STR("{\"content\":[{\"type\":\"resource\",\"resource\":{\"uri\":\""));
    if (r == 0)
        r = resource_append_uri(call->box, tool_name(call, 0), out);
    if (r == 0)
        r = buf_printf(out, "\",\"mimeType\":\"%s%s\",\"blob\":\"", type,
                       is_told ? "" : "; charset=utf-8");
    if (r == 0)
        r = base64_append(out, content);
    return r == 0 ? buf_append_str(out, STR("\"}}]}")) : r;
}

int tool_load_page_file(struct tool_call *call, struct buf *out, struct err *err)
{
    cleanup_buf struct buf content = BUF_INIT(FILE_BYTES + 1);
    bool only_looks = false;
    int r = look(call, err);

    (void)json_get_bool(call->arguments, STR("onlyLook"), &only_looks);
    if (r < 0)
        return r;
    if (only_looks)
        return buf_append_str(out, STR("{}"));
    r = tool_read_up_to(call, FILE_BYTES, &content, err);
    if (r == 0 && content.len > FILE_BYTES) /* it has grown since */
        r = err_set_plain(err, ERR_TOO_LARGE);
    if (r < 0)
        return r;
    r = write_content(call, buf_view(&content), out);
    call->is_whole_result = true;
    return r < 0 ? err_set_plain(err, r) : 0;
}
