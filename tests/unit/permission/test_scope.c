/* SPDX-License-Identifier: Apache-2.0 */
/* What else an answer may cover, and what it must not. */
#include "test.h"

#include "permission/scope.h"

enum { ARENA_BYTES = 64 << 10 };

struct named {
    enum permission_operation operation;
    const char *name;
};

static struct permission_resource resource_of(const struct named *named)
{
    bool is_file = named->operation != PERMISSION_USES;

    return (struct permission_resource){
        .group = is_file ? permission_operation_group(named->operation) : CATALOG_SHELL,
        .given = str_from(named->name),
        .operation = named->operation,
    };
}

static void assert_scope(bool has_one, const struct rule *rule, const char *expected,
                         const char *about)
{
    if (has_one != (expected != NULL) || (has_one && !str_eq_c(rule->pattern, expected)))
        fail_msg("%s: %.*s", about, has_one ? (int)rule->pattern.len : 4,
                 has_one ? rule->pattern.ptr : "none");
}

static void files_have_a_folder_and_an_ending_in_common(void **state)
{
    static const struct {
        struct named named[3];
        const char *folder;
        const char *pattern;
    } rows[] = {
        {{{PERMISSION_READS, "/srv/src/a.c"}}, "/srv/src", "/srv/src/**/*.c"},
        {{{PERMISSION_READS, "/srv/src/Makefile"}}, "/srv/src", NULL},
        {{{PERMISSION_READS, "/srv/src/.config"}}, "/srv/src", NULL},
        {{{PERMISSION_READS, "/srv/a.b/c"}}, "/srv/a.b", NULL},
        {{{PERMISSION_READS, "/srv/src/a.c*"}}, "/srv/src", NULL},
        {{{PERMISSION_READS, "/srv/s*/a.c"}}, "/srv/s*", NULL},
        {{{PERMISSION_LOOKS_UP, "/srv/b/a.c"}, {PERMISSION_CREATES, "/srv/b/a.c"}},
         "/srv/b",
         "/srv/b/**/*.c"},
        {{{PERMISSION_READS, "/srv/a/x.c"}, {PERMISSION_CREATES, "/srv/b/y.c"}},
         "/srv",
         "/srv/**/*.c"},
        {{{PERMISSION_READS, "/srv/ab/x.c"}, {PERMISSION_READS, "/srv/a/y.h"}}, "/srv", NULL},
        {{{PERMISSION_LISTS, "/srv/src"}}, "/srv/src", NULL},
        {{{PERMISSION_READS_BELOW, "/srv/src.c"}}, "/srv/src.c", NULL},
        {{{PERMISSION_LOOKS_UP, "/srv/src"}, {PERMISSION_CHANGES_BELOW, "/srv/src"}},
         "/srv/src",
         NULL},
        /* The whole machine is no folder; what is only looked up may be the session's own. */
        {{{PERMISSION_READS, "/a.c"}}, NULL, NULL},
        {{{PERMISSION_READS, "/a/x.c"}, {PERMISSION_READS, "/b/x.c"}}, NULL, NULL},
        {{{PERMISSION_LOOKS_UP, "/srv/src/a.c"}}, NULL, NULL},
        {{{PERMISSION_DELETES, "/srv/src/a.c"}}, NULL, NULL},
        {{{PERMISSION_MOVES, "/srv/src/a.c"}, {PERMISSION_CREATES, "/srv/b.c"}}, NULL, NULL},
        {{{PERMISSION_READS, "/srv/src/.env"}}, NULL, NULL},
        {{{PERMISSION_READS, "/srv/src/a.c"}, {PERMISSION_READS, "/srv/src/id.pem"}}, NULL, NULL},
        {{{PERMISSION_READS, "/srv/\xff/a.c"}}, NULL, NULL},
        {{{PERMISSION_READS, "/srv/a"}, {PERMISSION_USES, "npm test"}}, NULL, NULL},
    };

    (void)state;
    for (size_t i = 0; i < array_size(rows); i++) {
        cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
        struct permission_resource resources[3];
        struct rule rule = {.group = CATALOG_BROWSER};
        size_t count = 0;

        while (count < 3 && rows[i].named[count].name != NULL) {
            resources[count] = resource_of(&rows[i].named[count]);
            count++;
        }
        assert_scope(scope_folder(&arena, resources, count, &rule), &rule, rows[i].folder,
                     rows[i].named[0].name);
        assert_scope(scope_matching(&arena, resources, count, &rule), &rule, rows[i].pattern,
                     rows[i].named[0].name);
    }
}

static void plain_commands_have_first_words(void **state)
{
    static const char *const rows[][2] = {
        {"npm test", "npm test"},
        {"npm test -- --watch", "npm test"},
        {"git status --short", "git status"},
        {"npm run build", "npm run build"},
        {"npm run build:all -w x", "npm run build:all"},
        {"npm run", NULL},
        {"npm run -s build", NULL},
        {"npm", NULL},
        {"git -c alias.x=!rm status", NULL},
        {"git status > x", NULL},
        {"git status; rm x", NULL},
        {"git status && rm x", NULL},
        {"git status $(rm x)", NULL},
        {"git 'status'", NULL},
        {"./npm test", NULL},
        {"/usr/bin/npm test", NULL},
        {"bash test", NULL},
        {"python3 test", NULL},
        {"sudo make", NULL},
        {"env make", NULL},
        {"xargs make", NULL},
        {"find src", NULL},
        {"rm build", NULL},
        {"make CC=x", NULL},
        {"FOO=1 make all", NULL},
        {"make all", "make all"},
    };

    (void)state;
    for (size_t i = 0; i < array_size(rows); i++) {
        cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
        struct permission_resource resource =
            resource_of(&(struct named){PERMISSION_USES, rows[i][0]});
        struct rule rule;

        assert_scope(scope_matching(&arena, &resource, 1, &rule), &rule, rows[i][1], rows[i][0]);
        assert_false(scope_folder(&arena, &resource, 1, &rule));
        resource.is_typed = true;
        assert_false(scope_matching(&arena, &resource, 1, &rule));
    }
}

TEST_MAIN(cmocka_unit_test(files_have_a_folder_and_an_ending_in_common),
          cmocka_unit_test(plain_commands_have_first_words))
