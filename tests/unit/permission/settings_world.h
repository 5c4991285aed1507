/* SPDX-License-Identifier: Apache-2.0 */
/* Settings in a directory of the test, and helpers for them. */
#ifndef TESTS_UNIT_PERMISSION_SETTINGS_WORLD_H
#define TESTS_UNIT_PERMISSION_SETTINGS_WORLD_H

#include "../authority/small_disk.h"

#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "../authority/scene.h"
#include "permission/settings/file.h"

enum { PATH_BYTES = 160, TEXT_BYTES = 1 << 20, WRITERS = 8, RULES_EACH = 50, SHORT_WAIT_MS = 30 };

struct world {
    struct scene scene;
    char dir[PATH_BYTES];   /* of the settings; not there yet */
    char state[PATH_BYTES]; /* of the authority */
    struct authority *authority;
    struct settings_file *file;
    struct arena arena;
    struct settings settings;
    struct settings_findings findings;
    struct err err;
    char text[TEXT_BYTES];
};

static inline int new_authority(const struct world *world, struct authority **out)
{
    const struct authority_config config = {.backend = AUTHORITY_LINUX, .state_dir = world->state};

    return authority_new(&config, out, NULL);
}

static inline int set_up(void **state)
{
    struct world *world = calloc(1, sizeof(*world));

    assert_non_null(world);
    scene_make(&world->scene);
    snprintf(world->dir, sizeof(world->dir), "%s/settings", world->scene.path);
    snprintf(world->state, sizeof(world->state), "%s/state", world->scene.path);
    assert_int_equal(new_authority(world, &world->authority), 0);
    arena_init(&world->arena, SETTINGS_ARENA_BYTES);
    *state = world;
    return 0;
}

static inline int tear_down(void **state)
{
    struct world *world = *state;

    settings_file_free(world->file);
    authority_free(world->authority);
    arena_done(&world->arena);
    scene_drop(&world->scene);
    free(world);
    return 0;
}

static inline int try_open(struct world *world, bool may_create, bool only_reads)
{
    const struct settings_file_config config = {.authority = world->authority,
                                                .dir = world->dir,
                                                .may_create = may_create,
                                                .only_reads = only_reads,
                                                .wait_ms = SHORT_WAIT_MS};

    settings_file_free(world->file);
    world->file = NULL;
    world->err = (struct err)ERR_INIT;
    return settings_file_open(&config, &world->file, &world->err);
}

static inline void open_it(struct world *world)
{
    if (try_open(world, true, false) < 0)
        fail_msg("%s", world->err.message);
}

static inline int try_load(struct world *world)
{
    world->err = (struct err)ERR_INIT;
    arena_reset(&world->arena);
    return settings_file_load(world->file, &world->arena, &world->settings, &world->findings,
                              &world->err);
}

static inline void load(struct world *world)
{
    if (try_load(world) < 0)
        fail_msg("%s", world->err.message);
}

static inline struct rule shell_rule(enum rule_effect effect, const char *command)
{
    return (struct rule){.group = CATALOG_SHELL,
                         .effect = effect,
                         .kind = RULE_EXACT,
                         .pattern = str_from(command),
                         .cwd = STR_EMPTY,
                         .note = STR_EMPTY};
}

static inline int add(struct world *world, const char *command)
{
    struct rule rule = shell_rule(RULE_DENY, command);

    world->err = (struct err)ERR_INIT;
    return settings_file_add_rule(world->file, &rule, &world->err);
}

static inline const char *content(struct world *world, const char *name)
{
    char path[PATH_BYTES + 300];
    cleanup_fd int fd = -1;
    ssize_t len;

    snprintf(path, sizeof(path), "%s/%s", world->dir, name);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    len = fd < 0 ? 0 : read(fd, world->text, sizeof(world->text) - 1);
    assert_true(len >= 0);
    world->text[len] = '\0';
    return world->text;
}

static inline void plant(struct world *world, const char *name, const char *text, unsigned mode)
{
    char path[PATH_BYTES + 300];
    int fd;

    (void)mkdir(world->dir, 0700);
    snprintf(path, sizeof(path), "%s/%s", world->dir, name);
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    assert_int_equal(fchmod(fd, mode), 0);
    close(fd);
}

static inline unsigned mode_of(const char *path)
{
    struct stat about;

    assert_int_equal(stat(path, &about), 0);
    return about.st_mode & 07777;
}

static inline unsigned file_mode(struct world *world)
{
    char path[PATH_BYTES + 16];

    snprintf(path, sizeof(path), "%s/settings.json", world->dir);
    return mode_of(path);
}

static inline size_t count_files(struct world *world, const char *prefix)
{
    DIR *dir = opendir(world->dir);
    size_t count = 0;

    assert_non_null(dir);
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;)
        count += strncmp(entry->d_name, prefix, strlen(prefix)) == 0 && entry->d_name[0] != '.';
    closedir(dir);
    return count;
}

struct writer {
    struct world *world;
    int number;
};

/* As another process would: with an authority and a file of its own. */
static inline int write_rules(void *data)
{
    const struct writer *writer = data;
    struct settings_file_config config = {.dir = writer->world->dir, .may_create = true};
    struct settings_file *file;

    CHECK(new_authority(writer->world, &config.authority) == 0);
    CHECK(settings_file_open(&config, &file, NULL) == 0);
    for (int i = 0; i < RULES_EACH; i++) {
        char command[32];
        struct rule rule;

        snprintf(command, sizeof(command), "writer %d rule %d", writer->number, i);
        rule = shell_rule(i % 2 == 0 ? RULE_DENY : RULE_ALLOW, command);
        rule.note = i % 3 == 0 ? STR("noted") : STR_EMPTY;
        CHECK(settings_file_add_rule(file, &rule, NULL) == 0);
    }
    settings_file_free(file);
    authority_free(config.authority);
    return 0;
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

#endif
