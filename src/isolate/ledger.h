/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a process has made elsewhere, in lines that it writes down before it makes it: if it is
 * killed, the next start finds them. Each process has a file of its own in a private folder, and
 * keeps it locked as long as it lives.
 */
#ifndef ISOLATE_LEDGER_H
#define ISOLATE_LEDGER_H

#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"

enum { LEDGER_BYTES = 1 << 20, LEDGER_LINE_BYTES = 2048 };

struct ledger;

/* `folder` is one component below the state directory, and is created if it is missing. */
int ledger_open(const char *state_dir, const char *folder, struct ledger **out_ledger,
                struct err *err);
/* Returns when the line is on the disk. It has no newline. */
int ledger_add(struct ledger *ledger, struct str line, struct err *err);
/* `is_over`: nothing of it is left, and the file is removed. */
void ledger_close(struct ledger *ledger, bool is_over);

/*
 * Calls `take` for each file whose process is dead, with its whole lines; the receiver owns the
 * ledger, which no other process takes in the meantime.
 */
void ledger_take_dead(const char *state_dir, const char *folder,
                      void (*take)(void *data, struct ledger *dead, struct str lines), void *data);

#endif
