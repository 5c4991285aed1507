/* SPDX-License-Identifier: Apache-2.0 */
/* The network policy of a request: which addresses its sandbox, or the steps of its image, reach.
 */
#ifndef PROGRAMS_SANDBOXD_NETWORK_H
#define PROGRAMS_SANDBOXD_NETWORK_H

#include "base/iplist.h"
#include "base/json.h"
#include "base/jsonwrite.h"
#include "base/log.h"
#include "isolate/room/room.h"

/*
 * Reads {"allowed_ips": […], "denied_ips": […]}, which may be missing; without allowed ones there
 * is no network, and the list stays empty. What is wrong with it, or NULL.
 */
const char *network_read(const struct json_value *policy, struct iplist *out_list);

/* "1.2.3.0/24,5.6.7.8": the same for the Daytona API. */
const char *network_read_text(struct str text, struct iplist *out_list);

/* As it was read; nothing for an empty list. */
void network_write(struct json_writer *json, const struct iplist *list);
/* Only the allowed ones. */
int network_write_text(struct buf *out, const struct iplist *list);

/* A line about connections that were refused. */
void network_log_refusal(const struct log *log, const char *whose, const char *id,
                         const struct room_refusal *refusal);

#endif
