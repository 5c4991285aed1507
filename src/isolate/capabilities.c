/* SPDX-License-Identifier: Apache-2.0 */
#include "isolate/capabilities.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { CAPABILITIES_END = 64 };

#define BIT(capability) (UINT64_C(1) << (capability))

/* For files of others: finding, reading and writing them; and setting the mode of our audit log. */
#define TO_READ   (BIT(CAP_DAC_OVERRIDE) | BIT(CAP_DAC_READ_SEARCH) | BIT(CAP_FOWNER))
/* Files that are written, moved or restored keep their owner and full mode. */
#define TO_CHANGE (TO_READ | BIT(CAP_CHOWN) | BIT(CAP_FSETID))

struct sets {
    struct __user_cap_data_struct halves[_LINUX_CAPABILITY_U32S_3];
};

static const struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};

/* pid 0 is the calling thread. SAFETY: the kernel writes to the header only to refuse it. */
static int get_sets(struct sets *out_sets)
{
    struct __user_cap_header_struct own = header;

    return (int)syscall(SYS_capget, &own, out_sets->halves);
}

static int set_sets(const struct sets *sets)
{
    struct __user_cap_header_struct own = header;

    return (int)syscall(SYS_capset, &own, sets->halves);
}

/* Limits programs started later; none is, so capabilities that cannot be dropped do not matter. */
static void drop_bounds(void)
{
    for (unsigned long i = 0; i < CAPABILITIES_END; i++)
        if (prctl(PR_CAPBSET_DROP, i, 0, 0, 0) < 0 && errno == EINVAL)
            return; /* the kernel knows no more */
}

int capabilities_drop(bool changes_files, bool *out_holds_any, struct err *err)
{
    const uint64_t kept = changes_files ? TO_CHANGE : TO_READ;
    bool has_more = false;
    bool holds_any = false;
    struct sets sets;

    if (get_sets(&sets) < 0)
        return err_set(err, err_from_errno(errno), "capabilities: %s", err_errno_text(errno));
    drop_bounds();
    (void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    for (unsigned i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
        struct __user_cap_data_struct *half = &sets.halves[i];
        uint32_t wanted = (uint32_t)(kept >> (32 * i));

        has_more = has_more || ((half->permitted | half->effective) & ~wanted) != 0 ||
                   half->inheritable != 0;
        half->permitted &= wanted;
        half->effective &= wanted;
        half->inheritable = 0;
        holds_any = holds_any || half->permitted != 0;
    }
    if (has_more && set_sets(&sets) < 0)
        return err_set(err, err_from_errno(errno), "capabilities: %s", err_errno_text(errno));
    *out_holds_any = holds_any;
    return 0;
}

int capabilities_hold(uint64_t held)
{
    struct sets sets = {0};

    for (unsigned i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
        sets.halves[i].permitted = (uint32_t)(held >> (32 * i));
        sets.halves[i].effective = sets.halves[i].permitted;
    }
    return set_sets(&sets) < 0 ? errno : 0;
}

unsigned capabilities_count(void)
{
    unsigned count = CAP_LAST_CAP + 1;

    /* The headers may be newer or older than the kernel. */
    while (count > 0 && prctl(PR_CAPBSET_READ, (unsigned long)count - 1, 0, 0, 0) < 0)
        count--;
    while (count > 0 && count < CAPABILITIES_END &&
           prctl(PR_CAPBSET_READ, (unsigned long)count, 0, 0, 0) >= 0)
        count++;
    return count;
}

int capabilities_drop_all(unsigned count)
{
    if (count == 0)
        return EPERM;
    /*
     * While we still have the capability to do it, and for all: root's uid would bring back the
     * rest.
     */
    for (unsigned long i = 0; i < count; i++)
        if (prctl(PR_CAPBSET_DROP, i, 0, 0, 0) < 0)
            return errno;
    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
        return errno;
    return capabilities_hold(0);
}

int capabilities_keep(uint64_t kept)
{
    for (unsigned long i = 0; i < CAPABILITIES_END; i++) {
        if ((kept & BIT(i)) != 0 || prctl(PR_CAPBSET_DROP, i, 0, 0, 0) == 0)
            continue;
        if (errno == EINVAL)
            break;
        return errno;
    }
    return capabilities_hold(kept);
}
