/* SPDX-License-Identifier: Apache-2.0 */
#include "copies/apply.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hex.h"
#include "base/map.h"
#include "copies/apply_internal.h"

#define PLAN_FIRST_LINE "gatehouse-undo 1"

enum {
    FIRST_ROOM = 64,
    MAY_EXECUTE = 0111,
    FILE_MODE = 0777,
    /* Larger files are copied to the undo folder first, and moved from there. */
    MAX_WRITTEN_BYTES = 16 << 20,
};

static const char letters[] = {[APPLY_DELETE] = 'd',      [APPLY_REMOVE_DIRECTORY] = 'D',
                               [APPLY_MAKE_PARENT] = 'P', [APPLY_MAKE_DIRECTORY] = 'A',
                               [APPLY_ADD] = 'a',         [APPLY_REPLACE] = 'm'};

/* ---- plans ---- */

void apply_plan_done(struct apply_plan *plan)
{
    arena_regrow_free(&plan->arena, plan->steps);
    arena_done(&plan->arena);
    *plan = (struct apply_plan)APPLY_PLAN_INIT;
}

int apply_plan_add(struct apply_plan *plan, const struct apply_step *step)
{
    if (plan->count == APPLY_MAX_STEPS)
        return ERR_TOO_LARGE;
    if (plan->count == plan->room) {
        size_t room = plan->room > 0 ? 2 * plan->room : FIRST_ROOM;
        struct apply_step *grown = arena_regrow(&plan->arena, plan->steps, room * sizeof(*grown));

        if (grown == NULL)
            return plan->arena.error;
        plan->steps = grown;
        plan->room = room;
    }
    plan->steps[plan->count] = *step;
    if (!arena_copy_str(&plan->arena, step->name, &plan->steps[plan->count].name))
        return plan->arena.error;
    plan->count++;
    return 0;
}

int apply_plan_write(const struct apply_plan *plan, struct buf *out)
{
    int r = buf_printf(out, PLAN_FIRST_LINE "\n");

    for (size_t i = 0; i < plan->count && r == 0; i++) {
        char digest[2 * SHA256_BYTES + 1];

        hex_text(digest, plan->steps[i].digest, SHA256_BYTES);
        r = buf_printf(out, "%c %s ", letters[plan->steps[i].kind], digest);
        if (r == 0)
            r = copies_put_name(out, plan->steps[i].name);
        if (r == 0)
            r = buf_append_char(out, '\n');
    }
    return r == 0 ? buf_printf(out, "end\n") : r;
}

static bool take_kind(struct str letter, enum apply_kind *out_kind)
{
    for (enum apply_kind kind = APPLY_DELETE; kind < APPLY_KINDS; kind++)
        if (letter.len == 1 && letter.ptr[0] == letters[kind]) {
            *out_kind = kind;
            return true;
        }
    return false;
}

static bool take_digest(struct str text, unsigned char out_digest[SHA256_BYTES])
{
    if (text.len != 2 * (size_t)SHA256_BYTES || !hex_is_small(text))
        return false;
    for (size_t i = 0; i < SHA256_BYTES; i++)
        out_digest[i] = (unsigned char)hex_byte(text, 2 * i);
    return true;
}

static int parse_step(struct str line, struct apply_plan *plan)
{
    struct apply_step step = {.item = NULL};
    struct str letter;
    struct str digest;
    int r;

    if (!str_cut(&line, ' ', &letter) || !take_kind(letter, &step.kind) ||
        !str_cut(&line, ' ', &digest) || !take_digest(digest, step.digest) || line.ptr == NULL)
        return ERR_STATE_INVALID;
    r = copies_take_name(&plan->arena, line, &step.name);
    return r == 0 ? apply_plan_add(plan, &step) : r;
}

int apply_plan_parse(struct str text, struct apply_plan *out_plan)
{
    struct str line;
    int r;

    (void)str_cut(&text, '\n', &line);
    r = str_eq_c(line, PLAN_FIRST_LINE) ? 0 : ERR_STATE_INVALID;
    while (r == 0 && !str_eq(text, STR("end\n"))) {
        if (text.ptr == NULL)
            r = ERR_STATE_INVALID;
        else if (str_cut(&text, '\n', &line))
            r = parse_step(line, out_plan);
    }
    if (r < 0)
        apply_plan_done(out_plan);
    return r;
}

/* ---- where things are kept ---- */

struct str apply_path(const struct copies_applying *applying, unsigned number, const char *last,
                      char out_path[APPLY_PATH_BYTES])
{
    int len = snprintf(out_path, APPLY_PATH_BYTES, "%s.undo/%u%s%s", applying->name, number,
                       last != NULL ? "/" : "", last != NULL ? last : "");

    assert(len > 0 && len < APPLY_PATH_BYTES);
    return (struct str){out_path, (size_t)len};
}

struct str apply_kept(const struct copies_applying *applying, unsigned number, size_t index,
                      char out_path[APPLY_PATH_BYTES])
{
    char last[24];

    snprintf(last, sizeof(last), "%zu", index);
    return apply_path(applying, number, last, out_path);
}

static int find_number(void *data, const struct authority_entry *entry)
{
    unsigned *last = data;
    int64_t number;

    if (str_to_int64(entry->name, &number) && number > *last && number < UINT32_MAX)
        *last = (unsigned)number;
    return 0;
}

int apply_find_last(const struct copies_applying *applying, unsigned *out_number, struct err *err)
{
    char path[APPLY_PATH_BYTES];
    int r;

    *out_number = 0;
    snprintf(path, sizeof(path), "%s.undo", applying->name);
    r = authority_list(applying->store->records, str_from(path), NULL, find_number, out_number,
                       err);
    return r == ERR_NOT_FOUND ? 0 : r;
}

/* ---- the record ---- */

int apply_note(struct copies_record *record, struct copies_record *fresh,
               struct authority_scope *project, struct str name)
{
    struct copies_entry *entry = copies_record_find(record, name);
    struct copies_entry now = {.name = name, .type = AUTHORITY_FILE};
    struct authority_stat about;
    int r = authority_stat(project, name, &about, NULL);

    if (r < 0 && r != ERR_NOT_FOUND)
        return r;
    if (r == 0) {
        now.type = about.type;
        now.original = copies_print_of(&about);
    }
    if (entry == NULL)
        return now.original.is_there ? copies_record_add(fresh, &now) : 0;
    entry->original = now.original;
    return 0;
}

int apply_save(const struct copies_applying *applying, const struct copies_record *fresh,
               struct err *err)
{
    struct copies_record *record = applying->workspace->record;
    size_t old = record->count;
    int r = 0;

    for (size_t i = 0; i < fresh->count && r == 0; i++)
        r = copies_record_add(record, &fresh->entries[i]);
    if (r < 0)
        return err_set_plain(err, r);
    if (record->count > old)
        copies_record_sort(record);
    return copies_save(applying->store, applying->name, record, false, err);
}

/* ---- making a plan ---- */

bool copies_is_applicable(const struct copies_applying *applying,
                          const struct copies_difference *item)
{
    return item->refusal == NULL && (item->conflict == NULL || applying->overwrites);
}

static enum apply_kind kind_of(const struct copies_difference *item)
{
    if (item->change == COPIES_DELETED)
        return item->type == AUTHORITY_DIRECTORY ? APPLY_REMOVE_DIRECTORY : APPLY_DELETE;
    if (item->type == AUTHORITY_DIRECTORY)
        return APPLY_MAKE_DIRECTORY;
    return item->has_original ? APPLY_REPLACE : APPLY_ADD;
}

/* The directories above an added file that the project lacks, outer ones first. */
static int plan_parents(const struct copies_applying *applying, struct apply_plan *plan,
                        struct map *made, struct str name)
{
    for (size_t i = 1; i < name.len; i++) {
        struct apply_step step = {.kind = APPLY_MAKE_PARENT, .name = {name.ptr, i}};
        bool exists = false;
        int r = 0;

        if (name.ptr[i] != '/' || map_get(made, step.name) != NULL)
            continue;
        r = authority_exists(applying->workspace->project, step.name, &exists, NULL);
        /* What is wrong with it, the step for the file says. */
        if (r < 0 || exists)
            continue;
        r = apply_plan_add(plan, &step);
        /* The name stays where it is, whatever becomes of the array. */
        if (r == 0)
            r = map_add(made, plan->steps[plan->count - 1].name, made);
        if (r < 0)
            return r;
    }
    return 0;
}

static int plan_step(const struct copies_applying *applying, struct apply_plan *plan,
                     const struct copies_difference *item)
{
    struct apply_step step = {.kind = kind_of(item), .name = item->name, .item = item};
    struct err why = ERR_INIT;
    int r = 0;

    if (step.kind == APPLY_ADD || step.kind == APPLY_REPLACE)
        r = copies_digest(applying->workspace->copy, item->name, &item->copy,
                          applying->workspace->cancel, step.digest, &why);
    if (r == ERR_BUSY || r == ERR_NOT_FOUND || r == ERR_PERMISSION_DENIED) {
        applying->told(applying->data, item->name,
                       r == ERR_BUSY ? "it is being changed in the workspace" : why.message);
        return 0;
    }
    return r == 0 ? apply_plan_add(plan, &step) : r;
}

/* Directories are removed from the inside out, so backwards. */
static int make_plan(const struct copies_applying *applying,
                     const struct copies_differences *differences, struct apply_plan *plan)
{
    cleanup_map struct map made = MAP_INIT(APPLY_MAX_STEPS);
    int r = 0;

    for (enum apply_kind kind = APPLY_DELETE; kind < APPLY_KINDS && r == 0; kind++)
        for (size_t i = 0; i < differences->count && r == 0; i++) {
            bool is_backward = kind == APPLY_REMOVE_DIRECTORY;
            const struct copies_difference *item =
                &differences->items[is_backward ? differences->count - 1 - i : i];

            if (!copies_is_applicable(applying, item))
                continue;
            /* All of them come before the first file. */
            if (kind == APPLY_MAKE_PARENT && item->change == COPIES_ADDED)
                r = plan_parents(applying, plan, &made, item->name);
            if (r == 0 && kind_of(item) == kind)
                r = plan_step(applying, plan, item);
        }
    return r;
}

/* ---- doing it ---- */

struct doing {
    const struct copies_applying *applying;
    const struct apply_plan *plan;
    struct buf content;
};

static int take_piece(void *data, struct str piece)
{
    return buf_append_str(data, piece);
}

/* Exactly what the plan says, or ERR_BUSY. */
static int read_copy(struct doing *doing, const struct apply_step *step, struct err *err)
{
    const struct authority_read_options options = {.cancel = doing->applying->workspace->cancel};
    unsigned char digest[SHA256_BYTES];
    struct sha256 hash;
    int r;

    buf_clear(&doing->content);
    r = authority_read_pieces(doing->applying->workspace->copy, step->name, &options, NULL,
                              take_piece, &doing->content, err);
    if (r < 0)
        return r == ERR_TOO_LARGE ? ERR_BUSY : r;
    sha256_init(&hash);
    sha256_add(&hash, buf_view(&doing->content));
    sha256_end(&hash, digest);
    return memcmp(digest, step->digest, sizeof(digest)) == 0 ? 0 : ERR_BUSY;
}

/* By way of the undo folder, where nobody changes it any more. */
static int move_copy(const struct doing *doing, const struct apply_step *step, bool may_replace,
                     struct err *err)
{
    const struct copies_applying *applying = doing->applying;
    const struct copies_workspace *workspace = applying->workspace;
    const struct authority_move_options copying = {
        .may_replace = true, .is_exact = true, .cancel = workspace->cancel};
    const struct authority_move_options moving = {.may_replace = may_replace,
                                                  .may_rename = true,
                                                  .is_exact = true,
                                                  .cancel = workspace->cancel};
    unsigned char digest[SHA256_BYTES];
    struct authority_stat about;
    char path[APPLY_PATH_BYTES];
    struct str staged = apply_path(applying, doing->plan->number, "new", path);
    int r = authority_copy_in(applying->store->records, staged, workspace->copy, step->name,
                              &copying, err);

    if (r == 0)
        r = authority_stat(applying->store->records, staged, &about, err);
    if (r == 0)
        r = copies_digest(applying->store->records, staged, &about, workspace->cancel, digest, err);
    if (r == 0 && memcmp(digest, step->digest, sizeof(digest)) != 0)
        r = ERR_BUSY;
    return r == 0 ? authority_move_in(workspace->project, step->name, applying->store->records,
                                      staged, &moving, err)
                  : r;
}

static int do_add(struct doing *doing, const struct apply_step *step, struct err *err)
{
    const struct copies_workspace *workspace = doing->applying->workspace;
    const struct authority_write_options options = {.create = AUTHORITY_CREATE_NEW,
                                                    .mode = step->item->copy.mode & FILE_MODE,
                                                    .cancel = workspace->cancel};
    int r;

    if (step->item->copy.size > MAX_WRITTEN_BYTES)
        return move_copy(doing, step, false, err);
    r = read_copy(doing, step, err);
    return r == 0 ? authority_write_bytes(workspace->project, step->name, buf_view(&doing->content),
                                          &options, err)
                  : r;
}

static bool is_as_seen(const struct copies_workspace *workspace, const struct apply_step *step)
{
    const struct copies_print seen = copies_print_of(&step->item->original);
    struct authority_stat about;
    struct copies_print now;

    if (authority_stat(workspace->project, step->name, &about, NULL) < 0)
        return false;
    now = copies_print_of(&about);
    return copies_is_same(&seen, &now);
}

static int do_replace(struct doing *doing, size_t index, struct err *err)
{
    const struct apply_step *step = &doing->plan->steps[index];
    const struct copies_applying *applying = doing->applying;
    const struct copies_workspace *workspace = applying->workspace;
    const struct authority_move_options keeping = {.is_exact = true, .cancel = workspace->cancel};
    struct authority_exchange exchange = {.expected = &step->item->original};
    const struct authority_write_options options = {
        .create = AUTHORITY_REPLACE_OLD, .cancel = workspace->cancel, .exchange = &exchange};
    bool changes_mode = ((step->item->original.mode ^ step->item->copy.mode) & MAY_EXECUTE) != 0;
    char path[APPLY_PATH_BYTES];
    int r = authority_copy_in(applying->store->records,
                              apply_kept(applying, doing->plan->number, index, path),
                              workspace->project, step->name, &keeping, err);

    if (r < 0)
        return r;
    if (!is_as_seen(workspace, step))
        return ERR_BUSY;
    if (changes_mode || step->item->copy.size > MAX_WRITTEN_BYTES)
        return move_copy(doing, step, true, err);
    r = read_copy(doing, step, err);
    return r == 0 ? authority_write_bytes(workspace->project, step->name, buf_view(&doing->content),
                                          &options, err)
                  : r;
}

static int do_delete(const struct doing *doing, size_t index, struct err *err)
{
    const struct apply_step *step = &doing->plan->steps[index];
    const struct copies_applying *applying = doing->applying;
    const struct authority_move_options moving = {
        .may_rename = true, .is_exact = true, .cancel = applying->workspace->cancel};
    char path[APPLY_PATH_BYTES];

    if (!is_as_seen(applying->workspace, step))
        return ERR_BUSY;
    return authority_move_in(applying->store->records,
                             apply_kept(applying, doing->plan->number, index, path),
                             applying->workspace->project, step->name, &moving, err);
}

static int do_step(struct doing *doing, size_t index, struct err *err)
{
    const struct apply_step *step = &doing->plan->steps[index];
    struct authority_scope *project = doing->applying->workspace->project;
    const struct authority_mkdir_options making = {.may_exist = true};

    switch (step->kind) {
    case APPLY_DELETE:
        return do_delete(doing, index, err);
    case APPLY_REMOVE_DIRECTORY:
        return authority_remove(project, step->name, NULL, err);
    case APPLY_MAKE_PARENT:
    case APPLY_MAKE_DIRECTORY:
        return authority_mkdir(project, step->name, &making, err);
    case APPLY_ADD:
        return do_add(doing, step, err);
    case APPLY_REPLACE:
        return do_replace(doing, index, err);
    case APPLY_KINDS:
        break;
    }
    return ERR_INTERNAL;
}

bool apply_may_go_on(int code)
{
    return code == ERR_BUSY || code == ERR_ALREADY_EXISTS || code == ERR_NOT_FOUND ||
           code == ERR_NOT_EMPTY || code == ERR_HARDLINK_REJECTED || code == ERR_SYMLINK_REJECTED ||
           code == ERR_NOT_REGULAR_FILE || code == ERR_NOT_A_DIRECTORY ||
           code == ERR_PERMISSION_DENIED || code == ERR_CROSSES_MOUNT ||
           code == ERR_DENIED_BY_POLICY;
}

static const char *reason_of(int code, const struct err *why)
{
    if (code == ERR_BUSY)
        return "it has just been changed; look at the diff again";
    return why->code != 0 ? why->message : err_text(code);
}

static int do_all(struct doing *doing, size_t *out_done, struct err *err)
{
    const struct copies_applying *applying = doing->applying;
    cleanup_record struct copies_record fresh = COPIES_RECORD_INIT;
    int saved;
    int r = 0;

    for (size_t i = 0; i < doing->plan->count && r == 0; i++) {
        const struct apply_step *step = &doing->plan->steps[i];
        struct err why = ERR_INIT;

        r = do_step(doing, i, &why);
        if (r == 0) {
            *out_done += step->item != NULL;
            r = apply_note(applying->workspace->record, &fresh, applying->workspace->project,
                           step->name);
            why.code = 0;
        } else if (apply_may_go_on(r)) {
            applying->told(applying->data, step->name, reason_of(r, &why));
            r = 0;
        }
        if (r < 0)
            (void)err_set(err, r, "%s", reason_of(r, &why));
    }
    /* After a failure, too: what was done is done. */
    saved = apply_save(applying, &fresh, r == 0 ? err : NULL);
    return r < 0 ? r : saved;
}

static int write_plan(const struct copies_applying *applying, const struct apply_plan *plan,
                      struct err *err)
{
    cleanup_buf struct buf text = BUF_INIT(APPLY_PLAN_BYTES);
    const struct authority_write_options options = {
        .create = AUTHORITY_CREATE_NEW, .make_parents = true, .mode = 0600};
    char path[APPLY_PATH_BYTES];
    int r = apply_plan_write(plan, &text);

    return r < 0 ? err_set_plain(err, r)
                 : authority_write_bytes(applying->store->records,
                                         apply_path(applying, plan->number, "plan", path),
                                         buf_view(&text), &options, err);
}

int copies_apply(const struct copies_applying *applying,
                 const struct copies_differences *differences, size_t *out_done, struct err *err)
{
    cleanup_plan struct apply_plan plan = APPLY_PLAN_INIT;
    struct doing doing = {
        .applying = applying, .plan = &plan, .content = BUF_INIT(MAX_WRITTEN_BYTES)};
    int r;

    *out_done = 0;
    r = apply_find_last(applying, &plan.number, err);
    if (r < 0)
        return r;
    plan.number++;
    r = make_plan(applying, differences, &plan);
    if (r < 0)
        return err_set_plain(err, r);
    if (plan.count == 0)
        return 0;
    r = write_plan(applying, &plan, err);
    if (r == 0)
        r = do_all(&doing, out_done, err);
    buf_done(&doing.content);
    return r;
}
