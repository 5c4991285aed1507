/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides whether a prepared call may run: by modes and rules, or by the user's answer to a
 * question that is made here and asked by others. With the answer, the decision is made once more,
 * and the answer counts only for what was asked. Saving a permanent answer may wait for other
 * programs, so run it on a worker.
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

/* What the loop knows beforehand. */
struct decision_terms {
    struct keeper *keeper;
    bool can_ask;           /* a user is there */
    bool is_by_client;      /* and the client sees the question first */
    unsigned choices;       /* choices that are offered */
    const char *how_to_ask; /* advice for the user when nobody can be asked */
    /* From an earlier round of the same call: */
    bool has_answer;
    enum permission_choice answer;
    unsigned answered; /* choices that were offered where it was given */
    uint64_t mark;     /* of the question that was answered */
    /* The answer is none: nobody gave one for so long, which denies it. 0: somebody did. */
    int64_t unanswered_ms;
};

/* How much a question may disclose of file contents. */
enum decision_disclosure {
    DECISION_DISCLOSES_ALL,
    /*
     * Reading needs permission, too: the user sees the content, but the client not even an error.
     */
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
    uint64_t mark; /* fingerprint of what else it depends on (files/consent.h) */
    /*
     * Describes what the call would do, in texts that live in the arena; an error is the one that
     * the call would return. NULL: the caller adds the texts to the question.
     */
    int (*describe)(void *data, struct arena *arena, enum decision_disclosure disclosure,
                    const struct cancel *cancel, struct question *question, struct err *err);
    /*
     * Records the refusal in the audit log. The rule is in the arena, and for who reads the log;
     * NULL: none decided.
     */
    void (*refused)(void *data, const struct permission_resource *resource, const char *source,
                    const char *rule, int code);
    void *data;
};

struct decision {
    enum permission_source source; /* what allowed it */
    /* The rule, mode or answer that allowed or refused it, as text; or empty. */
    char rule[PERMISSION_RULE_BYTES];
    struct err unkept; /* set if a permanent answer could be kept for this session only */
    /* The user must be asked; in the job's arena. */
    bool asks;
    struct question question;
    enum decision_disclosure disclosure; /* what its texts may disclose */
    uint64_t mark;
};

/*
 * Returns 0 if the call may run or *out_decision asks. ERR_DENIED_BY_POLICY and
 * ERR_ASK_UNAVAILABLE: it may not, the refusal is recorded, and err has a message for the client.
 * Other codes: the call would fail anyway.
 */
int decision_make(const struct decision_terms *terms, const struct decision_subject *subject,
                  struct arena *arena, const struct cancel *cancel, struct decision *out_decision,
                  struct err *err);

#endif
