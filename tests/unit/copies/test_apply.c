/* SPDX-License-Identifier: Apache-2.0 */
/* What changes between the comparison and the step that would apply it. */
#include "copies/apply.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "test.h"

#define WORKSPACE "w"

struct scene {
    char directory[64];
    char project[256];
    struct session_state state;
    struct copies_store store;
    struct copies_record record;
    struct copies_workspace workspace;
    struct copies_differences differences;
    char told[512];
    void (*meanwhile)(struct scene *scene); /* at the first that is left as it is */
};

/* ---- files ---- */

static void path_of(const struct scene *scene, bool is_copy, const char *name, char out[256])
{
    snprintf(out, 256, "%s/%s/%s", scene->directory,
             is_copy ? "state-workspaces/" WORKSPACE : "project", name);
}

static void put(const struct scene *scene, bool is_copy, const char *name, const char *content)
{
    char path[256];
    FILE *file;

    path_of(scene, is_copy, name, path);
    file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(content, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void assert_original(const struct scene *scene, const char *name, const char *content)
{
    char path[256];
    char found[256] = "";
    FILE *file;

    path_of(scene, false, name, path);
    file = fopen(path, "r");
    assert_non_null(file);
    (void)fgets(found, sizeof(found), file);
    assert_int_equal(fclose(file), 0);
    assert_string_equal(found, content);
}

/* ---- the scene ---- */

static void tell(void *data, struct str name, const char *why)
{
    struct scene *scene = data;
    size_t len = strlen(scene->told);

    snprintf(scene->told + len, sizeof(scene->told) - len, "%.*s: %s\n", STR_ARG(name), why);
    if (scene->meanwhile != NULL)
        scene->meanwhile(scene);
    scene->meanwhile = NULL;
}

static struct copies_applying applying_of(struct scene *scene)
{
    return (struct copies_applying){.store = &scene->store,
                                    .name = WORKSPACE,
                                    .workspace = &scene->workspace,
                                    .told = tell,
                                    .data = scene};
}

static int open_scene(void **state)
{
    struct scene *scene = calloc(1, sizeof(*scene));
    struct err err = ERR_INIT;
    char copy[256];
    char own[256];
    const struct session_state_config config = {.state_dir = own};
    const struct copies_grant ours = {.path = scene->project, .reason = "test", .may_write = true};
    const struct copies_grant theirs = {.path = copy, .reason = "test", .may_write = true};
    struct copies_new wanted = {.name = WORKSPACE};

    assert_non_null(scene);
    snprintf(scene->directory, sizeof(scene->directory), "%s/gatehouse-apply-XXXXXX",
             test_quick_directory());
    assert_non_null(mkdtemp(scene->directory));
    snprintf(own, sizeof(own), "%s/state", scene->directory);
    path_of(scene, false, "", scene->project);
    assert_int_equal(mkdir(scene->project, 0700), 0);
    put(scene, false, "gone", "old");
    put(scene, false, "changed", "old");
    put(scene, false, "mode", "old");
    scene->store = (struct copies_store)COPIES_STORE_INIT;
    scene->record = (struct copies_record)COPIES_RECORD_INIT;
    scene->differences = (struct copies_differences)COPIES_DIFFERENCES_INIT;
    if (session_state_open(&config, &scene->state, &err) < 0 ||
        copies_store_open(&scene->state, &scene->store, &err) < 0 ||
        copies_store_lock(&scene->store, &err) < 0 ||
        copies_open_folder(&scene->store, &ours, &scene->workspace.project, &err) < 0)
        fail_msg("%s", err.message);
    scene->record.original = str_from(scene->project);
    scene->workspace.record = &scene->record;
    wanted.project = scene->workspace.project;
    wanted.record = &scene->record;
    if (copies_make(&scene->store, &wanted, &err) < 0)
        fail_msg("%s", err.message);
    path_of(scene, true, "", copy);
    if (copies_open_folder(&scene->store, &theirs, &scene->workspace.copy, &err) < 0)
        fail_msg("%s", err.message);
    *state = scene;
    return 0;
}

static int remove_one(const char *path, const struct stat *about, int type, struct FTW *place)
{
    (void)about;
    (void)type;
    (void)place;
    return remove(path);
}

static int close_scene(void **state)
{
    struct scene *scene = *state;

    copies_differences_done(&scene->differences);
    copies_record_done(&scene->record);
    authority_scope_free(scene->workspace.copy);
    authority_scope_free(scene->workspace.project);
    copies_store_close(&scene->store);
    session_state_close(&scene->state);
    assert_int_equal(nftw(scene->directory, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
    free(scene);
    return 0;
}

/* The agent removes one file, changes another, and makes the third one executable. */
static void change_the_copy(struct scene *scene, size_t count)
{
    struct err err = ERR_INIT;
    char path[256];

    path_of(scene, true, "gone", path);
    assert_int_equal(remove(path), 0);
    put(scene, true, "changed", "of the agent");
    put(scene, true, "mode", "of the agent");
    path_of(scene, true, "mode", path);
    assert_int_equal(chmod(path, 0700), 0);
    if (copies_compare(&scene->workspace, NULL, 0, &scene->differences, &err) < 0)
        fail_msg("%s", err.message);
    assert_int_equal(scene->differences.count, count);
}

/* ---- tests ---- */

static void what_the_user_did_not_touch_is_applied(void **state)
{
    struct scene *scene = *state;
    const struct copies_applying applying = applying_of(scene);
    char path[256];
    size_t done;

    change_the_copy(scene, 3);
    assert_int_equal(copies_apply(&applying, &scene->differences, &done, NULL), 0);
    assert_int_equal(done, 3);
    assert_string_equal(scene->told, "");
    assert_original(scene, "changed", "of the agent");
    assert_original(scene, "mode", "of the agent");
    path_of(scene, false, "gone", path);
    assert_int_equal(access(path, F_OK), -1);
}

static void what_the_user_saves_after_the_comparison_stays(void **state)
{
    struct scene *scene = *state;
    const struct copies_applying applying = applying_of(scene);
    static const char *const names[] = {"gone", "changed", "mode"};
    size_t done;

    change_the_copy(scene, 3);
    for (size_t i = 0; i < array_size(names); i++)
        put(scene, false, names[i], "of the user");
    assert_int_equal(copies_apply(&applying, &scene->differences, &done, NULL), 0);
    assert_int_equal(done, 0);
    for (size_t i = 0; i < array_size(names); i++) {
        assert_original(scene, names[i], "of the user");
        assert_non_null(strstr(scene->told, names[i]));
    }
}

static void change_again(struct scene *scene)
{
    put(scene, true, "changed", "something else");
    put(scene, true, "mode", "something else");
}

static void what_the_agent_changes_after_the_plan_is_not_applied(void **state)
{
    struct scene *scene = *state;
    const struct copies_applying applying = applying_of(scene);
    size_t done;

    change_the_copy(scene, 3);
    put(scene, false, "gone", "of the user"); /* left as it is: then the plan is written */
    scene->meanwhile = change_again;
    assert_int_equal(copies_apply(&applying, &scene->differences, &done, NULL), 0);
    assert_int_equal(done, 0);
    assert_original(scene, "changed", "old");
    assert_original(scene, "mode", "old");
}

static void undo_spares_what_was_changed_since(void **state)
{
    struct scene *scene = *state;
    const struct copies_applying applying = applying_of(scene);
    size_t done;

    put(scene, true, "added", "of the agent");
    change_the_copy(scene, 4);
    assert_int_equal(copies_apply(&applying, &scene->differences, &done, NULL), 0);
    put(scene, false, "added", "of the user");
    put(scene, false, "changed", "of the user");
    put(scene, false, "gone", "of the user");
    assert_int_equal(copies_undo(&applying, &done, NULL), 0);
    assert_int_equal(done, 1);
    assert_original(scene, "added", "of the user");
    assert_original(scene, "changed", "of the user");
    assert_original(scene, "gone", "of the user");
    assert_original(scene, "mode", "old");
}

#define WITH_SCENE(test) cmocka_unit_test_setup_teardown(test, open_scene, close_scene)

TEST_MAIN(WITH_SCENE(what_the_user_did_not_touch_is_applied),
          WITH_SCENE(what_the_user_saves_after_the_comparison_stays),
          WITH_SCENE(what_the_agent_changes_after_the_plan_is_not_applied),
          WITH_SCENE(undo_spares_what_was_changed_since))
