/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a person is asked before a call is made, and what can be answered. Where
 * questions wait is desk.h; what an answer means for later calls is left to rules.
 */
#ifndef PERMISSION_QUESTION_H
#define PERMISSION_QUESTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"
#include "protocol/catalog.h"

/* The first is the default wherever people choose: it grants nothing and lasts for nothing. */
enum permission_choice {
    CHOICE_DENY_ONCE,
    CHOICE_ALLOW_ONCE,
    CHOICE_ALLOW_SESSION,
    CHOICE_ALWAYS_ALLOW,
    CHOICE_ALWAYS_DENY,
    CHOICES
};

/* "denyOnce", "allowOnce", "allowForSession", "alwaysAllow", "alwaysDeny" */
const char *permission_choice_name(enum permission_choice choice);
bool permission_choice_from(struct str name, enum permission_choice *out_choice);
bool permission_choice_allows(enum permission_choice choice);

struct question_resource {
    enum catalog_group group;
    struct str shown; /* as rules see it; commands "<cwd>: <normalised>" */
};

/* All texts come from outside: any bytes. Who shows them escapes them. */
struct question {
    struct str tool;                           /* its name */
    enum catalog_group group;                  /* the gravest of its resources */
    const struct question_resource *resources; /* undecided ones; one answer is for all of them */
    size_t resource_count;
    struct str action; /* one sentence: what will be done ("Replaces src/a.c") */
    struct str detail; /* several lines: a unified diff, or the arguments; may be empty */
    bool is_diff;
    bool deletes;     /* something is gone afterwards: shown differently from a write */
    unsigned choices; /* bits 1 << enum permission_choice that are offered */
    /* Of what else the call goes by, and nobody is shown: with another one it is another question.
     */
    uint64_t mark;
};

enum {
    QUESTION_MAX_RESOURCES = 1024,
    QUESTION_MAX_BYTES = 1 << 20, /* of all its texts */
};

/* Bytes of all its texts; SIZE_MAX when they cannot be counted. */
size_t question_bytes(const struct question *question);

/*
 * A copy in one piece of memory, for free(). CHOICE_DENY_ONCE is among its choices, asked for or
 * not. ERR_TOO_LARGE over the ceilings.
 */
int question_copy(const struct question *question, struct question **out_copy);

/*
 * Such a text for a page or a client, which show it as it comes: what steers, reorders or hides is
 * written out ("\x1b", "\u{202e}"), and so are blanks other than the space ("\u{a0}"), and line
 * breaks and tabs in what is one line. Many blanks in a row, which push what follows out of sight,
 * become their number ("\s{6000}"). Of several lines each stands behind a margin ("| "), which
 * nothing of ours does.
 */
int question_add_line(struct buf *out, struct str text);
int question_add_lines(struct buf *out, struct str text);

#endif
