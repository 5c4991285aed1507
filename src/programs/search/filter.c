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
                       "'%s': '!' does not negate a glob here; use -g to exclude files, or '\\!' "
                       "for the character",
                       tool_show(str_from(text), shown));
    return nameglob_compile(arena, str_from(text), ignores_case, out_glob, err);
}

int filter_make(struct arena *arena, struct option_list globs, struct option_list types,
                const char *file_glob, bool ignores_case, struct file_filter *out_filter,
                struct err *err)
{
    struct file_filter made = {.has_file_glob = file_glob != NULL};
    int r = 0;

    made.globs = arena_alloc_array(arena, globs.count, sizeof(*made.globs));
    made.types = arena_alloc_array(arena, types.count, sizeof(*made.types));
    if (made.globs == NULL || made.types == NULL)
        return err_set_plain(err, arena->error);
    for (size_t i = 0; r == 0 && i < globs.count; i++)
        r = compile(arena, globs.items[i], false, &made.globs[made.glob_count++], err);
    for (size_t i = 0; r == 0 && i < types.count; i++)
        r = compile(arena, types.items[i], false, &made.types[made.type_count++], err);
    if (r == 0 && file_glob != NULL)
        r = compile(arena, file_glob, ignores_case, &made.file_glob, err);
    if (r == 0)
        *out_filter = made;
    return r;
}

static bool fits_any(const struct nameglob *globs, size_t count, struct str name,
                     bool (*fits)(const struct nameglob *glob, struct str name))
{
    for (size_t i = 0; i < count; i++)
        if (fits(&globs[i], name))
            return true;
    return count == 0;
}

static bool is_asked_for(const struct file_filter *filter, struct str name,
                         bool (*fits)(const struct nameglob *glob, struct str name))
{
    if (filter->has_file_glob && !fits(&filter->file_glob, name))
        return false;
    return fits_any(filter->globs, filter->glob_count, name, fits) &&
           fits_any(filter->types, filter->type_count, name, fits);
}

/* Counts it, unless it is version control's own, which nobody misses; false. */
static bool leave_out(struct file_filter *filter, struct str component)
{
    filter->hidden += visible_in_list(component, AUTHORITY_DIRECTORY);
    return false;
}

bool filter_enters(void *data, struct str directory)
{
    struct file_filter *filter = data;
    struct str component = visible_last(directory);

    if (filter->only.len > 0)
        return false;
    return is_asked_for(filter, directory, nameglob_may_match_below) &&
           (filter->shows_hidden ||
            !(visible_is_hidden(component) || visible_is_excluded(component)) ||
            leave_out(filter, component));
}

bool filter_wants(void *data, struct str file)
{
    struct file_filter *filter = data;
    struct str component = visible_last(file);

    if (filter->only.len > 0)
        return str_eq(filter->only, file);
    return is_asked_for(filter, file, nameglob_matches) &&
           (filter->shows_hidden || !visible_is_hidden(component) || leave_out(filter, component));
}
