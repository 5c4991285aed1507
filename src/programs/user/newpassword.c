/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/user/newpassword.h"

#include <errno.h>
#include <signal.h>
#include <termios.h>
#include <unistd.h>

#include "store/password.h"

static void say(const char *words)
{
    /* A terminal that does not take it shows no prompt; the password counts all the same. */
    ssize_t written = write(STDERR_FILENO, words, strlen(words));

    (void)written;
}

/* One byte at a time: what follows the line is not ours. */
static int read_line(struct secret *out_line, struct err *err)
{
    char line[SECRET_MAX_BYTES + 1];
    size_t len = 0;
    char byte = 0;
    ssize_t got;
    int r;

    while ((got = read(STDIN_FILENO, &byte, 1)) > 0 && byte != '\n' && len < sizeof(line))
        line[len++] = byte;
    if (got < 0)
        r = err_set(err, ERR_IO, "cannot read the password: %s", err_errno_text(errno));
    else if (len == 0)
        r = err_set(err, ERR_INVALID_ARGUMENT, "the password is empty");
    else if (len > PASSWORD_MAX_BYTES)
        r = err_set(err, ERR_TOO_LARGE, "a password has at most %d bytes", PASSWORD_MAX_BYTES);
    else
        r = secret_set(out_line, (struct str){line, len});
    secret_wipe(line, sizeof(line));
    return r;
}

static int read_twice(struct secret *out_password, struct err *err)
{
    cleanup_secret struct secret again = SECRET_INIT;
    int r;

    say("New password: ");
    r = read_line(out_password, err);
    say("\n");
    if (r == 0)
        r = password_check_new(out_password, err);
    if (r < 0)
        return r;
    say("Again: ");
    r = read_line(&again, err);
    say("\n");
    if (r == 0 && !secret_eq(out_password, secret_reveal(&again))) /* to compare them */
        r = err_set(err, ERR_INVALID_ARGUMENT, "the two passwords differ");
    return r;
}

int newpassword_read(struct secret *out_password, struct err *err)
{
    struct termios before;
    struct termios silent;
    sigset_t stops;
    sigset_t mask;
    int r;

    if (tcgetattr(STDIN_FILENO, &before) < 0) {
        r = read_line(out_password, err);
        return r == 0 ? password_check_new(out_password, err) : r;
    }
    /* A signal must not leave the terminal silent: Ctrl+C arrives after the line. */
    sigemptyset(&stops);
    sigaddset(&stops, SIGINT);
    sigaddset(&stops, SIGTERM);
    sigaddset(&stops, SIGHUP);
    sigaddset(&stops, SIGTSTP);
    sigprocmask(SIG_BLOCK, &stops, &mask);
    silent = before;
    silent.c_lflag &= ~(tcflag_t)ECHO;
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent);
    r = read_twice(out_password, err);
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
    sigprocmask(SIG_SETMASK, &mask, NULL);
    return r;
}
