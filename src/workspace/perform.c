/* SPDX-License-Identifier: Apache-2.0 */
#include "workspace/perform.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/jsonwrite.h"
#include "base/utf8.h"
#include "protocol/workspacetoolids.h"
#include "workspace/background.h"
#include "workspace/kept.h"

enum {
    ARENA_BYTES = 3 * WORKSPACE_MAX_FILE_BYTES,
    RESULT_BYTES = 256 << 20, /* a file whose every byte is escaped */
    MAX_LINES = 2000,
    MAX_LISTED = 1000,
    MAX_MATCHES = 200,
    MATCH_BYTES = 2000, /* of a line that is shown */
    MATCHES_BYTES = 1 << 20,
    HALF_BYTES = 64 << 10, /* kept at either end of a stream */
    COMMAND_BYTES = 64 << 10,
    TEXT_WAIT_MS = 30000, /* for a text, unless the call says otherwise */
    LAST_LINES = 50,      /* of a command that was killed */
    NO_MATCH = 1,         /* exit status of grep */
};

struct performance {
    struct workspace *workspace;
    const struct catalog_tool *tool;
    struct perform_events events;
    struct arena arena;
    const struct json_value *arguments;
    struct workspace_call *call;
    struct background_watch *watch; /* instead of a call */
    struct str path;
    struct kept_stream streams[2]; /* output, errors */
    uint64_t written;
    int64_t replacements; /* of an edit; 0: the file was not read yet */
};

static void on_done(void *data, const struct err *err, const struct workspace_answer *answer);
static void on_output(void *data, bool is_error, struct str bytes);

/* ---- arguments ---- */

static struct str text_of(const struct performance *p, const char *name)
{
    struct str text = STR_EMPTY;

    (void)json_get_str(p->arguments, str_from(name), &text);
    return text;
}

static bool is_on(const struct performance *p, const char *name, bool fallback)
{
    (void)json_get_bool(p->arguments, str_from(name), &fallback);
    return fallback;
}

static int64_t number_of(const struct performance *p, const char *name, int64_t fallback)
{
    (void)json_get_whole(p->arguments, str_from(name), &fallback);
    return fallback;
}

/* ---- the end ---- */

static void free_performance(struct performance *p)
{
    for (size_t i = 0; i < array_size(p->streams); i++)
        kept_done(&p->streams[i]);
    arena_done(&p->arena);
    free(p);
}

void perform_cancel(struct performance *performance)
{
    if (performance == NULL)
        return;
    workspace_cancel(performance->call);
    background_leave(performance->watch);
    free_performance(performance);
}

static void finish(struct performance *p, const struct err *err, struct str object)
{
    const struct perform_events events = p->events;

    p->call = NULL;
    p->watch = NULL;
    events.on_done(events.data, err, object);
    free_performance(p);
}

/* ---- results ---- */

static void write_lines(const struct performance *p, struct str content, struct json_writer *json)
{
    int64_t first = number_of(p, "startLine", 1);
    int64_t wanted = number_of(p, "maxLines", MAX_LINES);
    int64_t line = 0;
    size_t start = content.len; /* unless there is such a line */
    size_t end = start;
    struct str rest = content;

    wanted = wanted < MAX_LINES ? wanted : MAX_LINES;
    while (rest.len > 0) {
        const char *newline = memchr(rest.ptr, '\n', rest.len);
        size_t len = newline != NULL ? (size_t)(newline - rest.ptr) + 1 : rest.len;

        line++;
        if (line == first)
            start = content.len - rest.len;
        if (line == first + wanted)
            end = content.len - rest.len;
        rest = str_slice(rest, len, rest.len);
    }
    json_put_str(json, STR("content"), str_slice(content, start, end - start));
    json_put_int(json, STR("totalLines"), line);
    if (line >= first + wanted) {
        json_put_int(json, STR("nextStartLine"), first + wanted);
        json_put_bool(json, STR("truncated"), true);
    }
}

static int compare_entries(const void *a, const void *b)
{
    return str_compare(((const struct workspace_entry *)a)->name,
                       ((const struct workspace_entry *)b)->name);
}

static int write_entries(struct performance *p, const struct workspace_answer *answer,
                         struct json_writer *json)
{
    struct workspace_entry *sorted =
        arena_alloc_array(&p->arena, answer->count + 1, sizeof(*sorted));

    if (sorted == NULL)
        return p->arena.error;
    if (answer->count > 0) {
        memcpy(sorted, answer->entries, answer->count * sizeof(*sorted));
        qsort(sorted, answer->count, sizeof(*sorted), compare_entries);
    }
    json_key(json, STR("entries"));
    json_begin_array(json);
    for (size_t i = 0; i < answer->count && i < MAX_LISTED; i++) {
        json_begin_object(json);
        json_put_str_lossy(json, STR("name"), sorted[i].name);
        json_put_str(json, STR("type"), sorted[i].is_directory ? STR("directory") : STR("file"));
        if (!sorted[i].is_directory)
            json_put_int(json, STR("size"), (int64_t)sorted[i].size);
        json_end_object(json);
    }
    json_end_array(json);
    if (answer->count > MAX_LISTED)
        json_put_bool(json, STR("truncated"), true);
    return 0;
}

static void write_stat(const struct workspace_answer *answer, struct json_writer *json)
{
    const struct workspace_entry *entry = &answer->entries[0];
    char time[CLOCK_ISO_BYTES];

    json_put_str(json, STR("type"), entry->is_directory ? STR("directory") : STR("file"));
    json_put_int(json, STR("size"), (int64_t)entry->size);
    if (entry->modified_ms != 0) {
        clock_format_iso(entry->modified_ms, time);
        json_put_str(json, STR("modifiedAt"), str_from(time));
    }
}

/* "PATH\0LINE:TEXT"; false for a line of another form. */
static bool write_match(struct str line, struct json_writer *json)
{
    struct str path;
    struct str number;
    int64_t at;

    if (!str_cut(&line, '\0', &path) || !str_cut(&line, ':', &number) || !str_to_int64(number, &at))
        return false;
    if (str_starts_with(path, STR("./"))) /* the home directory was searched */
        path = str_slice(path, 2, path.len);
    json_begin_object(json);
    json_put_str_lossy(json, STR("path"), path);
    json_put_int(json, STR("line"), at);
    json_put_str_lossy(json, STR("text"), str_slice(line, 0, MATCH_BYTES));
    json_end_object(json);
    return true;
}

static void write_matches(const struct performance *p, struct json_writer *json)
{
    int64_t wanted = number_of(p, "maxMatches", MAX_MATCHES);
    struct str rest = buf_view(&p->streams[0].head);
    bool is_cut = p->streams[0].total > p->streams[0].head.len;
    int64_t count = 0;
    size_t end;

    wanted = wanted < MAX_MATCHES ? wanted : MAX_MATCHES;
    json_key(json, STR("matches"));
    json_begin_array(json);
    while (count < wanted && (end = str_find(rest, STR("\n"))) != SIZE_MAX) {
        count += write_match(str_slice(rest, 0, end), json);
        rest = str_slice(rest, end + 1, rest.len);
    }
    json_end_array(json);
    if (is_cut || rest.len > 0)
        json_put_bool(json, STR("truncated"), true);
}

static int write_command(struct performance *p, const struct workspace_answer *answer,
                         struct json_writer *json)
{
    static const char *const names[] = {"stdout", "stderr"};

    for (size_t i = 0; i < array_size(names); i++) {
        cleanup_buf struct buf text = BUF_INIT(4 * HALF_BYTES);
        int r = kept_show(&p->streams[i], &text);

        if (r < 0)
            return r;
        json_put_str_lossy(json, str_from(names[i]), buf_view(&text));
    }
    json_key(json, STR("exitCode"));
    if (answer->exit_code >= 0)
        json_write_int(json, answer->exit_code);
    else
        json_write_null(json);
    if (answer->is_timed_out)
        json_put_bool(json, STR("timedOut"), true);
    return 0;
}

/* grep ended, but not as it does with or without matches. */
static int refuse_grep(struct performance *p, const struct workspace_answer *answer,
                       struct err *err)
{
    struct str words = buf_view(&p->streams[1].head);
    struct str first = STR_EMPTY;

    if (words.len == 0) /* the provider does not tell them apart */
        words = buf_view(&p->streams[0].head);
    (void)str_cut(&words, '\n', &first);
    if (answer->is_timed_out)
        return err_set(err, ERR_TIMED_OUT, "the search took too long: search fewer files");
    return err_set(err, ERR_INVALID_ARGUMENT, "%.*s", STR_ARG(first));
}

static int put_members(struct performance *p, const struct workspace_answer *answer,
                       struct json_writer *json, struct err *err)
{
    int r = 0;

    switch ((enum workspace_tool_id)p->tool->id) {
    case WORKSPACE_TOOL_READ_FILE:
        write_lines(p, answer->content, json);
        break;
    case WORKSPACE_TOOL_LIST_FILES:
        r = write_entries(p, answer, json);
        break;
    case WORKSPACE_TOOL_STAT:
        write_stat(answer, json);
        break;
    case WORKSPACE_TOOL_GREP:
        if (answer->exit_code != 0 && answer->exit_code != NO_MATCH && p->streams[0].head.len == 0)
            return refuse_grep(p, answer, err);
        write_matches(p, json);
        break;
    case WORKSPACE_TOOL_WRITE_FILE:
        json_put_int(json, STR("bytes"), (int64_t)text_of(p, "content").len);
        break;
    case WORKSPACE_TOOL_EDIT_FILE:
        json_put_int(json, STR("replacements"), p->replacements);
        break;
    case WORKSPACE_TOOL_DELETE_FILE:
        json_put_bool(json, STR("deleted"), true);
        break;
    case WORKSPACE_TOOL_COPY_FILE:
    case WORKSPACE_TOOL_MOVE_FILE:
        json_put_str(json, STR("source"), text_of(p, "source"));
        json_put_str(json, STR("destination"), text_of(p, "destination"));
        break;
    case WORKSPACE_TOOL_MKDIR:
        json_put_bool(json, STR("created"), true);
        break;
    case WORKSPACE_TOOL_EXECUTE_COMMAND:
        r = write_command(p, answer, json);
        break;
    case WORKSPACE_TOOL_GET_PROCESS_OUTPUT:
    case WORKSPACE_TOOL_KILL_PROCESS:
    case WORKSPACE_TOOL_COUNT:
        break;
    }
    return r < 0 ? err_set_plain(err, r) : 0;
}

static bool has_path(const struct catalog_tool *tool)
{
    return tool->id != WORKSPACE_TOOL_GREP && tool->id != WORKSPACE_TOOL_COPY_FILE &&
           tool->id != WORKSPACE_TOOL_MOVE_FILE && tool->id != WORKSPACE_TOOL_EXECUTE_COMMAND;
}

static void report(struct performance *p, const struct workspace_answer *answer)
{
    cleanup_buf struct buf object = BUF_INIT(RESULT_BYTES);
    struct json_writer json;
    struct err err = ERR_INIT;
    int r;

    json_writer_init(&json, &object);
    json_begin_object(&json);
    if (has_path(p->tool))
        json_put_str(&json, STR("path"), p->path);
    r = put_members(p, answer, &json, &err);
    if (r == 0) {
        json_end_object(&json);
        r = json_writer_finish(&json);
        if (r < 0)
            err_set_plain(&err, r);
    }
    finish(p, r < 0 ? &err : NULL, buf_view(&object));
}

/* ---- edits ---- */

static int replace(const struct performance *p, struct str content, struct buf *out,
                   int64_t *out_count, struct err *err)
{
    struct str old = text_of(p, "oldString");
    struct str new = text_of(p, "newString");
    struct str rest = content;
    int64_t count = 0;
    size_t at;
    int r = 0;

    while (r == 0 && (at = str_find(rest, old)) != SIZE_MAX) {
        count++;
        r = buf_append_str(out, str_slice(rest, 0, at));
        if (r == 0)
            r = buf_append_str(out, new);
        rest = str_slice(rest, at + old.len, rest.len);
    }
    if (r == 0)
        r = buf_append_str(out, rest);
    if (r < 0)
        return err_set_plain(err, r);
    if (count == 0)
        return err_set(err, ERR_NOT_FOUND, "oldString is not in the file: read it again");
    if (count > 1 && !is_on(p, "replaceAll", false))
        return err_set(err, ERR_INVALID_ARGUMENT,
                       "oldString is in the file %lld times: add lines around it, or set "
                       "replaceAll",
                       (long long)count);
    *out_count = count;
    return 0;
}

/* The file was read; now it is written. */
static void write_edited(struct performance *p, struct str content)
{
    cleanup_buf struct buf edited = BUF_INIT(WORKSPACE_MAX_FILE_BYTES);
    const struct workspace_events events = {.on_done = on_done, .data = p};
    struct workspace_request request = {
        .action = WORKSPACE_WRITE, .path = p->path, .replaces = true};
    struct err err = ERR_INIT;

    if (replace(p, content, &edited, &p->replacements, &err) == 0) {
        request.content = buf_view(&edited);
        (void)workspace_begin(p->workspace, &request, &events, &p->call, &err);
    }
    if (err.code != 0)
        finish(p, &err, STR_EMPTY);
}

/* ---- the workspace's side ---- */

static size_t half_of(const struct performance *p)
{
    return p->tool->id == WORKSPACE_TOOL_GREP ? MATCHES_BYTES : HALF_BYTES;
}

static void on_output(void *data, bool is_error, struct str bytes)
{
    struct performance *p = data;

    kept_add(&p->streams[is_error ? 1 : 0], bytes);
    p->written += bytes.len;
    if (p->tool->id == WORKSPACE_TOOL_EXECUTE_COMMAND && p->events.on_progress != NULL)
        p->events.on_progress(p->events.data, p->written);
}

static void on_done(void *data, const struct err *err, const struct workspace_answer *answer)
{
    struct performance *p = data;
    struct err why = ERR_INIT;

    p->call = NULL;
    if (err == NULL && p->tool->id == WORKSPACE_TOOL_READ_FILE &&
        (!utf8_is_valid(answer->content) || str_has_nul(answer->content))) {
        err_set(&why, ERR_INVALID_UTF8, "this is no text file, and has %zu bytes",
                answer->content.len);
        err = &why;
    }
    if (err != NULL)
        finish(p, err, STR_EMPTY);
    else if (p->tool->id == WORKSPACE_TOOL_EDIT_FILE && p->replacements == 0)
        write_edited(p, answer->content);
    else
        report(p, answer);
}

/* 'it'\''s' */
static int quote(struct buf *out, struct str word)
{
    int r = buf_append_char(out, '\'');

    for (size_t i = 0; i < word.len && r == 0; i++)
        r = word.ptr[i] == '\'' ? buf_append_str(out, STR("'\\''"))
                                : buf_append_char(out, word.ptr[i]);
    return r == 0 ? buf_append_char(out, '\'') : r;
}

/* The workspace's own grep is next to the files. */
static int make_grep(const struct performance *p, struct buf *out)
{
    struct str include = text_of(p, "include");
    int r = buf_append_str(out, is_on(p, "ignoreCase", false) ? STR("grep -rnIEZi ")
                                                              : STR("grep -rnIEZ "));

    /* -H: a file alone has its name, too. */
    if (r == 0)
        r = buf_append_str(out, STR("-H "));
    if (r == 0 && include.len > 0) {
        r = buf_append_str(out, STR("--include="));
        if (r == 0)
            r = quote(out, include);
        if (r == 0)
            r = buf_append_char(out, ' ');
    }
    if (r == 0)
        r = buf_append_str(out, STR("-e "));
    if (r == 0)
        r = quote(out, text_of(p, "pattern"));
    if (r == 0)
        r = buf_append_str(out, STR(" -- "));
    return r == 0 ? quote(out, p->path.len > 0 ? p->path : STR(".")) : r;
}

static void fill(const struct performance *p, struct workspace_request *request)
{
    request->path = p->path;
    switch ((enum workspace_tool_id)p->tool->id) {
    case WORKSPACE_TOOL_READ_FILE:
    case WORKSPACE_TOOL_EDIT_FILE:
        request->action = WORKSPACE_READ;
        break;
    case WORKSPACE_TOOL_LIST_FILES:
        request->action = WORKSPACE_LIST;
        request->is_recursive = is_on(p, "recursive", false);
        break;
    case WORKSPACE_TOOL_STAT:
        request->action = WORKSPACE_STAT;
        break;
    case WORKSPACE_TOOL_WRITE_FILE:
        request->action = WORKSPACE_WRITE;
        request->content = text_of(p, "content");
        request->replaces = is_on(p, "overwrite", true);
        request->is_executable = is_on(p, "executable", false);
        break;
    case WORKSPACE_TOOL_DELETE_FILE:
        request->action = WORKSPACE_DELETE;
        request->is_recursive = is_on(p, "recursive", false);
        request->may_be_missing = is_on(p, "force", false);
        break;
    case WORKSPACE_TOOL_COPY_FILE:
    case WORKSPACE_TOOL_MOVE_FILE:
        request->action = p->tool->id == WORKSPACE_TOOL_COPY_FILE ? WORKSPACE_COPY : WORKSPACE_MOVE;
        request->path = text_of(p, "source");
        request->target = text_of(p, "destination");
        request->is_recursive = is_on(p, "recursive", false);
        request->replaces = is_on(p, "overwrite", false);
        break;
    case WORKSPACE_TOOL_MKDIR:
        request->action = WORKSPACE_MKDIR;
        request->is_recursive = true;
        break;
    case WORKSPACE_TOOL_EXECUTE_COMMAND:
        request->action = WORKSPACE_EXECUTE;
        request->path = text_of(p, "cwd");
        request->command = text_of(p, "command");
        request->timeout_ms = number_of(p, "timeout", 0);
        break;
    case WORKSPACE_TOOL_GREP:
        request->action = WORKSPACE_EXECUTE;
        request->path = STR_EMPTY;
        request->timeout_ms = WORKSPACE_FILE_MS;
        break;
    case WORKSPACE_TOOL_GET_PROCESS_OUTPUT:
    case WORKSPACE_TOOL_KILL_PROCESS:
    case WORKSPACE_TOOL_COUNT:
        break;
    }
}

/* ---- commands in the background ---- */

static bool is_background(const struct performance *p)
{
    return p->tool->id == WORKSPACE_TOOL_GET_PROCESS_OUTPUT ||
           p->tool->id == WORKSPACE_TOOL_KILL_PROCESS ||
           (p->tool->id == WORKSPACE_TOOL_EXECUTE_COMMAND && is_on(p, "background", false));
}

static int write_background(const struct performance *p, struct background *background,
                            struct json_writer *json)
{
    bool kills = p->tool->id == WORKSPACE_TOOL_KILL_PROCESS;

    if (p->tool->id != WORKSPACE_TOOL_EXECUTE_COMMAND)
        return background_write(background, number_of(p, "tail", kills ? LAST_LINES : 0), json);
    json_put_str(json, STR("processId"), str_from(background_id(background)));
    json_put_str(json, STR("stdout"), STR_EMPTY);
    json_put_str(json, STR("stderr"), STR_EMPTY);
    json_key(json, STR("exitCode"));
    json_write_null(json);
    return 0;
}

static void on_background(void *data, const struct err *err, struct background *background)
{
    cleanup_buf struct buf object = BUF_INIT(RESULT_BYTES);
    struct performance *p = data;
    struct json_writer json;
    struct err why = ERR_INIT;
    int r;

    if (err == NULL) {
        json_writer_init(&json, &object);
        json_begin_object(&json);
        r = write_background(p, background, &json);
        json_end_object(&json);
        if (r == 0)
            r = json_writer_finish(&json);
        if (r < 0)
            err_set_plain(&why, r);
    } else {
        why = *err;
    }
    finish(p, why.code != 0 ? &why : NULL, buf_view(&object));
}

static int begin_background(struct performance *p, const struct workspace_request *request,
                            struct err *err)
{
    const struct background_events events = {.on_done = on_background, .data = p};
    struct str text = text_of(p, "waitFor");
    const struct background_wish wish = {
        .id = text_of(p, "processId"),
        .wait_ms = number_of(p, "waitMs", text.len > 0 ? TEXT_WAIT_MS : 0),
        .text = text,
        .kills = p->tool->id == WORKSPACE_TOOL_KILL_PROCESS,
    };

    return p->tool->id == WORKSPACE_TOOL_EXECUTE_COMMAND
               ? background_start(p->workspace, request, &events, &p->watch, err)
               : background_watch(p->workspace, &wish, &events, &p->watch, err);
}

int perform_begin(struct workspace *workspace, const struct catalog_tool *tool,
                  const struct json_value *arguments, const struct perform_events *events,
                  struct performance **out_performance, struct err *err)
{
    cleanup_buf struct buf command = BUF_INIT(COMMAND_BYTES);
    const struct workspace_events steps = {.on_output = on_output, .on_done = on_done};
    struct workspace_request request = {
        .path = STR_EMPTY, .target = STR_EMPTY, .content = STR_EMPTY, .command = STR_EMPTY};
    struct workspace_events begun = steps;
    struct performance *p = calloc(1, sizeof(*p));
    int r = 0;

    if (p == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    p->workspace = workspace;
    p->tool = tool;
    p->events = *events;
    arena_init(&p->arena, ARENA_BYTES);
    for (size_t i = 0; i < array_size(p->streams); i++)
        kept_init(&p->streams[i], half_of(p));
    p->arguments = json_copy(&p->arena, arguments);
    if (p->arguments == NULL)
        r = err_set_plain(err, p->arena.error);
    if (r == 0) {
        p->path = text_of(p, "path");
        fill(p, &request);
        if (tool->id == WORKSPACE_TOOL_GREP) {
            r = make_grep(p, &command);
            request.command = buf_view(&command);
            if (r < 0)
                err_set(err, r, "the pattern is too long");
        }
    }
    begun.data = p;
    if (r == 0 && is_background(p))
        r = begin_background(p, &request, err);
    else if (r == 0)
        r = workspace_begin(workspace, &request, &begun, &p->call, err);
    if (r < 0) {
        free_performance(p);
        return r;
    }
    *out_performance = p;
    return 0;
}
