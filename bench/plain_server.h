/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The least that can receive and send a file over HTTP: a process that writes the body of a POST
 * into one file, and answers a GET with it. What a transfer costs without a sandbox.
 */
#ifndef BENCH_PLAIN_SERVER_H
#define BENCH_PLAIN_SERVER_H

#include <sys/types.h>

/* Serves until it is killed; the file is in `folder`. */
pid_t plain_server_start(const char *folder, unsigned short *out_port);

#endif
