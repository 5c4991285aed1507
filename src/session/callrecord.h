/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of a tool call in the audit log: who called which tool on what, and how it ended. The
 * records of its steps have the same number. Its details are for `gatehouse report`: the beginning
 * of what changed and of what a command printed, with what looks like a secret left out.
 */
#ifndef SESSION_CALLRECORD_H
#define SESSION_CALLRECORD_H

#include <stdint.h>

#include "base/err.h"
#include "base/json.h"
#include "gatehouse/authority.h"
#include "protocol/catalog.h"

struct callrecord {
    struct authority_scope *scope;
    const struct catalog_tool *tool;
    const struct json_value *arguments;
    uint64_t number;
    struct str client;      /* as it names itself; may be empty */
    const char *decision;   /* what let it run; or NULL */
    const char *refused_by; /* what did not; or NULL */
    const struct err *err;  /* code 0: it succeeded */
    struct str result;      /* a whole CallToolResult; the output of a command is taken from it */
    struct str change;      /* what was done to contents, as a diff; may be empty */
    const char *answer;     /* of the user who was asked; or NULL */
    const char *const *variables; /* that commands were given: see environment_hide(); or NULL */
    int64_t took_ms;
};

void callrecord_write(const struct callrecord *record);

#endif
