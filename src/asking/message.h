/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program that asks and a terminal of `gatehouse ask` tell each other: one JSON object a
 * line.
 *
 *     {"asker":"gatehouse mcp, folder /home/bob"}    the first line: who it is, and it listens now
 *     {"ask":7,"asker":…,"tool":…,…}                 a question, to be shown
 *     {"withdraw":7,"why":"answeredElsewhere"}       it was answered or left
 *     {"answer":7,"choice":"allowOnce"}              from the terminal
 *
 * Each side reads what comes as if an attacker had written it. Fields and choices that it does not
 * know are ignored, since the two may be of different versions.
 */
#ifndef ASKING_MESSAGE_H
#define ASKING_MESSAGE_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "permission/questionqueue.h"

enum {
    /* Every byte of a question escaped, and names and marks around them. */
    ASKING_QUESTION_BYTES = 6 * QUESTION_MAX_BYTES + QUESTION_MAX_RESOURCES * 128 + 4096,
    ASKING_ANSWER_BYTES = 256,
};

enum asking_kind { ASKING_HELLO, ASKING_QUESTION, ASKING_WITHDRAWAL, ASKING_ANSWER };

struct asking_message {
    enum asking_kind kind;
    uint64_t id; /* the asker's number of the question; not of ASKING_HELLO */
    union {
        struct str asker;
        struct question question; /* its texts are in the arena or the line */
        enum question_queue_end end;
        enum permission_choice choice;
    };
};

/* Appends a line. The question's own `asker` is not sent. */
int asking_write_hello(struct str asker, struct buf *out);
int asking_write_question(uint64_t id, struct str asker, const struct question *question,
                          struct buf *out);
int asking_write_withdrawal(uint64_t id, enum question_queue_end end, struct buf *out);
int asking_write_answer(uint64_t id, enum permission_choice choice, struct buf *out);

/* ERR_INVALID_ARGUMENT for what is none of them. */
int asking_parse(struct arena *arena, struct str line, struct asking_message *out_message);

#endif
