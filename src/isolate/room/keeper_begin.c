/* SPDX-License-Identifier: Apache-2.0 */
/* How the keeper begins: it opens its directory, and finds out what rooms can have here. */
#include "isolate/room/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "ipc/packet.h"
#include "isolate/box/internal.h"
#include "isolate/landlock.h"

enum { GROUP_MEMORY_PERCENT = 80, GROUP_PROCESSES = 4096 };

/* Whether a room can be made as it must be: makes one that ends at once. */
static void probe(struct keeper *keeper)
{
    struct room_abilities *abilities = &keeper->abilities;

    abilities->is_root = keeper->is_root;
    abilities->has_landlock = landlock_abi() >= LANDLOCK_MIN_ABI;
    abilities->has_memory_disks = true;
    abilities->has_disk_images = abilities->ids == ROOM_IDS_RANGE && room_disk_is_possible();
}

static int wait_for_probe(int socket, struct room_report *out_report)
{
    struct pollfd wait = {.fd = socket, .events = POLLIN};
    enum { PATIENCE_MS = 20000 };
    int fd = -1;

    if (poll(&wait, 1, PATIENCE_MS) <= 0 ||
        packet_receive(socket, out_report, sizeof(*out_report), &fd, 1, 0) !=
            (ssize_t)sizeof(*out_report))
        return ERR_INTERNAL;
    return out_report->kind == ROOM_REPORT_READY ? 0 : out_report->err.code;
}

/* A room in memory, over nothing; *out_reached is what it got. */
static int try_room(struct keeper *keeper, enum room_network network,
                    struct room_reached *out_reached, struct err *err)
{
    struct room_ask ask = {
        .id = "probe", .is_in_memory = true, .disk_bytes = UINT64_C(1) << 20, .network = network};
    struct room_report report = {0};
    struct kept *kept;
    int ends[2];
    int r;

    (void)iplist_add(&ask.addresses, STR("192.0.2.1"), false);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return err_set(err, err_from_errno(errno), "cannot create a socket pair");
    r = keep_start_room(keeper, &ask, NULL, ends[1], -1, err);
    close(ends[1]);
    if (r == 0) {
        r = wait_for_probe(ends[0], &report);
        if (r < 0)
            *err = report.err;
        *out_reached = report.reached;
        kept = list_entry(keeper->kept.next, struct kept, node);
        list_remove(&kept->node);
        keep_end_process(kept);
        keep_let_go(keeper, kept);
    }
    close(ends[0]);
    if (r == ERR_INTERNAL)
        err_set(err, ERR_UNSUPPORTED, "cannot create a sandbox: its first process died");
    return r;
}

/* Some kernels let no process read another's memory, which listed addresses need. */
static bool may_trace(void)
{
    cleanup_fd int fd = open("/proc/sys/kernel/yama/ptrace_scope", O_RDONLY | O_CLOEXEC);
    char scope = '0';

    return fd < 0 || read(fd, &scope, 1) != 1 || scope < '3';
}

/* With all that it can have: listed addresses are not required. */
static int try_rooms(struct keeper *keeper, struct room_reached *out_reached, struct err *err)
{
    keeper->abilities.has_listed_network =
        may_trace() && try_room(keeper, ROOM_NETWORK_LISTED, out_reached, err) == 0;
    return keeper->abilities.has_listed_network
               ? 0
               : try_room(keeper, ROOM_NETWORK_NONE, out_reached, err);
}

static int find_abilities(struct keeper *keeper, struct err *err)
{
    struct room_abilities *abilities = &keeper->abilities;
    struct room_reached reached = {0};
    int r;

    probe(keeper);
    r = try_rooms(keeper, &reached, err);
    /* In a container root may not have the numbers. */
    if (r < 0 && abilities->ids == ROOM_IDS_RANGE && keeper->is_degraded) {
        abilities->ids = ROOM_IDS_SINGLE;
        abilities->has_disk_images = false;
        r = try_rooms(keeper, &reached, err);
    }
    if (r < 0)
        return r;
    if (abilities->ids == ROOM_IDS_SINGLE && !keeper->is_degraded)
        return err_set(
            err, ERR_UNSUPPORTED,
            "without root, sandboxes need 65535 user ids of yours: install the package uidmap, and "
            "have the administrator give you a range (subuid(5)); --allow-weaker "
            "(GATEHOUSE_SANDBOX_ALLOW_WEAKER=true) runs their commands under your own user id");
    abilities->has_overlay = true;
    abilities->has_cgroups = reached.limits_memory && reached.limits_processes;
    abilities->limits_cpu = reached.limits_cpu;
    abilities->is_degraded = abilities->ids == ROOM_IDS_SINGLE || !abilities->has_landlock;
    snprintf(abilities->words, sizeof(abilities->words), "%s%s%s%s",
             abilities->ids == ROOM_IDS_SINGLE
                 ? "one user id for everything in a sandbox, the service's; "
             : abilities->ids == ROOM_IDS_SHARED ? "the same user ids in all sandboxes; "
                                                 : "",
             abilities->has_landlock ? "" : "no Landlock; ",
             abilities->has_cgroups ? "" : "no cgroups: limits apply to each process; ",
             abilities->limits_cpu ? "" : "the CPU is not limited, but has a lower priority; ");
    return 0;
}

/* Before the first file is made, which belongs to one of them. */
static int choose_ids(struct keeper *keeper, bool has_range, struct err *err)
{
    int r;

    keeper->abilities.ids = ROOM_IDS_RANGE;
    if (keeper->is_root)
        return 0;
    r = keep_fits_range(keeper, has_range, err);
    keeper->abilities.ids = r > 0 ? ROOM_IDS_SHARED : ROOM_IDS_SINGLE;
    return r < 0 ? r : 0;
}

int keep_begin(struct keeper *keeper, const struct room_ask *ask, const char *path, struct err *err)
{
    struct sysinfo machine;
    bool has_range;
    int r;

    keeper->is_root = geteuid() == 0;
    has_range = !keeper->is_root && keep_enter_range(keeper);
    r = keep_open_directory(keeper, path, err);
    if (r == 0)
        r = choose_ids(keeper, has_range, err);
    if (r < 0)
        return r;
    keeper->is_degraded = ask->is_degraded;
    keeper->memory_bytes = ask->memory_bytes;
    if (keeper->memory_bytes == 0 && sysinfo(&machine) == 0)
        keeper->memory_bytes =
            (uint64_t)machine.totalram * machine.mem_unit / 100 * GROUP_MEMORY_PERCENT;
    keeper->processes = ask->processes > 0 ? ask->processes : GROUP_PROCESSES;
    if (!space_floor(keeper->rooms, ask->disk_bytes, &keeper->floor))
        return err_set(err, err_from_errno(errno), "cannot tell what is free on the disk");
    keeper->has_trash = true; /* of one who was killed */
    if (faccessat(keeper->directory, "base", F_OK, AT_SYMLINK_NOFOLLOW) == 0)
        r = keep_throw_away(keeper, keeper->directory, "base");
    if (r != 0)
        return err_set(err, err_from_errno(r), "cannot replace the base: %s", err_errno_text(r));
    r = room_make_base(keeper->directory, keeper->abilities.ids != ROOM_IDS_SINGLE, err);
    if (r < 0)
        return r;
    keeper->base = keep_open_folder(keeper->directory, "base");
    if (keeper->base < 0)
        return err_set(err, err_from_errno(errno), "cannot open the base");
    r = box_calls_compile(SECCOMP_ON_THIS, BOX_CALLS_ROOM, &keeper->calls, err);
    return r < 0 ? r : find_abilities(keeper, err);
}
