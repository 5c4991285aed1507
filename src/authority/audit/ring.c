/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A record is one write() to a file opened for appending, which other processes may append to at
 * the same time. Problems are detected around the write, without a lock between processes: whether
 * the file is still the current one, and whether the previous line is complete.
 */
#include "authority/audit/internal.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

enum { MAX_ATTEMPTS = 16 }; /* against files that vanish and lines that others tear */
#define END_UNKNOWN UINT64_MAX

/* ---- Segments ---- */

void audit_segment_release(struct audit_segment *segment)
{
    segment->users--;
    if (segment->users > 0)
        return;
    close(segment->fd);
    free(segment);
}

/* Takes ownership of the fd, even on failure. */
static struct audit_segment *segment_new(int fd)
{
    struct audit_segment *segment = malloc(sizeof(*segment));

    if (segment == NULL) {
        close(fd);
        return NULL;
    }
    *segment = (struct audit_segment){.fd = fd, .users = 1};
    return segment;
}

/* ---- Space ---- */

static size_t spare(const struct audit_ring *ring)
{
    return ring->credit > ring->reserved ? ring->credit - ring->reserved : 0;
}

static void use_segment(struct audit_ring *ring, struct audit_segment *segment, size_t credit)
{
    ring->segment = segment;
    ring->credit = credit;
    ring->expected_end = END_UNKNOWN;
    ring->rotate_at = ring->store.max_bytes;
}

/* Switches to the current file, with room for the reservations and `need` bytes. */
static int move_on(struct audit_ring *ring, size_t need)
{
    struct audit_segment *segment;
    size_t credit = 0;
    int fd = -1;
    int r = audit_store_open_current(&ring->store, &fd);

    if (r < 0)
        return r;
    segment = segment_new(fd);
    if (segment == NULL)
        return ERR_NO_MEMORY;
    r = audit_store_lease(&ring->store, fd, ring->reserved + need, &credit);
    if (r < 0) {
        audit_segment_release(segment);
        return r;
    }
    audit_store_trim(ring->segment->fd);
    audit_segment_release(ring->segment);
    use_segment(ring, segment, credit);
    return 0;
}

static int extend(struct audit_ring *ring, size_t need)
{
    size_t credit = 0;
    int r = audit_store_lease(&ring->store, ring->segment->fd, need - spare(ring), &credit);

    if (r == 0)
        ring->credit += credit;
    return r;
}

/* A file that cannot be rotated goes on growing, but not forever. */
static int rotate(struct audit_ring *ring, size_t need, uint64_t size)
{
    int r = audit_store_rotate(&ring->store, ring->segment->fd, ring->reserved + need);

    if (r == 0)
        return move_on(ring, need);
    if (size + need > 2 * ring->store.max_bytes)
        return r;
    ring->rotate_at = size + AUDIT_CHUNK_BYTES;
    return spare(ring) < need ? extend(ring, need) : 0;
}

static int settle(struct audit_ring *ring, size_t need, uint64_t size)
{
    int r = audit_store_lock(&ring->store);

    if (r < 0)
        return r;
    if (!audit_store_is_current(&ring->store, ring->segment->fd))
        r = move_on(ring, need);
    else if (size > 0 && size + need > ring->rotate_at)
        r = rotate(ring, need, size);
    else if (spare(ring) < need)
        r = extend(ring, need);
    audit_store_unlock(&ring->store);
    return r;
}

/* What is checked around every write. */
struct look {
    uint64_t size;
    unsigned names;
    bool is_sealed;
};

/*
 * statx() and not fstat(), which also asks for the times: a kernel with fine-grained timestamps
 * then has to write a new one to the inode with every record.
 */
static int look_at_file(const struct audit_ring *ring, struct look *out_look)
{
    struct statx about;

    if (statx(ring->segment->fd, "", AT_EMPTY_PATH, STATX_SIZE | STATX_NLINK | STATX_MODE, &about) <
        0)
        return err_from_errno(errno);
    *out_look = (struct look){
        .size = about.stx_size,
        .names = about.stx_nlink,
        .is_sealed = (about.stx_mode & S_IWUSR) == 0,
    };
    return 0;
}

/* Ensures that the file is the right one and has room; always sets *out_size. */
static int prepare(struct audit_ring *ring, size_t need, bool is_promised, uint64_t *out_size)
{
    struct look look = {.size = 0};
    int again;
    int r;

    /*
     * The outcome of a change: as the check after its intent left it. If another process has
     * written since, the check after this one detects that, and what was damaged is written again.
     */
    *out_size = ring->expected_end;
    if (is_promised && ring->expected_end != END_UNKNOWN && spare(ring) >= need &&
        ring->expected_end + need <= ring->rotate_at)
        return 0;
    r = look_at_file(ring, &look);
    *out_size = look.size;
    if (r < 0)
        return r;
    if (look.names == 1 && !look.is_sealed && spare(ring) >= need &&
        (look.size == 0 || look.size + need <= ring->rotate_at))
        return 0;
    r = settle(ring, need, look.size);
    again = look_at_file(ring, &look);
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
 * Only a part was written. Others may have appended after it, so it cannot be truncated; with a
 * newline it is a line that every reader skips.
 */
static int end_torn_line(struct audit_ring *ring)
{
    if (write_once(ring->segment->fd, "\n", 1) < 0)
        return err_from_errno(errno);
    ring->credit -= ring->credit > 0;
    return 0;
}

/*
 * Everything before `end` was written: removes the lines that are complete in the file. The first
 * does not count if it continued a torn one.
 */
static void take_written(struct audit_lines *lines, size_t end, bool is_first_spoilt)
{
    char *text = lines->text.data;
    const char *first_end = memchr(text + 1, '\n', lines->text.len - 1);
    const char *last_end = memrchr(text, '\n', end);
    size_t from = is_first_spoilt ? (size_t)(first_end - text) + 1 : 1;
    size_t until = (size_t)(last_end - text) + 1;

    if (until <= from)
        return;
    memmove(text + from, text + until, lines->text.len - until);
    lines->text.len -= until - from;
    if (!is_first_spoilt)
        lines->carried = 0;
}

/*
 * Appends the lines. What is not complete in the file afterwards, because another process's torn
 * line came in between and ours continues it, or because the file was removed, stays in lines->text
 * and must be written again.
 */
static int write_lines(struct audit_ring *ring, struct audit_lines *lines, uint64_t size)
{
    int fd = ring->segment->fd;
    const char *text = lines->text.data;
    bool leads = size != ring->expected_end && !ends_line(fd, size);
    size_t start = leads ? 0 : 1;
    size_t len = lines->text.len - start;
    ssize_t written = write_once(fd, text + start, len);
    struct look look = {.size = 0};
    bool is_first_spoilt = false;
    bool is_torn;
    off_t end;
    size_t stop;
    int r;

    if (written <= 0)
        return written < 0 ? err_from_errno(errno) : ERR_IO;
    ring->credit -= (size_t)written < ring->credit ? (size_t)written : ring->credit;
    ring->expected_end = END_UNKNOWN;
    stop = start + (size_t)written;
    is_torn = text[stop - 1] != '\n';
    r = look_at_file(ring, &look);
    if (r < 0)
        return r;
    end = (off_t)look.size;
    if (look.size != size + (size_t)written) {
        /* Other processes write too. An appending write leaves the position at its own end. */
        end = lseek(fd, 0, SEEK_CUR);
        if (end < (off_t)written)
            return ERR_IO;
        is_first_spoilt = !leads && !ends_line(fd, (uint64_t)(end - written));
    } else if (!is_torn && look.names == 1 && !look.is_sealed) {
        ring->expected_end = look.size;
    }
    if (is_torn) {
        r = end_torn_line(ring);
        /* It may have lacked nothing but its end. */
        if (r == 0 && text[stop] == '\n' && lseek(fd, 0, SEEK_CUR) == end + 1)
            stop++;
    }
    if (look.names > 0)
        take_written(lines, stop, is_first_spoilt);
    if (r < 0)
        return r;
    return (size_t)written < len && lines->text.len > 1 ? ERR_AUDIT_UNAVAILABLE : 0;
}

int audit_ring_append(struct audit_ring *ring, struct audit_lines *lines, size_t later,
                      bool is_promised)
{
    for (unsigned attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
        size_t need = lines->text.len + later;
        uint64_t size;
        int r = prepare(ring, need, is_promised, &size);

        if (r < 0 && !(is_promised && spare(ring) >= need))
            return r;
        r = write_lines(ring, lines, size);
        if (r < 0)
            return r;
        if (lines->text.len == 1)
            return 0;
    }
    return ERR_AUDIT_UNAVAILABLE;
}

/* ---- Opening and closing ---- */

static int open_segment(struct audit_ring *ring)
{
    struct audit_segment *segment;
    int fd = -1;
    int r = audit_store_lock(&ring->store);

    if (r < 0)
        return r;
    r = audit_store_open_current(&ring->store, &fd);
    audit_store_unlock(&ring->store);
    if (r < 0)
        return r;
    segment = segment_new(fd);
    if (segment == NULL)
        return ERR_NO_MEMORY;
    use_segment(ring, segment, 0);
    return 0;
}

int audit_ring_open(struct audit_ring *ring, const struct audit_config *config,
                    enum audit_kind kind, struct err *err)
{
    int r = audit_store_init(&ring->store, config, kind, err);

    if (r < 0)
        return r;
    r = open_segment(ring);
    if (r < 0) {
        audit_store_done(&ring->store);
        return err_set(err, r, "cannot write the audit log: %s", err_text(r));
    }
    return 0;
}

void audit_ring_close(struct audit_ring *ring)
{
    if (ring->segment == NULL)
        return;
    if (ring->credit > 0 && audit_store_lock(&ring->store) == 0) {
        if (audit_store_is_current(&ring->store, ring->segment->fd))
            audit_store_give_back(&ring->store, ring->segment->fd, ring->credit);
        audit_store_unlock(&ring->store);
    }
    assert(ring->segment->users == 1);
    audit_segment_release(steal_ptr(&ring->segment));
    audit_store_done(&ring->store);
}
