/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory layout of a rulebook: rulebook_build.c builds it, rulebook.c looks things up.
 *
 * One table holds trees of all kinds. A node is reached from its parent by a step: the name of a
 * directory, a word of a command, a label of a host, or a whole text. A lookup starts at the root
 * of an effect and a group, follows the steps of the resource, and meets the rules that match.
 */
#ifndef PERMISSION_RULES_RULEBOOK_INTERNAL_H
#define PERMISSION_RULES_RULEBOOK_INTERNAL_H

#include <stdatomic.h>

#include "authority/names/glob.h"
#include "base/arena.h"
#include "base/hash.h"
#include "permission/modes.h"
#include "permission/rules/rulebook.h"

enum rulebook_step {
    STEP_ROOT,
    STEP_WHOLE,       /* an exact resource */
    STEP_LOOSE_WHOLE, /* first word of an exact deny rule for a command; then STEP_WORD */
    STEP_LOOSE_WORD,  /* first word of a prefix deny rule; then STEP_WORD */
    STEP_DIRECTORY,   /* component of a path; below a command: of its directory */
    STEP_WORD,        /* word of a command */
    STEP_LABEL,       /* label of a host, last one first */
    STEP_GLOB,        /* pattern of a glob, so that each is stored once */
    STEP_GLOB_NAME,   /* globs below this directory that need this name */
    STEP_GLOB_ENDING, /* or a name with this extension, from its last dot */
};

#define RULEBOOK_NONE UINT32_MAX

/* Leads from a command to the tree of its rules' directories. */
#define STEP_CWD STR_EMPTY

/* A glob with that of its rules that expires last. */
struct rulebook_glob {
    const struct glob *glob;
    uint32_t rule;
    int64_t ends_ms;
};

struct rulebook_globs {
    struct rulebook_globs *next; /* while the book is built */
    struct rulebook_glob *glob;
};

struct rulebook_node {
    uint64_t hash;
    uint32_t parent;
    enum rulebook_step step;
    struct str text;
    uint32_t rule;     /* matches here and, in a tree, below; or RULEBOOK_NONE */
    uint32_t cwd_rule; /* of the rules for some directories only, the one that expires last */
    /* Globs to try, last expiry first. */
    struct rulebook_globs *listed;
    struct rulebook_glob **globs;
    uint32_t glob_count;
    bool has_names;   /* has children of STEP_GLOB_NAME */
    bool has_endings; /* has children of STEP_GLOB_ENDING */
};

/* Holds a part of the hash, so that most failing steps never read a node. */
struct rulebook_slot {
    uint32_t node; /* or RULEBOOK_NONE */
    uint32_t tag;
};

struct rulebook {
    atomic_size_t references;
    struct arena arena;
    struct rule *rules;
    size_t count;
    struct rulebook_node *nodes; /* roots first */
    size_t node_count;
    size_t node_capacity;
    struct rulebook_slot *slots; /* open addressing over the nodes */
    size_t slot_count;
    struct hash_key key;
    bool has_denials[PERMISSION_GROUPS];
};

enum { RULEBOOK_ROOTS = 2 * PERMISSION_GROUPS };

static inline uint32_t rulebook_root(enum rule_effect effect, enum catalog_group group)
{
    return (uint32_t)effect * PERMISSION_GROUPS + (uint32_t)group;
}

/* SAFETY: the hash of the text is keyed, so an attacker cannot provoke collisions. */
static inline uint64_t rulebook_hash(uint64_t text_hash, uint32_t parent, enum rulebook_step step)
{
    uint64_t h = text_hash ^ (((uint64_t)parent << 4 | step) * 0x9E3779B97F4A7C15U);

    h ^= h >> 32;
    h *= 0xD6E8FEB86659FD93U;
    return h ^ h >> 32;
}

static inline uint32_t rulebook_tag(uint64_t hash)
{
    return (uint32_t)(hash >> 32);
}

/* The slot of the step, or the free slot for it. */
static inline struct rulebook_slot *rulebook_slot(const struct rulebook *book, uint64_t hash,
                                                  uint32_t parent, enum rulebook_step step,
                                                  struct str text)
{
    size_t i = hash & (book->slot_count - 1);

    for (; book->slots[i].node != RULEBOOK_NONE; i = (i + 1) & (book->slot_count - 1)) {
        const struct rulebook_node *node;

        if (book->slots[i].tag != rulebook_tag(hash))
            continue;
        node = &book->nodes[book->slots[i].node];
        if (node->parent == parent && node->step == step && str_eq(node->text, text))
            break;
    }
    return &book->slots[i];
}

/* The text after the character at `at`. */
static inline struct str rulebook_behind(struct str text, const char *at)
{
    return (struct str){at + 1, text.len - (size_t)(at + 1 - text.ptr)};
}

static inline int64_t rulebook_end(const struct rule *rule)
{
    return rule->expires_ms == 0 ? INT64_MAX : rule->expires_ms;
}

/* From the last dot on; empty without one. */
static inline struct str rulebook_ending(struct str name)
{
    const char *dot = name.len == 0 ? NULL : memrchr(name.ptr, '.', name.len);

    return dot == NULL ? STR_EMPTY : (struct str){dot, name.len - (size_t)(dot - name.ptr)};
}

#endif
