/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The key of a session that outlives the process: one file for each server, for the user alone,
 * beside the record. It holds what the user had agreed to as a digest; whoever starts with anything
 * else finds no session, and is asked. A lock beside it says that a process uses the session.
 */
#ifndef PROGRAMS_CONNECT_SAVEDSESSION_H
#define PROGRAMS_CONNECT_SAVEDSESSION_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/secret.h"
#include "base/sha256.h"
#include "gatehouse/authority.h"
#include "gateway/client.h"
#include "programs/connect/connectoptions.h"

enum { SAVED_SESSION_TERMS_BYTES = 2 * SHA256_BYTES + 1 };

/* All that the user agrees to, as text. */
struct saved_session_terms {
    const struct httpurl *url;
    const struct connect_choices *choices;
    bool shell_is_open;
    bool shell_has_network;
    const char *const *shell_writable; /* up to a NULL; or NULL */
    int64_t shell_timeout_ms;
    bool asks_here; /* about calls; else the instance does */
    uint64_t max_file_bytes;
    uint64_t max_lines;
};
void saved_session_digest(const struct saved_session_terms *terms,
                          char out_digest[SAVED_SESSION_TERMS_BYTES]);

struct saved_session {
    char terms[SAVED_SESSION_TERMS_BYTES];
    char root_path[PATH_MAX]; /* where the folder led */
    enum gateway_dialect dialect;
    struct secret key;
};

/* The file's text; what is not whole is ERR_INVALID_JSON. */
int saved_session_parse(struct str text, struct saved_session *out_saved);
int saved_session_format(const struct saved_session *kept, struct buf *out);

/*
 * For who uses a session of this server, or writes or removes its file: in the state directory,
 * held until the fd is closed. ERR_BUSY where another process has it.
 */
int saved_session_lock(int state_fd, const struct httpurl *url, int *out_fd, struct err *err);

/* ERR_NOT_FOUND where none is kept for these terms; what cannot be read is none. */
int saved_session_read(struct authority *authority, const char *state_path,
                       const struct httpurl *url, const char *terms,
                       struct saved_session *out_saved);
int saved_session_write(struct authority *authority, const char *state_path,
                        const struct httpurl *url, const struct saved_session *kept,
                        struct err *err);
/* Something is kept for the server, on whatever terms. */
bool saved_session_is_there(struct authority *authority, const char *state_path,
                            const struct httpurl *url);
/* None is kept for this server any more. */
void saved_session_remove(struct authority *authority, const char *state_path,
                          const struct httpurl *url);

#endif
