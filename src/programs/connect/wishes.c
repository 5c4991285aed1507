/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/connect/wishes.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/utf8.h"
#include "command/connect.h"
#include "tools/recorded.h"

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

/* Made where they are missing, from the template. */
static int load(struct recorded *recorded, struct wishes *wishes, struct arena *arena,
                struct settings *settings, struct err *err)
{
    const struct settings_file_config config = {
        .authority = recorded->authority,
        .dir = wishes->settings_dir[0] != '\0' ? wishes->settings_dir : NULL,
        .may_create = true,
    };
    struct settings_file *file = NULL;
    int r = settings_file_open(&config, &file, err);

    if (r == 0)
        r = settings_file_load(file, arena, settings, &wishes->findings, err);
    settings_file_free(file);
    return r;
}

static int read_settings(struct wishes *wishes, struct arena *arena, struct settings *settings,
                         struct err *err)
{
    const struct recorded_config state = {.state_dir = wishes->state_dir};
    struct recorded recorded = {.audit_dir_fd = -1};
    struct err why = ERR_INIT;
    int r = recorded_open(&state, &recorded, err);

    if (r == 0) {
        r = load(&recorded, wishes, arena, settings, &why);
        if (r < 0)
            err_set_field(err, r, why.field, "%s; --settings-dir names another directory",
                          why.message);
    }
    recorded_close(&recorded);
    return r;
}

/* ---- all sources together ---- */

static bool has_flag(const struct option_values *values, size_t option)
{
    return options_source(values, option) == OPTION_FLAG;
}

static bool has_variable(const struct option_values *values, size_t option)
{
    return options_source(values, option) == OPTION_ENVIRONMENT;
}

static void merge_write(const struct option_values *values, const struct settings *settings,
                        struct wishes *wishes)
{
    const size_t option = CONNECT_OPTION_PERMISSION_WRITE;
    const bool is_on = options_is_on(values, CONNECT_OPTION_WRITE_ACCESS);
    const enum permission_mode mode = options_source(values, option) != OPTION_UNSET
                                          ? (enum permission_mode)options_choice(values, option)
                                          : PERMISSION_DENY;
    const struct permission_write_sources sources = {
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

    wishes->has_write_access = write.is_opted_in;
    wishes->modes.of[CATALOG_FILESYSTEM_WRITE] = write.mode;
}

static int merge_modes(const struct option_values *values, const struct settings *settings,
                       struct wishes *wishes, struct err *err)
{
    wishes->modes = settings->modes;
    for (size_t i = 0; i < array_size(group_options); i++)
        if (options_source(values, group_options[i].option) != OPTION_UNSET)
            wishes->modes.of[group_options[i].group] =
                (enum permission_mode)options_choice(values, group_options[i].option);
    merge_write(values, settings, wishes);
    if (wishes->findings.is_set_aside)
        permission_modes_cap_ask(&wishes->modes);
    return permission_modes_constrain(&wishes->modes, err);
}

static int choose_dir(const struct option_values *values, const struct settings *settings,
                      struct wishes *wishes, struct err *err)
{
    const char *name = options_argument(values, CONNECT_ARGUMENT_DIR);
    const char *option = options_text(values, CONNECT_OPTION_DIR);
    char room[PATH_MAX];

    if (name != NULL && has_flag(values, CONNECT_OPTION_DIR))
        return err_set(err, ERR_INVALID_OPTION,
                       "the folder is given twice: as --filesystem-dir and behind the token");
    wishes->dir_advice = "name one that is there, with --filesystem-dir or behind the token";
    if (name == NULL && has_variable(values, CONNECT_OPTION_DIR))
        wishes->dir_advice = "it comes from N8N_GATEWAY_FILESYSTEM_DIR; change that, or name "
                             "another with --filesystem-dir";
    if (name == NULL)
        name = option;
    if (name == NULL)
        wishes->dir_advice = "it is the current directory; name another with --filesystem-dir";
    if (name == NULL && settings->filesystem_dir.len > 0) {
        wishes->dir_advice = "it is filesystemDir of the settings; change that, or name another "
                             "with --filesystem-dir";
        if (snprintf(room, sizeof(room), "%.*s", STR_ARG(settings->filesystem_dir)) >= PATH_MAX)
            return err_set(err, ERR_INVALID_PATH, "the settings' filesystemDir is too long");
        name = room;
    }
    return recorded_absolute(name != NULL ? name : ".", wishes->dir, err);
}

static enum log_level choose_level(const struct option_values *values,
                                   const struct settings *settings)
{
    const char *option = options_text(values, CONNECT_OPTION_LOG_LEVEL);
    enum log_level level = LOG_INFO;

    (void)log_level_from(option != NULL ? str_from(option) : settings->log_level, &level);
    return level;
}

static int choose_places(const struct option_values *values, struct wishes *wishes, struct err *err)
{
    const char *state = options_text(values, CONNECT_OPTION_STATE_DIR);
    const char *settings = options_text(values, CONNECT_OPTION_SETTINGS_DIR);
    int r = state != NULL ? recorded_absolute(state, wishes->state_dir, err)
                          : recorded_default_state(wishes->state_dir, err);

    return r == 0 && settings != NULL ? recorded_absolute(settings, wishes->settings_dir, err) : r;
}

static void keep_warnings(const struct settings *settings, struct wishes *wishes)
{
    wishes->warning_count = settings->warning_count;
    for (size_t i = 0; i < settings->warning_count && i < WISHES_WARNINGS; i++) {
        struct str text = utf8_cut(settings->warnings[i], WISHES_WARNING_BYTES - 1);

        snprintf(wishes->warnings[i], WISHES_WARNING_BYTES, "%.*s", STR_ARG(text));
    }
}

int wishes_read(const struct option_values *values, struct wishes *out_wishes, struct err *err)
{
    cleanup_arena struct arena arena = ARENA_INIT(SETTINGS_ARENA_BYTES);
    struct wishes wishes = {.has_write_access = false};
    struct settings settings;
    int r = choose_places(values, &wishes, err);

    if (r == 0)
        r = read_settings(&wishes, &arena, &settings, err);
    if (r == 0)
        r = merge_modes(values, &settings, &wishes, err);
    if (r == 0)
        r = choose_dir(values, &settings, &wishes, err);
    if (r < 0)
        return r;
    wishes.log_level = choose_level(values, &settings);
    keep_warnings(&settings, &wishes);
    *out_wishes = wishes;
    return 0;
}
