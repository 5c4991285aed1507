/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides what is recorded in which ring, at once or later, reserves space for outcomes, and
 * reports lost records.
 */
#include "authority/audit/internal.h"
#include "authority/internal.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

enum {
    MAX_PENDING = 256, /* intents with space reserved for their outcome */
    LINE_BYTES = AUDIT_MAX_RECORD_BYTES + 2,
    GATHERED_BYTES = 32 << 10, /* of buffered records that changed nothing */
};

struct pending {
    uint64_t request_id;
    size_t bytes;
    enum audit_kind kind; /* the ring where it is reserved */
};

struct audit_file {
    /* Operations run in several threads and each records for itself, so a lock is needed here. */
    pthread_mutex_t mutex;
    struct audit_ring rings[AUDIT_KINDS];
    uint64_t dropped; /* records that were lost and that no line tells of yet */
    struct audit_lines lines;
    bool gathers;
    struct audit_lines gathered; /* allocated once */
    bool has_gathered_step;      /* one of them is not merely the end of a call */
    const struct clock *clock;
    struct audit_origin origin;
    struct audit_intent intent;
    size_t pending_count;
    struct audit_flood flood;
    struct pending pending[MAX_PENDING]; /* oldest first */
};

static bool has_gathered(const struct audit_file *file)
{
    return file->gathered.text.len > 1;
}

/* What the last line reported but did not reach the file must be reported by another one. */
static int begin_line(struct audit_file *file)
{
    file->dropped += file->lines.carried;
    file->lines.carried = 0;
    buf_clear(&file->lines.text);
    return buf_append_char(&file->lines.text, '\n');
}

static int make_line_with(struct audit_file *file, const struct authority_event *event,
                          struct audit_extra extra)
{
    int r = begin_line(file);

    /*
     * Only the first of several buffered lines reports it; a brief one has no room reserved for it.
     */
    extra.origin = &file->origin;
    extra.intent = &file->intent;
    extra.dropped = extra.is_brief || has_gathered(file) ? 0 : file->dropped;
    if (r == 0)
        r = audit_write_record(event, &extra, &file->lines.text);
    if (r == 0)
        r = buf_append_char(&file->lines.text, '\n');
    if (r < 0)
        return r;
    file->dropped -= extra.dropped;
    file->lines.carried = extra.dropped;
    return 0;
}

static int make_line(struct audit_file *file, const struct authority_event *event)
{
    return make_line_with(file, event, (struct audit_extra){.is_brief = false});
}

static int append(struct audit_file *file, enum audit_kind kind, size_t later, bool is_promised)
{
    return audit_ring_append(&file->rings[kind], &file->lines, later, is_promised);
}

/* ---- Intents and their outcomes ---- */

/* Releases the reservation at this index. */
static struct pending forget_pending(struct audit_file *file, size_t index)
{
    struct pending pending = file->pending[index];

    file->rings[pending.kind].reserved -= pending.bytes;
    file->pending_count--;
    memmove(&file->pending[index], &file->pending[index + 1],
            (file->pending_count - index) * sizeof(file->pending[0]));
    return pending;
}

static const struct pending *find_pending(const struct audit_file *file, uint64_t request_id)
{
    for (size_t i = 0; i < file->pending_count; i++)
        if (file->pending[i].request_id == request_id)
            return &file->pending[i];
    return NULL;
}

static bool take_pending(struct audit_file *file, uint64_t request_id, struct pending *out_pending)
{
    for (size_t i = 0; i < file->pending_count; i++) {
        if (file->pending[i].request_id == request_id) {
            *out_pending = forget_pending(file, i);
            return true;
        }
    }
    return false;
}

static void add_pending(struct audit_file *file, struct pending pending)
{
    /* An intent that old has lost its outcome. */
    if (file->pending_count == MAX_PENDING)
        forget_pending(file, 0);
    file->pending[file->pending_count++] = pending;
    file->rings[pending.kind].reserved += pending.bytes;
}

/* ---- Gathering ---- */

static size_t count_lines(const char *text, size_t len)
{
    size_t count = 0;

    for (size_t i = 0; i < len; i++)
        count += text[i] == '\n';
    return count;
}

/* It starts with a newline, like all lines to be written; there is room. */
static void begin_gathering(struct audit_file *file)
{
    file->gathered.carried = 0;
    file->has_gathered_step = false;
    file->gathered.text.len = 1;
}

static void write_gathered(struct audit_file *file)
{
    if (!file->gathers || !has_gathered(file))
        return;
    if (audit_ring_append(&file->rings[AUDIT_READS], &file->gathered, 0, false) < 0)
        file->dropped += file->gathered.carried +
                         count_lines(file->gathered.text.data + 1, file->gathered.text.len - 1);
    begin_gathering(file);
}

/*
 * Before a change, so that what it read is in the log first. The end of an earlier call repeats
 * what its steps told and can wait: writing it here would double the writes of most changes.
 */
static void write_gathered_steps(struct audit_file *file)
{
    if (file->has_gathered_step)
        write_gathered(file);
}

/* Buffers the finished line. ERR_BUSY: the buffered lines must be written first. */
static int gather(struct audit_file *file, const struct authority_event *event)
{
    struct str line = str_slice(buf_view(&file->lines.text), 1, file->lines.text.len);
    int r;

    if (line.len > GATHERED_BYTES - file->gathered.text.len)
        return ERR_BUSY;
    r = buf_append_str(&file->gathered.text, line);
    if (r < 0)
        return r;
    file->has_gathered_step |= event->operation != AUTHORITY_OP_CALL;
    file->gathered.carried += file->lines.carried;
    file->lines.carried = 0;
    return 0;
}

static int record_gathered(struct audit_file *file, const struct authority_event *event)
{
    int r = make_line(file, event);

    if (r == 0)
        r = gather(file, event);
    if (r != ERR_BUSY)
        return r;
    /* Which needs the place where the line is. */
    write_gathered(file);
    r = make_line(file, event);
    if (r < 0)
        return r;
    return file->lines.text.len > GATHERED_BYTES ? append(file, AUDIT_READS, 0, false)
                                                 : gather(file, event);
}

/* ---- Floods ---- */

static int tell_flood(struct audit_file *file, const struct audit_flood_kind *kind)
{
    const struct authority_subject subject = {.type = kind->subject_type, .id = kind->subject_id};
    const struct authority_root root = {.kind = kind->root_kind, .id = kind->root_id};
    const struct authority_event event = {
        .wall_ms = clock_wall_ms(file->clock),
        .request_id = kind->request_id,
        .subject = &subject,
        .root = &root,
        .operation = kind->operation,
        .outcome = kind->outcome,
        .error = kind->error,
    };
    int r = make_line_with(file, &event, (struct audit_extra){.more = kind->more});

    return r == 0 ? append(file, AUDIT_CHANGES, 0, false) : r;
}

/* What cannot be reported now is reported later. */
static void tell_floods(struct audit_file *file, int64_t now_ms, bool is_end)
{
    struct audit_flood_kind *kind;

    while ((kind = audit_flood_to_tell(&file->flood, now_ms, is_end)) != NULL) {
        if (tell_flood(file, kind) < 0)
            return;
        kind->more = 0;
    }
}

/* ---- What is recorded where ---- */

static int record_intent(struct audit_file *file, const struct authority_event *event,
                         enum audit_kind kind)
{
    struct pending old;
    size_t later;
    int r = make_line(file, event);

    if (r < 0)
        return r;
    later = file->lines.text.len + AUDIT_OUTCOME_EXTRA_BYTES;
    r = append(file, kind, later, false);
    if (r < 0)
        return r;
    (void)take_pending(file, event->request_id, &old);
    add_pending(file, (struct pending){event->request_id, later, kind});
    return 0;
}

/*
 * Intents of operations that keep failing are recorded like reads, unless those cannot be recorded.
 */
static int record_any_intent(struct audit_file *file, const struct authority_event *event,
                             enum audit_kind *out_kind)
{
    *out_kind = AUDIT_READS;
    if (audit_flood_is_failing(&file->flood, event->operation, file->clock)) {
        write_gathered(file);
        if (record_intent(file, event, AUDIT_READS) == 0)
            return 0;
    }
    write_gathered_steps(file);
    *out_kind = AUDIT_CHANGES;
    return record_intent(file, event, AUDIT_CHANGES);
}

/* A grant changes what may be done. */
static bool is_about_change(enum authority_operation operation)
{
    return operation == AUTHORITY_OP_REQUEST_ROOT || operation_is_mutation(operation);
}

/* `promise` is NULL if there was no intent. */
static enum audit_kind kind_of_outcome(struct audit_file *file, const struct authority_event *event,
                                       const struct pending *promise)
{
    int64_t now_ms;

    /* The end of a call repeats what its steps told. */
    if (event->operation == AUTHORITY_OP_CALL)
        return AUDIT_READS;
    if (event->outcome != AUTHORITY_DENIED && !is_about_change(event->operation))
        return AUDIT_READS;
    if (event->outcome == AUTHORITY_SUCCESS)
        return AUDIT_CHANGES;
    now_ms = clock_monotonic_ms(file->clock);
    tell_floods(file, now_ms, false);
    if (promise != NULL)
        audit_flood_note_failed(&file->flood, event->operation, now_ms);
    /* An intent among the changes would look like one that was interrupted by a crash. */
    if (promise != NULL && promise->kind == AUDIT_CHANGES)
        return AUDIT_CHANGES;
    return audit_flood_admits(&file->flood, event, now_ms) ? AUDIT_CHANGES : AUDIT_READS;
}

static int record_outcome(struct audit_file *file, const struct authority_event *event,
                          enum audit_kind *out_kind)
{
    const struct pending *pending = find_pending(file, event->request_id);
    struct pending promise = {0};
    bool is_promised;
    enum audit_kind kind;
    int r;

    /* Space reserved for this one must not be used by others until it is written. */
    if (event->outcome != AUTHORITY_SUCCESS || (pending != NULL && pending->kind == AUDIT_READS))
        write_gathered(file);
    else if (is_about_change(event->operation))
        write_gathered_steps(file);
    kind = kind_of_outcome(file, event, pending);
    *out_kind = kind;
    is_promised = take_pending(file, event->request_id, &promise);
    if (kind == AUDIT_READS && file->gathers && event->outcome == AUTHORITY_SUCCESS)
        return record_gathered(file, event);
    r = make_line(file, event);
    if (r == 0)
        r = append(file, kind, 0, is_promised && promise.kind == kind);
    if (r == 0 || !is_promised)
        return r;
    *out_kind = promise.kind;
    r = promise.kind != kind ? make_line(file, event) : r;
    if (r == 0)
        r = append(file, promise.kind, 0, true);
    if (r < 0 && make_line_with(file, event, (struct audit_extra){.is_brief = true}) == 0)
        r = append(file, promise.kind, 0, true);
    return r;
}

static bool wants_sync(const struct audit_file *file, const struct authority_event *event)
{
    switch (file->rings[AUDIT_CHANGES].store.sync) {
    case AUDIT_SYNC_NEVER:
        return false;
    case AUDIT_SYNC_INTENTS:
        return event->outcome == AUTHORITY_INTENT;
    case AUDIT_SYNC_ALL:
        return true;
    }
    return true;
}

/* Without the lock: a disk is slow, and other records need not wait for it. */
static int sync_segment(struct audit_file *file, struct audit_segment *segment)
{
    int r = fdatasync(segment->fd) == 0 ? 0 : err_from_errno(errno);

    pthread_mutex_lock(&file->mutex);
    audit_segment_release(segment);
    pthread_mutex_unlock(&file->mutex);
    return r;
}

int audit_file_record(void *data, const struct authority_event *event)
{
    struct audit_file *file = data;
    struct audit_segment *to_sync = NULL;
    enum audit_kind kind;
    int r;

    if (event->outcome == AUTHORITY_NOTICED)
        return 0;
    pthread_mutex_lock(&file->mutex);
    r = event->outcome == AUTHORITY_INTENT ? record_any_intent(file, event, &kind)
                                           : record_outcome(file, event, &kind);
    if (r < 0 && event->outcome != AUTHORITY_INTENT)
        file->dropped++;
    if (r == 0 && wants_sync(file, event)) {
        to_sync = file->rings[kind].segment;
        to_sync->users++;
    }
    pthread_mutex_unlock(&file->mutex);
    if (to_sync != NULL)
        r = sync_segment(file, to_sync);
    return r == 0 || r == ERR_NO_SPACE ? r : ERR_AUDIT_UNAVAILABLE;
}

static void flush(struct audit_file *file, bool is_end)
{
    pthread_mutex_lock(&file->mutex);
    write_gathered(file);
    tell_floods(file, clock_monotonic_ms(file->clock), is_end);
    pthread_mutex_unlock(&file->mutex);
}

void audit_file_flush(struct audit_file *file)
{
    flush(file, false);
}

void audit_file_leave(struct audit_file *file)
{
    flush(file, true);
}

uint64_t audit_file_untold(struct audit_file *file)
{
    uint64_t untold;

    pthread_mutex_lock(&file->mutex);
    untold = file->dropped + file->lines.carried + file->gathered.carried;
    pthread_mutex_unlock(&file->mutex);
    return untold;
}

/* ---- Opening and closing ---- */

/* Closes what was already opened of *file. */
static void close_all(struct audit_file *file)
{
    for (unsigned kind = 0; kind < AUDIT_KINDS; kind++)
        audit_ring_close(&file->rings[kind]);
    buf_done(&file->lines.text);
    buf_done(&file->gathered.text);
}

int audit_file_open(const struct audit_config *config, struct audit_file **out_file,
                    struct err *err)
{
    cleanup_free struct audit_file *file = malloc(sizeof(*file));
    int r;

    if (file == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    /* What follows is large, and writing to it costs each start a page fault per page. */
    memset(file, 0, offsetof(struct audit_file, flood.kinds));
    buf_init(&file->lines.text, LINE_BYTES);
    buf_init(&file->gathered.text, GATHERED_BYTES);
    file->clock = config->clock != NULL ? config->clock : &clock_system;
    /* Buffering makes no sense if each record is synced. */
    file->gathers = config->gathers_reads && config->sync != AUDIT_SYNC_ALL;
    r = buf_reserve(&file->lines.text, LINE_BYTES);
    if (r == 0 && file->gathers)
        r = buf_reserve(&file->gathered.text, GATHERED_BYTES);
    if (r == 0 && file->gathers)
        r = buf_append_char(&file->gathered.text, '\n');
    if (r < 0)
        err_set_plain(err, r);
    for (unsigned kind = 0; r == 0 && kind < AUDIT_KINDS; kind++)
        r = audit_ring_open(&file->rings[kind], config, (enum audit_kind)kind, err);
    if (r < 0) {
        close_all(file);
        return r;
    }
    pthread_mutex_init(&file->mutex, NULL);
    *out_file = steal_ptr(&file);
    return 0;
}

void audit_file_close(struct audit_file *file)
{
    if (file == NULL)
        return;
    write_gathered(file);
    tell_floods(file, 0, true);
    close_all(file);
    pthread_mutex_destroy(&file->mutex);
    free(file);
}
