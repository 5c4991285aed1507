/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read_file, read_files, stat_file and list_allowed_directories. A file within the limit is read
 * whole; of a larger one all bytes are read but only the requested lines kept, so that memory does
 * not grow with the file. Lines end at
 * '\n' only: what follows the last one is a line too, empty or not.
 */
#include "files/tool.h"

#include <inttypes.h>

#include "authority/names/path.h"
#include "base/encoding.h"
#include "base/utf8.h"
#include "files/clientroots.h"
#include "files/media.h"

enum {
    WHOLE_MAX_BYTES = 16 << 20, /* text that is read at once; media may be larger */
    REPORT_BYTES = 1 << 20,     /* between two reports of progress */
    FRAME_BYTES = 512,          /* of a result, beside path and content */
    DECODED_BYTES = 3 * WHOLE_MAX_BYTES,
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
    struct tool_call *call;
    uint64_t first;  /* from 1 */
    uint64_t count;  /* of lines wanted */
    uint64_t end;    /* the line behind the last one wanted */
    uint64_t tail;   /* instead of first: this many lines from the end; 0: no */
    uint64_t column; /* bytes of the first line that are left out */
    struct str content;
    uint64_t next;  /* where it goes on; 0: nowhere */
    uint64_t total; /* lines of the file */
    bool is_cut;    /* the first line alone is over the limit */
    enum encoding encoding;
    /* Of a file over the limit: */
    struct decoder decoder;
    bool ends_line;   /* the last byte so far is a line end */
    uint64_t to_skip; /* what is left of `column` */
    struct authority_stat about;
    uint64_t seen; /* bytes */
    uint64_t line; /* that the next byte belongs to */
    size_t max_bytes;
    bool is_full;
    struct buf kept;
    struct buf decoded; /* the present piece, if it is not UTF-8 */
    uint64_t reported;
};

static void window_init(struct window *window, struct tool_call *call)
{
    uint64_t most = call->box->config.max_lines;
    int64_t first = tool_int(call, STR("startLine"), 1);
    int64_t count = tool_int(call, STR("maxLines"),
                             most < TOOLBOX_DEFAULT_LINES ? (int64_t)most : TOOLBOX_DEFAULT_LINES);

    int64_t end = tool_int(call, STR("endLine"), 0);
    int64_t tail = tool_int(call, STR("tail"), 0);
    int64_t column = tool_int(call, STR("startColumn"), 1);

    *window = (struct window){.call = call, .content = STR_EMPTY, .line = 1};
    window->encoding = ENCODING_UTF_8;
    window->first = first < 1 ? 1 : (uint64_t)first;
    if (end > 0)
        count = end < INT64_MAX - 1 ? end - (int64_t)window->first + 1 : INT64_MAX;
    window->count = count < 1 ? 1 : (uint64_t)count > most ? most : (uint64_t)count;
    window->tail = tail < 1 ? 0 : (uint64_t)tail > most ? most : (uint64_t)tail;
    window->column = column < 1 ? 0 : (uint64_t)column - 1;
    window->end = window->first + window->count;
}

/* What follows the last line end is no line for `tail`, if it is empty. */
static void window_to_tail(struct window *window, uint64_t total, bool ends_line)
{
    uint64_t last = ends_line && total > 1 ? total - 1 : total;

    window->first = last > window->tail ? last - window->tail + 1 : 1;
    window->end = total + 1;
    window->column = 0;
}

/* Where a client's column falls into a character, the content begins with the next one. */
static struct str without_columns(struct str line, uint64_t columns)
{
    size_t from = columns < line.len ? (size_t)columns : line.len;

    while (from < line.len && ((unsigned char)line.ptr[from] & 0xC0) == 0x80)
        from++;
    return str_slice(line, from, line.len);
}

/* For a whole file in memory: the content is a view of it. */
static void window_of_text(struct window *window, struct str text)
{
    uint64_t line = 1;
    size_t from;
    size_t to;

    window->total = count_line_ends(text) + 1;
    if (window->tail > 0)
        window_to_tail(window, window->total, str_ends_with(text, STR("\n")));
    if (window->total < window->first)
        return;
    from = skip_lines(text, 0, &line, window->first);
    if (window->column > 0) {
        struct str rest = str_slice(text, from, text.len);
        struct str whole;

        (void)str_cut(&rest, '\n', &whole);
        from += whole.len - without_columns(whole, window->column).len;
    }
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

/* The columns to leave out are those of the first line wanted, which this is a part of. */
static struct str skip_columns(struct window *window, struct str part)
{
    const char *end = memchr(part.ptr, '\n', part.len);
    size_t line_len = end != NULL ? (size_t)(end - part.ptr) : part.len;
    size_t len = window->to_skip < line_len ? (size_t)window->to_skip : line_len;

    window->to_skip = end != NULL ? 0 : window->to_skip - len;
    return str_slice(part, len, part.len);
}

static int take_text(struct window *window, struct str text)
{
    size_t from = skip_lines(text, 0, &window->line, window->first);
    size_t to = from;
    int r = 0;

    if (text.len > 0)
        window->ends_line = text.ptr[text.len - 1] == '\n';
    if (window->line >= window->first && window->line < window->end) {
        struct str part;

        to = skip_lines(text, from, &window->line, window->end);
        part = str_slice(text, from, to - from);
        if (window->to_skip > 0 && part.len > 0)
            part = skip_columns(window, part);
        if (!window->is_full)
            r = keep(window, part);
    }
    window->line += count_line_ends(str_slice(text, to, text.len));
    return r;
}

static int take_piece(void *data, struct str piece)
{
    struct window *window = data;
    int r;

    if (window->seen == 0) {
        enum encoding guess = encoding_guess(piece, false);

        if (guess == ENCODING_BINARY || media_type_of_content(piece) != NULL)
            return ERR_INVALID_UTF8;
        if (guess != ENCODING_UTF_8)
            window->encoding = guess;
        window->decoder = (struct decoder){.encoding = window->encoding};
    }
    window->seen += piece.len;
    if (window->seen - window->reported >= REPORT_BYTES) {
        window->reported = window->seen;
        tool_report(window->call, window->seen, window->about.size, "reading");
    }
    if (window->encoding == ENCODING_UTF_8)
        return take_text(window, piece);
    buf_clear(&window->decoded);
    r = encoding_decode(&window->decoder, piece, &window->decoded);
    return r == 0 ? take_text(window, buf_view(&window->decoded)) : r;
}

/* At the end: what was kept becomes the content, in whole lines if possible. */
static void window_finish(struct window *window)
{
    struct str kept = buf_view(&window->kept);
    const char *last_end;

    if (window->column > 0) {
        struct str whole = without_columns(kept, 0);

        window->column += kept.len - whole.len;
        kept = whole;
    }
    last_end = memrchr(kept.ptr, '\n', kept.len);
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

/* ---- results ---- */

/* There is nothing that a model has to be told beside the content. */
static bool tells_only_content(const struct window *window)
{
    return window->content.len > 0 && window->next == 0 && !window->is_cut && window->first == 1 &&
           window->encoding == ENCODING_UTF_8 && window->about.size == 0;
}

/* With numbers, as `cat -n` shows them, where that was asked for. */
static int write_lines(struct json_writer *w, const struct window *window, size_t max_bytes)
{
    cleanup_buf struct buf numbered = BUF_INIT(max_bytes);
    struct str rest = window->content;
    uint64_t number = window->first;
    bool with_numbers = false;
    struct str line;
    size_t from;
    int r = 0;

    (void)json_get_bool(window->call->arguments, STR("lineNumbers"), &with_numbers);
    with_numbers = with_numbers && window->total >= window->first;
    while (with_numbers && r == 0 && str_cut(&rest, '\n', &line)) {
        if (numbered.len > 0)
            r = buf_append_char(&numbered, '\n');
        if (r == 0)
            r = buf_printf(&numbered, "%6" PRIu64 "\t", number++);
        if (r == 0)
            r = buf_append_str(&numbered, line);
    }
    json_key(w, STR("content"));
    from = json_writer_length(w);
    json_write_str(w, with_numbers ? buf_view(&numbered) : window->content);
    window->call->told =
        (struct tool_told){from, tells_only_content(window) ? json_writer_length(w) - from : 0};
    return r;
}

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
    r = write_lines(&w, window, out->max);
    if (r < 0)
        return r;
    json_put_bool(&w, STR("truncated"), window->next != 0 || window->is_cut);
    json_put_int(&w, STR("totalLines"), (int64_t)window->total);
    if (window->first != 1)
        json_put_int(&w, STR("startLine"), (int64_t)window->first);
    if (window->next != 0)
        json_put_int(&w, STR("nextStartLine"), (int64_t)window->next);
    if (window->encoding != ENCODING_UTF_8)
        json_put_str(&w, STR("encoding"), str_from(encoding_name(window->encoding)));
    if (window->about.size > 0)
        json_put_int(&w, STR("totalBytes"), (int64_t)window->about.size);
    if (window->is_cut) {
        char note[ERR_MESSAGE_BYTES];

        uint64_t next = window->column + window->content.len + 1;

        snprintf(note, sizeof(note),
                 "line %" PRIu64 " is longer than %zu bytes and was truncated; to read on in it, "
                 "use startLine %" PRIu64 " and startColumn %" PRIu64,
                 window->first, window->max_bytes, window->first, next);
        json_put_int(&w, STR("nextStartColumn"), (int64_t)next);
        json_put_str(&w, STR("note"), str_from(note));
    }
    json_end_object(&w);
    return json_writer_finish(&w);
}

/* ---- the tools ---- */

static int read_pass(struct window *window, struct err *err)
{
    const struct tool_call *call = window->call;
    const struct authority_read_options options = {.cancel = call->cancel};

    window->line = 1;
    window->seen = 0;
    window->reported = 0;
    window->to_skip = window->column;
    return authority_read_pieces(call->box->config.files, tool_name(call, 0), &options,
                                 &window->about, take_piece, window, err);
}

/* `assumed` is the encoding of what looks like UTF-8 at its beginning. */
static int read_large(struct tool_call *call, enum encoding assumed, struct buf *out,
                      struct err *err)
{
    uint64_t most = call->box->config.max_file_bytes;
    size_t before = out->len;
    struct window window;
    int r = 0;

    window_init(&window, call);
    window.encoding = assumed;
    window.max_bytes = most < SIZE_MAX / 2 ? (size_t)most : SIZE_MAX / 2;
    buf_init(&window.kept, window.max_bytes);
    buf_init(&window.decoded, DECODED_BYTES);
    if (window.tail > 0) {
        window.first = UINT64_MAX; /* only counts */
        r = read_pass(&window, err);
        window_to_tail(&window, window.line, window.ends_line);
    }
    if (r == 0)
        r = read_pass(&window, err);
    if (r == 0) {
        window_finish(&window);
        r = write_window(&window, out);
    }
    if (r == ERR_INVALID_UTF8 && window.seen > 0 && window.encoding == ENCODING_UTF_8) {
        out->len = before;
        r = read_large(call, ENCODING_WINDOWS_1252, out, err);
    } else if (r == ERR_INVALID_UTF8) {
        r = refuse_binary(call, window.about.size, err);
    }
    buf_done(&window.kept);
    buf_done(&window.decoded);
    return r;
}

static int read_encoded(struct window *window, struct str bytes, struct buf *out, struct err *err)
{
    cleanup_buf struct buf decoded = BUF_INIT(DECODED_BYTES);
    struct decoder decoder = {.encoding = encoding_guess(bytes, true)};
    int r;

    if (decoder.encoding == ENCODING_BINARY)
        return refuse_binary(window->call, bytes.len, err);
    r = encoding_decode(&decoder, bytes, &decoded);
    if (r < 0)
        return r;
    window_init(window, window->call);
    window->encoding = decoder.encoding;
    window_of_text(window, buf_view(&decoded));
    return write_window(window, out);
}

int tool_read_file(struct tool_call *call, struct buf *out, struct err *err)
{
    uint64_t most = call->box->config.max_file_bytes;
    uint64_t limit = most < WHOLE_MAX_BYTES ? most : WHOLE_MAX_BYTES;
    cleanup_buf struct buf text = BUF_INIT(0);
    struct window window;
    const char *type;
    size_t before;
    int r = tool_read_up_to(call, limit, &text, err);

    if (r < 0)
        return r;
    type = media_type_of_content(buf_view(&text));
    if (type != NULL) {
        if (text.len > limit && limit < most)
            r = tool_read_up_to(call, most, &text, err);
        if (r < 0)
            return r;
        return text.len > most ? tool_read_large_media(call, type, out, err)
                               : tool_write_media(call, type, buf_view(&text), out);
    }
    if (text.len > limit) {
        buf_done(&text);
        return read_large(call, ENCODING_UTF_8, out, err);
    }
    window_init(&window, call);
    before = out->len;
    if (!media_has_early_nul(buf_view(&text)) && !encoding_has_mark(buf_view(&text))) {
        window_of_text(&window, buf_view(&text));
        r = write_window(&window, out);
        if (r != ERR_INVALID_UTF8)
            return r; /* most files: nothing was looked at twice */
    }
    out->len = before;
    return read_encoded(&window, buf_view(&text), out, err);
}

static int write_failure(struct str given, struct str why, struct buf *out)
{
    struct json_writer w;

    json_writer_init(&w, out);
    json_begin_object(&w);
    json_put_str(&w, STR("path"), given);
    json_put_str_lossy(&w, STR("error"), why);
    json_end_object(&w);
    return json_writer_finish(&w);
}

/* One of several, as a call of its own. */
static int read_one(const struct tool_call *all, size_t index, struct buf *out)
{
    struct tool_call call = *all;
    struct err err = ERR_INIT;
    size_t before = out->len;
    int r;

    call.resources = &all->resources[index];
    call.resource_count = 1;
    r = tool_read_file(&call, out, &err);
    if (r == 0 && call.is_whole_result)
        r = err_set(&err, ERR_INVALID_ARGUMENT,
                    "not a text file: use read_file for images and PDF");
    if (r == 0)
        return 0;
    out->len = before;
    return tool_explain(&call, r, &err)
               ? write_failure(call.resources[0].given, str_from(err.message), out)
               : r;
}

int tool_read_files(struct tool_call *call, struct buf *out, struct err *err)
{
    size_t count = call->resource_count + call->refusal_count;
    size_t refused = 0;
    int r = buf_append_str(out, STR("{\"files\":["));

    (void)err;
    for (size_t i = 0; i < count && r == 0; i++) {
        const struct tool_refusal *refusal = &call->refusals[refused];

        if (i > 0)
            r = buf_append_char(out, ',');
        if (r < 0)
            break;
        if (refused < call->refusal_count && refusal->place == i) {
            r = write_failure(refusal->given, refusal->why, out);
            refused++;
        } else {
            r = read_one(call, i - refused, out);
        }
    }
    return r == 0 ? buf_append_str(out, STR("]}")) : r;
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
    const struct authority_read_options options = {.max_bytes = ENCODING_LOOK_BYTES,
                                                   .cancel = call->cancel};
    cleanup_buf struct buf head = BUF_INIT(ENCODING_LOOK_BYTES);

    if (authority_read_bytes(call->box->config.files, tool_name(call, 0), &options, &head, NULL) <
        0)
        return false;
    *out_is_binary =
        encoding_guess(buf_view(&head), head.len < ENCODING_LOOK_BYTES) == ENCODING_BINARY;
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

struct allowed {
    struct json_writer *w;
    const struct tool_folder *folder;
};

static void write_allowed(void *data, struct str below)
{
    __attribute__((uninitialized)) struct path_name path;
    const struct allowed *allowed = data;

    if (path_join(str_from(allowed->folder->root_path), below, &path) < 0)
        return; /* no name can reach it */
    json_begin_object(allowed->w);
    json_put_str_lossy(allowed->w, STR("path"), path_view(&path));
    json_put_str(allowed->w, STR("access"),
                 allowed->folder->may_write ? STR("write") : STR("read"));
    json_end_object(allowed->w);
}

int tool_list_allowed_directories(struct tool_call *call, struct buf *out, struct err *err)
{
    const struct toolbox *box = call->box;
    struct json_writer w;

    (void)err;
    json_writer_init(&w, out);
    json_begin_object(&w);
    json_key(&w, STR("directories"));
    json_begin_array(&w);
    for (size_t i = 0; i < box->folder_count; i++) {
        struct allowed allowed = {&w, &box->folders[i]};

        if (!client_roots_each(box->config.client_roots, i, write_allowed, &allowed))
            write_allowed(&allowed, STR_EMPTY);
    }
    json_end_array(&w);
    json_end_object(&w);
    return json_writer_finish(&w);
}
