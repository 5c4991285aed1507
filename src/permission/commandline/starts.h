/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where in a command line the name of a program may stand, for what denies: a place too many is
 * the safe mistake. Behind each operator of a shell a command begins, and it goes on beginning
 * behind reserved words, assignments, redirections, and programs that run others, with what these
 * have for options. Quotes do not keep anything together, but those around a value there.
 */
#ifndef PERMISSION_COMMANDLINE_STARTS_H
#define PERMISSION_COMMANDLINE_STARTS_H

#include <stdbool.h>

#include "base/str.h"

struct command_starts {
    struct str rest;
    bool is_head;      /* the next word may be a program */
    bool is_runner;    /* of a program that was named before: options may come */
    bool is_shell;     /* which takes a command behind -c */
    bool may_be_value; /* the next word, of the option before it */
    bool is_target;    /* the next word, of a redirection */
    char quote;        /* that a word of the head has opened, or NUL */
    unsigned operands; /* of the runner, that come before the program */
};

void command_starts_init(struct command_starts *starts, struct str command);

/* The command line from the next such place on; false when there is none. */
bool command_starts_next(struct command_starts *starts, struct str *out_text);

#endif
