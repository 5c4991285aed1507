/* SPDX-License-Identifier: Apache-2.0 */
#include "transfer/client.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "isolate/errand.h"

enum {
    TIME_MS = 45 * 1000,
    PROBE_BYTES = 64 << 10,
    MAX_WORDS = 2 * TRANSFER_MAX_HOSTS + 10,
    JOB = 1,
    JOB_END,
    MAX_ASKING = 4, /* more would hold all threads of a program that has other work */
};

#define PROGRAM "gatehouse-transfer"

struct transfer_client {
    struct errand *errand;
    atomic_uint asking;
};

/* The command line of the program, the same for each request. */
static void fill_words(const struct transfer_config *config, const char *words[MAX_WORDS])
{
    const struct {
        const char *name;
        const char *value;
    } single[] = {{"--known-hosts", config->known_hosts},
                  {"--credentials", config->credentials},
                  {"--tenant", config->tenant}};
    size_t count = 0;

    words[count++] = PROGRAM;
    for (size_t i = 0; i < config->host_count && i < TRANSFER_MAX_HOSTS; i++) {
        words[count++] = "--host";
        words[count++] = config->hosts[i];
    }
    for (size_t i = 0; i < array_size(single); i++)
        if (single[i].value != NULL) {
            words[count++] = single[i].name;
            words[count++] = single[i].value;
        }
    words[count] = NULL;
}

int transfer_client_start(const struct transfer_config *config, struct transfer_client **out_client,
                          struct err *err)
{
    const char *words[MAX_WORDS];
    const char *const *const jobs[JOB_END] = {[JOB] = words};
    const struct errand_config how = {.program = PROGRAM,
                                      .libexec = config->libexec,
                                      .jobs = jobs,
                                      .job_end = JOB_END,
                                      .error_fd = config->error_fd,
                                      .time_ms = TIME_MS};
    struct transfer_client *client = calloc(1, sizeof(*client));
    int r;

    if (client == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    fill_words(config, words);
    r = errand_start(&how, &client->errand, err);
    if (r < 0) {
        free(client);
        return r;
    }
    *out_client = client;
    return 0;
}

void transfer_client_free(struct transfer_client *client)
{
    if (client == NULL)
        return;
    errand_free(client->errand);
    free(client);
}

bool transfer_client_is_lost(const struct transfer_client *client)
{
    return errand_is_lost(client->errand);
}

static int judge(enum errand_end end, struct str bytes, struct transfer_answer *out_answer,
                 struct err *err)
{
    switch (end) {
    case ERRAND_ENDED_WELL:
        return transfer_read_answer(bytes, out_answer, err);
    case ERRAND_ENDED_BADLY:
        return err_set(err, ERR_TRANSFER_FAILED, "the transfer took too much memory");
    case ERRAND_ENDED_OVERTIME:
        return err_set(err, ERR_TIMED_OUT, "the transfer takes longer than %d seconds",
                       TIME_MS / 1000);
    case ERRAND_ENDED_NOT_STARTED:
        break;
    }
    return err_set(err, ERR_UNSUPPORTED, PROGRAM " is not installed");
}

int transfer_ask(struct transfer_client *client, const struct transfer_request *request,
                 const struct cancel *cancel, struct buf *space, struct transfer_answer *out_answer,
                 struct err *err)
{
    cleanup_buf struct buf body = BUF_INIT(TRANSFER_MAX_BYTES);
    enum errand_end end = ERRAND_ENDED_NOT_STARTED;
    int r = transfer_write_request(request, &body);

    if (r < 0)
        return err_set_plain(err, r);
    if (atomic_fetch_add(&client->asking, 1) < MAX_ASKING)
        r = errand_ask(client->errand, JOB, buf_view(&body), cancel, space, &end, err);
    else
        r = err_set(err, ERR_BUSY, "other transfers are waiting; try again later");
    atomic_fetch_sub(&client->asking, 1);
    return r == 0 ? judge(end, buf_view(space), out_answer, err) : r;
}

bool transfer_probe(struct transfer_client *client, enum transfer_protocol protocol)
{
    const struct transfer_request request = {.operation = TRANSFER_PROBE, .protocol = protocol};
    cleanup_buf struct buf space = BUF_INIT(PROBE_BYTES);
    cleanup_free struct transfer_answer *answer = calloc(1, sizeof(*answer));

    return answer != NULL && transfer_ask(client, &request, NULL, &space, answer, NULL) == 0;
}
