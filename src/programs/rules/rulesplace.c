/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/rules/rulesplace.h"

#include "base/cleanup.h"

static int open_settings(struct rules_place *place, const char *given, struct err *err)
{
    struct settings_file_config config = {
        .authority = place->state.authority,
        .may_create = !place->only_reads,
        .only_reads = place->only_reads,
    };
    char path[PATH_MAX];
    int r = given != NULL ? session_state_absolute_path(given, path, err) : 0;

    if (r < 0)
        return r;
    config.dir = given != NULL ? path : NULL;
    r = settings_file_open(&config, &place->file, err);
    /* Without settings there are no rules: that is an answer. */
    return r == ERR_NOT_FOUND && place->only_reads ? 0 : r;
}

static int open_folder(struct rules_place *place, const char *dir, struct err *err)
{
    struct authority_request request = {
        .subject = {.type = AUTHORITY_CORE, .id = "rules"},
        .root = {.kind = AUTHORITY_WORKSPACE, .id = "counted", .path = place->folder_path},
        .access = AUTHORITY_LIST,
        .reason = "counts the files that a new rule touches",
        .source = AUTHORITY_FROM_CORE,
        .limits = {.symlinks = AUTHORITY_SYMLINKS_REJECT},
    };
    struct err why = ERR_INIT;
    int r = session_state_absolute_path(dir, place->folder_path, err);

    if (r < 0)
        return r;
    r = authority_request_root(place->state.authority, &request, &place->folder, &why);
    if (r == 0)
        r = authority_scope_path(place->folder, place->folder_path);
    return r < 0 ? err_set(err, r, "cannot count the files in '%s': %s", place->folder_path,
                           why.code != 0 ? why.message : err_text(r))
                 : 0;
}

int rules_place_open(const struct rules_place_config *config, struct rules_place *place,
                     struct err *err)
{
    const struct session_state_config state_config = {.state_dir = config->state_dir,
                                                      .only_reads = config->only_reads};
    int r;

    *place = (struct rules_place){.state = {.audit_dir_fd = -1}, .only_reads = config->only_reads};
    r = session_state_open(&state_config, &place->state, err);
    if (r == 0)
        r = open_settings(place, config->settings_dir, err);
    if (r < 0 || config->counted_dir == NULL)
        return r;
    r = open_folder(place, config->counted_dir, config->has_to_count ? err : NULL);
    if (r == 0)
        return 0;
    authority_scope_free(place->folder);
    place->folder = NULL;
    return config->has_to_count ? r : 0;
}

void rules_place_close(struct rules_place *place)
{
    authority_scope_free(place->folder);
    settings_file_free(place->file);
    session_state_close(&place->state);
}

int place_confine(const struct rules_place *place, struct confine_report *out_report,
                  struct err *err)
{
    struct landlock_place places[3] = {
        {.path = place->state.state_path, .rights = LANDLOCK_MAY_READ | LANDLOCK_MAY_WRITE}};
    struct confine_plan plan = {
        .places = places,
        .place_count = 1,
        .changes_files = !place->only_reads,
        .has_closed_fds = true,
    };

    if (place->file != NULL)
        places[plan.place_count++] = (struct landlock_place){
            .path = settings_file_dir(place->file),
            .rights =
                place->only_reads ? LANDLOCK_MAY_READ : LANDLOCK_MAY_READ | LANDLOCK_MAY_WRITE};
    if (place->folder != NULL)
        places[plan.place_count++] =
            (struct landlock_place){.path = place->folder_path, .rights = LANDLOCK_MAY_LIST};
    return confine_process(&plan, out_report, err);
}
