/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a group of tools may do as a whole: nothing, what somebody is asked for,
 * or everything. And whether files may be changed at all, which the user has to
 * want: see permission_write_access().
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
};

/* The template of a first start. */
extern const struct permission_modes permission_modes_recommended;

/* "deny", "ask", "allow", in these letters only. */
const char *permission_mode_name(enum permission_mode mode);
bool permission_mode_from(struct str name, enum permission_mode *out_mode);

/*
 * What cannot be read cannot be changed either. ERR_INVALID_OPTION when every group is denied that
 * has tools: the message says what to do.
 */
int permission_modes_constrain(struct permission_modes *modes, struct err *err);

/* While deny rules may be missing nothing happens unasked. */
void permission_modes_cap_ask(struct permission_modes *modes);

/* What the user has said about changing files, and where. */
struct permission_write_sources {
    bool flag;     /* --filesystem-write-access */
    bool env;      /* the same in the environment */
    bool settings; /* "filesystemWriteAccess": true; a file without the key is false */
    /* --permission-filesystem-write, its variable, and the settings' mode of the group. */
    bool has_flag_mode;
    bool has_env_mode;
    bool has_settings_mode;
    bool has_edited; /* in the connect prompt */
    enum permission_mode flag_mode;
    enum permission_mode env_mode;
    enum permission_mode settings_mode;
    enum permission_mode edited;
};

struct permission_write {
    bool is_opted_in;          /* false: the row of the group says that write access is off */
    enum permission_mode mode; /* what holds: PERMISSION_DENY unless somebody asked for more */
};

/*
 * The mode is the one of the strongest source (prompt, flag, environment, settings, template). It
 * counts only where the user opted in, which a mode in the settings does not do; a deny that was
 * written out wins over the short forms.
 */
struct permission_write permission_write_access(const struct permission_write_sources *sources);

#endif
