/* SPDX-License-Identifier: Apache-2.0 */
/*
 * list_files and get_file_tree. Both read everything and keep no more than they show. Names that
 * are not UTF-8 are shown with U+FFFD and cannot be used in calls.
 */
#include "files/tool.h"

#include "authority/names/path.h"
#include "base/clock.h"
#include "base/printable.h"
#include "base/utf8.h"
#include "files/excludes.h"
#include "files/visible.h"
#include "protocol/resulttext.h"
#include "search/shortlist.h"

enum {
    LIST_RESULTS = 200,
    LIST_MAX_RESULTS = 10000,
    ENTRY_BYTES = 64,  /* as JSON, about */
    LIST_SMALL = 2000, /* entries whose sizes are read on the way; of a larger one, those shown */
    TREE_DEPTH = 2,
    TREE_MAX_ENTRIES = 10000,
    TREE_LINE_BYTES = 64, /* a guess, to reserve */
    REPORT_ENTRIES = 1000,
    STOP = 1, /* of a visitor: it has seen enough */
};

/* ---- list_files ---- */

enum order { BY_NAME, BY_SIZE, BY_TIME };

struct listing {
    const struct tool_call *call;
    struct excludes excludes;
    struct shortlist entries;
    enum order order;
    bool with_files;
    bool with_directories;
    bool with_sizes;
    bool is_small; /* so far: sizes come with the entries */
    uint64_t seen;
};

/* The largest and the latest come first, and last what has no size or time. */
static int64_t rank_of(const struct listing *listing, const struct authority_entry *entry)
{
    switch (listing->order) {
    case BY_NAME:
        return 0;
    case BY_SIZE:
        return entry->has_stat && entry->type == AUTHORITY_FILE ? (int64_t)entry->stat.size : -1;
    case BY_TIME:
        break;
    }
    return entry->has_stat ? entry->stat.modified_ms : INT64_MIN;
}

static int list_entry_(void *data, const struct authority_entry *entry)
{
    struct listing *listing = data;
    bool is_directory = entry->type == AUTHORITY_DIRECTORY;
    struct shortlist_item *item;
    int r;

    if (listing->is_small && listing->seen == LIST_SMALL)
        return STOP;
    if (++listing->seen % REPORT_ENTRIES == 0)
        tool_report(listing->call, listing->seen, 0, "listing");
    if (!(is_directory ? listing->with_directories : listing->with_files) ||
        !visible_in_list(entry->name, entry->type) ||
        excludes_match(&listing->excludes, entry->name))
        return 0;
    r = shortlist_add_ranked(&listing->entries, entry->name, is_directory, rank_of(listing, entry),
                             &item);
    if (r == 0 && item != NULL && entry->has_stat && listing->with_sizes) {
        item->has_size = true;
        item->size = entry->stat.size;
    }
    return r;
}

/*
 * Most directories are small: one pass. For a large one, sizes of all entries are not needed,
 * unless they or the times are the order.
 */
static int read_directory(struct listing *listing, struct err *err)
{
    const struct tool_call *call = listing->call;
    bool is_ranked = listing->order != BY_NAME;
    struct authority_list_options options = {.with_stat = listing->with_sizes || is_ranked,
                                             .cancel = call->cancel};
    int r;

    listing->is_small = listing->with_sizes && !is_ranked;
    r = authority_list(call->box->config.files, tool_name(call, 0), &options, list_entry_, listing,
                       err);
    if (r != STOP)
        return r;
    shortlist_done(&listing->entries);
    listing->is_small = false;
    listing->seen = 0;
    options.with_stat = false;
    return authority_list(call->box->config.files, tool_name(call, 0), &options, list_entry_,
                          listing, err);
}

/* False if it was deleted meanwhile, or access is denied. */
static bool find_size(const struct listing *listing, struct str path,
                      const struct shortlist_item *item, uint64_t *out_size)
{
    struct authority_stat about;

    *out_size = item->size;
    if (item->has_size || listing->is_small || !listing->with_sizes)
        return item->has_size;
    if (authority_stat(listing->call->box->config.files, path, &about, NULL) < 0)
        return false;
    *out_size = about.size;
    return about.type == AUTHORITY_FILE;
}

/* As an array, and as lines of text if `text` is not NULL. */
static int write_entries(const struct listing *listing, struct buf *out, struct buf *text)
{
    __attribute__((uninitialized)) struct path_name path;
    char time[CLOCK_ISO_BYTES];
    struct json_writer w;

    json_writer_init(&w, out);
    json_begin_array(&w);
    for (size_t i = 0; i < listing->entries.count; i++) {
        const struct shortlist_item *item = listing->entries.items[i];
        struct resulttext_entry entry = {.is_directory = item->is_directory};
        int r = cancel_check(listing->call->cancel);

        if (r < 0)
            return r;
        if (path_join(tool_name(listing->call, 0), shortlist_name(item), &path) < 0)
            continue; /* no name can reach it */
        entry.path = path_view(&path);
        json_begin_object(&w);
        json_put_str_lossy(&w, STR("path"), entry.path);
        json_put_str(&w, STR("type"), item->is_directory ? STR("directory") : STR("file"));
        entry.has_size = !item->is_directory && find_size(listing, entry.path, item, &entry.size);
        if (entry.has_size)
            json_put_int(&w, STR("sizeBytes"), (int64_t)entry.size);
        if (listing->order == BY_TIME && item->rank != INT64_MIN) {
            clock_format_iso(item->rank, time);
            entry.modified = str_from(time);
            json_put_str(&w, STR("modifiedAt"), entry.modified);
        }
        json_end_object(&w);
        r = text != NULL ? resulttext_append_entry(&entry, text) : 0;
        if (r < 0)
            return r;
    }
    json_end_array(&w);
    return json_writer_finish(&w);
}

/* The lines become one JSON string. */
static int write_told(const struct tool_call *call, struct str object, struct str lines,
                      struct buf *out)
{
    cleanup_buf struct buf quoted = BUF_INIT(out->max);
    struct json_writer w;
    int r;

    json_writer_init(&w, &quoted);
    json_write_str(&w, lines);
    r = json_writer_finish(&w);
    return r == 0 ? toolresult_write_told(out, object, buf_view(&quoted),
                                          call->box->config.result_form)
                  : r;
}

/* As JSON text it is the array alone; structuredContent also tells if it was cut. */
static int write_listing(struct tool_call *call, const struct listing *listing, struct buf *out)
{
    const struct str start = STR("{\"entries\":");
    cleanup_buf struct buf object = BUF_INIT(out->max);
    cleanup_buf struct buf lines = BUF_INIT(out->max);
    bool is_json = call->box->config.result_form == TOOLRESULT_JSON;
    bool is_cut = listing->entries.is_dropping;
    size_t room = (listing->entries.count + 1) * ENTRY_BYTES;
    size_t end = 0;
    int r = buf_reserve(&object, room < out->max ? room : out->max);

    if (r == 0 && !is_json)
        r = buf_reserve(&lines, room / 2 < out->max ? room / 2 : out->max);
    if (r == 0)
        r = buf_append_str(&object, start);
    if (r == 0)
        r = write_entries(listing, &object, is_json ? NULL : &lines);
    if (r == 0) {
        end = object.len;
        r = buf_append_str(&object, is_cut ? STR(",\"truncated\":true}") : STR("}"));
    }
    if (r == 0 && !is_json)
        r = resulttext_end_entries(is_cut, &lines);
    if (r < 0)
        return r;
    call->is_whole_result = true;
    return is_json ? toolresult_write(out, str_slice(buf_view(&object), start.len, end - start.len),
                                      buf_view(&object), false)
                   : write_told(call, buf_view(&object), buf_view(&lines), out);
}

int tool_list_files(struct tool_call *call, struct buf *out, struct err *err)
{
    struct listing listing = {
        .call = call, .with_files = true, .with_directories = true, .with_sizes = true};
    struct str type;
    struct str order;
    int r = excludes_read(call, tool_name(call, 0), &listing.excludes, err);

    if (r < 0)
        return r;
    if (json_get_str(call->arguments, STR("sortBy"), &order))
        listing.order = str_eq(order, STR("size"))   ? BY_SIZE
                        : str_eq(order, STR("time")) ? BY_TIME
                                                     : BY_NAME;
    if (json_get_str(call->arguments, STR("type"), &type)) {
        listing.with_files = !str_eq(type, STR("directory"));
        listing.with_directories = !str_eq(type, STR("file"));
    }
    (void)json_get_bool(call->arguments, STR("withSizes"), &listing.with_sizes);
    shortlist_init(&listing.entries, tool_max_results(call, LIST_RESULTS, LIST_MAX_RESULTS));
    r = read_directory(&listing, err);
    if (r == 0) {
        shortlist_sort(&listing.entries);
        r = write_listing(call, &listing, out);
    }
    shortlist_done(&listing.entries);
    return r;
}

/* ---- get_file_tree ---- */

struct tree {
    const struct tool_call *call;
    struct excludes excludes;
    struct shortlist entries;
    unsigned max_depth; /* 0: nothing below the start */
    uint64_t seen;
};

/* Walks in directory order: does not descend where nothing can be among the first. */
static int tree_entry(void *data, const struct authority_entry *entry)
{
    struct tree *tree = data;
    bool is_directory = entry->type == AUTHORITY_DIRECTORY;
    struct shortlist_item *item;
    int r;

    if (++tree->seen % REPORT_ENTRIES == 0)
        tool_report(tree->call, tree->seen, 0, "walking");
    if (!visible_in_list(visible_last(entry->name), entry->type) ||
        excludes_match(&tree->excludes, entry->name))
        return AUTHORITY_WALK_SKIP;
    r = shortlist_add(&tree->entries, entry->name, is_directory, &item);
    if (r < 0)
        return r;
    if (item != NULL && entry->has_stat && !is_directory) {
        item->has_size = true;
        item->size = entry->stat.size;
    }
    return item == NULL || (is_directory && visible_is_excluded(visible_last(entry->name)))
               ? AUTHORITY_WALK_SKIP
               : 0;
}

static unsigned depth_of(struct str name)
{
    unsigned depth = 1;

    for (size_t i = 0; i < name.len; i++)
        depth += name.ptr[i] == '/';
    return depth;
}

static int count_entry(void *data, const struct authority_entry *entry)
{
    (void)entry;
    ++*(uint64_t *)data;
    return 0;
}

/* The next entry in order is the first one below a directory, if anything of it is shown. */
static bool has_shown(const struct tree *tree, size_t index)
{
    return index + 1 < tree->entries.count &&
           path_is_within(shortlist_name(tree->entries.items[index + 1]),
                          shortlist_name(tree->entries.items[index]));
}

/* Why nothing is shown below a directory. */
struct bareness {
    const char *why; /* NULL: something is */
    bool is_opened;
};

/* Of a directory that is no deeper than the tree. */
static struct bareness look_into(const struct tree *tree, struct str name)
{
    static const struct authority_list_options one = {.max_entries = 1};
    __attribute__((uninitialized)) struct path_name path;
    uint64_t count = 0;
    int r = path_join(tool_name(tree->call, 0), name, &path);

    if (r == 0)
        r = authority_list(tree->call->box->config.files, path_view(&path), &one, count_entry,
                           &count, NULL);
    if (r < 0)
        return (struct bareness){err_text(r), false};
    if (count == 0)
        return (struct bareness){"empty", true};
    /* The rest was cut off, or is of the kinds that no tree has. */
    return tree->entries.is_dropping ? (struct bareness){"truncated", false}
                                     : (struct bareness){"nothing to show", true};
}

static struct bareness bareness_of(const struct tree *tree, size_t index)
{
    struct str name = shortlist_name(tree->entries.items[index]);

    if (visible_is_excluded(visible_last(name)))
        return (struct bareness){"excluded", false};
    if (depth_of(name) >= tree->max_depth)
        return (struct bareness){"maxDepth", false};
    return has_shown(tree, index) ? (struct bareness){NULL, true} : look_into(tree, name);
}

/* What follows a directory's name, if it does not show what is in it. */
static int append_state(const struct tree *tree, size_t index, struct buf *out)
{
    struct bareness bare = bareness_of(tree, index);

    return bare.why == NULL
               ? 0
               : buf_printf(out, " (%s%s)", bare.is_opened ? "" : "not opened: ", bare.why);
}

static int append_line(const struct tree *tree, size_t index, struct buf *out)
{
    const struct shortlist_item *item = tree->entries.items[index];
    struct str name = shortlist_name(item);
    struct str last = visible_last(name);
    size_t indent = (size_t)2 * depth_of(name);
    int r;

    r = buf_reserve(out, indent);
    if (r < 0)
        return r;
    memset(out->data + out->len, ' ', indent);
    out->len += indent;
    /* A blank at its beginning would look like a level more, and the name like one of elsewhere. */
    if (last.len > 0 && (last.ptr[0] == ' ' || last.ptr[0] == '\\'))
        r = buf_append_char(out, '\\');
    if (r == 0)
        r = printable_replace(out, last, PRINTABLE_BLANKS, STR(UTF8_REPLACEMENT));
    if (r == 0 && item->is_directory) {
        r = buf_append_char(out, '/');
        if (r == 0)
            r = append_state(tree, index, out);
    }
    return r == 0 ? buf_append_char(out, '\n') : r;
}

static int append_root(const struct tool_call *call, struct buf *out)
{
    struct str name = tool_name(call, 0);
    const struct tool_folder *folder = tool_folder_of(call->box, &name);
    struct str root = folder != NULL ? str_from(folder->root_path) : STR_EMPTY;
    int r = printable_replace(out, root, PRINTABLE_BLANKS, STR(UTF8_REPLACEMENT));

    if (r == 0 && !str_ends_with(root, STR("/")))
        r = buf_append_char(out, '/');
    if (r == 0 && name.len > 0)
        r = printable_replace(out, name, PRINTABLE_BLANKS, STR(UTF8_REPLACEMENT));
    if (r == 0 && name.len > 0)
        r = buf_append_char(out, '/');
    return r == 0 ? buf_append_char(out, '\n') : r;
}

static int write_tree(const struct tree *tree, struct buf *text)
{
    int r = buf_reserve(text, tree->entries.count * TREE_LINE_BYTES);

    if (r == 0)
        r = append_root(tree->call, text);
    for (size_t i = 0; i < tree->entries.count && r == 0; i++)
        r = append_line(tree, i, text);
    if (r == 0 && tree->entries.count == 0)
        r = tree->max_depth == 0
                ? buf_append_str(text, STR("(maxDepth 0 shows nothing below it)\n"))
                : buf_append_str(text, STR("(empty)\n"));
    if (r == 0 && tree->entries.is_dropping)
        r = buf_printf(text,
                       "(truncated at %d entries: use a subdirectory or a smaller maxDepth)\n",
                       TREE_MAX_ENTRIES);
    if (r == 0)
        text->len--; /* without the last line end */
    return r;
}

/* A directory's members; leaves its list open if something follows that is in it. */
static void write_node(const struct tree *tree, size_t index, struct json_writer *w)
{
    const struct shortlist_item *item = tree->entries.items[index];
    struct bareness bare = {NULL, true};

    json_begin_object(w);
    json_put_str_lossy(w, STR("name"), visible_last(shortlist_name(item)));
    json_put_str(w, STR("type"), item->is_directory ? STR("directory") : STR("file"));
    if (item->is_directory) {
        bare = bareness_of(tree, index);
        if (!bare.is_opened)
            json_put_str(w, STR("notOpened"), str_from(bare.why));
    } else if (item->has_size) {
        json_put_int(w, STR("sizeBytes"), (int64_t)item->size);
    }
    if (item->is_directory && bare.is_opened) {
        json_key(w, STR("children"));
        json_begin_array(w);
        if (bare.why == NULL)
            return;
        json_end_array(w);
    }
    json_end_object(w);
}

/* The entries are in order: one that is less deep ends the lists of those before it. */
static int write_json_tree(const struct tree *tree, struct buf *text)
{
    cleanup_buf struct buf root = BUF_INIT(text->max);
    struct json_writer w;
    unsigned open = 1; /* the depth of the present list */
    int r = append_root(tree->call, &root);

    if (r < 0)
        return r;
    json_writer_init(&w, text);
    json_begin_object(&w);
    json_put_str(&w, STR("path"), str_slice(buf_view(&root), 0, root.len - 1));
    json_key(&w, STR("children"));
    json_begin_array(&w);
    for (size_t i = 0; i < tree->entries.count; i++) {
        unsigned depth = depth_of(shortlist_name(tree->entries.items[i]));

        for (; open > depth; open--) {
            json_end_array(&w);
            json_end_object(&w);
        }
        write_node(tree, i, &w);
        if (has_shown(tree, i))
            open = depth + 1;
    }
    for (; open > 1; open--) {
        json_end_array(&w);
        json_end_object(&w);
    }
    json_end_array(&w);
    if (tree->entries.is_dropping)
        json_put_bool(&w, STR("truncated"), true);
    json_end_object(&w);
    return json_writer_finish(&w);
}

static int check_directory(const struct tool_call *call, struct err *err)
{
    struct authority_stat about;
    int r = authority_stat(call->box->config.files, tool_name(call, 0), &about, err);

    return r == 0 && about.type != AUTHORITY_DIRECTORY ? ERR_NOT_A_DIRECTORY : r;
}

int tool_get_file_tree(struct tool_call *call, struct buf *out, struct err *err)
{
    int64_t depth = tool_int(call, STR("maxDepth"), TREE_DEPTH);
    struct authority_walk_options options = {.cancel = call->cancel};
    cleanup_buf struct buf text = BUF_INIT(out->max);
    struct tree tree = {.call = call};
    struct str format = STR_EMPTY;
    int r = excludes_read(call, tool_name(call, 0), &tree.excludes, err);

    if (r < 0)
        return r;
    (void)json_get_str(call->arguments, STR("format"), &format);
    (void)json_get_bool(call->arguments, STR("withSizes"), &options.with_stat);
    shortlist_init(&tree.entries, TREE_MAX_ENTRIES);
    if (depth < 1) {
        r = check_directory(call, err);
    } else {
        tree.max_depth = depth < AUTHORITY_MAX_DEPTH ? (unsigned)depth : AUTHORITY_MAX_DEPTH;
        options.max_depth = tree.max_depth;
        r = authority_walk(call->box->config.files, tool_name(call, 0), &options, tree_entry, &tree,
                           err);
    }
    if (r == 0) {
        shortlist_sort(&tree.entries);
        r = str_eq(format, STR("json")) ? write_json_tree(&tree, &text) : write_tree(&tree, &text);
    }
    if (r == 0)
        r = toolresult_write(out, buf_view(&text), STR_EMPTY, false);
    shortlist_done(&tree.entries);
    call->is_whole_result = true;
    return r;
}
