/* SPDX-License-Identifier: Apache-2.0 */
#include "files/nearest.h"

#include <stdio.h>
#include <string.h>

#include "authority/names/path.h"
#include "files/visible.h"

enum {
    MAX_ENTRIES = 10000, /* of the directory, to look at */
    MAX_WALKED = 2000,   /* of the folder, to find the same name elsewhere */
    MAX_NAMESAKES = 3,
};

struct looking {
    char wanted[NAME_MAX + 1]; /* in lower case */
    size_t wanted_len;
    size_t best; /* distance */
    char name[NAME_MAX + 1];
    size_t name_len;
};

static size_t fold(struct str text, char out[NAME_MAX + 1])
{
    size_t len = text.len < NAME_MAX ? text.len : NAME_MAX;

    for (size_t i = 0; i < len; i++)
        out[i] = text.ptr[i] >= 'A' && text.ptr[i] <= 'Z' ? (char)(text.ptr[i] + ('a' - 'A'))
                                                          : text.ptr[i];
    return len;
}

/* A name that differs in a third of its letters at most. */
static int look(void *data, const struct authority_entry *entry)
{
    struct looking *looking = data;
    char folded[NAME_MAX + 1];
    struct str name = {folded, fold(entry->name, folded)};
    struct str wanted = {looking->wanted, looking->wanted_len};
    size_t far = str_distance(wanted, name);
    size_t longest = wanted.len > name.len ? wanted.len : name.len;

    if (far > longest / 3 || far >= looking->best || entry->name.len > NAME_MAX ||
        (entry->type != AUTHORITY_FILE && entry->type != AUTHORITY_DIRECTORY))
        return 0;
    looking->best = far;
    memcpy(looking->name, entry->name.ptr, entry->name.len);
    looking->name_len = entry->name.len;
    return 0;
}

/* The part of the name that exists as a directory, and the component behind it. */
static void split_at_missing(const struct tool_call *call, struct str missing,
                             struct str *out_there, struct str *out_component)
{
    struct authority_stat about;

    *out_there = missing;
    do
        path_split(*out_there, out_there, out_component);
    while (out_there->len > 0 &&
           (authority_stat(call->box->config.files, *out_there, &about, NULL) < 0 ||
            about.type != AUTHORITY_DIRECTORY));
}

/* ---- the same name elsewhere ---- */

struct namesakes {
    struct str wanted;
    struct str start; /* of the walk: in front of each name */
    size_t count;
    char words[NEAREST_WORDS_BYTES - 1]; /* a question mark follows */
    size_t len;
};

static int note_namesake(void *data, const struct authority_entry *entry)
{
    struct namesakes *namesakes = data;
    struct str component = visible_last(entry->name);
    __attribute__((uninitialized)) struct path_name path;
    char shown[TOOL_SHOWN_BYTES];

    if (!visible_in_tree(component, entry->type))
        return AUTHORITY_WALK_SKIP;
    if (!str_eq(component, namesakes->wanted) ||
        path_join(namesakes->start, entry->name, &path) < 0)
        return 0;
    if (++namesakes->count <= MAX_NAMESAKES && namesakes->len < sizeof(namesakes->words))
        namesakes->len += (size_t)snprintf(
            namesakes->words + namesakes->len, sizeof(namesakes->words) - namesakes->len, "%s%s",
            namesakes->count == 1 ? "did you mean " : " or ", tool_show(path_view(&path), shown));
    return 0;
}

/* "did you mean src/main.c or lib/main.c?", if there are few. */
static bool explain_namesakes(const struct tool_call *call, struct str missing,
                              char out_words[NEAREST_WORDS_BYTES])
{
    const struct authority_walk_options options = {
        .max_entries = MAX_WALKED, .is_breadth_first = true, .cancel = call->cancel};
    const struct tool_folder *folder;
    struct namesakes namesakes = {.wanted = visible_last(missing)};

    /* Who may change files by mode need not be allowed to list them. */
    folder = tool_folder_of(call->box, &missing);
    if (call->tool->group != CATALOG_FILESYSTEM_READ || folder == NULL)
        return false;
    namesakes.start = folder == &call->box->folders[0] ? STR_EMPTY : str_from(folder->root_path);
    (void)authority_walk(call->box->config.files, namesakes.start, &options, note_namesake,
                         &namesakes, NULL);
    if (namesakes.count == 0 || namesakes.count > MAX_NAMESAKES ||
        namesakes.len >= sizeof(namesakes.words))
        return false;
    snprintf(out_words, NEAREST_WORDS_BYTES, "%s?", namesakes.words);
    return true;
}

bool nearest_explain(const struct tool_call *call, struct str missing,
                     char out_words[NEAREST_WORDS_BYTES])
{
    static const struct authority_list_options options = {.max_entries = MAX_ENTRIES};
    __attribute__((uninitialized)) struct path_name path;
    struct looking looking = {.best = SIZE_MAX};
    char shown[TOOL_SHOWN_BYTES];
    struct str component;
    struct str there;

    if (!call->may_suggest || missing.len == 0)
        return false;
    if (explain_namesakes(call, missing, out_words))
        return true;
    split_at_missing(call, missing, &there, &component);
    looking.wanted_len = fold(component, looking.wanted);
    (void)authority_list(call->box->config.files, there, &options, look, &looking, NULL);
    if (looking.best == SIZE_MAX ||
        path_join(there, (struct str){looking.name, looking.name_len}, &path) < 0) {
        snprintf(out_words, NEAREST_WORDS_BYTES, "the nearest that exists is %s",
                 there.len > 0 ? tool_show(there, shown) : "the root");
        return true;
    }
    snprintf(out_words, NEAREST_WORDS_BYTES, "did you mean %s?",
             tool_show(path_view(&path), shown));
    return true;
}
