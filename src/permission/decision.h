/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a call that is understood may be done, between its two phases: by modes
 * and rules, or by the user's answer to a question that is made here and put by
 * others. With the answer the decision is made once more, and it counts only for
 * what it was given to. Keeping an answer for good may wait for other programs, so
 * that belongs on a worker.
 */
#ifndef PERMISSION_DECISION_H
#define PERMISSION_DECISION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/cancel.h"
#include "base/err.h"
#include "permission/question.h"
#include "permission/rules/keeper.h"
#include "protocol/catalog.h"

/* What the loop knows of it beforehand. */
struct decision_terms {
    struct keeper *keeper;
    bool can_ask;           /* somebody is there */
    bool is_by_client;      /* and that is who sees the question first */
    unsigned choices;       /* that they are offered */
    const char *how_to_ask; /* what the user can do where nobody can be asked */
    /* From an earlier turn of the same call: */
    bool has_answer;
    enum permission_choice answer;
    uint64_t mark; /* of the question that it was given to */
};

/* How much a question may tell of what is in files. */
enum decision_disclosure {
    DECISION_DISCLOSES_ALL,
    /* Reading has to be asked for, too: the user sees it, and the client not even an error. */
    DECISION_DISCLOSES_TO_USER,
    DECISION_DISCLOSES_NOTHING,
};

/* "all", "user", "nothing" */
const char *decision_disclosure_name(enum decision_disclosure disclosure);
bool decision_disclosure_from(struct str name, enum decision_disclosure *out_disclosure);

/* The call, as far as a decision needs it. */
struct decision_subject {
    const struct catalog_tool *tool;
    const struct permission_resource *resources;
    size_t count;
    uint64_t mark; /* of what else it goes by (files/consent.h) */
    /*
     * What will be done, in words that live in the arena; an error is the one it would end with.
     * NULL: the caller puts the words into the question himself.
     */
    int (*describe)(void *data, struct arena *arena, enum decision_disclosure disclosure,
                    const struct cancel *cancel, struct question *question, struct err *err);
    /* The refusal goes into the record. */
    void (*refused)(void *data, const struct permission_resource *resource, const char *source,
                    int code);
    void *data;
};

struct decision {
    enum permission_source source; /* what let it pass */
    struct err unkept;             /* what was decided for good holds for this session only */
    /* Where somebody has to be asked; in the job's arena. */
    bool asks;
    struct question question;
    enum decision_disclosure disclosure; /* what its words may come from */
    uint64_t mark;
};

/*
 * 0: it may be done, or *out_decision asks. ERR_DENIED_BY_POLICY and ERR_ASK_UNAVAILABLE: it may
 * not, which is recorded, and err has words for the client. Other codes: it would fail anyway.
 */
int decision_make(const struct decision_terms *terms, const struct decision_subject *subject,
                  struct arena *arena, const struct cancel *cancel, struct decision *out_decision,
                  struct err *err);

#endif
