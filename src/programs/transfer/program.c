/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gatehouse-transfer: does one request about a file on a server, and exits. It connects, confines
 * itself, and only then meets what the server says.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/runner.h"
#include "cli/transfer.h"
#include "isolate/companion.h"
#include "isolate/confine.h"
#include "transfer/ftp.h"
#include "transfer/route.h"
#include "transfer/ssh.h"

enum { MAX_CPU_S = 60 };
#define MAX_MEMORY_BYTES (UINT64_C(768) << 20)

/* What one request needs. */
struct job {
    struct transfer_request request;
    struct transfer_place server;
    struct transfer_route route;
    struct credential credential;
    int fd; /* connected to the server, or to the dialer */
};

static int confine(struct err *err)
{
    const struct confine_plan plan = {.has_closed_fds = true,
                                      .passes_messages = true, /* send() and recv() */
                                      .has_connections = true,
                                      .max_memory_bytes = MAX_MEMORY_BYTES,
                                      .max_cpu_s = MAX_CPU_S};
    struct confine_report report;

    return confine_process(&plan, &report, err);
}

/* ---- before the walls are up: nothing here reads what a server says ---- */

static int read_hosts(const struct option_values *values, struct transfer_place *places,
                      struct route_allowed *out_allowed, struct err *err)
{
    const struct option_list list = options_list(values, TRANSFER_OPTION_HOST);

    if (list.count > TRANSFER_MAX_HOSTS)
        return err_set(err, ERR_INVALID_OPTION, "--host: at most %d", TRANSFER_MAX_HOSTS);
    for (size_t i = 0; i < list.count; i++) {
        int r = transfer_read_place(str_from(list.items[i]), &places[i], err);

        if (r < 0)
            return r;
    }
    *out_allowed = (struct route_allowed){.places = places, .count = list.count};
    return 0;
}

static int find_server(struct job *job, const struct option_values *values, struct err *err)
{
    cleanup_free struct transfer_place *places = calloc(TRANSFER_MAX_HOSTS, sizeof(*places));
    struct route_allowed allowed;
    int r;

    if (places == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    job->server.protocol = job->request.protocol;
    job->server.port = job->request.port;
    snprintf(job->server.host, sizeof(job->server.host), "%.*s", STR_ARG(job->request.host));
    job->server.is_address = transfer_is_address(job->server.host);
    r = read_hosts(values, places, &allowed, err);
    if (r == 0)
        r = route_check(&allowed, &job->server, err);
    return r == 0 ? route_find(&allowed, &job->server, &job->route, err) : r;
}

static int prepare(struct job *job, const struct option_values *values, struct err *err)
{
    bool is_ftp = job->request.protocol == TRANSFER_FTP;
    int r = is_ftp ? ftp_open(err) : ssh_open(err);

    if (r < 0 || job->request.operation == TRANSFER_PROBE)
        return r;
    r = find_server(job, values, err);
    if (r == 0)
        r = credential_load(options_text(values, TRANSFER_OPTION_CREDENTIALS),
                            job->request.credential, &job->server,
                            options_text(values, TRANSFER_OPTION_TENANT), &job->credential, err);
    if (r == 0 && !is_ftp)
        r = ssh_load_known_hosts(options_text(values, TRANSFER_OPTION_KNOWN_HOSTS), &job->server,
                                 err);
    if (r < 0)
        return r;
    return is_ftp ? route_start_dialer(&job->route, &job->fd, err)
                  : route_connect(&job->route, &job->fd, err);
}

/* ---- one request ---- */

static int work(const struct job *job, struct buf *space, struct transfer_answer *out_answer,
                struct err *err)
{
    if (job->request.operation == TRANSFER_PROBE)
        return 0;
    return job->request.protocol == TRANSFER_FTP
               ? ftp_work(&job->request, &job->route, &job->credential, job->fd, space, out_answer,
                          err)
               : ssh_work(&job->request, job->fd, &job->credential, space, out_answer, err);
}

static int serve(const struct option_values *values, struct err *err)
{
    cleanup_buf struct buf bytes = BUF_INIT(TRANSFER_MAX_BYTES + COMPANION_READ_BYTES);
    cleanup_buf struct buf space = BUF_INIT(TRANSFER_MAX_BYTES);
    cleanup_buf struct buf body = BUF_INIT(TRANSFER_MAX_BYTES);
    cleanup_free struct transfer_answer *answer = calloc(1, sizeof(*answer));
    struct job job = {.credential = CREDENTIAL_INIT, .fd = -1};
    struct err why = ERR_INIT;
    int r;

    if (answer == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    if (companion_receive(&bytes) < 0)
        /* cppcheck-suppress memleak ; it is freed by its cleanup */
        return err_set(err, ERR_CONNECTION_LOST, "the request did not arrive");
    r = transfer_read_request(buf_view(&bytes), &job.request, &why);
    if (r == 0)
        r = prepare(&job, values, &why);
    if (r == 0 && confine(err) < 0)
        /* cppcheck-suppress memleak ; the same */
        return err->code;
    if (r == 0)
        r = work(&job, &space, answer, &why);
    credential_done(&job.credential);
    r = r == 0 ? transfer_write_answer(answer, &body) : transfer_write_error(&why, &body);
    if (r == 0)
        r = companion_send(buf_view(&body));
    return r < 0 ? err_set_plain(err, r) : 0;
}

static int run(const struct option_values *values, struct arena *arena, struct err *err)
{
    const int kept[] = {STDERR_FILENO, COMPANION_FD};
    int r = confine_close_fds(kept, array_size(kept), err);

    (void)arena;
    if (r == 0)
        r = serve(values, err);
    if (r == 0)
        _exit(EXIT_SUCCESS); /* without the ends of libraries */
    return r;
}

static const struct runner runner = {
    .program = TRANSFER_PROGRAM,
    .title = TRANSFER_PROGRAM,
    .see = "gatehouse-transfer(8)",
    .command = TRANSFER_COMMAND,
    .closes_descriptors = true,
    .run = run,
};

int main(int argc, char **argv)
{
    companion_end_with_parent(); /* who keeps the time */
    return runner_main(&runner, argc, argv);
}
