/* SPDX-License-Identifier: Apache-2.0 */
#include "command/output.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/utf8.h"

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

static void flush(struct output *output)
{
    struct str text = buf_view(&output->text);

    while (text.len > 0 && !is_over(output)) {
        ssize_t written = write(output->fd, text.ptr, text.len);

        if (written >= 0)
            text = str_slice(text, (size_t)written, text.len);
        else if (errno == EAGAIN)
            /* Somebody else who has it open wants it so. */
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

int output_show(struct str text, struct buf *out)
{
    int r = 0;

    while (text.len > 0 && r == 0) {
        unsigned char first = (unsigned char)text.ptr[0];
        struct str before = text;
        uint32_t code_point;

        if (!utf8_next(&text, &code_point))
            r = buf_printf(out, "\\x%02x", first);
        else if (code_point != '\t' && !utf8_is_printable(code_point))
            r = buf_printf(out, code_point > 0xFFFF ? "\\u{%x}" : "\\u%04x", (unsigned)code_point);
        else
            r = buf_append_str(out, str_slice(before, 0, before.len - text.len));
    }
    return r;
}

void output_shown(struct output *output, struct str text)
{
    if (!is_over(output))
        keep(output, output_show(text, &output->text));
}

bool output_wants_colour(int fd)
{
    const char *no_colour = getenv("NO_COLOR");
    const char *terminal = getenv("TERM");

    return isatty(fd) && (no_colour == NULL || *no_colour == '\0') &&
           (terminal == NULL || strcmp(terminal, "dumb") != 0);
}

void output_line_end(struct output *output)
{
    output_str(output, STR("\n"));
    if (output->text.len >= OUTPUT_FLUSH_BYTES)
        flush(output);
}

int output_finish(struct output *output)
{
    flush(output);
    return output->error;
}
