/* SPDX-License-Identifier: Apache-2.0 */
/* Takes an apply back: its steps from the last to the first. */
#include "copies/apply_internal.h"

#include <string.h>

#include "base/cleanup.h"

/* What became of a step. */
enum back { BACK_DONE, BACK_NOTHING, BACK_LEFT };

/* What the project has under a name: nothing, or something with this digest. */
struct present {
    bool exists;
    bool is_file;
    unsigned char digest[SHA256_BYTES];
};

static int look(const struct copies_applying *applying, struct authority_scope *scope,
                struct str name, struct present *out_present, struct err *err)
{
    struct authority_stat about;
    int r = authority_stat(scope, name, &about, err);

    *out_present = (struct present){.exists = r != ERR_NOT_FOUND};
    if (r == ERR_NOT_FOUND)
        return 0;
    if (r < 0 || about.type != AUTHORITY_FILE)
        return r;
    r = copies_digest(scope, name, &about, applying->workspace->cancel, out_present->digest, err);
    out_present->is_file = r == 0;
    return r == ERR_BUSY ? 0 : r;
}

static bool has_digest(const struct present *present, const unsigned char digest[SHA256_BYTES])
{
    return present->is_file && memcmp(present->digest, digest, SHA256_BYTES) == 0;
}

static int bring_back(const struct copies_applying *applying, const struct apply_step *step,
                      struct str kept, enum back *out_back, struct err *err)
{
    const struct authority_move_options options = {
        .may_replace = true, .is_exact = true, .cancel = applying->workspace->cancel};
    struct present kept_one;
    struct present present;
    int r = look(applying, applying->store->records, kept, &kept_one, err);

    /* It was killed before. */
    if (r < 0 || !kept_one.exists)
        return r;
    r = look(applying, applying->workspace->project, step->name, &present, err);
    if (r < 0)
        return r;
    if (!has_digest(&present, step->digest)) {
        /* Killed between keeping it and replacing it, or somebody has put it back. */
        *out_back = has_digest(&present, kept_one.digest) ? BACK_NOTHING : BACK_LEFT;
        return 0;
    }
    *out_back = BACK_DONE;
    return authority_copy_in(applying->workspace->project, step->name, applying->store->records,
                             kept, &options, err);
}

static int remove_added(const struct copies_applying *applying, const struct apply_step *step,
                        enum back *out_back, struct err *err)
{
    struct present present;
    int r = look(applying, applying->workspace->project, step->name, &present, err);

    if (r < 0 || !present.exists)
        return r;
    *out_back = has_digest(&present, step->digest) ? BACK_DONE : BACK_LEFT;
    return *out_back == BACK_DONE
               ? authority_remove(applying->workspace->project, step->name, NULL, err)
               : 0;
}

static int move_back(const struct copies_applying *applying, const struct apply_step *step,
                     struct str kept, enum back *out_back, struct err *err)
{
    const struct authority_move_options options = {.make_parents = true,
                                                   .may_rename = true,
                                                   .is_exact = true,
                                                   .cancel = applying->workspace->cancel};
    struct present kept_one;
    struct present present;
    int r = look(applying, applying->store->records, kept, &kept_one, err);

    if (r < 0 || !kept_one.exists)
        return r;
    r = look(applying, applying->workspace->project, step->name, &present, err);
    if (r < 0)
        return r;
    if (present.exists) {
        /* Killed while it was moved to another file system, or somebody has put it back. */
        *out_back =
            kept_one.is_file && has_digest(&present, kept_one.digest) ? BACK_NOTHING : BACK_LEFT;
        return 0;
    }
    *out_back = BACK_DONE;
    return authority_move_in(applying->workspace->project, step->name, applying->store->records,
                             kept, &options, err);
}

static int undo_step(const struct copies_applying *applying, const struct apply_plan *plan,
                     size_t index, enum back *out_back, struct err *err)
{
    const struct authority_mkdir_options making = {.may_exist = true};
    const struct apply_step *step = &plan->steps[index];
    struct authority_scope *project = applying->workspace->project;
    char path[APPLY_PATH_BYTES];
    struct str kept = apply_kept(applying, plan->number, index, path);

    *out_back = BACK_NOTHING;
    switch (step->kind) {
    case APPLY_DELETE:
        return move_back(applying, step, kept, out_back, err);
    case APPLY_REMOVE_DIRECTORY:
        *out_back = BACK_DONE;
        return authority_mkdir(project, step->name, &making, err);
    case APPLY_MAKE_PARENT:
    case APPLY_MAKE_DIRECTORY:
        /* Whatever else is in it by now keeps it. */
        if (authority_remove(project, step->name, NULL, NULL) == 0 &&
            step->kind == APPLY_MAKE_DIRECTORY)
            *out_back = BACK_DONE;
        return 0;
    case APPLY_ADD:
        return remove_added(applying, step, out_back, err);
    case APPLY_REPLACE:
        return bring_back(applying, step, kept, out_back, err);
    case APPLY_KINDS:
        break;
    }
    return ERR_INTERNAL;
}

static int undo_all(const struct copies_applying *applying, const struct apply_plan *plan,
                    size_t *out_done, struct err *err)
{
    cleanup_record struct copies_record fresh = COPIES_RECORD_INIT;
    int r = 0;

    for (size_t i = plan->count; i-- > 0 && r == 0;) {
        struct err why = ERR_INIT;
        enum back back;

        r = undo_step(applying, plan, i, &back, &why);
        if (r == 0 && back == BACK_LEFT)
            applying->told(applying->data, plan->steps[i].name,
                           "it has changed since, and stays as it is");
        if (r == 0)
            *out_done += back == BACK_DONE;
        else if (apply_may_go_on(r))
            applying->told(applying->data, plan->steps[i].name,
                           why.code != 0 ? why.message : err_text(r));
        if (r == 0)
            r = apply_note(applying->workspace->record, &fresh, applying->workspace->project,
                           plan->steps[i].name);
        if (r < 0 && !apply_may_go_on(r))
            return err_set(err, r, "%s", why.code != 0 ? why.message : err_text(r));
        r = 0;
    }
    return apply_save(applying, &fresh, err);
}

static int read_plan(const struct copies_applying *applying, struct apply_plan *plan,
                     struct err *err)
{
    cleanup_buf struct buf text = BUF_INIT(APPLY_PLAN_BYTES);
    char path[APPLY_PATH_BYTES];
    int r = apply_find_last(applying, &plan->number, err);

    if (r < 0)
        return r;
    if (plan->number == 0)
        return err_set(err, ERR_NOT_FOUND,
                       "nothing of this workspace was applied that could be "
                       "taken back");
    r = authority_read_bytes(applying->store->records,
                             apply_path(applying, plan->number, "plan", path), NULL, &text, err);
    /* Killed before it was written, so before anything was done. */
    if (r == ERR_NOT_FOUND)
        return 0;
    if (r == 0)
        r = apply_plan_parse(buf_view(&text), plan);
    return r == ERR_STATE_INVALID ? err_set(err, r, "the notes for undo are damaged") : r;
}

int copies_undo(const struct copies_applying *applying, size_t *out_done, struct err *err)
{
    const struct authority_remove_options all = {.is_recursive = true, .may_miss = true};
    cleanup_plan struct apply_plan plan = APPLY_PLAN_INIT;
    char path[APPLY_PATH_BYTES];
    int r = read_plan(applying, &plan, err);

    *out_done = 0;
    if (r == 0)
        r = undo_all(applying, &plan, out_done, err);
    return r == 0 ? authority_remove(applying->store->records,
                                     apply_path(applying, plan.number, NULL, path), &all, err)
                  : r;
}

bool copies_can_undo(const struct copies_applying *applying)
{
    unsigned number = 0;

    return apply_find_last(applying, &number, NULL) == 0 && number > 0;
}
