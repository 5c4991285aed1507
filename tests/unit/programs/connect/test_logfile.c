/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "programs/connect/logfile.h"

enum { PATH_BYTES = 512, CONTENT_BYTES = 1 << 20, SMALL_BYTES = LOGFILE_LEAST_BYTES };

static struct clock fake_clock;
static struct log program_log;
static struct logfile *file;
static char directory[64];

static const char *path_of(const char *name)
{
    static char path[PATH_BYTES];

    snprintf(path, sizeof(path), "%s/%s", directory, name);
    return path;
}

static int open_it(struct err *err)
{
    const struct logfile_config config = {.directory = directory,
                                          .name = "daemon.log",
                                          .max_bytes = SMALL_BYTES,
                                          .kept = 2,
                                          .clock = &fake_clock};
    int r = logfile_open(&config, &file, err);

    program_log.also_data = file;
    return r;
}

static int begin(void **state)
{
    (void)state;
    snprintf(directory, sizeof(directory), "/tmp/logfile-XXXXXX");
    assert_non_null(mkdtemp(directory));
    clock_fake_init(&fake_clock, 1772366400123);
    program_log =
        (struct log){.fd = -1, .threshold = LOG_INFO, .clock = &fake_clock, .also = logfile_write};
    file = NULL;
    return 0;
}

static int end(void **state)
{
    DIR *listing = opendir(directory);
    struct dirent *entry;

    (void)state;
    logfile_close(file);
    assert_non_null(listing);
    while ((entry = readdir(listing)) != NULL)
        unlink(path_of(entry->d_name));
    closedir(listing);
    return rmdir(directory);
}

static void read_all(const char *name, struct buf *out)
{
    int fd = open(path_of(name), O_RDONLY | O_CLOEXEC);
    ssize_t got;

    assert_true(fd >= 0);
    do {
        assert_int_equal(buf_reserve(out, 4096), 0);
        got = read(fd, out->data + out->len, 4096);
        assert_true(got >= 0);
        out->len += (size_t)got;
    } while (got > 0);
    close(fd);
}

static bool has(const char *name, const char *words)
{
    cleanup_buf struct buf content = BUF_INIT(CONTENT_BYTES);

    read_all(name, &content);
    return str_find(buf_view(&content), str_from(words)) != SIZE_MAX;
}

static void lines_have_their_time_and_no_secrets(void **state)
{
    cleanup_buf struct buf content = BUF_INIT(CONTENT_BYTES);

    (void)state;
    assert_int_equal(open_it(NULL), 0);
    /* As under a service manager, whose journal has its own time. */
    program_log.format = LOG_JOURNAL;
    log_write(&program_log, LOG_INFO, "paired", LOG_TEXT("url", "https://u:pw@host/"),
              LOG_TEXT("token", "abc"), LOG_TEXT("note", "gw_0123456789abcdef0123456789abcdef"));
    log_write(&program_log, LOG_DEBUG, "not wanted");
    read_all("daemon.log", &content);
    assert_true(
        str_starts_with(buf_view(&content), STR("2026-03-01T12:00:00.123Z info  paired url=")));
    assert_true(has("daemon.log", "token=[redacted] note=gw_[redacted]\n"));
    assert_false(has("daemon.log", "pw"));
    assert_false(has("daemon.log", "0123456789"));
    assert_false(has("daemon.log", "not wanted"));
}

static void the_file_is_the_user_s_alone(void **state)
{
    mode_t old = umask(0);
    struct stat about;

    (void)state;
    assert_int_equal(open_it(NULL), 0);
    umask(old);
    assert_int_equal(stat(path_of("daemon.log"), &about), 0);
    assert_int_equal(about.st_mode, S_IFREG | 0600);
    logfile_close(file);
    file = NULL;
    assert_int_equal(chmod(path_of("daemon.log"), 0644), 0);
    assert_int_equal(open_it(NULL), 0);
    assert_int_equal(stat(path_of("daemon.log"), &about), 0);
    assert_int_equal(about.st_mode, S_IFREG | 0600);
}

static void what_was_there_stays(void **state)
{
    (void)state;
    assert_int_equal(open_it(NULL), 0);
    log_write(&program_log, LOG_INFO, "first run");
    logfile_close(file);
    assert_int_equal(open_it(NULL), 0);
    log_write(&program_log, LOG_INFO, "second run");
    assert_true(has("daemon.log", "first run\n2026"));
    assert_true(has("daemon.log", "second run\n"));
}

static void a_full_file_makes_way_and_the_oldest_goes(void **state)
{
    static const char *const names[] = {"daemon.log", "daemon.log.1", "daemon.log.2"};
    struct stat about;

    (void)state;
    assert_int_equal(open_it(NULL), 0);
    for (int i = 0; i < 2000; i++) {
        log_write(&program_log, LOG_INFO, "a line of some length", LOG_INT("number", i));
        for (size_t j = 0; j < array_size(names); j++)
            if (stat(path_of(names[j]), &about) == 0) {
                assert_true(about.st_size <= SMALL_BYTES);
                assert_int_equal(about.st_mode, S_IFREG | 0600);
            }
    }
    for (size_t j = 0; j < array_size(names); j++) {
        cleanup_buf struct buf content = BUF_INIT(CONTENT_BYTES);

        read_all(names[j], &content);
        assert_true(str_starts_with(buf_view(&content), STR("2026-")));
        assert_true(str_ends_with(buf_view(&content), STR("\n")));
    }
    assert_true(has("daemon.log", "number=1999\n"));
    assert_false(has("daemon.log.2", "number=0\n"));
    assert_true(access(path_of("daemon.log.3"), F_OK) < 0);
    assert_true(access(path_of("daemon.log.new"), F_OK) < 0);
}

static void what_somebody_removed_is_made_anew(void **state)
{
    (void)state;
    assert_int_equal(open_it(NULL), 0);
    log_write(&program_log, LOG_INFO, "before");
    assert_int_equal(unlink(path_of("daemon.log")), 0);
    log_write(&program_log, LOG_INFO, "after");
    assert_true(has("daemon.log", "after\n"));
    assert_false(has("daemon.log", "before"));
}

static void a_full_disk_stops_nothing_and_is_told_of(void **state)
{
    struct rlimit old;
    struct rlimit full;
    struct stat about;
    off_t size;

    (void)state;
    assert_int_equal(open_it(NULL), 0);
    log_write(&program_log, LOG_INFO, "there is room");
    assert_int_equal(stat(path_of("daemon.log"), &about), 0);
    size = about.st_size;
    /* Room for a part of a line. */
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    full = (struct rlimit){.rlim_cur = (rlim_t)size + 10, .rlim_max = old.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &full), 0);
    for (int i = 0; i < 3; i++)
        log_write(&program_log, LOG_INFO, "lost", LOG_INT("number", i));
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal(stat(path_of("daemon.log"), &about), 0);
    assert_int_equal(about.st_size, size);
    log_write(&program_log, LOG_INFO, "room again");
    assert_true(has("daemon.log", "there is room\n2026-03-01T12:00:00.123Z warn  some lines of "
                                  "this log could not be written lines=3\n"));
    assert_true(has("daemon.log", "room again\n"));
    assert_false(has("daemon.log", "number="));
}

static void nothing_moves_while_there_is_no_room_for_a_new_file(void **state)
{
    struct stat about;

    (void)state;
    assert_int_equal(open_it(NULL), 0);
    log_write(&program_log, LOG_INFO, "oldest");
    /* A directory in the way of the first that is kept: the file cannot be moved there. */
    assert_int_equal(mkdir(path_of("daemon.log.1"), 0700), 0);
    assert_int_equal(mkdir(path_of("daemon.log.2"), 0700), 0);
    assert_int_equal(mkdir(path_of("daemon.log.2/x"), 0700), 0);
    for (int i = 0; i < 1000; i++)
        log_write(&program_log, LOG_INFO, "a line of some length", LOG_INT("number", i));
    assert_int_equal(stat(path_of("daemon.log"), &about), 0);
    assert_true(about.st_size <= SMALL_BYTES);
    assert_true(has("daemon.log", "oldest\n"));
    assert_true(access(path_of("daemon.log.new"), F_OK) < 0);
    assert_int_equal(rmdir(path_of("daemon.log.2/x")), 0);
    assert_int_equal(rmdir(path_of("daemon.log.2")), 0);
    assert_int_equal(rmdir(path_of("daemon.log.1")), 0);
    log_write(&program_log, LOG_INFO, "again");
    assert_true(has("daemon.log", "could not be written lines="));
    assert_true(has("daemon.log", "again\n"));
}

static void links_and_other_things_are_refused(void **state)
{
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(symlink("elsewhere", path_of("daemon.log")), 0);
    assert_int_equal(open_it(&err), ERR_SYMLINK_REJECTED);
    assert_true(access(path_of("elsewhere"), F_OK) < 0);
    assert_int_equal(unlink(path_of("daemon.log")), 0);
    assert_int_equal(mkfifo(path_of("daemon.log"), 0600), 0);
    assert_true(open_it(&err) < 0);
    assert_null(file);
    assert_int_equal(unlink(path_of("daemon.log")), 0);
    assert_int_equal(open_it(NULL), 0);
    logfile_close(file);
    file = NULL;
    {
        char other[PATH_BYTES];

        snprintf(other, sizeof(other), "%s", path_of("other"));
        assert_int_equal(link(path_of("daemon.log"), other), 0);
    }
    assert_int_equal(open_it(&err), ERR_HARDLINK_REJECTED);
    assert_int_equal(chmod(directory, 0755), 0);
    assert_int_equal(open_it(&err), ERR_PERMISSION_DENIED);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, end)

TEST_MAIN(TEST(lines_have_their_time_and_no_secrets), TEST(the_file_is_the_user_s_alone),
          TEST(what_was_there_stays), TEST(a_full_file_makes_way_and_the_oldest_goes),
          TEST(what_somebody_removed_is_made_anew), TEST(a_full_disk_stops_nothing_and_is_told_of),
          TEST(nothing_moves_while_there_is_no_room_for_a_new_file),
          TEST(links_and_other_things_are_refused))
