/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by workspaces and their providers: what a provider has to do. */
#ifndef WORKSPACE_INTERNAL_H
#define WORKSPACE_INTERNAL_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/list.h"
#include "base/map.h"
#include "loop/timer.h"
#include "workspace/workspace.h"

enum { WORKSPACE_ID_BYTES = 128, WORKSPACE_UUID_BYTES = 37 };

enum workspace_state {
    WORKSPACE_NEW, /* the provider has none, or has lost it */
    WORKSPACE_CREATING,
    WORKSPACE_FILLING, /* its first files are written */
    WORKSPACE_EMPTY,   /* that has failed: the next call tries it again */
    WORKSPACE_READY,
    WORKSPACE_ENDING,
};

struct workspace {
    struct list node; /* of all, or of those that end */
    struct workspaces *workspaces;
    char key[WORKSPACE_KEY_BYTES]; /* empty: nobody else's */
    char id[WORKSPACE_ID_BYTES];
    enum workspace_state state;
    bool is_adopted; /* not ours to end */
    bool is_over;    /* it ends as soon as it is there */
    struct list calls;
    size_t filled;           /* of the first files */
    bool has_image_files;    /* it was created with those that driver->is_in_image() names */
    void *driver;            /* what the provider knows about it; or NULL */
    struct list backgrounds; /* commands that run on (background.h) */
    unsigned last_background;
    int64_t background_over_ms; /* when the last of them to end did */
    bool has_background_over;   /* one has ended */
    void (*gone)(void *data);   /* or NULL */
    void *gone_data;
};

struct workspace_call {
    struct list node;
    struct workspace *workspace;
    struct arena arena; /* of the request */
    struct workspace_request request;
    struct workspace_events events;
    struct timer deadline; /* or, before it begins, what is wrong with it */
    bool is_begun;         /* the provider has it */
    bool has_ended;        /* the command has, and the provider's answer is not over yet */
    struct err err;
    struct workspace_answer answer;
    void *driver; /* of the provider, while it has it */
};

struct web;
struct workspace_register;

/* The functions of a provider. Callbacks (workspace_created() …) never come from inside. */
struct workspace_driver {
    bool has_images;  /* else --workspace-setup is refused */
    const char *kind; /* of a service: what its targets call sandboxes; and its requests */
    struct web *(*web)(const struct workspaces *workspaces);
    int (*open)(struct workspaces *workspaces, struct err *err);
    void (*close)(struct workspaces *workspaces);
    /* Still sends something that nobody waits for. */
    bool (*is_busy)(const struct workspaces *workspaces);
    /* Ends with workspace_created(). May choose `id` before, so that it can be ended. */
    void (*create)(struct workspace *workspace);
    /* Ends with workspace_destroyed(). */
    void (*destroy)(struct workspace *workspace);
    /* Stops both without a word, and frees workspace->driver. */
    void (*forget)(struct workspace *workspace);
    /* Ends with workspace_call_end(). */
    void (*begin)(struct workspace_call *call);
    /* Stops it without a word: kills its command, and frees call->driver. */
    void (*drop)(struct workspace_call *call);
    /*
     * Asks for what a background command has written until now: all of it, after
     * workspace_rewind(), or how it has ended. Ends with workspace_looked(), or with the call.
     * NULL: it comes by itself.
     */
    void (*look)(struct workspace_call *call);
    /* Kills a background command; the call then ends as always. False: only drop() can. */
    bool (*kill)(struct workspace_call *call);
    /* Whether this one of the first files is part of the image; NULL: none is. */
    bool (*is_in_image)(const struct workspaces *workspaces, size_t file);
};

struct workspaces {
    struct workspaces_config config;
    const struct workspace_driver *driver;
    void *data;                     /* the provider's */
    struct workspace_register *reg; /* NULL: nothing outlives this process */
    struct map by_key;
    struct list all;
    struct list ending;
    size_t count;
    size_t background_count;
    struct timer closing;
    int64_t close_by_ms;
    void (*closed)(void *data);
    void *closed_data;
};

extern const struct workspace_driver workspace_sandboxapi; /* isolated and n8n-sandbox */
extern const struct workspace_driver workspace_daytona;
extern const struct workspace_driver workspace_local; /* if the build has it */

/* ---- for providers ---- */

/* A new random name, as RFC 9562 writes them. */
void workspace_make_id(char out_id[WORKSPACE_UUID_BYTES]);

/* `err` is NULL if it is there, with its id. */
void workspace_created(struct workspace *workspace, const struct err *err);
/*
 * Writes down an id before the provider is asked to create it: if this process is killed, the next
 * start ends it. Without that it must not be created.
 */
int workspace_note(struct workspaces *workspaces, const char *id, struct err *err);
/* The provider has none of this id any more. */
void workspace_note_over(struct workspaces *workspaces, const char *id);
void workspace_destroyed(struct workspace *workspace);
/* The provider has no such workspace any more: the error says so, and the next call creates
 * another.
 */
void workspace_gone(struct workspace *workspace, struct err *err);
/* `err` is NULL for call->answer. The provider frees its call->driver afterwards. */
void workspace_call_end(struct workspace_call *call, const struct err *err);
void workspace_output(struct workspace_call *call, bool is_error, struct str bytes);
/* A background command runs. */
void workspace_command_started(struct workspace_call *call);
/* What it has written comes again, from the beginning. */
void workspace_rewind(struct workspace_call *call);
/* After look(): what there is was passed on; or what is wrong. */
void workspace_looked(struct workspace_call *call, const struct err *err);
/* The command has ended, by call->answer; the end of the provider's answer is not waited for long.
 */
void workspace_command_ended(struct workspace_call *call);

/* ---- register.c ---- */

int workspace_register_open(struct workspaces *workspaces, struct err *err);
/* Before the driver is closed. */
void workspace_register_close(struct workspaces *workspaces);
/* Ends what killed processes left at this provider; once. */
void workspace_register_sweep(struct workspaces *workspaces);

#endif
