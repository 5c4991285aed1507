/* SPDX-License-Identifier: Apache-2.0 */
#include "permission/modes.h"

#include "base/cleanup.h"

const struct permission_modes permission_modes_recommended = {
    .of =
        {
            [CATALOG_FILESYSTEM_READ] = PERMISSION_ALLOW,
            [CATALOG_FILESYSTEM_WRITE] = PERMISSION_ASK,
            [CATALOG_SHELL] = PERMISSION_DENY,
            [CATALOG_COMPUTER] = PERMISSION_DENY,
            [CATALOG_BROWSER] = PERMISSION_ASK,
        },
    .sensitive = PERMISSION_ASK,
};

static const char *const names[] = {
    [PERMISSION_DENY] = "deny",
    [PERMISSION_ASK] = "ask",
    [PERMISSION_ALLOW] = "allow",
};

const char *permission_mode_name(enum permission_mode mode)
{
    return names[mode];
}

bool permission_mode_from(struct str name, enum permission_mode *out_mode)
{
    size_t index = str_index(name, names, array_size(names));

    if (index != SIZE_MAX)
        *out_mode = (enum permission_mode)index;
    return index != SIZE_MAX;
}

int permission_modes_constrain(struct permission_modes *modes, struct err *err)
{
    if (modes->of[CATALOG_FILESYSTEM_READ] == PERMISSION_DENY)
        modes->of[CATALOG_FILESYSTEM_WRITE] = PERMISSION_DENY;
    for (size_t i = 0; i < PERMISSION_GROUPS; i++)
        if (modes->of[i] != PERMISSION_DENY)
            return 0;
    return err_set(err, ERR_INVALID_OPTION,
                   "all tool groups are denied, so there is nothing to offer: set at least one to "
                   "ask or allow, for example --permission-filesystem-read ask");
}

void permission_modes_cap_ask(struct permission_modes *modes)
{
    for (size_t i = 0; i < PERMISSION_GROUPS; i++)
        if (modes->of[i] == PERMISSION_ALLOW)
            modes->of[i] = PERMISSION_ASK;
    if (modes->sensitive == PERMISSION_ALLOW)
        modes->sensitive = PERMISSION_ASK;
    modes->allows_autorun = false;
}

struct permission_write permission_write_access(const struct permission_write_sources *sources)
{
    struct permission_write write = {
        .is_opted_in = sources->flag || sources->env || sources->settings,
        .mode = permission_modes_recommended.of[CATALOG_FILESYSTEM_WRITE],
    };

    if (sources->has_settings_mode)
        write.mode = sources->settings_mode;
    if (sources->has_env_mode)
        write.mode = sources->env_mode;
    if (sources->has_flag_mode)
        write.mode = sources->flag_mode;
    /* Naming a mode for this session is an opt-in; the settings have one from their template. */
    if (sources->has_flag_mode || sources->has_env_mode)
        write.is_opted_in = write.is_opted_in || write.mode != PERMISSION_DENY;
    if (!write.is_opted_in)
        write.mode = PERMISSION_DENY;
    return write;
}
