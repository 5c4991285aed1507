/* SPDX-License-Identifier: Apache-2.0 */
/* A process without executable memory: patterns still compile and match. */
#include "test.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "search/matcher.h"
#include "search/pattern_internal.h"

/* mmap and mprotect with PROT_EXEC fail. */
static bool forbid_code(void)
{
    struct sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog filter = {.len = array_size(program), .filter = program};

    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

enum { FOUND = 0, NOT_FOUND = 1, HAS_JIT = 2, NO_FILTER = 3 };

static int search_without(void)
{
    static const struct pattern_options options = {.is_regex = true};
    struct pattern *pattern = NULL;
    struct matcher *matcher = NULL;
    size_t count = 0;

    if (!forbid_code())
        return NO_FILTER;
    if (pattern_compile(STR("\\w+ (\\d)\\1$"), &options, &pattern, NULL) < 0 ||
        matcher_new(pattern, NULL, &matcher) < 0 ||
        matcher_count(matcher, STR("line 11\nline 12\n\xc3\xa9 22\n"), &count) < 0 || count != 2)
        return NOT_FOUND;
    return pattern->has_jit ? HAS_JIT : FOUND;
}

static void regexes_match_where_nothing_may_become_code(void **state)
{
    pid_t pid = fork();
    int status;

    (void)state;
    assert_true(pid >= 0);
    if (pid == 0)
        _exit(search_without());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == NO_FILTER)
        skip_because("seccomp filters are not to be had");
    assert_int_equal(WEXITSTATUS(status), FOUND);
}

TEST_MAIN(cmocka_unit_test(regexes_match_where_nothing_may_become_code))
