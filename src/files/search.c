/* SPDX-License-Identifier: Apache-2.0 */
/*
 * search_files: files by name, or matching lines in them. Both forms of its arguments are treated
 * alike: globs for the names (`name`, `filePattern`), and text (`query`) or a regular expression
 * (`pattern`) for the content.
 */
#include "files/tool.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "authority/names/path.h"
#include "authority/names/sensitive.h"
#include "files/excludes.h"
#include "files/globtext.h"
#include "files/nameglob.h"
#include "files/nearest.h"
#include "files/visible.h"
#include "search/search.h"

enum {
    RESULTS = 50,
    MAX_GLOBS = 2,
    /* Of names and lines in the answer, before it becomes JSON: long names repeat with each line.
     */
    ANSWER_MAX_BYTES = 2 << 20,
};

struct search {
    struct tool_call *call;
    struct nameglob globs[MAX_GLOBS];
    size_t glob_count;
    struct excludes excludes;
    struct str name;      /* the first glob, as it was given */
    struct str directory; /* where it starts, relative to the root */
    struct str only;      /* the one file to look into; NULL ptr: all */
    bool names_excluded;  /* a glob names what is left out otherwise */
    struct str text;      /* what is looked for in the files */
    bool is_regex;
    bool ignores_case;
    struct str starts[2];       /* the absolute paths of the directory; the second may be empty */
    _Atomic uint64_t sensitive; /* files left out because they do */
    _Atomic bool has_named;     /* some file has a name that matches the globs */
    _Atomic uint64_t excluded;  /* directories of fetched and built things that were not entered */
    size_t answer_bytes;
    bool is_answer_full;
};

/* ---- names: asked by several threads ---- */

/* By the whole path: a folder above the directory, or the directory itself, may tell. */
static bool is_sensitive(const struct search *search, struct str name)
{
    for (size_t i = 0; i < array_size(search->starts) && search->starts[i].len > 0; i++)
        if (sensitive_is_below(search->starts[i], name))
            return true;
    return false;
}

/* The one file that was named has been decided about. */
static bool is_left_out(const struct search *search, struct str name)
{
    return search->text.len > 0 && search->only.ptr == NULL &&
           !search->call->box->config.searches_sensitive && is_sensitive(search, name);
}

static bool is_wanted(void *data, struct str name)
{
    struct search *search = data;

    if (search->only.ptr != NULL && !str_eq(search->only, name))
        return false;
    for (size_t i = 0; i < search->glob_count; i++)
        if (!nameglob_matches(&search->globs[i], name))
            return false;
    if (!search->has_named)
        search->has_named = true;
    if (excludes_match(&search->excludes, name))
        return false;
    if (!is_left_out(search, name))
        return true;
    search->sensitive++;
    return false;
}

/* Whether some glob names the directory, which is left out otherwise. */
static bool is_named(const struct search *search, struct str component)
{
    for (size_t i = 0; i < search->glob_count; i++)
        if (nameglob_names(&search->globs[i], component))
            return true;
    return false;
}

static bool is_entered(void *data, struct str directory)
{
    struct search *search = data;
    struct str component = visible_last(directory);

    if (search->only.ptr != NULL || excludes_match(&search->excludes, directory))
        return false;
    for (size_t i = 0; i < search->glob_count; i++)
        if (!nameglob_may_match_below(&search->globs[i], directory))
            return false;
    if (!visible_is_excluded(component) || is_named(search, component))
        return true;
    /* Nobody misses version control's own. */
    search->excluded += visible_in_list(component, AUTHORITY_DIRECTORY);
    return false;
}

static void report(void *data, uint64_t files)
{
    const struct search *search = data;

    tool_report(search->call, files, 0, "searching");
}

/* ---- arguments ---- */

/* A glob that would be a silent zero, with advice. */
static int refuse_glob(struct str key, struct str text, const char *why, struct err *err)
{
    char shown[TOOL_SHOWN_BYTES];

    return err_set_field(err, ERR_INVALID_ARGUMENT, key.ptr, "%s '%s' can match nothing: %s",
                         key.ptr, tool_show(text, shown), why);
}

/* Makes an absolute glob inside the root relative to where the search starts. */
static int take_absolute(const struct search *search, struct str key, struct str given,
                         struct str *text, struct err *err)
{
    struct str below = given;
    struct str start = search->directory;
    const struct tool_folder *folder = tool_folder_of(search->call->box, &below);

    if (folder == NULL)
        return 0; /* "/name" begins at the top */
    if (folder != tool_folder_of(search->call->box, &start))
        return refuse_glob(key, given, "it is not below dirPath", err);
    while (str_starts_with(below, STR("/")))
        below = str_slice(below, 1, below.len);
    if (start.len > 0) {
        if (!path_is_within(below, start))
            return refuse_glob(key, given, "it is not below dirPath", err);
        below = str_slice(below, start.len, below.len);
    }
    /* A slash, or it would match in any directory. */
    if (below.len == 0)
        *text = STR("**");
    else if (memchr(below.ptr, '/', below.len) != NULL)
        *text = below;
    else
        *text = str_slice(given, given.len - below.len - 1, given.len);
    return 0;
}

/* Whether a directory that a glob names exists below the start. */
struct looking {
    const struct search *search;
    struct path_name first_missing;
    bool is_any_missing;
};

static int look_for(void *data, struct str directory)
{
    __attribute__((uninitialized)) struct path_name path;
    struct looking *looking = data;
    struct authority_stat about;

    if (path_join(looking->search->directory, directory, &path) < 0)
        return 0;
    if (authority_stat(looking->search->call->box->config.files, path_view(&path), &about, NULL) ==
            0 &&
        about.type == AUTHORITY_DIRECTORY)
        return 1;
    if (!looking->is_any_missing)
        looking->first_missing = path;
    looking->is_any_missing = true;
    return 0;
}

static int check_directories(const struct search *search, struct str key, struct str text,
                             const struct nameglob *glob, struct err *err)
{
    __attribute__((uninitialized)) struct looking looking;
    char words[NEAREST_WORDS_BYTES];
    char shown[TOOL_SHOWN_BYTES];
    char why[ERR_MESSAGE_BYTES];

    looking.search = search;
    looking.is_any_missing = false;
    if (nameglob_each_directory(glob, look_for, &looking) == 1 || !looking.is_any_missing)
        return 0;
    tool_show(path_view(&looking.first_missing), shown);
    if (nearest_explain(search->call, path_view(&looking.first_missing), words))
        snprintf(why, sizeof(why), "there is no directory %.60s; %s", shown, words);
    else
        snprintf(why, sizeof(why), "there is no directory %s", shown);
    return refuse_glob(key, text, why, err);
}

/* A plain name of a directory stands for what lies below it. */
static bool is_directory(const struct search *search, struct str text)
{
    __attribute__((uninitialized)) struct path_name path;
    __attribute__((uninitialized)) struct path_name name;
    struct authority_stat about;

    return globtext_is_literal(text) && path_normalise(text, NULL, false, &name) == 0 &&
           name.len > 0 && path_join(search->directory, path_view(&name), &path) == 0 &&
           authority_stat(search->call->box->config.files, path_view(&path), &about, NULL) == 0 &&
           about.type == AUTHORITY_DIRECTORY;
}

static int compile_glob(struct search *search, struct str key, struct str text,
                        struct nameglob *out_glob, struct err *err)
{
    struct arena *arena = &search->call->arena;
    struct err why = ERR_INIT;
    int r;

    if (is_directory(search, text)) {
        char *below = arena_alloc(arena, text.len + 1);

        if (below == NULL)
            return err_set_plain(err, arena->error);
        memcpy(below, text.ptr, text.len);
        below[text.len] = '/';
        text = (struct str){below, text.len + 1};
    }
    r = nameglob_compile(arena, text, search->ignores_case, out_glob, &why);
    if (r < 0)
        return why.code == ERR_INVALID_ARGUMENT
                   ? err_set_field(err, r, key.ptr, "%s: %s", key.ptr, why.message)
                   : err_set_plain(err, r);
    /* Names in another case may exist. */
    return search->ignores_case ? 0 : check_directories(search, key, text, out_glob, err);
}

static int add_glob(struct search *search, struct str key, struct err *err)
{
    struct nameglob *glob = &search->globs[search->glob_count];
    struct str start = search->directory;
    struct str given;
    struct str text;
    int r = 0;

    if (!json_get_str(search->call->arguments, key, &given))
        return 0;
    text = given;
    if (str_starts_with(given, STR("/")))
        r = take_absolute(search, key, given, &text, err);
    if (r < 0)
        return r;
    r = compile_glob(search, key, text, glob, err);
    /* Many give the path from the root, although the search starts below it. */
    if (r == ERR_INVALID_ARGUMENT && start.len > 0 && path_is_within(text, start) &&
        text.len > start.len + 1 &&
        compile_glob(search, key, str_slice(text, start.len, text.len), glob, NULL) == 0)
        r = 0;
    if (r < 0)
        return r;
    if (search->glob_count++ == 0)
        search->name = given;
    return 0;
}

static void note_excluded(struct search *search)
{
    for (size_t i = 0; i < search->glob_count; i++)
        if (visible_names_excluded(&search->globs[i]))
            search->names_excluded = true;
}

static int find_absolute(struct search *search, const char *root, struct str below, size_t index)
{
    __attribute__((uninitialized)) struct path_name path;
    int r = path_join(str_from(root), below, &path);

    if (r == 0 && !arena_copy_str(&search->call->arena, path_view(&path), &search->starts[index]))
        r = search->call->arena.error;
    return r;
}

/* As permission is decided by both paths of a folder. */
static int find_starts(struct search *search)
{
    struct str below = search->directory;
    const struct tool_folder *folder = tool_folder_of(search->call->box, &below);
    int r = folder != NULL ? find_absolute(search, folder->root_path, below, 0) : ERR_INTERNAL;

    if (r == 0 && folder->given_path != NULL && strcmp(folder->given_path, folder->root_path) != 0)
        r = find_absolute(search, folder->given_path, below, 1);
    return r;
}

/* What is searched: a directory, or one file of it. */
static int find_start(struct search *search, struct err *err)
{
    struct str name = tool_name(search->call, 0);
    struct authority_stat about;
    int r = authority_stat(search->call->box->config.files, name, &about, err);

    search->directory = name;
    if (r == 0 && about.type == AUTHORITY_FILE)
        path_split(name, &search->directory, &search->only);
    if (r == 0) {
        r = find_starts(search);
        if (r < 0)
            (void)err_set_plain(err, r);
    }
    return r;
}

static int read_arguments(struct search *search, struct err *err)
{
    const struct json_value *arguments = search->call->arguments;
    struct str regex;
    int r;

    (void)json_get_bool(arguments, STR("ignoreCase"), &search->ignores_case);
    r = find_start(search, err);
    if (r == 0)
        r = add_glob(search, STR("name"), err);
    if (r == 0)
        r = add_glob(search, STR("filePattern"), err);
    if (r == 0)
        r = excludes_read(search->call, search->directory, &search->excludes, err);
    if (r < 0)
        return r;
    note_excluded(search);
    (void)json_get_str(arguments, STR("query"), &search->text);
    if (json_get_str(arguments, STR("pattern"), &regex)) {
        if (search->text.ptr != NULL)
            return err_set(err, ERR_INVALID_ARGUMENT,
                           "give query for plain text or pattern for a regular expression, not "
                           "both");
        search->text = regex;
        search->is_regex = true;
    }
    if (search->text.ptr != NULL && search->text.len == 0)
        return err_set(err, ERR_INVALID_ARGUMENT, "%s is empty: give a text to search for",
                       search->is_regex ? "pattern" : "query");
    return 0;
}

static int64_t between(int64_t least, int64_t number, int64_t most)
{
    return number < least ? least : number > most ? most : number;
}

/* ---- the result ---- */

static void write_lines(struct json_writer *w, struct str key, const struct str *lines,
                        size_t count)
{
    if (count == 0)
        return;
    json_key(w, key);
    json_begin_array(w);
    for (size_t i = 0; i < count; i++)
        json_write_str(w, lines[i]);
    json_end_array(w);
}

/* Names as the client gives them: relative to the root. */
static bool write_path(const struct search *search, struct json_writer *w, struct str found)
{
    __attribute__((uninitialized)) struct path_name path;

    if (path_join(search->directory, found, &path) < 0)
        return false; /* no name can reach it */
    json_put_str_lossy(w, STR("path"), path_view(&path));
    return true;
}

static size_t bytes_of(const struct str *lines, size_t count)
{
    size_t bytes = 0;

    for (size_t i = 0; i < count; i++)
        bytes += lines[i].len;
    return bytes;
}

/* Whether this much more fits; everything after something that does not fit is omitted too. */
static bool fits(struct search *search, size_t bytes)
{
    search->answer_bytes += bytes + search->directory.len;
    if (search->answer_bytes > ANSWER_MAX_BYTES)
        search->is_answer_full = true;
    return !search->is_answer_full;
}

static void write_file(struct search *search, struct json_writer *w, const struct search_file *file)
{
    if (search->text.ptr == NULL && fits(search, file->name.len)) {
        json_begin_object(w);
        (void)write_path(search, w, file->name);
        json_end_object(w);
    }
    for (size_t i = 0; i < file->match_count; i++) {
        const struct search_match *match = &file->matches[i];

        if (!fits(search, file->name.len + match->text.len +
                              bytes_of(match->before, match->before_count) +
                              bytes_of(match->after, match->after_count)))
            return;
        json_begin_object(w);
        (void)write_path(search, w, file->name);
        json_put_int(w, STR("lineNumber"), (int64_t)match->line_number);
        json_put_str(w, STR("line"), match->text);
        write_lines(w, STR("before"), match->before, match->before_count);
        write_lines(w, STR("after"), match->after, match->after_count);
        json_end_object(w);
    }
}

static void write_count(struct json_writer *w, struct str key, uint64_t count)
{
    if (count == 0)
        return;
    json_put_int(w, key, (int64_t)count);
}

static bool has_hardlinks(const struct search_result *result)
{
    for (size_t i = 0; result->missed != NULL && i < result->missed_count && i < SEARCH_MAX_MISSED;
         i++)
        if (result->missed[i].code == ERR_HARDLINK_REJECTED)
            return true;
    return false;
}

/* What would include what was left out. */
static void write_hint(const struct search *search, struct json_writer *w,
                       const struct search_result *result)
{
    bool needs_option = !search->call->box->config.reads_hardlinks && has_hardlinks(result);
    char hint[384];
    int len;

    if (result->ignored + search->sensitive + search->excluded == 0 && !needs_option)
        return;
    len = snprintf(hint, sizeof(hint), "%s%s%s%s",
                   result->ignored > 0 ? "To search ignored files, set includeIgnored. " : "",
                   search->excluded > 0 ? "To search an excluded directory (node_modules and the "
                                          "like), name it as dirPath. "
                                        : "",
                   search->sensitive > 0 ? "To search a sensitive file, name it as dirPath. " : "",
                   needs_option ? "The user can let you search files with other hard links with "
                                  "--hard-links allow. "
                                : "");
    json_put_str(w, STR("hint"), (struct str){hint, (size_t)len - 1});
}

/* What was not searched, so that silence is not taken for an answer. */
static void write_skipped(const struct search *search, struct json_writer *w,
                          const struct search_result *result)
{
    if (result->binary + result->too_large + result->missed_count + result->ignored +
            search->sensitive + search->excluded ==
        0)
        return;
    json_key(w, STR("skipped"));
    json_begin_object(w);
    write_count(w, STR("binary"), result->binary);
    write_count(w, STR("tooLarge"), result->too_large);
    write_count(w, STR("sensitive"), search->sensitive);
    write_count(w, STR("ignored"), result->ignored);
    write_count(w, STR("excluded"), search->excluded);
    write_count(w, STR("unreadable"), result->missed_count);
    if (result->missed_count > 0 && result->missed != NULL) {
        json_key(w, STR("firstUnreadable"));
        json_begin_array(w);
        for (size_t i = 0; i < result->missed_count && i < SEARCH_MAX_MISSED; i++) {
            json_begin_object(w);
            (void)write_path(search, w, str_from(result->missed[i].name));
            json_put_str(w, STR("reason"), str_from(err_text(result->missed[i].code)));
            json_end_object(w);
        }
        json_end_array(w);
    }
    write_hint(search, w, result);
    json_end_object(w);
}

/* A text with what only a regular expression needs. */
static bool looks_like_regex(struct str text)
{
    static const struct str signs[] = {STR_LITERAL("|"),   STR_LITERAL(".*"),  STR_LITERAL(".+"),
                                       STR_LITERAL("\\b"), STR_LITERAL("\\d"), STR_LITERAL("\\s"),
                                       STR_LITERAL("\\w"), STR_LITERAL("\\("), STR_LITERAL("\\.")};

    for (size_t i = 0; i < array_size(signs); i++)
        if (str_find(text, signs[i]) != SIZE_MAX)
            return true;
    return false;
}

static bool has(struct str text, const char *part)
{
    return str_find(text, str_from(part)) != SIZE_MAX;
}

/* What else may have been meant by a text that is nowhere; NULL if nothing. */
static const char *explain_text(const struct search *search)
{
    struct str text = search->text;

    if (text.ptr == NULL)
        return NULL;
    if (!search->is_regex)
        return looks_like_regex(text)
                   ? "query is literal text; use pattern for a regular expression"
                   : NULL;
    if (has(text, "\\|"))
        return "in a pattern \\| is a plain |; alternatives are a|b";
    if (has(text, "\\<") || has(text, "\\>"))
        return "in a pattern \\< and \\> are plain < and >; \\b is the beginning or end of a word";
    if (text.len > 2 && text.ptr[0] == '/' && memrchr(text.ptr + 1, '/', text.len - 1) != NULL)
        return "the slashes around a pattern are part of it; leave them out";
    return NULL;
}

/* The same for globs that match no name. */
static const char *explain_globs(const struct search *search)
{
    struct str glob = search->name;

    if (str_starts_with(glob, STR("!")))
        return "no file has such a name; to leave files out, use excludePatterns";
    if (has(glob, ",") && !has(glob, "{"))
        return "no file has such a name; write several globs as {*.ts,*.js}";
    if (has(glob, "|"))
        return "no file has such a name; write alternatives as {a,b}";
    if (globtext_is_literal(glob))
        return "no file has this name; to find a part of a name, put * before and behind it";
    return "no file that was searched has such a name";
}

static void write_advice(const struct search *search, struct json_writer *w)
{
    const char *words =
        search->glob_count > 0 && !search->has_named ? explain_globs(search) : explain_text(search);

    if (words != NULL)
        json_put_str(w, STR("hint"), str_from(words));
}

static int write_result(struct search *search, const struct search_result *result, struct buf *out)
{
    struct json_writer w;

    json_writer_init(&w, out);
    json_begin_object(&w);
    if (search->glob_count > 0)
        json_put_str(&w, STR("name"), search->name);
    if (search->text.ptr != NULL)
        json_put_str(&w, search->is_regex ? STR("pattern") : STR("query"), search->text);
    json_key(&w, STR("matches"));
    json_begin_array(&w);
    for (size_t i = 0; i < result->file_count && !search->is_answer_full; i++)
        write_file(search, &w, result->files[i]);
    json_end_array(&w);
    json_put_bool(&w, STR("truncated"), result->is_truncated || search->is_answer_full);
    json_put_int(&w, STR("totalMatches"), (int64_t)result->total);
    if (result->is_total_a_minimum)
        json_put_bool(&w, STR("totalIsMinimum"), true);
    if (result->total == 0)
        write_advice(search, &w);
    write_skipped(search, &w, result);
    json_end_object(&w);
    return json_writer_finish(&w);
}

/* ---- the tool ---- */

static int compile_text(const struct search *search, struct pattern **out_pattern, struct err *err)
{
    const struct pattern_options how = {.is_regex = search->is_regex,
                                        .ignores_case = search->ignores_case};
    struct err why = ERR_INIT;
    int r = pattern_compile(search->text, &how, out_pattern, &why);

    if (r == ERR_INVALID_ARGUMENT && search->is_regex &&
        memchr(search->text.ptr, '\n', search->text.len) == NULL)
        return err_set_field(err, r, "pattern",
                             "%s; for plain text use query, for the names of files name",
                             why.message);
    if (r < 0 && err != NULL)
        *err = why;
    return r;
}

static int run(struct search *search, struct buf *out, struct err *err)
{
    const struct tool_call *call = search->call;
    const struct toolbox_config *config = &call->box->config;
    cleanup_search_result struct search_result result = {.total = 0};
    cleanup_pattern struct pattern *pattern = NULL;
    struct search_request request = {
        .directory = search->directory,
        .enters = is_entered,
        .wants = is_wanted,
        .filter_data = search,
        .heeds_ignore_files = true,
        .context_lines =
            (unsigned)between(0, tool_int(call, STR("contextLines"), 0), SEARCH_MAX_CONTEXT),
        .max_results = tool_max_results(call, RESULTS, SEARCH_MAX_RESULTS),
        .max_counted = config->max_matches,
        .progress = report,
        .progress_data = search,
        .cancel = call->cancel,
    };
    bool includes_ignored = false;
    int r = 0;

    (void)json_get_bool(call->arguments, STR("includeIgnored"), &includes_ignored);
    /* Whoever names something gets it. */
    request.heeds_ignore_files =
        !includes_ignored && !search->names_excluded && search->only.ptr == NULL;
    if (search->text.ptr != NULL)
        r = compile_text(search, &pattern, err);
    if (r < 0)
        return r;
    request.pattern = pattern;
    r = search_run(config->files, &request, &result, err);
    return r < 0 ? r : write_result(search, &result, out);
}

int tool_search_files(struct tool_call *call, struct buf *out, struct err *err)
{
    struct search *search = arena_new(&call->arena, struct search);
    int r;

    if (search == NULL)
        return err_set_plain(err, call->arena.error);
    *search = (struct search){.call = call};
    r = read_arguments(search, err);
    return r < 0 ? r : run(search, out, err);
}
