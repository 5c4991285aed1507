/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/connect/connectoptions.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/utf8.h"
#include "cli/connect.h"
#include "cli/shared.h"
#include "cli/status.h"
#include "session/state.h"

static const struct {
    enum catalog_group group;
    size_t option;
} group_options[] = {
    {CATALOG_FILESYSTEM_READ, CONNECT_OPTION_PERMISSION_READ},
    {CATALOG_SHELL, CONNECT_OPTION_PERMISSION_SHELL},
    {CATALOG_COMPUTER, CONNECT_OPTION_PERMISSION_COMPUTER},
    {CATALOG_BROWSER, CONNECT_OPTION_PERMISSION_BROWSER},
};

/* ---- the settings ---- */

/* Creates missing settings from the template. */
static int load(struct session_state *state, struct connect_choices *choices, struct arena *arena,
                struct settings *settings, struct err *err)
{
    const struct settings_file_config config = {
        .authority = state->authority,
        .dir = choices->settings_dir[0] != '\0' ? choices->settings_dir : NULL,
        .may_create = true,
    };
    struct settings_file *file = NULL;
    int r = settings_file_open(&config, &file, err);

    if (r == 0)
        r = settings_file_load(file, arena, settings, &choices->findings, err);
    settings_file_free(file);
    return r;
}

static int read_settings(struct connect_choices *choices, struct session_state *state,
                         struct arena *arena, struct settings *settings, struct err *err)
{
    const struct session_state_config config = {.state_dir = choices->state_dir,
                                                .audit_sync = choices->audit_sync};
    struct err why = ERR_INIT;
    int r = session_state_open(&config, state, err);

    if (r < 0)
        return r;
    r = load(state, choices, arena, settings, &why);
    if (r < 0)
        err_set_field(err, r, why.field, "%s; use --settings-dir to choose another directory",
                      why.message);
    return r;
}

/* ---- all sources together ---- */

bool connect_is_of_up(void)
{
    return strcmp(program_invocation_name, STATUS_NAME_OF_UP) == 0;
}

static bool has_flag(const struct option_values *values, size_t option)
{
    return options_source(values, option) == OPTION_FLAG;
}

static bool has_variable(const struct option_values *values, size_t option)
{
    return options_source(values, option) == OPTION_ENVIRONMENT;
}

static bool has_writable(const struct option_values *values)
{
    return options_list(values, CONNECT_OPTION_RW).count > 0;
}

/* --rw opts in for its folders; how changes are decided is the same for all. */
static void merge_write(const struct option_values *values, const struct settings *settings,
                        struct connect_choices *choices)
{
    const size_t option = CONNECT_OPTION_PERMISSION_WRITE;
    const bool is_on = options_is_on(values, CONNECT_OPTION_WRITE_ACCESS);
    const enum permission_mode mode = options_source(values, option) != OPTION_UNSET
                                          ? (enum permission_mode)options_choice(values, option)
                                          : PERMISSION_DENY;
    struct permission_write_sources sources = {
        .flag = is_on && has_flag(values, CONNECT_OPTION_WRITE_ACCESS),
        .env = is_on && has_variable(values, CONNECT_OPTION_WRITE_ACCESS),
        .settings = settings->write_access,
        .has_flag_mode = has_flag(values, option),
        .has_env_mode = has_variable(values, option),
        .has_settings_mode = settings->has_mode[CATALOG_FILESYSTEM_WRITE],
        .flag_mode = mode,
        .env_mode = mode,
        .settings_mode = settings->modes.of[CATALOG_FILESYSTEM_WRITE],
    };
    struct permission_write write = permission_write_access(&sources);

    choices->only_reads_dir = has_writable(values) && !write.is_opted_in;
    sources.flag = sources.flag || has_writable(values);
    write = permission_write_access(&sources);
    choices->has_write_access = write.is_opted_in;
    choices->modes.of[CATALOG_FILESYSTEM_WRITE] = write.mode;
}

static int refuse_idle_writable(const struct option_values *values,
                                const struct permission_modes *modes, struct err *err)
{
    const char *group = modes->of[CATALOG_FILESYSTEM_READ] == PERMISSION_DENY ? "read" : "write";

    if (!has_writable(values) || modes->of[CATALOG_FILESYSTEM_WRITE] != PERMISSION_DENY)
        return 0;
    return err_set(err, ERR_INVALID_OPTION,
                   "--rw has no effect while the permission filesystem-%s is deny: omit it, or add "
                   "--permission-filesystem-%s ask",
                   group, group);
}

static int merge_modes(const struct option_values *values, const struct settings *settings,
                       struct connect_choices *choices, struct err *err)
{
    const char *browser = options_text(values, CONNECT_OPTION_BROWSER_DEFAULT);
    int r;

    choices->modes = settings->modes;
    /* New settings deny commands, for servers elsewhere; here the user's own page can ask. */
    if (connect_is_of_up() && settings->modes.of[CATALOG_SHELL] == PERMISSION_DENY)
        choices->modes.of[CATALOG_SHELL] = PERMISSION_ASK;
    for (size_t i = 0; i < array_size(group_options); i++)
        if (options_source(values, group_options[i].option) != OPTION_UNSET)
            choices->modes.of[group_options[i].group] =
                (enum permission_mode)options_choice(values, group_options[i].option);
    if (!options_is_on(values, CONNECT_OPTION_BROWSER))
        choices->modes.of[CATALOG_BROWSER] = PERMISSION_DENY;
    choices->is_browser_headless = options_is_on(values, CONNECT_OPTION_BROWSER_HEADLESS);
    if (browser != NULL)
        snprintf(choices->browser, sizeof(choices->browser), "%s", browser);
    merge_write(values, settings, choices);
    choices->modes.sensitive =
        (enum permission_mode)options_choice(values, CONNECT_OPTION_SENSITIVE);
    choices->modes.allows_autorun =
        options_choice(values, CONNECT_OPTION_AUTORUN) == SHARED_AUTORUN_ALLOW;
    if (choices->findings.is_set_aside)
        permission_modes_cap_ask(&choices->modes);
    r = permission_modes_constrain(&choices->modes, err);
    return r == 0 ? refuse_idle_writable(values, &choices->modes, err) : r;
}

static int choose_dir(const struct option_values *values, const struct settings *settings,
                      struct connect_choices *choices, struct err *err)
{
    const char *name = options_argument(values, CONNECT_ARGUMENT_DIR);
    const char *option = options_text(values, CONNECT_OPTION_DIR);
    char room[PATH_MAX];

    if (name != NULL && has_flag(values, CONNECT_OPTION_DIR))
        return err_set(err, ERR_INVALID_OPTION,
                       "the folder is given twice: with --filesystem-dir and after the token");
    choices->dir_advice = "give an existing folder with --filesystem-dir or after the token";
    if (name == NULL && has_variable(values, CONNECT_OPTION_DIR))
        choices->dir_advice = "it comes from GATEHOUSE_FILESYSTEM_DIR (or "
                              "N8N_GATEWAY_FILESYSTEM_DIR); change that, or use --filesystem-dir";
    if (name == NULL)
        name = option;
    if (name == NULL)
        choices->dir_advice = "it is the current directory; choose another with --filesystem-dir";
    if (name == NULL && settings->filesystem_dir.len > 0) {
        choices->dir_advice =
            "it is filesystemDir in the settings; change that, or use --filesystem-dir";
        if (snprintf(room, sizeof(room), "%.*s", STR_ARG(settings->filesystem_dir)) >= PATH_MAX)
            return err_set(err, ERR_INVALID_PATH, "filesystemDir in the settings is too long");
        name = room;
    }
    return session_state_absolute_path(name != NULL ? name : ".", choices->dir, err);
}

/* Those of --rw and --ro. */
static int choose_others(const struct option_values *values, struct arena *arena,
                         struct connect_choices *choices, struct err *err)
{
    struct session_folders folders = {.count = 0};
    char path[PATH_MAX];
    int r = session_folders_add(&folders, choices->dir, !choices->only_reads_dir, err);

    if (r == 0)
        r = session_folders_add_marked(&folders, options_list(values, CONNECT_OPTION_RW),
                                       options_list(values, CONNECT_OPTION_RO), err);
    for (size_t i = 1; i < folders.count && r == 0; i++) {
        struct connect_folder *other = &choices->others[choices->other_count++];

        r = session_state_absolute_path(folders.items[i].directory, path, err);
        if (r < 0)
            return r;
        *other = (struct connect_folder){.given = folders.items[i].directory,
                                         .path = arena_copy(arena, str_from(path)),
                                         .may_write = folders.items[i].may_write};
        if (other->path == NULL)
            r = err_set_plain(err, arena->error);
    }
    return r;
}

static enum log_level choose_level(const struct option_values *values,
                                   const struct settings *settings)
{
    const char *option = options_text(values, CONNECT_OPTION_LOG_LEVEL);
    enum log_level level = LOG_INFO;

    (void)log_level_from(option != NULL ? str_from(option) : settings->log_level, &level);
    return level;
}

static int choose_places(const struct option_values *values, struct connect_choices *choices,
                         struct err *err)
{
    const char *state = options_text(values, CONNECT_OPTION_STATE_DIR);
    const char *settings = options_text(values, CONNECT_OPTION_SETTINGS_DIR);
    int r = state != NULL ? session_state_absolute_path(state, choices->state_dir, err)
                          : session_state_default_dir(choices->state_dir, err);

    choices->audit_sync = (enum audit_sync)options_choice(values, CONNECT_OPTION_AUDIT_SYNC);
    return r == 0 && settings != NULL
               ? session_state_absolute_path(settings, choices->settings_dir, err)
               : r;
}

static void keep_warnings(const struct settings *settings, struct connect_choices *choices)
{
    choices->warning_count = settings->warning_count;
    for (size_t i = 0; i < settings->warning_count && i < CONNECT_CHOICES_WARNINGS; i++) {
        struct str text = utf8_cut(settings->warnings[i], CONNECT_CHOICES_WARNING_BYTES - 1);

        snprintf(choices->warnings[i], CONNECT_CHOICES_WARNING_BYTES, "%.*s", STR_ARG(text));
    }
}

int connect_options_read(const struct option_values *values, struct session_state *state,
                         struct arena *arena, struct connect_choices *out_choices, struct err *err)
{
    cleanup_arena struct arena own = ARENA_INIT(SETTINGS_ARENA_BYTES);
    struct connect_choices choices = {.has_write_access = false};
    struct settings settings;
    int r = choose_places(values, &choices, err);

    if (r == 0)
        r = read_settings(&choices, state, &own, &settings, err);
    if (r == 0)
        r = merge_modes(values, &settings, &choices, err);
    if (r == 0)
        r = choose_dir(values, &settings, &choices, err);
    if (r == 0)
        r = choose_others(values, arena, &choices, err);
    if (r < 0)
        return r;
    choices.log_level = choose_level(values, &settings);
    keep_warnings(&settings, &choices);
    *out_choices = choices;
    return 0;
}
