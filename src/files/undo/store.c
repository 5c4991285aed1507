/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the log keeps what changes remove: a temporary workspace, which the authority removes with
 * its scope or sweeps at the next start. Its own kind would restrict all modes to the owner's, so a
 * second grant for the same directory, of kind workspace, does the work; nobody else can enter the
 * directory, which is 0700.
 */
#include "files/undo/internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char reason[] = "stores what a change replaces, for undo";

/* ---- the place ---- */

struct path_search {
    uint64_t grant;
    char path[PATH_MAX]; /* "" if there is none */
};

static void find_path(void *data, const struct authority_grant *grant)
{
    struct path_search *search = data;

    if (grant->id == search->grant && grant->root.path != NULL)
        snprintf(search->path, sizeof(search->path), "%s", grant->root.path);
}

int undo_store_open(struct undo_log *log, struct authority *authority, struct err *err)
{
    static const struct authority_subject subject = {.type = AUTHORITY_CORE, .id = "undo"};
    struct path_search search = {0};
    struct authority_stat about;
    int r = authority_create_temp(authority, &subject, reason, &log->temp, err);

    if (r < 0)
        return r;
    search.grant = authority_scope_grant(log->temp);
    authority_grants(authority, find_path, &search);
    /* In memory there is no path, and then only the owner's modes are kept. */
    log->store = log->temp;
    if (search.path[0] == '\0')
        return 0;
    r = authority_request_root(
        authority,
        &(struct authority_request){
            .subject = subject,
            .root = {.kind = AUTHORITY_WORKSPACE, .id = "undo", .path = search.path},
            .access = AUTHORITY_ALL_ACCESS,
            .reason = reason,
            .source = AUTHORITY_FROM_CORE,
            .limits = {.symlinks = AUTHORITY_SYMLINKS_REJECT},
        },
        &log->store, err);
    if (r == 0)
        r = authority_stat(log->store, STR_EMPTY, &about, err);
    if (r < 0) {
        undo_store_close(log);
        return r;
    }
    log->store_device = about.device;
    return 0;
}

void undo_store_close(struct undo_log *log)
{
    if (log->store != log->temp)
        authority_scope_free(log->store);
    authority_scope_free(log->temp);
    log->store = NULL;
    log->temp = NULL;
}

/* ---- slots ---- */

static struct str slot_name(uint64_t slot, char out_text[UNDO_SLOT_BYTES])
{
    int len = snprintf(out_text, UNDO_SLOT_BYTES, "%" PRIu64, slot);

    return (struct str){out_text, (size_t)len};
}

static uint64_t cost_of(const struct undo_measure *measure)
{
    return measure->bytes + measure->entries * UNDO_ENTRY_BYTES;
}

bool undo_store_has_room(struct undo_log *log, const struct undo_measure *measure)
{
    uint64_t left;
    char why[UNDO_NOTE_BYTES];

    do {
        /* A file may have grown between the look at it and its reading. */
        left = log->kept_bytes < log->max_bytes ? log->max_bytes - log->kept_bytes : 0;
        if (cost_of(measure) <= left)
            return true;
    } while (cost_of(measure) <= log->max_bytes && undo_forget_waiting(log));
    snprintf(why, sizeof(why),
             "cannot be undone: it has %" PRIu64 " bytes, and of the %" PRIu64
             " for undo data %" PRIu64 " are left",
             measure->bytes, log->max_bytes, left);
    undo_set_lost(log->open, why);
    return false;
}

static void hold(struct undo_log *log, struct undo_step *step, uint64_t slot,
                 const struct undo_measure *measure)
{
    step->slot = slot;
    step->slot_bytes = cost_of(measure);
    step->is_slot_tree = measure->is_directory;
    step->is_slot_near = measure->device == log->store_device;
    log->kept_bytes += step->slot_bytes;
}

static void remove_slot(struct undo_log *log, struct str name)
{
    static const struct authority_remove_options all = {.is_recursive = true, .may_miss = true};

    /* What cannot be removed now goes with the workspace. */
    (void)authority_remove(log->store, name, &all, NULL);
}

void undo_store_drop(struct undo_log *log, struct undo_step *step)
{
    char text[UNDO_SLOT_BYTES];

    if (step->slot == 0)
        return;
    if (step->held != NULL)
        log->held_bytes -= step->slot_bytes;
    else if (log->store != NULL)
        remove_slot(log, slot_name(step->slot, text));
    free(step->held);
    step->held = NULL;
    log->kept_bytes -= step->slot_bytes;
    step->slot = 0;
    step->slot_bytes = 0;
}

/* Unchanged: by a rename on the folder's file system, else by an exact copy. */
static struct authority_move_options as_it_is(const struct cancel *cancel)
{
    return (struct authority_move_options){.may_rename = true, .is_exact = true, .cancel = cancel};
}

bool undo_store_can_hold(const struct undo_log *log, const struct undo_measure *measure)
{
    /* A mode with more than the usual bits may not survive being written to. */
    return measure->bytes <= UNDO_HELD_FILE_BYTES &&
           log->held_bytes + measure->bytes <= UNDO_HELD_BYTES && (measure->mode & 07000) == 0;
}

int undo_store_hold(struct undo_log *log, struct undo_step *step,
                    const struct undo_measure *measure, const struct cancel *cancel)
{
    const struct authority_read_options options = {.cancel = cancel};
    int r;

    buf_clear(&log->scratch);
    r = buf_reserve(&log->scratch, measure->bytes);
    if (r == 0)
        r = authority_read_bytes(log->files, step->name, &options, &log->scratch, NULL);
    /* What will be there instead is not known here, so all of it is kept. */
    return r < 0 ? r : undo_hold(log, step, buf_view(&log->scratch), STR_EMPTY);
}

int undo_store_copy(struct undo_log *log, struct undo_step *step,
                    const struct undo_measure *measure, const struct cancel *cancel)
{
    const struct authority_move_options options = as_it_is(cancel);
    char text[UNDO_SLOT_BYTES];
    uint64_t slot = ++log->last_slot;
    int r = authority_copy_in(log->store, slot_name(slot, text), log->files, step->name, &options,
                              NULL);

    if (r == 0)
        hold(log, step, slot, measure);
    return r;
}

/* ---- taking ---- */

struct refill {
    struct undo_log *log;
    struct str top;  /* in the files */
    struct str slot; /* in the store */
    struct authority_move_options options;
    int result;
};

/* Restores what is missing in the files from the store, whole subtrees at once. */
static int refill_entry(void *data, const struct authority_entry *entry)
{
    struct refill *refill = data;
    char target[PATH_MAX];
    char source[PATH_MAX];
    struct authority_stat about;
    int r;

    if (snprintf(target, sizeof(target), "%.*s/%.*s", STR_ARG(refill->top), STR_ARG(entry->name)) >=
            (int)sizeof(target) ||
        snprintf(source, sizeof(source), "%.*s/%.*s", STR_ARG(refill->slot),
                 STR_ARG(entry->name)) >= (int)sizeof(source))
        return ERR_INVALID_PATH;
    r = authority_stat(refill->log->files, str_from(target), &about, NULL);
    if (r != ERR_NOT_FOUND)
        return r == 0 && about.type == AUTHORITY_DIRECTORY ? 0 : AUTHORITY_WALK_SKIP;
    r = authority_move_in(refill->log->files, str_from(target), refill->log->store,
                          str_from(source), &refill->options, NULL);
    if (r < 0 && refill->result == 0)
        refill->result = r;
    return AUTHORITY_WALK_SKIP;
}

/* The store has everything, and the original is gone or partly gone: restores it. */
static int refill(struct undo_log *log, struct str name, struct str slot)
{
    struct refill refill = {.log = log, .top = name, .slot = slot, .options = as_it_is(NULL)};
    struct authority_stat about;
    int r = authority_stat(log->files, name, &about, NULL);

    if (r == ERR_NOT_FOUND)
        return authority_move_in(log->files, name, log->store, slot, &refill.options, NULL);
    if (r < 0 || about.type != AUTHORITY_DIRECTORY)
        return r;
    r = authority_walk(log->store, slot, NULL, refill_entry, &refill, NULL);
    return r < 0 ? r : refill.result;
}

int undo_store_take(struct undo_log *log, struct undo_step *step,
                    const struct undo_measure *measure, const struct cancel *cancel,
                    bool *out_is_removal, struct err *err)
{
    const struct authority_move_options options = as_it_is(cancel);
    char text[UNDO_SLOT_BYTES];
    uint64_t slot = ++log->last_slot;
    struct str name = slot_name(slot, text);
    bool is_kept = false;
    int r;

    /* Before much is copied for nothing. */
    if (measure->has_others && measure->device != log->store_device)
        return err_set_plain(err, ERR_SYMLINK_REJECTED);
    r = authority_move_in(log->store, name, log->files, step->name, &options, err);
    if (r == 0) {
        hold(log, step, slot, measure);
        return 0;
    }
    *out_is_removal = authority_exists(log->store, name, &is_kept, NULL) < 0 || is_kept;
    if (!*out_is_removal)
        return r;
    /* Another process has changed or removed it meanwhile: nothing to restore. */
    if (r != ERR_BUSY && r != ERR_NOT_FOUND && refill(log, step->name, name) < 0) {
        /* Both are needed now: the rest here, the whole there. */
        hold(log, step, slot, measure);
        step->is_partial = true;
        return err_set(err, r,
                       "%s; part of it was removed and could not be restored: undo_changes has a "
                       "complete copy",
                       err_text(r));
    }
    remove_slot(log, name);
    return r;
}

/* ---- giving back ---- */

/*
 * After an error: whether the object is in its place all the same, and only what follows failed,
 * the removal of the copy or a last sync.
 */
static bool is_given_back(struct undo_log *log, const struct undo_step *step, struct str slot,
                          int code)
{
    bool is_kept = true;
    bool is_there = false;

    if (code == ERR_ALREADY_EXISTS || code == ERR_NOT_EMPTY)
        return false;
    return (authority_exists(log->store, slot, &is_kept, NULL) == 0 && !is_kept) ||
           (step->is_slot_tree && authority_exists(log->files, step->name, &is_there, NULL) == 0 &&
            is_there);
}

static int give_back(struct undo_log *log, struct undo_step *step, bool may_replace,
                     const struct cancel *cancel, struct err *err)
{
    struct authority_move_options options = as_it_is(cancel);
    char text[UNDO_SLOT_BYTES];
    struct str slot = slot_name(step->slot, text);
    int r;

    if (step->held != NULL) {
        r = undo_held_give_back(log, step, cancel, err);
        if (r == 0)
            undo_store_drop(log, step);
        return r;
    }
    options.may_replace = may_replace;
    /* A file that must be copied is complete once it is there. */
    if (step->is_slot_near || step->is_slot_tree)
        r = authority_move_in(log->files, step->name, log->store, slot, &options, err);
    else
        r = authority_copy_in(log->files, step->name, log->store, slot, &options, err);
    if (r < 0 && !is_given_back(log, step, slot, r))
        return r;
    undo_store_drop(log, step);
    return 0;
}

int undo_store_restore(struct undo_log *log, struct undo_step *step, const struct cancel *cancel,
                       struct err *err)
{
    char text[UNDO_SLOT_BYTES];
    int r;

    if (!step->is_partial)
        return give_back(log, step, false, cancel, err);
    r = refill(log, step->name, slot_name(step->slot, text));
    if (r < 0)
        return err_set_plain(err, r);
    undo_store_drop(log, step);
    return 0;
}

int undo_store_replace(struct undo_log *log, struct undo_step *step, const struct cancel *cancel,
                       struct err *err)
{
    return give_back(log, step, true, cancel, err);
}

/* ---- removing what was made ---- */

/* The same object with the same content; a rename changes ctime. */
static bool is_same_file(const struct authority_stat *a, const struct authority_stat *b)
{
    return a->type == b->type && a->device == b->device && a->inode == b->inode &&
           a->size == b->size && a->mode == b->mode && a->modified_ms == b->modified_ms &&
           a->modified_ns == b->modified_ns;
}

/* The object that was removed belongs to someone else: puts it back. */
static int return_file(struct undo_log *log, struct undo_step *step, uint64_t slot,
                       const struct undo_measure *measure, struct err *err)
{
    const struct authority_move_options options = as_it_is(NULL);
    char text[UNDO_SLOT_BYTES];

    if (authority_move_in(log->files, step->name, log->store, slot_name(slot, text), &options,
                          NULL) < 0) {
        hold(log, step, slot, measure);
        step->kind = UNDO_GONE;
    }
    return err_set(err, ERR_BUSY, "somebody else has changed it just now");
}

int undo_store_discard(struct undo_log *log, struct undo_step *step, const struct cancel *cancel,
                       struct err *err)
{
    struct authority_move_options options = as_it_is(cancel);
    char text[UNDO_SLOT_BYTES];
    struct undo_measure measure = {0};
    struct authority_stat before;
    struct authority_stat taken;
    bool is_taken = false;
    uint64_t slot;
    int r = authority_stat(log->files, step->name, &before, err);

    if (r == 0)
        r = undo_measure(log, step->name, false, &measure);
    if (r < 0)
        return err_set_plain(err, r);
    if (measure.print != step->now)
        return err_set(err, ERR_BUSY, "somebody else has changed it just now");
    slot = ++log->last_slot;
    /* A copy would cost more than the moment is worth, and be another file. */
    options.only_renames = true;
    r = before.device == log->store_device
            ? authority_move_in(log->store, slot_name(slot, text), log->files, step->name, &options,
                                err)
            : ERR_CROSS_DEVICE;
    if (r == ERR_CROSS_DEVICE)
        return authority_remove(log->files, step->name,
                                &(struct authority_remove_options){.cancel = cancel}, err);
    /* It may have been moved all the same, and only what follows failed. */
    if (r < 0 &&
        (authority_exists(log->store, slot_name(slot, text), &is_taken, NULL) < 0 || !is_taken))
        return r;
    if (authority_stat(log->store, slot_name(slot, text), &taken, NULL) < 0 ||
        !is_same_file(&before, &taken))
        return return_file(log, step, slot, &measure, err);
    remove_slot(log, slot_name(slot, text));
    return 0;
}
