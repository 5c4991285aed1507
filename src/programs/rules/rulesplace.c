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

int rules_place_open(const struct rules_place_config *config, struct rules_place *place,
                     struct err *err)
{
    const struct session_state_config state_config = {.state_dir = config->state_dir,
                                                      .only_reads = config->only_reads};
    int r;

    *place = (struct rules_place){.state = {.audit_dir_fd = -1}, .only_reads = config->only_reads};
    r = session_state_open(&state_config, &place->state, err);
    return r == 0 ? open_settings(place, config->settings_dir, err) : r;
}

void rules_place_close(struct rules_place *place)
{
    settings_file_free(place->file);
    session_state_close(&place->state);
}

int place_confine(const struct rules_place *place, struct confine_report *out_report,
                  struct err *err)
{
    const struct landlock_place places[] = {
        {.path = place->state.state_path, .rights = LANDLOCK_MAY_READ | LANDLOCK_MAY_WRITE},
        {.path = place->file != NULL ? settings_file_dir(place->file) : NULL,
         .fd = -1,
         .rights = place->only_reads ? LANDLOCK_MAY_READ : LANDLOCK_MAY_READ | LANDLOCK_MAY_WRITE},
    };
    const struct confine_plan plan = {
        .places = places,
        .place_count = place->file != NULL ? array_size(places) : array_size(places) - 1,
        .changes_files = !place->only_reads,
        .has_closed_fds = true,
    };

    return confine_process(&plan, out_report, err);
}
