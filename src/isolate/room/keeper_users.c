/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The users of a room: a range of numbers of its own, and mounts in which its files belong to them.
 */
#include "isolate/room/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "ipc/packet.h"

/*
 * Users of rooms: numbers that no distribution and no container manager gives out (systemd's list
 * calls them unused). Each running room has a range of its own; on disk its files belong to 0 and
 * 1000 in a directory of root's, and mounts translate.
 */
enum { RANGE_FIRST = 0x70000000, RANGE_SIZE = 1 << 16 };

unsigned keep_first_user(unsigned range)
{
    return range > 0 ? (unsigned)RANGE_FIRST + range * (unsigned)RANGE_SIZE : 0;
}

unsigned keep_take_range(struct keeper *keeper)
{
    /* The next one each time, so that a range rests before it is used again. */
    for (unsigned i = 0; i < KEEP_MAX_RANGES; i++) {
        unsigned range = (keeper->last_range + 1 + i) % KEEP_MAX_RANGES;

        if (range == 0 || (keeper->ranges[range / 8] & (1U << (range % 8))) != 0)
            continue;
        keeper->ranges[range / 8] |= (unsigned char)(1U << (range % 8));
        return keeper->last_range = range;
    }
    return 0;
}

void keep_give_back_range(struct keeper *keeper, unsigned range)
{
    keeper->ranges[range / 8] &= (unsigned char)~(1U << (range % 8));
}

/* Range 0 are the numbers that the keeper has itself, its own and others: keeper_subids.c. */
static int write_map(pid_t pid, const char *name, unsigned range)
{
    char path[64];
    char map[64];
    cleanup_fd int fd = -1;
    int len;

    snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
    if (range > 0)
        len = snprintf(map, sizeof(map), "0 %u %d", keep_first_user(range), RANGE_SIZE);
    else
        len = snprintf(map, sizeof(map), "0 0 1\n1 1 %d", RANGE_SIZE - 1);
    fd = open(path, O_WRONLY | O_CLOEXEC);
    return fd < 0 || write(fd, map, (size_t)len) != len ? errno : 0;
}

int keep_give_range(struct kept *kept)
{
    char path[64];
    int r = write_map(kept->pid, "uid_map", kept->range);

    if (r == 0)
        r = write_map(kept->pid, "gid_map", kept->range);
    if (r != 0)
        return r;
    snprintf(path, sizeof(path), "/proc/%d/ns/user", kept->pid);
    kept->users = open(path, O_RDONLY | O_CLOEXEC);
    if (kept->users < 0 || packet_send(kept->gate, STR("m"), NULL, 0, 0) < 0)
        return errno;
    return 0;
}

/* A mount of a directory in which 0 to 65535 on disk are the users of the room. */
static int translate(int directory, int users, bool is_writable)
{
    struct mount_attr attr = {
        .attr_set = MOUNT_ATTR_IDMAP | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOSUID |
                    (is_writable ? 0 : MOUNT_ATTR_RDONLY),
        .propagation = MS_PRIVATE,
        .userns_fd = (unsigned)users,
    };
    cleanup_fd int tree =
        open_tree(directory, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);

    if (tree < 0 || mount_setattr(tree, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0)
        return -1;
    return steal_fd(&tree);
}

/* Some file systems cannot translate: the host's programs are readable all the same. */
static int untranslated(int directory)
{
    struct mount_attr attr = {.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOSUID,
                              .propagation = MS_PRIVATE};
    cleanup_fd int tree =
        open_tree(directory, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);

    if (tree < 0 || mount_setattr(tree, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0)
        return -1;
    return steal_fd(&tree);
}

/* A file system of its own is a mount already. */
static int translate_disk(int mount, int users)
{
    struct mount_attr attr = {
        .attr_set = MOUNT_ATTR_IDMAP, .propagation = MS_PRIVATE, .userns_fd = (unsigned)users};

    if (mount_setattr(mount, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0)
        return -1;
    return fcntl(mount, F_DUPFD_CLOEXEC, 0);
}

/* The descriptor to send, or -1 with errno. */
static int prepare_tree(const struct room_birth *birth, size_t index, int users)
{
    if (!birth->has_mounts)
        return fcntl(birth->trees[index], F_DUPFD_CLOEXEC, 0);
    if (index == ROOM_TREE_OWN && birth->has_disk)
        return translate_disk(birth->trees[index], users);
    return translate(birth->trees[index], users, index == ROOM_TREE_OWN);
}

/* To a first process with a range, before its room is known. 0 or an errno value. */
int keep_send_shared(const struct keeper *keeper, int gate, int users)
{
    cleanup_fd int base = translate(keeper->base, users, false);
    cleanup_fd int usr = translate(keeper->usr, users, false);

    if (usr < 0)
        usr = untranslated(keeper->usr);
    if (base < 0 || usr < 0 || packet_send(gate, STR("t"), &base, 1, 0) < 0 ||
        packet_send(gate, STR("t"), &usr, 1, 0) < 0)
        return errno;
    return 0;
}

/* 0 or an errno value. */
int keep_send_birth(const struct room_birth *birth, int gate, int users)
{
    const int fds[] = {birth->socket, birth->relay};

    if (packet_send(gate, (struct str){(const char *)birth, sizeof(*birth)}, fds,
                    birth->is_ahead     ? 0
                    : birth->relay >= 0 ? 2
                                        : 1,
                    0) < 0)
        return errno;
    for (size_t i = 0; i < birth->tree_count; i++) {
        const bool is_sent = birth->has_mounts && (i == ROOM_TREE_BASE || i == ROOM_TREE_USR);
        const bool has_tree = !is_sent && (i != ROOM_TREE_OWN || !birth->is_in_memory);
        cleanup_fd int tree = has_tree ? prepare_tree(birth, i, users) : -1;

        if (has_tree && tree < 0)
            return errno;
        if (!is_sent && packet_send(gate, STR("t"), &tree, has_tree ? 1 : 0, 0) < 0)
            return errno;
    }
    return 0;
}
