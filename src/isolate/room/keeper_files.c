/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keeper's directory: the files of rooms, layers, rooms to come, and what is to be removed, in
 * the background.
 */
#include "isolate/room/keeper.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/streams.h"

enum { MODE_OWN = 0700, MODE_DIRECTORY = 0755 };

static const char rooms_folder[] = "rooms";
static const char layers_folder[] = "layers";
static const char trash_folder[] = "trash";
static const char disks_folder[] = "disks";
static const char fresh_folder[] = "fresh";
static const char range_note[] = "range";

int keep_open_folder(int dir_fd, const char *name)
{
    return openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static int make_folder(int dir_fd, const char *name, mode_t mode)
{
    if (mkdirat(dir_fd, name, mode) < 0 && errno != EEXIST)
        return -1;
    return keep_open_folder(dir_fd, name);
}

/* Moves it where the remover finds it. 0 or an errno value. */
int keep_throw_away(struct keeper *keeper, int dir_fd, const char *name)
{
    char target[64];

    do {
        snprintf(target, sizeof(target), "%d.%u", getpid(), keeper->trashed++);
        if (renameat2(dir_fd, name, keeper->trash, target, RENAME_NOREPLACE) == 0) {
            keeper->has_trash = true;
            return 0;
        }
    } while (errno == EEXIST);
    return errno;
}

void keep_throw_away_leaf(struct keeper *keeper, struct cgroup_leaf *leaf)
{
    if (leaf->dir_count == 0)
        return;
    if (keeper->leaves_count == array_size(keeper->leaves)) {
        cgroup_leaf_remove(leaf);
        return;
    }
    keeper->leaves[keeper->leaves_count++] = *leaf;
    *leaf = (struct cgroup_leaf)CGROUP_LEAF_INIT;
}

static void empty_trash(int trash)
{
    int copy = keep_open_folder(trash, ".");
    cleanup_dir DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;

    /* NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is this function's own */
    for (const struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            room_remove_tree(trash, entry->d_name);
}

/* Ends what was mounted in deleted rooms, if it is the last who has them. */
void keep_close_mounts(struct keeper *keeper)
{
    while (keeper->mounts_count > 0)
        close(keeper->mounts[--keeper->mounts_count]);
}

bool keep_has_trash(const struct keeper *keeper)
{
    return keeper->remover <= 0 && (keeper->has_trash || keeper->leaves_count > 0);
}

/*
 * One process at a time, in the background: when there is much, or when nobody wants anything.
 * It has copies of the mount namespaces of deleted rooms: the kernel takes as long for their end as
 * for all the rest of a room's.
 */
void keep_start_remover(struct keeper *keeper, bool is_idle)
{
    enum { LOW_PRIORITY = 10 };

    if (!keep_has_trash(keeper) ||
        (!is_idle && keeper->trashed - keeper->trash_removed < KEEP_MUCH_TRASH))
        return;
    keeper->has_trash = false;
    keeper->trash_removed = keeper->trashed;
    keeper->leaves_given = keeper->leaves_count;
    keeper->remover = fork();
    keep_close_mounts(keeper);
    if (keeper->remover != 0)
        return;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    (void)setpriority(PRIO_PROCESS, 0, LOW_PRIORITY);
    close(keeper->socket);
    close(keeper->lifeline);
    empty_trash(keeper->trash);
    for (size_t i = 0; i < keeper->leaves_given; i++)
        cgroup_leaf_remove(&keeper->leaves[i]);
    _exit(EXIT_SUCCESS);
}

void keep_end_remover(struct keeper *keeper)
{
    const size_t given = keeper->leaves_given;

    for (size_t i = 0; i < given; i++)
        cgroup_leaf_remove(&keeper->leaves[i]);
    keeper->leaves_count -= given;
    memmove(keeper->leaves, keeper->leaves + given,
            keeper->leaves_count * sizeof(keeper->leaves[0]));
    keeper->leaves_given = 0;
    keeper->remover = 0;
}

/* The parts for the overlays. 0 or an errno value. */
static int make_parts(int own)
{
    static const char *const parts[] = {ROOM_UPPER_ROOT, ROOM_UPPER_USR, ROOM_WORK_ROOT,
                                        ROOM_WORK_USR};

    for (size_t i = 0; i < array_size(parts); i++)
        if (mkdirat(own, parts[i], MODE_DIRECTORY) < 0 && errno != EEXIST)
            return errno;
    return 0;
}

bool keep_has_name(int dir_fd, const char *name)
{
    return faccessat(dir_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* In place of the directory the file system in it; made now, if its files are new. */
static int open_disk(const struct keeper *keeper, struct room_birth *birth, int *own)
{
    const bool is_wanted = birth->disk_bytes > 0 && keeper->abilities.has_disk_images &&
                           !keep_has_name(*own, ROOM_UPPER_ROOT);
    int mount;
    int r;

    if (!keep_has_name(*own, ROOM_DISK)) {
        r = is_wanted ? room_disk_make(keeper->disks, *own, birth->disk_bytes) : 0;
        if (r != 0 || !is_wanted)
            return r;
    }
    mount = room_disk_mount(*own);
    if (mount < 0)
        return errno;
    close(*own);
    *own = mount;
    birth->has_disk = birth->reached.limits_disk = true;
    return 0;
}

/* ---- Empty files ---- */

/* Prepares the directory of a room to come. */
void keep_add_fresh(struct keeper *keeper)
{
    cleanup_fd int own = -1;
    char name[16];

    snprintf(name, sizeof(name), "%u", keeper->fresh_next);
    own = make_folder(keeper->fresh, name, MODE_DIRECTORY);
    if (own >= 0 && make_parts(own) == 0)
        keeper->fresh_next++;
}

static void name_fresh(unsigned number, char out_name[16])
{
    snprintf(out_name, 16, "%u", number);
}

int keep_open_fresh(struct keeper *keeper, unsigned *out_number)
{
    char name[16];
    int own;

    if (keeper->fresh_first == keeper->fresh_next)
        keep_add_fresh(keeper);
    name_fresh(keeper->fresh_first, name);
    own = keep_open_folder(keeper->fresh, name);
    if (own >= 0)
        *out_number = keeper->fresh_first++;
    return own;
}

bool keep_move_fresh(struct keeper *keeper, unsigned number, const char *id)
{
    char name[16];

    name_fresh(number, name);
    return renameat2(keeper->fresh, name, keeper->rooms, id, RENAME_NOREPLACE) == 0;
}

void keep_drop_fresh(struct keeper *keeper, unsigned number)
{
    char name[16];

    name_fresh(number, name);
    (void)keep_throw_away(keeper, keeper->fresh, name);
}

/* Makes one of them the room's; false if there is none, or if the room has files. */
static bool take_fresh(struct keeper *keeper, const char *id)
{
    if (keeper->fresh_first == keeper->fresh_next)
        return false;
    if (keep_move_fresh(keeper, keeper->fresh_first, id)) {
        keeper->fresh_first++;
        return true;
    }
    if (errno != EEXIST) /* not even there: another time */
        keeper->fresh_first++;
    return false;
}

/* The room's own files: a directory with a part for each overlay. */
int keep_open_own(struct keeper *keeper, const char *id, struct room_birth *birth, struct err *err)
{
    const bool is_fresh = birth->disk_bytes == 0 && take_fresh(keeper, id);
    cleanup_fd int own = -1;
    int r;

    birth->is_new = is_fresh || !keep_has_name(keeper->rooms, id);
    own = is_fresh ? keep_open_folder(keeper->rooms, id)
                   : make_folder(keeper->rooms, id, MODE_DIRECTORY);
    r = own < 0 ? errno : 0;
    if (r == 0 && !is_fresh)
        r = open_disk(keeper, birth, &own);
    if (r == 0 && !is_fresh)
        r = make_parts(own);
    if (r != 0 && birth->is_new)
        room_remove_tree(keeper->rooms, id);
    if (r != 0)
        return err_set(err, err_from_errno(r), "cannot create the files of the sandbox: %s",
                       err_errno_text(r));
    return steal_fd(&own);
}

int keep_only_system(struct keeper *keeper, const char *id)
{
    static const char *const parts[] = {ROOM_UPPER_ROOT, ROOM_UPPER_USR, ROOM_WORK_ROOT,
                                        ROOM_WORK_USR};
    cleanup_fd int own = keep_open_folder(keeper->rooms, id);
    cleanup_fd int root = own >= 0 ? keep_open_folder(own, ROOM_UPPER_ROOT) : -1;
    /* What is renamed is a directory, not a link that the room has put there. */
    cleanup_fd int system = root >= 0 ? keep_open_folder(root, &ROOM_SYSTEM[1]) : -1;
    int r = 0;

    if (system < 0 || renameat2(root, &ROOM_SYSTEM[1], own, ROOM_OWN_SYSTEM, RENAME_NOREPLACE) < 0)
        return errno;
    for (size_t i = 0; i < array_size(parts) && r == 0; i++)
        r = keep_throw_away(keeper, own, parts[i]);
    return r;
}

/* ---- The beginning ---- */

/*
 * Asks the file system to put the directories in it apart. To make a file, ext4 without a journal
 * looks at each inode nearby that was freed in the last minutes: with the directories close to each
 * other, a room takes the longer to make the more rooms have been deleted.
 */
static void spread_folders(int folder)
{
    int flags = 0;

    if (folder < 0 || ioctl(folder, FS_IOC_GETFLAGS, &flags) < 0)
        return;
    flags |= FS_TOPDIR_FL;
    (void)ioctl(folder, FS_IOC_SETFLAGS, &flags);
}

int keep_open_directory(struct keeper *keeper, const char *path, struct err *err)
{
    struct stat about;

    if (mkdir(path, MODE_OWN) < 0 && errno != EEXIST)
        return err_set(err, err_from_errno(errno), "cannot create the directory: %s",
                       err_errno_text(errno));
    keeper->directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (keeper->directory < 0 || fstat(keeper->directory, &about) < 0)
        return err_set(err, err_from_errno(errno), "cannot open the directory: %s",
                       err_errno_text(errno));
    if (about.st_uid != geteuid() || (about.st_mode & 077U) != 0)
        return err_set(err, ERR_PERMISSION_DENIED,
                       "the directory must belong to the service's user, with mode 0700");
    keeper->lock =
        openat(keeper->directory, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (keeper->lock < 0 || flock(keeper->lock, LOCK_EX | LOCK_NB) < 0)
        return err_set(err, ERR_BUSY, "another service uses this directory");
    keeper->rooms = make_folder(keeper->directory, rooms_folder, MODE_OWN);
    keeper->layers = make_folder(keeper->directory, layers_folder, MODE_OWN);
    keeper->trash = make_folder(keeper->directory, trash_folder, MODE_OWN);
    keeper->disks = make_folder(keeper->directory, disks_folder, MODE_OWN);
    if (keeper->trash >= 0 && keep_has_name(keeper->directory, fresh_folder))
        (void)keep_throw_away(keeper, keeper->directory, fresh_folder); /* of one who was killed */
    keeper->fresh = make_folder(keeper->directory, fresh_folder, MODE_OWN);
    spread_folders(keeper->fresh);
    spread_folders(keeper->rooms);
    keeper->usr = open("/usr", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (keeper->rooms < 0 || keeper->layers < 0 || keeper->trash < 0 || keeper->disks < 0 ||
        keeper->fresh < 0 || keeper->usr < 0)
        return err_set(err, err_from_errno(errno), "cannot create the directory: %s",
                       err_errno_text(errno));
    return 0;
}

static bool is_empty(int folder)
{
    int copy = keep_open_folder(folder, ".");
    cleanup_dir DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;

    /* NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is this function's own */
    for (const struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            return false;
    return dir != NULL;
}

/* Which range the files have, as text; "" if none was noted. */
static void read_note(const struct keeper *keeper, char *out_text, size_t size)
{
    cleanup_fd int fd = openat(keeper->directory, range_note, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    ssize_t got = fd >= 0 ? read(fd, out_text, size - 1) : 0;

    out_text[got > 0 ? got : 0] = '\0';
}

int keep_fits_range(struct keeper *keeper, bool has_range, struct err *err)
{
    const bool is_new = is_empty(keeper->rooms) && is_empty(keeper->layers);
    char wanted[64] = "";
    char noted[64];
    cleanup_fd int fd = -1;

    if (has_range)
        snprintf(wanted, sizeof(wanted), "%u %u\n", keeper->first_uid, keeper->first_gid);
    read_note(keeper, noted, sizeof(noted));
    if (strcmp(wanted, noted) == 0)
        return has_range;
    if (!is_new && noted[0] != '\0')
        return err_set(err, ERR_UNSUPPORTED,
                       "the sandboxes in the directory have user ids that this user does not have "
                       "any more (/etc/subuid, /etc/subgid, package uidmap)");
    /* What was made without a range stays without. */
    if (!is_new)
        return 0;
    (void)unlinkat(keeper->directory, range_note, 0);
    if (!has_range)
        return 0;
    fd = openat(keeper->directory, range_note, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    return fd >= 0 && write(fd, wanted, strlen(wanted)) == (ssize_t)strlen(wanted)
               ? 1
               : err_set(err, err_from_errno(errno), "cannot note the range of user ids: %s",
                         err_errno_text(errno));
}
