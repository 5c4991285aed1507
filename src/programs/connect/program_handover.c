/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/connect/program_internal.h"

#include <stdio.h>

#include "programs/connect/handover.h"

#define RUNS_ALREADY "the running gatehouse (pid %d)"

/* A static key is no token, and with a saved session none is needed. */
static bool is_worth_asking(const struct program *program)
{
    return program->attempt.key.len > 0 && !program->attempt.is_static_key &&
           program->attempt.kept.key.len == 0 &&
           options_int(program->values, CONNECT_OPTION_PORT) != 0;
}

static void tell_not_taken(const struct program *program, pid_t pid, const char *why)
{
    log_write(&program->log, LOG_INFO,
              "a running gatehouse does not accept this token; starting another one",
              LOG_INT("pid", pid), LOG_TEXT("why", *why != '\0' ? why : "it accepts no tokens"));
}

/* Reports the outcome of the token, from the daemon that has it now. */
static int tell_end(const struct handover_answer *answer, struct err *err)
{
    if (answer->status != HANDOVER_GOOD)
        return err_set(err, ERR_CANCELLED,
                       RUNS_ALREADY " accepted the token but did not connect: %s", answer->pid,
                       answer->words);
    printf(RUNS_ALREADY " accepted the token and is connected\n", answer->pid);
    (void)fflush(stdout);
    return 0;
}

static int hand_over(const struct program *program, uint16_t port, struct handover *handover,
                     pid_t pid, bool *out_is_done, struct err *err)
{
    struct handover_answer answer = {.status = 0};
    struct err why = ERR_INIT;
    int r;

    handover->token = program->attempt.key;
    r = handover_send(port, handover, &answer, &why);
    if (r == ERR_NOT_FOUND) /* it has ended since */
        return 0;
    /* It may have the token, so a second one must not try it as well. */
    if (r < 0)
        return err_set(err, r,
                       RUNS_ALREADY
                       " got the token but did not report the result: %s. See 'gatehouse status'",
                       pid, why.message);
    if (answer.status != HANDOVER_GOOD && answer.status != HANDOVER_FAILED) {
        tell_not_taken(program, answer.pid, answer.words);
        return 0;
    }
    *out_is_done = true;
    return tell_end(&answer, err);
}

int program_hand_over(struct program *program, bool *out_is_done, struct err *err)
{
    uint16_t port = (uint16_t)options_int(program->values, CONNECT_OPTION_PORT);
    struct handover handover = {.url = program->attempt.url};
    struct handover_answer answer = {.status = 0};
    struct err why = ERR_INIT;
    int r;

    if (!is_worth_asking(program))
        return 0;
    program_terms(program, handover.terms);
    r = handover_send(port, &handover, &answer, &why);
    if (r == ERR_NOT_FOUND)
        return 0;
    if (r < 0 || answer.status != HANDOVER_GOOD) {
        tell_not_taken(program, answer.pid, r < 0 ? why.message : answer.words);
        return 0;
    }
    r = hand_over(program, port, &handover, answer.pid, out_is_done, err);
    secret_done(&handover.token);
    return r;
}
