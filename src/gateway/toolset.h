/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tools that a daemon announced to our server, checked and in the form of an MCP server.
 * Daemons with the same tools share one set.
 */
#ifndef GATEWAY_TOOLSET_H
#define GATEWAY_TOOLSET_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/json.h"
#include "base/jsonwrite.h"
#include "base/map.h"
#include "protocol/catalog.h"

enum {
    TOOLSET_MAX_TOOLS = 512,
    TOOLSET_MAX_BYTES = 4 << 20, /* all tools of a daemon, as JSON */
    TOOLSET_MAX_SETS = 65536,
};

/* Bits for groups of tools; those of the catalogue, and one for tools that it does not know. */
#define TOOLSET_GROUP(group) (1U << (group))
#define TOOLSET_FILES                                                                              \
    (TOOLSET_GROUP(CATALOG_FILESYSTEM_READ) | TOOLSET_GROUP(CATALOG_FILESYSTEM_WRITE))
#define TOOLSET_OTHER      (1U << 5)
#define TOOLSET_ALL_GROUPS ((1U << 6) - 1)

/* What people call the groups: "read", "write", "shell", "screen", "browser", "other". */
struct toolset_group {
    const char *name;
    unsigned bit;
};
enum { TOOLSET_GROUP_NAMES = 6 };
extern const struct toolset_group toolset_groups[TOOLSET_GROUP_NAMES];

/* The bit of the group of that name; 0: there is none. */
unsigned toolset_group_bit(struct str name);
/* Writes the names of the groups as a list. */
void toolset_write_groups(struct json_writer *json, struct str key, unsigned groups);

struct toolset_tool {
    struct catalog_tool tool; /* only its name: the daemon implements it */
    struct catalog_listing listing;
    unsigned group; /* one bit */
};

struct toolset {
    struct toolset_tool *tools;
    size_t count;
    size_t skipped; /* names that no agent could use, or that look the same */
};

/*
 * Checks the array of an init. ERR_INVALID_REQUEST for an array that must be refused as a whole.
 * `shared` has the sets in use; it must outlive them.
 */
int toolset_take(struct map *shared, const struct json_value *tools, struct toolset **out_set,
                 struct err *err);
/* The four tools of a client that sent a file tree instead. */
int toolset_take_tree(struct map *shared, struct toolset **out_set, struct err *err);

struct toolset *toolset_ref(struct toolset *set);
void toolset_unref(struct toolset *set);

/* NULL if there is none of that name. */
const struct toolset_tool *toolset_find(const struct toolset *set, struct str name);

#endif
