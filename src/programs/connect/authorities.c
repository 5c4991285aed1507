/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/connect/authorities.h"

#include "cli/namedfile.h"
#include "net/tls/tls.h"

static int refuse(struct err *err, const char *path, const char *why)
{
    return err_set_field(err, ERR_INVALID_OPTION, "--ca-file", "--ca-file %s: %s", path, why);
}

/* Reported at once, and not when a page wants to connect. */
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
