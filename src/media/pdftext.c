/* SPDX-License-Identifier: Apache-2.0 */
#include "media/pdftext.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/utf8.h"
#include "isolate/box/box.h"
#include "isolate/helper.h"
#include "media/pdf.h"

#define PROGRAM "/usr/bin/pdftotext"

enum {
    TEXT_BYTES = 16 << 20,
    READ_BYTES = 64 << 10,
    NUMBER_BYTES = 16,
    PROCESSES = 16,
    SCRATCH_BYTES = 16 << 20,
};
#define MEMORY_BYTES (UINT64_C(512) << 20)

/* Its pipes: `theirs` are what it reads and writes. */
struct pipes {
    int ours[2];
    int theirs[2];
};

static void close_pipes(const struct pipes *pipes)
{
    for (size_t i = 0; i < 2; i++) {
        if (pipes->ours[i] >= 0)
            close(pipes->ours[i]);
        if (pipes->theirs[i] >= 0)
            close(pipes->theirs[i]);
    }
}

static int open_pipes(struct pipes *pipes)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) < 0)
        return err_from_errno(errno);
    pipes->theirs[0] = ends[0];
    pipes->ours[0] = ends[1];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return err_from_errno(errno);
    pipes->ours[1] = ends[0];
    pipes->theirs[1] = ends[1];
    return fcntl(pipes->ours[0], F_SETFL, O_WRONLY | O_NONBLOCK) < 0 ? err_from_errno(errno) : 0;
}

/* Writes the document and reads the text, until it closes. */
static int carry(struct pipes *pipes, struct str document, struct buf *text)
{
    while (true) {
        struct pollfd ready[2] = {
            {.fd = pipes->ours[0], .events = POLLOUT},
            {.fd = pipes->ours[1], .events = POLLIN},
        };
        char bytes[READ_BYTES];
        ssize_t n;

        if (poll(ready, 2, -1) < 0)
            continue;
        if (ready[0].revents != 0) {
            n = write(pipes->ours[0], document.ptr, document.len);
            if (n > 0)
                document = str_slice(document, (size_t)n, document.len);
            if (document.len == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
                close(steal_fd(&pipes->ours[0]));
        }
        if (ready[1].revents == 0)
            continue;
        n = read(pipes->ours[1], bytes, sizeof(bytes));
        if (n <= 0)
            return n == 0 ? 0 : err_from_errno(errno);
        if (buf_append(text, bytes, (size_t)n) < 0)
            return ERR_TOO_LARGE;
    }
}

static int start(const struct media_range *range, const struct pipes *pipes,
                 struct box_process *out_process, struct err *err)
{
    static const char *const environment[] = {"PATH=/usr/bin:/bin", "HOME=/tmp", "TMPDIR=/tmp",
                                              "LC_ALL=C.UTF-8", NULL};
    const struct box_plan plan = {
        .limits = {.memory_bytes = MEMORY_BYTES, .processes_unasked = PROCESSES},
        .tmp_bytes = SCRATCH_BYTES,
    };
    char first[NUMBER_BYTES];
    char last[NUMBER_BYTES];
    const char *words[] = {PROGRAM, "-q", "-enc", "UTF-8", "-f", first, "-l", last, "-", "-", NULL};
    const struct box_command command = {
        .argv = words,
        .env = environment,
        .cwd = "/tmp",
        .fds = {pipes->theirs[0], pipes->theirs[1], BOX_FD_NULL},
    };
    cleanup_box struct box *box = NULL;
    int r;

    snprintf(first, sizeof(first), "%u", range->first);
    snprintf(last, sizeof(last), "%u", range->last);
    if (range->last == 0) { /* to the end: without -l */
        words[6] = "-";
        words[7] = "-";
        words[8] = NULL;
    }
    r = box_new(&plan, &box, err);
    return r == 0 ? box_start(box, &command, out_process, err) : r;
}

static int run(const struct media_range *range, struct str document, struct buf *text,
               struct err *err)
{
    struct pipes pipes = {{-1, -1}, {-1, -1}};
    struct box_process process = BOX_PROCESS_INIT;
    struct box_end end;
    int r = open_pipes(&pipes);

    if (r < 0)
        err_set_plain(err, r);
    else if (start(range, &pipes, &process, err) < 0)
        r = ERR_UNSUPPORTED;
    if (r == 0) {
        close(steal_fd(&pipes.theirs[0]));
        close(steal_fd(&pipes.theirs[1]));
        r = carry(&pipes, document, text);
        if (r < 0)
            (void)box_signal(&process, SIGKILL);
        box_finish(&process, &end);
        if (r == ERR_TOO_LARGE)
            r = err_set(err, ERR_MEDIA_LIMIT, "the text has more than %d bytes", TEXT_BYTES);
        else if (r == 0 && end.ran_out)
            r = err_set(err, ERR_MEDIA_LIMIT, "it takes too much memory");
        else if (r == 0 && (!end.is_known || end.is_signal || end.value != 0))
            r = err_set(err, ERR_MEDIA_FORMAT,
                        "pdftotext finds no document in it that it can read");
    }
    close_pipes(&pipes);
    return r;
}

/* What is not UTF-8 would be no answer in JSON. */
static void make_valid(struct buf *text)
{
    size_t at = 0;

    while (at < text->len) {
        at += utf8_valid_length((struct str){text->data + at, text->len - at});
        if (at < text->len)
            text->data[at++] = '?';
    }
}

int pdftext_work(const struct media_request *request, struct buf *space,
                 struct media_answer *out_answer, struct err *err)
{
    static const struct media_range all = {.first = 1};
    bool is_probe = request->operation == MEDIA_PROBE;
    struct str document = is_probe ? pdf_sample : request->inputs[0];
    int r;

    if (!helper_is_installed(PROGRAM))
        return err_set(err, ERR_UNSUPPORTED,
                       "the text of PDF documents needs pdftotext, which is not installed (package "
                       "poppler-utils)");
    if (!str_starts_with(document, STR("%PDF-")))
        return err_set(err, ERR_MEDIA_FORMAT, "it is no PDF document");
    space->max = TEXT_BYTES;
    r = run(is_probe ? &all : &request->ranges[0], document, space, err);
    if (r < 0)
        return r;
    if (is_probe && str_find(buf_view(space), STR(PDF_SAMPLE_WORD)) == SIZE_MAX)
        return err_set(err, ERR_UNSUPPORTED, "pdftotext does not work here");
    make_valid(space);
    out_answer->output_count = 1;
    out_answer->outputs[0] = buf_view(space);
    return 0;
}
