/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/rules/place.h"

#include "base/cleanup.h"

static int open_settings(struct place *place, const char *given, struct err *err)
{
    struct settings_file_config config = {
        .authority = place->recorded.authority,
        .may_create = !place->only_reads,
        .only_reads = place->only_reads,
    };
    char path[PATH_MAX];
    int r = given != NULL ? recorded_absolute(given, path, err) : 0;

    if (r < 0)
        return r;
    config.dir = given != NULL ? path : NULL;
    r = settings_file_open(&config, &place->file, err);
    /* Without settings there are no rules: that is an answer. */
    return r == ERR_NOT_FOUND && place->only_reads ? 0 : r;
}

int place_open(const struct place_config *config, struct place *place, struct err *err)
{
    const struct recorded_config state = {.state_dir = config->state_dir,
                                          .only_reads = config->only_reads};
    int r;

    *place = (struct place){.recorded = {.audit_dir_fd = -1}, .only_reads = config->only_reads};
    r = recorded_open(&state, &place->recorded, err);
    return r == 0 ? open_settings(place, config->settings_dir, err) : r;
}

void place_close(struct place *place)
{
    settings_file_free(place->file);
    recorded_close(&place->recorded);
}

int place_confine(const struct place *place, struct confine_report *out_report, struct err *err)
{
    const struct landlock_place places[] = {
        {.path = place->recorded.state_path, .rights = LANDLOCK_MAY_READ | LANDLOCK_MAY_WRITE},
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
