/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every tool of the product, as one table. scripts/make-catalog generates it from catalog/, one
 * JSON file per tool, together with docs/tools.md and the answer to `tools/list`. A tool's provider
 * implements it.
 */
#ifndef PROTOCOL_CATALOG_H
#define PROTOCOL_CATALOG_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

/* Permission is given by group. */
enum catalog_group {
    CATALOG_FILESYSTEM_READ,
    CATALOG_FILESYSTEM_WRITE,
    CATALOG_SHELL,
    CATALOG_COMPUTER,
    CATALOG_BROWSER,
};

/* What a tool does to the resource that one of its arguments names. */
enum catalog_access {
    CATALOG_READS,
    CATALOG_WRITES, /* creates or changes it */
    CATALOG_DELETES,
    CATALOG_LISTS,
    CATALOG_EXECUTES, /* a command, or the job that runs one */
};

/* Which argument names a resource: "filePath", or "edits[].filePath" for each of a list. */
struct catalog_resource {
    struct str argument;
    enum catalog_access access;
    struct str fallback; /* if the argument is missing: "" is the root. NULL ptr: no resource */
    /* The argument with a command's working directory, the root if missing; or NULL ptr. */
    struct str directory;
};

struct catalog_tool {
    int id; /* TOOL_READ_FILE, …: protocol/toolids.h, generated; the index in catalog_tools */
    enum catalog_group group;
    const char *provider; /* the family that implements it: see call/provider.h */
    struct str name;
    struct str description;
    struct str input_schema;  /* JSON */
    struct str output_schema; /* JSON; empty if the result is no object */
    struct str listing;       /* the finished object for tools/list */
    const struct catalog_resource *resources;
    size_t resource_count;
};

extern const struct catalog_tool catalog_tools[];
extern const size_t catalog_tool_count;

/* NULL if there is no tool of that name. */
const struct catalog_tool *catalog_find(struct str name);

/* False: this version has no tools of the group, whatever the user allows. */
bool catalog_has_group(enum catalog_group group);

/* "filesystemRead", … */
const char *catalog_group_name(enum catalog_group group);

#endif
