/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An MCP client over two pipes: starts a server and sends one request at a time. Any error ends the
 * benchmark, since a server with wrong answers is not worth measuring.
 */
#ifndef BENCH_MCP_PEER_H
#define BENCH_MCP_PEER_H

#include <sched.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/json.h"

struct mcp_peer {
    const char *name;
    pid_t pid;
    cpu_set_t cores; /* where it runs, and whoever asks it */
    int to_fd;
    int from_fd;
    long last_id;
    struct buf line;     /* the last answer, whole */
    struct arena arena;  /* of what was parsed of it */
    double last_call_ns; /* from the first byte sent to the last one read */
};

double mcp_peer_now_ns(void);

/* The server's argv, up to a NULL. It runs where its starter does. Returns after the handshake. */
void mcp_peer_start(struct mcp_peer *peer, const char *name, char *const *argv);
/* Brings the caller to where the server runs. */
void mcp_peer_go_to(const struct mcp_peer *peer);
/* Closes its input and waits. */
void mcp_peer_end(struct mcp_peer *peer);

/*
 * `request` is a line but for the id, which stands wherever it has %ld. The
 * answer stays in peer->line.
 */
void mcp_peer_ask(struct mcp_peer *peer, const char *request) __attribute__((nonnull));

/* The result of the last answer; valid until the next call. */
const struct json_value *mcp_peer_result(struct mcp_peer *peer);
/* Its first block of text. */
struct str mcp_peer_text(struct mcp_peer *peer);

/* User and system time of the process so far. */
double mcp_peer_cpu_ns(const struct mcp_peer *peer);
/* What it holds in memory, shared pages in proportion; below 0 where that may not be seen. */
double mcp_peer_pss_kb(const struct mcp_peer *peer);

#endif
