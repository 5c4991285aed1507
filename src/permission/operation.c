/* SPDX-License-Identifier: Apache-2.0 */
#include "permission/operation.h"

#include "base/cleanup.h"

static const char *const names[PERMISSION_OPERATIONS] = {
    [PERMISSION_USES] = "uses",
    [PERMISSION_LOOKS_UP] = "looksUp",
    [PERMISSION_LISTS] = "lists",
    [PERMISSION_LISTS_BELOW] = "listsBelow",
    [PERMISSION_READS] = "reads",
    [PERMISSION_READS_BELOW] = "readsBelow",
    [PERMISSION_READS_SECRETS] = "readsSecrets",
    [PERMISSION_CREATES] = "creates",
    [PERMISSION_CREATES_BELOW] = "createsBelow",
    [PERMISSION_CHANGES] = "changes",
    [PERMISSION_CHANGES_BELOW] = "changesBelow",
    [PERMISSION_MOVES] = "moves",
    [PERMISSION_DELETES] = "deletes",
};

static const char *const words[PERMISSION_OPERATIONS] = {
    [PERMISSION_USES] = "use",
    [PERMISSION_LOOKS_UP] = "look up",
    [PERMISSION_LISTS] = "list",
    [PERMISSION_LISTS_BELOW] = "list with all subfolders",
    [PERMISSION_READS] = "read",
    [PERMISSION_READS_BELOW] = "read everything in it",
    [PERMISSION_READS_SECRETS] = "read everything in it",
    [PERMISSION_CREATES] = "create",
    [PERMISSION_CREATES_BELOW] = "create with everything in it",
    [PERMISSION_CHANGES] = "change",
    [PERMISSION_CHANGES_BELOW] = "change what is in it",
    [PERMISSION_MOVES] = "move away",
    [PERMISSION_DELETES] = "delete",
};

const char *permission_operation_name(enum permission_operation operation)
{
    return names[operation];
}

bool permission_operation_from(struct str name, enum permission_operation *out_operation)
{
    size_t index = str_index(name, names, array_size(names));

    if (index != SIZE_MAX)
        *out_operation = (enum permission_operation)index;
    return index != SIZE_MAX;
}

const char *permission_operation_words(enum permission_operation operation)
{
    return words[operation];
}

enum catalog_group permission_operation_group(enum permission_operation operation)
{
    return operation <= PERMISSION_READS_SECRETS ? CATALOG_FILESYSTEM_READ
                                                 : CATALOG_FILESYSTEM_WRITE;
}
