/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/gatehouse/complain.h"

#include <stdio.h>

#include "base/printable.h"

enum { WORDS_BYTES = 16 << 10 };

void complain(const char *title, const char *words)
{
    cleanup_buf struct buf shown = BUF_INIT(WORDS_BYTES);

    (void)printable_append(&shown, str_from(words), PRINTABLE_LINE);
    fprintf(stderr, "%s: %.*s\n", title, (int)shown.len, shown.len > 0 ? shown.data : "");
}
