/* SPDX-License-Identifier: Apache-2.0 */
/*
 * search_files: files by their names. A glob without a slash is matched with the
 * last component, one with a slash with the path below the directory that is
 * searched; both only with all of it. Case is ignored for ASCII letters alone.
 */
#include "tools/tool.h"

#include "authority/glob.h"
#include "authority/path.h"
#include "search/shortlist.h"
#include "tools/visible.h"

enum {
    SEARCH_RESULTS = 50,
    SEARCH_MAX_RESULTS = 10000,
    SEARCH_MAX_COUNTED = 100000, /* matches, until it ends */
    SEARCH_MAX_PATTERNS = 2,
    REPORT_ENTRIES = 1000,
    STOP = AUTHORITY_WALK_SKIP + 1, /* of a visitor: it has seen enough */
};

/*
 * The authority's globs also match all that lies below a match. With a component
 * behind both glob and name that no file has, they match the name alone.
 */
#define END_MARK "/\x01\xFE\x01"

struct pattern {
    const struct glob *glob;
    bool has_slash;
};

struct search {
    struct tool_call *call;
    struct pattern patterns[SEARCH_MAX_PATTERNS];
    size_t pattern_count;
    bool ignores_case;
    struct shortlist matches;
    uint64_t total;
    uint64_t seen;
    /* The name that is being looked at, as the globs want it. */
    char folded[PATH_MAX + sizeof(END_MARK)];
};

static char fold(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

/* Appends to `folded` from `at` on; where the text ends there. */
static size_t put(struct search *search, size_t at, struct str text)
{
    for (size_t i = 0; i < text.len; i++)
        search->folded[at + i] = search->ignores_case ? fold(text.ptr[i]) : text.ptr[i];
    return at + text.len;
}

static int add_pattern(struct search *search, struct str text, struct err *err)
{
    struct pattern *pattern = &search->patterns[search->pattern_count];
    struct arena *arena = &search->call->arena;
    size_t len;
    int r;

    if (text.len == 0 || text.len > GLOB_PATTERN_MAX_BYTES - sizeof(END_MARK))
        return err_set(err, ERR_INVALID_ARGUMENT, "a glob has 1 to %zu bytes",
                       GLOB_PATTERN_MAX_BYTES - sizeof(END_MARK));
    len = put(search, 0, text);
    /* As it is first, so that a complaint shows what was written. */
    r = glob_compile(arena, (struct str){search->folded, len}, &pattern->glob, err);
    if (r < 0)
        return r;
    pattern->has_slash = memchr(text.ptr, '/', text.len) != NULL;
    if (pattern->has_slash) {
        len = put(search, len, STR(END_MARK));
        r = glob_compile(arena, (struct str){search->folded, len}, &pattern->glob, err);
        if (r < 0)
            return r;
    }
    search->pattern_count++;
    return 0;
}

static bool matches(struct search *search, struct str name)
{
    size_t len = put(search, 0, name);
    size_t marked = put(search, len, STR(END_MARK));
    struct str last = visible_last((struct str){search->folded, len});

    for (size_t i = 0; i < search->pattern_count; i++) {
        const struct pattern *pattern = &search->patterns[i];

        if (!glob_matches(pattern->glob,
                          pattern->has_slash ? (struct str){search->folded, marked} : last))
            return false;
    }
    return true;
}

static bool may_match_below(struct search *search, struct str directory)
{
    struct str folded = {search->folded, put(search, 0, directory)};

    for (size_t i = 0; i < search->pattern_count; i++)
        if (search->patterns[i].has_slash &&
            !glob_may_match_below(search->patterns[i].glob, folded))
            return false;
    return true;
}

static int look_at(void *data, const struct authority_entry *entry)
{
    struct search *search = data;

    if (++search->seen % REPORT_ENTRIES == 0)
        tool_report(search->call, search->seen, 0, "searching");
    if (!visible_in_tree(visible_last(entry->name), entry->type))
        return AUTHORITY_WALK_SKIP;
    if (entry->type == AUTHORITY_DIRECTORY)
        return may_match_below(search, entry->name) ? 0 : AUTHORITY_WALK_SKIP;
    if (!matches(search, entry->name))
        return 0;
    if (search->total == SEARCH_MAX_COUNTED) {
        search->matches.is_dropping = true;
        return STOP;
    }
    search->total++;
    return shortlist_add(&search->matches, entry->name, false, NULL);
}

static int write_matches(const struct search *search, struct str name, struct buf *out)
{
    __attribute__((uninitialized)) struct path_name path;
    struct json_writer w;

    json_writer_init(&w, out);
    json_begin_object(&w);
    json_key(&w, STR("name"));
    json_write_str(&w, name);
    json_key(&w, STR("matches"));
    json_begin_array(&w);
    for (size_t i = 0; i < search->matches.count; i++) {
        struct str found = shortlist_name(search->matches.items[i]);

        if (path_join(tool_name(search->call, 0), found, &path) < 0)
            continue; /* no name can reach it */
        json_begin_object(&w);
        json_key(&w, STR("path"));
        json_write_str_lossy(&w, path_view(&path));
        json_end_object(&w);
    }
    json_end_array(&w);
    json_key(&w, STR("truncated"));
    json_write_bool(&w, search->matches.is_dropping);
    json_key(&w, STR("totalMatches"));
    json_write_int(&w, (int64_t)search->total);
    json_end_object(&w);
    return json_writer_finish(&w);
}

static int search_walk(struct search *search, struct err *err)
{
    const struct tool_call *call = search->call;
    const struct authority_walk_options options = {.cancel = call->cancel};
    int r =
        authority_walk(call->box->config.files, tool_name(call, 0), &options, look_at, search, err);

    return r == STOP ? 0 : r;
}

int tool_search_files(struct tool_call *call, struct buf *out, struct err *err)
{
    int64_t most = tool_int(call, STR("maxResults"), SEARCH_RESULTS);
    struct search *search = arena_new(&call->arena, struct search);
    struct str name = STR_EMPTY;
    struct str second;
    int r = 0;

    if (search == NULL)
        return err_set_plain(err, call->arena.error);
    *search = (struct search){.call = call};
    (void)json_get_bool(call->arguments, STR("ignoreCase"), &search->ignores_case);
    if (json_get_str(call->arguments, STR("name"), &name))
        r = add_pattern(search, name, err);
    if (r == 0 && json_get_str(call->arguments, STR("filePattern"), &second)) {
        r = add_pattern(search, second, err);
        name = search->pattern_count == 1 ? second : name;
    }
    if (r < 0)
        return r;
    shortlist_init(&search->matches, most < 1                    ? 1
                                     : most > SEARCH_MAX_RESULTS ? SEARCH_MAX_RESULTS
                                                                 : (size_t)most);
    r = search_walk(search, err);
    if (r == 0) {
        shortlist_sort(&search->matches);
        r = write_matches(search, name, out);
    }
    shortlist_done(&search->matches);
    return r;
}
