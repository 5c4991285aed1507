/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The key of a session that survives the process: one private file per server, beside the audit
 * log. It contains a digest of what the user agreed to; whoever starts with other terms finds no
 * session, and the user is asked. A lock file beside it shows that a process uses the session.
 */
#ifndef PROGRAMS_CONNECT_SAVEDSESSION_H
#define PROGRAMS_CONNECT_SAVEDSESSION_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/secret.h"
#include "base/sha256.h"
#include "gatehouse/authority.h"
#include "gateway/client.h"
#include "programs/connect/connectoptions.h"

enum { SAVED_SESSION_TERMS_BYTES = 2 * SHA256_BYTES + 1 };

/* Everything the user agrees to, as text. */
struct saved_session_terms {
    const struct httpurl *url;
    const struct connect_choices *choices;
    bool shell_is_open;
    bool shell_has_network;
    const char *const *shell_domains;  /* NULL-terminated; or NULL */
    const char *const *shell_writable; /* NULL-terminated; or NULL */
    const char *const *shell_readable; /* the same */
    const char *const *shell_env;      /* the same; only their names count */
    int64_t shell_timeout_ms;
    bool asks_here; /* we ask about calls; else the instance does */
    bool allows_remote_always;
    uint64_t max_file_bytes;
    uint64_t max_lines;
    bool reads_hardlinks;
    const char *const *denied;  /* the same as the lists above */
    const char *const *allowed; /* the same */
};
void saved_session_digest(const struct saved_session_terms *terms,
                          char out_digest[SAVED_SESSION_TERMS_BYTES]);

/* Digest of the resolved paths of the folders besides the first; empty: there is none. */
void saved_session_name_others(const struct session *session,
                               char out_digest[SAVED_SESSION_TERMS_BYTES]);

struct saved_session {
    char terms[SAVED_SESSION_TERMS_BYTES];
    char root_path[PATH_MAX];               /* the first folder's resolved path */
    char others[SAVED_SESSION_TERMS_BYTES]; /* see saved_session_name_others() */
    enum gateway_dialect dialect;
    bool has_extensions; /* the server is one of ours */
    struct secret key;
};

/* ERR_INVALID_JSON if the text is incomplete. */
int saved_session_parse(struct str text, struct saved_session *out_saved);
int saved_session_format(const struct saved_session *kept, struct buf *out);
/* For a buffer that holds a key as text. */
static inline void saved_session_wipe(struct buf *text)
{
    if (text->data != NULL)
        secret_wipe(text->data, text->capacity);
    buf_done(text);
}

/* Whether it can be one, which becomes a header of requests. */
static inline bool saved_session_is_key(struct str key)
{
    for (size_t i = 0; i < key.len; i++)
        if (key.ptr[i] <= ' ' || key.ptr[i] > '~')
            return false;
    return key.len > 0;
}
/*
 * Locks this server's session in the state directory, for using it or changing its file, until the
 * fd is closed. ERR_BUSY if another process holds the lock.
 */
int saved_session_lock(int state_fd, const struct httpurl *url, int *out_fd, struct err *err);

/* ERR_NOT_FOUND if none is saved for these terms; an unreadable file counts as none. */
int saved_session_read(struct authority *authority, const char *state_path,
                       const struct httpurl *url, const char *terms,
                       struct saved_session *out_saved);
int saved_session_write(struct authority *authority, const char *state_path,
                        const struct httpurl *url, const struct saved_session *kept,
                        struct err *err);
/* Whether a session is saved for the server, on any terms. */
bool saved_session_is_there(struct authority *authority, const char *state_path,
                            const struct httpurl *url);
void saved_session_remove(struct authority *authority, const char *state_path,
                          const struct httpurl *url);

#endif
