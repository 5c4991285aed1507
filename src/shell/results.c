/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by results. */
#include "shell/internal.h"

#include <stdio.h>
#include <string.h>

#include "shell/hint.h"

enum { HINT_BYTES = 8 << 10 };

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

int write_hint(struct json_writer *writer, const struct shell *shell, struct starter_end end,
               struct str command, struct str printed)
{
    const struct shell_sandbox *sandbox = &shell->config.sandbox;
    cleanup_buf struct buf hint = BUF_INIT(HINT_BYTES);
    int r = 0;

    if (end.error == 0 && end.is_signal)
        return 0;
    r = end.error == 0 && end.value == 0 ? hint_find_named(sandbox, command, printed, &hint)
                                         : hint_find(sandbox, printed, &hint);
    if (r == 0 && hint.len > 0)
        json_put_str(writer, STR("hint"), buf_view(&hint));
    return r;
}
