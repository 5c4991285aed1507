/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../../authority/scene.h"
#include "programs/connect/folder.h"

enum { PATH_BYTES = 160 };

static void a_home_is_found_only_at_the_beginning(void **state)
{
    static const struct {
        const char *typed;
        const char *path;
    } rows[] = {
        {"~", "/home/user"},
        {"~/", "/home/user/"},
        {"~/work", "/home/user/work"},
        {"/srv/~/work", "/srv/~/work"},
        {"/srv", "/srv"},
    };
    char path[PATH_MAX];

    (void)state;
    assert_int_equal(setenv("HOME", "/home/user", 1), 0);
    for (size_t i = 0; i < array_size(rows); i++) {
        assert_int_equal(folder_name(str_from(rows[i].typed), path, NULL), 0);
        assert_string_equal(path, rows[i].path);
    }
    /* Of somebody else: a name like any other. */
    assert_int_equal(folder_name(STR("~bob"), path, NULL), 0);
    assert_string_equal(path + strlen(path) - 5, "/~bob");
}

static void the_current_folder_has_its_own_name(void **state)
{
    char here[PATH_MAX];
    char path[PATH_MAX];

    (void)state;
    assert_non_null(getcwd(here, sizeof(here)));
    assert_int_equal(folder_name(STR("."), path, NULL), 0);
    assert_string_equal(path, here);
}

static void what_cannot_be_a_name_is_refused(void **state)
{
    char large[PATH_MAX + 1];
    char path[PATH_MAX];

    (void)state;
    memset(large, 'a', sizeof(large));
    assert_int_equal(folder_name((struct str){large, sizeof(large)}, path, NULL), ERR_INVALID_PATH);
    assert_int_equal(folder_name((struct str){"/a\0b", 4}, path, NULL), ERR_INVALID_PATH);
    assert_int_equal(setenv("HOME", "nowhere", 1), 0);
    assert_int_equal(folder_name(STR("~/work"), path, NULL), ERR_INVALID_PATH);
    assert_int_equal(unsetenv("HOME"), 0);
    assert_int_equal(folder_name(STR("~"), path, NULL), ERR_INVALID_PATH);
}

static void only_a_directory_that_is_there_can_be_given(void **state)
{
    struct scene scene;
    struct err err = ERR_INIT;
    char state_dir[PATH_BYTES];
    char path[PATH_BYTES];

    (void)state;
    scene_make(&scene);
    snprintf(state_dir, sizeof(state_dir), "%s/state", scene.path);
    assert_int_equal(mkdirat(scene.fd, "state", 0700), 0);
    assert_int_equal(mkdirat(scene.fd, "work", 0700), 0);
    make_file(scene.fd, "file", "x");
    snprintf(path, sizeof(path), "%s/work", scene.path);
    assert_int_equal(folder_check(state_dir, path, &err), 0);
    snprintf(path, sizeof(path), "%s/file", scene.path);
    assert_int_equal(folder_check(state_dir, path, &err), ERR_NOT_A_DIRECTORY);
    snprintf(path, sizeof(path), "%s/gone", scene.path);
    assert_int_equal(folder_check(state_dir, path, &err), ERR_NOT_FOUND);
    assert_non_null(strstr(err.message, path));
    scene_drop(&scene);
}

TEST_MAIN(cmocka_unit_test(a_home_is_found_only_at_the_beginning),
          cmocka_unit_test(the_current_folder_has_its_own_name),
          cmocka_unit_test(what_cannot_be_a_name_is_refused),
          cmocka_unit_test(only_a_directory_that_is_there_can_be_given))
