/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by results. */
#include "shell/internal.h"

#include <stdio.h>
#include <string.h>

const char *signal_name(int signum, char out_name[SIGNAL_NAME_BYTES])
{
    const char *known = sigabbrev_np(signum);

    if (known != NULL)
        snprintf(out_name, SIGNAL_NAME_BYTES, "%s", known);
    else
        snprintf(out_name, SIGNAL_NAME_BYTES, "%d", signum);
    return out_name;
}

void write_end(struct json_writer *writer, struct starter_end end)
{
    char name[SIGNAL_NAME_BYTES];

    json_key(writer, STR("exitCode"));
    if (end.error < 0 || end.is_signal)
        json_write_null(writer);
    else
        json_write_int(writer, end.value);
    if (end.error == 0 && end.is_signal)
        json_put_str(writer, STR("signal"), str_from(signal_name(end.value, name)));
}
