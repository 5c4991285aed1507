/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Narrows folders to the roots that a client declares: with a filter for the grants of each folder,
 * nothing else exists. Of the directories above a root, only the way to it is seen. Until the roots
 * are known, there are none. Asking the client is left to others.
 *
 * client_roots_set() and _unknown() may be called while other threads use the filters.
 */
#ifndef FILES_CLIENTROOTS_H
#define FILES_CLIENTROOTS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/str.h"
#include "gatehouse/authority.h"

enum { CLIENT_ROOTS_MAX = 256, CLIENT_ROOTS_MAX_FOLDERS = 32 };

struct client_roots;

/* Nothing is narrowed before the first call of client_roots_set() or _unknown(). */
int client_roots_new(struct client_roots **out_roots);
/* After all scopes with its filters. */
void client_roots_free(struct client_roots *roots);

/* Folders are numbered in the order in which they are added. The paths must outlive it. */
int client_roots_add_folder(struct client_roots *roots, const char *root_path,
                            const char *given_path, struct authority_filter *out_filter);

/* The roots are not known: nothing is served. */
void client_roots_unknown(struct client_roots *roots);

/*
 * From now on only these, as file:// URIs. *out_is_used, of as many, tells which of them are in a
 * folder or contain one; others change nothing. ERR_TOO_LARGE for too many: nothing is served then.
 */
int client_roots_set(struct client_roots *roots, const struct str *uris, size_t count,
                     bool *out_is_used);

bool client_roots_deny(struct client_roots *roots, size_t folder, struct str name);

/*
 * Calls visit() with what is left of a folder: names below it, "" for all of it. False if it is not
 * narrowed: then nothing was called.
 */
bool client_roots_each(struct client_roots *roots, size_t folder,
                       void (*visit)(void *data, struct str name), void *data);

#endif
