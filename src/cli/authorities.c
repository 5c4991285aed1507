/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/authorities.h"

#include <stdlib.h>

#include "cli/namedfile.h"

/* Debian's directory, and OpenSSL's default; OpenSSL names another by SSL_CERT_DIR. */
#define AUTHORITIES_DIR     "/etc/ssl/certs"
#define AUTHORITIES_DIR_ENV "SSL_CERT_DIR"

static int refuse(struct err *err, const char *path, const char *why)
{
    return err_set_field(err, ERR_INVALID_OPTION, "--ca-file", "--ca-file %s: %s", path, why);
}

/* Reported at the start, and not with the first connection. */
static int check(const char *path, struct str pem, struct err *err)
{
    const struct tls_trust trust = {.authorities_pem = pem};
    struct tls_context *context = NULL;
    struct err why = ERR_INIT;

    if (pem.len == 0)
        return refuse(err, path, "the file is empty");
    if (tls_client_context_new(&trust, &clock_system, &context, &why) < 0)
        return refuse(err, path, why.message);
    tls_context_unref(context);
    return 0;
}

int authorities_read(const char *path, struct buf *out_pem, struct err *err)
{
    const char *why = namedfile_read(path, out_pem);

    return why != NULL ? refuse(err, path, why) : check(path, buf_view(out_pem), err);
}

struct tls_trust authorities_trust(struct str pem)
{
    const char *dir = getenv(AUTHORITIES_DIR_ENV);

    return (struct tls_trust){.authorities_pem = pem,
                              .authorities_dir =
                                  dir != NULL && *dir != '\0' ? dir : AUTHORITIES_DIR};
}

int authorities_make_filter(void *data, struct str host, struct filter **out_filter,
                            struct err *err)
{
    struct authorities *authorities = data;
    const struct tls_trust trust = authorities_trust(buf_view(&authorities->pem));
    int r = 0;

    if (authorities->context == NULL)
        r = tls_client_context_new(&trust, &clock_system, &authorities->context, err);
    return r == 0 ? tls_client_new(authorities->context, host, out_filter, err) : r;
}

void authorities_done(struct authorities *authorities)
{
    tls_context_unref(authorities->context);
    buf_done(&authorities->pem);
}
