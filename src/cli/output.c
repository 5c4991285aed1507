/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/output.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/printable.h"
#include "cli/stop.h"

void output_done(struct output *output)
{
    buf_done(&output->text);
}

static bool is_over(const struct output *output)
{
    return output->error < 0 || output->has_no_reader || *output->stopped_by != 0;
}

static void keep(struct output *output, int r)
{
    if (r < 0 && output->error == 0)
        output->error = r;
}

static void fail(struct output *output, int errno_value)
{
    if (errno_value == EPIPE) {
        output->has_no_reader = true;
        return;
    }
    output->errno_value = errno_value;
    keep(output, err_from_errno(errno_value));
}

void output_flush(struct output *output)
{
    struct str text = buf_view(&output->text);

    while (text.len > 0 && !is_over(output)) {
        ssize_t written = write(output->fd, text.ptr, text.len);

        if (written >= 0)
            text = str_slice(text, (size_t)written, text.len);
        else if (errno == EAGAIN)
            /* Another process that has it open made it nonblocking. */
            (void)poll(&(struct pollfd){.fd = output->fd, .events = POLLOUT}, 1, -1);
        else if (errno != EINTR)
            fail(output, errno);
    }
    buf_clear(&output->text);
}

void output_str(struct output *output, struct str text)
{
    if (!is_over(output))
        keep(output, buf_append_str(&output->text, text));
}

void output_printf(struct output *output, const char *format, ...)
{
    va_list args;

    if (is_over(output))
        return;
    va_start(args, format);
    keep(output, buf_vprintf(&output->text, format, args));
    va_end(args);
}

void output_shown(struct output *output, struct str text, unsigned rule)
{
    if (!is_over(output))
        keep(output, printable_append(&output->text, text, rule));
}

void output_line_end(struct output *output)
{
    output_str(output, STR("\n"));
    if (output->text.len >= OUTPUT_FLUSH_BYTES)
        output_flush(output);
}

int output_finish(struct output *output, struct err *err)
{
    output_flush(output);
    if (output->error == 0)
        return 0;
    return err_set(err, output->error, "cannot write: %s",
                   output->errno_value != 0 ? err_errno_text(output->errno_value)
                                            : err_text(output->error));
}
