/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ~/.n8n-gateway/settings.json on disk: private, replaced atomically and durably, changed by one
 * writer at a time based on its newest content. settings.h has its content.
 *
 * It is written in three cases only: it is missing, it is malformed, or a rule is added or revoked.
 * No function takes modes or a directory, so changes for one session cannot get here.
 *
 * A malformed file may have held deny rules. It is renamed to settings.json.malformed-…, and as
 * long as such a file exists, every start reports it and limits modes to "ask". The user ends this
 * by putting the repaired file back, or by removing it.
 */
#ifndef PERMISSION_SETTINGS_FILE_H
#define PERMISSION_SETTINGS_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "gatehouse/authority.h"
#include "permission/rules/rule.h"
#include "permission/settings/settings.h"

#define SETTINGS_FILE_NAME "settings.json"
/* For the log of a program. */
#define SETTINGS_FILE_TIMED                                                                        \
    "cannot watch the rules for changes, so they are checked every 2 seconds: other programs may " \
    "have taken all inotify instances or watches of this user"

enum {
    SETTINGS_FILE_WAIT_MS = 20000,  /* for another writer's lock */
    SETTINGS_FILE_NAME_BYTES = 256, /* of a renamed malformed file */
    SETTINGS_FILE_LOOK_MS = 2000,   /* between two looks, where inotify is not to be had */
};

struct settings_file;

/* $HOME/.n8n-gateway, which may not exist. */
int settings_file_default_dir(char out_path[PATH_MAX], struct err *err);

struct settings_file_config {
    struct authority *authority; /* must outlive the file; its audit log records every change */
    const char *dir;             /* absolute; NULL: $HOME/.n8n-gateway */
    bool may_create;             /* may create directory and file, and rename a malformed file */
    bool only_reads;             /* overrides may_create */
    int64_t wait_ms;             /* for another writer; 0: SETTINGS_FILE_WAIT_MS */
};

/*
 * Opens the directory; the file may be missing, and settings_file_load() creates it. ERR_NOT_FOUND
 * only if nothing may be created. The message is for the user.
 */
int settings_file_open(const struct settings_file_config *config, struct settings_file **out_file,
                       struct err *err);
void settings_file_free(struct settings_file *file);

/* What else to tell the user about the file. */
struct settings_findings {
    bool is_set_aside; /* a malformed file was renamed, so the modes are limited to "ask" */
    char set_aside[SETTINGS_FILE_NAME_BYTES]; /* its name; the newest of several */
    char why[ERR_MESSAGE_BYTES];              /* what was wrong, if this call renamed it */
    bool is_created;                          /* this call created the file */
};

/*
 * For a start: reads the file; creates it from the template if missing and renames it if malformed,
 * if the config allows that, else returns ERR_NOT_FOUND or ERR_SETTINGS. With is_set_aside, flags
 * must not raise a mode above "ask" either.
 */
int settings_file_load(struct settings_file *file, struct arena *arena,
                       struct settings *out_settings, struct settings_findings *out_findings,
                       struct err *err);

/*
 * For a running session: same, but creates and renames nothing, since an editor may be writing.
 * After an error the caller keeps its present settings.
 */
int settings_file_reload(struct settings_file *file, struct arena *arena,
                         struct settings *out_settings, struct settings_findings *out_findings,
                         struct err *err);

/* Looks for a renamed malformed file only; for callers that find no file and create none. */
int settings_file_look_aside(struct settings_file *file, struct settings_findings *out_findings,
                             struct err *err);

/* ERR_ALREADY_EXISTS if the rule exists; ERR_SETTINGS if the file is malformed. */
int settings_file_add_rule(struct settings_file *file, const struct rule *rule, struct err *err);
/* `id` is a rule's id or the beginning of it, as for settings_find(). */
int settings_file_revoke(struct settings_file *file, struct str id, struct err *err);

/*
 * An fd for the loop that is readable when the file may have changed. Owned by the file. If the
 * kernel cannot tell of changes, it is readable each SETTINGS_FILE_LOOK_MS (*out_is_timed).
 */
int settings_file_watch(struct settings_file *file, int *out_fd, bool *out_is_timed,
                        struct err *err);
/*
 * Whether the file, or the renamed malformed file, has changed since it was last read. Never
 * blocks.
 */
bool settings_file_changed(struct settings_file *file);

/* Absolute, without links: for messages, authority_protect() and the sandbox. */
const char *settings_file_dir(const struct settings_file *file);
/* A note for the user if permissions of others were removed on opening or loading; else empty. */
const char *settings_file_note(const struct settings_file *file);

#endif
