/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts that we sign and recognise later, so that nothing has to be kept: who shows one may do what
 * it says, and no more.
 *
 * A sandbox's ticket opens its ports, and a toolbox's its terminals and sessions, as long as the
 * administrator's key stays the same. A port's and a storage's ticket are valid for a time, and not
 * after a restart of the service. The key for files signs URLs of a sandbox's files: its clients
 * get it, and it lasts until the salt changes.
 */
#ifndef PROGRAMS_SANDBOXD_TICKETS_H
#define PROGRAMS_SANDBOXD_TICKETS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/sha256.h"
#include "base/str.h"
#include "store/sandboxstore.h"

enum {
    TICKETS_SANDBOX_BYTES = 33, /* with their NUL */
    /* Small letters and digits: with a port before it, a label of a host's name. */
    TICKETS_PORT_BYTES = 56,
    TICKETS_STORAGE_BYTES = SANDBOXSTORE_ID_BYTES + 16 + 33,
    TICKETS_FILES_BYTES = 2 * SHA256_BYTES + 1,
};

struct tickets {
    unsigned char lasting[SHA256_BYTES];
    unsigned char passing[SHA256_BYTES];
};

void tickets_init(struct tickets *tickets, struct str admin_key);
void tickets_done(struct tickets *tickets);

/*
 * Tickets of a sandbox differ by its owner and its creation as well, since clients may choose its
 * id, and after its end another tenant may choose the same.
 */
void tickets_for_sandbox(const struct tickets *tickets, const struct sandboxstore_sandbox *sandbox,
                         char out_ticket[TICKETS_SANDBOX_BYTES]);
bool tickets_open_sandbox(const struct tickets *tickets, struct str ticket,
                          const struct sandboxstore_sandbox *sandbox);

/* The same for its toolbox. */
void tickets_for_toolbox(const struct tickets *tickets, const struct sandboxstore_sandbox *sandbox,
                         char out_ticket[TICKETS_SANDBOX_BYTES]);
bool tickets_open_toolbox(const struct tickets *tickets, struct str ticket,
                          const struct sandboxstore_sandbox *sandbox);

/* The sandbox's id is a UUID. */
void tickets_for_port(const struct tickets *tickets, const struct sandboxstore_sandbox *sandbox,
                      uint16_t port, int64_t until_s, char out_ticket[TICKETS_PORT_BYTES]);
/* Whose ticket it says it is, unchecked. */
bool tickets_read_sandbox(struct str ticket, char out_sandbox[SANDBOXSTORE_ID_BYTES]);
/* False if it is not ours, for another sandbox or port, or over. */
bool tickets_open_port(const struct tickets *tickets, struct str ticket,
                       const struct sandboxstore_sandbox *sandbox, uint16_t port, int64_t now_s,
                       int64_t *out_until_s);

/* For build contexts of an owner; empty: the administrator. */
void tickets_for_storage(const struct tickets *tickets, const char *owner, int64_t until_s,
                         char out_ticket[TICKETS_STORAGE_BYTES]);
bool tickets_open_storage(const struct tickets *tickets, struct str ticket, int64_t now_s,
                          char out_owner[SANDBOXSTORE_ID_BYTES]);

void tickets_for_files(const struct tickets *tickets, const struct sandboxstore_sandbox *sandbox,
                       struct str salt, char out_key[TICKETS_FILES_BYTES]);

#endif
