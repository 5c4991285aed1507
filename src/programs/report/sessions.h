/* SPDX-License-Identifier: Apache-2.0 */
/* The sessions that the audit log knows of. */
#ifndef PROGRAMS_REPORT_SESSIONS_H
#define PROGRAMS_REPORT_SESSIONS_H

#include "cli/output.h"
#include "gatehouse/audit.h"

enum {
    SESSIONS_SHOWN = 50,
    SESSIONS_ID_BYTES = 128,
};

/* The last one with a call; ERR_NOT_FOUND if there is none. */
int sessions_find_last(struct audit_reader *reader, char out_id[SESSIONS_ID_BYTES],
                       struct err *err);

/* The last SESSIONS_SHOWN as a table, newest first. */
int sessions_list(struct audit_reader *reader, struct output *output, struct err *err);

#endif
