/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The network policy of a request: which addresses, and which hosts on the web, its sandbox or the
 * steps of its image reach.
 */
#ifndef PROGRAMS_SANDBOXD_NETWORK_H
#define PROGRAMS_SANDBOXD_NETWORK_H

#include "base/domainlist.h"
#include "base/iplist.h"
#include "base/json.h"
#include "base/jsonwrite.h"
#include "base/log.h"
#include "isolate/room/room.h"

enum {
    NETWORK_TEXT_BYTES = IPLIST_MAX * IPLIST_TEXT_BYTES + DOMAINLIST_MAX * DOMAINLIST_TEXT_BYTES
};

struct network_policy {
    struct iplist addresses;
    struct domainlist hosts; /* by the web proxy */
};

bool network_is_none(const struct network_policy *policy);
bool network_is_same(const struct network_policy *a, const struct network_policy *b);

/*
 * Reads {"allowed_ips": […], "denied_ips": […], "allowed_domains": […]}, which may be missing;
 * without allowed ones there is no network. What is wrong with it, or NULL: denied addresses alone
 * would hold nothing back from the hosts.
 */
const char *network_read(const struct json_value *policy, struct network_policy *out_policy);

/* "1.2.3.0/24,5.6.7.8" and "example.com,*.example.org": the same for the Daytona API. */
const char *network_read_texts(struct str addresses, struct str hosts,
                               struct network_policy *out_policy);

/* As it was read; nothing for none. */
void network_write(struct json_writer *json, const struct network_policy *policy);
/* Only the allowed addresses. */
int network_write_addresses(struct buf *out, const struct network_policy *policy);
int network_write_hosts(struct buf *out, const struct network_policy *policy);

/* As the store keeps it. */
int network_save(const struct network_policy *policy, struct buf *out);
int network_load(struct str text, struct network_policy *out_policy);

/* A line about connections that were refused. */
void network_log_refusal(const struct log *log, const char *whose, const char *id,
                         const struct room_refusal *refusal);

#endif
