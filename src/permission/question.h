/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A question to the user before a call is run, and the possible answers. Questions wait in
 * questionqueue.h; rules define what an answer means for later calls.
 */
#ifndef PERMISSION_QUESTION_H
#define PERMISSION_QUESTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"
#include "permission/operation.h"
#include "protocol/catalog.h"

/* The first is the default in every dialog: it grants nothing and has no lasting effect. */
enum permission_choice {
    CHOICE_DENY_ONCE,
    CHOICE_ALLOW_ONCE,
    CHOICE_ALLOW_SESSION,
    CHOICE_ALLOW_FOLDER,   /* for the session: everything in question.folder */
    CHOICE_ALLOW_MATCHING, /* for the session: what question.pattern matches */
    CHOICE_ALWAYS_ALLOW,
    CHOICE_ALWAYS_MATCHING, /* commands that start with question.pattern */
    CHOICE_ALWAYS_DENY,
    CHOICES
};

/* "denyOnce", "allowOnce", "allowForSession", "allowFolderForSession", … "alwaysDeny" */
const char *permission_choice_name(enum permission_choice choice);
bool permission_choice_from(struct str name, enum permission_choice *out_choice);
bool permission_choice_allows(enum permission_choice choice);

struct question_resource {
    enum catalog_group group;
    struct str shown; /* as rules see it; commands "<cwd>: <normalised>" */
    enum permission_operation operation;
};

/* All texts are untrusted bytes. Whoever shows them must escape them. */
struct question {
    struct str asker;         /* the program, if it is another one; or empty */
    struct str client;        /* what the agent's program calls itself; may be empty */
    struct str tool;          /* name of the tool */
    enum catalog_group group; /* the most sensitive group of its resources */
    /* The undecided ones; one answer is for all of them. */
    const struct question_resource *resources;
    size_t resource_count;
    struct str action; /* one sentence: what the call will do ("Replaces src/a.c") */
    struct str detail; /* several lines: a unified diff, or the arguments; may be empty */
    bool is_diff;
    /* The texts may show what reading needs permission for: only for the user, not for a client. */
    bool is_private;
    bool deletes;     /* something is deleted: shown differently from a write */
    bool is_folder;   /* what is named is one, with everything in it */
    unsigned choices; /* offered choices, as bits 1 << enum permission_choice */
    /* What the wider choices cover; empty if they are not offered. */
    struct str folder;
    struct str pattern; /* of files, from "/"; of commands, their first words */
    /*
     * Fingerprint of what else the call depends on, which is not shown: a different one makes a
     * different question.
     */
    uint64_t mark;
};

enum {
    QUESTION_MAX_RESOURCES = 2048,
    QUESTION_MAX_BYTES = 1 << 20, /* of all its texts */
};

/* Index of the first of its resources that has the same name as this one. */
size_t question_first_of(const struct question *question, size_t index);

/*
 * Appends the operations on the name that first stands at this index, "look up, create"; nothing
 * for a command.
 */
int question_add_operations(const struct question *question, size_t index, struct buf *out);

/* Bytes of all its texts; SIZE_MAX when they cannot be counted. */
size_t question_bytes(const struct question *question);

/*
 * Copies the question into one block of memory, to be freed with free(). CHOICE_DENY_ONCE is always
 * among its choices. ERR_TOO_LARGE over the limits.
 */
int question_copy(const struct question *question, struct question **out_copy);

/*
 * Escapes such a text for a page or a client, which show it unchanged: control, reordering and
 * invisible characters are written out ("\x1b", "\u{202e}"), and so are blanks other than the space
 * ("\u{a0}"), and line breaks and tabs in a single line. Long runs of blanks, which would push the
 * rest out of sight, become their number ("\s{6000}"). Of several lines each begins with a margin
 * ("| "), which our own text never does.
 */
int question_add_line(struct buf *out, struct str text);
int question_add_lines(struct buf *out, struct str text);

#endif
