/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For the tests of the audit: a directory of their own, events, and what a
 * search finds there.
 */
#ifndef TESTS_UNIT_AUTHORITY_AUDIT_SCENE_H
#define TESTS_UNIT_AUTHORITY_AUDIT_SCENE_H

#include "test.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gatehouse/audit.h"

static char scene_path[64];
static int scene_fd = -1;

static const struct authority_subject scene_subject = {
    .type = AUTHORITY_AGENT_RUN, .id = "talk-1", .run_id = "run-1"};
static const struct authority_root scene_root = {.kind = AUTHORITY_WORKSPACE, .id = "ws-1"};

static inline int scene_start(void **state)
{
    const char *base = getenv("TMPDIR");

    (void)state;
    snprintf(scene_path, sizeof(scene_path), "%s/audit.XXXXXX",
             base != NULL && strlen(base) < 32 ? base : "/tmp");
    assert_non_null(mkdtemp(scene_path));
    scene_fd = open(scene_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(scene_fd >= 0);
    return 0;
}

static inline int scene_stop(void **state)
{
    const struct dirent *entry;
    DIR *dir = fdopendir(scene_fd);

    (void)state;
    assert_non_null(dir);
    rewinddir(dir);
    while ((entry = readdir(dir)) != NULL)
        if (unlinkat(dirfd(dir), entry->d_name, 0) < 0)
            unlinkat(dirfd(dir), entry->d_name, AT_REMOVEDIR);
    closedir(dir);
    assert_int_equal(rmdir(scene_path), 0);
    return 0;
}

#define scene_test(function) cmocka_unit_test_setup_teardown(function, scene_start, scene_stop)

static inline struct audit_config scene_config(void)
{
    /* A minute for the lock: no case may fail because the disk is busy. */
    return (struct audit_config){.dir_fd = scene_fd, .name = "audit.jsonl", .lock_wait_ms = 60000};
}

static inline struct audit_file *scene_open(const struct audit_config *config)
{
    struct audit_file *file = NULL;
    struct err err = ERR_INIT;

    if (audit_file_open(config, &file, &err) < 0)
        fail_msg("%s", err.message);
    return file;
}

static inline struct authority_event scene_event(uint64_t request_id,
                                                 enum authority_outcome outcome)
{
    return (struct authority_event){
        .wall_ms = 1772366400123,
        .request_id = request_id,
        .subject = &scene_subject,
        .root = &scene_root,
        .operation = AUTHORITY_OP_WRITE,
        .name = STR("notes/today.md"),
        .destination = STR_EMPTY,
        .outcome = outcome,
        .policy_source = "grant",
    };
}

static inline int scene_record(struct audit_file *file, uint64_t request_id,
                               enum authority_outcome outcome)
{
    struct authority_event event = scene_event(request_id, outcome);

    return audit_file_record(file, &event);
}

static inline int scene_record_read(struct audit_file *file, uint64_t request_id,
                                    enum authority_outcome outcome)
{
    struct authority_event event = scene_event(request_id, outcome);

    event.operation = AUTHORITY_OP_READ;
    return audit_file_record(file, &event);
}

/* A record among the changes that is neither one nor a refusal, so that it may come often. */
static inline int scene_record_grant(struct audit_file *file, uint64_t request_id)
{
    struct authority_event event = scene_event(request_id, AUTHORITY_SUCCESS);

    event.operation = AUTHORITY_OP_REQUEST_ROOT;
    return audit_file_record(file, &event);
}

/* The request ids of what was found, as text, in order: "1 2 3". */
struct scene_found {
    size_t count;
    uint64_t skipped;
    struct buf ids;
};

static inline int scene_note(void *data, const struct json_value *record)
{
    struct scene_found *found = data;
    struct str id;

    assert_true(json_get_str(record, STR("requestId"), &id));
    assert_int_equal(buf_printf(&found->ids, "%s%.*s", found->count > 0 ? " " : "", STR_ARG(id)),
                     0);
    found->count++;
    return 0;
}

static inline void scene_found_done(struct scene_found *found)
{
    buf_done(&found->ids);
}

#define cleanup_found cleanup_with(scene_found_done)

static inline struct scene_found scene_find(const struct audit_query *query)
{
    struct scene_found found = {.ids = BUF_INIT(1 << 20)};
    struct audit_config config = scene_config();
    struct err err = ERR_INIT;

    if (audit_query(&config, query, scene_note, &found, &found.skipped, &err) < 0)
        fail_msg("%s", err.message);
    return found;
}

static inline struct scene_found scene_find_all(void)
{
    return scene_find(&(struct audit_query){.max_records = 0});
}

static inline void scene_put(const char *name, struct str text)
{
    cleanup_fd int fd = openat(scene_fd, name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text.ptr, text.len), text.len);
}

static inline struct stat scene_stat(const char *name)
{
    struct stat about;

    assert_int_equal(fstatat(scene_fd, name, &about, AT_SYMLINK_NOFOLLOW), 0);
    return about;
}

static inline bool scene_has(const char *name)
{
    return faccessat(scene_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

#endif
