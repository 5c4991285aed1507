/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/rules/explain.h"

#include "permission/permission.h"
#include "programs/rules/subject.h"

static int read_resource(struct arena *arena, const struct explain_question *question,
                         struct permission_resource *out_resource, struct err *err)
{
    struct permission_resource resource = {
        .group = question->group, .resolved = STR_EMPTY, .cwd = STR_EMPTY};
    int r;

    if (question->resolved != NULL && !subject_is_file(question->group))
        return err_set(err, ERR_INVALID_OPTION, "--resolved applies only to paths");
    if (question->cwd != NULL && question->group != CATALOG_SHELL)
        return err_set(err, ERR_INVALID_OPTION, "--cwd applies only to commands");
    resource.given = str_from(question->resource);
    r = subject_resource(arena, question->group, resource.given,
                         question->group == CATALOG_SHELL ? &resource.resolved : &resource.given,
                         err);
    if (r == 0 && question->resolved != NULL)
        r = subject_path(arena, str_from(question->resolved), &resource.resolved, err);
    if (r == 0 && question->cwd != NULL)
        r = subject_path(arena, str_from(question->cwd), &resource.cwd, err);
    if (r == 0)
        *out_resource = resource;
    return r;
}

/* The modes of a session started with these options. */
static struct permission_modes modes_of(const struct settings *settings,
                                        const struct explain_question *question)
{
    const struct permission_write_sources sources = {
        .settings = settings->write_access,
        .has_settings_mode = settings->has_mode[CATALOG_FILESYSTEM_WRITE],
        .settings_mode = settings->modes.of[CATALOG_FILESYSTEM_WRITE],
        .has_flag_mode = question->has_mode[CATALOG_FILESYSTEM_WRITE],
        .flag_mode = question->modes.of[CATALOG_FILESYSTEM_WRITE],
    };
    struct permission_modes modes = settings->modes;

    modes.sensitive = permission_modes_recommended.sensitive;
    for (size_t group = 0; group < PERMISSION_GROUPS; group++)
        if (question->has_mode[group])
            modes.of[group] = question->modes.of[group];
    modes.of[CATALOG_FILESYSTEM_WRITE] = permission_write_access(&sources).mode;
    /* If all are denied no session starts, and that is what is shown. */
    (void)permission_modes_constrain(&modes, NULL);
    return modes;
}

int explain_decision(struct arena *arena, const struct settings *settings,
                     const struct explain_question *question, struct buf *out, struct err *err)
{
    const struct permission_config config = {.modes = modes_of(settings, question),
                                             .protected_dirs = question->protected_dirs};
    cleanup_rulebook struct rulebook *book = NULL;
    struct permission_resource resource;
    struct permission *permission;
    int r = read_resource(arena, question, &resource, err);

    if (r == 0)
        r = rulebook_new(settings->rules, settings->rule_count, &book, err);
    if (r == 0)
        r = permission_new(&config, &permission, err);
    if (r < 0)
        return r;
    permission_set_book(permission, book);
    r = permission_explain(permission, &resource, out);
    permission_free(permission);
    return r < 0 ? err_set_plain(err, r) : 0;
}
