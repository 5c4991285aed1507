/* SPDX-License-Identifier: Apache-2.0 */
/* `gatehouse workspace ls`, `path` and `diff` */
#include "programs/workspace/workspace.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/colour.h"
#include "base/jsonwrite.h"
#include "base/printable.h"
#include "cli/stop.h"
#include "cli/table.h"
#include "files/diff.h"

enum {
    MAX_SHOWN_BYTES = 4 << 20, /* of a file */
    MAX_DIFF_BYTES = 16 << 20,
    MAX_LINE_BYTES = 256 << 10,
    MAX_JSON_BYTES = 256 << 20,
    MAX_PAGE_BYTES = 4 << 20, /* of diffs on the page */
    SETTLED_MS = 20,          /* longer than what the kernel's times of changes are exact to */
    DATE_BYTES = 16,          /* "2026-11-17T08:30" */
};

#define BOLD  "\033[1m"
#define RED   "\033[31m"
#define GREEN "\033[32m"
#define CYAN  "\033[36m"
#define PLAIN "\033[m"

/* ---- the list ---- */

struct listing {
    struct task *task;
    struct table *table;
    struct json_writer *json; /* or NULL */
};

static void list_json(const struct listing *listing, const char *name,
                      const struct copies_record *record, const char *created)
{
    char path[2 * PATH_MAX];

    snprintf(path, sizeof(path), "%s/%s", listing->task->store.copies_path, name);
    json_begin_object(listing->json);
    json_put_str(listing->json, STR("name"), str_from(name));
    json_put_str_lossy(listing->json, STR("path"), str_from(path));
    json_put_str_lossy(listing->json, STR("original"), record->original);
    json_put_str(listing->json, STR("created"), str_from(created));
    json_put_bool(listing->json, STR("hasGit"), record->has_git);
    json_put_bool(listing->json, STR("hasSensitive"), record->has_sensitive);
    json_put_int(listing->json, STR("leftOut"), (int64_t)record->left_out_count);
    json_end_object(listing->json);
}

static int list_one(void *data, const char *name)
{
    struct listing *listing = data;
    cleanup_record struct copies_record record = COPIES_RECORD_INIT;
    char created[CLOCK_ISO_BYTES];
    struct err err = ERR_INIT;

    if (copies_load_head(&listing->task->store, name, &record, &err) < 0) {
        task_tell(str_from(name), err.message);
        listing->task->has_left = true;
        return 0;
    }
    clock_format_iso(record.created_ms, created);
    if (listing->json != NULL) {
        list_json(listing, name, &record, created);
        return 0;
    }
    table_cell(listing->table, str_from(name));
    table_cell_time(listing->table, record.created_ms, str_slice(str_from(created), 0, DATE_BYTES));
    table_cell(listing->table, record.original);
    return 0;
}

static int write_json(struct output *output, const struct buf *text)
{
    struct str rest = buf_view(text);

    while (rest.len > 0) {
        output_str(output, str_slice(rest, 0, OUTPUT_FLUSH_BYTES));
        rest = str_slice(rest, OUTPUT_FLUSH_BYTES, rest.len);
        if (rest.len > 0)
            output_flush(output);
    }
    output_line_end(output);
    return 0;
}

int show_list_json(struct task *task, struct json_writer *json, struct err *err)
{
    struct listing listing = {.task = task, .json = json};
    int r;

    json_begin_array(json);
    r = copies_each(&task->store, list_one, &listing, err);
    json_end_array(json);
    return r;
}

int task_list(struct task *task, struct err *err)
{
    static const struct table_column columns[] = {
        {.title = "WORKSPACE", .usual = 20},
        {.title = "CREATED", .usual = DATE_BYTES},
        {.title = "PROJECT", .usual = 1, .least = 10, .is_path = true},
    };
    cleanup_output struct output output = OUTPUT_INIT(STDOUT_FILENO, &stop_signal);
    cleanup_buf struct buf text = BUF_INIT(MAX_JSON_BYTES);
    cleanup_table struct table table = {.count = 0};
    const struct task_walls walls = {.folder_count = 0};
    struct json_writer json;
    struct listing listing = {.task = task, .table = &table};
    int r;

    tzset(); /* which reads a file */
    r = task_confine(task, &walls, err);
    table_init(&table, &output, columns, array_size(columns));
    if (r == 0 && !options_is_on(task->values, WORKSPACE_LS_JSON)) {
        r = copies_each(&task->store, list_one, &listing, err);
        if (r == 0)
            table_end(&table, "You have no workspaces: 'gatehouse workspace new' makes one");
    } else if (r == 0) {
        json_writer_init(&json, &text);
        json_writer_set_pretty(&json);
        r = show_list_json(task, &json, err);
        if (r == 0) {
            r = json_writer_finish(&json);
            r = r < 0 ? err_set_plain(err, r) : write_json(&output, &text);
        }
    }
    return r == 0 ? output_finish(&output, err) : r;
}

int task_path(struct task *task, struct err *err)
{
    cleanup_output struct output output = OUTPUT_INIT(STDOUT_FILENO, &stop_signal);
    const char *name = options_argument(task->values, 0);
    const struct task_walls walls = {.folder_count = 0};
    int r = task_confine(task, &walls, err);

    if (r == 0)
        r = copies_load_head(&task->store, name, &task->record, err);
    if (r < 0)
        return r;
    output_printf(&output, "%s/%s", task->store.copies_path, name);
    output_line_end(&output);
    return output_finish(&output, err);
}

/* ---- differences ---- */

struct showing {
    struct task *task;
    struct output *output;
    struct json_writer *json; /* or NULL */
    bool only_counts;
    bool has_colour;
    bool is_escaped; /* for a terminal */
    struct buf before;
    struct buf after;
    struct buf diff;
    /* For the page: */
    bool has_ids;
    int64_t since_ms;   /* when it began to compare */
    size_t diffs_bytes; /* so far */
    /* Of the one at hand: */
    uint64_t added;
    uint64_t removed;
    const char *unshown; /* why there is no diff; or NULL */
};

static bool has_long_line(struct str text)
{
    struct str line;

    while (str_cut(&text, '\n', &line))
        if (line.len > MAX_LINE_BYTES)
            return true;
    return false;
}

static int read_side(struct authority_scope *scope, struct str name, const struct cancel *cancel,
                     struct buf *out)
{
    const struct authority_read_options options = {.cancel = cancel};

    return authority_read_bytes(scope, name, &options, out, NULL);
}

static void count_lines(struct showing *showing)
{
    struct str rest = buf_view(&showing->diff);
    struct str line;

    /* After the two lines that name the file. */
    (void)str_cut(&rest, '\n', &line);
    (void)str_cut(&rest, '\n', &line);
    while (str_cut(&rest, '\n', &line)) {
        showing->added += line.len > 0 && line.ptr[0] == '+';
        showing->removed += line.len > 0 && line.ptr[0] == '-';
    }
}

/* Fills in the diff, or why there is none. */
static int compare_texts(struct showing *showing, const struct copies_difference *item)
{
    const struct diff_options options = {
        .name = item->name, .is_added = !item->has_original, .is_deleted = !item->has_copy};
    const struct cancel *cancel = &showing->task->cancel;
    int r = 0;

    buf_clear(&showing->before);
    buf_clear(&showing->after);
    buf_clear(&showing->diff);
    if (item->is_sensitive) {
        showing->unshown = "its content is not shown, since such files usually hold secrets";
        return 0;
    }
    if (item->has_original)
        r = read_side(showing->task->project, item->name, cancel, &showing->before);
    if (r == 0 && item->has_copy)
        r = read_side(showing->task->copy, item->name, cancel, &showing->after);
    if (r == ERR_TOO_LARGE)
        showing->unshown = "it is too large to be shown";
    else if (r < 0)
        showing->unshown = err_text(r);
    else if (str_has_nul(buf_view(&showing->before)) || str_has_nul(buf_view(&showing->after)))
        showing->unshown = "it is not a text";
    else if (has_long_line(buf_view(&showing->before)) || has_long_line(buf_view(&showing->after)))
        showing->unshown = "a line of it is too long to be shown";
    else
        r = diff_unified(buf_view(&showing->before), buf_view(&showing->after), &options,
                         &showing->diff);
    if (r == ERR_TOO_LARGE && showing->unshown == NULL) {
        showing->unshown = "there are too many differences to be shown";
        buf_clear(&showing->diff);
    }
    return cancel_check(cancel);
}

static const char *colour_of(struct str line, bool is_head)
{
    if (is_head)
        return BOLD;
    if (line.len == 0)
        return NULL;
    return line.ptr[0] == '+' ? GREEN : line.ptr[0] == '-' ? RED : line.ptr[0] == '@' ? CYAN : NULL;
}

static void print_diff(struct showing *showing)
{
    struct str rest = buf_view(&showing->diff);
    struct str line;

    for (size_t i = 0; rest.len > 0 && str_cut(&rest, '\n', &line); i++) {
        const char *colour = showing->has_colour ? colour_of(line, i < 2) : NULL;

        if (colour != NULL)
            output_str(showing->output, str_from(colour));
        if (showing->is_escaped)
            output_shown(showing->output, line, PRINTABLE_TABS | PRINTABLE_BLANKS);
        else
            output_str(showing->output, line);
        if (colour != NULL)
            output_str(showing->output, STR(PLAIN));
        output_line_end(showing->output);
    }
}

/* Lines that patch(1) passes over. */
static void print_note(struct showing *showing, struct str name, const char *words)
{
    output_str(showing->output, STR("# "));
    output_shown(showing->output, name, PRINTABLE_LINE);
    output_printf(showing->output, ": %s", words);
    output_line_end(showing->output);
}

static const char *words_of(const struct copies_difference *item)
{
    bool is_directory = item->type == AUTHORITY_DIRECTORY;

    switch (item->change) {
    case COPIES_ADDED:
        return is_directory                      ? "directory added"
               : item->type == AUTHORITY_SYMLINK ? "link added"
               : item->type == AUTHORITY_OTHER   ? "added, not a file"
                                                 : "added";
    case COPIES_MODIFIED:
        return "modified";
    case COPIES_MODE:
        return (item->copy.mode & 0111) != 0 ? "can be executed now"
                                             : "cannot be executed any more";
    case COPIES_DELETED:
        return is_directory ? "directory deleted" : "deleted";
    }
    return "";
}

/* The lines of a diff do not tell. */
static bool becomes_executable(const struct copies_difference *item)
{
    return item->has_copy && (item->copy.mode & 0111) != 0 &&
           (!item->has_original || (item->original.mode & 0111) == 0);
}

static void print_text(struct showing *showing, const struct copies_difference *item)
{
    char words[ERR_MESSAGE_BYTES];

    if (item->refusal != NULL || item->conflict != NULL) {
        snprintf(words, sizeof(words), "%s: %s",
                 item->refusal != NULL ? "cannot be applied" : "conflict",
                 item->refusal != NULL ? item->refusal : item->conflict);
        print_note(showing, item->name, words);
    }
    if (showing->diff.len > 0 && !showing->only_counts) {
        if (becomes_executable(item))
            print_note(showing, item->name, "can be executed now");
        print_diff(showing);
        return;
    }
    if (showing->only_counts && showing->unshown == NULL && item->type == AUTHORITY_FILE &&
        item->change != COPIES_MODE)
        snprintf(words, sizeof(words), "%s, +%" PRIu64 " -%" PRIu64, words_of(item), showing->added,
                 showing->removed);
    else if (showing->unshown != NULL)
        snprintf(words, sizeof(words), "%s; %s", words_of(item), showing->unshown);
    else
        snprintf(words, sizeof(words), "%s", words_of(item));
    print_note(showing, item->name, words);
}

/*
 * The kernel's times of changes move in steps, so a file could be changed once more within the same
 * one, and its id would not tell.
 */
static bool is_settled(const struct showing *showing, const struct copies_difference *item)
{
    enum { NS_PER_MS = 1000000 };

    return !item->has_copy ||
           (int64_t)(item->copy.changed_ns / NS_PER_MS) <= showing->since_ms - SETTLED_MS;
}

static void print_page_members(struct showing *showing, const struct copies_difference *item)
{
    char id[COPIES_ID_CHARS + 1];

    copies_change_id(item, id);
    if (item->refusal == NULL && is_settled(showing, item))
        json_put_str(showing->json, STR("id"), str_from(id));
    else if (item->refusal == NULL)
        json_put_str(showing->json, STR("refused"), STR("it is being changed: look again"));
    json_put_str(showing->json, STR("words"), str_from(words_of(item)));
    json_put_bool(showing->json, STR("becomesExecutable"), becomes_executable(item));
    if (showing->unshown == NULL && showing->diff.len > MAX_PAGE_BYTES - showing->diffs_bytes)
        showing->unshown = "there is too much to show here: see 'gatehouse workspace diff'";
    if (showing->unshown == NULL)
        showing->diffs_bytes += showing->diff.len;
}

static void print_json(struct showing *showing, const struct copies_difference *item)
{
    struct json_writer *json = showing->json;

    json_begin_object(json);
    if (showing->has_ids)
        print_page_members(showing, item);
    json_put_str_lossy(json, STR("path"), item->name);
    json_put_str(json, STR("change"), str_from(copies_change_name(item->change)));
    json_put_str(json, STR("type"),
                 item->type == AUTHORITY_FILE        ? STR("file")
                 : item->type == AUTHORITY_DIRECTORY ? STR("directory")
                 : item->type == AUTHORITY_SYMLINK   ? STR("link")
                                                     : STR("other"));
    if (item->conflict != NULL)
        json_put_str(json, STR("conflict"), str_from(item->conflict));
    if (item->refusal != NULL)
        json_put_str(json, STR("refused"), str_from(item->refusal));
    if (showing->unshown != NULL)
        json_put_str(json, STR("unshown"), str_from(showing->unshown));
    else if (item->type == AUTHORITY_FILE) {
        json_put_int(json, STR("linesAdded"), (int64_t)showing->added);
        json_put_int(json, STR("linesRemoved"), (int64_t)showing->removed);
        if (!showing->only_counts)
            json_put_str_lossy(json, STR("diff"), buf_view(&showing->diff));
    }
    json_end_object(json);
}

static int show_all(struct showing *showing, const struct copies_differences *differences)
{
    int r = 0;

    for (size_t i = 0; i < differences->count && r == 0; i++) {
        const struct copies_difference *item = &differences->items[i];

        showing->added = 0;
        showing->removed = 0;
        showing->unshown = NULL;
        buf_clear(&showing->diff);
        if (item->type == AUTHORITY_FILE && item->refusal == NULL && item->change != COPIES_MODE)
            r = compare_texts(showing, item);
        count_lines(showing);
        if (showing->json != NULL)
            print_json(showing, item);
        else
            print_text(showing, item);
    }
    return r;
}

static int show(struct task *task, const struct copies_differences *differences, bool only_counts,
                struct json_writer *json, struct output *output)
{
    struct showing showing = {.task = task,
                              .output = output,
                              .json = json,
                              .only_counts = only_counts,
                              .has_colour = json == NULL && colour_is_wanted(STDOUT_FILENO),
                              .is_escaped = isatty(STDOUT_FILENO) == 1,
                              .before = BUF_INIT(MAX_SHOWN_BYTES),
                              .after = BUF_INIT(MAX_SHOWN_BYTES),
                              .diff = BUF_INIT(MAX_DIFF_BYTES)};
    int r = show_all(&showing, differences);

    buf_done(&showing.before);
    buf_done(&showing.after);
    buf_done(&showing.diff);
    return r;
}

int show_changes_json(struct task *task, const struct copies_differences *differences,
                      int64_t since_ms, struct json_writer *json)
{
    const struct copies_differences first = {
        .items = differences->items,
        .count = differences->count < COPIES_MAX_CHOSEN ? differences->count : COPIES_MAX_CHOSEN};
    struct showing showing = {.task = task,
                              .json = json,
                              .before = BUF_INIT(MAX_SHOWN_BYTES),
                              .after = BUF_INIT(MAX_SHOWN_BYTES),
                              .diff = BUF_INIT(MAX_DIFF_BYTES),
                              .has_ids = true,
                              .since_ms = since_ms};
    int r;

    json_begin_array(json);
    r = show_all(&showing, &first);
    json_end_array(json);
    buf_done(&showing.before);
    buf_done(&showing.after);
    buf_done(&showing.diff);
    return r;
}

int show_diff(struct task *task, const struct copies_differences *differences, struct err *err)
{
    cleanup_output struct output output = OUTPUT_INIT(STDOUT_FILENO, &stop_signal);
    int r = show(task, differences, false, NULL, &output);

    return r < 0 ? err_set_plain(err, r) : output_finish(&output, err);
}

static int show_json(struct task *task, const struct copies_differences *differences,
                     struct output *output, struct err *err)
{
    cleanup_buf struct buf text = BUF_INIT(MAX_JSON_BYTES);
    struct json_writer json;
    int r;

    json_writer_init(&json, &text);
    json_writer_set_pretty(&json);
    json_begin_object(&json);
    json_put_str(&json, STR("workspace"), str_from(options_argument(task->values, 0)));
    json_put_str_lossy(&json, STR("original"), task->record.original);
    json_key(&json, STR("changes"));
    json_begin_array(&json);
    r = show(task, differences, options_is_on(task->values, WORKSPACE_DIFF_STAT), &json, output);
    json_end_array(&json);
    json_end_object(&json);
    if (r == 0)
        r = json_writer_finish(&json);
    return r < 0 ? err_set_plain(err, r) : write_json(output, &text);
}

int task_diff(struct task *task, struct err *err)
{
    cleanup_differences struct copies_differences differences = COPIES_DIFFERENCES_INIT;
    cleanup_output struct output output = OUTPUT_INIT(STDOUT_FILENO, &stop_signal);
    const struct option_values *values = task->values;
    struct copies_workspace workspace;
    int r = task_open(task, options_argument(values, 0), false, err);

    if (r < 0)
        return r;
    workspace = task_workspace(task);
    r = copies_compare(&workspace, values->arguments + 1, values->argument_count - 1, &differences,
                       err);
    if (r < 0)
        return r;
    if (options_is_on(values, WORKSPACE_DIFF_JSON)) {
        r = show_json(task, &differences, &output, err);
    } else {
        r = show(task, &differences, options_is_on(values, WORKSPACE_DIFF_STAT), NULL, &output);
        if (r < 0)
            (void)err_set_plain(err, r);
    }
    return r == 0 ? output_finish(&output, err) : r;
}
