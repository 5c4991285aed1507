/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gatehouse-media: does one request about an image or a document, and exits. The libraries that
 * read those meet them only after this process has confined itself; pdftotext has a sandbox.
 * With --job serve it starts such a process for each request of a program that cannot.
 */
#include <malloc.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/media.h"
#include "cli/runner.h"
#include "isolate/companion.h"
#include "isolate/confine.h"
#include "media/client.h"
#include "media/image.h"
#include "media/pdf.h"
#include "media/pdftext.h"

enum { MAX_CPU_S = 90, MAX_ARENAS = 2 };
#define MAX_MEMORY_BYTES (UINT64_C(1) << 30)

static const struct job {
    int (*open)(struct err *err); /* or NULL: nothing of it is read in this process */
    int (*work)(const struct media_request *request, struct buf *space,
                struct media_answer *out_answer, struct err *err);
} jobs[] = {
    {image_open, image_work},
    {pdf_open, pdf_work},
    {NULL, pdftext_work},
};

/* In the order of the option's words; the next word is for media_serve(). */
static enum media_job job_number(size_t index)
{
    return (enum media_job)(MEDIA_JOB_IMAGE + index);
}

static int confine(struct err *err)
{
    const struct confine_plan plan = {
        .has_closed_fds = true, .max_memory_bytes = MAX_MEMORY_BYTES, .max_cpu_s = MAX_CPU_S};
    struct confine_report report;

    return confine_process(&plan, &report, err);
}

static int work(const struct job *job, enum media_job number, struct str bytes, struct buf *space,
                struct media_answer *out_answer, struct err *err)
{
    cleanup_free struct media_request *request = malloc(sizeof(*request));
    int r;

    if (request == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    r = media_read_request(bytes, request, err);
    if (r == 0 && request->operation != MEDIA_PROBE && media_job_of(request->operation) != number)
        r = err_set(err, ERR_INVALID_ARGUMENT, "the request is one of another job");
    return r == 0 ? job->work(request, space, out_answer, err) : r;
}

static int serve(const struct job *job, enum media_job number, struct err *err)
{
    cleanup_buf struct buf bytes = BUF_INIT(MEDIA_MAX_BYTES + COMPANION_READ_BYTES);
    cleanup_buf struct buf space = BUF_INIT(MEDIA_MAX_BYTES);
    cleanup_buf struct buf body = BUF_INIT(MEDIA_MAX_BYTES);
    cleanup_free struct media_answer *answer = calloc(1, sizeof(*answer));
    struct err why = ERR_INIT;
    int r = job->open != NULL ? job->open(&why) : 0;

    /* Also without its library: then it says so when it is asked. */
    if (answer == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    if (job->open != NULL && confine(err) < 0)
        /* cppcheck-suppress memleak ; it is freed by its cleanup */
        return err->code;
    if (companion_receive(&bytes) < 0)
        /* cppcheck-suppress memleak ; the same */
        return err_set(err, ERR_CONNECTION_LOST, "the request did not arrive");
    if (r == 0)
        r = work(job, number, buf_view(&bytes), &space, answer, &why);
    if (r == 0)
        r = media_write_answer(answer, &body);
    else
        r = media_write_error(&why, &body);
    if (r == 0)
        r = companion_send(buf_view(&body));
    return r < 0 ? err_set_plain(err, r) : 0;
}

static int run(const struct option_values *values, struct arena *arena, struct err *err)
{
    const int kept[] = {STDERR_FILENO, COMPANION_FD};
    size_t index = (size_t)options_choice(values, MEDIA_OPTION_JOB);
    int r = confine_close_fds(kept, array_size(kept), err);

    (void)arena;
    if (r == 0 && index == array_size(jobs))
        _exit(media_serve(COMPANION_FD, GATEHOUSE_LIBEXECDIR, STDERR_FILENO));
    /* Threads that share a few heaps: the address space has a limit. */
    mallopt(M_ARENA_MAX, MAX_ARENAS);
    if (r == 0)
        r = serve(&jobs[index], job_number(index), err);
    if (r == 0)
        _exit(EXIT_SUCCESS); /* without the ends of libraries and their threads */
    return r;
}

static int check_options(const struct option_values *values, struct err *err)
{
    if (options_text(values, MEDIA_OPTION_JOB) == NULL)
        return err_set(err, ERR_INVALID_OPTION, "--job is missing");
    return 0;
}

static const struct runner runner = {
    .program = MEDIA_PROGRAM,
    .title = MEDIA_PROGRAM,
    .see = "gatehouse-media(8)",
    .command = MEDIA_COMMAND,
    .closes_descriptors = true,
    .check = check_options,
    .run = run,
};

int main(int argc, char **argv)
{
    companion_follow_parent();
    return runner_main(&runner, argc, argv);
}
