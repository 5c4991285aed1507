/* SPDX-License-Identifier: Apache-2.0 */
#include "session/session.h"

#include <stdlib.h>
#include <string.h>

#include "authority/names/path.h"
#include "base/cleanup.h"
#include "files/patterns.h"
#include "files/tool.h"
#include "isolate/leads.h"

enum {
    READING = AUTHORITY_READ | AUTHORITY_LIST | AUTHORITY_METADATA | AUTHORITY_WATCH,
};

int session_folders_add(struct session_folders *folders, const char *directory, bool may_write,
                        struct err *err)
{
    if (folders->count == array_size(folders->items))
        return err_set(err, ERR_INVALID_OPTION, "at most %d folders can be served",
                       SESSION_MAX_FOLDERS);
    folders->items[folders->count++] = (struct session_folder_config){directory, may_write};
    return 0;
}

int session_folders_add_marked(struct session_folders *folders, struct option_list writable,
                               struct option_list readable, struct err *err)
{
    int r = 0;

    for (size_t i = 0; i < writable.count && r == 0; i++)
        r = session_folders_add(folders, writable.items[i], true, err);
    for (size_t i = 0; i < readable.count && r == 0; i++)
        r = session_folders_add(folders, readable.items[i], false, err);
    return r;
}

static bool shows_sensitive(const struct session_config *config)
{
    return config->consent != NULL ? config->consent->modes.sensitive == PERMISSION_ALLOW
                                   : config->searches_sensitive;
}

static int request(struct session *session, const struct session_folder *folder,
                   const struct session_config *config, unsigned access,
                   enum authority_symlinks symlinks, struct authority_scope **out_scope,
                   struct err *err)
{
    const struct authority_request request = {
        .subject = {.type = AUTHORITY_AGENT_RUN, .id = config->session, .run_id = config->session},
        /* The audit log is the user's: it may say which folder it was. */
        .root = {.kind = AUTHORITY_WORKSPACE,
                 /* The audit log tells them apart by it. */
                 .id = session->folder_count > 1 ? folder->root_path : "folder",
                 .display_name =
                     folder->root_path[0] != '\0' ? folder->root_path : folder->given_path,
                 .path = folder->given_path},
        .access = access,
        .reason = "the folder that the user named",
        .source = AUTHORITY_FROM_USER_APPROVAL,
        .limits = {.symlinks = symlinks,
                   .hardlinks = config->reads_hardlinks ? AUTHORITY_HARDLINKS_READ
                                                        : AUTHORITY_HARDLINKS_REJECT,
                   .shows_sensitive = shows_sensitive(config),
                   .allowed_globs = config->allowed,
                   .denied_globs = config->denied,
                   .filter = folder->filter,
                   .narrowing = folder->narrowing},
    };

    return authority_request_root(session->state.authority, &request, out_scope, err);
}

static int refuse_folder(const char *directory, int code, const struct err *why, struct err *err)
{
    return err_set(err, code, "cannot serve '%s' to a client: %s", directory,
                   why->code != 0 ? why->message : err_text(code));
}

static bool has_dotdot(struct str path)
{
    struct str part;

    while (str_cut(&path, '/', &part))
        if (str_eq(part, STR("..")))
            return true;
    return false;
}

/* Both spellings must be known to tell whether a pattern, or another folder, lies in the folder. */
static int find_root_path(struct session *session, struct session_folder *folder,
                          const struct session_config *config, const char *directory,
                          struct err *err)
{
    const struct session_config plain = {.session = config->session};
    struct authority_scope *scope = NULL;
    struct err why = ERR_INIT;
    int r = session_state_absolute_path(directory, folder->given_path, err);

    if (r < 0)
        return r;
    r = request(session, folder, &plain, AUTHORITY_METADATA, AUTHORITY_SYMLINKS_REJECT, &scope,
                &why);
    if (r == 0)
        r = authority_scope_path(scope, folder->root_path);
    authority_scope_free(scope);
    if (r < 0)
        return refuse_folder(directory, r, &why, err);
    /* "/a/../b" begins like something in /a, which it is not. */
    if (session->folder_count > 1 && has_dotdot(str_from(folder->given_path)))
        memcpy(folder->given_path, folder->root_path, sizeof(folder->given_path));
    return 0;
}

static bool is_within(const char *path, const struct session_folder *folder)
{
    struct str name = str_from(path);

    return path_strip_root(&name, folder->root_path) || path_strip_root(&name, folder->given_path);
}

/* A file in two folders would have two names, and perhaps two modes. */
static int refuse_overlaps(const struct session *session, const struct session_config *config,
                           size_t index, struct err *err)
{
    const struct session_folder *folder = &session->folders[index];
    const char *directory = config->folders[index].directory;

    for (size_t i = 0; i < index; i++) {
        const struct session_folder *other = &session->folders[i];

        if (strcmp(other->root_path, folder->root_path) == 0)
            return err_set(err, ERR_INVALID_OPTION,
                           "'%s' and '%s' are the same folder: name it once",
                           config->folders[i].directory, directory);
        if (is_within(folder->root_path, other) || is_within(folder->given_path, other) ||
            is_within(other->root_path, folder) || is_within(other->given_path, folder))
            return err_set(err, ERR_INVALID_OPTION,
                           "of '%s' and '%s', one contains the other: name one of them, or "
                           "folders beside each other, by their real paths",
                           config->folders[i].directory, directory);
    }
    return 0;
}

static int find_folders(struct session *session, const struct session_config *config,
                        struct err *err)
{
    int r = 0;

    if (config->folder_count == 0 || config->folder_count > SESSION_MAX_FOLDERS)
        return err_set(err, ERR_INVALID_OPTION, "at most %d folders can be served",
                       SESSION_MAX_FOLDERS);
    session->folders = calloc(config->folder_count, sizeof(*session->folders));
    if (session->folders == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    session->folder_count = config->folder_count;
    for (size_t i = 0; i < session->folder_count && r == 0; i++) {
        struct session_folder *folder = &session->folders[i];

        folder->may_write = config->folders[i].may_write;
        r = find_root_path(session, folder, config, config->folders[i].directory, err);
        if (r == 0)
            r = refuse_overlaps(session, config, i, err);
    }
    return r;
}

int session_take_globs(const struct session *session, const struct session_folder *folder,
                       struct arena *arena, const char *option, const char *const *given,
                       const char *const **out_globs, struct err *err)
{
    const char *const roots[] = {folder->given_path, folder->root_path, NULL};
    const char *others[2 * SESSION_MAX_FOLDERS + 1];
    size_t count = 0;

    for (size_t i = 0; i < session->folder_count; i++) {
        if (&session->folders[i] == folder)
            continue;
        others[count++] = session->folders[i].given_path;
        others[count++] = session->folders[i].root_path;
    }
    others[count] = NULL;
    return patterns_take(arena, option, given, roots, others, out_globs, err);
}

static int open_folder(struct session *session, size_t index, struct arena *arena,
                       const struct session_config *given, struct toolbox_folder *out_folder,
                       struct err *err)
{
    struct session_folder *folder = &session->folders[index];
    unsigned access = folder->may_write ? AUTHORITY_ALL_ACCESS : READING;
    struct session_config config = *given;
    struct err why = ERR_INIT;
    int r =
        session_take_globs(session, folder, arena, "--deny", given->denied, &config.denied, err);

    if (r == 0)
        r = session_take_globs(session, folder, arena, "--allow", given->allowed, &config.allowed,
                               err);

    if (r == 0 && session->keeper != NULL)
        r = keeper_filter(session->keeper, folder->root_path, folder->given_path, &folder->filter);
    if (r == 0 && session->client_roots != NULL)
        r = client_roots_add_folder(session->client_roots, folder->root_path, folder->given_path,
                                    &folder->narrowing);
    if (r < 0)
        return r;
    r = request(session, folder, &config, AUTHORITY_METADATA, AUTHORITY_SYMLINKS_IN_ROOT,
                &folder->names, &why);
    if (r == 0)
        r = request(session, folder, &config, access, AUTHORITY_SYMLINKS_REJECT, &folder->files,
                    &why);
    if (r == 0 && index > 0)
        r = authority_scope_join(session->folders[0].names, folder->names, &why);
    if (r == 0 && index > 0)
        r = authority_scope_join(session->folders[0].files, folder->files, &why);
    if (r < 0)
        return refuse_folder(given->folders[index].directory, r, &why, err);
    *out_folder = (struct toolbox_folder){.root_path = folder->root_path,
                                          .given_path = folder->given_path,
                                          .may_write = folder->may_write,
                                          .denied = config.denied,
                                          .allowed = config.allowed};
    return 0;
}

/* ---- the user's rules ---- */

/*
 * Creates missing settings, so that later rules are seen. If that is impossible, there are none;
 * existing ones that cannot be used may hold deny rules, and are an error.
 */
static int open_settings(struct session *session, const char *dir, struct err *err)
{
    const bool may_create = !session->state.is_full; /* not without a record */
    const struct settings_file_config config = {.authority = session->state.authority,
                                                .dir = dir,
                                                .only_reads = !may_create,
                                                .may_create = may_create};
    const struct settings_file_config existing = {
        .authority = session->state.authority, .dir = dir, .only_reads = true};
    int r = settings_file_open(&config, &session->settings, err);
    int found;

    if (r == 0)
        return 0;
    /* Existing rules bind even if no new ones can be saved. */
    found = settings_file_open(&existing, &session->settings, NULL);
    if (found == 0)
        return 0;
    if (found != ERR_NOT_FOUND)
        return r;
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

    for (size_t i = 0; i < session->folder_count; i++)
        if (!leads_elsewhere(path, session->folders[i].root_path, out_found))
            return false;
    return session->folder_count > 0 || leads_elsewhere(path, "", out_found);
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

static int open_folders(struct session *session, struct arena *arena,
                        const struct session_config *config, struct toolbox_folder *out_folders,
                        struct err *err)
{
    int r = 0;

    for (size_t i = 0; i < session->folder_count && r == 0; i++)
        r = open_folder(session, i, arena, config, &out_folders[i], err);
    /* What links in the folders may mean depends on where they are. */
    if (r == 0 && session->keeper != NULL)
        keeper_follow_links(session->keeper);
    for (size_t i = 0; i < session->folder_count && r == 0; i++)
        if (session->folders[i].may_write)
            r = ownplaces_make(&session->state.own, session->folders[i].root_path, err);
    return r;
}

/* Without it there are no uploads and downloads; everything else works. */
static int open_staging(struct session *session, const struct session_config *config,
                        struct err *err)
{
    struct session_staging *staging = &session->staging;
    int r = 0;

    if (!config->has_staging || session->state.is_full)
        return 0;
    if (config->staging_dir == NULL &&
        session_staging_make(staging, session->state.authority, NULL) < 0) {
        session_staging_close(staging); /* no room on the disk */
        return 0;
    }
    if (!config->has_tools_elsewhere)
        r = session_staging_open(staging, session->state.authority,
                                 config->staging_dir != NULL ? config->staging_dir : staging->path,
                                 err);
    return r;
}

static int open_all(struct session *session, const struct session_config *config, struct err *err)
{
    cleanup_arena struct arena arena = ARENA_INIT(PATTERNS_MAX_BYTES);
    struct toolbox_folder folders[SESSION_MAX_FOLDERS];
    struct toolbox_config box = {
        .may_write = session->may_write,
        .max_file_bytes = config->max_file_bytes,
        .max_lines = config->max_lines,
        .max_matches = config->max_matches,
        .result_form = config->result_form,
        .media = config->media,
    };
    const struct session_state_config state_config = {.state_dir = config->state_dir,
                                                      .is_recorded_elsewhere =
                                                          config->is_recorded_elsewhere,
                                                      .audit_sync = config->audit_sync,
                                                      .may_be_full = !session->may_write};
    int r = 0;

    if (config->opened != NULL)
        session_state_take(config->opened, &session->state);
    else
        r = session_state_open(&state_config, &session->state, err);
    if (r == 0 && config->consent != NULL)
        r = open_consent(session, config->consent, err);
    else if (r == 0 && config->takes_rules)
        r = take_rules(session, err);
    if (r == 0)
        r = protect(session, config->protected_dirs, err);
    if (r == 0 && config->heeds_client_roots)
        r = client_roots_new(&session->client_roots);
    if (r == 0)
        r = find_folders(session, config, err);
    if (r == 0)
        r = open_folders(session, &arena, config, folders, err);
    if (r == 0)
        r = open_staging(session, config, err);
    if (r < 0 || config->has_tools_elsewhere)
        return r;
    box.authority = session->state.authority;
    box.names = session->folders[0].names;
    box.files = session->folders[0].files;
    box.root_path = session->folders[0].root_path;
    box.given_path = session->folders[0].given_path;
    box.folders = folders;
    box.folder_count = session->folder_count;
    box.client_roots = session->client_roots;
    box.uploads = session->staging.uploads;
    box.downloads = session->staging.downloads;
    box.searches_sensitive = shows_sensitive(config);
    box.reads_hardlinks = config->reads_hardlinks;
    return toolbox_new(&box, &session->box, err);
}

int session_open(const struct session_config *config, struct session **out_session, struct err *err)
{
    struct session *session = calloc(1, sizeof(*session));
    int r;

    if (session == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    for (size_t i = 0; i < config->folder_count; i++)
        session->may_write = session->may_write || config->folders[i].may_write;
    session->result_form = config->result_form;
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
    session_staging_close(&session->staging);
    for (size_t i = 0; i < session->folder_count; i++) {
        authority_scope_free(session->folders[i].files);
        authority_scope_free(session->folders[i].names);
    }
    client_roots_free(session->client_roots);
    keeper_free(session->keeper);
    settings_file_free(session->settings);
    session_state_close(&session->state);
    free(session->folders);
    free(session);
}

/* Whether it is the home directory, by one of its names. */
static bool is_home(const struct session_folder *folder)
{
    const char *home = getenv("HOME");
    struct str text = home != NULL ? str_from(home) : STR_EMPTY;

    while (text.len > 1 && text.ptr[text.len - 1] == '/')
        text.len--;
    return text.len > 0 &&
           (str_eq_c(text, folder->root_path) || str_eq_c(text, folder->given_path));
}

const char *session_folder_warning(const struct session_folder *folder)
{
    if (strcmp(folder->root_path, "/") == 0)
        return "the client gets the whole machine as far as you can read it: name the folder of "
               "one project instead";
    if (is_home(folder))
        return "the client gets your whole home directory: name the folder of one project instead";
    return NULL;
}

int session_confine(const struct session *session, const struct session_walls *walls,
                    struct confine_report *out_report, struct err *err)
{
    struct landlock_place places[SESSION_MAX_FOLDERS + 3];
    size_t count = 0;
    struct confine_plan plan = {
        .places = places,
        .changes_files =
            session->may_write || session->keeps_rules || session->staging.uploads != NULL,
        .answers_connections = walls->answers_connections,
        .passes_messages = walls->passes_messages,
        .has_closed_fds = true,
    };

    for (size_t i = 0; i < session->folder_count; i++) {
        const struct session_folder *folder = &session->folders[i];

        places[count++] = (struct landlock_place){
            .path = folder->root_path,
            .rights = LANDLOCK_MAY_READ | (folder->may_write ? LANDLOCK_MAY_WRITE : 0U)};
    }
    places[count++] = (struct landlock_place){.path = session->state.state_path,
                                              .rights = LANDLOCK_MAY_READ | LANDLOCK_MAY_WRITE};
    if (session->staging.path[0] != '\0')
        places[count++] = (struct landlock_place){.path = session->staging.path,
                                                  .rights = LANDLOCK_MAY_READ | LANDLOCK_MAY_WRITE};
    if (session->settings != NULL)
        places[count++] = (struct landlock_place){
            .path = settings_file_dir(session->settings),
            .rights = LANDLOCK_MAY_READ | (session->keeps_rules ? LANDLOCK_MAY_WRITE : 0U)};
    plan.place_count = count;
    return confine_process(&plan, out_report, err);
}
