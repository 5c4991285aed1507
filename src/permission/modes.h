/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a group of tools may do as a whole: nothing, only after asking, or everything. Also whether
 * files may be changed at all, which the user must opt in to: see permission_write_access().
 */
#ifndef PERMISSION_MODES_H
#define PERMISSION_MODES_H

#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"
#include "protocol/catalog.h"

enum permission_mode {
    PERMISSION_DENY, /* its tools are not offered */
    PERMISSION_ASK,
    PERMISSION_ALLOW,
};

enum { PERMISSION_GROUPS = CATALOG_BROWSER + 1 };

struct permission_modes {
    enum permission_mode of[PERMISSION_GROUPS]; /* by enum catalog_group */
    /* Reading files of authority/names/sensitive.h, where reading is allowed otherwise. */
    enum permission_mode sensitive;
    /* Changing files of authority/names/autorun.h is like changing others: it is not asked about.
     */
    bool allows_autorun;
};

/* The defaults for a first start. */
extern const struct permission_modes permission_modes_recommended;

/* "deny", "ask", "allow"; case-sensitive. */
const char *permission_mode_name(enum permission_mode mode);
bool permission_mode_from(struct str name, enum permission_mode *out_mode);

/*
 * Denies changing if reading is denied. ERR_INVALID_OPTION, with advice, if every group is denied.
 */
int permission_modes_constrain(struct permission_modes *modes, struct err *err);

/* Lowers allow to ask: while deny rules may be missing, nothing may happen without asking. */
void permission_modes_cap_ask(struct permission_modes *modes);

/* Where and how the user opted in to changing files. */
struct permission_write_sources {
    bool flag;     /* --filesystem-write-access */
    bool env;      /* the same option in the environment */
    bool settings; /* "filesystemWriteAccess": true; false if the key is missing */
    /* From --permission-filesystem-write, its variable, and the group's mode in the settings. */
    bool has_flag_mode;
    bool has_env_mode;
    bool has_settings_mode;
    enum permission_mode flag_mode;
    enum permission_mode env_mode;
    enum permission_mode settings_mode;
};

struct permission_write {
    bool is_opted_in; /* false: the user interface shows that write access is off */
    /* The effective mode: PERMISSION_DENY unless the user opted in to more. */
    enum permission_mode mode;
};

/*
 * The mode is the one of the strongest source (flag, environment, settings, template). It
 * counts only where the user opted in, which a mode in the settings does not do; a deny that was
 * written out wins over the short forms.
 */
struct permission_write permission_write_access(const struct permission_write_sources *sources);

#endif
