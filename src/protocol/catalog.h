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

#include "base/err.h"
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

/* What a value is converted to, if it was sent as text. */
enum catalog_type {
    CATALOG_STRING,
    CATALOG_INTEGER,
    CATALOG_BOOLEAN,
    CATALOG_ARRAY,
    CATALOG_OBJECT, /* with members that the schema names */
    CATALOG_OTHER,
};

/* Another name of an argument. */
struct catalog_alias {
    struct str folded; /* in lower case, without '_' and '-' */
    int item;          /* the argument is this item of a list, as x of [x, y]; or -1 */
    struct str yes;    /* what true stands for, and false; or empty */
    struct str no;
};

/* An argument and the other names that it goes by: see protocol/arguments.h. */
struct catalog_argument {
    struct str name;
    struct str folded; /* like those of its aliases */
    enum catalog_type type;
    bool is_required;
    bool is_ignored;    /* other tools have it, and here it makes no difference */
    struct str assumed; /* the value of a required one that is left out; empty: that is refused */
    const struct catalog_alias *aliases;
    size_t alias_count;
    /* Members of the object, or of each item in a list of objects. */
    const struct catalog_argument *items;
    size_t item_count;
};

struct catalog_tool {
    int id; /* TOOL_READ_FILE, …: protocol/toolids.h, generated; the index in catalog_tools */
    enum catalog_group group;
    const char *provider; /* the family that implements it: see call/provider.h */
    bool is_internal;     /* a step of another tool, which no client can call */
    struct str name;
    const struct str *known_as; /* names that other servers have for such a tool */
    size_t known_as_count;
    struct str input_schema; /* JSON, without the texts for models: what arguments are checked by */
    const struct catalog_argument *arguments;
    size_t argument_count;
    const struct catalog_resource *resources;
    size_t resource_count;
};

extern const struct catalog_tool catalog_tools[];
extern const size_t catalog_tool_count;

/*
 * How clients are told about a tool. Apart from the tools, so that programs that do not list them
 * are linked without their longest texts.
 */
struct catalog_listing {
    const struct catalog_tool *tool;
    struct str text; /* the finished object for tools/list */
    /* The part of the text that is the member outputSchema, with its comma; empty: none. */
    struct str output;
};

/* By the tool's number. */
extern const struct catalog_listing catalog_listings[];

/*
 * The tools of a workspace, which an agent has instead of those above and which share some of their
 * names. Their numbers are WORKSPACE_TOOL_READ_FILE, …: protocol/workspacetoolids.h.
 */
extern const struct catalog_tool workspace_tools[];
extern const size_t workspace_tool_count;
extern const struct catalog_listing workspace_listings[];

/* The group of a tool that a client can call, for programs that need no more of it. */
struct catalog_name {
    struct str name;
    enum catalog_group group;
};
extern const struct catalog_name catalog_names[];
extern const size_t catalog_name_count;
/* False: there is no tool of that name that a client can call. */
bool catalog_group_of(struct str name, enum catalog_group *out_group);

/* NULL if there is no tool of that name that a client can call. */
const struct catalog_tool *catalog_find(struct str name);
/* Same, with the internal ones: for messages between our own processes. */
const struct catalog_tool *catalog_find_any(struct str name);

/*
 * Why a tool that is not offered cannot be called: there is none of that name, and perhaps another
 * is meant that is offered, or the user did not open its group.
 */
typedef bool catalog_offers_fn(void *data, const struct catalog_tool *tool);
int catalog_refuse(struct str name, catalog_offers_fn *offers, void *data, int code,
                   struct err *err);

/* "filesystemRead", … */
const char *catalog_group_name(enum catalog_group group);

#endif
