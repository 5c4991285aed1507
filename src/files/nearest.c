/* SPDX-License-Identifier: Apache-2.0 */
#include "files/nearest.h"

#include <stdio.h>
#include <string.h>

#include "authority/names/path.h"

enum { MAX_ENTRIES = 10000 }; /* of the directory, to look at */

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
