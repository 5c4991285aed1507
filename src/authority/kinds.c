/* SPDX-License-Identifier: Apache-2.0 */
/* What each kind of root allows by itself, before any policy. */
#include "authority/internal.h"

#include <string.h>

static const unsigned changing = AUTHORITY_WRITE | AUTHORITY_DELETE | AUTHORITY_MOVE;
static const unsigned naming = AUTHORITY_LIST | AUTHORITY_WATCH | AUTHORITY_ARCHIVE;

static int deny(struct err *err, const char *why)
{
    return err_set(err, ERR_DENIED_BY_POLICY, "%s", why);
}

/* The user, or the host's own code, agreed to exactly this. */
static bool is_explicit(const struct authority_request *request)
{
    return request->source == AUTHORITY_FROM_USER_APPROVAL ||
           request->source == AUTHORITY_FROM_CORE;
}

int kind_check_request(const struct authority_request *request, struct err *err)
{
    const struct authority_subject *subject = &request->subject;
    bool is_core = subject->type == AUTHORITY_CORE;

    if (request->limits.hardlinks == AUTHORITY_HARDLINKS_ALLOW &&
        (request->root.kind != AUTHORITY_WORKSPACE || (request->access & changing) != 0))
        return deny(err, "hard links are allowed only in read-only workspaces");
    if (request->limits.hardlinks == AUTHORITY_HARDLINKS_READ &&
        request->root.kind != AUTHORITY_WORKSPACE)
        return deny(err, "hard links are read only in workspaces");
    switch (request->root.kind) {
    case AUTHORITY_WORKSPACE:
        if ((request->access & changing) != 0 && request->source == AUTHORITY_FROM_MANIFEST)
            return deny(err, "a manifest alone does not allow changes in a workspace");
        return 0;
    case AUTHORITY_EXTENSION_STORAGE:
        if (!is_core &&
            (subject->type != AUTHORITY_EXTENSION || strcmp(subject->id, request->root.id) != 0))
            return deny(err, "this storage belongs to another extension");
        return 0;
    case AUTHORITY_ARTIFACT:
        return 0; /* changes go through the artifact's own calls: see operation.c */
    case AUTHORITY_TEMP:
        if (!is_core)
            return deny(err, "create temporary workspaces, do not request them");
        return 0;
    case AUTHORITY_KNOWLEDGE:
        if (!is_explicit(request))
            return deny(err, "a knowledge root needs the user's approval");
        return 0;
    case AUTHORITY_DOWNLOADS:
        if ((request->access & AUTHORITY_MOVE) != 0)
            return deny(err, "files in downloads can be copied, not moved");
        return 0;
    case AUTHORITY_SECRET:
        if (!is_explicit(request))
            return deny(err, "a secret root needs the user's approval");
        if ((request->access & naming) != 0)
            return deny(err, "a secret root cannot be listed");
        return 0;
    }
    return deny(err, "unknown kind of root");
}

bool kind_follows_links(enum authority_root_kind kind)
{
    return kind == AUTHORITY_WORKSPACE;
}

static bool is_for_one(enum authority_root_kind kind)
{
    return kind == AUTHORITY_SECRET || kind == AUTHORITY_TEMP;
}

unsigned kind_file_mode(enum authority_root_kind kind)
{
    return is_for_one(kind) ? 0600 : 0644;
}

unsigned kind_dir_mode(enum authority_root_kind kind)
{
    return is_for_one(kind) ? 0700 : 0755;
}

unsigned kind_mode_mask(enum authority_root_kind kind)
{
    return is_for_one(kind) ? 0700 : 0777;
}
