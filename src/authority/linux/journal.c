/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The journal of names that must not outlive us. It is a shared mapping: what was stored before a
 * kill -9 is in the file, without a system call. After a power cut, the file is as old as the
 * kernel's last write-back.
 *
 * Workspaces are not in it, since they stay and may be many. They are in a directory below temp/
 * that has the journal's name, created after the journal and removed before it; whoever finds an
 * orphaned journal finds them too.
 *
 * The lock belongs to the open file, not to the process: a forked child that never execs holds it
 * too, and delays the sweep until it ends.
 */
#include "authority/linux/journal_internal.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"

/* The states of a dead process are read; storing them must not need a lock. */
_Static_assert(ATOMIC_INT_LOCK_FREE == 2, "states are stored without a lock");
_Static_assert(sizeof(LINUX_TEMP_START) + LINUX_TEMP_RANDOM <= LINUX_TEMP_NAME_BYTES, "name fits");
_Static_assert(sizeof(JOURNAL_PREFIX) + LINUX_TEMP_RANDOM <= JOURNAL_NAME_BYTES, "name fits");

enum {
    /* A sweep may take a journal that is not locked yet; then another is made. */
    CREATE_ATTEMPTS = 16,
    DROP_MAX_ENTRIES = 10000000,
    /* So long the path of a directory holds, unless we move something ourselves. */
    PATH_FRESH_MS = 20,
    /* Removed before the first answer; slow disks take milliseconds for each. */
    START_MAX_ENTRIES = 64,
    /* Slots with disk space from the start: as many as calls that come one by one ever use. */
    BACKED_FILE_SLOTS = 4,
    BACKED_TREE_SLOTS = 1,
};

struct linux_journal {
    int state_fd;
    int temp_fd;       /* holds everybody's directories of workspaces */
    int workspaces_fd; /* our own */
    int fd;            /* locked */
    pid_t owner;       /* a forked child must not remove its parent's file */
    atomic_uint workspaces;
    atomic_uint moves;
    /* When the path in a slot was read; belongs to the owner of the slot. */
    struct {
        int64_t at_ms;
        unsigned moves;
        bool is_backed; /* the slot has disk space */
    } read[JOURNAL_SLOTS];
    atomic_bool has_leftovers; /* of other processes, which a sweep would remove */
    struct journal_image *image;
    char name[JOURNAL_NAME_BYTES];
};

/* ---- names ---- */

static const char alphabet[32] = "abcdefghijklmnopqrstuvwxyz234567";

static atomic_int known_pid; /* 0: not known, as after a fork */

static void forget_pid(void)
{
    atomic_store_explicit(&known_pid, 0, memory_order_relaxed);
}

static void watch_forks(void)
{
    /* Without memory for it, a child has its parent's; then O_EXCL keeps their files apart. */
    (void)pthread_atfork(NULL, NULL, forget_pid);
}

/* For each temporary name, so not by a system call each time. */
static pid_t own_pid(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    int pid = atomic_load_explicit(&known_pid, memory_order_relaxed);

    if (pid != 0)
        return pid;
    pthread_once(&once, watch_forks);
    pid = getpid();
    atomic_store_explicit(&known_pid, pid, memory_order_relaxed);
    return pid;
}

/*
 * 120 bits, case-insensitive, unguessable without this process's key. Its children have the key
 * too, but another pid.
 */
static void random_text(char out_text[LINUX_TEMP_RANDOM + 1])
{
    static atomic_uint_fast64_t count;
    uint64_t facts[] = {atomic_fetch_add_explicit(&count, 1, memory_order_relaxed),
                        (uint64_t)own_pid(), 0};
    uint64_t bits = 0;

    for (size_t i = 0; i < LINUX_TEMP_RANDOM; i++) {
        if (i % 12 == 0) {
            facts[2] = i;
            bits = hash_str(hash_process_key(), (struct str){(const char *)facts, sizeof(facts)});
        }
        out_text[i] = alphabet[bits % sizeof(alphabet)];
        bits /= sizeof(alphabet);
    }
    out_text[LINUX_TEMP_RANDOM] = '\0';
}

void linux_temp_name(char out_name[LINUX_TEMP_NAME_BYTES])
{
    memcpy(out_name, LINUX_TEMP_START, sizeof(LINUX_TEMP_START));
    random_text(out_name + sizeof(LINUX_TEMP_START) - 1);
}

/* Not by a search in it: every staged file is checked. */
static bool is_of_alphabet(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '2' && c <= '7');
}

bool linux_is_temp_name(struct str name)
{
    const struct str start = STR(LINUX_TEMP_START);

    if (name.len != start.len + LINUX_TEMP_RANDOM || !str_starts_with(name, start))
        return false;
    for (size_t i = start.len; i < name.len; i++)
        if (!is_of_alphabet(name.ptr[i]))
            return false;
    return true;
}

/* ---- opening and closing ---- */

static int back_bytes(int fd, size_t from, size_t len)
{
    int r;

    do {
        r = posix_fallocate(fd, (off_t)from, (off_t)len);
    } while (r == EINTR);
    return r == 0 ? 0 : linux_error(r);
}

/*
 * Allocates disk space for slots before anything is stored there: a store into a hole of a full
 * disk would be a SIGBUS. All of it at the start would take longer than the rest of opening.
 */
static int back_slots(int fd, size_t first, size_t count)
{
    const size_t slot_bytes = sizeof(struct journal_slot);
    const size_t swap_bytes = sizeof(struct journal_swap);
    int r = back_bytes(fd, offsetof(struct journal_image, slots) + first * slot_bytes,
                       count * slot_bytes);

    if (r == 0 && first < JOURNAL_FILE_SLOTS)
        r = back_bytes(fd, offsetof(struct journal_image, swaps) + first * swap_bytes,
                       count * swap_bytes);
    return r;
}

static int map_image(int fd, struct journal_image **out_image)
{
    struct journal_image *image;
    int r = ftruncate(fd, sizeof(*image)) < 0 ? linux_error(errno) : 0;

    if (r == 0)
        r = back_bytes(fd, 0, offsetof(struct journal_image, slots));
    if (r == 0)
        r = back_slots(fd, 0, BACKED_FILE_SLOTS);
    if (r == 0)
        r = back_slots(fd, JOURNAL_FILE_SLOTS, BACKED_TREE_SLOTS);
    if (r < 0)
        return r;
    image = mmap(NULL, sizeof(*image), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (image == MAP_FAILED)
        return linux_error(errno);
    memcpy(image->magic, JOURNAL_MAGIC, sizeof(image->magic));
    image->version = JOURNAL_VERSION;
    image->slot_count = JOURNAL_SLOTS;
    image->slot_bytes = sizeof(image->slots[0]);
    *out_image = image;
    return 0;
}

/*
 * A file gets its name once it is locked and initialised. Under its first name a sweep may still
 * remove it; ERR_BUSY then, for another try.
 */
static int create_file(struct linux_journal *journal)
{
    char random[LINUX_TEMP_RANDOM + 1];
    char fresh[JOURNAL_NAME_BYTES];
    char name[JOURNAL_NAME_BYTES];
    struct journal_image *image = NULL;
    cleanup_fd int fd = -1;
    int r;

    random_text(random);
    snprintf(fresh, sizeof(fresh), JOURNAL_FRESH "%s", random);
    snprintf(name, sizeof(name), JOURNAL_PREFIX "%s", random);
    fd = openat(journal->state_fd, fresh, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return linux_error(errno);
    if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        if (errno == EWOULDBLOCK)
            return ERR_BUSY;
        r = linux_error(errno);
    } else {
        r = map_image(fd, &image);
    }
    if (r == 0 && renameat(journal->state_fd, fresh, journal->state_fd, name) < 0)
        r = errno == ENOENT ? ERR_BUSY : linux_error(errno);
    if (r < 0) {
        if (image != NULL)
            munmap(image, sizeof(*image));
        unlinkat(journal->state_fd, fresh, 0);
        return r;
    }
    for (size_t i = 0; i < BACKED_FILE_SLOTS; i++)
        journal->read[i].is_backed = true;
    for (size_t i = 0; i < BACKED_TREE_SLOTS; i++)
        journal->read[JOURNAL_FILE_SLOTS + i].is_backed = true;
    journal->fd = steal_fd(&fd);
    journal->image = image;
    memcpy(journal->name, name, sizeof(name));
    return 0;
}

void linux_journal_sweep(struct linux_journal *journal, uint64_t max_entries,
                         const struct cancel *cancel)
{
    bool has_more = linux_sweep(journal->state_fd, journal->temp_fd, &max_entries, cancel);

    atomic_store(&journal->has_leftovers, has_more);
}

bool linux_journal_has_leftovers(const struct linux_journal *journal)
{
    return atomic_load(&journal->has_leftovers);
}

int linux_journal_open(const char *state_dir, struct linux_journal **out_journal, struct err *err)
{
    struct linux_journal *journal = malloc(sizeof(*journal));
    int r;

    if (journal == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    *journal = (struct linux_journal){
        .state_fd = -1, .temp_fd = -1, .workspaces_fd = -1, .fd = -1, .owner = getpid()};
    r = linux_open_private(AT_FDCWD, state_dir, 0, &journal->state_fd, err);
    if (r == 0)
        r = linux_open_private(journal->state_fd, "temp", O_NOFOLLOW, &journal->temp_fd, err);
    if (r == 0) {
        linux_journal_sweep(journal, START_MAX_ENTRIES, NULL);
        r = ERR_BUSY;
        for (int i = 0; r == ERR_BUSY && i < CREATE_ATTEMPTS; i++)
            r = create_file(journal);
        if (r < 0)
            err_set_field(err, r, "state_dir", "cannot create the journal: %s", err_text(r));
    }
    if (r == 0)
        r = linux_open_private(journal->temp_fd, journal->name, O_NOFOLLOW, &journal->workspaces_fd,
                               err);
    if (r < 0) {
        linux_journal_close(journal);
        return r;
    }
    *out_journal = journal;
    return 0;
}

static bool is_in_use(const struct journal_image *image)
{
    for (size_t i = 0; i < JOURNAL_SLOTS; i++)
        if (atomic_load_explicit(&image->states[i], memory_order_acquire) != JOURNAL_FREE)
            return true;
    return false;
}

static void close_if_open(int fd)
{
    if (fd >= 0)
        close(fd);
}

/* What could not be removed stays in the journal for the next start. */
static void remove_files(const struct linux_journal *journal)
{
    if (unlinkat(journal->temp_fd, journal->name, AT_REMOVEDIR) < 0 && errno != ENOENT)
        return;
    if (!is_in_use(journal->image))
        unlinkat(journal->state_fd, journal->name, 0);
}

void linux_journal_close(struct linux_journal *journal)
{
    if (journal == NULL)
        return;
    if (journal->image != NULL) {
        if (journal->owner == getpid())
            remove_files(journal);
        munmap(journal->image, sizeof(*journal->image));
    }
    close_if_open(journal->fd);
    close_if_open(journal->workspaces_fd);
    close_if_open(journal->temp_fd);
    close_if_open(journal->state_fd);
    free(journal);
}

/* ---- slots ---- */

static int claim(struct journal_image *image, enum linux_leftover kind)
{
    int first = kind == LINUX_LEFTOVER_TREE ? JOURNAL_FILE_SLOTS : 0;
    int end = kind == LINUX_LEFTOVER_TREE ? JOURNAL_SLOTS : JOURNAL_FILE_SLOTS;

    for (int i = first; i < end; i++) {
        uint32_t expected = JOURNAL_FREE;

        if (atomic_compare_exchange_strong_explicit(&image->states[i], &expected, JOURNAL_CLAIMED,
                                                    memory_order_acquire, memory_order_relaxed))
            return i;
    }
    return LINUX_NO_SLOT;
}

static int read_path(struct journal_slot *slot, int dir_fd)
{
    char proc[32];
    ssize_t len;

    snprintf(proc, sizeof(proc), "/proc/self/fd/%d", dir_fd);
    len = readlink(proc, slot->path, sizeof(slot->path));
    if (len < 0)
        return errno == ENOENT ? ERR_UNSUPPORTED : linux_error(errno);
    if ((size_t)len >= sizeof(slot->path))
        return ERR_INVALID_PATH;
    slot->path[len] = '\0';
    /* A directory without a path from here could not be found again. */
    return slot->path[0] == '/' ? 0 : ERR_UNSUPPORTED;
}

static int identify(const struct linux_place *place, struct linux_identity *out_identity)
{
    struct stat about;
    int r;

    if (place->dir_identity != NULL) {
        *out_identity = *place->dir_identity;
        return 0;
    }
    r = linux_look(place->dir_fd, &about);
    if (r == 0)
        *out_identity = (struct linux_identity){about.st_dev, about.st_ino};
    return r;
}

/*
 * Stores the directory's present path; the sweep compares what it finds there. Getting the path is
 * the most expensive part of a small write, and the next one is often in the same directory.
 */
static int fill(struct linux_journal *journal, int index, const struct linux_place *place,
                const char *last, enum linux_leftover kind)
{
    struct journal_slot *slot = &journal->image->slots[index];
    unsigned moves = atomic_load(&journal->moves);
    int64_t now_ms = clock_monotonic_ms(&clock_system);
    struct linux_identity identity = {0};
    int r = identify(place, &identity);

    if (r < 0)
        return r;
    if (slot->device != identity.device || slot->inode != identity.inode ||
        journal->read[index].at_ms + PATH_FRESH_MS <= now_ms ||
        journal->read[index].moves != moves) {
        slot->inode = 0; /* none, should this fail */
        r = read_path(slot, place->dir_fd);
        if (r < 0)
            return r;
        journal->read[index].at_ms = now_ms;
        journal->read[index].moves = moves;
    }
    slot->device = identity.device;
    slot->inode = identity.inode;
    slot->kind = kind;
    memcpy(slot->last, last, strlen(last) + 1);
    return 0;
}

int linux_journal_add(struct linux_journal *journal, const struct linux_place *place,
                      const char *last, enum linux_leftover kind, int *out_slot)
{
    struct journal_image *image = journal->image;
    int slot = claim(image, kind);
    int r = 0;

    /* The sweep removes no other names. */
    assert(linux_is_temp_name(str_from(last)));
    if (slot == LINUX_NO_SLOT)
        return ERR_BUSY;
    if (!journal->read[slot].is_backed)
        r = back_slots(journal->fd, (size_t)slot, 1);
    journal->read[slot].is_backed = r == 0;
    if (r == 0 && slot < JOURNAL_FILE_SLOTS)
        atomic_store_explicit(&image->swaps[slot].leader, 0, memory_order_relaxed);
    if (r == 0)
        r = fill(journal, slot, place, last, kind);
    /* Release: whoever sees that it is used sees all of it. */
    atomic_store_explicit(&image->states[slot], r < 0 ? JOURNAL_FREE : JOURNAL_USED,
                          memory_order_release);
    if (r < 0)
        return r;
    *out_slot = slot;
    return 0;
}

void linux_journal_moved(struct linux_journal *journal)
{
    if (journal != NULL)
        atomic_fetch_add(&journal->moves, 1);
}

void linux_journal_remove(struct linux_journal *journal, int slot)
{
    assert(slot >= 0 && slot < JOURNAL_SLOTS);
    atomic_store_explicit(&journal->image->states[slot], JOURNAL_FREE, memory_order_release);
}

void linux_fill_print(const struct stat *about, struct journal_print *out_print)
{
    *out_print = (struct journal_print){
        .inode = about->st_ino,
        .size = (uint64_t)about->st_size,
        .modified_s = about->st_mtim.tv_sec,
        .modified_ns = about->st_mtim.tv_nsec,
    };
}

void linux_journal_note_swap(struct linux_journal *journal, int slot, int leader,
                             const char *target, const struct stat *old, const struct stat *new)
{
    struct journal_swap *swap = &journal->image->swaps[slot];

    assert(slot < JOURNAL_FILE_SLOTS && leader < JOURNAL_FILE_SLOTS);
    linux_fill_print(old, &swap->old);
    linux_fill_print(new, &swap->new);
    memcpy(swap->target, target, strlen(target) + 1);
    /* Release: whoever sees the leader sees all of it. */
    atomic_store_explicit(&swap->leader, (uint32_t)leader + 1, memory_order_release);
}

void linux_journal_commit(struct linux_journal *journal, int leader)
{
    atomic_store_explicit(&journal->image->swaps[leader].leader, 0, memory_order_release);
}

/* ---- temporary workspaces ---- */

static int make_workspace(const struct linux_journal *journal, struct backend_root *root)
{
    int r;

    linux_temp_name(root->place.last);
    if (mkdirat(journal->workspaces_fd, root->place.last, 0700) < 0)
        return linux_error(errno);
    root->fd = openat(journal->workspaces_fd, root->place.last,
                      O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    r = root->fd < 0 ? linux_error(errno) : linux_mount_id(root->fd, &root->mount_id);
    if (r < 0)
        unlinkat(journal->workspaces_fd, root->place.last, AT_REMOVEDIR);
    return r;
}

static void free_workspace(struct backend_root *root, bool is_gone)
{
    /* What is still there keeps counting, and the next start tries again. */
    if (is_gone)
        atomic_fetch_sub(&root->backend->journal->workspaces, 1);
    close_if_open(root->fd);
    free(root);
}

int linux_temp_make(struct backend *backend, struct backend_root **out_root)
{
    /* SAFETY: base is the first member. */
    struct linux_backend *linux_backend = (struct linux_backend *)backend;
    struct backend_root *root;
    int r;

    if (linux_backend->journal == NULL)
        return ERR_UNSUPPORTED;
    root = malloc(sizeof(*root));
    if (root == NULL)
        return ERR_NO_MEMORY;
    if (atomic_fetch_add(&linux_backend->journal->workspaces, 1) >= JOURNAL_MAX_WORKSPACES) {
        atomic_fetch_sub(&linux_backend->journal->workspaces, 1);
        free(root);
        return ERR_BUSY;
    }
    *root = (struct backend_root){
        .backend = linux_backend,
        .fd = -1,
        .place = LINUX_PLACE_INIT,
        .target = LINUX_PLACE_INIT,
        .journal_slot = LINUX_NO_SLOT,
    };
    r = make_workspace(linux_backend->journal, root);
    if (r < 0) {
        free_workspace(root, true);
        return r;
    }
    *out_root = root;
    return 0;
}

void linux_temp_drop(struct backend_root *root)
{
    uint64_t budget = DROP_MAX_ENTRIES;
    int r;

    if (root == NULL)
        return;
    r = linux_remove_held(root->backend->journal->workspaces_fd, root->place.last,
                          steal_fd(&root->fd), &budget);
    free_workspace(root, r == 0 || r == ERR_NOT_FOUND);
}
