/* SPDX-License-Identifier: Apache-2.0 */
#include "session/serveraudit.h"

#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"

enum { NAME_BYTES = 128 };

int serveraudit_open(struct serveraudit *audit, const char *path, enum audit_sync sync,
                     struct err *err)
{
    int r = audit_dir_open(path, &audit->dir_fd, err);
    const struct audit_config config = {
        .dir_fd = audit->dir_fd,
        .name = "audit.jsonl",
        /* Nothing here has an intent: what it records has changed, or was refused. */
        .sync = sync == AUDIT_SYNC_INTENTS ? AUDIT_SYNC_ALL : sync,
    };

    return r < 0 ? r : audit_file_open(&config, &audit->file, err);
}

void serveraudit_close(struct serveraudit *audit)
{
    if (audit->file != NULL)
        audit_file_close(audit->file);
    if (audit->dir_fd >= 0)
        close(audit->dir_fd);
    *audit = (struct serveraudit)SERVERAUDIT_INIT;
}

void serveraudit_write(struct serveraudit *audit, const struct serveraudit_note *note)
{
    char user[NAME_BYTES];
    const struct authority_subject subject = {.type = note->user.len > 0 ? AUTHORITY_USER
                                                                         : AUTHORITY_CORE,
                                              .id = note->user.len > 0 ? user : "server"};
    const struct authority_root root = {
        .kind = AUTHORITY_SECRET, .id = "server", .display_name = subject.id};
    /* As if it were a call: the table shows who, where and what in the same columns. */
    const struct authority_call call = {.tool = authority_operation_name(note->operation),
                                        .client = note->from};
    const struct authority_event event = {
        .wall_ms = clock_wall_ms(&clock_system),
        .request_id = ++audit->last_id,
        .subject = &subject,
        .root = &root,
        .name = str_slice(note->what, 0, PATH_MAX - 1),
        .operation = note->operation,
        .outcome = note->error < 0 ? AUTHORITY_DENIED : AUTHORITY_SUCCESS,
        .error = note->error,
        .call = &call,
        .policy_source = note->how,
        .reason = note->words,
    };

    if (audit->file == NULL)
        return;
    snprintf(user, sizeof(user), "%.*s", STR_ARG(note->user));
    (void)audit_file_record(audit->file, &event);
}
