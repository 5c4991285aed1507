/* SPDX-License-Identifier: Apache-2.0 */
#include "permission/rules/keeper.h"

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "permission/rules/form.h"

enum {
    SESSION_RULES_BYTES = 4 << 20,
    SESSION_RULES_MAX = 4096,
    LED_BYTES = 64 << 20,
};

/* A root with a filter: where it is, and how it was named. */
struct filtered {
    struct filtered *next;
    struct keeper *keeper;
    char roots[2][PATH_MAX];
    struct str root_paths[2];
    size_t root_count;
};

struct keeper {
    struct permission *permission;
    struct settings_file *settings;
    bool may_save;
    struct permission_modes modes;
    const struct clock *clock;
    struct filtered *filtered;
    atomic_bool denies_paths;
    led_fn *leads;
    void *leads_data;
    _Atomic int64_t followed_ms; /* links, the last time */
    /* Whoever has it follows links, which may hang. Nobody waits for it. */
    pthread_mutex_t following;
    /* Serialises saves, which wait for other programs. Taken before the next lock. */
    pthread_mutex_t saving;
    /*
     * Guards what follows; workers take it as well as the loop, so nobody blocks while holding it.
     */
    pthread_mutex_t lock;
    struct rulebook *filed; /* last read from the file */
    struct rulebook *base;  /* with what could not be written there */
    struct rulebook *led;   /* only where rules of the base lead; or NULL */
    /* What could not be written there. */
    struct arena arena;
    struct rule *own;
    size_t own_count;
};

struct permission *keeper_permission(struct keeper *keeper)
{
    return keeper->permission;
}

bool keeper_saves(const struct keeper *keeper)
{
    return keeper->settings != NULL && keeper->may_save;
}

/* ---- the book ---- */

/* The rules last read from the file, and those that could not be saved there. */
static int join_books(const struct rulebook *base, const struct rulebook *led,
                      struct rulebook **out_book, struct err *err)
{
    size_t count = rulebook_count(base);
    size_t more = rulebook_count(led);
    struct rule *all = calloc(count + more, sizeof(*all));
    int r;

    if (all == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    for (size_t i = 0; i < count + more; i++)
        all[i] = i < count ? *rulebook_at(base, i) : *rulebook_at(led, i - count);
    r = rulebook_new(all, count + more, out_book, err);
    free(all);
    return r;
}

static int join_rules(const struct keeper *keeper, struct rulebook **out_book, struct err *err)
{
    size_t filed = rulebook_count(keeper->filed);
    struct rule *all = calloc(filed + keeper->own_count, sizeof(*all));
    int r;

    if (all == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    for (size_t i = 0; i < filed; i++)
        all[i] = *rulebook_at(keeper->filed, i);
    memcpy(all + filed, keeper->own, keeper->own_count * sizeof(*all));
    r = rulebook_new(all, filed + keeper->own_count, out_book, err);
    free(all);
    return r;
}

/* Only the rules for where links lead; NULL: there are none. */
static int find_led(const struct keeper *keeper, const struct rulebook *base,
                    struct rulebook **out_led, struct err *err)
{
    cleanup_arena struct arena arena = ARENA_INIT(LED_BYTES);
    struct rule *rules = NULL;
    size_t count = 0;
    int r = 0;

    *out_led = NULL;
    if (keeper->leads != NULL)
        r = led_rules(base, keeper->leads, keeper->leads_data, &arena, &rules, &count);
    if (r < 0)
        return err_set_plain(err, r);
    return count > 0 ? rulebook_new(rules, count, out_led, err) : 0;
}

static bool is_same(const struct rulebook *a, const struct rulebook *b)
{
    size_t count = a != NULL ? rulebook_count(a) : 0;

    if (count != (b != NULL ? rulebook_count(b) : 0))
        return false;
    for (size_t i = 0; i < count; i++) {
        const struct rule *one = rulebook_at(a, i);
        const struct rule *other = rulebook_at(b, i);

        if (one->group != other->group || one->kind != other->kind ||
            one->expires_ms != other->expires_ms || !str_eq(one->pattern, other->pattern))
            return false;
    }
    return true;
}

/* Takes over `led` on success, and a reference of its own to the base. */
static int set_rules(struct keeper *keeper, struct rulebook *base, struct rulebook *led,
                     struct err *err)
{
    struct rulebook *book = rulebook_ref(base);
    int r = 0;

    if (led != NULL) {
        rulebook_unref(book);
        r = join_books(base, led, &book, err);
    }
    if (r < 0)
        return r;
    rulebook_ref(base);
    rulebook_unref(keeper->base);
    keeper->base = base;
    rulebook_unref(keeper->led);
    keeper->led = led;
    permission_set_book(keeper->permission, book);
    atomic_store(&keeper->denies_paths, rulebook_has_denials(book, CATALOG_FILESYSTEM_READ) ||
                                            rulebook_has_denials(book, CATALOG_FILESYSTEM_WRITE));
    rulebook_unref(book);
    return 0;
}

static int use_rules(struct keeper *keeper, struct err *err)
{
    struct rulebook *base;
    struct rulebook *led = NULL;
    int r = 0;

    if (keeper->own_count > 0)
        r = join_rules(keeper, &base, err);
    else
        base = rulebook_ref(keeper->filed);
    if (r < 0)
        return r;
    r = find_led(keeper, base, &led, err);
    if (r == 0)
        r = set_rules(keeper, base, led, err);
    if (r < 0)
        rulebook_unref(led);
    rulebook_unref(base);
    return r;
}

/* Deny rules may be missing, so nothing may happen without asking. */
static void hold_back(struct keeper *keeper, bool rules_are_missing)
{
    struct permission_modes modes = keeper->modes;

    if (rules_are_missing)
        permission_modes_cap_ask(&modes);
    permission_set_modes(keeper->permission, &modes);
}

typedef int load_fn(struct settings_file *file, struct arena *arena, struct settings *out_settings,
                    struct settings_findings *out_findings, struct err *err);

static int read_rules(struct keeper *keeper, load_fn *load, struct settings_findings *findings,
                      struct err *err)
{
    cleanup_arena struct arena arena = ARENA_INIT(SETTINGS_ARENA_BYTES);
    struct settings settings = {.rule_count = 0};
    struct rulebook *book;
    int r = keeper->settings != NULL ? load(keeper->settings, &arena, &settings, findings, err) : 0;

    if (r == 0)
        r = rulebook_new(settings.rules, settings.rule_count, &book, err);
    if (r < 0)
        return r;
    rulebook_unref(keeper->filed);
    keeper->filed = book;
    return 0;
}

static int take_rules(struct keeper *keeper, load_fn *load, struct settings_findings *findings,
                      struct err *err)
{
    int r = read_rules(keeper, load, findings, err);
    int used = keeper->filed != NULL ? use_rules(keeper, r == 0 ? err : NULL) : 0;

    if (r == 0)
        r = used;
    hold_back(keeper, r < 0 || findings->is_set_aside);
    return r;
}

int keeper_refresh(struct keeper *keeper, struct err *err)
{
    struct settings_findings findings = {.is_set_aside = false};
    int r;

    pthread_mutex_lock(&keeper->lock);
    r = take_rules(keeper, settings_file_reload, &findings, err);
    pthread_mutex_unlock(&keeper->lock);
    return r;
}

int keeper_set_rules(struct keeper *keeper, const struct rule *rules, size_t count, struct err *err)
{
    struct rulebook *book;
    int r = rulebook_new(rules, count, &book, err);

    if (r < 0)
        return r;
    pthread_mutex_lock(&keeper->lock);
    rulebook_unref(keeper->filed);
    keeper->filed = book;
    r = use_rules(keeper, err);
    pthread_mutex_unlock(&keeper->lock);
    return r;
}

bool keeper_is_outdated(struct keeper *keeper)
{
    bool is_outdated;

    pthread_mutex_lock(&keeper->lock);
    is_outdated = keeper->settings != NULL && settings_file_changed(keeper->settings);
    pthread_mutex_unlock(&keeper->lock);
    return is_outdated;
}

/* ---- saving ---- */

static struct rule rule_for(const struct permission_resource *resource, enum rule_effect effect)
{
    return (struct rule){
        .group = resource->group,
        .effect = effect,
        .kind = RULE_EXACT,
        .pattern = permission_resource_name(resource),
    };
}

static void hold_for_session(struct keeper *keeper, const struct rule *rule)
{
    const char *pattern;

    if (keeper->own_count == SESSION_RULES_MAX)
        return;
    if (keeper->own == NULL)
        keeper->own = arena_alloc_array(&keeper->arena, SESSION_RULES_MAX, sizeof(*keeper->own));
    pattern = arena_copy(&keeper->arena, rule->pattern);
    if (keeper->own == NULL || pattern == NULL)
        return;
    keeper->own[keeper->own_count] = *rule;
    keeper->own[keeper->own_count++].pattern.ptr = pattern;
}

/* `r` is what became of the one before: if that has waited in vain, this one does not wait again.
 */
static int save_one(struct keeper *keeper, const struct rule *rule, int r, struct err *err)
{
    if (!keeper_saves(keeper))
        r = err_set_plain(err, ERR_UNSUPPORTED);
    else if (r != ERR_BUSY)
        r = settings_file_add_rule(keeper->settings, rule, err);
    if (r == ERR_ALREADY_EXISTS)
        r = 0;
    if (r < 0) {
        pthread_mutex_lock(&keeper->lock);
        hold_for_session(keeper, rule);
        pthread_mutex_unlock(&keeper->lock);
    }
    return r;
}

int keeper_save(struct keeper *keeper, const struct permission_resource *resources, size_t count,
                enum rule_effect effect, struct err *err)
{
    struct err ignored = ERR_INIT;
    int result = 0;
    int r = 0;

    pthread_mutex_lock(&keeper->saving);
    for (size_t i = 0; i < count; i++) {
        const struct rule rule = rule_for(&resources[i], effect);

        r = save_one(keeper, &rule, r, result == 0 ? err : &ignored);
        if (r < 0)
            result = r;
    }
    r = keeper_refresh(keeper, &ignored);
    pthread_mutex_unlock(&keeper->saving);
    return result < 0 ? result : r;
}

int keeper_save_rule(struct keeper *keeper, const struct rule *rule, struct err *err)
{
    struct err ignored = ERR_INIT;
    int result;
    int r;

    pthread_mutex_lock(&keeper->saving);
    result = save_one(keeper, rule, 0, err);
    r = keeper_refresh(keeper, &ignored);
    pthread_mutex_unlock(&keeper->saving);
    return result < 0 ? result : r;
}

/* ---- links of rules ---- */

/* Reads links without the lock. If other rules came meanwhile, their links were just followed. */
static void follow_links(struct keeper *keeper)
{
    struct rulebook *base;
    struct rulebook *led = NULL;
    bool is_taken = false;
    int r;

    pthread_mutex_lock(&keeper->lock);
    base = rulebook_ref(keeper->base);
    pthread_mutex_unlock(&keeper->lock);
    r = find_led(keeper, base, &led, NULL);
    pthread_mutex_lock(&keeper->lock);
    if (r == 0 && base == keeper->base && !is_same(led, keeper->led))
        is_taken = set_rules(keeper, base, led, NULL) == 0;
    pthread_mutex_unlock(&keeper->lock);
    if (!is_taken)
        rulebook_unref(led);
    rulebook_unref(base);
}

void keeper_follow_links(struct keeper *keeper)
{
    if (keeper->leads == NULL || !atomic_load(&keeper->denies_paths) ||
        pthread_mutex_trylock(&keeper->following) != 0)
        return;
    follow_links(keeper);
    atomic_store(&keeper->followed_ms, clock_monotonic_ms(keeper->clock));
    pthread_mutex_unlock(&keeper->following);
}

/* ---- names that nobody is to see ---- */

static bool filter_is_active(void *data)
{
    const struct filtered *filtered = data;
    const struct keeper *keeper = filtered->keeper;

    return atomic_load_explicit(&keeper->denies_paths, memory_order_relaxed);
}

/* *out_rule is the one that denies it, as long as the book lives; NULL: the name has no form. */
static bool book_denies(const struct rulebook *book, struct str root, struct str name, bool changes,
                        int64_t now_ms, const struct rule **out_rule)
{
    static const enum catalog_group groups[] = {CATALOG_FILESYSTEM_READ, CATALOG_FILESYSTEM_WRITE};
    char path[2 * PATH_MAX];
    struct str whole = {path, root.len};
    bool denies = false;

    memcpy(path, root.ptr, root.len);
    if (name.len > 0) {
        path[whole.len++] = '/';
        memcpy(path + whole.len, name.ptr, name.len);
        whole.len += name.len;
    }
    for (size_t i = 0; i < (changes ? array_size(groups) : 1) && !denies; i++) {
        denies = rulebook_denies_path(book, groups[i], whole, now_ms);
        if (denies && out_rule != NULL)
            *out_rule = rulebook_find(book, RULE_DENY, groups[i], whole, STR_EMPTY, now_ms);
    }
    return denies;
}

static bool filter_denies(void *data, struct str name, bool changes)
{
    const struct filtered *filtered = data;
    struct keeper *keeper = filtered->keeper;
    int64_t now_ms = clock_wall_ms(keeper->clock);
    struct rulebook *book;
    bool denies = false;

    if (name.len >= PATH_MAX)
        return true;
    if (keeper->leads != NULL &&
        clock_monotonic_ms(keeper->clock) - atomic_load(&keeper->followed_ms) >= KEEPER_LINKS_MS)
        keeper_follow_links(keeper);
    book = permission_book(keeper->permission);
    for (size_t i = 0; i < filtered->root_count && !denies; i++)
        denies = book_denies(book, filtered->root_paths[i], name, changes, now_ms, NULL);
    rulebook_unref(book);
    return denies;
}

_Static_assert((int)PERMISSION_RULE_BYTES == (int)AUTHORITY_RULE_BYTES, "a rule fits the record");

/* Right after filter_denies(), by the rules of then or of now. */
static void filter_tell(void *data, struct str name, bool changes,
                        char out_rule[AUTHORITY_RULE_BYTES])
{
    const struct filtered *filtered = data;
    int64_t now_ms = clock_wall_ms(filtered->keeper->clock);
    struct rulebook *book = permission_book(filtered->keeper->permission);
    const struct rule *rule = NULL;

    for (size_t i = 0; i < filtered->root_count && rule == NULL && name.len < PATH_MAX; i++)
        (void)book_denies(book, filtered->root_paths[i], name, changes, now_ms, &rule);
    permission_write_rule(rule, out_rule);
    rulebook_unref(book);
}

/* In the form of rules, without a trailing slash: names follow after one. */
static bool add_root(struct filtered *filtered, const char *root_path)
{
    char *text = filtered->roots[filtered->root_count];
    __attribute__((uninitialized)) struct path_name room;
    struct str below;
    struct str path;

    if (!form_path(str_from(root_path), true, &room, &below) || below.len + 1 >= PATH_MAX)
        return false;
    path = (struct str){text, below.len > 0 ? below.len + 1 : 0};
    text[0] = '/';
    memcpy(text + 1, below.ptr, below.len);
    if (filtered->root_count == 0 || !str_eq(path, filtered->root_paths[0]))
        filtered->root_paths[filtered->root_count++] = path;
    return true;
}

int keeper_filter(struct keeper *keeper, const char *root_path, const char *given_path,
                  struct authority_filter *out_filter)
{
    struct filtered *filtered = calloc(1, sizeof(*filtered));

    if (filtered == NULL)
        return ERR_NO_MEMORY;
    filtered->next = keeper->filtered;
    filtered->keeper = keeper;
    keeper->filtered = filtered;
    if (!add_root(filtered, root_path) || (given_path != NULL && !add_root(filtered, given_path)))
        return ERR_INVALID_PATH;
    *out_filter =
        (struct authority_filter){.is_active = filter_is_active,
                                  .denies = filter_denies,
                                  .tell = filter_tell,
                                  .policy_id = permission_source_name(PERMISSION_BY_DENY_RULE),
                                  .data = filtered};
    return 0;
}

/* ---- making ---- */

int keeper_new(const struct keeper_config *config, struct keeper **out_keeper,
               struct settings_findings *out_findings, struct err *err)
{
    const struct permission_config permission = {
        .modes = config->modes, .protected_dirs = config->protected_dirs, .clock = config->clock};
    struct keeper *keeper = calloc(1, sizeof(*keeper));
    struct settings_findings findings = {.is_set_aside = false};
    int r;

    if (keeper == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    keeper->settings = config->settings;
    keeper->may_save = config->may_save;
    keeper->leads = config->leads;
    keeper->leads_data = config->leads_data;
    keeper->modes = config->modes;
    keeper->clock = config->clock != NULL ? config->clock : &clock_system;
    arena_init(&keeper->arena, SESSION_RULES_BYTES);
    pthread_mutex_init(&keeper->saving, NULL);
    pthread_mutex_init(&keeper->lock, NULL);
    pthread_mutex_init(&keeper->following, NULL);
    r = permission_new(&permission, &keeper->permission, err);
    if (r == 0)
        r = take_rules(keeper, settings_file_load, &findings, err);
    if (r < 0) {
        keeper_free(keeper);
        return r;
    }
    if (out_findings != NULL)
        *out_findings = findings;
    *out_keeper = keeper;
    return 0;
}

void keeper_free(struct keeper *keeper)
{
    if (keeper == NULL)
        return;
    permission_free(keeper->permission);
    rulebook_unref(keeper->filed);
    rulebook_unref(keeper->base);
    rulebook_unref(keeper->led);
    pthread_mutex_destroy(&keeper->following);
    pthread_mutex_destroy(&keeper->lock);
    pthread_mutex_destroy(&keeper->saving);
    arena_done(&keeper->arena);
    for (struct filtered *one = keeper->filtered, *next; one != NULL; one = next) {
        next = one->next;
        free(one);
    }
    free(keeper);
}
