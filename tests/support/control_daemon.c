/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of a daemon that `gatehouse status` queries:
 *
 *     control_daemon PORT DIR [URL [STATE REASON]]
 *
 * STATE is a number of enum report_state, for a daemon that is not connected. It prints "ready",
 * and ends when its standard input ends.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/status.h"
#include "loop/reader.h"
#include "programs/connect/control.h"

static struct loop *loop;
static char *const *words;
static int64_t lost_state = -1;

static void on_report(void *data, struct report *out_report)
{
    (void)data;
    out_report->dir = str_from(words[2]);
    out_report->is_of_up = strcmp(words[0], STATUS_NAME_OF_UP) == 0;
    out_report->is_connected = words[3] != NULL && lost_state < 0;
    if (out_report->is_connected)
        out_report->state = REPORT_CONNECTED;
    if (lost_state >= 0) {
        out_report->state = (enum report_state)lost_state;
        snprintf(out_report->why, sizeof(out_report->why), "%s", words[5]);
    }
    out_report->url = words[3] != NULL ? str_from(words[3]) : STR_EMPTY;
    out_report->connected_wall_ms = 1772366400123;
}

static void on_bytes(void *data, struct str bytes)
{
    (void)data;
    (void)bytes;
}

static void on_end(void *data, int error)
{
    (void)data;
    (void)error;
    loop_stop(loop);
}

int main(int argc, char **argv)
{
    const struct reader_events events = {.on_bytes = on_bytes, .on_end = on_end};
    char directory[PATH_MAX];
    struct err err = ERR_INIT;
    struct control *control;
    struct reader *reader;
    int64_t port;

    words = argv;
    if (argc < 3 || argc == 5 || !str_to_int64(str_from(argv[1]), &port) ||
        (argc > 5 && !str_to_int64(str_from(argv[4]), &lost_state)) ||
        loop_new(&clock_system, &loop) < 0)
        return 2;
    if (status_socket_dir(directory, &err) < 0 ||
        control_open(directory, (uint16_t)port, &control, &err) < 0) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    if (control_serve(control, loop, on_report, NULL) < 0 ||
        reader_new(loop, STDIN_FILENO, &events, &reader) < 0)
        return 1;
    puts("ready");
    fflush(stdout);
    loop_run(loop);
    reader_free(reader);
    control_free(control);
    loop_free(loop);
    return 0;
}
