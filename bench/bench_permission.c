/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long a decision takes among 10,000 rules, for each kind of rule and for all kinds together.
 * Files are opened for writing by a name that leads elsewhere, so that every table is searched for
 * both names; the session has rules too. Every second decision finds a rule, the others none. There
 * is no peer that a busy machine would slow down as well, so this measures CPU time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "bench.h"
#include "permission/permission.h"

enum {
    RULES = 10000,
    SESSION_RULES = 1000,
    QUESTIONS = 256,
    ROUNDS = 41,
    ROUND_DECISIONS = 2000,
    TEXT_BYTES = 128,
    ARENA_BYTES = 64 << 20,
};

static const double goal_us = 5;

/* Text around a number. */
struct frame {
    const char *before, *behind;
};

struct kind {
    const char *name;
    enum catalog_group group; /* of files: both groups in turn */
    struct frame pattern;
    struct frame resource; /* that the pattern of the same number holds for */
    bool is_expired;
};

static const struct kind kinds[] = {
    {"exact paths",
     CATALOG_FILESYSTEM_WRITE,
     {"/home/bob/src/project/lib/f", ".c"},
     {"/home/bob/src/project/lib/f", ".c"},
     false},
    {"directories",
     CATALOG_FILESYSTEM_WRITE,
     {"dir:/home/bob/src/p", "/lib"},
     {"/home/bob/src/p", "/lib/parser/token.c"},
     false},
    {"globs with a fixed head",
     CATALOG_FILESYSTEM_WRITE,
     {"glob:/home/bob/src/p", "/**/*.c"},
     {"/home/bob/src/p", "/lib/parser/token.c"},
     false},
    {"globs of names",
     CATALOG_FILESYSTEM_WRITE,
     {"glob:**/name", ""},
     {"/home/bob/src/project/lib/name", ""},
     false},
    {"globs of endings",
     CATALOG_FILESYSTEM_WRITE,
     {"glob:**/*.e", ""},
     {"/home/bob/src/project/lib/parser/token.e", ""},
     false},
    {"globs of names below one head",
     CATALOG_FILESYSTEM_WRITE,
     {"glob:/home/bob/**/name", "/*.c"},
     {"/home/bob/src/project/lib/name", "/token.c"},
     false},
    {"expired globs that are no usual ones",
     CATALOG_FILESYSTEM_WRITE,
     {"glob:**/*n", "*"},
     {"/home/bob/src/project/lib/parser/n", ""},
     true},
    {"expired directories",
     CATALOG_FILESYSTEM_WRITE,
     {"dir:/home/bob/src/p", "/lib"},
     {"/home/bob/src/p", "/lib/parser/token.c"},
     true},
    {"exact commands",
     CATALOG_SHELL,
     {"make -C build target", " V=1"},
     {"make -C build target", " V=1"},
     false},
    {"prefixes",
     CATALOG_SHELL,
     {"prefix:git log --author=a", " -p"},
     {"git log --author=a", " -p --stat src/main.c"},
     false},
    {"hosts", CATALOG_BROWSER, {"host:*.h", ".example.com"}, {"www.h", ".example.com"}, false},
};

enum { KINDS = array_size(kinds) };

struct world {
    struct arena arena;
    struct permission *permission;
    struct permission_resource questions[QUESTIONS];
    size_t next;
    size_t asked;
    size_t by_rule; /* of these */
};

static void must(bool is_true, const char *what)
{
    if (is_true)
        return;
    fprintf(stderr, "bench_permission: %s\n", what);
    exit(1);
}

static struct str framed(struct world *world, const struct frame *frame, int number)
{
    char text[TEXT_BYTES];
    int len = snprintf(text, sizeof(text), "%s%d%s", frame->before, number, frame->behind);
    const char *copy = arena_copy(&world->arena, (struct str){text, (size_t)len});

    must(copy != NULL, "no memory");
    return (struct str){copy, (size_t)len};
}

/* One kind of rules, or all of them in turn. */
static struct world *make_world(const struct kind *only, size_t count)
{
    static struct rule rules[RULES];
    struct permission_config config = {
        .modes = {.of = {PERMISSION_ASK, PERMISSION_ASK, PERMISSION_ASK, PERMISSION_ASK,
                         PERMISSION_ASK}}};
    struct world *world = calloc(1, sizeof(*world));
    struct rulebook *book = NULL;

    must(world != NULL, "no memory");
    arena_init(&world->arena, ARENA_BYTES);
    must(permission_new(&config, &world->permission, NULL) == 0, "no engine");
    for (int i = 0; i < RULES; i++) {
        const struct kind *kind = &only[(size_t)i % count];
        bool is_file = kind->group == CATALOG_FILESYSTEM_WRITE;

        must(rule_parse(&world->arena, is_file && i % 4 < 2 ? CATALOG_FILESYSTEM_READ : kind->group,
                        framed(world, &kind->pattern, i), &rules[i], NULL) == 0,
             "no rule");
        rules[i].effect = i % 2 == 0 ? RULE_DENY : RULE_ALLOW;
        rules[i].expires_ms = kind->is_expired ? 1 : 0;
    }
    must(rulebook_new(rules, RULES, &book, NULL) == 0, "no book");
    permission_set_book(world->permission, book);
    rulebook_unref(book);
    for (int i = 0; i < SESSION_RULES; i++) {
        struct permission_resource resource = {
            .group = CATALOG_FILESYSTEM_WRITE,
            .given = framed(world, &(struct frame){"/home/bob/session", ""}, i)};

        must(permission_allow_for_session(world->permission, &resource) == 0, "no session");
    }
    for (int i = 0; i < QUESTIONS; i++) {
        const struct kind *kind = &only[(size_t)i % count];
        /* Of this kind, with both effects. */
        int number =
            (i * (RULES / QUESTIONS) / (int)count + i / 2 % 2) * (int)count + i % (int)count;
        struct permission_resource *question = &world->questions[i];

        /* Numbers that no rule has come as often. */
        question->group = kind->group;
        question->given = framed(world, &kind->resource, i % 2 == 0 ? number : number + RULES);
        question->cwd = STR("/home/bob/src");
        if (kind->group == CATALOG_FILESYSTEM_WRITE) {
            question->resolved = question->given;
            question->given = framed(world, &(struct frame){"/home/bob/src/links/to/l", ".c"}, i);
        }
    }
    return world;
}

static void free_world(struct world *world)
{
    permission_free(world->permission);
    arena_done(&world->arena);
    free(world);
}

static void decide(struct world *world)
{
    struct permission_decision decision;

    permission_decide(world->permission, &world->questions[world->next], &decision);
    world->next = (world->next + 1) % QUESTIONS;
    world->asked++;
    world->by_rule += decision.source != PERMISSION_BY_MODE;
}

static double cpu_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static int by_size(const void *one, const void *other)
{
    double a = *(const double *)one;
    double b = *(const double *)other;

    return (a > b) - (a < b);
}

/* Of one decision, in the middle round. */
static double time_decisions(struct world *world)
{
    double rounds[ROUNDS];

    for (int round = 0; round < ROUNDS; round++) {
        double start = cpu_ns();

        for (int i = 0; i < ROUND_DECISIONS; i++)
            decide(world);
        rounds[round] = (cpu_ns() - start) / ROUND_DECISIONS;
    }
    qsort(rounds, ROUNDS, sizeof(rounds[0]), by_size);
    return rounds[ROUNDS / 2];
}

static void measure(const char *what, const struct kind *only, size_t count)
{
    struct world *world = make_world(only, count);
    char label[TEXT_BYTES];

    snprintf(label, sizeof(label), "10,000 rules, %s", what);
    bench_goal_at_most_of(label, time_decisions(world) / 1e3, goal_us, "us");
    must(count == 1 && only->is_expired ? world->by_rule == 0
                                        : world->by_rule > 0 && world->by_rule < world->asked,
         "the questions do not fit the rules");
    free_world(world);
}

int main(void)
{
    printf("permission, decide among 10,000 rules\n");
    for (size_t i = 0; i < KINDS; i++)
        measure(kinds[i].name, &kinds[i], 1);
    measure("all kinds", kinds, KINDS);
    return bench_missed() > 0 ? BENCH_GOALS_MISSED : 0;
}
