/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/connect/authorities.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "net/tls/tls.h"

enum { PIECE_BYTES = 16 << 10 };

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

/* O_NONBLOCK: the file may be a pipe without a writer. */
int authorities_read(const char *path, struct buf *out_pem, struct err *err)
{
    cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    char piece[PIECE_BYTES];
    struct stat about;
    ssize_t got;

    if (fd < 0 || fstat(fd, &about) < 0)
        return refuse(err, path, err_errno_text(errno));
    if (!S_ISREG(about.st_mode))
        return refuse(err, path, "not a regular file");
    while ((got = read(fd, piece, sizeof(piece))) > 0)
        if (buf_append_str(out_pem, (struct str){piece, (size_t)got}) < 0)
            return refuse(err, path, "the file is too large");
    if (got < 0)
        return refuse(err, path, err_errno_text(errno));
    return check(path, buf_view(out_pem), err);
}
