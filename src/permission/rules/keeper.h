/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps the decisions of a session and the user's settings in step: rules that
 * change in the file hold from the next decision on, and what the user decides
 * for good is written there. Also hands the authority the names that rules deny
 * at the moment, so that a walk or a search does not show them either.
 *
 * Any thread may call. Saving waits for other programs that have the file, and
 * nothing else waits for who saves.
 */
#ifndef PERMISSION_RULES_KEEPER_H
#define PERMISSION_RULES_KEEPER_H

#include "base/err.h"
#include "gatehouse/authority.h"
#include "permission/permission.h"
#include "permission/settings/file.h"

struct keeper;

struct keeper_config {
    struct permission_modes modes;
    const char *const *protected_dirs; /* as in permission.h */
    /* NULL: there are no rules, and none can be kept. Outlives the keeper. */
    struct settings_file *settings;
    bool may_save;             /* what is decided for good */
    const struct clock *clock; /* NULL: the system's */
};

/*
 * Reads the rules; a file that is missing is made, one that is malformed is put aside. What the
 * user should know of it is in *out_findings, which may be NULL.
 */
int keeper_new(const struct keeper_config *config, struct keeper **out_keeper,
               struct settings_findings *out_findings, struct err *err);
void keeper_free(struct keeper *keeper);

struct permission *keeper_permission(struct keeper *keeper);

/* Whether what the user decides for good can be kept. */
bool keeper_saves(const struct keeper *keeper);

/*
 * Rules for these resources, literally, from now on and in the file. Where the file cannot be
 * written they hold for this session, and the error says so.
 */
int keeper_save(struct keeper *keeper, const struct permission_resource *resources, size_t count,
                enum rule_effect effect, struct err *err);

/*
 * Where there is no file: these rules hold from now on, and none of those before. For programs
 * whose rules somebody else keeps.
 */
int keeper_set_rules(struct keeper *keeper, const struct rule *rules, size_t count,
                     struct err *err);

/* Whether the file has changed since it was read, when its watch says so. */
bool keeper_is_outdated(struct keeper *keeper);

/*
 * The file may have changed. After an error the rules that were known hold
 * on, and nothing happens unasked until it is mended.
 */
int keeper_refresh(struct keeper *keeper, struct err *err);

/*
 * For the limits of scopes over this root, whose path has no links; rules may also call it as it
 * was given (NULL: there is no other path). Both are absolute. Before any of the scopes is used.
 */
int keeper_filter(struct keeper *keeper, const char *root_path, const char *given_path,
                  struct authority_filter *out_filter);

#endif
