/* SPDX-License-Identifier: Apache-2.0 */
#include "session/session.h"

#include <stdlib.h>
#include <time.h>

#include "base/cleanup.h"
#include "files/patterns.h"
#include "files/tool.h"
#include "isolate/leads.h"

enum {
    READING = AUTHORITY_READ | AUTHORITY_LIST | AUTHORITY_METADATA | AUTHORITY_WATCH,
    /* A minute. */
    CHANGE_STEP_NS = 10 * 1000 * 1000,
    CHANGE_STEPS = 6000,
};

static int request(struct session *session, const struct session_config *config, unsigned access,
                   enum authority_symlinks symlinks, struct authority_scope **out_scope,
                   struct err *err)
{
    const struct authority_request request = {
        .subject = {.type = AUTHORITY_AGENT_RUN, .id = config->session, .run_id = config->session},
        .root = {.kind = AUTHORITY_WORKSPACE, .id = "folder", .path = session->given_path},
        .access = access,
        .reason = "the folder that the user named",
        .source = AUTHORITY_FROM_USER_APPROVAL,
        .limits = {.symlinks = symlinks,
                   .hardlinks = AUTHORITY_HARDLINKS_REJECT,
                   .allowed_globs = config->allowed,
                   .denied_globs = config->denied,
                   .filter = session->filter},
    };

    return authority_request_root(session->state.authority, &request, out_scope, err);
}

static int refuse_folder(const struct session_config *config, int code, const struct err *why,
                         struct err *err)
{
    return err_set(err, code, "cannot serve '%s' to a client: %s", config->directory,
                   why->code != 0 ? why->message : err_text(code));
}

/* Both spellings must be known to tell whether a pattern lies in the folder. */
static int find_root_path(struct session *session, const struct session_config *config,
                          struct err *err)
{
    const struct session_config plain = {.session = config->session};
    struct authority_scope *scope = NULL;
    struct err why = ERR_INIT;
    int r = session_state_absolute_path(config->directory, session->given_path, err);

    if (r < 0)
        return r;
    r = request(session, &plain, AUTHORITY_METADATA, AUTHORITY_SYMLINKS_REJECT, &scope, &why);
    if (r == 0)
        r = authority_scope_path(scope, session->root_path);
    authority_scope_free(scope);
    return r < 0 ? refuse_folder(config, r, &why, err) : 0;
}

/* The globs as given, in the form for the authority. */
static int open_folder(struct session *session, struct arena *arena, struct session_config *config,
                       struct err *err)
{
    const char *const roots[] = {session->given_path, session->root_path, NULL};
    unsigned access = config->may_write ? AUTHORITY_ALL_ACCESS : READING;
    struct err why = ERR_INIT;
    int r = find_root_path(session, config, err);

    if (r == 0)
        r = patterns_take(arena, "--deny", config->denied, roots, &config->denied, err);
    if (r == 0)
        r = patterns_take(arena, "--allow", config->allowed, roots, &config->allowed, err);
    if (r == 0 && session->keeper != NULL)
        r = keeper_filter(session->keeper, session->root_path, session->given_path,
                          &session->filter);
    if (r < 0)
        return r;
    r = request(session, config, AUTHORITY_METADATA, AUTHORITY_SYMLINKS_IN_ROOT, &session->names,
                &why);
    if (r == 0)
        r = request(session, config, access, AUTHORITY_SYMLINKS_REJECT, &session->files, &why);
    return r < 0 ? refuse_folder(config, r, &why, err) : 0;
}

/* ---- the user's rules ---- */

/*
 * Creates missing settings, so that later rules are seen. If that is impossible, there are none;
 * existing ones that cannot be used may hold deny rules, and are an error.
 */
static int open_settings(struct session *session, const char *dir, struct err *err)
{
    struct settings_file_config config = {
        .authority = session->state.authority, .dir = dir, .only_reads = true};
    int r = settings_file_open(&config, &session->settings, err);

    /* Without a record nothing is created. */
    if (session->state.is_full)
        return r == ERR_NOT_FOUND ? 0 : r;
    if (r != ERR_NOT_FOUND) {
        settings_file_free(session->settings);
        session->settings = NULL;
        if (r < 0)
            return r;
    }
    config.only_reads = false;
    config.may_create = true;
    r = settings_file_open(&config, &session->settings, err);
    return r == ERR_PERMISSION_DENIED || r == ERR_NO_SPACE || r == ERR_NOT_FOUND ? 0 : r;
}

/* Up to a NULL: what the authority keeps from all scopes, decisions deny as well. */
static void list_protected(const struct session *session, const char *out_dirs[OWNPLACES_MAX + 3])
{
    size_t count = 0;

    for (size_t i = 0; i < session->state.own.count; i++)
        out_dirs[count++] = session->state.own.items[i].path;
    out_dirs[count++] = session->state.state_path;
    if (session->settings != NULL)
        out_dirs[count++] = settings_file_dir(session->settings);
    out_dirs[count] = NULL;
}

static bool rule_leads(void *data, const char *path, char out_found[PATH_MAX])
{
    const struct session *session = data;

    return leads_elsewhere(path, session->root_path, out_found);
}

static int open_consent(struct session *session, const struct session_consent *consent,
                        struct err *err)
{
    const char *home = getenv("HOME");
    const char *dirs[OWNPLACES_MAX + 3];
    struct keeper_config config = {
        .modes = consent->modes,
        .may_save = consent->keeps_rules,
        .protected_dirs = dirs,
        .leads = rule_leads,
        .leads_data = session,
    };
    int r = 0;

    if (consent->settings_dir != NULL || (home != NULL && home[0] == '/'))
        r = open_settings(session, consent->settings_dir, err);
    if (r == 0 && session->settings != NULL)
        r = authority_protect(session->state.authority, settings_file_dir(session->settings), err);
    if (r < 0)
        return r;
    session->keeps_rules = consent->keeps_rules;
    config.settings = session->settings;
    list_protected(session, dirs);
    r = keeper_new(&config, &session->keeper, &session->findings, err);
    if (r == ERR_NOT_FOUND && session->state.is_full) {
        config.settings = NULL;
        r = keeper_new(&config, &session->keeper, &session->findings, err);
    }
    return r;
}

/* The deciding process has the modes; here only names are hidden. */
static int take_rules(struct session *session, struct err *err)
{
    const struct keeper_config config = {
        .modes = permission_modes_recommended, .leads = rule_leads, .leads_data = session};

    return keeper_new(&config, &session->keeper, NULL, err);
}

static int protect(struct session *session, const char *const *dirs, struct err *err)
{
    int r = 0;

    for (size_t i = 0; r == 0 && dirs != NULL && dirs[i] != NULL; i++)
        r = authority_protect(session->state.authority, dirs[i], err);
    return r;
}

static int open_all(struct session *session, const struct session_config *given, struct err *err)
{
    cleanup_arena struct arena arena = ARENA_INIT(PATTERNS_MAX_BYTES);
    struct session_config own = *given;
    struct session_config *config = &own;
    struct toolbox_config box = {
        .may_write = config->may_write,
        .max_file_bytes = config->max_file_bytes,
        .max_lines = config->max_lines,
        .max_matches = config->max_matches,
    };
    const struct session_state_config state_config = {.state_dir = config->state_dir,
                                                      .is_recorded_elsewhere =
                                                          config->is_recorded_elsewhere,
                                                      .may_be_full = !config->may_write};
    int r = session_state_open(&state_config, &session->state, err);

    if (r == 0 && config->consent != NULL)
        r = open_consent(session, config->consent, err);
    else if (r == 0 && config->takes_rules)
        r = take_rules(session, err);
    if (r == 0)
        r = protect(session, config->protected_dirs, err);
    if (r == 0)
        r = open_folder(session, &arena, config, err);
    /* What links in the folder may mean depends on where it is. */
    if (r == 0 && session->keeper != NULL)
        keeper_follow_links(session->keeper);
    if (r == 0 && config->may_write)
        r = ownplaces_make(&session->state.own, session->root_path, err);
    if (r < 0 || config->has_tools_elsewhere)
        return r;
    box.authority = session->state.authority;
    box.names = session->names;
    box.files = session->files;
    box.root_path = session->root_path;
    box.given_path = session->given_path;
    box.searches_sensitive = config->consent != NULL
                                 ? config->consent->modes.sensitive == PERMISSION_ALLOW
                                 : config->searches_sensitive;
    box.denied = config->denied;
    box.allowed = config->allowed;
    return toolbox_new(&box, &session->box, err);
}

int session_open(const struct session_config *config, struct session **out_session, struct err *err)
{
    struct session *session = calloc(1, sizeof(*session));
    int r;

    if (session == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    session->may_write = config->may_write;
    r = open_all(session, config, err);
    if (r < 0) {
        session_close(session);
        return r;
    }
    *out_session = session;
    return 0;
}

void session_close(struct session *session)
{
    if (session == NULL)
        return;
    toolbox_free(session->box);
    authority_scope_free(session->files);
    authority_scope_free(session->names);
    keeper_free(session->keeper);
    settings_file_free(session->settings);
    session_state_close(&session->state);
    free(session);
}

void session_wait_for_changes(const atomic_uint *changing)
{
    const struct timespec step = {.tv_nsec = CHANGE_STEP_NS};

    for (int i = 0; i < CHANGE_STEPS && atomic_load(changing) > 0; i++)
        nanosleep(&step, NULL);
}

int session_confine(const struct session *session, const struct session_walls *walls,
                    struct confine_report *out_report, struct err *err)
{
    struct landlock_place places[] = {
        {.path = session->root_path,
         .rights = LANDLOCK_MAY_READ | (session->may_write ? LANDLOCK_MAY_WRITE : 0U)},
        {.path = session->state.state_path, .rights = LANDLOCK_MAY_READ | LANDLOCK_MAY_WRITE},
        {.rights = LANDLOCK_MAY_READ | (session->keeps_rules ? LANDLOCK_MAY_WRITE : 0U)},
    };
    struct confine_plan plan = {
        .places = places,
        .place_count = array_size(places) - 1,
        .changes_files = session->may_write || session->keeps_rules,
        .answers_connections = walls->answers_connections,
        .asks_on_terminal = walls->asks_on_terminal,
        .passes_messages = walls->passes_messages,
        .has_closed_fds = true,
    };

    if (session->settings != NULL)
        places[plan.place_count++].path = settings_file_dir(session->settings);
    return confine_process(&plan, out_report, err);
}
