/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The start and the end that all programs share: options with --help and --version, open file
 * descriptors, SIGPIPE, the error message and the exit status.
 */
#ifndef CLI_RUNNER_H
#define CLI_RUNNER_H

#include "base/arena.h"
#include "base/err.h"
#include "base/options/options.h"

enum { RUNNER_WRONG_USE = 2 }; /* the exit status for options that make no sense */

struct runner {
    const char *program; /* "gatehouse-mcp" */
    const char *title;   /* "gatehouse mcp": begins every message */
    const char *see; /* where help is, behind a message about options: "'gatehouse mcp --help'" */
    struct option_command command;
    bool keeps_input; /* leaves standard input open */
    /* The program closes inherited descriptors itself, since it needs one that the runner would not
     * keep. */
    bool closes_descriptors;
    int failed_status; /* the exit status after an error; 0: EXIT_FAILURE */
    /* run() checks options too: its ERR_INVALID_OPTION is wrong use. */
    bool checks_options_late;
    /* Whether the options make sense together; or NULL. */
    int (*check)(const struct option_values *values, struct err *err);
    /* Does the work, and returns the exit status or ERR_*. */
    int (*run)(const struct option_values *values, struct arena *arena, struct err *err);
};

/* Returns the exit status: 128 and the signal's number after a signal that cli/stop.h caught. */
int runner_main(const struct runner *runner, int argc, char *const *argv);

/* Writes "<title>: <words>" to standard error, without secrets and control characters. */
void runner_complain(const struct runner *runner, const char *words);

#endif
