/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps the decisions of a session and the user's settings in sync: rules that change in the file
 * apply from the next decision on, and permanent decisions of the user are saved there. Also gives
 * the authority the names that rules deny at present, so that a walk or a search does not show
 * them.
 *
 * Thread-safe. Saving waits for other programs that lock the file; nothing else waits for a save.
 */
#ifndef PERMISSION_RULES_KEEPER_H
#define PERMISSION_RULES_KEEPER_H

#include "base/err.h"
#include "gatehouse/authority.h"
#include "permission/permission.h"
#include "permission/rules/led.h"
#include "permission/settings/file.h"

struct keeper;

struct keeper_config {
    struct permission_modes modes;
    /* NULL: there are no rules, and none can be saved. Must outlive the keeper. */
    struct settings_file *settings;
    bool may_save;                     /* save permanent decisions */
    const char *const *protected_dirs; /* as for permission_new() */
    /*
     * Whether this absolute path leads elsewhere through links at present, and where to: what a
     * rule denies is denied there as well. Any thread calls it, one at a time. NULL: links are not
     * followed.
     */
    led_fn *leads;
    void *leads_data;
    const struct clock *clock; /* NULL: the system clock */
};

/*
 * Reads the rules; creates a missing file, renames a malformed one. *out_findings, which may be
 * NULL, receives what to tell the user about it.
 */
int keeper_new(const struct keeper_config *config, struct keeper **out_keeper,
               struct settings_findings *out_findings, struct err *err);
void keeper_free(struct keeper *keeper);

struct permission *keeper_permission(struct keeper *keeper);

/* Whether permanent decisions can be saved. */
bool keeper_saves(const struct keeper *keeper);

/*
 * Adds literal rules for these resources, here and in the file. If the file cannot be written, they
 * apply for this session, and the error says so.
 */
int keeper_save(struct keeper *keeper, const struct permission_resource *resources, size_t count,
                enum rule_effect effect, struct err *err);

/* The same for one rule with a pattern. */
int keeper_save_rule(struct keeper *keeper, const struct rule *rule, struct err *err);

/* Without a file: replaces all rules by these. For programs whose rules another process keeps. */
int keeper_set_rules(struct keeper *keeper, const struct rule *rules, size_t count,
                     struct err *err);

/* Whether the file has changed since it was read; call it when its watch fires. */
bool keeper_is_outdated(struct keeper *keeper);

/*
 * Reads the file again. After an error the known rules still apply, and nothing is allowed without
 * asking until the file is repaired.
 */
int keeper_refresh(struct keeper *keeper, struct err *err);

/*
 * Follows the links of rules again: denies where they lead by now. The filter does so by itself,
 * KEEPER_LINKS_MS after the last time.
 */
void keeper_follow_links(struct keeper *keeper);

enum { KEEPER_LINKS_MS = 100 };

/*
 * Makes a filter for scopes on this root, whose path has no links; rules may also name it by the
 * given path (NULL: there is no other). Both are absolute. Call it before any of the scopes is
 * used; once for each root. It lives as long as the keeper.
 */
int keeper_filter(struct keeper *keeper, const char *root_path, const char *given_path,
                  struct authority_filter *out_filter);

#endif
