/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/search/searchplace.h"

#include "base/cleanup.h"
#include "files/patterns.h"

enum { READING = AUTHORITY_READ | AUTHORITY_LIST | AUTHORITY_METADATA };

static int request(struct search_place *place, const char *path, const char *const *denied,
                   unsigned access, struct authority_scope **out_scope, struct err *err)
{
    const struct authority_request request = {
        .subject = {.type = AUTHORITY_CORE, .id = "search"},
        .root = {.kind = AUTHORITY_WORKSPACE, .id = "folder", .path = path},
        .access = access,
        .reason = "the user searches this folder",
        .source = AUTHORITY_FROM_USER_APPROVAL,
        .limits = {.symlinks = AUTHORITY_SYMLINKS_REJECT,
                   /* The user may read all of it anyway, by any of its names. */
                   .hardlinks = AUTHORITY_HARDLINKS_ALLOW,
                   .denied_globs = denied},
    };

    return authority_request_root(place->state.authority, &request, out_scope, err);
}

static int refuse_folder(const char *directory, int code, const struct err *why, struct err *err)
{
    return err_set(err, code, "cannot search '%s': %s", directory,
                   why->code != 0 ? why->message : err_text(code));
}

/* Both spellings must be known to tell whether a glob lies in the folder. */
static int open_folder(struct search_place *place, const struct search_place_config *config,
                       struct err *err)
{
    cleanup_arena struct arena arena = ARENA_INIT(PATTERNS_MAX_BYTES);
    char given_path[PATH_MAX];
    const char *const roots[] = {given_path, place->root_path, NULL};
    struct authority_scope *plain = NULL;
    const char *const *denied = NULL;
    struct err why = ERR_INIT;
    int r = session_state_absolute_path(config->directory, given_path, err);

    if (r < 0)
        return r;
    r = request(place, given_path, NULL, AUTHORITY_METADATA, &plain, &why);
    if (r == 0)
        r = authority_scope_path(plain, place->root_path);
    authority_scope_free(plain);
    if (r < 0)
        return refuse_folder(config->directory, r, &why, err);
    r = patterns_take(&arena, "--deny", config->denied, roots, &denied, err);
    if (r < 0)
        return r;
    r = request(place, given_path, denied, READING, &place->scope, &why);
    return r < 0 ? refuse_folder(config->directory, r, &why, err) : 0;
}

int search_place_open(const struct search_place_config *config, struct search_place *place,
                      struct err *err)
{
    const struct session_state_config state_config = {.state_dir = config->state_dir,
                                                      .only_reads = true};
    int r;

    *place = (struct search_place){.state = {.audit_dir_fd = -1}};
    r = session_state_open(&state_config, &place->state, err);
    return r == 0 ? open_folder(place, config, err) : r;
}

void search_place_close(struct search_place *place)
{
    authority_scope_free(place->scope);
    session_state_close(&place->state);
}

int place_confine(const struct search_place *place, struct confine_report *out_report,
                  struct err *err)
{
    const struct landlock_place places[] = {
        {.path = place->root_path, .rights = LANDLOCK_MAY_READ},
        {.path = place->state.state_path, .rights = LANDLOCK_MAY_READ | LANDLOCK_MAY_WRITE},
    };
    const struct confine_plan plan = {
        .places = places, .place_count = array_size(places), .has_closed_fds = true};

    return confine_process(&plan, out_report, err);
}
