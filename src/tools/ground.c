/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/ground.h"

#include <stdlib.h>
#include <time.h>

#include "base/cleanup.h"
#include "tools/patterns.h"
#include "tools/tool.h"

enum {
    READING = AUTHORITY_READ | AUTHORITY_LIST | AUTHORITY_METADATA | AUTHORITY_WATCH,
    /* A minute. */
    CHANGE_STEP_NS = 10 * 1000 * 1000,
    CHANGE_STEPS = 6000,
};

static int request(struct ground *ground, const struct ground_config *config, unsigned access,
                   enum authority_symlinks symlinks, struct authority_scope **out_scope,
                   struct err *err)
{
    const struct authority_request request = {
        .subject = {.type = AUTHORITY_AGENT_RUN, .id = config->session, .run_id = config->session},
        .root = {.kind = AUTHORITY_WORKSPACE, .id = "folder", .path = ground->given_path},
        .access = access,
        .reason = "the folder that the user named",
        .source = AUTHORITY_FROM_USER_APPROVAL,
        .limits = {.symlinks = symlinks,
                   .hardlinks = AUTHORITY_HARDLINKS_REJECT,
                   .allowed_globs = config->allowed,
                   .denied_globs = config->denied,
                   .filter = ground->filter},
    };

    return authority_request_root(ground->recorded.authority, &request, out_scope, err);
}

static int refuse_folder(const struct ground_config *config, int code, const struct err *why,
                         struct err *err)
{
    return err_set(err, code, "'%s' cannot be given to a client: %s", config->directory,
                   why->code != 0 ? why->message : err_text(code));
}

/* Both spellings must be known before a pattern can be told to lie in the folder. */
static int find_root_path(struct ground *ground, const struct ground_config *config,
                          struct err *err)
{
    const struct ground_config plain = {.session = config->session};
    struct authority_scope *scope = NULL;
    struct err why = ERR_INIT;
    int r = recorded_absolute(config->directory, ground->given_path, err);

    if (r < 0)
        return r;
    r = request(ground, &plain, AUTHORITY_METADATA, AUTHORITY_SYMLINKS_REJECT, &scope, &why);
    if (r == 0)
        r = authority_scope_path(scope, ground->root_path);
    authority_scope_free(scope);
    return r < 0 ? refuse_folder(config, r, &why, err) : 0;
}

/* The globs are those that were given, as the authority takes them. */
static int open_folder(struct ground *ground, struct arena *arena, struct ground_config *config,
                       struct err *err)
{
    const char *const roots[] = {ground->given_path, ground->root_path, NULL};
    unsigned access = config->may_write ? AUTHORITY_ALL_ACCESS : READING;
    struct err why = ERR_INIT;
    int r = find_root_path(ground, config, err);

    if (r == 0)
        r = patterns_take(arena, "--deny", config->denied, roots, &config->denied, err);
    if (r == 0)
        r = patterns_take(arena, "--allow", config->allowed, roots, &config->allowed, err);
    if (r == 0 && ground->keeper != NULL)
        r = keeper_filter(ground->keeper, ground->root_path, ground->given_path, &ground->filter);
    if (r < 0)
        return r;
    r = request(ground, config, AUTHORITY_METADATA, AUTHORITY_SYMLINKS_IN_ROOT, &ground->names,
                &why);
    if (r == 0)
        r = request(ground, config, access, AUTHORITY_SYMLINKS_REJECT, &ground->files, &why);
    return r < 0 ? refuse_folder(config, r, &why, err) : 0;
}

/* ---- the user's rules ---- */

/*
 * Made where they are missing, so that rules which come later are seen. Where that cannot be, there
 * are none; what is there and cannot be used may hold rules that deny, and stops us.
 */
static int open_settings(struct ground *ground, const char *dir, struct err *err)
{
    struct settings_file_config config = {
        .authority = ground->recorded.authority, .dir = dir, .only_reads = true};
    int r = settings_file_open(&config, &ground->settings, err);

    if (r != ERR_NOT_FOUND) {
        settings_file_free(ground->settings);
        ground->settings = NULL;
        if (r < 0)
            return r;
    }
    config.only_reads = false;
    config.may_create = true;
    r = settings_file_open(&config, &ground->settings, err);
    return r == ERR_PERMISSION_DENIED || r == ERR_NO_SPACE || r == ERR_NOT_FOUND ? 0 : r;
}

static int open_consent(struct ground *ground, const struct ground_consent *consent,
                        struct err *err)
{
    const char *home = getenv("HOME");
    struct keeper_config config = {.modes = consent->modes, .may_save = consent->keeps_rules};
    int r = 0;

    if (consent->settings_dir != NULL || (home != NULL && home[0] == '/'))
        r = open_settings(ground, consent->settings_dir, err);
    if (r == 0 && ground->settings != NULL)
        r = authority_protect(ground->recorded.authority, settings_file_dir(ground->settings), err);
    if (r < 0)
        return r;
    ground->keeps_rules = consent->keeps_rules;
    config.settings = ground->settings;
    return keeper_new(&config, &ground->keeper, &ground->findings, err);
}

/* The modes are for who decides; here only names are hidden. */
static int take_rules(struct ground *ground, struct err *err)
{
    const struct keeper_config config = {.modes = permission_modes_recommended};

    return keeper_new(&config, &ground->keeper, NULL, err);
}

static int protect(struct ground *ground, const char *const *dirs, struct err *err)
{
    int r = 0;

    for (size_t i = 0; r == 0 && dirs != NULL && dirs[i] != NULL; i++)
        r = authority_protect(ground->recorded.authority, dirs[i], err);
    return r;
}

static int open_all(struct ground *ground, const struct ground_config *given, struct err *err)
{
    cleanup_arena struct arena arena = ARENA_INIT(PATTERNS_MAX_BYTES);
    struct ground_config own = *given;
    struct ground_config *config = &own;
    struct toolbox_config box = {
        .may_write = config->may_write,
        .max_file_bytes = config->max_file_bytes,
        .max_lines = config->max_lines,
        .max_matches = config->max_matches,
    };
    const struct recorded_config state = {.state_dir = config->state_dir,
                                          .is_recorded_elsewhere = config->is_recorded_elsewhere};
    int r = recorded_open(&state, &ground->recorded, err);

    if (r == 0 && config->consent != NULL)
        r = open_consent(ground, config->consent, err);
    else if (r == 0 && config->takes_rules)
        r = take_rules(ground, err);
    if (r == 0)
        r = protect(ground, config->protected_dirs, err);
    if (r == 0)
        r = open_folder(ground, &arena, config, err);
    if (r < 0 || config->has_tools_elsewhere)
        return r;
    box.authority = ground->recorded.authority;
    box.names = ground->names;
    box.files = ground->files;
    box.root_path = ground->root_path;
    box.given_path = ground->given_path;
    box.denied = config->denied;
    box.allowed = config->allowed;
    return toolbox_new(&box, &ground->box, err);
}

int ground_open(const struct ground_config *config, struct ground **out_ground, struct err *err)
{
    struct ground *ground = calloc(1, sizeof(*ground));
    int r;

    if (ground == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    ground->may_write = config->may_write;
    r = open_all(ground, config, err);
    if (r < 0) {
        ground_close(ground);
        return r;
    }
    *out_ground = ground;
    return 0;
}

void ground_close(struct ground *ground)
{
    if (ground == NULL)
        return;
    toolbox_free(ground->box);
    authority_scope_free(ground->files);
    authority_scope_free(ground->names);
    keeper_free(ground->keeper);
    settings_file_free(ground->settings);
    recorded_close(&ground->recorded);
    free(ground);
}

void ground_wait_for_changes(const atomic_uint *changing)
{
    const struct timespec step = {.tv_nsec = CHANGE_STEP_NS};

    for (int i = 0; i < CHANGE_STEPS && atomic_load(changing) > 0; i++)
        nanosleep(&step, NULL);
}

int ground_confine(const struct ground *ground, const struct ground_walls *walls,
                   struct confine_report *out_report, struct err *err)
{
    struct landlock_place places[] = {
        {.path = ground->root_path,
         .rights = LANDLOCK_MAY_READ | (ground->may_write ? LANDLOCK_MAY_WRITE : 0U)},
        {.path = ground->recorded.state_path, .rights = LANDLOCK_MAY_READ | LANDLOCK_MAY_WRITE},
        {.rights = LANDLOCK_MAY_READ | (ground->keeps_rules ? LANDLOCK_MAY_WRITE : 0U)},
    };
    struct confine_plan plan = {
        .places = places,
        .place_count = array_size(places) - 1,
        .changes_files = ground->may_write || ground->keeps_rules,
        .answers_connections = walls->answers_connections,
        .asks_on_terminal = walls->asks_on_terminal,
        .passes_messages = walls->passes_messages,
        .has_closed_fds = true,
    };

    if (ground->settings != NULL)
        places[plan.place_count++].path = settings_file_dir(ground->settings);
    return confine_process(&plan, out_report, err);
}
