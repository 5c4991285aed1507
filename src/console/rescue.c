/* SPDX-License-Identifier: Apache-2.0 */
#include "console/rescue.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

#include "base/cleanup.h"

static const int crashes[] = {SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGFPE};
static struct sigaction before[array_size(crashes)];
static struct termios saved;
static volatile sig_atomic_t armed_fd = -1;

/* SAFETY: only async-signal-safe calls, on values set before. */
static void on_crash(int signum)
{
    static const char leave[] = "\x1b[?2004l\x1b[?1049l\x1b[?7h\r";
    int error = errno;
    int fd = armed_fd;

    armed_fd = -1;
    if (fd >= 0) {
        (void)!write(fd, leave, sizeof(leave) - 1);
        (void)tcsetattr(fd, TCSANOW, &saved);
    }
    for (size_t i = 0; i < array_size(crashes); i++)
        if (crashes[i] == signum)
            (void)sigaction(signum, &before[i], NULL);
    errno = error;
    /* It is blocked until we return, and then has its usual effect. */
    (void)raise(signum);
}

void rescue_arm(int fd, const struct termios *modes)
{
    const struct sigaction action = {.sa_handler = on_crash};

    if (armed_fd >= 0)
        return;
    saved = *modes;
    armed_fd = fd;
    for (size_t i = 0; i < array_size(crashes); i++)
        (void)sigaction(crashes[i], &action, &before[i]);
}

void rescue_disarm(void)
{
    if (armed_fd < 0)
        return;
    for (size_t i = 0; i < array_size(crashes); i++)
        (void)sigaction(crashes[i], &before[i], NULL);
    armed_fd = -1;
}
