/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the keeper starts a room: it finds the room's files and limits, takes a first process that
 * waits or makes one, and sends it what the room is made of.
 */
#include "isolate/room/keeper.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/streams.h"
#include "ipc/packet.h"

static const char group_name[] = "gatehouse-rooms";

struct kept *keep_find(const struct keeper *keeper, const char *id, uint64_t number)
{
    list_each (node, &keeper->kept) {
        struct kept *kept = list_entry(node, struct kept, node);

        if (id != NULL ? strcmp(kept->id, id) == 0 : kept->number == number)
            return kept;
    }
    return NULL;
}

static void close_trees(struct room_birth *birth)
{
    for (size_t i = 0; i < birth->tree_count; i++)
        if (i != ROOM_TREE_BASE && i != ROOM_TREE_USR && birth->trees[i] >= 0)
            close(birth->trees[i]);
}

/* All but its own files. */
static int find_layers(const struct keeper *keeper, const struct room_ask *ask,
                       const char (*layers)[ROOM_ID_BYTES], struct room_birth *birth,
                       struct err *err)
{
    birth->trees[ROOM_TREE_OWN] = -1;
    birth->trees[ROOM_TREE_BASE] = keeper->base;
    birth->trees[ROOM_TREE_USR] = keeper->usr;
    birth->tree_count = ROOM_TREE_LAYERS;
    /* The upper first, as the overlay wants them. */
    for (size_t i = ask->layer_count; i > 0; i--) {
        int layer =
            room_is_name(layers[i - 1]) ? keep_open_folder(keeper->layers, layers[i - 1]) : -1;

        if (layer < 0)
            return err_set_field(err, ERR_NOT_FOUND, "layer", "there is no layer %.80s",
                                 layers[i - 1]);
        birth->trees[birth->tree_count++] = layer;
        birth->has_system = i == 1 && keep_has_name(layer, ROOM_OWN_SYSTEM);
    }
    return 0;
}

static int find_trees(struct keeper *keeper, const struct room_ask *ask,
                      const char (*layers)[ROOM_ID_BYTES], struct room_birth *birth,
                      struct err *err)
{
    int r = find_layers(keeper, ask, layers, birth, err);

    if (r < 0 || ask->is_in_memory)
        return r;
    birth->trees[ROOM_TREE_OWN] = keep_open_own(keeper, ask->id, birth, err);
    return birth->trees[ROOM_TREE_OWN] < 0 ? birth->trees[ROOM_TREE_OWN] : 0;
}

static struct cgroup_limits limits_of(const struct keeper *keeper, const struct room_ask *ask)
{
    return (struct cgroup_limits){
        .memory_bytes = ask->memory_bytes > 0 ? ask->memory_bytes : CGROUP_USUAL_MEMORY_BYTES,
        .cpu_percent = ask->cpu_percent > 0 ? ask->cpu_percent : CGROUP_USUAL_CPU_PERCENT,
        .processes = ask->processes > 0 ? ask->processes : CGROUP_USUAL_PROCESSES,
        .yields = true,
        .group = group_name,
        .group_memory_bytes = keeper->memory_bytes,
        .group_processes = keeper->processes,
    };
}

static int choose_limits(const struct keeper *keeper, const struct room_ask *ask,
                         struct room_birth *birth, struct err *err)
{
    birth->limits = limits_of(keeper, ask);
    birth->is_in_memory = ask->is_in_memory;
    birth->is_build = ask->is_build;
    birth->disk_bytes = ask->disk_bytes;
    if (birth->disk_bytes == 0 && ask->is_in_memory)
        birth->disk_bytes = birth->limits.memory_bytes / 2;
    birth->reached.limits_disk = birth->reached.is_in_memory = ask->is_in_memory;
    /* One that was there before has the limit that it was made with, or none. */
    if (ask->disk_bytes > 0 && !ask->is_in_memory && !keeper->abilities.has_disk_images &&
        !keep_has_name(keeper->rooms, ask->id)) {
        if (!keeper->is_degraded)
            return err_set(err, ERR_UNSUPPORTED,
                           "disk space is limited only for files in memory on this machine");
        birth->reached.is_degraded = true;
    }
    return 0;
}

static void describe_limits(struct room_birth *birth)
{
    birth->reached.limits_memory = birth->leaf.holds[CGROUP_MEMORY] == CGROUP_BY_GROUP;
    birth->reached.limits_cpu = birth->leaf.holds[CGROUP_CPU] == CGROUP_BY_GROUP;
    birth->reached.limits_processes = birth->leaf.holds[CGROUP_PROCESSES] == CGROUP_BY_GROUP;
}

/* ---- First processes ---- */

void keep_close_gate(struct kept *kept)
{
    if (kept->gate >= 0)
        close(steal_fd(&kept->gate));
    if (kept->users >= 0)
        close(steal_fd(&kept->users));
}

/* Its process has been reaped, or there is none. */
void keep_let_go(struct keeper *keeper, struct kept *kept)
{
    keep_close_gate(kept);
    keep_end_relay(kept);
    if (kept->pidfd >= 0)
        close(kept->pidfd);
    if (kept->mounts >= 0 && keeper->mounts_count < array_size(keeper->mounts))
        keeper->mounts[keeper->mounts_count++] = kept->mounts;
    else if (kept->mounts >= 0)
        close(kept->mounts);
    keep_throw_away_leaf(keeper, &kept->leaf);
    if (kept->range > 0)
        keep_give_back_range(keeper, kept->range);
    free(kept->layers);
    free(kept);
}

void keep_end_process(const struct kept *kept)
{
    if (kept->pid <= 0)
        return;
    (void)kill(kept->pid, SIGKILL);
    while (waitpid(kept->pid, NULL, 0) < 0 && errno == EINTR)
        ;
}

bool keep_is_joining(struct keeper *keeper)
{
    char byte;

    if (keeper->joining >= 0 && read(keeper->joining, &byte, 1) == 0)
        close(steal_fd(&keeper->joining));
    return keeper->joining >= 0;
}

/*
 * In a first process, which must not be the last to hold the mounts of deleted rooms: closing them
 * then takes milliseconds, while somebody waits for its room.
 */
static void let_mounts_go(struct keeper *keeper)
{
    keep_close_mounts(keeper);
    list_each (node, &keeper->kept) {
        const struct kept *kept = list_entry(node, struct kept, node);

        if (kept->mounts >= 0)
            close(kept->mounts);
    }
}

static int bear(struct keeper *keeper, enum room_network network, struct kept *kept)
{
    const unsigned long flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC |
                                CLONE_NEWUTS | (network != ROOM_NETWORK_HOST ? CLONE_NEWNET : 0);
    struct room_seed seed = {.has_range = keeper->abilities.ids != ROOM_IDS_SINGLE,
                             .has_mounts = keeper->abilities.ids == ROOM_IDS_RANGE,
                             .network = network,
                             .uid = geteuid(),
                             .gid = getegid(),
                             .leaf = &kept->leaf,
                             .calls = &keeper->calls};
    int gate[2];
    int joining[2];
    int r;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, gate) < 0)
        return errno;
    seed.gate = gate[1];
    kept->gate = gate[0];
    if (pipe2(joining, O_CLOEXEC | O_NONBLOCK) < 0) {
        r = errno;
        close(gate[1]);
        return r;
    }
    seed.joining = joining[1];
    kept->pid = cgroup_leaf_fork(&kept->leaf, flags, &kept->pidfd);
    if (kept->pid == 0) {
        close(gate[0]);
        let_mounts_go(keeper);
        room_live(&seed);
    }
    r = kept->pid < 0 ? errno : 0;
    close(gate[1]);
    close(joining[1]);
    if (keeper->joining >= 0)
        close(keeper->joining);
    keeper->joining = joining[0];
    if (r == 0 && seed.has_range)
        r = keep_give_range(kept);
    return r == 0 && seed.has_mounts ? keep_send_shared(keeper, kept->gate, kept->users) : r;
}

/* One that waits for its room. */
static int make_first(struct keeper *keeper, const struct cgroup_limits *limits,
                      enum room_network network, struct kept **out_kept, struct err *err)
{
    struct kept *kept = calloc(1, sizeof(*kept));
    int r;

    if (kept == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    *kept = (struct kept){.pidfd = -1, .gate = -1, .users = -1, .mounts = -1};
    list_init(&kept->node);
    if (keeper->abilities.ids == ROOM_IDS_RANGE && (kept->range = keep_take_range(keeper)) == 0)
        r = err_set(err, ERR_BUSY, "too many sandboxes run");
    else
        r = cgroup_leaf_make(limits, &kept->leaf, err);
    if (r == 0) {
        r = bear(keeper, network, kept);
        if (r != 0)
            r = err_set(err, r == ENOSPC || r == EAGAIN ? ERR_BUSY : ERR_UNSUPPORTED,
                        "cannot create the sandbox: its namespaces failed: %s", err_errno_text(r));
    }
    if (r == 0) {
        *out_kept = kept;
        return 0;
    }
    keep_end_process(kept);
    keep_let_go(keeper, kept);
    return r;
}

void keep_add_spare(struct keeper *keeper)
{
    const struct room_ask defaults = {0};
    const struct cgroup_limits limits = limits_of(keeper, &defaults);
    struct kept *kept;

    if (make_first(keeper, &limits, ROOM_NETWORK_NONE, &kept, NULL) < 0)
        return;
    list_append(&keeper->spares, &kept->node);
    keeper->spare_count++;
    if (keeper->fresh_next - keeper->fresh_first < KEEP_MAX_SPARES)
        keep_add_fresh(keeper);
}

/* Which spare ones have. */
static bool has_default_limits(const struct keeper *keeper, const struct cgroup_limits *limits)
{
    const struct room_ask defaults = {0};
    const struct cgroup_limits usual = limits_of(keeper, &defaults);

    return limits->memory_bytes == usual.memory_bytes && limits->cpu_percent == usual.cpu_percent &&
           limits->processes == usual.processes;
}

/* A spare one, if it can have these limits, or a new one. */
static int take_first(struct keeper *keeper, const struct room_birth *birth, struct kept **out_kept,
                      struct err *err)
{
    if (birth->network != ROOM_NETWORK_HOST && !list_is_empty(&keeper->spares)) {
        struct kept *kept = list_entry(keeper->spares.next, struct kept, node);

        if (has_default_limits(keeper, &birth->limits) ||
            cgroup_leaf_change(&kept->leaf, &birth->limits)) {
            list_remove(&kept->node);
            keeper->spare_count--;
            *out_kept = kept;
            return 0;
        }
    }
    return make_first(keeper, &birth->limits, birth->network, out_kept, err);
}

/* ---- The start ---- */

/* Whether one of the layers has something in /usr, or the room itself. */
static bool changes_usr(const struct room_birth *birth)
{
    for (size_t i = birth->is_new ? ROOM_TREE_LAYERS : 0; i < birth->tree_count; i++) {
        int usr = i != ROOM_TREE_BASE && i != ROOM_TREE_USR && birth->trees[i] >= 0
                      ? keep_open_folder(birth->trees[i], ROOM_UPPER_USR)
                      : -1;
        cleanup_dir DIR *dir = usr >= 0 ? fdopendir(usr) : NULL;

        /* NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is this function's own */
        for (const struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;)
            if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
                return true;
    }
    return false;
}

bool keep_can_have(const struct keeper *keeper, const struct kept *kept, const struct room_ask *ask)
{
    const struct cgroup_limits limits = limits_of(keeper, ask);

    if (has_default_limits(keeper, &limits))
        return true;
    /* Limits of each process were set when it was built. */
    for (int i = 0; i < CGROUP_LIMITS; i++)
        if (kept->leaf.holds[i] != CGROUP_BY_GROUP)
            return false;
    return cgroup_leaf_change(&kept->leaf, &limits);
}

/* Sends it to a first process, which builds the room. */
static int put_in_first(struct keeper *keeper, const struct room_ask *ask,
                        const char (*layers)[ROOM_ID_BYTES], int reports, struct room_birth *birth,
                        struct kept **out_kept, struct err *err)
{
    struct kept *kept = NULL;
    int r = take_first(keeper, birth, &kept, err);

    if (kept == NULL)
        return r;
    birth->leaf = kept->leaf;
    birth->limits.group = NULL;
    describe_limits(birth);
    kept->number = ask->number;
    kept->is_in_memory = birth->is_in_memory;
    memcpy(kept->id, ask->id, sizeof(kept->id));
    if (ask->layer_count > 0) {
        kept->layers = calloc(ask->layer_count, ROOM_ID_BYTES);
        if (kept->layers != NULL)
            memcpy(kept->layers, layers, ask->layer_count * ROOM_ID_BYTES);
        r = kept->layers != NULL ? 0 : ENOMEM;
    }
    kept->layer_count = ask->layer_count;
    if (r == 0 && birth->network == ROOM_NETWORK_LISTED)
        r = keep_start_relay(keeper, kept, &ask->addresses, reports, &birth->relay);
    if (r == 0)
        r = keep_send_birth(birth, kept->gate, kept->users);
    if (r == 0) {
        *out_kept = kept;
        return 0;
    }
    keep_end_process(kept);
    keep_let_go(keeper, kept);
    return err_set(err, ERR_UNSUPPORTED, "cannot create the sandbox: its files failed: %s",
                   err_errno_text(r));
}

static struct room_birth new_birth(const struct keeper *keeper, enum room_network network,
                                   int socket)
{
    return (struct room_birth){
        .has_range = keeper->abilities.ids != ROOM_IDS_SINGLE,
        .has_mounts = keeper->abilities.ids == ROOM_IDS_RANGE,
        .may_lack_landlock = keeper->is_degraded,
        .network = network,
        .socket = socket,
        .relay = -1,
        .reached = {.ids = keeper->abilities.ids, .is_degraded = keeper->abilities.is_degraded},
    };
}

static struct room_birth birth; /* too large for a stack */

int keep_start_room(struct keeper *keeper, const struct room_ask *asked,
                    const char (*layers)[ROOM_ID_BYTES], int socket, int reports, struct err *err)
{
    struct room_ask own = *asked;
    const struct room_ask *ask = &own;
    struct kept *kept = NULL;
    int r;

    if (!room_is_name(ask->id))
        return err_set(err, ERR_INVALID_ARGUMENT, "not a valid id");
    if (keep_find(keeper, ask->id, 0) != NULL)
        return err_set(err, ERR_ALREADY_EXISTS, "the sandbox is already running");
    /* Files that are there already are not put out of sight. */
    own.is_in_memory = own.is_in_memory && !keep_has_name(keeper->rooms, own.id);
    if (keep_take_ahead(keeper, ask, layers, socket))
        return 0;
    birth = new_birth(keeper, ask->network, socket);
    birth.addresses = ask->addresses;
    r = choose_limits(keeper, ask, &birth, err);
    if (r == 0)
        r = find_trees(keeper, ask, layers, &birth, err);
    if (r == 0) {
        birth.has_usr_overlay = ask->is_build || changes_usr(&birth);
        r = put_in_first(keeper, ask, layers, reports, &birth, &kept, err);
    }
    close_trees(&birth);
    if (birth.relay >= 0)
        close(birth.relay);
    if (kept == NULL)
        return r;
    keep_close_gate(kept);
    list_append(&keeper->kept, &kept->node);
    return 0;
}

int keep_build_ahead(struct keeper *keeper, struct kept **out_kept)
{
    const struct room_ask ask = {.layer_count = (unsigned)keeper->plan_count};
    const char(*layers)[ROOM_ID_BYTES] = (const char(*)[ROOM_ID_BYTES])keeper->plan;
    unsigned number = 0;
    bool has_files = false;
    int r;

    birth = new_birth(keeper, ROOM_NETWORK_NONE, -1);
    birth.is_ahead = birth.is_new = true;
    r = choose_limits(keeper, &ask, &birth, NULL);
    if (r == 0)
        r = find_layers(keeper, &ask, layers, &birth, NULL);
    if (r == 0) {
        birth.trees[ROOM_TREE_OWN] = keep_open_fresh(keeper, &number);
        has_files = birth.trees[ROOM_TREE_OWN] >= 0;
        r = has_files ? 0 : ERR_IO;
    }
    if (r == 0) {
        birth.has_usr_overlay = changes_usr(&birth);
        r = put_in_first(keeper, &ask, layers, -1, &birth, out_kept, NULL);
    }
    close_trees(&birth);
    if (r == 0)
        (*out_kept)->fresh = number;
    else if (has_files)
        keep_drop_fresh(keeper, number);
    return r;
}
