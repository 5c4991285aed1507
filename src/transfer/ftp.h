/* SPDX-License-Identifier: Apache-2.0 */
/* FTP by libcurl, which is loaded if it is installed. */
#ifndef TRANSFER_FTP_H
#define TRANSFER_FTP_H

#include "transfer/credential.h"
#include "transfer/route.h"
#include "transfer/wire.h"

/* Before confining. ERR_UNSUPPORTED without the library. */
int ftp_open(struct err *err);

/*
 * Does a request of TRANSFER_FTP in a confined process. All connections are those of the dialer.
 * `space` gets what the outputs are views of.
 */
int ftp_work(const struct transfer_request *request, const struct transfer_route *route,
             const struct credential *credential, int dialer, struct buf *space,
             struct transfer_answer *out_answer, struct err *err);

#endif
