/* SPDX-License-Identifier: Apache-2.0 */
#include "isolate/newfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"

enum { PRIVATE_FILE = 0600 };

int newfile_create(const char *directory, struct str name, int *out_fd, struct err *err)
{
    cleanup_fd int dir = open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    char text[NAME_MAX + 1];

    if (name.len == 0 || name.len >= sizeof(text) || str_find(name, STR("/")) != SIZE_MAX)
        return err_set_plain(err, ERR_INVALID_ARGUMENT);
    snprintf(text, sizeof(text), "%.*s", STR_ARG(name));
    *out_fd = dir >= 0 ? openat(dir, text, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                                PRIVATE_FILE)
                       : -1;
    if (*out_fd < 0)
        return err_set(err, err_from_errno(errno), "cannot create a file: %s",
                       err_errno_text(errno));
    return 0;
}
