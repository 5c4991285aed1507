/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/search/filter.h"

#include "files/tool.h"
#include "files/visible.h"

static int compile(struct arena *arena, const char *text, bool ignores_case,
                   struct nameglob *out_glob, struct err *err)
{
    char shown[TOOL_SHOWN_BYTES];

    if (text[0] == '!')
        return err_set(err, ERR_INVALID_ARGUMENT,
                       "'%s': '!' does not negate a glob; use --deny to exclude files, or '\\!' "
                       "for the character",
                       tool_show(str_from(text), shown));
    return nameglob_compile(arena, str_from(text), ignores_case, out_glob, err);
}

int filter_make(struct arena *arena, struct option_list globs, const char *file_glob,
                bool ignores_case, struct filter *out_filter, struct err *err)
{
    struct filter made = {.has_file_glob = file_glob != NULL};
    int r = 0;

    made.globs = arena_alloc_array(arena, globs.count, sizeof(*made.globs));
    if (made.globs == NULL)
        return err_set_plain(err, arena->error);
    for (size_t i = 0; r == 0 && i < globs.count; i++)
        r = compile(arena, globs.items[i], false, &made.globs[made.glob_count++], err);
    if (r == 0 && file_glob != NULL)
        r = compile(arena, file_glob, ignores_case, &made.file_glob, err);
    if (r == 0)
        *out_filter = made;
    return r;
}

bool filter_enters(void *data, struct str directory)
{
    const struct filter *filter = data;

    if (!filter->shows_hidden && (visible_is_hidden(visible_last(directory)) ||
                                  visible_is_excluded(visible_last(directory))))
        return false;
    if (filter->has_file_glob && !nameglob_may_match_below(&filter->file_glob, directory))
        return false;
    for (size_t i = 0; i < filter->glob_count; i++)
        if (nameglob_may_match_below(&filter->globs[i], directory))
            return true;
    return filter->glob_count == 0;
}

bool filter_wants(void *data, struct str file)
{
    const struct filter *filter = data;

    if (!filter->shows_hidden && visible_is_hidden(visible_last(file)))
        return false;
    if (filter->has_file_glob && !nameglob_matches(&filter->file_glob, file))
        return false;
    for (size_t i = 0; i < filter->glob_count; i++)
        if (nameglob_matches(&filter->globs[i], file))
            return true;
    return filter->glob_count == 0;
}
