/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/search/searchplace.h"

#include <string.h>

#include "base/cleanup.h"
#include "files/patterns.h"

enum { PLACE_BYTES = 4 << 20 };
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
static int open_folder(struct search_place *place, const char *given_path, const char *const *globs,
                       struct search_spot *spot, struct err *err)
{
    cleanup_arena struct arena arena = ARENA_INIT(PATTERNS_MAX_BYTES);
    char root_path[PATH_MAX];
    const char *const roots[] = {given_path, root_path, NULL};
    struct authority_scope *plain = NULL;
    const char *const *denied = NULL;
    struct err why = ERR_INIT;
    int r = request(place, given_path, NULL, AUTHORITY_METADATA, &plain, &why);

    if (r == 0)
        r = authority_scope_path(plain, root_path);
    authority_scope_free(plain);
    if (r < 0)
        return refuse_folder(spot->given, r, &why, err);
    spot->root_path = arena_copy(&place->arena, str_from(root_path));
    if (spot->root_path == NULL)
        return err_set_plain(err, place->arena.error);
    r = patterns_take(&arena, "--deny", globs, roots, NULL, &denied, err);
    if (r < 0)
        return r;
    r = request(place, given_path, denied, READING, &spot->scope, &why);
    return r < 0 ? refuse_folder(spot->given, r, &why, err) : 0;
}

/* The folder that a file lies in, and the file of it. */
static int open_file(struct search_place *place, char *given_path, const char *const *globs,
                     struct search_spot *spot, struct err *err)
{
    char *slash = strrchr(given_path, '/');
    const char *name = strrchr(spot->given, '/');
    struct authority_stat about;
    int r;

    name = name != NULL ? name + 1 : spot->given;
    if (slash == NULL || strcmp(slash + 1, name) != 0 || name[0] == '\0')
        return refuse_folder(spot->given, ERR_NOT_A_DIRECTORY, &(struct err)ERR_INIT, err);
    spot->file = str_from(name);
    *slash = '\0';
    r = open_folder(place, slash == given_path ? "/" : given_path, globs, spot, err);
    if (r == 0 && authority_stat(spot->scope, spot->file, &about, err) == 0 &&
        about.type != AUTHORITY_FILE)
        r = refuse_folder(spot->given, ERR_NOT_REGULAR_FILE, &(struct err)ERR_INIT, err);
    return r;
}

static int open_spot(struct search_place *place, const char *given, const char *const *globs,
                     struct err *err)
{
    struct search_spot spot = {.given = given};
    char given_path[PATH_MAX];
    int r = session_state_absolute_path(given, given_path, err);

    if (r < 0)
        return r;
    r = open_folder(place, given_path, globs, &spot, err);
    if (r == ERR_NOT_A_DIRECTORY)
        r = open_file(place, given_path, globs, &spot, err);
    if (r < 0)
        authority_scope_free(spot.scope);
    else
        place->spots[place->spot_count++] = spot;
    return r;
}

int search_place_open(const struct search_place_config *config, struct search_place *place,
                      struct err *err)
{
    const struct session_state_config state_config = {.state_dir = config->state_dir,
                                                      .only_reads = true};
    bool is_missing = false;
    int r;

    *place = (struct search_place){.state = {.audit_dir_fd = -1}};
    arena_init(&place->arena, PLACE_BYTES);
    if (config->paths.count > SEARCH_PLACE_SPOTS)
        return err_set(err, ERR_INVALID_OPTION, "more than %d paths", SEARCH_PLACE_SPOTS);
    place->spots = arena_alloc_array(&place->arena, config->paths.count, sizeof(*place->spots));
    if (place->spots == NULL)
        return err_set_plain(err, place->arena.error);
    r = session_state_open(&state_config, &place->state, err);
    for (size_t i = 0; r == 0 && i < config->paths.count; i++) {
        r = open_spot(place, config->paths.items[i], config->denied, err);
        if (r < 0 && config->paths.count > 1 && r != ERR_INVALID_ARGUMENT) {
            config->complain(err->message);
            is_missing = true;
            r = 0;
        }
    }
    if (r == 0 && place->spot_count == 0)
        return err_set(err, ERR_NOT_FOUND, "there is nothing to search");
    return r < 0 ? r : is_missing;
}

void search_place_close(struct search_place *place)
{
    for (size_t i = 0; i < place->spot_count; i++)
        authority_scope_free(place->spots[i].scope);
    session_state_close(&place->state);
    arena_done(&place->arena);
}

/* Many files lie in few folders. */
static int add_place(struct confine_plan *plan, struct landlock_place *places, const char *path)
{
    for (size_t i = 0; i < plan->place_count; i++)
        if (strcmp(places[i].path, path) == 0)
            return 0;
    if (plan->place_count == CONFINE_MAX_PLACES)
        return ERR_TOO_LARGE;
    places[plan->place_count++] =
        (struct landlock_place){.path = path, .rights = LANDLOCK_MAY_READ};
    return 0;
}

int place_confine(const struct search_place *place, struct confine_report *out_report,
                  struct err *err)
{
    struct landlock_place places[CONFINE_MAX_PLACES] = {
        {.path = place->state.state_path, .rights = LANDLOCK_MAY_READ | LANDLOCK_MAY_WRITE},
    };
    struct confine_plan plan = {.places = places, .place_count = 1, .has_closed_fds = true};

    for (size_t i = 0; i < place->spot_count; i++)
        if (add_place(&plan, places, place->spots[i].root_path) < 0)
            return err_set(err, ERR_INVALID_OPTION, "the paths lie in more than %d folders",
                           CONFINE_MAX_PLACES - 1);
    return confine_process(&plan, out_report, err);
}
