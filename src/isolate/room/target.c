/* SPDX-License-Identifier: Apache-2.0 */
/* What both ends of the way to listed addresses share. */
#include "isolate/room/inner.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/cleanup.h"
#include "isolate/sanitized.h"

enum { V4_AT = 12 };

bool room_target_from(const struct sockaddr_storage *address, socklen_t len,
                      struct room_target *out_target)
{
    struct room_target target = {.ip = {[10] = 0xff, [11] = 0xff}};

    if (len >= sizeof(struct sockaddr_in) && address->ss_family == AF_INET) {
        struct sockaddr_in v4;

        memcpy(&v4, address, sizeof(v4));
        memcpy(target.ip + V4_AT, &v4.sin_addr, sizeof(v4.sin_addr));
        target.port = v4.sin_port;
    } else if (len >= offsetof(struct sockaddr_in6, sin6_scope_id) &&
               address->ss_family == AF_INET6) {
        struct sockaddr_in6 v6;

        memcpy(&v6, address, sizeof(v6));
        memcpy(target.ip, &v6.sin6_addr, sizeof(target.ip));
        target.port = v6.sin6_port;
    } else {
        return false;
    }
    *out_target = target;
    return true;
}

socklen_t room_target_to(const struct room_target *target, struct sockaddr_storage *out_address)
{
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = target->port};
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = target->port};

    memcpy(&v6.sin6_addr, target->ip, sizeof(target->ip));
    *out_address = (struct sockaddr_storage){0};
    if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) {
        memcpy(&v4.sin_addr, target->ip + V4_AT, sizeof(v4.sin_addr));
        memcpy(out_address, &v4, sizeof(v4));
        return sizeof(v4);
    }
    memcpy(out_address, &v6, sizeof(v6));
    return sizeof(v6);
}

int room_allow_calls(const struct seccomp_rule *rules, size_t count)
{
    static const unsigned usual[] = {
        SYS_brk,   SYS_mmap,         SYS_munmap,        SYS_mremap,          SYS_madvise,
        SYS_exit,  SYS_ppoll,        SYS_clock_gettime, SYS_restart_syscall, SYS_exit_group,
        SYS_close, SYS_rt_sigreturn,
#ifdef SYS_poll
        SYS_poll,
#endif
    };
    struct seccomp_rule all[SECCOMP_MAX_RULES];
    struct seccomp_program program;

    /* A sanitizer makes calls of its own. */
    if (ISOLATE_IS_SANITIZED)
        return 0;
    if (count + array_size(usual) > array_size(all))
        return E2BIG;
    memcpy(all, rules, count * sizeof(*rules));
    for (size_t i = 0; i < array_size(usual); i++)
        all[count + i] =
            (struct seccomp_rule){.first = usual[i], .last = usual[i], .answer = SECCOMP_RET_ALLOW};
    if (seccomp_compile(&(struct seccomp_policy){.machine = SECCOMP_ON_THIS,
                                                 .rules = all,
                                                 .rule_count = count + array_size(usual),
                                                 .otherwise = SECCOMP_RET_ERRNO | EPERM},
                        &program, NULL) < 0)
        return EINVAL;
    return seccomp_install(&program, NULL) < 0 ? (errno != 0 ? errno : EPERM) : 0;
}
