/* SPDX-License-Identifier: Apache-2.0 */
#include "authority/sift.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/list.h"

enum {
    NICENESS = 19,
    STACK_BYTES = 512 << 10,
    FIRST_NAMES = 64,
    /* Names of one directory, and of all directories that wait. */
    GATHERED_MAX_BYTES = 64 << 20,
    WAITING_MAX_BYTES = 64 << 20,
    PORTION = 16, /* files that a thread takes at a time */
    ENTRIES_BETWEEN_LOOKS = 1024,
};

/* A directory that was not opened yet. */
struct waiting {
    struct list link;
    struct ignore_layer *layer;
    unsigned depth; /* of what is in it: 1 for what is directly below the first */
    size_t len;
    char name[]; /* from the root on */
};

struct names {
    struct arena arena;
    struct str *items; /* grows in the arena */
    size_t count;
    size_t room;
};

/* An open directory, with the names of its files; several threads may work on it. */
struct opened {
    struct list link; /* in the list of those with files left */
    struct backend_dir *dir;
    struct ignore_layer *layer;
    struct str name; /* in the arena of its files */
    struct names files;
    /* Under the crew's lock. */
    size_t next_file;
    unsigned holders;
};

struct crew {
    const struct sift *sift;
    pthread_mutex_t lock;
    pthread_cond_t has_work;
    struct list waiting; /* the newest is taken first: that keeps it short */
    struct list opened;
    size_t waiting_bytes;
    unsigned busy;
    int result; /* of the first failure; ends everything */
    atomic_bool is_over;
};

struct sifter {
    struct crew *crew;
    unsigned index;
    pthread_t thread;
    struct path_name name; /* of what is being looked at */
};

/* The name as the visitor knows it. */
static struct str below_base(const struct sift *sift, struct str name)
{
    return str_slice(name, sift->base.len + (sift->base.len > 0), name.len);
}

static void report_missed(const struct sifter *sifter, struct str name, int code)
{
    const struct sift *sift = sifter->crew->sift;

    if (sift->visitor->missed != NULL)
        sift->visitor->missed(sift->visitor->data, sifter->index, below_base(sift, name), code);
}

static void fail(struct crew *crew, int code)
{
    pthread_mutex_lock(&crew->lock);
    if (crew->result == 0)
        crew->result = code;
    atomic_store(&crew->is_over, true);
    pthread_cond_broadcast(&crew->has_work);
    pthread_mutex_unlock(&crew->lock);
}

/* Whether a failure ends everything: *code becomes the token's code, if it has one. */
static bool ends_all(const struct sift *sift, int *code)
{
    int over = cancel_check(sift->lookup.cancel);

    if (over < 0)
        *code = over;
    return over < 0 || *code == ERR_NO_MEMORY;
}

/* ---- what waits ---- */

static void free_waiting(struct waiting *waiting)
{
    ignore_layer_unref(waiting->layer);
    free(waiting);
}

/* ERR_TOO_LARGE if too many wait. */
static int add_waiting(struct crew *crew, struct str name, struct ignore_layer *layer,
                       unsigned depth)
{
    size_t size = sizeof(struct waiting) + name.len + 1;
    struct waiting *waiting = malloc(size);
    int r = 0;

    if (waiting == NULL)
        return ERR_NO_MEMORY;
    waiting->layer = ignore_layer_ref(layer);
    waiting->depth = depth;
    waiting->len = name.len;
    memcpy(waiting->name, name.ptr, name.len);
    waiting->name[name.len] = '\0';
    pthread_mutex_lock(&crew->lock);
    if (crew->waiting_bytes > WAITING_MAX_BYTES - size) {
        r = ERR_TOO_LARGE;
    } else {
        crew->waiting_bytes += size;
        list_append(&crew->waiting, &waiting->link);
        pthread_cond_signal(&crew->has_work);
    }
    pthread_mutex_unlock(&crew->lock);
    if (r < 0)
        free_waiting(waiting);
    return r;
}

static void names_done(struct names *names)
{
    arena_regrow_free(&names->arena, names->items);
    arena_done(&names->arena);
}

static int names_add(struct names *names, struct str name)
{
    const char *copy = arena_copy(&names->arena, name);

    if (copy == NULL)
        return names->arena.error;
    if (names->count == names->room) {
        size_t room = names->room == 0 ? FIRST_NAMES : names->room * 2;
        struct str *grown = arena_regrow(&names->arena, names->items, room * sizeof(*names->items));

        if (grown == NULL)
            return names->arena.error;
        names->items = grown;
        names->room = room;
    }
    names->items[names->count++] = (struct str){copy, name.len};
    return 0;
}

static void free_opened(const struct sift *sift, struct opened *opened)
{
    if (opened == NULL)
        return;
    sift->ops->dir_close(opened->dir);
    ignore_layer_unref(opened->layer);
    names_done(&opened->files);
    free(opened);
}

/* ---- rules ---- */

/* What was deleted or replaced since its name was read does not count as missed. */
static bool has_gone(int code)
{
    return code == ERR_NOT_FOUND || code == ERR_NOT_REGULAR_FILE || code == ERR_NOT_A_DIRECTORY ||
           code == ERR_SYMLINK_REJECTED;
}

static int read_rule_file(const struct sift *sift, struct str directory, struct str component,
                          struct ignore_layer **layer)
{
    cleanup_buf struct buf content = BUF_INIT(IGNORE_MAX_FILE_BYTES);
    struct backend_lookup lookup = sift->lookup;
    struct ignore_layer *added = NULL;
    struct backend_file *file;
    struct authority_stat about;
    struct path_name name;
    size_t got = 0;
    int r = path_join(directory, component, &name);

    /* Ignore files that may not be read do not decide what others see. */
    if (r < 0 || !scope_admits(sift->scope, path_view(&name), SCOPE_LOOK))
        return 0;
    lookup.max_file_bytes = IGNORE_MAX_FILE_BYTES;
    r = sift->ops->file_open(sift->scope->root, &lookup, path_view(&name), &file, &about);
    if (r < 0)
        return has_gone(r) ? 0 : r;
    r = secondnames_check(sift->names, &about);
    if (r < 0) {
        sift->ops->file_close(file);
        return r;
    }
    r = about.size > 0 ? buf_reserve(&content, (size_t)about.size) : 0;
    while (r == 0 && content.len < about.size) {
        r = sift->ops->file_read(file, content.len, content.data + content.len,
                                 (size_t)about.size - content.len, &got);
        if (r < 0 || got == 0)
            break;
        content.len += got;
    }
    sift->ops->file_close(file);
    if (r == 0)
        r = ignore_layer_parse(*layer, directory, buf_view(&content), &added, NULL);
    if (r < 0)
        return r;
    ignore_layer_unref(*layer);
    *layer = added;
    return 0;
}

int sift_read_rules(const struct sift *sift, struct str directory, struct ignore_layer **layer)
{
    int first = read_rule_file(sift, directory, STR(".gitignore"), layer);
    int second = read_rule_file(sift, directory, STR(".ignore"), layer);

    return first < 0 ? first : second;
}

/* ---- a directory ---- */

/* Sets the sifter's name to that of an entry. False if the name is too long. */
static bool name_entry(struct sifter *sifter, struct str directory, struct str component)
{
    return path_join(directory, component, &sifter->name) == 0;
}

static bool is_ignored(const struct sifter *sifter, const struct ignore_layer *layer,
                       struct str name, bool is_directory)
{
    const struct sift *sift = sifter->crew->sift;

    if (!sift->options->heeds_ignore_files || layer == NULL ||
        ignore_decide(layer, name, is_directory) != IGNORE_IGNORED)
        return false;
    if (sift->visitor->ignored != NULL)
        sift->visitor->ignored(sift->visitor->data, sifter->index, below_base(sift, name),
                               is_directory);
    return true;
}

static int look_at_directory(struct sifter *sifter, const struct opened *opened,
                             struct str component, unsigned depth)
{
    struct crew *crew = sifter->crew;
    const struct sift *sift = crew->sift;
    struct str name;
    int r = cancel_check(sift->lookup.cancel); /* rules can make each name dear */

    if (r < 0)
        return r;
    if (!name_entry(sifter, opened->name, component))
        return 0;
    name = path_view(&sifter->name);
    if (!scope_admits_directory(sift->scope, name, SCOPE_LOOK) ||
        is_ignored(sifter, opened->layer, name, true) ||
        (sift->visitor->enters != NULL &&
         !sift->visitor->enters(sift->visitor->data, below_base(sift, name))))
        return 0;
    r = depth < AUTHORITY_MAX_DEPTH ? add_waiting(crew, name, opened->layer, depth + 1)
                                    : ERR_TOO_LARGE;
    if (r == ERR_NO_MEMORY)
        return r;
    if (r < 0)
        report_missed(sifter, name, r);
    return 0;
}

static bool is_rule_file(struct str component)
{
    return component.len > 0 && component.ptr[0] == '.' &&
           (str_eq(component, STR(".gitignore")) || str_eq(component, STR(".ignore")));
}

/*
 * Reads all of it before anything is decided: its ignore rules may come last. Directories come
 * after the files, and are not kept beyond this.
 */
static int gather(struct sifter *sifter, struct opened *opened, unsigned depth)
{
    const struct sift *sift = sifter->crew->sift;
    struct names directories = {.arena = ARENA_INIT(GATHERED_MAX_BYTES)};
    bool has_rules = false;
    size_t seen = 0;
    enum authority_type type;
    struct str component;
    int error = 0;
    int r = 0;

    while (r == 0 && sift->ops->dir_next(opened->dir, &component, &type, &error)) {
        if (++seen % ENTRIES_BETWEEN_LOOKS == 0)
            r = cancel_check(sift->lookup.cancel);
        if (r < 0 || scope_is_private(component))
            continue;
        if (type == AUTHORITY_FILE) {
            has_rules = has_rules || is_rule_file(component);
            r = names_add(&opened->files, component);
        } else if (type == AUTHORITY_DIRECTORY) {
            r = names_add(&directories, component);
        }
    }
    if (r == ERR_TOO_LARGE || error < 0) {
        report_missed(sifter, opened->name, r < 0 ? r : error);
        r = 0;
    }
    if (r == 0 && has_rules && sift->options->heeds_ignore_files) {
        r = sift_read_rules(sift, opened->name, &opened->layer);
        if (r < 0 && r != ERR_NO_MEMORY) {
            report_missed(sifter, opened->name, ERR_UNSUPPORTED);
            r = 0;
        }
    }
    for (size_t i = 0; r == 0 && i < directories.count; i++)
        r = look_at_directory(sifter, opened, directories.items[i], depth);
    names_done(&directories);
    return r;
}

/* NULL if it cannot be opened, which is reported. */
static struct opened *open_waiting(struct sifter *sifter, struct waiting *waiting)
{
    struct crew *crew = sifter->crew;
    const struct sift *sift = crew->sift;
    struct opened *opened = calloc(1, sizeof(*opened));
    struct str name = {waiting->name, waiting->len};
    const char *copy;
    int r = opened != NULL ? 0 : ERR_NO_MEMORY;

    if (r == 0)
        r = sift->ops->dir_open(sift->scope->root, &sift->lookup, name, &opened->dir);
    if (r < 0) {
        free(opened);
        if (waiting->depth == 1 || ends_all(sift, &r))
            fail(crew, r);
        else if (!has_gone(r))
            report_missed(sifter, name, r);
        return NULL;
    }
    arena_init(&opened->files.arena, GATHERED_MAX_BYTES);
    opened->layer = ignore_layer_ref(waiting->layer);
    opened->holders = 1;
    copy = arena_copy(&opened->files.arena, name);
    opened->name = (struct str){copy, name.len};
    r = copy != NULL ? gather(sifter, opened, waiting->depth) : ERR_NO_MEMORY;
    if (r < 0) {
        free_opened(sift, opened);
        fail(crew, r);
        return NULL;
    }
    return opened;
}

/* ---- files ---- */

static int open_and_visit(struct sifter *sifter, const struct opened *opened, struct str component)
{
    const struct sift *sift = sifter->crew->sift;
    struct authority_sifted sifted = {.ops = sift->ops, .cancel = sift->lookup.cancel};
    struct str name = path_view(&sifter->name);
    int r = sift->ops->dir_file_open(opened->dir, &sift->lookup, component, &sifted.file,
                                     &sifted.about);

    if (r == 0) {
        r = secondnames_check(sift->names, &sifted.about);
        if (r < 0)
            sift->ops->file_close(sifted.file);
    }
    if (r < 0 && ends_all(sift, &r))
        return r;
    if (r < 0) {
        if (!has_gone(r))
            report_missed(sifter, name, r);
        return 0;
    }
    sifted.name = below_base(sift, name);
    r = sift->visitor->content(sift->visitor->data, sifter->index, &sifted);
    sift->ops->file_close(sifted.file);
    return r;
}

static int look_at_file(struct sifter *sifter, const struct opened *opened, struct str component)
{
    const struct sift *sift = sifter->crew->sift;
    struct str name;
    int r = cancel_check(sift->lookup.cancel);

    if (r < 0)
        return r;
    if (!name_entry(sifter, opened->name, component))
        return 0;
    name = path_view(&sifter->name);
    if ((scope_is_selective(sift->scope) && !scope_admits(sift->scope, name, SCOPE_LOOK)) ||
        is_ignored(sifter, opened->layer, name, false))
        return 0;
    r = sift->visitor->file(sift->visitor->data, sifter->index, below_base(sift, name));
    return r == AUTHORITY_SIFT_OPEN ? open_and_visit(sifter, opened, component) : r;
}

/* ---- the crew ---- */

/* With the lock held: an open directory that has files left, or NULL. */
static struct opened *join_another(struct crew *crew)
{
    struct opened *opened;

    if (list_is_empty(&crew->opened))
        return NULL;
    opened = list_entry(crew->opened.next, struct opened, link);
    opened->holders++;
    return opened;
}

/* With the lock held: the next files of a directory; false if there are none. */
static bool take_portion(struct opened *opened, size_t *out_first, size_t *out_end)
{
    size_t left = opened->files.count - opened->next_file;

    if (left == 0)
        return false;
    *out_first = opened->next_file;
    *out_end = *out_first + (left < PORTION ? left : PORTION);
    opened->next_file = *out_end;
    if (*out_end == opened->files.count)
        list_remove(&opened->link);
    return true;
}

/* Visits the rest of a directory, shared with other threads. */
static void go_through(struct sifter *sifter, struct opened *opened)
{
    struct crew *crew = sifter->crew;
    size_t first;
    size_t end;
    bool is_last;

    pthread_mutex_lock(&crew->lock);
    while (!atomic_load(&crew->is_over) && take_portion(opened, &first, &end)) {
        int r = 0;

        pthread_mutex_unlock(&crew->lock);
        for (size_t i = first; r == 0 && i < end; i++)
            r = look_at_file(sifter, opened, opened->files.items[i]);
        if (r != 0)
            fail(crew, r);
        pthread_mutex_lock(&crew->lock);
    }
    is_last = --opened->holders == 0;
    if (is_last)
        list_remove(&opened->link);
    pthread_mutex_unlock(&crew->lock);
    if (is_last)
        free_opened(crew->sift, opened);
}

/* With the lock held. Others may help if there is more than one portion. */
static void offer(struct crew *crew, struct opened *opened)
{
    list_init(&opened->link);
    if (opened->files.count <= PORTION)
        return;
    list_append(&crew->opened, &opened->link);
    pthread_cond_broadcast(&crew->has_work);
}

static struct waiting *take_waiting(struct crew *crew)
{
    struct waiting *waiting;

    if (list_is_empty(&crew->waiting))
        return NULL;
    waiting = list_entry(crew->waiting.prev, struct waiting, link);
    list_remove(&waiting->link);
    crew->waiting_bytes -= sizeof(*waiting) + waiting->len + 1;
    return waiting;
}

/*
 * With the lock held, which it releases meanwhile: handles one directory. False if there is none.
 */
static bool do_some(struct sifter *sifter)
{
    struct crew *crew = sifter->crew;
    struct waiting *waiting = take_waiting(crew);
    struct opened *opened = waiting == NULL ? join_another(crew) : NULL;

    if (waiting == NULL && opened == NULL)
        return false;
    crew->busy++;
    pthread_mutex_unlock(&crew->lock);
    if (waiting != NULL) {
        opened = open_waiting(sifter, waiting);
        free_waiting(waiting);
        if (opened != NULL) {
            pthread_mutex_lock(&crew->lock);
            offer(crew, opened);
            pthread_mutex_unlock(&crew->lock);
        }
    }
    if (opened != NULL)
        go_through(sifter, opened);
    pthread_mutex_lock(&crew->lock);
    crew->busy--;
    return true;
}

static void *sift_thread(void *data)
{
    struct sifter *sifter = data;
    struct crew *crew = sifter->crew;

    pthread_mutex_lock(&crew->lock);
    while (!atomic_load(&crew->is_over)) {
        if (do_some(sifter))
            continue;
        if (crew->busy == 0) {
            atomic_store(&crew->is_over, true);
            pthread_cond_broadcast(&crew->has_work);
        } else {
            pthread_cond_wait(&crew->has_work, &crew->lock);
        }
    }
    pthread_mutex_unlock(&crew->lock);
    return NULL;
}

/* On Linux each thread has its own niceness; the caller keeps its own. */
static void *sift_thread_nicely(void *data)
{
    setpriority(PRIO_PROCESS, 0, NICENESS);
    return sift_thread(data);
}

static unsigned count_threads(const struct sift *sift)
{
    unsigned wanted = sift->options->threads;
    cpu_set_t cores;

    if (wanted == 0)
        wanted = sched_getaffinity(0, sizeof(cores), &cores) == 0 ? (unsigned)CPU_COUNT(&cores) : 1;
    return wanted < AUTHORITY_SIFT_MAX_THREADS ? wanted : AUTHORITY_SIFT_MAX_THREADS;
}

/* Returns how many could be started; they block all signals. */
static unsigned start_threads(struct sifter *sifters, unsigned wanted)
{
    unsigned started = 0;
    pthread_attr_t attributes;
    sigset_t all;
    sigset_t before;

    if (pthread_attr_init(&attributes) != 0)
        return 0;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (pthread_attr_setstacksize(&attributes, STACK_BYTES) == 0)
        while (started < wanted && pthread_create(&sifters[started].thread, &attributes,
                                                  sift_thread_nicely, &sifters[started]) == 0)
            started++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return started;
}

static void run_crew(struct crew *crew, struct sifter *sifters, unsigned count)
{
    unsigned started;

    for (unsigned i = 0; i < count; i++) {
        sifters[i].crew = crew;
        sifters[i].index = i;
    }
    started = start_threads(sifters, count);
    if (started == 0) /* slower, and not out of the others' way */
        sift_thread(&sifters[0]);
    for (unsigned i = 0; i < started; i++)
        pthread_join(sifters[i].thread, NULL);
}

int sift_run(const struct sift *sift, struct ignore_layer *layer)
{
    unsigned count = count_threads(sift);
    struct sifter *sifters = calloc(count, sizeof(*sifters));
    struct crew crew = {.sift = sift};
    struct waiting *left;

    if (sifters == NULL)
        return ERR_NO_MEMORY;
    pthread_mutex_init(&crew.lock, NULL);
    pthread_cond_init(&crew.has_work, NULL);
    list_init(&crew.waiting);
    list_init(&crew.opened);
    crew.result = add_waiting(&crew, sift->base, layer, 1);
    if (crew.result == 0)
        run_crew(&crew, sifters, count);
    while ((left = take_waiting(&crew)) != NULL)
        free_waiting(left);
    pthread_cond_destroy(&crew.has_work);
    pthread_mutex_destroy(&crew.lock);
    free(sifters);
    return crew.result;
}
