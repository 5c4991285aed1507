/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts refusals. A client can be refused thousands of times a second, and each kind of refusal
 * may be recorded a few times per interval among the changes; of the rest only the number is kept
 * there.
 */
#include "authority/audit/internal.h"

#include <string.h>

/* Copies what a record would show. */
static void copy_text(const char *text, char out_text[AUDIT_TEXT_BYTES + 1])
{
    size_t len = text != NULL ? strnlen(text, AUDIT_TEXT_BYTES) : 0;

    if (len > 0)
        memcpy(out_text, text, len);
    out_text[len] = '\0';
}

static bool is_over(int64_t begun_ms, int64_t now_ms)
{
    return now_ms - begun_ms >= AUDIT_FLOOD_MS;
}

static bool is_of_kind(const struct audit_flood_kind *kind, const struct authority_event *event)
{
    return kind->operation == event->operation && kind->error == event->error &&
           kind->outcome == event->outcome && kind->subject_type == event->subject->type &&
           strncmp(kind->subject_id, event->subject->id != NULL ? event->subject->id : "",
                   AUDIT_TEXT_BYTES) == 0;
}

static void note(struct audit_flood_kind *kind, const struct authority_event *event)
{
    kind->operation = event->operation;
    kind->error = event->error;
    kind->outcome = event->outcome;
    kind->subject_type = event->subject->type;
    copy_text(event->subject->id, kind->subject_id);
    kind->root_kind = event->root->kind;
    copy_text(event->root->id, kind->root_id);
    kind->request_id = event->request_id;
}

/* An entry whose time is over, with nothing left to report, is free. */
static bool is_free(const struct audit_flood_kind *kind, int64_t now_ms)
{
    return kind->more == 0 && (kind->seen == 0 || is_over(kind->begun_ms, now_ms));
}

static struct audit_flood_kind *find_kind(struct audit_flood *flood,
                                          const struct authority_event *event, int64_t now_ms)
{
    const size_t shared = AUDIT_FLOOD_KINDS - 1;
    const size_t count = flood->initialised < shared ? flood->initialised : shared;
    struct audit_flood_kind *found = NULL;

    for (size_t i = count; i > 0; i--) {
        struct audit_flood_kind *kind = &flood->kinds[i - 1];

        if (is_free(kind, now_ms))
            found = kind;
        else if (is_of_kind(kind, event))
            return kind;
    }
    /* Those that do not fit share the last entry. */
    if (found == NULL)
        found = &flood->kinds[count];
    if (found == &flood->kinds[flood->initialised]) {
        *found = (struct audit_flood_kind){0};
        flood->initialised++;
    }
    if (is_free(found, now_ms)) {
        found->seen = 0;
        found->begun_ms = now_ms;
        note(found, event);
    }
    return found;
}

bool audit_flood_admits(struct audit_flood *flood, const struct authority_event *event,
                        int64_t now_ms)
{
    struct audit_flood_kind *kind = find_kind(flood, event, now_ms);

    if (kind->seen < AUDIT_FLOOD_FIRST) {
        kind->seen++;
        return true;
    }
    note(kind, event);
    kind->more++;
    return false;
}

void audit_flood_note_failed(struct audit_flood *flood, enum authority_operation operation,
                             int64_t now_ms)
{
    struct audit_flood_failing *failing = &flood->failing[operation];

    if (failing->count == 0 || is_over(failing->begun_ms, now_ms))
        *failing = (struct audit_flood_failing){.begun_ms = now_ms};
    failing->count++;
}

bool audit_flood_is_failing(const struct audit_flood *flood, enum authority_operation operation,
                            const struct clock *clock)
{
    const struct audit_flood_failing *failing = &flood->failing[operation];

    return failing->count >= AUDIT_FLOOD_FIRST &&
           !is_over(failing->begun_ms, clock_monotonic_ms(clock));
}

struct audit_flood_kind *audit_flood_to_tell(struct audit_flood *flood, int64_t now_ms, bool is_end)
{
    for (size_t i = 0; i < flood->initialised; i++) {
        struct audit_flood_kind *kind = &flood->kinds[i];

        if (kind->more > 0 && (is_end || is_over(kind->begun_ms, now_ms)))
            return kind;
    }
    return NULL;
}
