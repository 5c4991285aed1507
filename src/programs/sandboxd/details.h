/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the Daytona API adds to the record of a sandbox: its name, labels and variables, and when an
 * idle one is stopped or deleted. It is kept as one JSON document. A sandbox of the other API has
 * none.
 */
#ifndef PROGRAMS_SANDBOXD_DETAILS_H
#define PROGRAMS_SANDBOXD_DETAILS_H

#include "base/buf.h"
#include "base/json.h"
#include "store/sandboxstore.h"

enum {
    DETAILS_MAX_TEXT_BYTES = 64 << 10, /* of the labels, and of the variables, as JSON */
    DETAILS_MAX_DOCUMENT_BYTES = 1 << 20,
    DETAILS_MAX_MINUTES = 10 * 365 * 24 * 60,
    DETAILS_AUTO_STOP_MINUTES = 15, /* of one that says nothing */
    DETAILS_AUTO_ARCHIVE_MINUTES = 7 * 24 * 60,
    DETAILS_LAST_ARCHIVE_MINUTES = 30 * 24 * 60, /* of one that says 0 */
    DETAILS_NEVER = -1,
    DETAILS_SALT_BYTES = 33, /* with its NUL */
};

struct details {
    char name[SANDBOXSTORE_MAX_NAME_BYTES + 1];
    char snapshot[SANDBOXSTORE_MAX_NAME_BYTES + 1]; /* that it was made from; or empty */
    char *labels;                                   /* a JSON object of texts */
    char *env;                                      /* the same */
    char *changed_env;                              /* instead, until it stops; or NULL */
    int64_t auto_stop_minutes;                      /* of idleness; 0: never */
    int64_t auto_delete_minutes;  /* after it was stopped; 0: at once, DETAILS_NEVER */
    int64_t auto_archive_minutes; /* after it was stopped; 0: DETAILS_LAST_ARCHIVE_MINUTES */
    int64_t updated_s;
    /* Changes with each rotation of the key that signs URLs of files; empty before the first. */
    char signing_salt[DETAILS_SALT_BYTES];
    bool is_archived; /* by request */
    bool is_public;
};

/* With the defaults; NULL without memory. */
struct details *details_new(void);
void details_free(struct details *details);
/* For cleanup attributes. */
void details_drop(struct details **details);
#define cleanup_details cleanup_with(details_drop)

/* Whether it is an object of texts, not too large. */
bool details_is_texts(const struct json_value *object);
/* Replaces labels or variables. ERR_TOO_LARGE, ERR_NO_MEMORY. */
int details_set_texts(char **texts, const struct json_value *object);

/* The document, and back; NULL for one that is none of ours. */
int details_write(const struct details *details, struct buf *out);
struct details *details_read(struct str document);

/* The variables of new commands. */
const char *details_env(const struct details *details);

/* A new start: nothing is archived any more, and the variables are those that it was created with.
 */
void details_start(struct details *details);

/* ---- idle sandboxes ---- */

/* Whether one that has been stopped for that long counts as archived. */
bool details_is_archived(const struct details *details, int64_t stopped_ms);

enum details_step { DETAILS_KEEP, DETAILS_STOP, DETAILS_DELETE };

/* What becomes of a sandbox that has been idle, or stopped, for that long. */
enum details_step details_idle(const struct details *details, bool is_stopped, int64_t idle_ms,
                               int64_t stopped_ms);

#endif
