/* SPDX-License-Identifier: Apache-2.0 */
/* SFTP and commands over SSH by libssh2, which is loaded if it is installed. */
#ifndef TRANSFER_SSH_H
#define TRANSFER_SSH_H

#include "transfer/credential.h"
#include "transfer/wire.h"

/* Before confining. ERR_UNSUPPORTED without the library. */
int ssh_open(struct err *err);

/*
 * Before confining: reads the keys that servers may have, in OpenSSH's format. ERR_HOST_KEY if
 * there is none for this one.
 */
int ssh_load_known_hosts(const char *path, const struct transfer_place *server, struct err *err);

/*
 * Does a request of TRANSFER_SFTP or TRANSFER_SSH on a connected socket, in a confined process.
 * `space` gets what the outputs are views of.
 */
int ssh_work(const struct transfer_request *request, int fd, const struct credential *credential,
             struct buf *space, struct transfer_answer *out_answer, struct err *err);

#endif
