/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/stop.h"

#include "base/cleanup.h"

volatile sig_atomic_t stop_signal;

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
static struct cancel *cancelled;

static void on_signal(int signum)
{
    stop_signal = signum;
    if (cancelled != NULL)
        cancel_now(cancelled);
}

void stop_watch(struct cancel *cancel)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
    struct sigaction before;

    cancelled = cancel;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < array_size(signals); i++)
        if (sigaction(signals[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(signals[i], &action, NULL);
    signal(SIGPIPE, SIG_IGN);
}

bool stop_wait(struct pollfd *fds, nfds_t count)
{
    sigset_t held;
    sigset_t before;
    bool has_news;

    sigemptyset(&held);
    for (size_t i = 0; i < array_size(signals); i++)
        sigaddset(&held, signals[i]);
    sigprocmask(SIG_BLOCK, &held, &before);
    has_news = stop_signal == 0 && ppoll(fds, count, NULL, &before) > 0;
    /* Open while it works: a reader that stops reading must not keep it from ending. */
    sigprocmask(SIG_SETMASK, &before, NULL);
    return has_news;
}
