/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which sandboxes exist at the provider, on disk: "+ID" before one is created, "-ID" when it is
 * gone. The first line names the provider and its address. What a killed process left is ended by
 * the next start with the same provider.
 */
#include "workspace/remote.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "isolate/ledger.h"

#define FOLDER "workspaces"

enum { LINE_BYTES = WORKSPACE_URL_BYTES + 64, END_MS = 10000 };

struct note {
    struct list node;
    char id[WORKSPACE_ID_BYTES];
};

/* The file of a dead process, until all that it names has ended. */
struct left {
    struct list node;
    struct workspaces *workspaces;
    struct ledger *ledger;
    struct list notes;
    struct web_request request; /* that ends the first of them */
    bool is_whole;              /* nothing was left out */
};

struct workspace_register {
    struct workspaces *workspaces;
    struct ledger *ledger; /* NULL before the first note */
    struct list notes;
    struct list left;
    bool is_swept;
};

/* ---- notes ---- */

static struct note *find(struct list *notes, struct str id)
{
    list_each (node, notes) {
        struct note *note = list_entry(node, struct note, node);

        if (str_eq(str_from(note->id), id))
            return note;
    }
    return NULL;
}

static bool add(struct list *notes, struct str id)
{
    struct note *note = calloc(1, sizeof(*note));

    if (note == NULL)
        return false;
    snprintf(note->id, sizeof(note->id), "%.*s", STR_ARG(id));
    list_append(notes, &note->node);
    return true;
}

static void drop(struct note *note)
{
    if (note == NULL)
        return;
    list_remove(&note->node);
    free(note);
}

static void drop_all(struct list *notes)
{
    while (!list_is_empty(notes))
        drop(list_entry(notes->next, struct note, node));
}

/* What the first line of our files says. */
static struct str head_line(const struct workspaces *workspaces, char out_line[LINE_BYTES])
{
    const struct workspace_settings *settings = workspaces->config.settings;

    snprintf(out_line, LINE_BYTES, "%s %s", workspace_provider_name(settings->provider),
             settings->url);
    return str_from(out_line);
}

static int open_ledger(struct workspace_register *reg, struct err *err)
{
    const struct workspaces *workspaces = reg->workspaces;
    char line[LINE_BYTES];
    int r = ledger_open(workspaces->config.state_dir, FOLDER, &reg->ledger, err);

    if (r == 0)
        r = ledger_add(reg->ledger, head_line(workspaces, line), err);
    if (r < 0) {
        ledger_close(reg->ledger, true);
        reg->ledger = NULL;
    }
    return r;
}

static int write_line(struct workspace_register *reg, char sign, const char *id, struct err *err)
{
    char line[WORKSPACE_ID_BYTES + 2];

    snprintf(line, sizeof(line), "%c%s", sign, id);
    return ledger_add(reg->ledger, str_from(line), err);
}

int workspace_note(struct workspaces *workspaces, const char *id, struct err *err)
{
    struct workspace_register *reg = workspaces->reg;
    int r = 0;

    if (reg == NULL || find(&reg->notes, str_from(id)) != NULL)
        return 0;
    if (reg->ledger == NULL)
        r = open_ledger(reg, err);
    if (r == 0)
        r = write_line(reg, '+', id, err);
    if (r == 0 && !add(&reg->notes, str_from(id)))
        r = err_set_plain(err, ERR_NO_MEMORY);
    return r;
}

void workspace_note_over(struct workspaces *workspaces, const char *id)
{
    struct workspace_register *reg = workspaces->reg;
    struct note *note = reg != NULL ? find(&reg->notes, str_from(id)) : NULL;

    if (note == NULL)
        return;
    (void)write_line(reg, '-', id, NULL); /* else it is ended once more, which is no harm */
    drop(note);
}

/* ---- what dead processes left ---- */

static void end_next(struct left *left);

static void free_left(struct left *left, bool is_over)
{
    list_remove(&left->node);
    web_drop(&left->request);
    drop_all(&left->notes);
    ledger_close(left->ledger, is_over);
    free(left);
}

static void on_ended(void *data, const struct err *err, int status, struct str body)
{
    struct left *left = data;

    (void)body;
    if (err != NULL && status != 404)
        left->is_whole = false; /* the next start tries again */
    drop(list_entry(left->notes.next, struct note, node));
    end_next(left);
}

static void end_next(struct left *left)
{
    const struct workspace_driver *driver = left->workspaces->driver;
    struct web_request *request = &left->request;

    if (list_is_empty(&left->notes)) {
        free_left(left, left->is_whole);
        return;
    }
    web_ask(request, HTTP_METHOD_DELETE, true);
    snprintf(request->target, sizeof(request->target), "/%s/%s", driver->kind,
             list_entry(left->notes.next, struct note, node)->id);
    request->done = on_ended;
    request->data = left;
    request->whole_ms = END_MS;
    web_send(request);
}

static void take_line(struct left *left, struct str line)
{
    struct str id = str_slice(line, 1, line.len);

    if (line.len == 0)
        return; /* after the last newline */
    if (line.ptr[0] == '-')
        drop(find(&left->notes, id));
    else if (!remote_is_id(id) || (find(&left->notes, id) == NULL && !add(&left->notes, id)))
        left->is_whole = false; /* nothing of ours, which is left to people; or no memory */
}

static void take_dead(void *data, struct ledger *dead, struct str lines)
{
    struct workspaces *workspaces = data;
    struct left *left;
    char head[LINE_BYTES];
    struct str line;

    if (lines.len == 0) {
        ledger_close(dead, true); /* killed before its first note */
        return;
    }
    left = calloc(1, sizeof(*left));
    /* That of another provider is for who has its key. */
    if (left == NULL || !str_cut(&lines, '\n', &line) ||
        !str_eq(line, head_line(workspaces, head))) {
        free(left);
        ledger_close(dead, false);
        return;
    }
    left->workspaces = workspaces;
    left->ledger = dead;
    left->is_whole = true;
    list_init(&left->notes);
    list_append(&workspaces->reg->left, &left->node);
    web_request_init(&left->request, workspaces->driver->web(workspaces));
    while (str_cut(&lines, '\n', &line))
        take_line(left, line);
    end_next(left);
}

void workspace_register_sweep(struct workspaces *workspaces)
{
    struct workspace_register *reg = workspaces->reg;

    if (reg == NULL || reg->is_swept)
        return;
    reg->is_swept = true;
    ledger_take_dead(workspaces->config.state_dir, FOLDER, take_dead, workspaces);
}

/* ---- life ---- */

int workspace_register_open(struct workspaces *workspaces, struct err *err)
{
    struct workspace_register *reg;

    if (workspaces->driver->web == NULL || workspaces->config.state_dir == NULL)
        return 0;
    reg = calloc(1, sizeof(*reg));
    if (reg == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    reg->workspaces = workspaces;
    list_init(&reg->notes);
    list_init(&reg->left);
    workspaces->reg = reg;
    return 0;
}

void workspace_register_close(struct workspaces *workspaces)
{
    struct workspace_register *reg = workspaces->reg;

    if (reg == NULL)
        return;
    while (!list_is_empty(&reg->left))
        free_left(list_entry(reg->left.next, struct left, node), false);
    ledger_close(reg->ledger, list_is_empty(&reg->notes));
    drop_all(&reg->notes);
    free(reg);
    workspaces->reg = NULL;
}
