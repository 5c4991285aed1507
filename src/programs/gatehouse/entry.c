/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the front door begins. A client starts 'gatehouse mcp' for each session, and then all that
 * the front door does is to become gatehouse-mcp. The C library would prepare itself for that in a
 * tenth of the time of the whole start, so this runs before the C library does. Whatever is not a
 * plain start takes the usual way.
 *
 * Nothing is relocated yet: no function of the C library may be called, and no constant may contain
 * an address.
 */
#include "programs/gatehouse/entry.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/syscall.h>

#if defined(__x86_64__)
__asm__(".globl front_door_entry\n"
        ".type front_door_entry, @function\n"
        "front_door_entry:\n"
        "    mov %rsp, %rbx\n"
        "    mov %rdx, %r12\n"
        "    mov %rsp, %rdi\n"
        "    and $-16, %rsp\n"
        "    call front_door_try\n"
        "    mov %rbx, %rsp\n"
        "    mov %r12, %rdx\n"
        "    jmp _start\n");

static inline long system_call(long number, long a, long b, long c, long d)
{
    register long r10 __asm__("r10") = d;
    long result;

    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10)
                     : "rcx", "r11", "memory");
    return result;
}
#elif defined(__aarch64__)
__asm__(".globl front_door_entry\n"
        ".type front_door_entry, %function\n"
        "front_door_entry:\n"
        "    mov x19, x0\n"
        "    mov x0, sp\n"
        "    bl front_door_try\n"
        "    mov x0, x19\n"
        "    b _start\n");

static inline long system_call(long number, long a, long b, long c, long d)
{
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;

    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
    return x0;
}
#endif

/* Beginnings of the options that only gatehouse-mcp looks at; others take the usual way. */
static const char plain_options[][16] = {
    "--write",        "--ro",        "--rw",        "--deny",        "--allow",    "--max-",
    "--timeout",      "--state-dir", "--log-level", "--permission-", "--browser-", "--sensitive",
    "--settings-dir", "--shell-",    "--computer-", "--workspace",   "--autorun",
};

static bool begins_with(const char *text, const char *beginning)
{
    while (*beginning != '\0')
        if (*text++ != *beginning++)
            return false;
    return true;
}

static bool is_plain(const char *argument)
{
    if (argument[0] != '-')
        return true;
    for (size_t i = 0; i < sizeof(plain_options) / sizeof(plain_options[0]); i++)
        if (begins_with(argument, plain_options[i]))
            return true;
    return false;
}

/* The compiler may not make a call of the C library of this. */
static void put(char *place, const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        place[i] = text[i];
        __asm__ volatile("" ::: "memory");
    }
}

__attribute__((used, no_stack_protector)) void front_door_try(const long *stack)
{
    static const char beside[] = "gatehouse-mcp";
    static const char installed[] = GATEHOUSE_LIBEXECDIR "/gatehouse-mcp";
    long argc = stack[0];
    char *const *argv = (char *const *)(stack + 1);
    char *const *environment = argv + argc + 1;
    __attribute__((uninitialized)) char path[PATH_MAX];
    long len;

    if (argc < 2 || !begins_with(argv[1], "mcp") || argv[1][3] != '\0')
        return;
    for (long i = 2; i < argc; i++)
        if (!is_plain(argv[i]))
            return;
    len = system_call(SYS_readlinkat, AT_FDCWD, (long)"/proc/self/exe", (long)path, PATH_MAX);
    while (len > 0 && path[len - 1] != '/')
        len--;
    if (len <= 0 || len + (long)sizeof(beside) + (long)sizeof(installed) > PATH_MAX)
        return;
    put(path + len, beside, sizeof(beside));
    system_call(SYS_execve, (long)path, (long)(argv + 1), (long)environment, 0);
    put(path + (installed[0] == '/' ? 0 : len), installed, sizeof(installed));
    system_call(SYS_execve, (long)path, (long)(argv + 1), (long)environment, 0);
}
