/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ~/.n8n-gateway/settings.json on the disk: private, replaced whole and durably,
 * changed by one writer at a time on its newest content. What is in it is settings.h.
 *
 * It is written for three reasons only: it is missing, it is malformed, a rule is added or
 * revoked. No call takes modes or a directory, so what a session changes for itself cannot get
 * here.
 *
 * A malformed file may have held rules that deny. It is put aside under another name
 * (settings.json.malformed-…), and as long as such a file lies there, whoever starts is told so and
 * gets modes of "ask" at the most. The user ends this by putting the file back, mended, or by
 * removing it.
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

enum {
    SETTINGS_FILE_WAIT_MS = 20000,  /* for another writer */
    SETTINGS_FILE_NAME_BYTES = 256, /* of a file that was put aside */
};

struct settings_file;

/* $HOME/.n8n-gateway, which may be missing. */
int settings_file_default_dir(char out_path[PATH_MAX], struct err *err);

struct settings_file_config {
    struct authority *authority; /* outlives the file; its record tells of every change */
    const char *dir;             /* absolute; NULL: $HOME/.n8n-gateway */
    bool may_create;             /* directory and file, and a malformed one may be put aside */
    bool only_reads;             /* goes before may_create */
    int64_t wait_ms;             /* for another writer; 0: SETTINGS_FILE_WAIT_MS */
};

/*
 * Opens the directory; the file may be missing, and is made by settings_file_load().
 * ERR_NOT_FOUND only where nothing may be made. The message is for the user.
 */
int settings_file_open(const struct settings_file_config *config, struct settings_file **out_file,
                       struct err *err);
void settings_file_free(struct settings_file *file);

/* What else there is to know of the file, for the user's ears. */
struct settings_findings {
    bool is_set_aside; /* a malformed file lies beside it, so the modes were cut to "ask" */
    char set_aside[SETTINGS_FILE_NAME_BYTES]; /* its name, the newest of several */
    char why[ERR_MESSAGE_BYTES];              /* what was wrong, if this call put it aside */
    bool is_created;                          /* this call made the file */
};

/*
 * For a start: what the file says; made from the template where it is missing, put aside where it
 * is malformed, as far as the config allows. Else ERR_NOT_FOUND and ERR_SETTINGS. Where
 * is_set_aside, flags must not raise a mode above "ask" either.
 */
int settings_file_load(struct settings_file *file, struct arena *arena,
                       struct settings *out_settings, struct settings_findings *out_findings,
                       struct err *err);

/*
 * For a session that goes on: the same, but nothing is made or put aside, since an editor may be at
 * it. After an error whoever calls keeps what it has.
 */
int settings_file_reload(struct settings_file *file, struct arena *arena,
                         struct settings *out_settings, struct settings_findings *out_findings,
                         struct err *err);

/* For who finds no file and makes none: what lies aside counts without it, too. */
int settings_file_look_aside(struct settings_file *file, struct settings_findings *out_findings,
                             struct err *err);

/* ERR_ALREADY_EXISTS when there is such a rule; ERR_SETTINGS when the file is malformed. */
int settings_file_add_rule(struct settings_file *file, const struct rule *rule, struct err *err);
/* By its id or the beginning of it, as settings_find() takes it. */
int settings_file_revoke(struct settings_file *file, struct str id, struct err *err);

/* For a loop: a descriptor that is readable when the file may have changed. It is the file's. */
int settings_file_watch(struct settings_file *file, int *out_fd, struct err *err);
/* Whether it is another one than was last looked at, or what lies aside has changed. Never blocks.
 */
bool settings_file_changed(struct settings_file *file);

/* Absolute, without links: for words, for authority_protect() and as a place for isolate. */
const char *settings_file_dir(const struct settings_file *file);
/* What was closed to others by opening or loading, for the user; empty if nothing was. */
const char *settings_file_note(const struct settings_file *file);

#endif
