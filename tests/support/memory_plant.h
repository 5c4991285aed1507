/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes the memory backend as other programs change a disk, and looks at it without any rules:
 * creates links and other things that the backend's own functions cannot create.
 */
#ifndef TESTS_SUPPORT_MEMORY_PLANT_H
#define TESTS_SUPPORT_MEMORY_PLANT_H

#include "authority/memory/internal.h"

void memory_set_clock(struct backend *backend, const struct clock *clock);
/* If they are below the present usage, whatever would add to it is refused. */
void memory_set_ceilings(struct backend *backend, uint64_t max_bytes, uint64_t max_nodes);
void memory_usage(struct backend *backend, uint64_t *out_bytes, uint64_t *out_nodes);

/* Names here follow no links. `content` is a link's target or a file's bytes. */
int memory_plant(struct backend_root *root, struct str name, enum authority_type type,
                 struct str content, unsigned mode);
int memory_plant_hardlink(struct backend_root *from_root, struct str existing,
                          struct backend_root *root, struct str name);
/* Removes one name, of anything but a directory that is not empty. */
int memory_take(struct backend_root *root, struct str name);
int memory_set_mode(struct backend_root *root, struct str name, unsigned mode);
/* Looks at an object, regardless of rules. Appends to the buffer unless that is NULL. */
int memory_peek(struct backend_root *root, struct str name, struct authority_stat *out_stat,
                struct buf *out_content);

#endif
