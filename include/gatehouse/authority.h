/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Filesystem Authority: the only way from a name to a file.
 *
 * A host registers roots and hands out scopes: the right of one subject to use one root in certain
 * ways, until it expires or is revoked. Callers hold scopes and names below them, never paths.
 * Every operation takes the same steps:
 *
 *     name checked → grant → policy → hooks → intent recorded → backend → hooks → outcome recorded
 *
 * Names are bytes, relative to the root, with '/' between components. A name that leaves the root,
 * meets a link that is not allowed, or crosses a mount is refused by the kernel in the same step
 * that opens it; nothing is checked first and used later.
 *
 * Threads: several threads may run operations on scopes at once, request roots, create temporary
 * workspaces, look at grants, and make, read and free watches (each watch in one thread at a time).
 * A scope may be freed when no thread uses it any more. authority_revoke() and authority_sweep()
 * may be called at any time. Everything else (hooks, policies, listeners, protected directories,
 * joining, the authority itself) needs exclusive use of the authority.
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

/* ---- Subjects ---- */

enum authority_subject_type {
    AUTHORITY_CORE,
    AUTHORITY_AGENT_RUN,
    AUTHORITY_EXTENSION,
    AUTHORITY_AUTOMATION,
    AUTHORITY_USER, /* of a server; only recorded, never granted anything */
};

struct authority_subject {
    enum authority_subject_type type;
    const char *id;     /* core, extension or task id; of an agent run: its conversation */
    const char *run_id; /* of an agent run; else NULL */
};

/* ---- Roots and requests ---- */

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

/* A directory of the host. The path is passed to the backend only. */
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
    AUTHORITY_SYMLINKS_DEFAULT, /* depends on the kind of root */
    AUTHORITY_SYMLINKS_REJECT,
    AUTHORITY_SYMLINKS_IN_ROOT, /* follow links that stay inside the root; never absolute ones */
};

enum authority_hardlinks {
    AUTHORITY_HARDLINKS_DEFAULT,
    AUTHORITY_HARDLINKS_REJECT,
    AUTHORITY_HARDLINKS_ALLOW, /* only for scopes that cannot write */
    /*
     * They are read and searched, and nothing else: not if one of their names in the scope, or in
     * those joined with it, is denied or usually holds secrets. Only for workspaces.
     */
    AUTHORITY_HARDLINKS_READ,
};

/*
 * Names that are denied at present, by rules that may change while scopes are in use. Called
 * wherever denied globs are checked, for each name as it is met, from any thread and from several
 * at once.
 */
enum { AUTHORITY_RULE_BYTES = 256 };

struct authority_filter {
    bool (*is_active)(void *data); /* false: nothing is denied at present; NULL: always active */
    /* `name` is relative to the root; `changes`: the operation would change the named object. */
    bool (*denies)(void *data, struct str name, bool changes); /* NULL: no filter */
    /*
     * For the policy_rule of its refusals: writes the rule that denies this name, cut to fit. May
     * be NULL.
     */
    void (*tell)(void *data, struct str name, bool changes, char out_rule[AUTHORITY_RULE_BYTES]);
    void *data;            /* must outlive the scope */
    const char *policy_id; /* policy_source of its refusals; NULL: "grant", as for globs */
};

/* Limits of one scope. Globs are matched against the given name and the resolved name. */
struct authority_limits {
    enum authority_symlinks symlinks;
    enum authority_hardlinks hardlinks;
    /* AUTHORITY_HARDLINKS_READ: names that usually hold secrets are like others. */
    bool shows_sensitive;
    uint64_t max_file_bytes;           /* 0: none */
    const char *const *allowed_globs;  /* NULL-terminated; none: all names */
    const char *const *denied_globs;   /* override the allowed ones */
    struct authority_filter filter;    /* may deny more */
    struct authority_filter narrowing; /* and so may this */
};

struct authority_request {
    struct authority_subject subject;
    struct authority_root root;
    unsigned access; /* bits of enum authority_access */
    const char *reason;
    enum authority_source source;
    int64_t expires_ms;  /* wall time; 0: never */
    bool is_interactive; /* a user can be asked */
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
    AUTHORITY_OP_EXECUTE, /* only recorded, never executed here: see authority_note() */
    AUTHORITY_OP_CALL,    /* the end of a tool call; only recorded as well */
    /* What a server records about its users; no operations of an authority either. */
    AUTHORITY_OP_SIGN_IN,
    AUTHORITY_OP_SIGN_OUT,  /* of this browser or another one */
    AUTHORITY_OP_ACCOUNT,   /* a user is added, removed, gets a password or a login link */
    AUTHORITY_OP_AGENT_KEY, /* a key of an agent is created or revoked */
    AUTHORITY_OP_CONSENT,   /* an app gets tokens of OAuth, or loses them */
    AUTHORITY_OP_PAIR,      /* a token that connects a machine is created, or used */
    AUTHORITY_OP_REQUEST,   /* a request is refused */
    AUTHORITY_OPERATIONS
};

/*
 * What a policy or hook sees. Names are relative to the root, without ".", empty components and
 * trailing slashes, and without ".." unless the scope follows links; they may be hostile bytes. A
 * link may still lead elsewhere in the root: only globs and filters see where.
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
    AUTHORITY_ABSTAIN, /* no opinion: the next one decides; from a policy, same as allow */
    AUTHORITY_ALLOW,
    AUTHORITY_DENY,
    AUTHORITY_ASK,
    AUTHORITY_FAIL, /* the hook itself failed; counts as denied */
};

enum { AUTHORITY_REASON_BYTES = 160 };

struct authority_decision {
    enum authority_verdict verdict;
    char text[AUTHORITY_REASON_BYTES]; /* reason for the denial, or the prompt */
    /* When nobody can be asked: AUTHORITY_ALLOW; anything else denies. */
    enum authority_verdict if_unasked;
};

/* Fills *decision, which starts as AUTHORITY_ABSTAIN. */
typedef void authority_decide_fn(void *data, const struct authority_context *context,
                                 struct authority_decision *decision);

/* Returns the user's answer to a prompt. */
typedef bool authority_ask_fn(void *data, const struct authority_context *context,
                              const char *prompt);

struct authority_hook {
    const char *id;
    authority_decide_fn *before; /* or NULL */
    /* Sees the result: 0 or an ERR_* code. May be NULL. */
    void (*after)(void *data, const struct authority_context *context, int result);
    void *data;
};

/* ---- Events ---- */

enum authority_outcome {
    AUTHORITY_INTENT, /* about to change something */
    AUTHORITY_SUCCESS,
    AUTHORITY_DENIED,
    AUTHORITY_FAILED,
    AUTHORITY_NOTICED, /* a watch saw a change, made by anyone */
};

enum authority_change {
    AUTHORITY_CREATED,
    AUTHORITY_CHANGED,
    AUTHORITY_REMOVED,
    AUTHORITY_RESCAN, /* events were lost: read everything again */
};

enum { AUTHORITY_MAX_HOOKS = 16 };

/* A tool call, as the audit log names it. */
struct authority_call {
    const char *tool;     /* or NULL */
    const char *decision; /* what allowed it: "allow-rule", "mode", "user", …; or NULL */
    uint64_t id;          /* the same in all records of the call; 0: none */
    const char *client;   /* the program that called, as it names itself; or NULL */
};

struct authority_event {
    int64_t wall_ms;
    uint64_t request_id;
    const struct authority_subject *subject;
    const struct authority_root *root; /* path is NULL here */
    struct str name; /* as a policy sees it; for AUTHORITY_NOTICED, relative to the root */
    struct str destination;
    enum authority_operation operation;
    enum authority_outcome outcome;
    enum authority_change change;      /* only for AUTHORITY_NOTICED */
    int error;                         /* 0 or an ERR_* code */
    const struct authority_call *call; /* the tool call it belongs to, or NULL */
    const char *policy_source; /* what decided: "grant", "default", the policy's or a hook's id */
    /*
     * Of a refusal: the denied glob, or the rule of a filter, that denied the name; or NULL. Only
     * for who reads the log: errors do not tell it.
     */
    const char *policy_rule;
    const char *wrapper_ids[AUTHORITY_MAX_HOOKS]; /* hooks that saw it, in order */
    size_t wrapper_count;
    const char *reason;
    struct str details; /* of AUTHORITY_OP_CALL: see authority_note; or empty */
};

/*
 * Receives every event of every operation, including refused and malformed ones, and every change
 * that authority_watch_read() reports: as an AUTHORITY_NOTICED of AUTHORITY_OP_WATCH with the
 * request_id, policy_source and hooks of the watch; for an AUTHORITY_RESCAN the name is that of the
 * watched directory.
 *
 * For an AUTHORITY_INTENT, an error return refuses the operation; otherwise it is ignored. Called
 * in the thread that runs the operation or reads the watch. It may revoke grants, but must not free
 * scopes or watches.
 */
typedef int authority_event_fn(void *data, const struct authority_event *event);

/* ---- The authority ---- */

/* Where the files are. Only programs that name AUTHORITY_MEMORY are linked with its code. */
struct backend;
typedef int authority_backend_fn(struct backend **out_backend);
authority_backend_fn authority_in_memory;
#define AUTHORITY_LINUX  NULL
#define AUTHORITY_MEMORY authority_in_memory

struct authority_config {
    authority_backend_fn *backend;
    /*
     * A private directory (0700) for the journal and temporary workspaces; NULL: neither is
     * available. The next authority that opens it sweeps what a killed process left behind, as far
     * as that is quick: see authority_sweep(). No scope can reach it: see authority_protect().
     */
    const char *state_dir;
    const struct clock *clock; /* NULL: the system clock */
    bool walk_components;      /* resolve names without openat2, as on an old kernel */
};

int authority_new(const struct authority_config *config, struct authority **out_authority,
                  struct err *err);
void authority_free(struct authority *authority);

/*
 * Whether dead processes left more behind than authority_new() removes at once. It is not urgent:
 * leftovers are in nobody's way, and the next start finds those that remain.
 */
bool authority_has_leftovers(const struct authority *authority);
/*
 * For hosts whose authorities have several state directories: notes this one in `common_dir`, which
 * is created if missing, and sweeps all that are noted there, and that directory itself, as
 * authority_new() does its own. So the next start of any of them finds what a killed one left.
 */
void authority_sweep_known(const char *common_dir, const char *state_dir);
/*
 * Removes up to `max_entries` files and directories of the leftovers. May run in a background
 * thread during other operations, or between them, and may be cancelled or killed at any moment.
 */
void authority_sweep(struct authority *authority, uint64_t max_entries,
                     const struct cancel *cancel);

/*
 * Makes this directory and everything in it unreachable for all scopes created from now on,
 * whatever their roots and globs. Requests for a root inside it are refused, except those of
 * AUTHORITY_FROM_CORE. The directory need not exist yet, nor those above it.
 */
int authority_protect(struct authority *authority, const char *path, struct err *err);

void authority_set_policy(struct authority *authority, const char *id, authority_decide_fn *decide,
                          void *data);
void authority_set_ask(struct authority *authority, authority_ask_fn *ask, void *data);
/* Hooks run in the order in which they were added. The hook's id and data must outlive it. */
int authority_add_hook(struct authority *authority, const struct authority_hook *hook);
/* May be called by the hook itself: it then finishes this call and is not called again. */
bool authority_remove_hook(struct authority *authority, const char *id);
int authority_add_listener(struct authority *authority, authority_event_fn *listener, void *data);
void authority_remove_listener(struct authority *authority, authority_event_fn *listener,
                               void *data);

/* ---- Grants ---- */

/*
 * Requests a root; the kind's defaults, the policy and the hooks decide. The caller frees the
 * scope.
 */
int authority_request_root(struct authority *authority, const struct authority_request *request,
                           struct authority_scope **out_scope, struct err *err);
/* Also ends its watches and closes their fds; see authority_watch(). */
void authority_scope_free(struct authority_scope *scope);
/*
 * Makes absolute names below the root of `other` usable with `scope`: what is done with such a name
 * is an operation of `other`, with its grant, limits and record. authority_resolve() returns names
 * of `other` in that absolute form, without links. Several scopes can be joined to one. `other`
 * must outlive the use of `scope`. ERR_INVALID_ARGUMENT if one root is or contains the other.
 */
int authority_scope_join(struct authority_scope *scope, struct authority_scope *other,
                         struct err *err);

struct authority_grant {
    uint64_t id;
    struct authority_subject subject;
    struct authority_root root; /* with its path: a command sandbox must mount it */
    unsigned access;
    enum authority_source source;
    int64_t expires_ms;
    const char *reason;
    bool is_revoked;
};

uint64_t authority_scope_grant(const struct authority_scope *scope);
/*
 * For the host: the current path of the root, without links. ERR_UNSUPPORTED for the memory
 * backend.
 */
int authority_scope_path(struct authority_scope *scope, char out_path[PATH_MAX]);

/* Calls `visit` for every live grant; the struct is valid during the call. */
void authority_grants(struct authority *authority,
                      void (*visit)(void *data, const struct authority_grant *grant), void *data);

/*
 * Ends a grant. An operation in progress stops, as it does when the grant expires. False if the id
 * is unknown.
 */
bool authority_revoke(struct authority *authority, uint64_t grant_id);

/*
 * Appends the grants in the form that a command sandbox needs:
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
    uint64_t modified_ns; /* within that second */
    uint64_t changed_ns;  /* since 1970; for comparison only */
    uint64_t inode;
    uint64_t device;
    unsigned mode;
    unsigned links;
};

struct authority_read_options {
    uint64_t offset;
    uint64_t max_bytes; /* 0: to the end; the scope's max_file_bytes applies to the whole file */
    const struct cancel *cancel;
};

int authority_read_bytes(struct authority_scope *scope, struct str name,
                         const struct authority_read_options *options, struct buf *out,
                         struct err *err);
/* ERR_INVALID_UTF8 if the file is not UTF-8. */
int authority_read_text(struct authority_scope *scope, struct str name,
                        const struct authority_read_options *options, struct buf *out,
                        struct err *err);
/* The document and its text live in the arena. */
int authority_read_json(struct authority_scope *scope, struct str name,
                        const struct authority_read_options *options, struct arena *arena,
                        const struct json_value **out_document, struct err *err);

/*
 * Reads a file of any size in pieces of up to 256 KB, up to the length it had when it was opened. A
 * nonzero return of `take` stops and is returned. *out_stat, which may be NULL, describes the very
 * file being read and is set before the first piece.
 */
typedef int authority_take_fn(void *data, struct str piece);
int authority_read_pieces(struct authority_scope *scope, struct str name,
                          const struct authority_read_options *options,
                          struct authority_stat *out_stat, authority_take_fn *take, void *data,
                          struct err *err);

enum authority_create {
    AUTHORITY_CREATE_OR_REPLACE,
    AUTHORITY_CREATE_NEW,  /* ERR_ALREADY_EXISTS if the file exists */
    AUTHORITY_REPLACE_OLD, /* ERR_NOT_FOUND if it does not exist */
};

/* The state before and after a replacement, taken from the opened files themselves. */
struct authority_exchange {
    /* Receives the old content; ERR_TOO_LARGE and no change if it does not fit. May be NULL. */
    struct buf *content;
    /*
     * The file that must be there, else ERR_BUSY and no change. What others save in the very moment
     * stays, where the file system can exchange names. NULL: any.
     */
    const struct authority_stat *expected;
    const struct str *expected_content; /* with `expected`: what it must hold; or NULL */
    struct authority_stat before;
    struct authority_stat after;
};

struct authority_write_options {
    enum authority_create create;
    bool make_parents;
    bool is_unsynced; /* skips fsync: never torn, but a power cut may lose it */
    unsigned mode;    /* for a new file; 0: 0644. A replaced file keeps its mode */
    const struct cancel *cancel;
    /*
     * For callers that may have to restore the file. Needs AUTHORITY_REPLACE_OLD and read access.
     */
    struct authority_exchange *exchange;
};

int authority_write_bytes(struct authority_scope *scope, struct str name, struct str bytes,
                          const struct authority_write_options *options, struct err *err);
int authority_write_text(struct authority_scope *scope, struct str name, struct str text,
                         const struct authority_write_options *options, struct err *err);
int authority_write_json(struct authority_scope *scope, struct str name,
                         const struct json_value *document,
                         const struct authority_write_options *options, struct err *err);
/* One of several files that are replaced together. */
struct authority_replacement {
    struct str name;
    struct str content;
    struct authority_exchange exchange; /* with `expected` */
};
enum { AUTHORITY_MAX_REPLACEMENTS = 64 };
/*
 * Replaces all of them, different files, or none; also if the process is killed, after the next
 * start with the same state directory. ERR_BUSY if one of them is not what is expected. On failure
 * *out_at is the number of the one that failed.
 */
int authority_replace_all(struct authority_scope *scope, struct authority_replacement *files,
                          size_t count, const struct cancel *cancel, size_t *out_at,
                          struct err *err);
/* Writes into an artifact root, where all other operations that change something are refused. */
int authority_write_artifact(struct authority_scope *scope, struct str name, struct str bytes,
                             const struct authority_write_options *options, struct err *err);
/* If not everything fits, the file is truncated to its old length. */
int authority_append(struct authority_scope *scope, struct str name, struct str bytes,
                     const struct authority_write_options *options, struct err *err);

int authority_stat(struct authority_scope *scope, struct str name, struct authority_stat *out_stat,
                   struct err *err);
/*
 * Resolves `name`: relative to the root, without links, "" for the root. Missing components at its
 * end stay as given. For callers that must know the target before they allow `operation`, which is
 * then done with the resolved name in a scope that rejects links. For removing and moving, a link
 * at the end is the object itself, and the root is ERR_ROOT_PROTECTED.
 *
 * *out_stat, which may be NULL, describes the target as far as it was looked at; otherwise its
 * inode is 0.
 *
 * Needs AUTHORITY_METADATA. Asks no policy and no hook; only a refusal is recorded, as one of
 * `operation`.
 */
int authority_resolve(struct authority_scope *scope, enum authority_operation operation,
                      struct str name, char out_name[PATH_MAX], size_t *out_len,
                      struct authority_stat *out_stat, struct err *err);
/* A missing file is no error; a refusal is. */
int authority_exists(struct authority_scope *scope, struct str name, bool *out_exists,
                     struct err *err);

struct authority_entry {
    struct str name; /* in a list: one component; in a walk: relative to its start */
    enum authority_type type;
    unsigned depth; /* in a walk: 1 for direct children */
    bool has_stat;  /* if requested and available */
    struct authority_stat stat;
};

struct authority_list_options {
    bool with_stat;
    uint64_t max_entries; /* 0: all */
    const struct cancel *cancel;
};

/* Called for every entry, in directory order; a nonzero return stops and is returned. */
typedef int authority_visit_fn(void *data, const struct authority_entry *entry);
int authority_list(struct authority_scope *scope, struct str name,
                   const struct authority_list_options *options, authority_visit_fn *visit,
                   void *data, struct err *err);

/* Returned by a walk's visitor for a directory: do not descend into it. */
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

/* Visits links without following them, and directories that cannot be opened without descending. */
int authority_walk(struct authority_scope *scope, struct str name,
                   const struct authority_walk_options *options, authority_visit_fn *visit,
                   void *data, struct err *err);

/*
 * Visits the files of a tree with several threads of the lowest priority, and reads those that the
 * visitor wants: one operation, one audit record. Skips links and names that the scope denies. The
 * order is undefined.
 */
enum { AUTHORITY_SIFT_MAX_THREADS = 8 };

struct authority_sift_options {
    unsigned threads; /* 0: one for each available core */
    /* .gitignore and .ignore, including those in parents up to the root. */
    bool heeds_ignore_files;
    /* Larger files are reported to missed() as ERR_TOO_LARGE; 0: any size. */
    uint64_t max_file_bytes;
    const struct cancel *cancel;
};

struct authority_sifted;

/* Returned by the visitor: read this file. */
enum { AUTHORITY_SIFT_OPEN = 1 };

/* Called by several threads at once, each with its number. Names are relative to the start. */
struct authority_sift_visitor {
    bool (*enters)(void *data, struct str name); /* whether to enter a directory; NULL: all */
    /* 0 skips the file, AUTHORITY_SIFT_OPEN reads it, ERR_* stops everything and is returned. */
    int (*file)(void *data, unsigned thread, struct str name);
    /* Called with the opened file, which is valid during the call. ERR_* as above. */
    int (*content)(void *data, unsigned thread, struct authority_sifted *file);
    /*
     * Reports a file or directory that could not be read; ERR_UNSUPPORTED for a directory whose
     * ignore rules could not be used. May be NULL.
     */
    void (*missed)(void *data, unsigned thread, struct str name, int code);
    /* Reports a file or directory that is left out by the ignore files. May be NULL. */
    void (*ignored)(void *data, unsigned thread, struct str name, bool is_directory);
    void *data;
};

/* Needs AUTHORITY_LIST and AUTHORITY_READ. */
int authority_sift(struct authority_scope *scope, struct str name,
                   const struct authority_sift_options *options,
                   const struct authority_sift_visitor *visitor, struct err *err);

struct str authority_sifted_name(const struct authority_sifted *file);
const struct authority_stat *authority_sifted_stat(const struct authority_sifted *file);
/* Reads up to `size` bytes at `offset`; *out_got is 0 at the end. */
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
     * For authority_move_in(): on one file system, rename, which keeps everything as it is: links,
     * hard links elsewhere, modes, owners, times. An existing target is replaced as
     * authority_move() replaces it. Does not apply to a scope with max_file_bytes, an artifact, a
     * kind of root that restricts modes, or a set-id file: these get a copy, as without this
     * option.
     */
    bool may_rename;
    bool only_renames; /* with may_rename: ERR_CROSS_DEVICE instead of a copy */
    /*
     * For copies: a file gets the mode and the extended attributes of its source, and the owner if
     * permitted, even if it replaces another file, but no set-id bits. A link copied by itself gets
     * a second name, on the same file system. Does not apply to a kind of root that restricts
     * modes.
     */
    bool is_exact;
    /*
     * For copies: limit of the bytes in total, over a whole tree. Holes stay holes and are not
     * counted. 0: only the scopes' max_file_bytes limit each file.
     */
    uint64_t max_copy_bytes;
    const struct cancel *cancel;
};
int authority_move(struct authority_scope *scope, struct str from, struct str to,
                   const struct authority_move_options *options, struct err *err);
int authority_copy(struct authority_scope *scope, struct str from, struct str to,
                   const struct authority_move_options *options, struct err *err);

/* Copies from another scope, which must allow reading. */
int authority_copy_in(struct authority_scope *scope, struct str to, struct authority_scope *source,
                      struct str from, const struct authority_move_options *options,
                      struct err *err);
/*
 * Like authority_copy_in(), but removes the source, whose scope must allow moving. Works across
 * file systems.
 */
int authority_move_in(struct authority_scope *scope, struct str to, struct authority_scope *source,
                      struct str from, const struct authority_move_options *options,
                      struct err *err);
/* Copies from a regular file opened by the host; the host keeps the fd. */
int authority_copy_in_fd(struct authority_scope *scope, struct str to, int fd,
                         const struct authority_move_options *options, struct err *err);

/* A file, directory or link that was copied. */
struct authority_duplicated {
    struct str name; /* relative to the copied directory */
    struct authority_stat from;
    struct authority_stat to; /* of a directory: the same */
};

/* All functions may be NULL. Names are relative to the copied directory. */
struct authority_duplicate_options {
    /* Whether to copy it, and what is in it. Called for files once they are open. */
    bool (*admits)(void *data, struct str name, const struct authority_stat *about);
    /* A nonzero return stops and is returned. Not called for what `admits` leaves out. */
    int (*copied)(void *data, const struct authority_duplicated *entry);
    /* Reports what cannot be copied: devices and the like, unreadable files, other mounts. */
    void (*missed)(void *data, struct str name, int code);
    void *data;
    bool make_parents;
    const struct cancel *cancel;
};
/*
 * Copies a directory of `source`, with everything in it, to `to`, which must be missing or an empty
 * directory, and appears complete: as a reflink of each file where the file system can do that, and
 * holes as holes. Files keep modes (without set-id bits), attributes, owners where permitted, and
 * times. A link is copied as it is, wherever it leads, and never followed; a file with several
 * names becomes several files. A file that is written to in the meantime is copied again, a few
 * times. Nothing is synced: a power cut may lose the copy, as with cp(1).
 */
int authority_duplicate(struct authority_scope *scope, struct str to,
                        struct authority_scope *source, struct str from,
                        const struct authority_duplicate_options *options, struct err *err);

/* All functions may be NULL. Names are relative to the copied directory. */
struct authority_snapshot_options {
    /*
     * Whether this file or link stays. Asked more than once. NULL: everything does, and nothing is
     * looked at, since the caller knows what is in it.
     */
    bool (*stays)(void *data, struct str name);
    /* It did not, and is removed from the snapshot. A nonzero return stops and is returned. */
    int (*left_out)(void *data, struct str name);
    void *data;
    const struct cancel *cancel;
};
/*
 * Like authority_duplicate(), but all of a directory at one moment, by a snapshot of the file
 * system: the files have the sizes, times and inodes of the originals. Only of a Btrfs subvolume of
 * the user's own, on the file system of `to`, in which no directory belongs to somebody else, no
 * mount or subvolume is nested, there are only files, directories and links, and nothing that does
 * not stay has a second name. Otherwise *out_made is false, and nothing was done. Modes are kept
 * with set-id bits, owners as they are, and a file with several names stays one: none of them can
 * be outside of the subvolume. What does not stay is removed before the snapshot appears.
 */
int authority_snapshot(struct authority_scope *scope, struct str to, struct authority_scope *source,
                       struct str from, const struct authority_snapshot_options *options,
                       bool *out_made, struct err *err);

struct authority_remove_options {
    bool is_recursive;
    /* Then: modes of directories and read-only Btrfs subvolumes that are in the way are changed. */
    bool is_own;
    bool may_miss;
    uint64_t max_entries; /* 0: 1,000,000 */
    const struct cancel *cancel;
};
int authority_remove(struct authority_scope *scope, struct str name,
                     const struct authority_remove_options *options, struct err *err);
/*
 * Removes from the folder what killed sessions left there and no start has swept: unfinished files
 * and directories with names of the authority that no living process holds. If one of them was
 * replacing several files, only the next start with its state directory can undo that, so do that
 * first.
 */
int authority_clean(struct authority_scope *scope, const struct cancel *cancel,
                    uint64_t *out_removed, struct err *err);

/* 0 selects the default: see the constants. */
struct authority_archive_options {
    uint64_t max_archive_bytes;
    uint64_t max_entries;
    uint64_t max_total_bytes;
    uint64_t max_entry_bytes;
    unsigned max_ratio;
    unsigned max_depth;
    const struct cancel *cancel;
    /*
     * Extracting: called while content is written with the bytes so far and in total; 0: not known.
     */
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
 * Extracts everything or nothing: the destination must be missing or an empty directory, and
 * appears once everything was checked, written and synced.
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

/*
 * Creates a private directory (0700) that is removed with its scope, or at the next start after a
 * crash.
 */
int authority_create_temp(struct authority *authority, const struct authority_subject *subject,
                          const char *reason, struct authority_scope **out_scope, struct err *err);

/* ---- Notes of the host ---- */

/*
 * Attributes the operations that this thread begins from now on, and their events, to this tool
 * call, until authority_call_end(). *call must live until then. Calls do not nest.
 */
void authority_call_begin(const struct authority_call *call);
void authority_call_end(void);

/* Something that the host itself refused, did, or is about to do on behalf of a scope. */
struct authority_note {
    enum authority_operation operation;
    struct str name;        /* of AUTHORITY_OP_EXECUTE: the command */
    bool is_text;           /* the name is no path: of a command, also without this */
    struct str destination; /* of AUTHORITY_OP_EXECUTE: the working directory */
    enum authority_outcome outcome;
    int error;                 /* for AUTHORITY_DENIED and AUTHORITY_FAILED: an ERR_* code */
    const char *policy_source; /* what decided: "deny-rule", "mode", "user", …; or NULL */
    const char *policy_rule;   /* the rule itself, as text; or NULL */
    const char *reason;        /* NULL: that of the grant */
    /*
     * Of AUTHORITY_OP_CALL: a finished JSON object about the call, which the audit log keeps up to
     * AUDIT_MAX_DETAILS_BYTES; or empty.
     */
    struct str details;
    /* 0: a new id is filled in; for the outcome, pass the id of the intent. */
    uint64_t request_id;
};
/*
 * Sends the note to the listeners like an operation. Asks no policy and no hook, and does not check
 * the grant. If an AUTHORITY_INTENT fails, the host must not go ahead.
 */
int authority_note(struct authority_scope *scope, struct authority_note *note);
/* The same, for the call that it belongs to. Without a scope nothing is noted. */
int authority_note_call(struct authority_scope *scope, const struct authority_call *call,
                        struct authority_note *note);

/* ---- Watching ---- */

enum { AUTHORITY_MAX_WATCHES = 1024 }; /* per scope; ERR_BUSY beyond */

struct authority_watch;
/*
 * Watches one directory and its direct entries. The fd becomes readable when there may be events;
 * sometimes there are none, since watches share scarce system resources. Use it for polling only.
 * The watch owns it: it is closed with the watch or with the scope, whichever is freed first, so
 * stop polling before that.
 */
int authority_watch(struct authority_scope *scope, struct str name,
                    struct authority_watch **out_watch, int *out_fd, struct err *err);
/*
 * Reports pending changes, each first to the authority's listeners and then to `report`, which may
 * be NULL and gets names relative to the watched directory. Names that the scope may not know are
 * reported to neither. Never blocks.
 *
 * Returns ERR_GRANT_REVOKED or ERR_GRANT_EXPIRED when the grant has ended, even during this call:
 * from that moment on nothing was reported. ERR_GRANT_REVOKED also when the scope was freed.
 * `report` may free the watch and the scope, but cannot read the same watch (ERR_BUSY).
 */
int authority_watch_read(struct authority_watch *watch,
                         void (*report)(void *data, enum authority_change change, struct str name),
                         void *data);
/* Required even if the scope was freed before. */
void authority_watch_free(struct authority_watch *watch);

/* ---- Names of enum values, as the audit log and settings write them ---- */

const char *authority_subject_type_name(enum authority_subject_type type);
const char *authority_root_kind_name(enum authority_root_kind kind);
const char *authority_operation_name(enum authority_operation operation);
const char *authority_outcome_name(enum authority_outcome outcome);
const char *authority_change_name(enum authority_change change);
const char *authority_source_name(enum authority_source source);
/* Takes a single bit. */
const char *authority_access_name(enum authority_access access);

#endif
