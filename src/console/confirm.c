/* SPDX-License-Identifier: Apache-2.0 */
#include "console/confirm.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "console/confirm_internal.h"

enum {
    PRINT_BYTES = 1 << 20,
    SHOWN_GLOBS = 16, /* of a list */
    GLOBS_BYTES = 32 << 10,
};

/* ---- the values ---- */

/* For changing files, choosing a mode opts in to write access, and deny opts out. */
static void set_mode(struct confirm *confirm, size_t group, enum permission_mode mode)
{
    confirm->modes.of[group] = mode;
    if (group == CATALOG_FILESYSTEM_WRITE)
        confirm->has_write_access = mode != PERMISSION_DENY;
    confirm->problem.code = 0;
}

static void step_mode(struct confirm *confirm, size_t group, int by)
{
    int mode = (int)confirm_mode_of(confirm, group) + by;

    set_mode(confirm, group, (enum permission_mode)((mode + 3) % 3));
}

/* False: it cannot be used, the reason is shown, and the previous one stays. */
static bool set_dir(struct confirm *confirm, struct str typed)
{
    cleanup_buf struct buf dir = BUF_INIT(CONFIRM_MAX_TEXT);
    int r = confirm->take_dir != NULL
                ? confirm->take_dir(confirm->data, typed, &dir, &confirm->problem)
                : buf_append_str(&dir, typed);

    if (r < 0 && confirm->problem.code == 0)
        err_set_plain(&confirm->problem, r);
    if (r < 0)
        return false;
    confirm->problem.code = 0;
    buf_clear(&confirm->dir);
    if (buf_append_str(&confirm->dir, buf_view(&dir)) < 0) /* cannot be: there is room */
        buf_clear(&confirm->dir);
    return true;
}

/* Writes out the effective modes, so that nobody has to know the exceptions. */
static int settle(struct confirm *confirm)
{
    struct permission_modes modes = confirm->modes;
    int r;

    modes.of[CATALOG_FILESYSTEM_WRITE] = confirm_mode_of(confirm, CATALOG_FILESYSTEM_WRITE);
    r = permission_modes_constrain(&modes, &confirm->problem);
    if (r == 0 && modes.of[CATALOG_SHELL] != PERMISSION_DENY && confirm->commands_refusal != NULL)
        r = err_set(&confirm->problem, ERR_INVALID_OPTION, "%s", confirm->commands_refusal);
    if (r < 0)
        return r;
    confirm->problem.code = 0;
    confirm->modes = modes;
    confirm->has_write_access = modes.of[CATALOG_FILESYSTEM_WRITE] != PERMISSION_DENY;
    return 0;
}

/* ---- how it looks: confirm_look.c ---- */

static void on_draw(void *data, const struct stage_size *size, struct buf *out)
{
    struct confirm *confirm = data;
    struct confirm_layout layout;

    confirm_lay_out(confirm, size->columns, &layout);
    sheet_show(&layout.sheet, &confirm->look, size, &confirm->place, out);
    page_done(&layout.body);
}

/* ---- what is answered ---- */

static void move_to(struct confirm *confirm, enum confirm_state state, size_t chosen)
{
    confirm->state = state;
    confirm->chosen = chosen;
    confirm->place = (struct sheet_place){0};
}

static void answer(struct confirm *confirm, enum answer given)
{
    bool is_yes = given == ANSWER_YES;
    bool can_be = is_yes && settle(confirm) == 0 && set_dir(confirm, buf_view(&confirm->dir));

    if (given == ANSWER_EDIT || (is_yes && !can_be)) {
        move_to(confirm, CONFIRM_EDITING, 0); /* which shows what is wrong */
        stage_renew(confirm->console->stage);
        return;
    }
    confirm->is_accepted = is_yes;
    move_to(confirm, CONFIRM_OVER, 0);
    stage_end(confirm->console->stage, is_yes ? STR("Connecting") : STR("Not connected"));
    loop_defer(confirm->console->config.loop, &confirm->console->turn);
}

/* Back to the question, with a new guard time: the editor's Enter is not its answer. */
static void end_editor(struct confirm *confirm)
{
    if (settle(confirm) == 0)
        move_to(confirm, CONFIRM_ASKING, ANSWER_NO);
    stage_renew(confirm->console->stage);
}

static void choose(struct confirm *confirm, size_t index, size_t count)
{
    if (index < count)
        confirm->chosen = index;
    stage_redraw(confirm->console->stage);
}

/* True if the key moved the selection. */
static bool move_by_key(struct confirm *confirm, const struct key *key, size_t count)
{
    char c = key->code == KEY_TEXT ? key->text[0] : '\0';

    if (key->code == KEY_DOWN || c == 'j')
        choose(confirm, confirm->chosen + 1, count);
    else if (key->code == KEY_UP || c == 'k')
        choose(confirm, confirm->chosen - 1, count); /* above the first there is no such row */
    else if (c >= '1' && c <= '9')
        choose(confirm, (size_t)(c - '1'), count);
    else if ((key->code == KEY_PAGE_DOWN || key->code == KEY_PAGE_UP) &&
             sheet_turn(&confirm->place, key->code == KEY_PAGE_DOWN))
        stage_redraw(confirm->console->stage);
    else
        return false;
    return true;
}

static void key_asking(struct confirm *confirm, const struct key *key)
{
    if (move_by_key(confirm, key, ANSWERS))
        return;
    if (key->code == KEY_ESCAPE || key->code == KEY_INTERRUPT)
        answer(confirm, ANSWER_NO);
    else if (key->code == KEY_ENTER && confirm->place.step > 0)
        answer(confirm, (enum answer)confirm->chosen);
    else if (key->code == KEY_TEXT && (key->text[0] == ' ' || key->text[0] == 'b') &&
             sheet_turn(&confirm->place, key->text[0] == ' '))
        stage_redraw(confirm->console->stage);
}

static void key_editing(struct confirm *confirm, const struct key *key)
{
    bool is_back = key->code == KEY_LEFT;
    bool changes = is_back || key->code == KEY_RIGHT || key->code == KEY_ENTER ||
                   (key->code == KEY_TEXT && key->text[0] == ' ');

    if (move_by_key(confirm, key, ROWS))
        return;
    if (key->code == KEY_INTERRUPT) {
        answer(confirm, ANSWER_NO);
    } else if (key->code == KEY_ESCAPE || (key->code == KEY_ENTER && confirm->chosen == ROW_DONE)) {
        end_editor(confirm);
    } else if (changes && confirm->chosen < PERMISSION_GROUPS) {
        step_mode(confirm, confirm->chosen, is_back ? -1 : 1);
        stage_redraw(confirm->console->stage);
    } else if (changes && confirm->chosen == ROW_DIR) {
        buf_clear(&confirm->typed);
        (void)buf_append_str(&confirm->typed, buf_view(&confirm->dir));
        move_to(confirm, CONFIRM_TYPING, 0);
        stage_redraw(confirm->console->stage);
    }
}

static void erase_last(struct buf *typed)
{
    while (typed->len > 0 && ((unsigned char)typed->data[typed->len - 1] & 0xC0) == 0x80)
        typed->len--;
    if (typed->len > 0)
        typed->len--;
}

static void key_typing(struct confirm *confirm, const struct key *key)
{
    if (key->code == KEY_INTERRUPT) {
        answer(confirm, ANSWER_NO);
        return;
    }
    if (key->code == KEY_TEXT)
        (void)buf_append_str(&confirm->typed, str_from(key->text)); /* full: no more goes in */
    else if (key->code == KEY_ERASE)
        erase_last(&confirm->typed);
    else if (key->code == KEY_ERASE_ALL)
        buf_clear(&confirm->typed);
    if (key->code == KEY_ESCAPE)
        confirm->problem.code = 0;
    if (key->code == KEY_ESCAPE ||
        (key->code == KEY_ENTER &&
         (confirm->typed.len == 0 || set_dir(confirm, buf_view(&confirm->typed)))))
        move_to(confirm, CONFIRM_EDITING, ROW_DIR);
    stage_redraw(confirm->console->stage);
}

static void on_key(void *data, const struct key *key)
{
    struct confirm *confirm = data;

    switch (confirm->state) {
    case CONFIRM_ASKING:
        key_asking(confirm, key);
        break;
    case CONFIRM_EDITING:
        key_editing(confirm, key);
        break;
    case CONFIRM_TYPING:
        key_typing(confirm, key);
        break;
    case CONFIRM_WAITING:
    case CONFIRM_OVER:
        break;
    }
}

/* ---- in lines ---- */

static void ask_again(struct confirm *confirm, bool shows_more)
{
    cleanup_buf struct buf text = BUF_INIT(PRINT_BYTES);
    struct confirm_layout layout;

    confirm_lay_out(confirm, 80, &layout);
    if (shows_more)
        sheet_print_more(&layout.sheet, &confirm->look, &confirm->place, &text);
    else
        sheet_print_choices(&layout.sheet, &text);
    page_done(&layout.body);
    stage_print(confirm->console->stage, buf_view(&text));
}

static void line_asking(struct confirm *confirm, struct str line)
{
    if (line.len == 0 || str_eq_c(line, "3"))
        answer(confirm, ANSWER_NO);
    else if (str_eq_c(line, "1"))
        answer(confirm, ANSWER_YES);
    else if (str_eq_c(line, "2"))
        answer(confirm, ANSWER_EDIT);
    else
        ask_again(confirm, str_eq_c(line, "m"));
}

/* "2 ask": false if it is not a row with a mode. */
static bool set_row(struct confirm *confirm, struct str line)
{
    struct str row;
    int64_t number;
    enum permission_mode mode;

    if (!str_cut(&line, ' ', &row) || !str_to_int64(row, &number) || line.ptr == NULL ||
        !permission_mode_from(str_trim(line), &mode))
        return false;
    if (number < 1 || number > PERMISSION_GROUPS)
        return false;
    set_mode(confirm, (size_t)number - 1, mode);
    return true;
}

static void line_editing(struct confirm *confirm, struct str line)
{
    if (str_eq_c(line, "done")) {
        end_editor(confirm);
        return;
    }
    if (str_starts_with(line, STR("dir "))) {
        struct str dir = str_trim(str_slice(line, 4, line.len));

        if (dir.len > 0 && dir.len <= CONFIRM_MAX_TEXT && !set_dir(confirm, dir)) {
            stage_renew(confirm->console->stage); /* with the reason */
            return;
        }
    } else {
        (void)set_row(confirm, line);
    }
    ask_again(confirm, false);
}

static void on_line(void *data, struct str line)
{
    struct confirm *confirm = data;

    if (confirm->state == CONFIRM_ASKING)
        line_asking(confirm, str_trim(line));
    else if (confirm->state == CONFIRM_EDITING)
        line_editing(confirm, str_trim(line));
}

/* ---- in the console ---- */

void confirm_begin(struct confirm *confirm)
{
    const struct stage_act act = {.draw = on_draw, .key = on_key, .line = on_line, .data = confirm};

    confirm->look = stage_look_of(confirm->console->stage);
    move_to(confirm, CONFIRM_ASKING, ANSWER_NO);
    if (stage_begin(confirm->console->stage, &act) < 0)
        confirm->state = CONFIRM_WAITING; /* gone: it is denied in a moment */
}

bool confirm_is_over(const struct confirm *confirm)
{
    return confirm->state == CONFIRM_OVER;
}

void confirm_tell(struct confirm *confirm)
{
    const struct confirm_result result = {
        .is_accepted = confirm->is_accepted,
        .modes = confirm->modes,
        .has_write_access = confirm->has_write_access,
        .dir = buf_view(&confirm->dir),
    };

    confirm->console->confirm = NULL; /* it may ask anew */
    confirm->done(confirm->data, &result);
    confirm_free(confirm);
}

void confirm_refuse(struct confirm *confirm)
{
    confirm->is_accepted = false;
    confirm_tell(confirm);
}

void confirm_free(struct confirm *confirm)
{
    if (confirm == NULL)
        return;
    buf_done(&confirm->url);
    buf_done(&confirm->dir);
    buf_done(&confirm->typed);
    buf_done(&confirm->hosts);
    buf_done(&confirm->denied);
    buf_done(&confirm->allowed);
    for (size_t i = 0; i < confirm->other_count; i++)
        buf_done(&confirm->others[i]);
    for (size_t i = 0; i < confirm->writable_count; i++)
        buf_done(&confirm->writable[i]);
    free(confirm);
}

static int keep(struct buf *buf, struct str text)
{
    buf_init(buf, CONFIRM_MAX_TEXT);
    return buf_append_str(buf, text);
}

static int keep_globs(struct buf *buf, const char *const *globs)
{
    size_t count = 0;
    int r = 0;

    buf_init(buf, GLOBS_BYTES);
    for (; globs != NULL && globs[count] != NULL && r == 0; count++)
        if (count < SHOWN_GLOBS)
            r = buf_printf(buf, "%s%s", count > 0 ? ", " : "", globs[count]);
    return r == 0 && count > SHOWN_GLOBS ? buf_printf(buf, " and %zu more", count - SHOWN_GLOBS)
                                         : r;
}

int confirm_ask(struct console *console, const struct confirm_offer *offer, confirm_done_fn *done,
                void *data)
{
    struct confirm *confirm;
    int r;

    if (console->confirm != NULL)
        return ERR_BUSY;
    if (offer->shell_writable_count > CONFIRM_MAX_WRITABLE ||
        offer->other_count > CONFIRM_MAX_OTHERS)
        return ERR_TOO_LARGE;
    confirm = calloc(1, sizeof(*confirm));
    if (confirm == NULL)
        return ERR_NO_MEMORY;
    confirm->console = console;
    confirm->done = done;
    confirm->data = data;
    confirm->modes = offer->modes;
    confirm->has_write_access = offer->has_write_access;
    confirm->only_reads_dir = offer->only_reads_dir;
    confirm->take_dir = offer->take_dir;
    confirm->commands_refusal = offer->commands_refusal;
    confirm->shell_is_open = offer->shell_is_open;
    confirm->is_exposed = offer->is_exposed;
    confirm->shell_has_network = offer->shell_has_network;
    buf_init(&confirm->typed, CONFIRM_MAX_TEXT);
    buf_init(&confirm->hosts, CONFIRM_MAX_TEXT);
    r = keep(&confirm->url, offer->url);
    if (r == 0)
        r = keep(&confirm->dir, offer->dir);
    if (r == 0)
        r = keep_globs(&confirm->denied, offer->denied);
    if (r == 0)
        r = keep_globs(&confirm->allowed, offer->allowed);
    for (size_t i = 0; offer->shell_domains != NULL && offer->shell_domains[i] != NULL && r == 0;
         i++)
        r = buf_printf(&confirm->hosts, "%s%s", i > 0 ? ", " : "", offer->shell_domains[i]);
    for (size_t i = 0; i < offer->other_count && r == 0; i++) {
        confirm->writes_other[i] = offer->others[i].may_write;
        confirm->other_count++;
        r = keep(&confirm->others[i], offer->others[i].path);
    }
    for (size_t i = 0; i < offer->shell_writable_count && r == 0; i++) {
        confirm->writable_count++;
        r = keep(&confirm->writable[i], offer->shell_writable[i]);
    }
    if (r < 0) {
        confirm_free(confirm);
        return r;
    }
    console->confirm = confirm;
    loop_defer(console->config.loop, &console->turn);
    return 0;
}

void confirm_cancel(struct console *console)
{
    struct confirm *confirm = console->confirm;

    if (confirm == NULL)
        return;
    if (confirm->state != CONFIRM_WAITING && confirm->state != CONFIRM_OVER)
        stage_end(console->stage, STR("Withdrawn"));
    console->confirm = NULL;
    confirm_free(confirm);
    loop_defer(console->config.loop, &console->turn);
}
