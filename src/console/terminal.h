/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The terminal as the kernel has it: its modes, its size, whose turn it is. The
 * descriptors are the caller's. What is read and written is stage.h's.
 */
#ifndef CONSOLE_TERMINAL_H
#define CONSOLE_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <termios.h>

enum terminal_mode {
    TERMINAL_KEYS,  /* every key at once, unseen; Ctrl-C is a key, Ctrl-Z still stops */
    TERMINAL_LINES, /* as the user has it, but Ctrl-C is a line of its own */
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

/* False while another job of the shell has it: touching it then would stop us. */
bool terminal_is_ours(const struct terminal *terminal);

/* Remembers the modes and sets them; of what is no terminal, nothing. */
int terminal_enter(struct terminal *terminal, enum terminal_mode mode);
/* All as it was before; harmless when it was not entered. */
void terminal_leave(struct terminal *terminal);

/* Around reading and writing that does not block: others share the open file with us. */
int terminal_save_flags(struct terminal *terminal);
void terminal_restore_flags(struct terminal *terminal);

/* What was typed and not read is gone. */
void terminal_discard_input(const struct terminal *terminal);

/* 24 and 80 where nobody knows. */
void terminal_size(const struct terminal *terminal, size_t *out_rows, size_t *out_columns);

#endif
