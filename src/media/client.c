/* SPDX-License-Identifier: Apache-2.0 */
#include "media/client.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "isolate/errand.h"

enum { MEDIA_TIME_MS = 45 * 1000, READ_BYTES = 64 << 10 };

struct media_client {
    struct errand *errand;
    int64_t time_ms;
};

static const struct errand_config *set_config(const char *libexec, int error_fd, int64_t time_ms,
                                              struct errand_config *out_config)
{
    static const char *const image[] = {"gatehouse-media", "--job", "image", NULL};
    static const char *const document[] = {"gatehouse-media", "--job", "document", NULL};
    static const char *const text[] = {"gatehouse-media", "--job", "text", NULL};
    static const char *const *const jobs[MEDIA_JOB_END] = {
        [MEDIA_JOB_IMAGE] = image, [MEDIA_JOB_DOCUMENT] = document, [MEDIA_JOB_TEXT] = text};

    *out_config = (struct errand_config){.program = "gatehouse-media",
                                         .libexec = libexec,
                                         .jobs = jobs,
                                         .job_end = MEDIA_JOB_END,
                                         .error_fd = error_fd,
                                         .time_ms = time_ms};
    return out_config;
}

/* `config`: for a copy of this process; NULL: `fd` is the socket. */
static int start(const struct errand_config *config, int fd, int64_t time_ms,
                 struct media_client **out_client, struct err *err)
{
    struct media_client *client = calloc(1, sizeof(*client));
    int r;

    if (client == NULL) {
        cleanup_fd_(&fd);
        return err_set_plain(err, ERR_NO_MEMORY);
    }
    client->time_ms = time_ms;
    r = config != NULL ? errand_start(config, &client->errand, err)
                       : errand_open(fd, &client->errand, err);
    if (r < 0) {
        free(client);
        return r;
    }
    *out_client = client;
    return 0;
}

int media_client_start(const char *libexec, int error_fd, int64_t time_ms,
                       struct media_client **out_client, struct err *err)
{
    struct errand_config config;

    if (time_ms == 0)
        time_ms = MEDIA_TIME_MS;
    return start(set_config(libexec, error_fd, time_ms, &config), -1, time_ms, out_client, err);
}

int media_client_open(int fd, struct media_client **out_client, struct err *err)
{
    return start(NULL, fd, MEDIA_TIME_MS, out_client, err);
}

int media_serve(int fd, const char *libexec, int error_fd)
{
    struct errand_config config;

    return errand_serve(fd, set_config(libexec, error_fd, MEDIA_TIME_MS, &config));
}

void media_client_free(struct media_client *client)
{
    if (client == NULL)
        return;
    errand_free(client->errand);
    free(client);
}

bool media_client_is_lost(const struct media_client *client)
{
    return errand_is_lost(client->errand);
}

static int judge(const struct media_client *client, enum errand_end end, struct str bytes,
                 struct media_answer *out_answer, struct err *err)
{
    switch (end) {
    case ERRAND_ENDED_WELL:
        return media_read_answer(bytes, out_answer, err);
    case ERRAND_ENDED_BADLY:
        return err_set(err, ERR_MEDIA_LIMIT,
                       "working on it failed: it takes too much memory or time, or is damaged");
    case ERRAND_ENDED_OVERTIME:
        return err_set(err, ERR_MEDIA_LIMIT, "working on it takes longer than %lld seconds",
                       (long long)client->time_ms / 1000);
    case ERRAND_ENDED_NOT_STARTED:
        break;
    }
    return err_set(err, ERR_UNSUPPORTED, "gatehouse-media is not installed, or does not start");
}

int media_ask(struct media_client *client, enum media_job job, const struct media_request *request,
              const struct cancel *cancel, struct buf *space, struct media_answer *out_answer,
              struct err *err)
{
    cleanup_buf struct buf body = BUF_INIT(MEDIA_MAX_BYTES);
    enum errand_end end = ERRAND_ENDED_NOT_STARTED;
    int r = media_write_request(request, &body);

    if (r < 0)
        return err_set_plain(err, r);
    r = errand_ask(client->errand, (unsigned)job, buf_view(&body), cancel, space, &end, err);
    return r == 0 ? judge(client, end, buf_view(space), out_answer, err) : r;
}

void media_probe(struct media_client *client, struct media_abilities *out_abilities)
{
    static const enum media_job documents[] = {MEDIA_JOB_DOCUMENT, MEDIA_JOB_TEXT};
    cleanup_buf struct buf space = BUF_INIT(READ_BYTES);
    cleanup_free struct media_request *request = calloc(1, sizeof(*request));
    cleanup_free struct media_answer *answer = calloc(1, sizeof(*answer));

    *out_abilities = (struct media_abilities){0};
    if (request == NULL || answer == NULL)
        return;
    request->operation = MEDIA_PROBE;
    if (media_ask(client, MEDIA_JOB_IMAGE, request, NULL, &space, answer, NULL) == 0)
        out_abilities->formats = answer->total;
    out_abilities->has_documents = true;
    for (size_t i = 0; i < array_size(documents); i++) {
        buf_clear(&space);
        if (media_ask(client, documents[i], request, NULL, &space, answer, NULL) < 0)
            out_abilities->has_documents = false;
    }
}
