/* SPDX-License-Identifier: Apache-2.0 */
#include "loop/signal.h"

#include <stdlib.h>

#include "base/err.h"

struct signal_watch {
    uv_signal_t uv;
    void (*on_signal)(void *data, int signum);
    void *data;
};

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static void on_uv_signal(uv_signal_t *uv, int signum)
{
    struct signal_watch *watch = uv->data;

    watch->on_signal(watch->data, signum);
}

int signal_watch_new(struct loop *loop, int signum, void (*on_signal)(void *data, int signum),
                     void *data, struct signal_watch **out_watch)
{
    struct signal_watch *watch = malloc(sizeof(*watch));
    int r;

    if (watch == NULL)
        return ERR_NO_MEMORY;
    *watch = (struct signal_watch){.on_signal = on_signal, .data = data};
    r = uv_signal_init(loop_uv(loop), &watch->uv);
    if (r < 0) {
        free(watch);
        return loop_error(r);
    }
    watch->uv.data = watch;
    r = uv_signal_start(&watch->uv, on_uv_signal, signum);
    if (r < 0) {
        signal_watch_free(watch);
        return loop_error(r);
    }
    uv_unref((uv_handle_t *)&watch->uv);
    *out_watch = watch;
    return 0;
}

void signal_watch_free(struct signal_watch *watch)
{
    /* The memory is libuv's until the handle is closed. */
    if (watch != NULL)
        uv_close((uv_handle_t *)&watch->uv, on_closed);
}
