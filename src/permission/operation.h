/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a call does to a resource. A permission for the session is for one operation on one
 * resource: whoever may create a file may not delete it, and whoever may look a folder up may not
 * read what is in it.
 */
#ifndef PERMISSION_OPERATION_H
#define PERMISSION_OPERATION_H

#include <stdbool.h>

#include "base/str.h"
#include "protocol/catalog.h"

enum permission_operation {
    PERMISSION_USES,        /* runs the command, opens the host: all that can be done to it */
    PERMISSION_LOOKS_UP,    /* whether it exists, its kind, size and times */
    PERMISSION_LISTS,       /* the names in a directory */
    PERMISSION_LISTS_BELOW, /* and in the directories below it */
    PERMISSION_READS,
    PERMISSION_READS_BELOW, /* everything in a directory */
    /* The same where the directory's path tells that it holds secrets, and no longer does so then.
     */
    PERMISSION_READS_SECRETS,
    PERMISSION_CREATES,
    PERMISSION_CREATES_BELOW, /* a directory with what is in it */
    PERMISSION_CHANGES,       /* what exists */
    PERMISSION_CHANGES_BELOW, /* what is in a directory */
    PERMISSION_MOVES,         /* away, with everything in it */
    PERMISSION_DELETES,       /* with everything in it */
    PERMISSION_OPERATIONS
};

/* "uses", "looksUp", "lists", …: between our own processes. */
const char *permission_operation_name(enum permission_operation operation);
bool permission_operation_from(struct str name, enum permission_operation *out_operation);

/* For a question: "look up", "list with all subfolders", …. */
const char *permission_operation_words(enum permission_operation operation);

/* The group that a file operation belongs to; not for PERMISSION_USES. */
enum catalog_group permission_operation_group(enum permission_operation operation);

#endif
