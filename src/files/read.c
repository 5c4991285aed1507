/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read_file and stat_file. A file within the limit is read whole; of a larger one all bytes are
 * read but only the requested lines kept, so that memory does not grow with the file. Lines end at
 * '\n' only: what follows the last one is a line too, empty or not.
 */
#include "files/tool.h"

#include <inttypes.h>

#include "base/base64.h"
#include "base/checked.h"
#include "base/utf8.h"
#include "files/fileuri.h"
#include "files/media.h"

enum {
    WHOLE_MAX_BYTES = 16 << 20, /* text that is read at once; media may be larger */
    REPORT_BYTES = 1 << 20,     /* between two reports of progress */
    FRAME_BYTES = 512,          /* of a result, beside path and content */
};

/* ---- lines ---- */

/* Sixteen bytes handled together, by whatever vector instructions the processor has. */
typedef uint8_t row __attribute__((vector_size(16)));

/* Number of newlines in `text`; called for whole large files. */
static uint64_t count_line_ends(struct str text)
{
    const row line_end = (row){0} + '\n';
    const char *p = text.ptr;
    size_t left = text.len;
    uint64_t count = 0;

    while (left >= sizeof(row)) {
        /* Each byte of `sums` counts one column, and overflows after 255 rows. */
        size_t rows = left / sizeof(row) < 255 ? left / sizeof(row) : 255;
        row sums = {0};

        for (size_t i = 0; i < rows; i++, p += sizeof(row)) {
            row bytes;

            memcpy(&bytes, p, sizeof(bytes));
            sums -= (row)(bytes == line_end); /* equal is all ones, or -1 */
        }
        for (size_t i = 0; i < sizeof(row); i++)
            count += sums[i];
        left -= rows * sizeof(row);
    }
    for (; left > 0; left--)
        count += *p++ == '\n';
    return count;
}

/* Advances in `text` from `at` until *line, the present line, is `until`, or to the end. */
static size_t skip_lines(struct str text, size_t at, uint64_t *line, uint64_t until)
{
    while (*line < until && at < text.len) {
        const char *end = memchr(text.ptr + at, '\n', text.len - at);

        if (end == NULL)
            return text.len;
        at = (size_t)(end - text.ptr) + 1;
        ++*line;
    }
    return at;
}

/* The requested lines, and the result. */
struct window {
    const struct tool_call *call;
    uint64_t first; /* from 1 */
    uint64_t end;   /* the line behind the last one wanted */
    struct str content;
    uint64_t next;  /* where it goes on; 0: nowhere */
    uint64_t total; /* lines of the file */
    bool is_cut;    /* the first line alone is over the limit */
    /* Of a file over the limit: */
    struct authority_stat about;
    uint64_t seen; /* bytes */
    uint64_t line; /* that the next byte belongs to */
    size_t max_bytes;
    bool is_full;
    struct buf kept;
    uint64_t reported;
};

static void window_init(struct window *window, const struct tool_call *call)
{
    uint64_t most = call->box->config.max_lines;
    int64_t first = tool_int(call, STR("startLine"), 1);
    int64_t count = tool_int(call, STR("maxLines"),
                             most < TOOLBOX_DEFAULT_LINES ? (int64_t)most : TOOLBOX_DEFAULT_LINES);

    *window = (struct window){.call = call, .content = STR_EMPTY, .line = 1};
    window->first = first < 1 ? 1 : (uint64_t)first;
    window->end = window->first + (count < 1 ? 1 : (uint64_t)count > most ? most : (uint64_t)count);
}

/* For a whole file in memory: the content is a view of it. */
static void window_of_text(struct window *window, struct str text)
{
    uint64_t line = 1;
    size_t from;
    size_t to;

    window->total = count_line_ends(text) + 1;
    if (window->total < window->first)
        return;
    from = skip_lines(text, 0, &line, window->first);
    /* Most files are asked for to their end, and counting is faster than looking for lines. */
    if (window->total < window->end) {
        window->content = str_slice(text, from, text.len);
        return;
    }
    to = skip_lines(text, from, &line, window->end);
    window->content = str_slice(text, from, to - from - 1);
    window->next = window->end;
}

/* ---- files over the limit ---- */

static int keep(struct window *window, struct str lines)
{
    size_t room = window->max_bytes - window->kept.len;

    window->is_full = lines.len > room;
    return buf_append_str(&window->kept, str_slice(lines, 0, room));
}

static int take_piece(void *data, struct str piece)
{
    struct window *window = data;
    size_t from;
    size_t to;

    if (window->seen == 0 && (media_has_early_nul(piece) || media_type_of_content(piece) != NULL))
        return ERR_INVALID_UTF8;
    window->seen += piece.len;
    if (window->seen - window->reported >= REPORT_BYTES) {
        window->reported = window->seen;
        tool_report(window->call, window->seen, window->about.size, "reading");
    }
    from = skip_lines(piece, 0, &window->line, window->first);
    to = from;
    if (window->line >= window->first && window->line < window->end) {
        to = skip_lines(piece, from, &window->line, window->end);
        if (!window->is_full) {
            int r = keep(window, str_slice(piece, from, to - from));

            if (r < 0)
                return r;
        }
    }
    window->line += count_line_ends(str_slice(piece, to, piece.len));
    return 0;
}

/* At the end: what was kept becomes the content, in whole lines if possible. */
static void window_finish(struct window *window)
{
    struct str kept = buf_view(&window->kept);
    const char *last_end = memrchr(kept.ptr, '\n', kept.len);

    window->total = window->line;
    window->content = kept;
    if (!window->is_full) {
        /* With the line end of the last one wanted, as something follows it. */
        if (window->line < window->end)
            return;
        window->content.len--;
        window->next = window->end;
    } else if (last_end != NULL) {
        window->content.len = (size_t)(last_end - kept.ptr);
        window->next = window->first + count_line_ends(window->content) + 1;
    } else {
        window->is_cut = true;
        window->content = utf8_cut(kept, kept.len - 1); /* the last character may be cut */
        window->next = window->total > window->first ? window->first + 1 : 0;
    }
}

/* ---- words ---- */

static int refuse_binary(const struct tool_call *call, uint64_t size, struct err *err)
{
    char name[TOOL_SHOWN_BYTES];

    return err_set(err, ERR_INVALID_UTF8,
                   "%s is a binary file (%" PRIu64
                   " bytes); only text, PNG, JPEG, GIF, WebP and PDF can be read",
                   tool_show(call->resources[0].given, name), size);
}

static int refuse_large_media(const struct tool_call *call, const char *type, struct err *err)
{
    char name[TOOL_SHOWN_BYTES];
    struct authority_stat about;
    int r = authority_stat(call->box->config.files, tool_name(call, 0), &about, err);

    if (r < 0)
        return r;
    return err_set(err, ERR_TOO_LARGE,
                   "%s (%s) has %" PRIu64 " bytes; the limit is %" PRIu64 " bytes",
                   tool_show(call->resources[0].given, name), type, about.size,
                   call->box->config.max_file_bytes);
}

/* ---- results ---- */

static int write_window(const struct window *window, struct buf *out)
{
    struct str given = window->call->resources[0].given;
    size_t room = window->content.len + window->content.len / 8 + given.len + FRAME_BYTES;
    struct json_writer w;
    int r = buf_reserve(out, room <= out->max - out->len ? room : out->max - out->len);

    if (r < 0)
        return r;
    json_writer_init(&w, out);
    json_begin_object(&w);
    json_put_str(&w, STR("path"), given);
    json_put_str(&w, STR("content"), window->content);
    json_put_bool(&w, STR("truncated"), window->next != 0 || window->is_cut);
    json_put_int(&w, STR("totalLines"), (int64_t)window->total);
    if (window->first != 1)
        json_put_int(&w, STR("startLine"), (int64_t)window->first);
    if (window->next != 0)
        json_put_int(&w, STR("nextStartLine"), (int64_t)window->next);
    if (window->about.size > 0)
        json_put_int(&w, STR("totalBytes"), (int64_t)window->about.size);
    if (window->is_cut) {
        char note[ERR_MESSAGE_BYTES];

        snprintf(note, sizeof(note), "line %" PRIu64 " is longer than %zu bytes and was truncated",
                 window->first, window->max_bytes);
        json_put_str(&w, STR("note"), str_from(note));
    }
    json_end_object(&w);
    return json_writer_finish(&w);
}

/* {path, mimeType, sizeBytes} */
static int write_about(struct str path, const char *type, size_t size, struct buf *out)
{
    struct json_writer w;

    json_writer_init(&w, out);
    json_begin_object(&w);
    json_put_str(&w, STR("path"), path);
    json_put_str(&w, STR("mimeType"), str_from(type));
    json_put_int(&w, STR("sizeBytes"), (int64_t)size);
    json_end_object(&w);
    return json_writer_finish(&w);
}

static int append_json_str(struct buf *out, struct str text)
{
    struct json_writer w;

    json_writer_init(&w, out);
    json_write_str(&w, text);
    return json_writer_finish(&w);
}

/* Writes the whole result itself, so that the encoded bytes are written once and in place. */
static int write_media(struct tool_call *call, const char *type, struct str bytes, struct buf *out)
{
    const struct toolbox_config *config = &call->box->config;
    cleanup_buf struct buf about = BUF_INIT(out->max);
    bool is_image = media_is_image(type);
    size_t room;
    int r = write_about(call->resources[0].given, type, bytes.len, &about);

    if (r < 0)
        return r;
    if (!checked_add(bytes.len / 3 * 4 + 4, 4 * about.len + 4 * (size_t)PATH_MAX, &room))
        return ERR_TOO_LARGE;
    r = buf_reserve(out, room <= out->max - out->len ? room : out->max - out->len);
    if (r == 0 && is_image) {
        r = buf_append_str(out, STR("{\"content\":[{\"type\":\"image\",\"data\":\""));
        if (r == 0)
            r = base64_append(out, bytes);
        if (r == 0)
            r = buf_printf(out, "\",\"mimeType\":\"%s\"}", type);
    } else if (r == 0) {
        r = buf_append_str(out,
                           STR("{\"content\":[{\"type\":\"resource\",\"resource\":{\"uri\":\""));
        if (r == 0)
            r = fileuri_append(out, str_from(config->root_path), tool_name(call, 0));
        if (r == 0)
            r = buf_printf(out, "\",\"mimeType\":\"%s\",\"blob\":\"", type);
        if (r == 0)
            r = base64_append(out, bytes);
        if (r == 0)
            r = buf_append_str(out, STR("\"}}"));
    }
    if (r == 0)
        r = buf_append_str(out, STR(",{\"type\":\"text\",\"text\":"));
    if (r == 0)
        r = append_json_str(out, buf_view(&about));
    if (r == 0)
        r = buf_append_str(out, STR("}],\"structuredContent\":"));
    if (r == 0)
        r = buf_append_str(out, buf_view(&about));
    if (r == 0)
        r = buf_append_char(out, '}');
    call->is_whole_result = true;
    return r;
}

/* ---- the tools ---- */

/* Reads up to `limit` bytes, and one more to detect that there are more. */
static int read_up_to(const struct tool_call *call, uint64_t limit, struct buf *out,
                      struct err *err)
{
    const struct authority_read_options options = {.max_bytes = limit + 1, .cancel = call->cancel};

    buf_clear(out);
    out->max = limit < SIZE_MAX / 2 ? (size_t)limit + 1 : SIZE_MAX / 2;
    return authority_read_bytes(call->box->config.files, tool_name(call, 0), &options, out, err);
}

static int read_large(struct tool_call *call, struct buf *out, struct err *err)
{
    const struct authority_read_options options = {.cancel = call->cancel};
    uint64_t most = call->box->config.max_file_bytes;
    struct window window;
    int r;

    window_init(&window, call);
    window.max_bytes = most < SIZE_MAX / 2 ? (size_t)most : SIZE_MAX / 2;
    buf_init(&window.kept, window.max_bytes);
    r = authority_read_pieces(call->box->config.files, tool_name(call, 0), &options, &window.about,
                              take_piece, &window, err);
    if (r == 0) {
        window_finish(&window);
        r = write_window(&window, out);
    }
    if (r == ERR_INVALID_UTF8)
        r = refuse_binary(call, window.about.size, err);
    buf_done(&window.kept);
    return r;
}

int tool_read_file(struct tool_call *call, struct buf *out, struct err *err)
{
    uint64_t most = call->box->config.max_file_bytes;
    uint64_t limit = most < WHOLE_MAX_BYTES ? most : WHOLE_MAX_BYTES;
    cleanup_buf struct buf text = BUF_INIT(0);
    struct window window;
    const char *type;
    int r = read_up_to(call, limit, &text, err);

    if (r < 0)
        return r;
    type = media_type_of_content(buf_view(&text));
    if (type != NULL) {
        if (text.len > limit && limit < most)
            r = read_up_to(call, most, &text, err);
        if (r < 0)
            return r;
        return text.len > most ? refuse_large_media(call, type, err)
                               : write_media(call, type, buf_view(&text), out);
    }
    if (text.len > limit) {
        buf_done(&text);
        return read_large(call, out, err);
    }
    if (media_has_early_nul(buf_view(&text)))
        return refuse_binary(call, text.len, err);
    window_init(&window, call);
    window_of_text(&window, buf_view(&text));
    r = write_window(&window, out);
    return r == ERR_INVALID_UTF8 ? refuse_binary(call, text.len, err) : r;
}

static const char *type_name(enum authority_type type)
{
    switch (type) {
    case AUTHORITY_FILE:
        return "file";
    case AUTHORITY_DIRECTORY:
        return "directory";
    case AUTHORITY_SYMLINK:
        return "symlink";
    case AUTHORITY_OTHER:
        break;
    }
    return "other";
}

/* By its first bytes; false if the file may not be read. */
static bool look_inside(const struct tool_call *call, bool *out_is_binary)
{
    const struct authority_read_options options = {.max_bytes = MEDIA_HEAD_BYTES,
                                                   .cancel = call->cancel};
    cleanup_buf struct buf head = BUF_INIT(MEDIA_HEAD_BYTES);
    struct str text;

    if (authority_read_bytes(call->box->config.files, tool_name(call, 0), &options, &head, NULL) <
        0)
        return false;
    text = buf_view(&head);
    if (text.len == MEDIA_HEAD_BYTES)
        text = utf8_cut(text, text.len - 1); /* the last character may be cut */
    *out_is_binary = media_has_early_nul(text) || !utf8_is_valid(text);
    return true;
}

int tool_stat_file(struct tool_call *call, struct buf *out, struct err *err)
{
    char time[CLOCK_ISO_BYTES];
    char mode[8];
    struct authority_stat about;
    struct json_writer w;
    bool is_binary;
    int r = authority_stat(call->box->config.files, tool_name(call, 0), &about, err);

    if (r < 0)
        return r;
    clock_format_iso(about.modified_ms, time);
    snprintf(mode, sizeof(mode), "%04o", about.mode & 07777);
    json_writer_init(&w, out);
    json_begin_object(&w);
    json_put_str(&w, STR("path"), call->resources[0].given);
    json_put_str(&w, STR("type"), str_from(type_name(about.type)));
    json_put_int(&w, STR("sizeBytes"), (int64_t)about.size);
    json_put_str(&w, STR("modifiedAt"), str_from(time));
    json_put_str(&w, STR("mode"), str_from(mode));
    if (about.type == AUTHORITY_FILE && look_inside(call, &is_binary))
        json_put_bool(&w, STR("isBinary"), is_binary);
    json_end_object(&w);
    return json_writer_finish(&w);
}
