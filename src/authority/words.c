/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names of enum values. They are in audit logs that outlive the program and in users' settings:
 * a name must never change.
 */
#include "authority/internal.h"

#include "gatehouse/authority.h"

/* For a value outside its enum, which is a bug of ours and must still be recorded. */
static const char unknown[] = "unknown";

static const char *word_at(const char *const *words, size_t count, size_t value)
{
    return value < count && words[value] != NULL ? words[value] : unknown;
}

const char *authority_subject_type_name(enum authority_subject_type type)
{
    static const char *const words[] = {
        [AUTHORITY_CORE] = "core",           [AUTHORITY_AGENT_RUN] = "agent-run",
        [AUTHORITY_EXTENSION] = "extension", [AUTHORITY_AUTOMATION] = "automation",
        [AUTHORITY_USER] = "user",
    };

    return word_at(words, array_size(words), type);
}

const char *authority_root_kind_name(enum authority_root_kind kind)
{
    static const char *const words[] = {
        [AUTHORITY_WORKSPACE] = "workspace", [AUTHORITY_EXTENSION_STORAGE] = "extension-storage",
        [AUTHORITY_ARTIFACT] = "artifact",   [AUTHORITY_TEMP] = "temp",
        [AUTHORITY_KNOWLEDGE] = "knowledge", [AUTHORITY_DOWNLOADS] = "downloads",
        [AUTHORITY_SECRET] = "secret",
    };

    return word_at(words, array_size(words), kind);
}

const char *authority_operation_name(enum authority_operation operation)
{
    static const char *const words[] = {
        [AUTHORITY_OP_REQUEST_ROOT] = "request-root",
        [AUTHORITY_OP_READ] = "read",
        [AUTHORITY_OP_WRITE] = "write",
        [AUTHORITY_OP_APPEND] = "append",
        [AUTHORITY_OP_LIST] = "list",
        [AUTHORITY_OP_STAT] = "metadata",
        [AUTHORITY_OP_MKDIR] = "mkdir",
        [AUTHORITY_OP_MOVE] = "move",
        [AUTHORITY_OP_COPY] = "copy",
        [AUTHORITY_OP_COPY_IN] = "copy-in",
        [AUTHORITY_OP_REMOVE] = "delete",
        [AUTHORITY_OP_EXTRACT] = "archive-extract",
        [AUTHORITY_OP_ARCHIVE] = "archive-create",
        [AUTHORITY_OP_TEMP] = "create-temp",
        [AUTHORITY_OP_WATCH] = "watch",
        [AUTHORITY_OP_WALK] = "walk",
        [AUTHORITY_OP_SEARCH] = "search",
        [AUTHORITY_OP_EXECUTE] = "execute",
        [AUTHORITY_OP_CALL] = "call",
        [AUTHORITY_OP_SIGN_IN] = "sign-in",
        [AUTHORITY_OP_SIGN_OUT] = "sign-out",
        [AUTHORITY_OP_ACCOUNT] = "account",
        [AUTHORITY_OP_AGENT_KEY] = "agent-key",
        [AUTHORITY_OP_CONSENT] = "consent",
        [AUTHORITY_OP_PAIR] = "pair",
        [AUTHORITY_OP_REQUEST] = "request",
    };

    return word_at(words, array_size(words), operation);
}

const char *authority_outcome_name(enum authority_outcome outcome)
{
    static const char *const words[] = {
        [AUTHORITY_INTENT] = "intent",   [AUTHORITY_SUCCESS] = "success",
        [AUTHORITY_DENIED] = "denied",   [AUTHORITY_FAILED] = "failed",
        [AUTHORITY_NOTICED] = "noticed",
    };

    return word_at(words, array_size(words), outcome);
}

const char *authority_change_name(enum authority_change change)
{
    static const char *const words[] = {
        [AUTHORITY_CREATED] = "created",
        [AUTHORITY_CHANGED] = "changed",
        [AUTHORITY_REMOVED] = "removed",
        [AUTHORITY_RESCAN] = "rescan",
    };

    return word_at(words, array_size(words), change);
}

const char *authority_source_name(enum authority_source source)
{
    static const char *const words[] = {
        [AUTHORITY_FROM_MANIFEST] = "manifest",
        [AUTHORITY_FROM_CONVERSATION] = "conversation",
        [AUTHORITY_FROM_USER_APPROVAL] = "user-approval",
        [AUTHORITY_FROM_CORE] = "core",
    };

    return word_at(words, array_size(words), source);
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
