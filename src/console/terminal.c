/* SPDX-License-Identifier: Apache-2.0 */
#include "console/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/err.h"
#include "console/rescue.h"

enum { CONTROL_C = 0x03, DEFAULT_ROWS = 24, DEFAULT_COLUMNS = 80, DISCARD_READS = 64 };

void terminal_init(struct terminal *terminal, int in_fd, int out_fd)
{
    *terminal = (struct terminal){
        .in_fd = in_fd,
        .out_fd = out_fd,
        .is_terminal = isatty(in_fd) && isatty(out_fd),
        .group = getpgid(0),
    };
}

bool terminal_is_ours(const struct terminal *terminal)
{
    pid_t foreground = 0;

    /* A terminal that is not our session's has no foreground jobs. */
    return !terminal->is_terminal || ioctl(terminal->in_fd, TIOCGPGRP, &foreground) < 0 ||
           terminal->group <= 0 || foreground == terminal->group;
}

static struct termios modes_for(const struct termios *saved, enum terminal_mode mode)
{
    struct termios modes = *saved;

    modes.c_cc[VINTR] = _POSIX_VDISABLE;
    modes.c_cc[VQUIT] = _POSIX_VDISABLE;
    modes.c_iflag |= ICRNL;
    modes.c_lflag |= ISIG;
    if (mode == TERMINAL_KEYS) {
        modes.c_iflag &= ~(tcflag_t)(IXON | ISTRIP | INLCR | IGNCR);
        modes.c_lflag &= ~(tcflag_t)(ICANON | ECHO | ECHONL | IEXTEN);
        modes.c_cc[VMIN] = 1;
        modes.c_cc[VTIME] = 0;
    } else {
        modes.c_lflag |= ICANON | ECHO;
        modes.c_cc[VEOL] = CONTROL_C;
    }
    return modes;
}

int terminal_enter(struct terminal *terminal, enum terminal_mode mode)
{
    struct termios modes;

    if (!terminal->is_terminal)
        return 0;
    if (tcgetattr(terminal->in_fd, &terminal->saved) < 0)
        return err_from_errno(errno);
    modes = modes_for(&terminal->saved, mode);
    /* At once: to wait for a terminal that takes nothing would hold everything up. */
    if (tcsetattr(terminal->in_fd, TCSANOW, &modes) < 0)
        return err_from_errno(errno);
    terminal->is_entered = true;
    rescue_arm(terminal->in_fd, &terminal->saved);
    return 0;
}

void terminal_leave(struct terminal *terminal)
{
    if (terminal->is_entered)
        rescue_disarm();
    /* In the background the shell has set its own modes, and we would be stopped. */
    if (terminal->is_entered && terminal_is_ours(terminal))
        (void)tcsetattr(terminal->in_fd, TCSANOW, &terminal->saved);
    terminal->is_entered = false;
}

int terminal_save_flags(struct terminal *terminal)
{
    if (terminal->has_flags)
        return 0;
    terminal->in_flags = fcntl(terminal->in_fd, F_GETFL);
    terminal->out_flags = fcntl(terminal->out_fd, F_GETFL);
    if (terminal->in_flags < 0 || terminal->out_flags < 0)
        return err_from_errno(errno);
    terminal->has_flags = true;
    return 0;
}

void terminal_restore_flags(struct terminal *terminal)
{
    if (!terminal->has_flags)
        return;
    terminal->has_flags = false;
    (void)fcntl(terminal->in_fd, F_SETFL, terminal->in_flags);
    (void)fcntl(terminal->out_fd, F_SETFL, terminal->out_flags);
}

/* A pipe can only be emptied by reading; it is nonblocking while it is read here. */
static void read_away(int fd)
{
    char bytes[4096];

    if ((fcntl(fd, F_GETFL) & O_NONBLOCK) == 0)
        return;
    for (int i = 0; i < DISCARD_READS; i++)
        if (read(fd, bytes, sizeof(bytes)) <= 0)
            return;
}

void terminal_discard_input(const struct terminal *terminal)
{
    if (isatty(terminal->in_fd))
        (void)tcflush(terminal->in_fd, TCIFLUSH);
    else
        read_away(terminal->in_fd);
}

void terminal_size(const struct terminal *terminal, size_t *out_rows, size_t *out_columns)
{
    struct winsize size = {0};

    if (terminal->is_terminal)
        (void)ioctl(terminal->out_fd, TIOCGWINSZ, &size);
    *out_rows = size.ws_row > 0 ? size.ws_row : DEFAULT_ROWS;
    *out_columns = size.ws_col > 0 ? size.ws_col : DEFAULT_COLUMNS;
}
