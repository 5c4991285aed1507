/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The words of the enums. They stand in records that outlive the program and in
 * people's settings: a word that was once given stays.
 */
#include "authority/internal.h"

#include "gatehouse/authority.h"

/* For a value outside its enum, which is a mistake of ours and must still be recorded. */
static const char unknown[] = "unknown";

const char *authority_subject_type_name(enum authority_subject_type type)
{
    switch (type) {
    case AUTHORITY_CORE:
        return "core";
    case AUTHORITY_AGENT_RUN:
        return "agent-run";
    case AUTHORITY_EXTENSION:
        return "extension";
    case AUTHORITY_AUTOMATION:
        return "automation";
    }
    return unknown;
}

const char *authority_root_kind_name(enum authority_root_kind kind)
{
    switch (kind) {
    case AUTHORITY_WORKSPACE:
        return "workspace";
    case AUTHORITY_EXTENSION_STORAGE:
        return "extension-storage";
    case AUTHORITY_ARTIFACT:
        return "artifact";
    case AUTHORITY_TEMP:
        return "temp";
    case AUTHORITY_KNOWLEDGE:
        return "knowledge";
    case AUTHORITY_DOWNLOADS:
        return "downloads";
    case AUTHORITY_SECRET:
        return "secret";
    }
    return unknown;
}

const char *authority_operation_name(enum authority_operation operation)
{
    switch (operation) {
    case AUTHORITY_OP_REQUEST_ROOT:
        return "request-root";
    case AUTHORITY_OP_READ:
        return "read";
    case AUTHORITY_OP_WRITE:
        return "write";
    case AUTHORITY_OP_APPEND:
        return "append";
    case AUTHORITY_OP_LIST:
        return "list";
    case AUTHORITY_OP_STAT:
        return "metadata";
    case AUTHORITY_OP_MKDIR:
        return "mkdir";
    case AUTHORITY_OP_MOVE:
        return "move";
    case AUTHORITY_OP_COPY:
        return "copy";
    case AUTHORITY_OP_COPY_IN:
        return "copy-in";
    case AUTHORITY_OP_REMOVE:
        return "delete";
    case AUTHORITY_OP_EXTRACT:
        return "archive-extract";
    case AUTHORITY_OP_ARCHIVE:
        return "archive-create";
    case AUTHORITY_OP_TEMP:
        return "create-temp";
    case AUTHORITY_OP_WATCH:
        return "watch";
    case AUTHORITY_OP_WALK:
        return "walk";
    case AUTHORITY_OP_SEARCH:
        return "search";
    case AUTHORITY_OP_EXECUTE:
        return "execute";
    case AUTHORITY_OPERATIONS:
        break;
    }
    return unknown;
}

const char *authority_outcome_name(enum authority_outcome outcome)
{
    switch (outcome) {
    case AUTHORITY_INTENT:
        return "intent";
    case AUTHORITY_SUCCESS:
        return "success";
    case AUTHORITY_DENIED:
        return "denied";
    case AUTHORITY_FAILED:
        return "failed";
    case AUTHORITY_NOTICED:
        return "noticed";
    }
    return unknown;
}

const char *authority_change_name(enum authority_change change)
{
    switch (change) {
    case AUTHORITY_CREATED:
        return "created";
    case AUTHORITY_CHANGED:
        return "changed";
    case AUTHORITY_REMOVED:
        return "removed";
    case AUTHORITY_RESCAN:
        return "rescan";
    }
    return unknown;
}

const char *authority_source_name(enum authority_source source)
{
    switch (source) {
    case AUTHORITY_FROM_MANIFEST:
        return "manifest";
    case AUTHORITY_FROM_CONVERSATION:
        return "conversation";
    case AUTHORITY_FROM_USER_APPROVAL:
        return "user-approval";
    case AUTHORITY_FROM_CORE:
        return "core";
    }
    return unknown;
}

const char *authority_access_name(enum authority_access access)
{
    switch (access) {
    case AUTHORITY_READ:
        return "read";
    case AUTHORITY_WRITE:
        return "write";
    case AUTHORITY_DELETE:
        return "delete";
    case AUTHORITY_LIST:
        return "list";
    case AUTHORITY_MOVE:
        return "move";
    case AUTHORITY_ARCHIVE:
        return "archive";
    case AUTHORITY_WATCH:
        return "watch";
    case AUTHORITY_METADATA:
        return "metadata";
    case AUTHORITY_ALL_ACCESS:
        break;
    }
    return unknown;
}
