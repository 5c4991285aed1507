/* SPDX-License-Identifier: Apache-2.0 */
#include "permission/rules/rulebook.h"

#include <assert.h>
#include <stdlib.h>

#include "permission/commandline/starts.h"
#include "permission/rules/form.h"
#include "permission/rules/rulebook_internal.h"

struct rulebook *rulebook_ref(struct rulebook *book)
{
    atomic_fetch_add_explicit(&book->references, 1, memory_order_relaxed);
    return book;
}

void rulebook_unref(struct rulebook *book)
{
    if (book == NULL || atomic_fetch_sub_explicit(&book->references, 1, memory_order_acq_rel) > 1)
        return;
    arena_done(&book->arena);
    free(book->nodes);
    free(book->slots);
    free(book);
}

size_t rulebook_count(const struct rulebook *book)
{
    return book->count;
}

const struct rule *rulebook_at(const struct rulebook *book, size_t index)
{
    assert(index < book->count);
    return &book->rules[index];
}

enum {
    MOST_HEADS = 8,
    /* A name can come by the same list as often as it has components; a cycle through more lists
     * than these makes it a few times. */
    MOST_TRIED = 128,
};

/* ---- Steps ---- */

/* A lookup: what was found so far, and the time it is for. */
struct search {
    const struct rulebook *book;
    int64_t wall_ms;
    const struct rule *found;
    const struct rulebook_node *tried[MOST_TRIED]; /* lists of globs that do not hold */
    size_t tried_count;
};

static const struct rulebook_node *go_hashed(const struct search *search,
                                             const struct rulebook_node *at, uint64_t text_hash,
                                             enum rulebook_step step, struct str text)
{
    const struct rulebook *book = search->book;
    uint32_t parent = (uint32_t)(at - book->nodes);
    uint32_t node =
        rulebook_slot(book, rulebook_hash(text_hash, parent, step), parent, step, text)->node;

    return node == RULEBOOK_NONE ? NULL : &book->nodes[node];
}

static const struct rulebook_node *go(const struct search *search, const struct rulebook_node *at,
                                      enum rulebook_step step, struct str text)
{
    return go_hashed(search, at, hash_str(&search->book->key, text), step, text);
}

static bool holds(struct search *search, uint32_t rule)
{
    const struct rule *candidate;

    if (rule == RULEBOOK_NONE)
        return false;
    candidate = &search->book->rules[rule];
    if (rulebook_end(candidate) <= search->wall_ms)
        return false;
    search->found = candidate;
    return true;
}

/* ---- Files ---- */

static bool globs_hold(struct search *search, const struct rulebook_node *at, struct str name)
{
    for (uint32_t i = 0; i < at->glob_count; i++) {
        const struct rulebook_glob *glob = at->globs[i];

        if (glob->ends_ms <= search->wall_ms)
            return false;
        if (glob_matches(glob->glob, name))
            return holds(search, glob->rule);
    }
    return false;
}

/* Same for a list that may have been tried before. */
static bool new_globs_hold(struct search *search, const struct rulebook_node *at, struct str name)
{
    for (size_t i = 0; i < search->tried_count; i++)
        if (search->tried[i] == at)
            return false;
    if (search->tried_count < MOST_TRIED)
        search->tried[search->tried_count++] = at;
    return globs_hold(search, at, name);
}

/* Globs below `head` that need a component of this name, or one with this extension. */
static bool globs_of_name_hold(struct search *search, const struct rulebook_node *head,
                               struct str part, uint64_t part_hash, struct str name)
{
    const struct rulebook_node *at;
    struct str ending;

    if (head->has_names) {
        at = go_hashed(search, head, part_hash, STEP_GLOB_NAME, part);
        if (at != NULL && new_globs_hold(search, at, name))
            return true;
    }
    if (!head->has_endings)
        return false;
    ending = rulebook_ending(part);
    at = ending.len > 0 ? go(search, head, STEP_GLOB_ENDING, ending) : NULL;
    return at != NULL && new_globs_hold(search, at, name);
}

/* Same for all components of a name below `head`. */
static bool globs_below_hold(struct search *search, const struct rulebook_node *head,
                             struct str rest, struct str name)
{
    while (rest.len > 0) {
        struct str part = path_take(&rest);

        if (globs_of_name_hold(search, head, part, hash_str(&search->book->key, part), name))
            return true;
    }
    return false;
}

/*
 * Whether a rule matches on the path down, or a glob whose fixed part ends there. Each component is
 * hashed once for all fixed parts above it, as long as these are few.
 */
static bool way_holds(struct search *search, const struct rulebook_node *at, struct str name)
{
    const struct rulebook_node *heads[MOST_HEADS];
    size_t head_count = 0;
    struct str rest = name;

    while (true) {
        struct str part;
        uint64_t hash;

        if (at != NULL) {
            if (holds(search, at->rule) || globs_hold(search, at, name))
                return true;
            if (at->has_names || at->has_endings) {
                if (head_count < MOST_HEADS)
                    heads[head_count++] = at;
                else if (globs_below_hold(search, at, rest, name))
                    return true;
            }
        }
        if (rest.len == 0 || (at == NULL && head_count == 0))
            return false;
        part = path_take(&rest);
        hash = hash_str(&search->book->key, part);
        for (size_t i = 0; i < head_count; i++)
            if (globs_of_name_hold(search, heads[i], part, hash, name))
                return true;
        if (at != NULL)
            at = go_hashed(search, at, hash, STEP_DIRECTORY, part);
    }
}

static bool file_holds(struct search *search, const struct rulebook_node *root, struct str path)
{
    const struct rulebook_node *whole;
    __attribute__((uninitialized)) struct path_name room;
    struct str name;

    if (!form_path(path, false, &room, &name))
        return false;
    whole = go(search, root, STEP_WHOLE, name);
    return (whole != NULL && holds(search, whole->rule)) || way_holds(search, root, name);
}

/* ---- Commands ---- */

/* A command matched at `at`: does the rule apply anywhere, or in this directory? */
static bool command_holds(struct search *search, const struct rulebook_node *at, struct str cwd,
                          bool is_denied)
{
    __attribute__((uninitialized)) struct path_name room;
    struct str name;

    if (holds(search, at->rule))
        return true;
    if (at->cwd_rule == RULEBOOK_NONE)
        return false;
    if (!form_path(cwd, false, &room, &name))
        return is_denied && holds(search, at->cwd_rule);
    at = go(search, at, STEP_DIRECTORY, STEP_CWD);
    return way_holds(search, at, name);
}

/* Whether an allow rule matches the first words. */
static bool words_hold(struct search *search, const struct rulebook_node *root, struct str command,
                       struct str cwd)
{
    const struct rulebook_node *at = root;
    __attribute__((uninitialized)) struct form_words words;
    struct str word;

    form_words_init(&words, command, false);
    while (form_words_next(&words, &word)) {
        at = go(search, at, STEP_WORD, word);
        if (at == NULL)
            return false;
        if (command_holds(search, at, cwd, false))
            return true;
    }
    return false;
}

/* Whether a deny rule matches the words from `at`, which the program has led to. */
static bool denied_words_hold(struct search *search, const struct rulebook_node *at,
                              struct str behind, struct str cwd, bool skips_redirections)
{
    __attribute__((uninitialized)) struct form_words words;
    struct str word;

    form_words_init(&words, behind, true);
    words.is_first = false;
    while (!command_holds(search, at, cwd, true)) {
        do {
            if (!form_words_next(&words, &word) || words.begins_command)
                return false;
        } while (skips_redirections && words.is_redirected);
        at = go(search, at, STEP_WORD, word);
        if (at == NULL)
            return false;
    }
    return true;
}

static bool denied_program_holds(struct search *search, const struct rulebook_node *root,
                                 struct str program, struct str behind, struct str cwd)
{
    const struct rulebook_node *at = go(search, root, STEP_LOOSE_WORD, program);

    return at != NULL && (denied_words_hold(search, at, behind, cwd, false) ||
                          denied_words_hold(search, at, behind, cwd, true));
}

/* By its path, or by its name in any directory. */
static bool denied_prefix_holds(struct search *search, const struct rulebook_node *root,
                                struct str command, struct str cwd)
{
    __attribute__((uninitialized)) struct form_words words;
    __attribute__((uninitialized)) struct path_name room;
    struct command_starts starts;
    struct str text, word;

    command_starts_init(&starts, command);
    while (command_starts_next(&starts, &text)) {
        const char *slash;

        form_words_init(&words, text, true);
        if (!form_words_next(&words, &word))
            continue;
        slash = word.len == 0 ? NULL : memrchr(word.ptr, '/', word.len);
        if (slash != NULL &&
            denied_program_holds(search, root, rulebook_behind(word, slash), words.rest, cwd))
            return true;
        if (slash != NULL)
            word = form_program(word, &room);
        if (denied_program_holds(search, root, word, words.rest, cwd))
            return true;
    }
    return false;
}

/* Exactly the same words, whatever blanks and quotes are around them. */
static bool same_words_hold(struct search *search, const struct rulebook_node *root,
                            struct str command, struct str cwd)
{
    const struct rulebook_node *at = root;
    enum rulebook_step step = STEP_LOOSE_WHOLE;
    __attribute__((uninitialized)) struct form_words words;
    struct str word;

    form_words_init(&words, command, true);
    while (at != NULL && form_words_next(&words, &word)) {
        at = go(search, at, step, word);
        step = STEP_WORD;
    }
    return at != NULL && at != root && command_holds(search, at, cwd, true);
}

static bool shell_holds(struct search *search, const struct rulebook_node *root,
                        enum rule_effect effect, struct str command, struct str cwd)
{
    const struct rulebook_node *whole = go(search, root, STEP_WHOLE, command);
    bool is_denied = effect == RULE_DENY;
    bool is_plain;

    if (whole != NULL && command_holds(search, whole, cwd, is_denied))
        return true;
    is_plain = form_is_plain_command(command);
    if (is_denied)
        return denied_prefix_holds(search, root, command, cwd) ||
               (is_plain && same_words_hold(search, root, command, cwd));
    /* "prefix:git" is no consent to "git x; rm -rf ~", nor "prefix:printf" to a name that runs it.
     */
    return is_plain && !form_evaluates(command) && words_hold(search, root, command, cwd);
}

/* ---- Hosts ---- */

static bool domain_holds(struct search *search, const struct rulebook_node *root, struct str host)
{
    const struct rulebook_node *at = root;
    const char *dot;

    /* A rule for names below a domain wants one more label than the domain has. */
    while ((dot = memrchr(host.ptr, '.', host.len)) != NULL) {
        at = go(search, at, STEP_LABEL, rulebook_behind(host, dot));
        if (at == NULL)
            return false;
        if (holds(search, at->rule))
            return true;
        host.len = (size_t)(dot - host.ptr);
    }
    return false;
}

/* The rule for all hosts comes last: who finds another one knows that it names this host. */
static bool host_holds(struct search *search, const struct rulebook_node *root, struct str given)
{
    bool is_nowhere = str_eq(given, STR("*"));
    uint32_t for_all = root->rule;
    const struct rulebook_node *at;
    struct form_host host;
    struct str name = given;

    if (!is_nowhere) {
        if (!form_host(given, &host))
            return false;
        name = (struct str){host.text, host.len};
    }
    at = go(search, root, STEP_WHOLE, name);
    if (at != NULL && holds(search, at->rule))
        return true;
    if (is_nowhere)
        return false;
    return (!host.is_address && domain_holds(search, root, name)) || holds(search, for_all);
}

/* ---- The question ---- */

const struct rule *rulebook_find(const struct rulebook *book, enum rule_effect effect,
                                 enum catalog_group group, struct str resource, struct str cwd,
                                 int64_t wall_ms)
{
    const struct rulebook_node *root = &book->nodes[rulebook_root(effect, group)];
    __attribute__((uninitialized)) struct search search;
    const struct rulebook_node *whole;

    search.book = book;
    search.wall_ms = wall_ms;
    search.found = NULL;
    search.tried_count = 0;
    switch (group) {
    case CATALOG_FILESYSTEM_READ:
    case CATALOG_FILESYSTEM_WRITE:
        file_holds(&search, root, resource);
        break;
    case CATALOG_SHELL:
        shell_holds(&search, root, effect, resource, cwd);
        break;
    case CATALOG_BROWSER:
        host_holds(&search, root, resource);
        break;
    case CATALOG_COMPUTER:
        whole = go(&search, root, STEP_WHOLE, resource);
        if (whole != NULL && holds(&search, whole->rule))
            break;
        whole = go(&search, root, STEP_WHOLE, STR("*"));
        if (whole != NULL)
            holds(&search, whole->rule);
        break;
    }
    return search.found;
}

bool rulebook_denies_path(const struct rulebook *book, enum catalog_group group, struct str path,
                          int64_t wall_ms)
{
    __attribute__((uninitialized)) struct path_name room;
    struct str name;

    if (!form_path(path, false, &room, &name))
        return true;
    return rulebook_find(book, RULE_DENY, group, path, STR_EMPTY, wall_ms) != NULL ||
           (group == CATALOG_FILESYSTEM_WRITE &&
            rulebook_find(book, RULE_DENY, CATALOG_FILESYSTEM_READ, path, STR_EMPTY, wall_ms) !=
                NULL);
}

bool rulebook_has_denials(const struct rulebook *book, enum catalog_group group)
{
    return book->has_denials[group] ||
           (group == CATALOG_FILESYSTEM_WRITE && book->has_denials[CATALOG_FILESYSTEM_READ]);
}
