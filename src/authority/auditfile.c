/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A record is one write() to a file opened for appending, which other processes
 * may append to at the same time. What could go wrong with that is looked at
 * around the write, with no lock between processes: whether the file is still
 * the current one, and whether the line before has its end.
 */
#include "authority/audit_internal.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

enum {
    MAX_PENDING = 256, /* intents whose outcome has its space waiting */
    MAX_ATTEMPTS = 16, /* against files that vanish and lines that others tear */
    LINE_BYTES = AUDIT_MAX_RECORD_BYTES + 2,
    GATHERED_BYTES = 32 << 10, /* of records that changed nothing, before they are written */
};
#define END_UNKNOWN UINT64_MAX

/* A file with those who still use it: a thread may be syncing it while another moves on. */
struct segment {
    int fd;
    unsigned users;
};

struct pending {
    uint64_t request_id;
    size_t bytes;
};

struct audit_file {
    /* Operations run in several threads and each records for itself, so there is a lock here. */
    pthread_mutex_t mutex;
    struct audit_store store;
    struct segment *segment;
    uint64_t expected_end; /* of the file, if nobody else has written; its last line is whole */
    uint64_t rotate_at;
    size_t credit;    /* leased bytes that were not written yet */
    size_t reserved;  /* of those, promised to outcomes */
    uint64_t dropped; /* records that were lost and that no line tells of yet */
    struct buf line;  /* a line end, then lines that are to be written; allocated once */
    uint64_t carried; /* lost records that the first of those lines tells of */
    bool gathers;
    struct buf gathered;       /* whole lines; allocated once */
    uint64_t gathered_carried; /* lost records that the first of those tells of */
    size_t pending_count;
    struct pending pending[MAX_PENDING]; /* oldest first */
};

static void segment_release(struct segment *segment)
{
    segment->users--;
    if (segment->users > 0)
        return;
    close(segment->fd);
    free(segment);
}

/* Takes the fd, also when it fails. */
static struct segment *segment_new(int fd)
{
    struct segment *segment = malloc(sizeof(*segment));

    if (segment == NULL) {
        close(fd);
        return NULL;
    }
    *segment = (struct segment){.fd = fd, .users = 1};
    return segment;
}

/* ---- Space ---- */

static size_t spare(const struct audit_file *file)
{
    return file->credit > file->reserved ? file->credit - file->reserved : 0;
}

static void use_segment(struct audit_file *file, struct segment *segment, size_t credit)
{
    file->segment = segment;
    file->credit = credit;
    file->expected_end = END_UNKNOWN;
    file->rotate_at = file->store.max_bytes;
}

/* Moves to the current file, with room for what was promised and for `need` bytes. */
static int move_on(struct audit_file *file, size_t need)
{
    struct segment *segment;
    size_t credit = 0;
    int fd = -1;
    int r = audit_store_open_current(&file->store, &fd);

    if (r < 0)
        return r;
    segment = segment_new(fd);
    if (segment == NULL)
        return ERR_NO_MEMORY;
    r = audit_store_lease(&file->store, fd, file->reserved + need, &credit);
    if (r < 0) {
        segment_release(segment);
        return r;
    }
    audit_store_trim(file->segment->fd);
    segment_release(file->segment);
    use_segment(file, segment, credit);
    return 0;
}

static int extend(struct audit_file *file, size_t need)
{
    size_t credit = 0;
    int r = audit_store_lease(&file->store, file->segment->fd, need - spare(file), &credit);

    if (r == 0)
        file->credit += credit;
    return r;
}

/* A file that cannot be rotated goes on growing, but not for ever. */
static int rotate(struct audit_file *file, size_t need, uint64_t size)
{
    int r = audit_store_rotate(&file->store, file->segment->fd, file->reserved + need);

    if (r == 0)
        return move_on(file, need);
    if (size + need > 2 * file->store.max_bytes)
        return r;
    file->rotate_at = size + AUDIT_CHUNK_BYTES;
    return spare(file) < need ? extend(file, need) : 0;
}

static int settle(struct audit_file *file, size_t need, uint64_t size)
{
    int r = audit_store_lock(&file->store);

    if (r < 0)
        return r;
    if (!audit_store_is_current(&file->store, file->segment->fd))
        r = move_on(file, need);
    else if (size > 0 && size + need > file->rotate_at)
        r = rotate(file, need, size);
    else if (spare(file) < need)
        r = extend(file, need);
    audit_store_unlock(&file->store);
    return r;
}

/* What is asked around every write. */
struct look {
    uint64_t size;
    unsigned names;
    bool is_sealed;
};

/*
 * statx() and not fstat(), which also asks for the times: a kernel that hands out
 * fine ones then has to write a new one to the inode with every record.
 */
static int look_at_file(const struct audit_file *file, struct look *out_look)
{
    struct statx about;

    if (statx(file->segment->fd, "", AT_EMPTY_PATH, STATX_SIZE | STATX_NLINK | STATX_MODE, &about) <
        0)
        return err_from_errno(errno);
    *out_look = (struct look){
        .size = about.stx_size,
        .names = about.stx_nlink,
        .is_sealed = (about.stx_mode & S_IWUSR) == 0,
    };
    return 0;
}

/* Sees to it that the file is the right one and has room; *out_size is set in any case. */
static int prepare(struct audit_file *file, size_t need, uint64_t *out_size)
{
    struct look look = {.size = 0};
    int r = look_at_file(file, &look);
    int again;

    *out_size = look.size;
    if (r < 0)
        return r;
    if (look.names == 1 && !look.is_sealed && spare(file) >= need &&
        (look.size == 0 || look.size + need <= file->rotate_at))
        return 0;
    r = settle(file, need, look.size);
    again = look_at_file(file, &look);
    *out_size = look.size;
    return r < 0 ? r : again;
}

/* ---- Writing ---- */

static bool ends_line(int fd, uint64_t end)
{
    char last = 0;

    return end == 0 || (pread(fd, &last, 1, (off_t)(end - 1)) == 1 && last == '\n');
}

static ssize_t write_once(int fd, const char *bytes, size_t len)
{
    ssize_t written;

    do {
        written = write(fd, bytes, len);
    } while (written < 0 && errno == EINTR);
    return written;
}

/*
 * Only a beginning was written. Others may have appended behind it, so it cannot
 * be cut off; with its line ended it is a line that every reader skips.
 */
static int end_torn_line(struct audit_file *file)
{
    if (write_once(file->segment->fd, "\n", 1) < 0)
        return err_from_errno(errno);
    file->credit -= file->credit > 0;
    return 0;
}

/*
 * Everything before `end` was written: lines that are whole in the file go from
 * what is still to be written. The first does not count if it continued a torn one.
 */
static void take_written(struct audit_file *file, size_t end, bool is_first_spoilt)
{
    char *text = file->line.data;
    const char *first_end = memchr(text + 1, '\n', file->line.len - 1);
    const char *last_end = memrchr(text, '\n', end);
    size_t from = is_first_spoilt ? (size_t)(first_end - text) + 1 : 1;
    size_t until = (size_t)(last_end - text) + 1;

    if (until <= from)
        return;
    memmove(text + from, text + until, file->line.len - until);
    file->line.len -= until - from;
    if (!is_first_spoilt)
        file->carried = 0;
}

/*
 * Appends the lines. What is not whole in the file afterwards, because somebody
 * else's torn line came in between and ours continues that, or because the file
 * was removed, is left in file->line and must be written again.
 */
static int write_lines(struct audit_file *file, uint64_t size)
{
    int fd = file->segment->fd;
    const char *text = file->line.data;
    bool leads = size != file->expected_end && !ends_line(fd, size);
    size_t start = leads ? 0 : 1;
    size_t len = file->line.len - start;
    ssize_t written = write_once(fd, text + start, len);
    struct look look = {.size = 0};
    bool is_first_spoilt = false;
    bool is_torn;
    off_t end;
    size_t stop;
    int r;

    if (written <= 0)
        return written < 0 ? err_from_errno(errno) : ERR_IO;
    file->credit -= (size_t)written < file->credit ? (size_t)written : file->credit;
    file->expected_end = END_UNKNOWN;
    stop = start + (size_t)written;
    is_torn = text[stop - 1] != '\n';
    r = look_at_file(file, &look);
    if (r < 0)
        return r;
    end = (off_t)look.size;
    if (look.size != size + (size_t)written) {
        /* Somebody else writes too. An appending write leaves the position at its own end. */
        end = lseek(fd, 0, SEEK_CUR);
        if (end < (off_t)written)
            return ERR_IO;
        is_first_spoilt = !leads && !ends_line(fd, (uint64_t)(end - written));
    } else if (!is_torn) {
        file->expected_end = look.size;
    }
    if (is_torn) {
        r = end_torn_line(file);
        /* It may have lacked nothing but its end. */
        if (r == 0 && text[stop] == '\n' && lseek(fd, 0, SEEK_CUR) == end + 1)
            stop++;
    }
    if (look.names > 0)
        take_written(file, stop, is_first_spoilt);
    if (r < 0)
        return r;
    return (size_t)written < len && file->line.len > 1 ? ERR_AUDIT_UNAVAILABLE : 0;
}

/* Writes the lines and leaves `later` bytes for another. What was promised may use its own space
 * in the old file when there is no new one. After a failure file->line holds what was not written.
 */
static int append(struct audit_file *file, size_t later, bool is_promised)
{
    for (unsigned attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
        size_t need = file->line.len + later;
        uint64_t size;
        int r = prepare(file, need, &size);

        if (r < 0 && !(is_promised && spare(file) >= need))
            return r;
        r = write_lines(file, size);
        if (r < 0)
            return r;
        if (file->line.len == 1)
            return 0;
    }
    return ERR_AUDIT_UNAVAILABLE;
}

/* What the last line told of and that did not reach the file, another has to tell. */
static int begin_line(struct audit_file *file)
{
    file->dropped += file->carried;
    file->carried = 0;
    buf_clear(&file->line);
    return buf_append_char(&file->line, '\n');
}

static int make_line(struct audit_file *file, const struct authority_event *event, bool is_brief)
{
    uint64_t told;
    int r = begin_line(file);

    /* Of lines that wait together only the first tells; a brief one has no room promised for it. */
    told = is_brief || file->gathered.len > 0 ? 0 : file->dropped;
    if (r == 0)
        r = audit_write_record(event, told, is_brief, &file->line);
    if (r == 0)
        r = buf_append_char(&file->line, '\n');
    if (r < 0)
        return r;
    file->dropped -= told;
    file->carried = told;
    return 0;
}

/* ---- Intents and their outcomes ---- */

/* Takes back the promise at this index. */
static void forget_pending(struct audit_file *file, size_t index)
{
    file->reserved -= file->pending[index].bytes;
    file->pending_count--;
    memmove(&file->pending[index], &file->pending[index + 1],
            (file->pending_count - index) * sizeof(file->pending[0]));
}

static bool take_pending(struct audit_file *file, uint64_t request_id)
{
    for (size_t i = 0; i < file->pending_count; i++) {
        if (file->pending[i].request_id == request_id) {
            forget_pending(file, i);
            return true;
        }
    }
    return false;
}

static void add_pending(struct audit_file *file, uint64_t request_id, size_t bytes)
{
    /* An intent that old has lost its outcome. */
    if (file->pending_count == MAX_PENDING)
        forget_pending(file, 0);
    file->pending[file->pending_count++] = (struct pending){request_id, bytes};
    file->reserved += bytes;
}

/* ---- Gathering ---- */

static size_t count_lines(const char *text, size_t len)
{
    size_t count = 0;

    for (size_t i = 0; i < len; i++)
        count += text[i] == '\n';
    return count;
}

static void write_gathered(struct audit_file *file)
{
    int r;

    if (file->gathered.len == 0)
        return;
    r = begin_line(file);
    if (r == 0)
        r = buf_append_str(&file->line, buf_view(&file->gathered));
    /* There is room: it was reserved at birth, and this is less than a record may be. */
    assert(r == 0);
    file->carried = file->gathered_carried;
    file->gathered_carried = 0;
    buf_clear(&file->gathered);
    if (append(file, 0, false) < 0)
        file->dropped += count_lines(file->line.data + 1, file->line.len - 1);
}

/* The line that was made waits for others. ERR_BUSY: not before those there were written. */
static int gather(struct audit_file *file)
{
    struct str line = str_slice(buf_view(&file->line), 1, file->line.len);
    int r;

    if (line.len > GATHERED_BYTES - file->gathered.len)
        return ERR_BUSY;
    r = buf_append_str(&file->gathered, line);
    if (r < 0)
        return r;
    file->gathered_carried += file->carried;
    file->carried = 0;
    return 0;
}

static int record_gathered(struct audit_file *file, const struct authority_event *event)
{
    int r = make_line(file, event, false);

    if (r == 0)
        r = gather(file);
    if (r != ERR_BUSY)
        return r;
    /* Which needs the place where the line is. */
    write_gathered(file);
    r = make_line(file, event, false);
    if (r < 0)
        return r;
    return file->line.len - 1 > GATHERED_BYTES ? append(file, 0, false) : gather(file);
}

static int record_intent(struct audit_file *file, const struct authority_event *event)
{
    size_t later;
    int r = make_line(file, event, false);

    if (r < 0)
        return r;
    later = file->line.len + AUDIT_OUTCOME_EXTRA_BYTES;
    r = append(file, later, false);
    if (r < 0)
        return r;
    take_pending(file, event->request_id);
    add_pending(file, event->request_id, later);
    return 0;
}

static int record_outcome(struct audit_file *file, const struct authority_event *event)
{
    bool is_promised = take_pending(file, event->request_id);
    int r;

    if (file->gathers && !is_promised && event->outcome == AUTHORITY_SUCCESS)
        return record_gathered(file, event);
    write_gathered(file);
    r = make_line(file, event, false);

    if (r == 0)
        r = append(file, 0, is_promised);
    if (r < 0 && is_promised && make_line(file, event, true) == 0)
        r = append(file, 0, true);
    return r;
}

static bool wants_sync(const struct audit_file *file, const struct authority_event *event)
{
    switch (file->store.sync) {
    case AUDIT_SYNC_NEVER:
        return false;
    case AUDIT_SYNC_INTENTS:
        return event->outcome == AUTHORITY_INTENT;
    case AUDIT_SYNC_ALL:
        return true;
    }
    return true;
}

/* Without the lock: a disk takes its time, and other records need not wait for it. */
static int sync_segment(struct audit_file *file, struct segment *segment)
{
    int r = fdatasync(segment->fd) == 0 ? 0 : err_from_errno(errno);

    pthread_mutex_lock(&file->mutex);
    segment_release(segment);
    pthread_mutex_unlock(&file->mutex);
    return r;
}

int audit_file_record(void *data, const struct authority_event *event)
{
    struct audit_file *file = data;
    struct segment *to_sync = NULL;
    int r;

    if (event->outcome == AUTHORITY_NOTICED)
        return 0;
    pthread_mutex_lock(&file->mutex);
    if (event->outcome == AUTHORITY_INTENT) {
        write_gathered(file);
        r = record_intent(file, event);
    } else {
        r = record_outcome(file, event);
    }
    if (r < 0 && event->outcome != AUTHORITY_INTENT)
        file->dropped++;
    if (r == 0 && wants_sync(file, event)) {
        to_sync = file->segment;
        to_sync->users++;
    }
    pthread_mutex_unlock(&file->mutex);
    if (to_sync != NULL)
        r = sync_segment(file, to_sync);
    return r == 0 || r == ERR_NO_SPACE ? r : ERR_AUDIT_UNAVAILABLE;
}

void audit_file_flush(struct audit_file *file)
{
    pthread_mutex_lock(&file->mutex);
    write_gathered(file);
    pthread_mutex_unlock(&file->mutex);
}

/* ---- Opening and closing ---- */

static int open_segment(struct audit_file *file)
{
    struct segment *segment;
    int fd = -1;
    int r = audit_store_lock(&file->store);

    if (r < 0)
        return r;
    r = audit_store_open_current(&file->store, &fd);
    audit_store_unlock(&file->store);
    if (r < 0)
        return r;
    segment = segment_new(fd);
    if (segment == NULL)
        return ERR_NO_MEMORY;
    use_segment(file, segment, 0);
    return 0;
}

int audit_file_open(const struct audit_config *config, struct audit_file **out_file,
                    struct err *err)
{
    cleanup_free struct audit_file *file = calloc(1, sizeof(*file));
    int r;

    if (file == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    r = audit_store_init(&file->store, config, err);
    if (r < 0)
        return r;
    buf_init(&file->line, LINE_BYTES);
    buf_init(&file->gathered, GATHERED_BYTES);
    /* Waiting is not what somebody wants who syncs each record. */
    file->gathers = config->gathers_reads && config->sync != AUDIT_SYNC_ALL;
    r = buf_reserve(&file->line, LINE_BYTES);
    if (r == 0 && file->gathers)
        r = buf_reserve(&file->gathered, GATHERED_BYTES);
    if (r == 0)
        r = open_segment(file);
    if (r < 0) {
        buf_done(&file->line);
        buf_done(&file->gathered);
        audit_store_done(&file->store);
        return err_set(err, r, "the audit's file: %s", err_text(r));
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
    if (file->credit > 0 && audit_store_lock(&file->store) == 0) {
        if (audit_store_is_current(&file->store, file->segment->fd))
            audit_store_give_back(&file->store, file->segment->fd, file->credit);
        audit_store_unlock(&file->store);
    }
    assert(file->segment->users == 1);
    segment_release(file->segment);
    pthread_mutex_destroy(&file->mutex);
    buf_done(&file->line);
    buf_done(&file->gathered);
    audit_store_done(&file->store);
    free(file);
}
