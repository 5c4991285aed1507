/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/configfile.h"

#include "base/buf.h"
#include "cli/namedfile.h"

int configfile_read(struct option_values *values, struct err *err)
{
    cleanup_buf struct buf text = BUF_INIT(CONFIGFILE_MAX_BYTES);
    struct err why = ERR_INIT;

    for (size_t i = 0; i < values->command->option_count; i++) {
        const char *path;
        const char *refusal;

        if (!values->command->options[i].is_file)
            continue;
        path = options_text(values, i);
        if (path == NULL)
            return 0;
        refusal = namedfile_read(path, &text);
        if (refusal != NULL)
            return err_set(err, ERR_INVALID_OPTION, "%s: %s", path, refusal);
        if (options_read_file(values, buf_view(&text), &why) < 0)
            return err_set(err, why.code, "%s: %s", path, why.message);
    }
    return 0;
}
