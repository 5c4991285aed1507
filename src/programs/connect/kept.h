/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The key of a session that outlives the process: one file for each server, for the user alone,
 * beside the record. It holds what the user had agreed to as a digest; whoever starts with anything
 * else finds no session, and is asked. A lock beside it says that a process uses the session.
 */
#ifndef PROGRAMS_CONNECT_KEPT_H
#define PROGRAMS_CONNECT_KEPT_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/secret.h"
#include "base/sha256.h"
#include "gatehouse/authority.h"
#include "gateway/client.h"
#include "programs/connect/wishes.h"

enum { KEPT_TERMS_BYTES = 2 * SHA256_BYTES + 1 };

/* All that the user agrees to, as text. */
struct kept_terms {
    const struct httpurl *url;
    const struct wishes *wishes;
    bool shell_is_open;
    bool shell_has_network;
    const char *const *shell_writable; /* up to a NULL; or NULL */
    int64_t shell_timeout_ms;
    bool asks_here; /* about calls; else the instance does */
    uint64_t max_file_bytes;
    uint64_t max_lines;
};
void kept_digest(const struct kept_terms *terms, char out_digest[KEPT_TERMS_BYTES]);

struct kept {
    char terms[KEPT_TERMS_BYTES];
    char root_path[PATH_MAX]; /* where the folder led */
    enum gateway_dialect dialect;
    struct secret key;
};

/* The file's text; what is not whole is ERR_INVALID_JSON. */
int kept_parse(struct str text, struct kept *out_kept);
int kept_format(const struct kept *kept, struct buf *out);

/*
 * For who uses a session of this server, or writes or removes its file: in the state directory,
 * held until the fd is closed. ERR_BUSY where another process has it.
 */
int kept_lock(int state_fd, const struct httpurl *url, int *out_fd, struct err *err);

/* ERR_NOT_FOUND where none is kept for these terms; what cannot be read is none. */
int kept_read(struct authority *authority, const char *state_path, const struct httpurl *url,
              const char *terms, struct kept *out_kept);
int kept_write(struct authority *authority, const char *state_path, const struct httpurl *url,
               const struct kept *kept, struct err *err);
/* Something is kept for the server, on whatever terms. */
bool kept_is_there(struct authority *authority, const char *state_path, const struct httpurl *url);
/* None is kept for this server any more. */
void kept_remove(struct authority *authority, const char *state_path, const struct httpurl *url);

#endif
