/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections to a running HTTP server on this machine, plain or TLS. Any error ends the benchmark,
 * since a server with wrong answers is not worth measuring.
 */
#ifndef BENCH_HTTP_PEER_H
#define BENCH_HTTP_PEER_H

#include <openssl/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct http_peer {
    const char *name;
    pid_t pid;
    uint16_t port;
    bool is_tls;
};

struct http_link {
    const struct http_peer *peer;
    int fd;
    SSL *tls; /* NULL where there is none */
};

enum { HTTP_ANSWER_BYTES = 8 << 10 };

__attribute__((noreturn)) void http_peer_fail(const struct http_peer *peer, const char *what);

/*
 * `source` chooses the address that it comes from. One address has ports for fewer than 28,000
 * connections to the same server, and those that were closed keep theirs for a minute.
 */
void http_link_open(struct http_link *link, const struct http_peer *peer, unsigned source);
void http_link_close(struct http_link *link);
/* From here on http_link_read() may find nothing. */
void http_link_stop_waiting(struct http_link *link);

void http_link_send(struct http_link *link, const char *text, size_t len);
/* At least a byte, or 0 where nothing is there and it does not wait. */
size_t http_link_read(struct http_link *link, char *out, size_t size);

/*
 * Up to the end of one answer: of its head alone where `is_head`. The text in `out`, of
 * HTTP_ANSWER_BYTES, is ended with a NUL. Returns its status.
 */
int http_link_answer(struct http_link *link, bool is_head, char *out);

#endif
