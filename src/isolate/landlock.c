/* SPDX-License-Identifier: Apache-2.0 */
#include "isolate/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "isolate/threads.h"

/* The kernel's own numbers: a distribution's headers may be older than its kernel. */
enum { CREATE_VERSION = 1, RULE_PATH_BENEATH = 1 };

#define FILES_EXECUTE     (UINT64_C(1) << 0)
#define FILES_WRITE_FILE  (UINT64_C(1) << 1)
#define FILES_READ_FILE   (UINT64_C(1) << 2)
#define FILES_READ_DIR    (UINT64_C(1) << 3)
#define FILES_REMOVE_DIR  (UINT64_C(1) << 4)
#define FILES_REMOVE_FILE (UINT64_C(1) << 5)
#define FILES_MAKE_DIR    (UINT64_C(1) << 7)
#define FILES_MAKE_REG    (UINT64_C(1) << 8)
#define FILES_MAKE_SOCK   (UINT64_C(1) << 9)
#define FILES_MAKE_FIFO   (UINT64_C(1) << 10)
#define FILES_MAKE_SYM    (UINT64_C(1) << 12)
#define FILES_REFER       (UINT64_C(1) << 13)
#define FILES_TRUNCATE    (UINT64_C(1) << 14)
#define FILES_IOCTL_DEV   (UINT64_C(1) << 15)

/* Creating devices is bits 6 and 11: nobody gets those. */
#define FILES_OF_ABI_1 ((UINT64_C(1) << 13) - 1)

#define NETWORK_TCP ((UINT64_C(1) << 0) | (UINT64_C(1) << 1))
#define SCOPES_ALL  ((UINT64_C(1) << 0) | (UINT64_C(1) << 1))

#define RIGHTS_READ (FILES_READ_FILE | FILES_READ_DIR)
/* A move creates the object at its new place: so also fifos, sockets and links. */
#define RIGHTS_WRITE                                                                               \
    (FILES_WRITE_FILE | FILES_REMOVE_DIR | FILES_REMOVE_FILE | FILES_MAKE_DIR | FILES_MAKE_REG |   \
     FILES_MAKE_SOCK | FILES_MAKE_FIFO | FILES_MAKE_SYM | FILES_REFER | FILES_TRUNCATE)
/* The kernel refuses a rule that gives a file a right that only directories have. */
#define RIGHTS_OF_A_FILE                                                                           \
    (FILES_EXECUTE | FILES_WRITE_FILE | FILES_READ_FILE | FILES_TRUNCATE | FILES_IOCTL_DEV)

struct ruleset_attr {
    uint64_t handled_access_fs;
    uint64_t handled_access_net;
    uint64_t scoped;
};

struct path_beneath_attr {
    uint64_t allowed_access;
    int32_t parent_fd;
} __attribute__((packed));

/* SAFETY: raw system calls, because no C library of Debian 12 wraps them. */
static int create_ruleset(const struct landlock_masks *masks)
{
    const struct ruleset_attr attr = {masks->files, masks->network, masks->scopes};

    /* An older kernel accepts a longer struct if the part it does not know is zero. */
    return (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr), 0);
}

static int add_rule(int ruleset_fd, const struct path_beneath_attr *attr)
{
    return (int)syscall(SYS_landlock_add_rule, ruleset_fd, RULE_PATH_BENEATH, attr, 0);
}

static int restrict_self(int ruleset_fd)
{
    return (int)syscall(SYS_landlock_restrict_self, ruleset_fd, 0);
}

int landlock_abi(void)
{
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, CREATE_VERSION);

    return abi > 0 ? (int)abi : 0;
}

struct landlock_masks landlock_masks(int abi)
{
    struct landlock_masks masks = {0};

    if (abi >= 1)
        masks.files = FILES_OF_ABI_1;
    if (abi >= 2)
        masks.files |= FILES_REFER;
    if (abi >= 3)
        masks.files |= FILES_TRUNCATE;
    if (abi >= 4)
        masks.network = NETWORK_TCP;
    if (abi >= 5)
        masks.files |= FILES_IOCTL_DEV;
    if (abi >= 6)
        masks.scopes = SCOPES_ALL;
    return masks;
}

static uint64_t files_of(unsigned rights)
{
    uint64_t files = 0;

    if ((rights & LANDLOCK_MAY_READ) != 0)
        files |= RIGHTS_READ;
    if ((rights & LANDLOCK_MAY_WRITE) != 0)
        files |= RIGHTS_WRITE;
    if ((rights & LANDLOCK_MAY_EXECUTE) != 0)
        files |= FILES_EXECUTE;
    if ((rights & LANDLOCK_MAY_CONTROL) != 0)
        files |= FILES_IOCTL_DEV;
    if ((rights & LANDLOCK_MAY_LIST) != 0)
        files |= FILES_READ_DIR;
    return files;
}

static int refuse_place(const struct landlock_place *place, struct err *err)
{
    int errno_value = errno;

    if (place->path == NULL)
        return err_set(err, err_from_errno(errno_value), "cannot grant file descriptor %d: %s",
                       place->fd, err_errno_text(errno_value));
    return err_set_field(err, err_from_errno(errno_value), place->path, "cannot use '%s': %s",
                         place->path, err_errno_text(errno_value));
}

static int grant(int ruleset_fd, const struct landlock_masks *masks,
                 const struct landlock_place *place, struct err *err)
{
    cleanup_fd int opened = -1;
    struct path_beneath_attr attr;
    struct stat about;

    if (place->rights == 0)
        return 0;
    if (place->path != NULL) {
        opened = open(place->path, O_PATH | O_CLOEXEC);
        if (opened < 0 && place->may_be_missing && (errno == ENOENT || errno == ENOTDIR))
            return 0;
        if (opened < 0)
            return refuse_place(place, err);
    }
    attr.parent_fd = place->path != NULL ? opened : place->fd;
    attr.allowed_access = files_of(place->rights) & masks->files;
    if (fstat(attr.parent_fd, &about) < 0)
        return refuse_place(place, err);
    if (!S_ISDIR(about.st_mode))
        attr.allowed_access &= RIGHTS_OF_A_FILE;
    if (add_rule(ruleset_fd, &attr) < 0)
        return refuse_place(place, err);
    return 0;
}

static void say_why_missing(int errno_value, char out_reason[LANDLOCK_REASON_BYTES])
{
    const char *why = err_errno_text(errno_value);

    if (errno_value == ENOSYS)
        why = "this kernel does not support it";
    else if (errno_value == EOPNOTSUPP)
        why = "this kernel supports it, but it was disabled at boot";
    else if (errno_value == EPERM || errno_value == EACCES)
        why = "a seccomp filter around this process blocks it";
    snprintf(out_reason, LANDLOCK_REASON_BYTES, "no Landlock: %s", why);
}

int landlock_confine(const struct landlock_request *request, struct landlock_result *out_result,
                     struct err *err)
{
    struct landlock_result result = {.abi = landlock_abi()};
    int errno_value = errno;
    int abi = result.abi;
    struct landlock_masks masks;
    cleanup_fd int ruleset_fd = -1;
    int r = threads_check_alone(err);

    if (r < 0)
        return r;
    if (abi == 0) {
        say_why_missing(errno_value, result.reason);
        *out_result = result;
        return 0;
    }
    if (request->max_abi > 0 && request->max_abi < abi)
        abi = request->max_abi;
    result.abi = abi;
    if (abi < LANDLOCK_MIN_ABI) {
        snprintf(result.reason, sizeof(result.reason),
                 "Landlock ABI %d cannot allow moves between directories; ABI %d (Linux 5.19) is "
                 "required",
                 abi, LANDLOCK_MIN_ABI);
        *out_result = result;
        return 0;
    }

    masks = landlock_masks(abi);
    if (request->allows_tcp)
        masks.network = 0;
    ruleset_fd = create_ruleset(&masks);
    if (ruleset_fd < 0)
        return err_set(err, err_from_errno(errno), "Landlock: %s", err_errno_text(errno));
    for (size_t i = 0; i < request->place_count; i++) {
        r = grant(ruleset_fd, &masks, &request->places[i], err);
        if (r < 0)
            return r;
    }
    if (restrict_self(ruleset_fd) < 0)
        return err_set(err, err_from_errno(errno), "Landlock: %s", err_errno_text(errno));
    result.is_applied = true;
    result.holds_truncate = (masks.files & FILES_TRUNCATE) != 0;
    result.holds_network = masks.network != 0;
    result.holds_devices = (masks.files & FILES_IOCTL_DEV) != 0;
    result.holds_scope = masks.scopes != 0;
    *out_result = result;
    return 0;
}
