/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Filesystem Authority: the only way from a name to a file.
 *
 * A host registers roots and hands out scopes: the right of one subject to use
 * one root in certain ways, until it expires or is revoked. Callers hold scopes
 * and names below them, never paths. Every operation goes the same way:
 *
 *     name checked → grant → policy → hooks → intent recorded → backend → hooks → outcome recorded
 *
 * Names are bytes, relative to the root, with '/' between components. A name
 * that leaves the root, meets a link that is not allowed, or crosses a mount is
 * refused by the kernel in the same step that opens it; nothing is checked
 * first and used later.
 *
 * Threads: operations on scopes may run in several threads at once, watches may be
 * made, read and freed in several (each of them in one at a time), and
 * authority_revoke() and authority_sweep() at any time; everything else (roots, hooks, policies,
 * making and freeing) has the authority to itself.
 */
#ifndef GATEHOUSE_AUTHORITY_H
#define GATEHOUSE_AUTHORITY_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/cancel.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
#include "base/str.h"

struct authority;
struct authority_scope;

/* ---- Who asks ---- */

enum authority_subject_type {
    AUTHORITY_CORE,
    AUTHORITY_AGENT_RUN,
    AUTHORITY_EXTENSION,
    AUTHORITY_AUTOMATION,
};

struct authority_subject {
    enum authority_subject_type type;
    const char *id;     /* core, extension or task id; of an agent run, its conversation */
    const char *run_id; /* of an agent run; else NULL */
};

/* ---- For what ---- */

enum authority_root_kind {
    AUTHORITY_WORKSPACE,
    AUTHORITY_EXTENSION_STORAGE,
    AUTHORITY_ARTIFACT,
    AUTHORITY_TEMP,
    AUTHORITY_KNOWLEDGE,
    AUTHORITY_DOWNLOADS,
    AUTHORITY_SECRET,
};

struct authority_label {
    const char *key;
    const char *value;
};

/* The host's word for a place on its disk. The path leaves this struct for the backend alone. */
struct authority_root {
    enum authority_root_kind kind;
    const char *id; /* of extension storage: the extension it belongs to */
    const char *path;
    const char *display_name; /* or NULL */
    const struct authority_label *labels;
    size_t label_count;
};

enum authority_access {
    AUTHORITY_READ = 1 << 0,
    AUTHORITY_WRITE = 1 << 1,
    AUTHORITY_DELETE = 1 << 2,
    AUTHORITY_LIST = 1 << 3,
    AUTHORITY_MOVE = 1 << 4,
    AUTHORITY_ARCHIVE = 1 << 5,
    AUTHORITY_WATCH = 1 << 6,
    AUTHORITY_METADATA = 1 << 7,
    AUTHORITY_ALL_ACCESS = (1 << 8) - 1,
};

enum authority_source {
    AUTHORITY_FROM_MANIFEST,
    AUTHORITY_FROM_CONVERSATION,
    AUTHORITY_FROM_USER_APPROVAL,
    AUTHORITY_FROM_CORE,
};

enum authority_symlinks {
    AUTHORITY_SYMLINKS_DEFAULT, /* what the root's kind says */
    AUTHORITY_SYMLINKS_REJECT,
    AUTHORITY_SYMLINKS_IN_ROOT, /* followed while they stay inside; absolute ones never */
};

enum authority_hardlinks {
    AUTHORITY_HARDLINKS_DEFAULT,
    AUTHORITY_HARDLINKS_REJECT,
    AUTHORITY_HARDLINKS_ALLOW, /* only for scopes that cannot write */
};

/*
 * Names that are denied at this moment: by rules that change while scopes are in use. Asked
 * wherever denied globs are, about each name when it is met, in any thread and in several at once.
 */
struct authority_filter {
    bool (*is_active)(void *data); /* false: nothing is denied now; NULL: always true */
    /* `name` is relative to the root; `changes`: the operation would change what it names. */
    bool (*denies)(void *data, struct str name, bool changes); /* NULL: there is no filter */
    void *data;                                                /* lives as long as the scope */
    const char *policy_id; /* the policy_source of its refusals; NULL: "grant", as of globs */
};

/* Limits of one scope. Globs are matched on the name given and on the name it resolved to. */
struct authority_limits {
    enum authority_symlinks symlinks;
    enum authority_hardlinks hardlinks;
    uint64_t max_file_bytes;          /* 0: none */
    const char *const *allowed_globs; /* none: all names; up to a NULL */
    const char *const *denied_globs;  /* these win */
    struct authority_filter filter;   /* and this */
};

struct authority_request {
    struct authority_subject subject;
    struct authority_root root;
    unsigned access; /* bits of enum authority_access */
    const char *reason;
    enum authority_source source;
    int64_t expires_ms;  /* wall time; 0: never */
    bool is_interactive; /* somebody can be asked */
    struct authority_limits limits;
};

/* ---- Policy and hooks ---- */

enum authority_operation {
    AUTHORITY_OP_REQUEST_ROOT,
    AUTHORITY_OP_READ,
    AUTHORITY_OP_WRITE,
    AUTHORITY_OP_APPEND,
    AUTHORITY_OP_LIST,
    AUTHORITY_OP_STAT,
    AUTHORITY_OP_MKDIR,
    AUTHORITY_OP_MOVE,
    AUTHORITY_OP_COPY,
    AUTHORITY_OP_COPY_IN,
    AUTHORITY_OP_REMOVE,
    AUTHORITY_OP_EXTRACT,
    AUTHORITY_OP_ARCHIVE,
    AUTHORITY_OP_TEMP,
    AUTHORITY_OP_WATCH,
    AUTHORITY_OP_WALK,
    AUTHORITY_OP_SEARCH,
    AUTHORITY_OP_EXECUTE, /* never done here: see authority_note() */
    AUTHORITY_OPERATIONS
};

/*
 * What a policy or hook gets to see. Names are as they were given, and may be
 * hostile bytes; of an absolute name that lies in the root, what follows the root.
 */
struct authority_context {
    uint64_t request_id;
    const struct authority_subject *subject;
    const struct authority_root *root; /* path is NULL here */
    enum authority_operation operation;
    struct str name;
    struct str destination; /* empty where there is none */
    unsigned access;
    const char *reason;
};

enum authority_verdict {
    AUTHORITY_ABSTAIN, /* no opinion: the next one decides; of a policy, the same as allow */
    AUTHORITY_ALLOW,
    AUTHORITY_DENY,
    AUTHORITY_ASK,
    AUTHORITY_FAIL, /* the hook itself failed; counts as a refusal */
};

enum { AUTHORITY_REASON_BYTES = 160 };

struct authority_decision {
    enum authority_verdict verdict;
    char text[AUTHORITY_REASON_BYTES]; /* why denied, or the prompt */
    enum authority_verdict if_unasked; /* AUTHORITY_ALLOW, or anything else for deny */
};

/* Fills *decision, which starts as AUTHORITY_ABSTAIN. */
typedef void authority_decide_fn(void *data, const struct authority_context *context,
                                 struct authority_decision *decision);

/* The user's answer to a prompt. */
typedef bool authority_ask_fn(void *data, const struct authority_context *context,
                              const char *prompt);

struct authority_hook {
    const char *id;
    authority_decide_fn *before; /* or NULL */
    /* Sees the result: 0 or an ERR_* code. Or NULL. */
    void (*after)(void *data, const struct authority_context *context, int result);
    void *data;
};

/* ---- The record ---- */

enum authority_outcome {
    AUTHORITY_INTENT, /* about to change something */
    AUTHORITY_SUCCESS,
    AUTHORITY_DENIED,
    AUTHORITY_FAILED,
    AUTHORITY_NOTICED, /* a watch saw a change, whoever made it */
};

enum authority_change {
    AUTHORITY_CREATED,
    AUTHORITY_CHANGED,
    AUTHORITY_REMOVED,
    AUTHORITY_RESCAN, /* events were lost: look again at everything */
};

enum { AUTHORITY_MAX_HOOKS = 16 };

/* A call of a tool, as the record shall name it. */
struct authority_call {
    const char *tool;     /* or NULL */
    const char *decision; /* what let it through: "allow-rule", "mode", "user", …; or NULL */
    uint64_t id;          /* the same in all records of the call; 0: none */
};

struct authority_event {
    int64_t wall_ms;
    uint64_t request_id;
    const struct authority_subject *subject;
    const struct authority_root *root; /* path is NULL here */
    struct str name; /* as a policy sees it; of AUTHORITY_NOTICED, from the root on */
    struct str destination;
    enum authority_operation operation;
    enum authority_outcome outcome;
    enum authority_change change;      /* of AUTHORITY_NOTICED; else without meaning */
    int error;                         /* 0 or an ERR_* code */
    const struct authority_call *call; /* for which it was done, or NULL */
    const char *policy_source; /* what decided: "grant", "default", the policy's or a hook's id */
    const char *wrapper_ids[AUTHORITY_MAX_HOOKS]; /* hooks that saw it, in order */
    size_t wrapper_count;
    const char *reason;
};

/*
 * Gets every event of every operation, refused and malformed ones included, and
 * every change that authority_watch_read() tells: as an AUTHORITY_NOTICED of
 * AUTHORITY_OP_WATCH that bears the request_id, the policy_source and the hooks of
 * the watch, and the watched directory's own name for an AUTHORITY_RESCAN.
 * For an AUTHORITY_INTENT an error refuses the operation; else it is ignored.
 * Called from the thread that runs the operation or reads the watch; it may revoke
 * grants, and free neither scopes nor watches.
 */
typedef int authority_event_fn(void *data, const struct authority_event *event);

/* ---- The authority itself ---- */

enum authority_backend_kind { AUTHORITY_LINUX, AUTHORITY_MEMORY };

struct authority_config {
    enum authority_backend_kind backend;
    /*
     * A private directory (0700) for the journal and temporary workspaces; NULL
     * does without both. What a killed process left behind is swept when the
     * next authority opens it, as far as that takes no time: see authority_sweep().
     * No scope reaches it: see authority_protect().
     */
    const char *state_dir;
    const struct clock *clock; /* NULL: the system's */
    bool walk_components;      /* as on a kernel without openat2 */
};

int authority_new(const struct authority_config *config, struct authority **out_authority,
                  struct err *err);
void authority_free(struct authority *authority);

/*
 * Whether processes that are gone have left more behind than authority_new() removes
 * in a moment. None of it is in anybody's way, so there is no hurry; and what is not
 * removed now is found again by the next start.
 */
bool authority_has_leftovers(const struct authority *authority);
/*
 * Removes up to so many files and directories of that: from a thread that has the
 * time, while others work, or between two other things. Its own end, and that of
 * cancel, may come at any moment.
 */
void authority_sweep(struct authority *authority, uint64_t max_entries,
                     const struct cancel *cancel);

/*
 * No scope that is made from now on reaches this directory or anything in it,
 * whatever its root and globs, and none is given whose root lies in it but to
 * AUTHORITY_FROM_CORE. The directory need not be there yet, that above it must.
 */
int authority_protect(struct authority *authority, const char *path, struct err *err);

void authority_set_policy(struct authority *authority, const char *id, authority_decide_fn *decide,
                          void *data);
void authority_set_ask(struct authority *authority, authority_ask_fn *ask, void *data);
/* Hooks run in the order in which they were added. The hook's id and data must outlive it. */
int authority_add_hook(struct authority *authority, const struct authority_hook *hook);
/* Also from inside the hook itself: it then finishes this call and sees no other. */
bool authority_remove_hook(struct authority *authority, const char *id);
int authority_add_listener(struct authority *authority, authority_event_fn *listener, void *data);
void authority_remove_listener(struct authority *authority, authority_event_fn *listener,
                               void *data);

/* ---- Grants ---- */

/* Asks for a root: kind's defaults, policy and hooks decide. The scope is freed by the caller. */
int authority_request_root(struct authority *authority, const struct authority_request *request,
                           struct authority_scope **out_scope, struct err *err);
/* Its watches end with it and their descriptors are closed; see authority_watch(). */
void authority_scope_free(struct authority_scope *scope);

struct authority_grant {
    uint64_t id;
    struct authority_subject subject;
    struct authority_root root; /* with its path: for a command sandbox that must mount it */
    unsigned access;
    enum authority_source source;
    int64_t expires_ms;
    const char *reason;
    bool is_revoked;
};

uint64_t authority_scope_grant(const struct authority_scope *scope);
/* For the host: where its root is now, without links. ERR_UNSUPPORTED in memory. */
int authority_scope_path(struct authority_scope *scope, char out_path[PATH_MAX]);

/* Calls `visit` for every grant that is alive; the struct is valid during the call. */
void authority_grants(struct authority *authority,
                      void (*visit)(void *data, const struct authority_grant *grant), void *data);

/*
 * Ends a grant, also in the middle of an operation, which then stops, as it does
 * when the grant expires. False if unknown.
 */
bool authority_revoke(struct authority *authority, uint64_t grant_id);

/*
 * Appends the grants as a command sandbox needs them:
 * [{"grant":1,"subject":…,"kind":"workspace","path":"/…","access":["read",…],"expiresAt":…}]
 */
int authority_export_grants(struct authority *authority, struct buf *out);

/* ---- Operations ---- */

enum authority_type {
    AUTHORITY_FILE,
    AUTHORITY_DIRECTORY,
    AUTHORITY_SYMLINK,
    AUTHORITY_OTHER, /* FIFO, socket, device */
};

struct authority_stat {
    enum authority_type type;
    uint64_t size;
    int64_t modified_ms;
    uint64_t modified_ns; /* of that second */
    uint64_t changed_ns;  /* since 1970, for comparing */
    uint64_t inode;
    uint64_t device;
    unsigned mode;
    unsigned links;
};

struct authority_read_options {
    uint64_t offset;
    uint64_t max_bytes; /* 0: to the end; the scope's max_file_bytes holds for the whole file */
    const struct cancel *cancel;
};

int authority_read_bytes(struct authority_scope *scope, struct str name,
                         const struct authority_read_options *options, struct buf *out,
                         struct err *err);
/* ERR_INVALID_UTF8 if it is none. */
int authority_read_text(struct authority_scope *scope, struct str name,
                        const struct authority_read_options *options, struct buf *out,
                        struct err *err);
/* The document and its text live in the arena. */
int authority_read_json(struct authority_scope *scope, struct str name,
                        const struct authority_read_options *options, struct arena *arena,
                        const struct json_value **out_document, struct err *err);

/*
 * The file in pieces of up to 256 KB, whatever its size, as long as it was when it was opened. Not
 * 0 stops and is returned. *out_stat, which may be NULL, tells of the very file that is read, and
 * is set before the first piece.
 */
typedef int authority_take_fn(void *data, struct str piece);
int authority_read_pieces(struct authority_scope *scope, struct str name,
                          const struct authority_read_options *options,
                          struct authority_stat *out_stat, authority_take_fn *take, void *data,
                          struct err *err);

enum authority_create {
    AUTHORITY_CREATE_OR_REPLACE,
    AUTHORITY_CREATE_NEW,  /* ERR_ALREADY_EXISTS */
    AUTHORITY_REPLACE_OLD, /* ERR_NOT_FOUND */
};

/* What is replaced and what stands there then, told by the very files. */
struct authority_exchange {
    /* Gets the old content; where that is too large, ERR_TOO_LARGE and no change. Or NULL. */
    struct buf *content;
    /* What must stand there, or nothing is changed and it is ERR_BUSY. NULL: anything. */
    const struct authority_stat *expected;
    struct authority_stat before;
    struct authority_stat after;
};

struct authority_write_options {
    enum authority_create create;
    bool make_parents;
    bool is_unsynced; /* leaves out fsync; torn never, lost on a power cut perhaps */
    unsigned mode;    /* of a new file; 0: 0644. A replaced file keeps its own */
    const struct cancel *cancel;
    /* For those who may have to put it back: with AUTHORITY_REPLACE_OLD, and access to read too. */
    struct authority_exchange *exchange;
};

int authority_write_bytes(struct authority_scope *scope, struct str name, struct str bytes,
                          const struct authority_write_options *options, struct err *err);
int authority_write_text(struct authority_scope *scope, struct str name, struct str text,
                         const struct authority_write_options *options, struct err *err);
int authority_write_json(struct authority_scope *scope, struct str name,
                         const struct json_value *document,
                         const struct authority_write_options *options, struct err *err);
/* Into a root of kind artifact, where the other calls that change something are refused. */
int authority_write_artifact(struct authority_scope *scope, struct str name, struct str bytes,
                             const struct authority_write_options *options, struct err *err);
/* What does not fit is taken back: the file then has its old length. */
int authority_append(struct authority_scope *scope, struct str name, struct str bytes,
                     const struct authority_write_options *options, struct err *err);

int authority_stat(struct authority_scope *scope, struct str name, struct authority_stat *out_stat,
                   struct err *err);
/*
 * Where `name` leads: relative to the root, without links, "" for the root. What
 * is missing at its end stays as given. For those who must know before they let
 * `operation` be done: it is then done with this name, in a scope that rejects
 * links. For removing and moving, a last link is the thing itself, and the root is
 * ERR_ROOT_PROTECTED.
 *
 * *out_stat, which may be NULL, tells of what is there as far as it was looked at;
 * its inode is 0 otherwise.
 *
 * Needs AUTHORITY_METADATA. It asks no policy and no hook, and only a refusal is
 * recorded, as one of `operation`.
 */
int authority_resolve(struct authority_scope *scope, enum authority_operation operation,
                      struct str name, char out_name[PATH_MAX], size_t *out_len,
                      struct authority_stat *out_stat, struct err *err);
/* Missing is no error here; a refusal is. */
int authority_exists(struct authority_scope *scope, struct str name, bool *out_exists,
                     struct err *err);

struct authority_entry {
    struct str name; /* of a list: one component; of a walk: relative to where it began */
    enum authority_type type;
    unsigned depth; /* of a walk: 1 for what is directly below */
    bool has_stat;  /* where it was asked for and could be had */
    struct authority_stat stat;
};

struct authority_list_options {
    bool with_stat;
    uint64_t max_entries; /* 0: all */
    const struct cancel *cancel;
};

/* Calls `visit` for every entry, in the directory's own order; not 0 stops and is returned. */
typedef int authority_visit_fn(void *data, const struct authority_entry *entry);
int authority_list(struct authority_scope *scope, struct str name,
                   const struct authority_list_options *options, authority_visit_fn *visit,
                   void *data, struct err *err);

/* Besides the codes of ERR_*: of a directory, do not go into it. */
enum { AUTHORITY_WALK_SKIP = 1 };

struct authority_walk_options {
    bool with_stat;
    unsigned max_depth;   /* 0: AUTHORITY_MAX_DEPTH */
    uint64_t max_entries; /* 0: all */
    bool is_breadth_first;
    bool is_sorted; /* directories first, then by name */
    const struct cancel *cancel;
};
enum { AUTHORITY_MAX_DEPTH = 128 };

/* Links are shown and never followed; what cannot be opened is shown and passed over. */
int authority_walk(struct authority_scope *scope, struct str name,
                   const struct authority_walk_options *options, authority_visit_fn *visit,
                   void *data, struct err *err);

/*
 * Goes through the files of a tree with several threads of the lowest priority,
 * and reads those that the visitor wants: one operation, one record. Links are
 * passed over, and so are names that the scope denies. In no order: who needs one
 * sorts.
 */
enum { AUTHORITY_SIFT_MAX_THREADS = 8 };

struct authority_sift_options {
    unsigned threads;        /* 0: one for each core that there is for us */
    bool heeds_ignore_files; /* .gitignore and .ignore, those above too, up to the root */
    uint64_t max_file_bytes; /* larger files are missed, as ERR_TOO_LARGE; 0: any size */
    const struct cancel *cancel;
};

struct authority_sifted;

/* Besides the codes of ERR_*: this file is wanted. */
enum { AUTHORITY_SIFT_OPEN = 1 };

/* Called by several threads at once, each with its number. Names begin where the sifting does. */
struct authority_sift_visitor {
    bool (*enters)(void *data, struct str name); /* a directory; NULL: all */
    /* 0 passes it over, AUTHORITY_SIFT_OPEN reads it, ERR_* ends all and is returned. */
    int (*file)(void *data, unsigned thread, struct str name);
    /* What was to be opened; the file is there for the call. ERR_* as above. */
    int (*content)(void *data, unsigned thread, struct authority_sifted *file);
    /* A file or directory that could not be read; ERR_UNSUPPORTED for a directory whose rules
     * could not be used. Or NULL. */
    void (*missed)(void *data, unsigned thread, struct str name, int code);
    void *data;
};

/* Needs AUTHORITY_LIST and AUTHORITY_READ. */
int authority_sift(struct authority_scope *scope, struct str name,
                   const struct authority_sift_options *options,
                   const struct authority_sift_visitor *visitor, struct err *err);

struct str authority_sifted_name(const struct authority_sifted *file);
const struct authority_stat *authority_sifted_stat(const struct authority_sifted *file);
/* Up to `size` bytes at `offset`; 0 at the end. */
int authority_sifted_read(struct authority_sifted *file, uint64_t offset, void *bytes, size_t size,
                          size_t *out_got);

struct authority_mkdir_options {
    bool make_parents;
    bool may_exist;
    const struct cancel *cancel;
};
int authority_mkdir(struct authority_scope *scope, struct str name,
                    const struct authority_mkdir_options *options, struct err *err);

struct authority_move_options {
    bool may_replace;
    bool make_parents;
    /*
     * Of authority_move_in: where both lie on one file system it is a rename, and all comes along
     * as it is: links, files with other names elsewhere, modes, owners, times. What stands at its
     * end is replaced as authority_move() replaces it. Not into a scope with max_file_bytes, an
     * artifact, or a kind of root that cuts modes down: there it is a copy, as without this.
     */
    bool may_rename;
    bool only_renames; /* with may_rename: ERR_CROSS_DEVICE where it would be a copy */
    /*
     * Of whatever is copied: a file has the mode and the extended attributes of its source, and
     * the owner if that may be set, also where it replaces another; set-id bits come only with the
     * owner. A link that is copied by itself gets a second name, on the same file system. Not into
     * a kind of root that cuts modes down.
     */
    bool is_exact;
    /*
     * Of whatever is copied: bytes in all, of a tree together. Holes stay holes and are not
     * counted. 0: no more than the scopes' max_file_bytes says of each file.
     */
    uint64_t max_copy_bytes;
    const struct cancel *cancel;
};
int authority_move(struct authority_scope *scope, struct str from, struct str to,
                   const struct authority_move_options *options, struct err *err);
int authority_copy(struct authority_scope *scope, struct str from, struct str to,
                   const struct authority_move_options *options, struct err *err);

/* From another scope, which must allow reading. */
int authority_copy_in(struct authority_scope *scope, struct str to, struct authority_scope *source,
                      struct str from, const struct authority_move_options *options,
                      struct err *err);
/* The same, and the source is gone afterwards; it must allow moving. Also across file systems. */
int authority_move_in(struct authority_scope *scope, struct str to, struct authority_scope *source,
                      struct str from, const struct authority_move_options *options,
                      struct err *err);
/* From a regular file that the host has opened itself; the fd stays the host's. */
int authority_copy_in_fd(struct authority_scope *scope, struct str to, int fd,
                         const struct authority_move_options *options, struct err *err);

struct authority_remove_options {
    bool is_recursive;
    bool may_miss;
    uint64_t max_entries; /* 0: 1,000,000 */
    const struct cancel *cancel;
};
int authority_remove(struct authority_scope *scope, struct str name,
                     const struct authority_remove_options *options, struct err *err);

/* 0 means the default of the specification: see the constants. */
struct authority_archive_options {
    uint64_t max_archive_bytes;
    uint64_t max_entries;
    uint64_t max_total_bytes;
    uint64_t max_entry_bytes;
    unsigned max_ratio;
    unsigned max_depth;
    const struct cancel *cancel;
    /* Extracting: told as content is written, bytes so far and of all; 0 when not known. */
    void (*progress)(void *data, uint64_t bytes, uint64_t total_bytes);
    void *progress_data;
};
#define AUTHORITY_ARCHIVE_BYTES       ((uint64_t)256 << 20)
#define AUTHORITY_ARCHIVE_ENTRIES     ((uint64_t)50000)
#define AUTHORITY_ARCHIVE_TOTAL_BYTES ((uint64_t)512 << 20)
#define AUTHORITY_ARCHIVE_ENTRY_BYTES ((uint64_t)256 << 20)
enum { AUTHORITY_ARCHIVE_RATIO = 200, AUTHORITY_ARCHIVE_DEPTH = 64 };

struct authority_archive_result {
    uint64_t files;
    uint64_t directories;
    uint64_t bytes;
};

/*
 * All of it or nothing: the destination must be missing or an empty directory,
 * and appears when everything was checked, written and synced.
 */
int authority_extract_archive(struct authority_scope *scope, struct str archive,
                              struct str destination,
                              const struct authority_archive_options *options,
                              struct authority_archive_result *out_result, struct err *err);

enum authority_archive_format {
    AUTHORITY_TAR_GZ,
    AUTHORITY_TAR_XZ,
    AUTHORITY_TAR_ZST,
    AUTHORITY_ZIP
};

int authority_create_archive(struct authority_scope *scope, struct str source, struct str archive,
                             enum authority_archive_format format,
                             const struct authority_archive_options *options,
                             struct authority_archive_result *out_result, struct err *err);

/* A private directory (0700) that goes with its scope, or with the next start after a crash. */
int authority_create_temp(struct authority *authority, const struct authority_subject *subject,
                          const char *reason, struct authority_scope **out_scope, struct err *err);

/* ---- What the host knows ---- */

/*
 * The operations that this thread begins from now on are done for this call, and
 * their events say so, until authority_call_end(). *call lives until then. One
 * call at a time: never nested.
 */
void authority_call_begin(const struct authority_call *call);
void authority_call_end(void);

/* Something that the host itself refused, did, or is about to do in a scope's name. */
struct authority_note {
    enum authority_operation operation;
    struct str name;        /* of AUTHORITY_OP_EXECUTE the command */
    struct str destination; /* of AUTHORITY_OP_EXECUTE where it runs */
    enum authority_outcome outcome;
    int error;                 /* of AUTHORITY_DENIED and AUTHORITY_FAILED: an ERR_* code */
    const char *policy_source; /* what decided: "deny-rule", "mode", "user", …; or NULL */
    const char *reason;        /* NULL: the grant's */
    /* 0: a new one, which is filled in; for the outcome it then is the intent's. */
    uint64_t request_id;
};
/*
 * Told to the listeners like an operation. It asks no policy and no hook, nor whether the
 * grant still holds. An AUTHORITY_INTENT may fail, and then it must not be done.
 */
int authority_note(struct authority_scope *scope, struct authority_note *note);

/* ---- Watching ---- */

enum { AUTHORITY_MAX_WATCHES = 1024 }; /* of one scope; ERR_BUSY */

struct authority_watch;
/*
 * One directory and what is directly in it. The fd becomes readable when there is
 * something; at times there is then nothing to tell, since watches share what the
 * system has few of. It is for polling alone. It is the watch's, and is closed with it
 * or with the scope, whichever is freed first: whoever polls it must stop before that.
 */
int authority_watch(struct authority_scope *scope, struct str name,
                    struct authority_watch **out_watch, int *out_fd, struct err *err);
/*
 * Tells what has come, each change first to the authority's listeners and then to
 * `report`, which may be NULL; there, names are relative to the watched directory.
 * Names that the scope may not know are told to neither. Never blocks.
 *
 * ERR_GRANT_REVOKED or ERR_GRANT_EXPIRED when the grant is over, also by the end of
 * the call: from that moment on nothing was told. ERR_GRANT_REVOKED too when the
 * scope was freed. `report` may free the watch and the scope; it cannot read the
 * same watch (ERR_BUSY).
 */
int authority_watch_read(struct authority_watch *watch,
                         void (*report)(void *data, enum authority_change change, struct str name),
                         void *data);
/* Needed also when its scope was freed before. */
void authority_watch_free(struct authority_watch *watch);

/* ---- Words for the enums, as records and settings write them ---- */

const char *authority_subject_type_name(enum authority_subject_type type);
const char *authority_root_kind_name(enum authority_root_kind kind);
const char *authority_operation_name(enum authority_operation operation);
const char *authority_outcome_name(enum authority_outcome outcome);
const char *authority_change_name(enum authority_change change);
const char *authority_source_name(enum authority_source source);
/* One bit. */
const char *authority_access_name(enum authority_access access);

#endif
