/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds where the name of a program may be in a command line, for deny rules: finding a place too
 * many is the safe mistake. A command begins after each shell operator, and also after reserved
 * words, assignments, redirections, and programs that run others, with their options. Quotes do not
 * keep words together, except around a value in these positions.
 */
#ifndef PERMISSION_COMMANDLINE_STARTS_H
#define PERMISSION_COMMANDLINE_STARTS_H

#include <stdbool.h>

#include "base/str.h"

struct command_starts {
    struct str rest;
    bool is_head;      /* the next word may be a program */
    bool is_runner;    /* after a program that runs others: options may follow */
    bool is_shell;     /* and it takes a command after -c */
    bool may_be_value; /* the next word may be the value of the option before it */
    bool is_target;    /* the next word is the target of a redirection */
    char quote;        /* quote that a word of the head has opened, or NUL */
    unsigned operands; /* operands of the runner before the program */
};

void command_starts_init(struct command_starts *starts, struct str command);

/* The command line from the next such place; false if there is none. */
bool command_starts_next(struct command_starts *starts, struct str *out_text);

#endif
