/* SPDX-License-Identifier: Apache-2.0 */
#include "files/resources.h"

#include <inttypes.h>

#include "authority/names/fileuri.h"
#include "authority/names/path.h"
#include "base/base64.h"
#include "base/jsonwrite.h"
#include "base/utf8.h"
#include "files/media.h"
#include "files/tool.h"
#include "files/visible.h"
#include "search/shortlist.h"

enum {
    CURSOR_MAX_BYTES = 3 * PATH_MAX, /* every byte escaped */
    URI_MAX_BYTES = 7 * PATH_MAX,    /* the same of root and name, and the scheme */
};

/* ---- addresses ---- */

int resource_name_of_uri(const struct toolbox *box, struct str uri, char out_name[PATH_MAX],
                         size_t *out_len, struct err *err)
{
    __attribute__((uninitialized)) struct path_name whole;
    int r = ERR_PATH_OUTSIDE_ROOT;

    for (size_t i = 0; i < box->folder_count && r == ERR_PATH_OUTSIDE_ROOT; i++) {
        const struct tool_folder *folder = &box->folders[i];

        r = fileuri_name(uri, str_from(folder->root_path), out_name, out_len, err);
        if (r == ERR_PATH_OUTSIDE_ROOT && folder->given_path != NULL)
            r = fileuri_name(uri, str_from(folder->given_path), out_name, out_len, err);
        if (r < 0 || i == 0)
            continue;
        r = path_join(str_from(folder->root_path), (struct str){out_name, *out_len}, &whole);
        if (r < 0)
            return err_set_plain(err, r);
        memcpy(out_name, whole.text, whole.len + 1);
        *out_len = whole.len;
    }
    return r;
}

int resource_append_uri(const struct toolbox *box, struct str name, struct buf *out)
{
    return str_starts_with(name, STR("/"))
               ? fileuri_append(out, name, STR_EMPTY)
               : fileuri_append(out, str_from(box->config.root_path), name);
}

/* ---- reading ---- */

/* The authority's message, after the URI as given. */
static int refuse(const struct toolbox *box, struct err *err, int code, struct str uri)
{
    __attribute__((uninitialized)) char name[PATH_MAX];
    char shown[TOOL_SHOWN_BYTES];
    char why[ERR_MESSAGE_BYTES];
    const char *denial = NULL;
    size_t len;

    if (err == NULL)
        return code;
    snprintf(why, sizeof(why), "%s",
             err->code == code && err->message[0] != '\0' ? err->message : err_text(code));
    tool_show(uri, shown);
    if (code == ERR_DENIED_BY_POLICY && resource_name_of_uri(box, uri, name, &len, NULL) == 0)
        denial = tool_denial(box, (struct str){name, len});
    return err_set_field(err, code, shown, "%s%s %s", shown, denial != NULL ? "" : ":",
                         denial != NULL ? denial : why);
}

static int read_file(struct toolbox *box, struct str name, const struct cancel *cancel,
                     struct buf *out, struct err *err)
{
    uint64_t most = box->config.max_file_bytes;
    const struct authority_read_options options = {.max_bytes = most + 1, .cancel = cancel};
    struct authority_stat about;
    int r;

    out->max = most < SIZE_MAX / 2 ? (size_t)most + 1 : SIZE_MAX / 2;
    r = authority_read_bytes(box->config.files, name, &options, out, err);
    if (r < 0 || out->len <= most)
        return r;
    r = authority_stat(box->config.files, name, &about, err);
    if (r < 0)
        return r;
    return err_set(err, ERR_TOO_LARGE, "has %" PRIu64 " bytes; the limit is %" PRIu64, about.size,
                   most);
}

static void begin_contents(struct json_writer *w, struct buf *out, struct str uri, const char *type)
{
    json_writer_init(w, out);
    json_begin_object(w);
    json_key(w, STR("contents"));
    json_begin_array(w);
    json_begin_object(w);
    json_put_str_lossy(w, STR("uri"), uri);
    json_put_str(w, STR("mimeType"), str_from(type));
}

static int end_contents(struct json_writer *w)
{
    json_end_object(w);
    json_end_array(w);
    json_end_object(w);
    return json_writer_finish(w);
}

static int write_text(struct str uri, struct str name, struct str text, struct buf *out)
{
    struct json_writer w;

    begin_contents(&w, out, uri, media_type_of_text(name));
    json_put_str(&w, STR("text"), text);
    return end_contents(&w);
}

static int write_blob(struct str uri, const char *type, struct str bytes, struct buf *out)
{
    cleanup_buf struct buf encoded = BUF_INIT(out->max);
    struct json_writer w;
    int r = base64_append(&encoded, bytes);

    if (r < 0)
        return r;
    begin_contents(&w, out, uri, type);
    json_put_str(&w, STR("blob"), buf_view(&encoded));
    return end_contents(&w);
}

static int write_content(struct str uri, struct str name, struct str content, struct buf *out)
{
    const char *type = media_type_of_content(content);
    size_t before = out->len;
    int r = ERR_INVALID_UTF8;

    if (type == NULL && !media_has_early_nul(content))
        r = write_text(uri, name, content, out);
    if (r == ERR_INVALID_UTF8) {
        out->len = before;
        r = write_blob(uri, type != NULL ? type : media_type_of_bytes(name), content, out);
    }
    if (r < 0)
        out->len = before;
    return r;
}

int resource_read(struct toolbox *box, struct str uri, const struct cancel *cancel, struct buf *out,
                  struct err *err)
{
    __attribute__((uninitialized)) char given[PATH_MAX];
    __attribute__((uninitialized)) char name[PATH_MAX];
    cleanup_buf struct buf content = BUF_INIT(0);
    size_t len;
    int r = cancel_check(cancel);

    if (r == 0)
        r = resource_name_of_uri(box, uri, given, &len, err);
    if (r == 0)
        r = authority_resolve(box->config.names, AUTHORITY_OP_READ, (struct str){given, len}, name,
                              &len, NULL, err);
    if (r == 0)
        r = read_file(box, (struct str){name, len}, cancel, &content, err);
    if (r < 0)
        return refuse(box, err, r, uri);
    r = write_content(uri, (struct str){name, len}, buf_view(&content), out);
    return r < 0 ? err_set_plain(err, r) : 0;
}

/* ---- listing ---- */

struct page {
    struct str after; /* the last file of the page before; "" at the beginning */
    struct shortlist files;
    bool has_more;
    struct str top;          /* the folder: "" or absolute; names are relative to it */
    const char *next_folder; /* its path; NULL: this is the last */
};

static int page_entry(void *data, const struct authority_entry *entry)
{
    struct page *page = data;
    bool is_directory = entry->type == AUTHORITY_DIRECTORY;
    bool is_before = page->after.len > 0 &&
                     shortlist_compare(entry->name, is_directory, page->after, false) <= 0;

    if (!visible_in_tree(visible_last(entry->name), entry->type))
        return AUTHORITY_WALK_SKIP;
    /* Does not descend into what was listed already, or comes after this page. */
    if (is_before && !(is_directory && path_is_within(page->after, entry->name)))
        return AUTHORITY_WALK_SKIP;
    if (!is_directory)
        return shortlist_add(&page->files, entry->name, false, NULL);
    if (shortlist_wants(&page->files, entry->name, true))
        return 0;
    page->has_more = true;
    return AUTHORITY_WALK_SKIP;
}

static int write_resource(const struct toolbox *box, struct str name, struct json_writer *w)
{
    cleanup_buf struct buf uri = BUF_INIT(URI_MAX_BYTES);
    const char *type = media_type_of_name(name);
    int r = resource_append_uri(box, name, &uri);

    if (r < 0)
        return r;
    json_begin_object(w);
    json_put_str(w, STR("uri"), buf_view(&uri));
    json_put_str_lossy(w, STR("name"), name);
    if (type != NULL)
        json_put_str(w, STR("mimeType"), str_from(type));
    json_end_object(w);
    return 0;
}

/* The last name of this page; if the folder ends with it, the next folder. */
static int append_cursor(const struct page *page, struct buf *out)
{
    __attribute__((uninitialized)) struct path_name last;
    int r;

    if (page->files.count == 0 || (!page->has_more && !page->files.is_dropping))
        return page->next_folder != NULL ? fileuri_append_encoded(out, str_from(page->next_folder))
                                         : 0;
    r = path_join(page->top, shortlist_name(page->files.items[page->files.count - 1]), &last);
    return r == 0 ? fileuri_append_encoded(out, path_view(&last)) : r;
}

static int write_page(const struct toolbox *box, const struct page *page, struct buf *out)
{
    cleanup_buf struct buf cursor = BUF_INIT(CURSOR_MAX_BYTES);
    __attribute__((uninitialized)) struct path_name name;
    size_t before = out->len;
    struct json_writer w;
    int r = 0;

    json_writer_init(&w, out);
    json_begin_object(&w);
    json_key(&w, STR("resources"));
    json_begin_array(&w);
    for (size_t i = 0; i < page->files.count && r == 0; i++)
        if (path_join(page->top, shortlist_name(page->files.items[i]), &name) == 0)
            r = write_resource(box, path_view(&name), &w);
    json_end_array(&w);
    if (r == 0)
        r = append_cursor(page, &cursor);
    if (r == 0 && cursor.len > 0)
        json_put_str(&w, STR("nextCursor"), buf_view(&cursor));
    json_end_object(&w);
    if (r == 0)
        r = json_writer_finish(&w);
    if (r < 0)
        out->len = before;
    return r;
}

int resource_list(struct toolbox *box, struct str cursor, const struct cancel *cancel,
                  struct buf *out, struct err *err)
{
    const struct authority_walk_options options = {.max_depth = RESOURCE_DEPTH, .cancel = cancel};
    __attribute__((uninitialized)) char after[PATH_MAX];
    struct page page = {.top = STR_EMPTY};
    const struct tool_folder *folder;
    size_t len;
    int r;

    if (fileuri_decode(cursor, after, &len) < 0)
        return err_set(err, ERR_INVALID_ARGUMENT, "invalid cursor");
    page.after = (struct str){after, len};
    folder = tool_folder_of(box, &page.after);
    if (folder == NULL)
        return err_set(err, ERR_INVALID_ARGUMENT, "invalid cursor");
    if (folder != &box->folders[0])
        page.top = str_from(folder->root_path);
    if (folder + 1 < box->folders + box->folder_count)
        page.next_folder = folder[1].root_path;
    shortlist_init(&page.files, RESOURCE_PAGE);
    r = authority_walk(box->config.files, page.top, &options, page_entry, &page, err);
    if (r == 0) {
        shortlist_sort(&page.files);
        r = write_page(box, &page, out);
        if (r < 0)
            err_set_plain(err, r);
    }
    shortlist_done(&page.files);
    return r;
}

/* ---- completing ---- */

struct completing {
    struct str beginning; /* of the last component */
    struct shortlist found;
    uint64_t total;
};

static int complete_entry(void *data, const struct authority_entry *entry)
{
    struct completing *completing = data;

    /* A name that is not UTF-8 could not be typed. */
    if (!visible_in_list(entry->name, entry->type) ||
        !str_starts_with(entry->name, completing->beginning) || !utf8_is_valid(entry->name))
        return 0;
    completing->total++;
    return shortlist_add(&completing->found, entry->name, entry->type == AUTHORITY_DIRECTORY, NULL);
}

static int find_completions(struct toolbox *box, struct str directory,
                            struct completing *completing, const struct cancel *cancel)
{
    const struct authority_list_options options = {.cancel = cancel};
    __attribute__((uninitialized)) char name[PATH_MAX];
    size_t len;
    int r =
        authority_resolve(box->config.names, AUTHORITY_OP_LIST, directory, name, &len, NULL, NULL);

    if (r < 0)
        return r;
    return authority_list(box->config.files, (struct str){name, len}, &options, complete_entry,
                          completing, NULL);
}

/* Nothing of a folder was typed yet: the folders themselves. */
static int find_folders(const struct toolbox *box, struct str typed, struct completing *completing)
{
    int r = 0;

    for (size_t i = 0; i < box->folder_count && r == 0; i++) {
        struct str path = str_from(box->folders[i].root_path);

        if (!str_starts_with(path, typed) || !utf8_is_valid(path))
            continue;
        completing->total++;
        r = shortlist_add(&completing->found, path, true, NULL);
    }
    return r;
}

static int write_completions(const struct completing *completing, struct str typed_directory,
                             struct buf *out)
{
    cleanup_buf struct buf value = BUF_INIT(2 * PATH_MAX);
    size_t before = out->len;
    struct json_writer w;
    int r = 0;

    json_writer_init(&w, out);
    json_begin_object(&w);
    json_key(&w, STR("completion"));
    json_begin_object(&w);
    json_key(&w, STR("values"));
    json_begin_array(&w);
    for (size_t i = 0; i < completing->found.count && r == 0; i++) {
        const struct shortlist_item *item = completing->found.items[i];

        buf_clear(&value);
        r = buf_append_str(&value, typed_directory);
        if (r == 0)
            r = buf_append_str(&value, shortlist_name(item));
        if (r == 0 && item->is_directory)
            r = buf_append_char(&value, '/');
        json_write_str(&w, buf_view(&value));
    }
    json_end_array(&w);
    json_put_int(&w, STR("total"), (int64_t)completing->total);
    json_put_bool(&w, STR("hasMore"), completing->found.is_dropping);
    json_end_object(&w);
    json_end_object(&w);
    if (r == 0)
        r = json_writer_finish(&w);
    if (r < 0)
        out->len = before;
    return r;
}

/* Nobody waits for it any more, or there is no memory: the only errors of a completion. */
static bool ends_completion(int code)
{
    return code == ERR_CANCELLED || code == ERR_TIMED_OUT || code == ERR_NO_MEMORY;
}

int resource_complete(struct toolbox *box, struct str typed, const struct cancel *cancel,
                      struct buf *out, struct err *err)
{
    const char *slash = typed.len > 0 ? memrchr(typed.ptr, '/', typed.len) : NULL;
    size_t directory_len = slash == NULL ? 0 : (size_t)(slash - typed.ptr) + 1;
    struct str directory = str_slice(typed, 0, directory_len);
    struct str below = directory;
    struct completing completing = {
        .beginning = str_slice(typed, directory_len, typed.len),
    };
    int r;

    shortlist_init(&completing.found, RESOURCE_COMPLETIONS);
    if (typed.len >= PATH_MAX) {
        r = ERR_INVALID_PATH;
    } else if (box->folder_count > 1 &&
               (directory_len == 0 || tool_folder_of(box, &below) == NULL)) {
        directory = STR_EMPTY;
        r = find_folders(box, typed, &completing);
    } else {
        r = find_completions(box, tool_plain_name(box, directory), &completing, cancel);
    }
    if (!ends_completion(r)) {
        shortlist_sort(&completing.found);
        r = write_completions(&completing, directory, out);
    }
    if (r < 0)
        err_set_plain(err, r);
    shortlist_done(&completing.found);
    return r;
}
