/* SPDX-License-Identifier: Apache-2.0 */
#include "child.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>

#include "isolate/landlock.h"
#include "isolate/threads.h"

#define skip_without_landlock()                                                                    \
    do {                                                                                           \
        if (landlock_abi() < LANDLOCK_MIN_ABI)                                                     \
            skip_because("this kernel has no Landlock that can be used");                          \
    } while (0)

/* Confines a child; `abi` 0 is the kernel's own. */
static void confine(const struct landlock_place *places, size_t count, int abi)
{
    const struct landlock_request request = {
        .places = places, .place_count = count, .max_abi = abi};
    struct landlock_result result = {0};
    struct err err = ERR_INIT;

    expect(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    expect(landlock_confine(&request, &result, &err) == 0);
    expect(result.is_applied && result.reason[0] == '\0');
}

static void confine_inside(const struct place *place, unsigned rights, int abi)
{
    const struct landlock_place inside = {.path = place->inside, .rights = rights};

    confine(&inside, 1, abi);
}

/* What open() answers: 0 or an errno value. */
static int open_error(int dir_fd, const char *name, int flags)
{
    int fd = openat(dir_fd, name, flags | O_CLOEXEC, 0644);

    if (fd < 0)
        return errno;
    close(fd);
    return 0;
}

static void look_around(void *data)
{
    const struct place *place = data;

    confine_inside(place, LANDLOCK_MAY_READ | LANDLOCK_MAY_WRITE, 0);
    expect(open_error(place->base_fd, "inside/one", O_RDWR) == 0);
    expect(open_error(place->base_fd, "inside/new", O_WRONLY | O_CREAT) == 0);
    expect(open_error(place->base_fd, "inside/a", O_RDONLY | O_DIRECTORY) == 0);
    /* A descriptor from before helps nobody out. */
    expect(open_error(place->base_fd, "outside/secret", O_RDONLY) == EACCES);
    expect(open_error(place->base_fd, "inside/../outside/secret", O_RDONLY) == EACCES);
    expect(open_error(place->base_fd, "outside", O_RDONLY | O_DIRECTORY) == EACCES);
    expect(open_error(place->base_fd, "outside/new", O_WRONLY | O_CREAT) == EACCES);
    expect(open_error(AT_FDCWD, "/etc/passwd", O_RDONLY) == EACCES);
    expect_errno(unlinkat(place->base_fd, "outside/secret", 0), EACCES);
    expect_errno(mkdirat(place->base_fd, "outside/d", 0755), EACCES);
    expect(renameat(place->base_fd, "outside/secret", place->base_fd, "inside/secret") == -1);
    expect(renameat(place->base_fd, "inside/one", place->base_fd, "outside/one") == -1);
    expect(linkat(place->base_fd, "outside/secret", place->base_fd, "inside/link", 0) == -1);
}

static void what_is_outside_cannot_be_opened(void **state)
{
    const struct place *place = *state;
    struct stat about;

    skip_without_landlock();
    in_child(look_around, *state);
    assert_int_equal(fstatat(place->base_fd, "outside/secret", &about, 0), 0);
    assert_int_equal(about.st_nlink, 1);
    assert_int_equal(fstatat(place->base_fd, "inside/one", &about, 0), 0);
    assert_int_equal(fstatat(place->base_fd, "inside/new", &about, 0), 0);
}

struct at_abi {
    const struct place *place;
    int abi;
};

static void move_around(void *data)
{
    const struct at_abi *at = data;
    int fd = at->place->base_fd;

    confine_inside(at->place, LANDLOCK_MAY_READ | LANDLOCK_MAY_WRITE, at->abi);
    expect(renameat(fd, "inside/a/f", fd, "inside/b/f") == 0);
    expect(renameat(fd, "inside/b", fd, "inside/a/b") == 0);
    expect(linkat(fd, "inside/a/b/f", fd, "inside/f", 0) == 0);
    expect(symlinkat("f", fd, "inside/link") == 0);
    expect(renameat(fd, "inside/link", fd, "inside/a/link") == 0);
    expect(open_error(fd, "outside/secret", O_RDONLY) == EACCES);
    /* Back again, for the next round. */
    expect(unlinkat(fd, "inside/f", 0) == 0);
    expect(unlinkat(fd, "inside/a/link", 0) == 0);
    expect(renameat(fd, "inside/a/b", fd, "inside/b") == 0);
    expect(renameat(fd, "inside/b/f", fd, "inside/a/f") == 0);
}

static void list_names(void *data)
{
    const struct place *place = data;

    confine_inside(place, LANDLOCK_MAY_LIST, 0);
    expect(open_error(place->base_fd, "inside/a", O_RDONLY | O_DIRECTORY) == 0);
    expect(open_error(place->base_fd, "inside/one", O_RDONLY) == EACCES);
    expect(open_error(place->base_fd, "inside/one", O_WRONLY) == EACCES);
    expect(open_error(place->base_fd, "inside/new", O_WRONLY | O_CREAT) == EACCES);
    expect(open_error(place->base_fd, "outside", O_RDONLY | O_DIRECTORY) == EACCES);
}

static void names_can_be_listed_without_reading_files(void **state)
{
    skip_without_landlock();
    in_child(list_names, *state);
}

static void moves_between_directories_work_with_every_abi(void **state)
{
    struct at_abi at = {.place = *state};

    skip_without_landlock();
    for (at.abi = LANDLOCK_MIN_ABI; at.abi <= landlock_abi(); at.abi++)
        in_child(move_around, &at);
}

static void move_with_abi_1(void *data)
{
    const struct place *place = data;
    const struct landlock_place inside = {.path = place->inside, .rights = LANDLOCK_MAY_READ};
    const struct landlock_request request = {.places = &inside, .place_count = 1, .max_abi = 1};
    struct landlock_result result = {0};

    expect(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    expect(landlock_confine(&request, &result, NULL) == 0);
    expect(!result.is_applied && result.abi == 1);
    expect(strstr(result.reason, "ABI 1 cannot allow moves") != NULL);
    /* Not half applied: all is as it was. */
    expect(renameat(place->base_fd, "inside/a/f", place->base_fd, "inside/b/f") == 0);
    expect(open_error(place->base_fd, "outside/secret", O_RDWR) == 0);
}

static void an_abi_that_would_break_moves_is_not_applied(void **state)
{
    skip_without_landlock();
    in_child(move_with_abi_1, *state);
}

static void change_something(void *data)
{
    const struct place *place = data;
    int fd = place->base_fd;
    struct landlock_result result = {0};
    const struct landlock_place inside = {.path = place->inside, .rights = LANDLOCK_MAY_READ};
    const struct landlock_request request = {.places = &inside, .place_count = 1};
    char text[8];
    int file;

    expect(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    expect(landlock_confine(&request, &result, NULL) == 0);
    file = openat(fd, "inside/a/f", O_RDONLY | O_CLOEXEC);
    expect(file >= 0 && read(file, text, sizeof(text)) == 4);
    expect(open_error(fd, "inside/one", O_WRONLY) == EACCES);
    expect(open_error(fd, "inside/one", O_RDWR | O_APPEND) == EACCES);
    expect(open_error(fd, "inside/new", O_RDONLY | O_CREAT) == EACCES);
    expect(open_error(fd, "inside", O_WRONLY | O_TMPFILE) == EACCES);
    if (result.holds_truncate) {
        expect(open_error(fd, "inside/one", O_RDONLY | O_TRUNC) == EACCES);
        expect(fchdir(fd) == 0);
        expect_errno(truncate("inside/one", 0), EACCES);
    }
    expect_errno(unlinkat(fd, "inside/one", 0), EACCES);
    expect_errno(unlinkat(fd, "inside/b", AT_REMOVEDIR), EACCES);
    expect_errno(mkdirat(fd, "inside/d", 0755), EACCES);
    expect_errno(symlinkat("one", fd, "inside/link"), EACCES);
    expect_errno(mkfifoat(fd, "inside/fifo", 0644), EACCES);
    expect_errno(linkat(fd, "inside/one", fd, "inside/two", 0), EACCES);
    expect_errno(renameat(fd, "inside/one", fd, "inside/two"), EACCES);
    expect(renameat(fd, "inside/one", fd, "inside/a/one") == -1);
}

static void with_read_rights_nothing_can_be_changed(void **state)
{
    static const char *const never[] = {"new", "d", "link", "fifo", "two", "a/one"};
    const struct place *place = *state;
    struct stat about;

    skip_without_landlock();
    in_child(change_something, *state);
    assert_int_equal(fstatat(place->base_fd, "inside/one", &about, 0), 0);
    assert_int_equal(about.st_size, 1);
    assert_int_equal(fstatat(place->base_fd, "inside/b", &about, 0), 0);
    for (size_t i = 0; i < array_size(never); i++) {
        char name[PLACE_PATH_BYTES];

        snprintf(name, sizeof(name), "inside/%s", never[i]);
        assert_int_equal(fstatat(place->base_fd, name, &about, AT_SYMLINK_NOFOLLOW), -1);
    }
}

static void use_odd_places(void *data)
{
    const struct place *place = data;
    int fd = place->base_fd;
    char secret[PLACE_PATH_BYTES + 8];
    struct landlock_place places[4] = {
        {.fd = openat(fd, "inside/a", O_PATH | O_CLOEXEC),
         .rights = LANDLOCK_MAY_READ | LANDLOCK_MAY_WRITE},
        {.path = secret, .rights = LANDLOCK_MAY_READ | LANDLOCK_MAY_WRITE},
        {.path = place->inside, .rights = 0},
        {.path = "/does/not/exist", .rights = LANDLOCK_MAY_READ, .may_be_missing = true},
    };

    snprintf(secret, sizeof(secret), "%s/secret", place->outside);
    confine(places, array_size(places), 0);
    expect(open_error(fd, "inside/a/f", O_RDWR) == 0);
    expect(open_error(fd, "inside/a/new", O_WRONLY | O_CREAT) == 0);
    expect(open_error(fd, "outside/secret", O_RDWR) == 0);
    expect(open_error(fd, "outside", O_RDONLY | O_DIRECTORY) == EACCES);
    expect(open_error(fd, "outside/new", O_WRONLY | O_CREAT) == EACCES);
    expect(open_error(fd, "inside/one", O_RDONLY) == EACCES);
}

static void a_place_is_a_descriptor_a_file_or_nothing(void **state)
{
    skip_without_landlock();
    in_child(use_odd_places, *state);
}

static void ask_for_what_is_missing(void *data)
{
    const struct place *place = data;
    const struct landlock_place by_name = {.path = "/does/not/exist", .rights = LANDLOCK_MAY_READ};
    const struct landlock_place by_number = {.fd = 1000, .rights = LANDLOCK_MAY_READ};
    struct landlock_request request = {.places = &by_name, .place_count = 1};
    struct landlock_result result = {.abi = -7};
    struct err err = ERR_INIT;

    expect(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    expect(landlock_confine(&request, &result, &err) == ERR_NOT_FOUND);
    expect(strcmp(err.field, "/does/not/exist") == 0);
    request.places = &by_number;
    expect(landlock_confine(&request, &result, &err) < 0);
    expect(result.abi == -7);
    expect(open_error(place->base_fd, "outside/secret", O_RDONLY) == 0);
}

static void a_missing_place_is_an_error_and_applies_nothing(void **state)
{
    skip_without_landlock();
    in_child(ask_for_what_is_missing, *state);
}

static void *open_secret(void *data)
{
    const struct place *place = data;

    expect(open_error(place->base_fd, "inside/one", O_RDONLY) == 0);
    expect(open_error(place->base_fd, "outside/secret", O_RDONLY) == EACCES);
    return NULL;
}

static void start_thread_later(void *data)
{
    confine_inside(data, LANDLOCK_MAY_READ, 0);
    expect(in_thread(open_secret, data));
}

static void *confine_beside_another(void *data)
{
    const struct place *place = data;
    const struct landlock_request request = {0};
    struct landlock_result result;
    struct err err = ERR_INIT;

    expect(landlock_confine(&request, &result, &err) == ERR_INTERNAL);
    expect(strstr(err.message, "thread") != NULL);
    expect(open_error(place->base_fd, "outside/secret", O_RDONLY) == 0);
    return NULL;
}

static void start_thread_before(void *data)
{
    expect(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    expect(in_thread(confine_beside_another, data));
}

static void start_thread_before_without_unshare(void *data)
{
    take_call_away(SYS_unshare, EPERM);
    start_thread_before(data);
    /* The thread has been joined, but may be counted for a moment. */
    expect(threads_wait_alone(PATIENCE_MS));
    confine_inside(data, LANDLOCK_MAY_READ, 0);
}

static void threads_that_come_later_are_confined_too(void **state)
{
    skip_without_landlock();
    in_child(start_thread_later, *state);
}

static void a_process_with_threads_is_refused(void **state)
{
    skip_without_landlock();
    in_child(start_thread_before, *state);
    in_child(start_thread_before_without_unshare, *state);
}

static void reach_out(void *data)
{
    const struct sockaddr_in here = {
        .sin_family = AF_INET, .sin_port = htons(1), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    expect(fd >= 0);
    confine_inside(data, LANDLOCK_MAY_READ, 0);
    if (landlock_abi() >= 4) {
        expect_errno(connect(fd, (const struct sockaddr *)&here, sizeof(here)), EACCES);
        expect_errno(bind(fd, (const struct sockaddr *)&here, sizeof(here)), EACCES);
    }
    if (landlock_abi() >= 6)
        expect_errno(kill(getppid(), 0), EPERM);
    expect_errno(execl("/bin/true", "true", (char *)NULL), EACCES);
}

static void network_signals_and_programs_are_out_of_reach(void **state)
{
    skip_without_landlock();
    in_child(reach_out, *state);
}

static void start_what_is_granted(void *data)
{
    const struct landlock_place everything = {.path = "/",
                                              .rights = LANDLOCK_MAY_READ | LANDLOCK_MAY_EXECUTE};
    const struct landlock_request request = {
        .places = &everything, .place_count = 1, .allows_tcp = true};
    const struct sockaddr_in here = {.sin_family = AF_INET,
                                     .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const struct place *place = data;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct landlock_result result;

    expect(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    expect(landlock_confine(&request, &result, NULL) == 0 && !result.holds_network);
    expect(open_error(place->base_fd, "inside/one", O_WRONLY) == EACCES);
    expect(bind(fd, (const struct sockaddr *)&here, sizeof(here)) == 0);
    execl("/bin/true", "true", (char *)NULL);
    expect(false);
}

static void programs_and_the_network_can_be_granted(void **state)
{
    skip_without_landlock();
    in_child(start_what_is_granted, *state);
}

static void confine_with(int errno_value, const char *reason)
{
    const struct landlock_request request = {0};
    struct landlock_result result = {.is_applied = true};

    take_call_away(SYS_landlock_create_ruleset, errno_value);
    expect(landlock_abi() == 0);
    expect(landlock_confine(&request, &result, NULL) == 0);
    expect(!result.is_applied && result.abi == 0);
    expect(strstr(result.reason, reason) != NULL);
    expect(open_error(AT_FDCWD, "/", O_RDONLY) == 0);
}

static void confine_without(void *data)
{
    (void)data;
    confine_with(ENOSYS, "this kernel does not support it");
}

static void confine_switched_off(void *data)
{
    (void)data;
    confine_with(EOPNOTSUPP, "disabled at boot");
}

static void confine_filtered(void *data)
{
    (void)data;
    confine_with(EPERM, "filter");
}

static void without_landlock_the_reason_is_said(void **state)
{
    (void)state;
    in_child(confine_without, NULL);
    in_child(confine_switched_off, NULL);
    in_child(confine_filtered, NULL);
}

static void an_abi_is_asked_only_for_what_it_knows(void **state)
{
    static const struct landlock_masks expected[] = {
        {0, 0, 0},      {0x1fff, 0, 0}, {0x3fff, 0, 0}, {0x7fff, 0, 0},
        {0x7fff, 3, 0}, {0xffff, 3, 0}, {0xffff, 3, 3}, {0xffff, 3, 3},
    };

    (void)state;
    for (int abi = 0; abi < (int)array_size(expected); abi++) {
        struct landlock_masks masks = landlock_masks(abi);

        assert_int_equal(masks.files, expected[abi].files);
        assert_int_equal(masks.network, expected[abi].network);
        assert_int_equal(masks.scopes, expected[abi].scopes);
    }
    assert_int_equal(landlock_masks(100).files, 0xffff);
}

TEST_MAIN(place_test(what_is_outside_cannot_be_opened),
          place_test(names_can_be_listed_without_reading_files),
          place_test(moves_between_directories_work_with_every_abi),
          place_test(an_abi_that_would_break_moves_is_not_applied),
          place_test(with_read_rights_nothing_can_be_changed),
          place_test(a_place_is_a_descriptor_a_file_or_nothing),
          place_test(a_missing_place_is_an_error_and_applies_nothing),
          place_test(threads_that_come_later_are_confined_too),
          place_test(a_process_with_threads_is_refused),
          place_test(network_signals_and_programs_are_out_of_reach),
          place_test(programs_and_the_network_can_be_granted),
          cmocka_unit_test(without_landlock_the_reason_is_said),
          cmocka_unit_test(an_abi_is_asked_only_for_what_it_knows))
