/* SPDX-License-Identifier: Apache-2.0 */
#include "protocol/catalog.h"

const struct catalog_tool *catalog_find(struct str name)
{
    for (size_t i = 0; i < catalog_tool_count; i++)
        if (str_eq(catalog_tools[i].name, name))
            return &catalog_tools[i];
    return NULL;
}

bool catalog_has_group(enum catalog_group group)
{
    for (size_t i = 0; i < catalog_tool_count; i++)
        if (catalog_tools[i].group == group)
            return true;
    return false;
}

const char *catalog_group_name(enum catalog_group group)
{
    switch (group) {
    case CATALOG_FILESYSTEM_READ:
        return "filesystemRead";
    case CATALOG_FILESYSTEM_WRITE:
        return "filesystemWrite";
    case CATALOG_SHELL:
        return "shell";
    case CATALOG_COMPUTER:
        return "computer";
    case CATALOG_BROWSER:
        return "browser";
    }
    return "";
}
