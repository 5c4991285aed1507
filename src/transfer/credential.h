/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operator's file of credentials: a JSON object with a member for each, which is bound to one
 * server and one tenant.
 *
 *     {"backup": {"url": "sftp://files.example", "user": "anna", "privateKey": "-----BEGIN …"},
 *      "drop": {"url": "ftp://ftp.example", "user": "drop", "password": "…", "tenant": "anna"}}
 */
#ifndef TRANSFER_CREDENTIAL_H
#define TRANSFER_CREDENTIAL_H

#include "base/secret.h"
#include "transfer/place.h"

enum { CREDENTIAL_USER_BYTES = 256 };

/* Either a password, or a private key, whose password is its passphrase. */
struct credential {
    char user[CREDENTIAL_USER_BYTES];
    struct secret_text password;
    struct secret_text private_key;
};

#define CREDENTIAL_INIT                                                                            \
    {                                                                                              \
        .password = SECRET_TEXT_INIT, .private_key = SECRET_TEXT_INIT                              \
    }

void credential_done(struct credential *credential);
#define cleanup_credential cleanup_with(credential_done)

/*
 * The file must belong to the user or to root and be readable for nobody else. ERR_ACCESS_MISSING
 * if it has no credential of this name for this server and tenant (NULL: the owner); messages have
 * nothing of the file in them.
 */
int credential_load(const char *path, struct str name, const struct transfer_place *server,
                    const char *tenant, struct credential *out_credential, struct err *err);

/* The same from the file's text. */
int credential_find(struct str text, struct str name, const struct transfer_place *server,
                    const char *tenant, struct credential *out_credential, struct err *err);

#endif
