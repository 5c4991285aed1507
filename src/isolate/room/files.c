/* SPDX-License-Identifier: Apache-2.0 */
/* The service's side of calls for files in a room. */
#include "isolate/room/room.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "isolate/room/outer.h"

enum { LIST_MAX_BYTES = 64 << 20, ALIGNMENT = 8 };

struct file_call {
    struct list node;
    uint64_t number;
    struct parcel *parcel; /* NULL once sent */
    /* One of these. */
    room_done *done;
    room_opened *opened;
    room_listed *listed;
    room_statted *statted;
    room_connected *connected;
    bool is_to_listen; /* so what comes is no connection yet */
    void *data;
    char name[]; /* the last part of the path */
};

/* As many at a time as a room takes. */
static void send_more(struct room *room)
{
    list_each (node, &room->files) {
        struct file_call *call = list_entry(node, struct file_call, node);

        if (room->files_sent >= ROOM_MAX_FILE_CALLS)
            return;
        if (call->parcel == NULL)
            continue;
        room->files_sent++;
        room_post(room, steal_ptr(&call->parcel));
    }
}

/* ---- Answers ---- */

/* Frees the call. */
static void answer_error(struct file_call *call, const struct err *err)
{
    list_remove(&call->node);
    parcel_free(call->parcel);
    if (err == NULL)
        ; /* nobody is told */
    else if (call->opened != NULL)
        call->opened(call->data, err, -1, NULL);
    else if (call->listed != NULL)
        call->listed(call->data, err, NULL, 0);
    else if (call->statted != NULL)
        call->statted(call->data, err, NULL);
    else if (call->connected != NULL)
        call->connected(call->data, err, -1);
    else if (call->done != NULL)
        call->done(call->data, err);
    free(call);
}

bool room_list_parse(struct str list, struct room_entry *entries, size_t count)
{
    const char *bytes = list.ptr;
    const size_t len = list.len;
    size_t at = 0;

    for (size_t i = 0; i < count; i++) {
        struct room_record record;

        if (len - at < sizeof(record))
            return false;
        memcpy(&record, bytes + at, sizeof(record));
        at += sizeof(record);
        if (record.name_bytes == 0 || record.name_bytes > ROOM_PATH_BYTES ||
            record.name_bytes > len - at || bytes[at + record.name_bytes - 1] != '\0' ||
            record.type > ROOM_OTHER)
            return false;
        entries[i] = (struct room_entry){.name = bytes + at,
                                         .type = record.type,
                                         .size = record.size,
                                         .modified_ms = record.modified_ms,
                                         .created_ms = record.created_ms,
                                         .mode = record.mode,
                                         .uid = record.uid,
                                         .gid = record.gid};
        at += record.name_bytes;
        at += (ALIGNMENT - at % ALIGNMENT) % ALIGNMENT;
        if (at > len)
            return false;
    }
    return true;
}

static void answer_list(struct file_call *call, const struct room_report *report, int fd)
{
    struct err err = ERR_INIT;
    size_t len = 0;
    cleanup_free char *bytes = room_read_memory(fd, LIST_MAX_BYTES, &len);
    cleanup_free struct room_entry *entries = NULL;

    if (report->count <= ROOM_MAX_ENTRIES)
        entries = calloc(report->count + 1, sizeof(*entries));
    if (bytes == NULL || entries == NULL ||
        !room_list_parse((struct str){bytes, len}, entries, report->count)) {
        err_set(&err, ERR_INTERNAL, "the sandbox sent a malformed list");
        call->listed(call->data, &err, NULL, 0);
    } else {
        call->listed(call->data, NULL, entries, report->count);
    }
}

static void answer_open(struct file_call *call, const struct room_entry *entry, int fd)
{
    struct err err = ERR_INIT;
    struct stat about;

    if (fd < 0 || fstat(fd, &about) < 0 || !S_ISREG(about.st_mode)) {
        if (fd >= 0)
            close(fd);
        err_set(&err, ERR_NOT_REGULAR_FILE, "the sandbox sent no regular file");
        call->opened(call->data, &err, -1, NULL);
        return;
    }
    call->opened(call->data, NULL, fd, entry);
}

static int get_option(int fd, int option)
{
    int value = -1;
    socklen_t len = sizeof(value);

    return getsockopt(fd, SOL_SOCKET, option, &value, &len) == 0 ? value : -1;
}

/* A stream of TCP, connected or listening: another descriptor could be more than it seems. */
static bool is_as_wanted(const struct file_call *call, int fd)
{
    struct sockaddr_storage address = {0};
    socklen_t len = sizeof(address);

    return fd >= 0 && get_option(fd, SO_TYPE) == SOCK_STREAM &&
           get_option(fd, SO_ACCEPTCONN) == (call->is_to_listen ? 1 : 0) &&
           (call->is_to_listen ? getsockname(fd, (struct sockaddr *)&address, &len)
                               : getpeername(fd, (struct sockaddr *)&address, &len)) == 0 &&
           (address.ss_family == AF_INET || address.ss_family == AF_INET6);
}

static void answer_connect(struct file_call *call, int fd)
{
    struct err err = ERR_INIT;

    if (!is_as_wanted(call, fd)) {
        if (fd >= 0)
            close(fd);
        err_set(&err, ERR_INTERNAL, "the sandbox sent no socket");
        call->connected(call->data, &err, -1);
        return;
    }
    call->connected(call->data, NULL, fd);
}

void room_file_report(struct room *room, const struct room_report *report, int fd)
{
    cleanup_fd int own = fd;
    struct file_call *call = NULL;
    struct room_entry entry = {.type = report->type <= ROOM_OTHER ? report->type : ROOM_OTHER,
                               .size = report->size,
                               .modified_ms = report->modified_ms,
                               .created_ms = report->created_ms,
                               .mode = report->mode,
                               .uid = report->uid,
                               .gid = report->gid};

    list_each (node, &room->files) {
        struct file_call *each = list_entry(node, struct file_call, node);

        if (each->number == report->number && each->parcel == NULL)
            call = each;
    }
    if (call == NULL)
        return;
    room->files_sent--;
    if (report->err.code != 0) {
        answer_error(call, &report->err);
    } else {
        entry.name = call->name;
        list_remove(&call->node);
        if (call->opened != NULL)
            answer_open(call, &entry, steal_fd(&own));
        else if (call->listed != NULL)
            answer_list(call, report, own);
        else if (call->statted != NULL)
            call->statted(call->data, NULL, &entry);
        else if (call->connected != NULL)
            answer_connect(call, steal_fd(&own));
        else if (call->done != NULL)
            call->done(call->data, NULL);
        free(call);
    }
    send_more(room);
}

void room_file_end_all(struct room *room, const struct err *why)
{
    while (!list_is_empty(&room->files))
        answer_error(list_entry(room->files.next, struct file_call, node), why);
}

/* ---- Calls ---- */

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL ? slash + 1 : path;
}

static bool is_path(const char *path)
{
    return path != NULL && path[0] == '/' && strlen(path) < ROOM_PATH_BYTES - 1;
}

/* Takes over the descriptor. Only sockets have no path. */
static int start_call(struct room *room, struct room_order *order, const char *path,
                      const char *other, int fd, const struct file_call *answers)
{
    cleanup_fd int own = fd;
    cleanup_buf struct buf bytes = BUF_INIT(2 * ROOM_PATH_BYTES);
    struct file_call *call;
    int r;

    if (order->call == ROOM_CALL_CONNECT || order->call == ROOM_CALL_LISTEN)
        path = "/";
    if (!is_path(path) || (other != NULL && !is_path(other)))
        return ERR_INVALID_PATH;
    r = buf_append(&bytes, path, strlen(path) + 1);
    if (r == 0 && other != NULL)
        r = buf_append(&bytes, other, strlen(other) + 1);
    call = r == 0 ? malloc(sizeof(*call) + strlen(last_part(path)) + 1) : NULL;
    if (call == NULL)
        return ERR_NO_MEMORY;
    *call = *answers;
    memcpy(call->name, last_part(path), strlen(last_part(path)) + 1);
    order->kind = ROOM_ORDER_FILE;
    order->number = call->number = ++room->keeper->last_number;
    order->bytes = bytes.len;
    fd = steal_fd(&own);
    call->parcel = parcel_new(order, sizeof(*order), buf_view(&bytes), &fd, fd >= 0 ? 1 : 0);
    if (call->parcel == NULL) {
        free(call);
        return ERR_NO_MEMORY;
    }
    list_append(&room->files, &call->node);
    send_more(room);
    return 0;
}

int room_file_open(struct room *room, const char *path, room_opened *done, void *data)
{
    return start_call(room, &(struct room_order){.call = ROOM_CALL_OPEN}, path, NULL, -1,
                      &(struct file_call){.opened = done, .data = data});
}

/* A whole copy of a large file may follow, so this is looked at before. */
static bool lacks_space(const struct room *room)
{
    struct room_space space;

    room_keeper_space(room->keeper, &space);
    return space.is_low && !room->is_in_memory;
}

int room_file_write(struct room *room, const char *path, unsigned flags, int content_fd,
                    uint64_t size, room_done *done, void *data)
{
    int copy;

    if (lacks_space(room))
        return ERR_NO_SPACE;
    copy = fcntl(content_fd, F_DUPFD_CLOEXEC, 3);
    if (copy < 0)
        return err_from_errno(errno);
    return start_call(room,
                      &(struct room_order){.call = ROOM_CALL_WRITE, .flags = flags, .size = size},
                      path, NULL, copy, &(struct file_call){.done = done, .data = data});
}

int room_file_put(struct room *room, const char *path, unsigned flags, struct str content,
                  room_done *done, void *data)
{
    cleanup_fd int memory = -1;

    if (lacks_space(room))
        return ERR_NO_SPACE;
    memory = memfd_create("content", MFD_CLOEXEC);
    if (memory < 0)
        return err_from_errno(errno);
    for (size_t at = 0; at < content.len;) {
        ssize_t put = write(memory, content.ptr + at, content.len - at);

        if (put < 0 && errno != EINTR)
            return err_from_errno(errno);
        if (put > 0)
            at += (size_t)put;
    }
    if (lseek(memory, 0, SEEK_SET) < 0)
        return err_from_errno(errno);
    return start_call(
        room, &(struct room_order){.call = ROOM_CALL_WRITE, .flags = flags, .size = content.len},
        path, NULL, steal_fd(&memory), &(struct file_call){.done = done, .data = data});
}

int room_file_list(struct room *room, const char *path, bool is_recursive, room_listed *done,
                   void *data)
{
    return start_call(room,
                      &(struct room_order){.call = ROOM_CALL_LIST,
                                           .flags = is_recursive ? ROOM_FILE_RECURSIVE : 0},
                      path, NULL, -1, &(struct file_call){.listed = done, .data = data});
}

int room_file_stat(struct room *room, const char *path, room_statted *done, void *data)
{
    return start_call(room, &(struct room_order){.call = ROOM_CALL_STAT}, path, NULL, -1,
                      &(struct file_call){.statted = done, .data = data});
}

int room_file_mkdir(struct room *room, const char *path, bool with_parents, room_done *done,
                    void *data)
{
    if (lacks_space(room))
        return ERR_NO_SPACE;
    return start_call(room,
                      &(struct room_order){.call = ROOM_CALL_MKDIR,
                                           .flags = with_parents ? ROOM_FILE_RECURSIVE : 0},
                      path, NULL, -1, &(struct file_call){.done = done, .data = data});
}

int room_file_delete(struct room *room, const char *path, unsigned flags, room_done *done,
                     void *data)
{
    return start_call(room, &(struct room_order){.call = ROOM_CALL_DELETE, .flags = flags}, path,
                      NULL, -1, &(struct file_call){.done = done, .data = data});
}

int room_file_copy(struct room *room, const char *from, const char *to, unsigned flags,
                   room_done *done, void *data)
{
    if (lacks_space(room))
        return ERR_NO_SPACE;
    return to == NULL
               ? ERR_INVALID_PATH
               : start_call(room, &(struct room_order){.call = ROOM_CALL_COPY, .flags = flags},
                            from, to, -1, &(struct file_call){.done = done, .data = data});
}

int room_file_move(struct room *room, const char *from, const char *to, unsigned flags,
                   room_done *done, void *data)
{
    return to == NULL
               ? ERR_INVALID_PATH
               : start_call(room, &(struct room_order){.call = ROOM_CALL_MOVE, .flags = flags},
                            from, to, -1, &(struct file_call){.done = done, .data = data});
}

static int use_port(struct room *room, uint16_t port, enum room_file_call what,
                    room_connected *done, void *data)
{
    if (room->network == ROOM_NETWORK_HOST)
        return ERR_UNSUPPORTED;
    if (port == 0)
        return ERR_INVALID_ARGUMENT;
    return start_call(room, &(struct room_order){.call = what, .size = port}, NULL, NULL, -1,
                      &(struct file_call){.connected = done,
                                          .is_to_listen = what == ROOM_CALL_LISTEN,
                                          .data = data});
}

int room_connect(struct room *room, uint16_t port, room_connected *done, void *data)
{
    return use_port(room, port, ROOM_CALL_CONNECT, done, data);
}

int room_listen(struct room *room, uint16_t port, room_connected *done, void *data)
{
    return use_port(room, port, ROOM_CALL_LISTEN, done, data);
}
