/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The terminal as the kernel sees it: modes, size, foreground process group. The caller owns the
 * file descriptors. stage.h reads and writes.
 */
#ifndef CONSOLE_TERMINAL_H
#define CONSOLE_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <termios.h>

enum terminal_mode {
    TERMINAL_KEYS,  /* raw keys without echo; Ctrl-C is a key, Ctrl-Z still stops */
    TERMINAL_LINES, /* the user's modes, but Ctrl-C is a line of its own */
};

struct terminal {
    int in_fd;
    int out_fd;
    bool is_terminal; /* both are */
    bool is_entered;
    pid_t group;
    struct termios saved;
    bool has_flags;
    int in_flags;
    int out_flags;
};

void terminal_init(struct terminal *terminal, int in_fd, int out_fd);

/* False while another job of the shell is in the foreground: using the terminal would stop us. */
bool terminal_is_ours(const struct terminal *terminal);

/* Saves the modes and sets new ones; does nothing if it is not a terminal. */
int terminal_enter(struct terminal *terminal, enum terminal_mode mode);
/* Restores everything; does nothing if it was not entered. */
void terminal_leave(struct terminal *terminal);

/* Call around nonblocking reads and writes: others share the open file. */
int terminal_save_flags(struct terminal *terminal);
void terminal_restore_flags(struct terminal *terminal);

/* Drops typed input that was not read. */
void terminal_discard_input(const struct terminal *terminal);

/* 24 and 80 if unknown. */
void terminal_size(const struct terminal *terminal, size_t *out_rows, size_t *out_columns);

#endif
