/* SPDX-License-Identifier: Apache-2.0 */
#include "child.h"

#include <sys/socket.h>
#include <sys/un.h>

#include "base/arena.h"
#include "isolate/box/places.h"
#include "isolate/box/secrets.h"
#include "isolate/box/startfiles.h"
#include "isolate/environment.h"
#include "own_mounts.h"

enum { ARENA_BYTES = 1 << 20, NOW_MS = 1000 };

static const struct box_place *find(const struct places *places, const char *path, size_t *out_at)
{
    for (size_t i = 0; i < places->count; i++)
        if (strcmp(places->items[i].path, path) == 0) {
            *out_at = i;
            return &places->items[i];
        }
    return NULL;
}

static void the_longer_path_holds(void **state)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    struct places places = PLACES_INIT(&arena);
    const struct place *place = *state;
    char ssh[PLACE_PATH_BYTES + 8];
    char aws[PLACE_PATH_BYTES + 8];
    size_t at_home = 0;
    size_t at_ssh = 0;
    size_t at_aws = 0;

    assert_int_equal(mkdirat(place->base_fd, "inside/.ssh", 0700), 0);
    snprintf(ssh, sizeof(ssh), "%s/.ssh", place->inside);
    snprintf(aws, sizeof(aws), "%s/.aws", place->inside);
    assert_int_equal(places_add(&places, ssh, BOX_READ, NULL), 0);
    assert_int_equal(places_add(&places, place->inside, BOX_WRITE, NULL), 0);
    assert_int_equal(places_hide_secrets(&places, place->inside, NULL), 0);
    places_sort(&places);
    /* The home may be written, but its keys stay hidden, except those that were named. */
    assert_non_null(find(&places, place->inside, &at_home));
    assert_int_equal(find(&places, ssh, &at_ssh)->access, BOX_READ);
    assert_int_equal(find(&places, aws, &at_aws)->access, BOX_HIDDEN);
    assert_true(at_home < at_ssh && at_home < at_aws);
}

static void the_socket_of_a_daemon_is_hidden(void **state)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    struct places places = PLACES_INIT(&arena);
    const struct place *place = *state;
    char sockets[PLACE_PATH_BYTES + 16];
    size_t at;

    snprintf(sockets, sizeof(sockets), "%s/gatehouse", place->inside);
    assert_int_equal(setenv("XDG_RUNTIME_DIR", place->inside, 1), 0);
    assert_int_equal(places_hide_secrets(&places, NULL, NULL), 0);
    assert_int_equal(find(&places, sockets, &at)->access, BOX_HIDDEN);
    /* A relative path counts as none. */
    assert_int_equal(setenv("XDG_RUNTIME_DIR", "inside", 1), 0);
    places.count = 0;
    assert_int_equal(places_hide_secrets(&places, NULL, NULL), 0);
    assert_int_equal(unsetenv("XDG_RUNTIME_DIR"), 0);
    assert_null(find(&places, sockets, &at));
    assert_null(find(&places, "inside/gatehouse", &at));
}

static void links_are_followed_once(void **state)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    struct places places = PLACES_INIT(&arena);
    const struct place *place = *state;
    char link[PLACE_PATH_BYTES];

    assert_int_equal(symlinkat("inside", place->base_fd, "link"), 0);
    snprintf(link, sizeof(link), "%s/link", place->base);
    assert_int_equal(places_add(&places, link, BOX_WRITE, NULL), 0);
    assert_string_equal(places.items[0].path, place->inside);
    assert_int_equal(places_add(&places, "/nowhere/at/all", BOX_WRITE, NULL), ERR_NOT_FOUND);
    assert_int_equal(places_add(&places, "/nowhere/at/all", BOX_HIDDEN, NULL), 0);
}

static void grants_become_places_while_they_last(void **state)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    struct places places = PLACES_INIT(&arena);
    const struct place *place = *state;
    enum box_access at_most[BOX_MAX_PLACES];
    char a[PLACE_PATH_BYTES + 4];
    char b[PLACE_PATH_BYTES + 4];
    struct authority_grant grants[] = {
        {.id = 1, .root.path = place->inside, .access = AUTHORITY_READ | AUTHORITY_WRITE},
        {.id = 2, .root.path = place->outside, .access = AUTHORITY_READ | AUTHORITY_LIST},
        {.id = 3, .root.path = a, .access = AUTHORITY_ALL_ACCESS, .expires_ms = NOW_MS},
        {.id = 4, .root.path = b, .access = AUTHORITY_ALL_ACCESS, .is_revoked = true},
        {.id = 5, .root.path = place->base, .access = AUTHORITY_METADATA},
    };
    size_t at = 0;

    snprintf(a, sizeof(a), "%s/a", place->inside);
    snprintf(b, sizeof(b), "%s/b", place->inside);
    assert_int_equal(places_add_grants(&places, grants, 5, NOW_MS, NULL), 0);
    places_sort(&places);
    assert_int_equal(places.count, 2);
    assert_int_equal(find(&places, place->inside, &at)->access, BOX_WRITE);
    assert_int_equal(find(&places, place->outside, &at)->access, BOX_READ);

    /* Later: one may only be read any more, the other is gone. */
    grants[0].access = AUTHORITY_READ;
    places_narrow(&places, grants, 1, NOW_MS, at_most);
    find(&places, place->inside, &at);
    assert_int_equal(at_most[at], BOX_READ);
    find(&places, place->outside, &at);
    assert_int_equal(at_most[at], BOX_HIDDEN);
    grants[0].expires_ms = NOW_MS;
    places_narrow(&places, grants, 1, NOW_MS - 1, at_most);
    find(&places, place->inside, &at);
    assert_int_equal(at_most[at], BOX_READ);
    places_narrow(&places, grants, 1, NOW_MS, at_most);
    assert_int_equal(at_most[at], BOX_HIDDEN);
}

static bool is_secret(const char *path)
{
    for (size_t i = 0; i < secrets_count; i++)
        if (strcmp(secrets[i].path, path) == 0)
            return true;
    return false;
}

static void all_secrets_fit_with_room_to_spare(void **state)
{
    (void)state;
    assert_true(2 * secrets_count + 64 <= BOX_MAX_PLACES);
    assert_true(is_secret(".config/mozilla") && is_secret(".s3cfg") && is_secret(".zhistory"));
    for (size_t i = 0; i < secrets_count; i++)
        assert_true(strlen(secrets[i].reason) > 8 && secrets[i].path[0] != '\0');
}

static void hide_in_the_home_of_the_password_file(void *data)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    struct places places = PLACES_INIT(&arena);
    const struct place *place = data;
    char passwd[PLACE_PATH_BYTES];
    char ssh[PLACE_PATH_BYTES + 8];
    char home[PATH_MAX];
    size_t at;

    snprintf(passwd, sizeof(passwd), "%s/passwd", place->base);
    snprintf(ssh, sizeof(ssh), "%s/.ssh", place->inside);
    expect(enter_own_mounts());
    expect(mount(passwd, "/etc/passwd", NULL, MS_BIND, NULL) == 0);
    expect(secrets_find_home(geteuid(), home) && strcmp(home, place->inside) == 0);
    /* Nothing is hidden that is not to be seen anyway. */
    expect(places_hide_secrets(&places, NULL, NULL) == 0);
    expect(find(&places, ssh, &at) == NULL);
    expect(places_add(&places, home, BOX_READ, NULL) == 0);
    expect(places_hide_secrets(&places, NULL, NULL) == 0);
    expect(find(&places, ssh, &at) != NULL && places.items[at].access == BOX_HIDDEN);
}

/* The user of the test may have none, so a child mounts a password file of its own. */
static void the_home_of_the_password_file_counts_too(void **state)
{
    const struct place *place = *state;
    char home[PATH_MAX];
    char line[PLACE_PATH_BYTES + 64];

    assert_true(secrets_find_home(0, home));
    assert_string_equal(home, "/root");
    assert_false(secrets_find_home((uid_t)-2, home));
    require_mounts();
    snprintf(line, sizeof(line), "other:x:%u:1::/:\nme:x:%u:1::%s:\n", geteuid() + 1, geteuid(),
             place->inside);
    place_write(place->base_fd, "passwd", line);
    in_child(hide_in_the_home_of_the_password_file, *state);
}

static void what_was_moved_out_of_the_home_counts_too(void **state)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    struct places places = PLACES_INIT(&arena);
    const struct place *place = *state;
    char path[PLACE_PATH_BYTES + 16];
    size_t at = 0;

    assert_int_equal(mkdirat(place->base_fd, "outside/gatehouse", 0700), 0);
    assert_int_equal(mkdirat(place->base_fd, "outside/gh", 0700), 0);
    assert_int_equal(setenv("XDG_STATE_HOME", place->outside, 1), 0);
    assert_int_equal(setenv("XDG_CONFIG_HOME", "outside", 1), 0);
    assert_int_equal(places_hide_secrets(&places, place->inside, NULL), 0);
    snprintf(path, sizeof(path), "%s/gatehouse", place->outside);
    assert_non_null(find(&places, path, &at));
    assert_int_equal(places.items[at].access, BOX_HIDDEN);
    /* Each variable for its own, and a relative one for nothing. */
    snprintf(path, sizeof(path), "%s/gh", place->outside);
    assert_null(find(&places, path, &at));
    assert_int_equal(setenv("XDG_CONFIG_HOME", place->outside, 1), 0);
    assert_int_equal(places_hide_secrets(&places, place->inside, NULL), 0);
    assert_non_null(find(&places, path, &at));
    unsetenv("XDG_STATE_HOME");
    unsetenv("XDG_CONFIG_HOME");
}

static int bind_at(int type, const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

/* The kernel calls the other end connected, too; yet everybody can send to it. */
static int connect_to(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

static void sockets_of_the_host_are_hidden_but_for_writable_places(void **state)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    struct places places = PLACES_INIT(&arena);
    const struct place *place = *state;
    char outside[PLACE_PATH_BYTES + 16];
    char inside[PLACE_PATH_BYTES + 16];
    char listening[PLACE_PATH_BYTES + 16];
    char gone[PLACE_PATH_BYTES + 16];
    char connected[PLACE_PATH_BYTES + 16];
    int fds[6];
    size_t at;

    snprintf(outside, sizeof(outside), "%s/s", place->outside);
    snprintf(inside, sizeof(inside), "%s/s", place->inside);
    snprintf(listening, sizeof(listening), "%s/listening", place->outside);
    snprintf(gone, sizeof(gone), "%s/gone", place->outside);
    snprintf(connected, sizeof(connected), "%s/connected", place->outside);
    fds[0] = bind_at(SOCK_DGRAM, outside);
    fds[1] = bind_at(SOCK_DGRAM, inside);
    fds[2] = bind_at(SOCK_STREAM, listening);
    assert_int_equal(listen(fds[2], 1), 0);
    fds[3] = bind_at(SOCK_SEQPACKET, gone);
    assert_int_equal(unlink(gone), 0);
    fds[4] = bind_at(SOCK_DGRAM, connected);
    fds[5] = connect_to(connected);
    assert_int_equal(places_add(&places, place->outside, BOX_READ, NULL), 0);
    assert_int_equal(places_add(&places, place->inside, BOX_WRITE, NULL), 0);
    assert_int_equal(places_hide_sockets(&places, NULL), 0);
    assert_int_equal(find(&places, outside, &at)->access, BOX_HIDDEN);
    assert_int_equal(find(&places, listening, &at)->access, BOX_HIDDEN);
    assert_int_equal(find(&places, connected, &at)->access, BOX_HIDDEN);
    assert_null(find(&places, inside, &at));
    assert_null(find(&places, gone, &at));
    for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
        close(fds[i]);
}

/* One of a list, and never a part of the system: a history is often sent to /dev/null. */
static void what_variables_name_is_hidden(void **state)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    struct places places = PLACES_INIT(&arena);
    const struct place *place = *state;
    char file[PLACE_PATH_BYTES + 16];
    char list[2 * sizeof(file) + 16];
    size_t at;

    snprintf(file, sizeof(file), "%s/one", place->inside);
    snprintf(list, sizeof(list), "/missing:%s:relative", file);
    setenv("KUBECONFIG", list, 1);
    setenv("GNUPGHOME", place->outside, 1);
    setenv("HISTFILE", "/dev/null", 1);
    assert_int_equal(places_hide_secrets(&places, place->base, NULL), 0);
    assert_int_equal(find(&places, file, &at)->access, BOX_HIDDEN);
    assert_int_equal(find(&places, place->outside, &at)->access, BOX_HIDDEN);
    assert_null(find(&places, "/dev/null", &at));
    assert_null(find(&places, "/missing", &at));

    /* Named by the user, it is seen. */
    places = (struct places)PLACES_INIT(&arena);
    assert_int_equal(places_add(&places, file, BOX_READ, NULL), 0);
    assert_int_equal(places_hide_secrets(&places, place->base, NULL), 0);
    assert_int_equal(find(&places, file, &at)->access, BOX_READ);
    unsetenv("KUBECONFIG");
    unsetenv("GNUPGHOME");
    unsetenv("HISTFILE");
}

/* A home that is reached by a shorter name, with keys that lie elsewhere in it. */
static void secrets_behind_links_are_hidden_where_they_lie(void **state)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    struct places places = PLACES_INIT(&arena);
    const struct place *place = *state;
    char link[PLACE_PATH_BYTES];
    char keys[PLACE_PATH_BYTES + 16];
    char ssh[PLACE_PATH_BYTES + 16];
    char aws[PLACE_PATH_BYTES + 16];
    size_t at_home = 0;
    size_t at;

    assert_int_equal(symlinkat("inside", place->base_fd, "l"), 0);
    assert_int_equal(mkdirat(place->base_fd, "inside/dotfiles", 0700), 0);
    assert_int_equal(mkdirat(place->base_fd, "inside/dotfiles/keys", 0700), 0);
    assert_int_equal(symlinkat("dotfiles/keys", place->base_fd, "inside/.ssh"), 0);
    snprintf(link, sizeof(link), "%s/l", place->base);
    snprintf(keys, sizeof(keys), "%s/dotfiles/keys", place->inside);
    snprintf(ssh, sizeof(ssh), "%s/.ssh", place->inside);
    snprintf(aws, sizeof(aws), "%s/.aws", place->inside);
    assert_int_equal(places_add(&places, link, BOX_WRITE, NULL), 0);
    assert_int_equal(places_hide_secrets(&places, link, NULL), 0);
    places_sort(&places);
    assert_non_null(find(&places, place->inside, &at_home));
    assert_int_equal(find(&places, keys, &at)->access, BOX_HIDDEN);
    assert_true(at_home < at);
    assert_int_equal(find(&places, ssh, &at)->access, BOX_HIDDEN);
    assert_true(at_home < at);
    assert_int_equal(find(&places, aws, &at)->access, BOX_HIDDEN);
    assert_true(at_home < at);

    /* Named by the link, they are seen by it. */
    places = (struct places)PLACES_INIT(&arena);
    assert_int_equal(places_add(&places, ssh, BOX_READ, NULL), 0);
    assert_int_equal(places_hide_secrets(&places, link, NULL), 0);
    assert_int_equal(find(&places, keys, &at)->access, BOX_READ);
    assert_null(find(&places, ssh, &at));
}

/* Read-only, as far as they exist; a place decides about all that it contains. */
static void toolchains_of_the_home_are_shown(void **state)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    struct places places = PLACES_INIT(&arena);
    const struct place *place = *state;
    char rustup[PLACE_PATH_BYTES + 16];
    char path[PLACE_PATH_BYTES + 16];
    size_t at = 0;

    snprintf(rustup, sizeof(rustup), "%s/.rustup", place->inside);
    assert_int_equal(mkdirat(place->base_fd, "inside/.rustup", 0700), 0);
    assert_int_equal(mkdirat(place->base_fd, "inside/.cargo", 0700), 0);
    place_write(place->base_fd, "inside/.cargo/credentials.toml", "x");
    /* A link may be a trap, and a file is no toolchain. */
    assert_int_equal(symlinkat("../outside", place->base_fd, "inside/.nvm"), 0);
    assert_int_equal(symlinkat("../../outside", place->base_fd, "inside/.cargo/bin"), 0);
    place_write(place->base_fd, "inside/.pyenv", "x");
    assert_int_equal(places_show_toolchains(&places, place->inside, NULL), 0);
    assert_int_equal(places.count, 1);
    assert_non_null(find(&places, rustup, &at));
    assert_int_equal(places.items[at].access, BOX_READ);
    assert_true(places.items[at].is_optional);

    places.count = 0;
    assert_int_equal(places_add(&places, place->inside, BOX_WRITE, NULL), 0);
    assert_int_equal(places_show_toolchains(&places, place->inside, NULL), 0);
    assert_int_equal(places.count, 1);
    places.count = 0;
    assert_int_equal(places_show_toolchains(&places, NULL, NULL), 0);
    assert_int_equal(places_show_toolchains(&places, "relative", NULL), 0);
    assert_int_equal(places.count, 0);

    snprintf(path, sizeof(path), "%s/a", place->inside);
    assert_true(places_holds_home(place->inside, place->inside));
    assert_true(places_holds_home(place->base, place->inside));
    assert_false(places_holds_home(path, place->inside));
    assert_false(places_holds_home(place->inside, NULL));
}

static bool has(const char *const *env, const char *variable)
{
    for (; *env != NULL; env++)
        if (strcmp(*env, variable) == 0)
            return true;
    return false;
}

static void the_environment_opens_nothing(void **state)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    static const char *const dropped[] = {"AWS_SECRET_ACCESS_KEY=x",
                                          "GITHUB_TOKEN=x",
                                          "SSH_AUTH_SOCK=/x",
                                          "GPG_AGENT_INFO=x",
                                          "DBUS_SESSION_BUS_ADDRESS=x",
                                          "DISPLAY=:0",
                                          "WAYLAND_DISPLAY=x",
                                          "XDG_RUNTIME_DIR=/x",
                                          "PGPASSWORD=x",
                                          "MY_OWN=x",
                                          "LC_API_KEY=x",
                                          "CMAKE_TOKEN=x",
                                          "CMAKE_ANY=x",
                                          "MAVEN_OPTS=-Dtoken=x",
                                          "GRADLE_OPTS=-Dtoken=x",
                                          "NODE_OPTIONS=x",
                                          "MAKEFLAGS=TOKEN=x",
                                          "CFLAGS=-DTOKEN=x",
                                          "GOFLAGS=-ldflags=x",
                                          "RUSTFLAGS=x",
                                          "DEBUG=x",
                                          "http_proxy=proxy/?token=x",
                                          "LD_PRELOAD=/x",
                                          "https_proxy=http://me:secret@proxy",
                                          "NOT A VARIABLE"};
    static const char *const given[] = {"HOME=/srv/me", "LC_ALL=C", "TMPDIR=/elsewhere",
                                        "TZ=UTC",       "MINE=yes", "http_proxy=http://proxy:80",
                                        "PATH=/bin",    NULL};
    static const char *const more[] = {"MINE", "MISSING", "SET=1", "TZ=CET", NULL};
    static const char *const wrong[] = {"=x", NULL};
    char *const *from = (char *const *)(uintptr_t)given;
    const char *const *env;

    (void)state;
    for (size_t i = 0; i < sizeof(dropped) / sizeof(dropped[0]); i++)
        if (environment_is_kept(dropped[i]))
            fail_msg("%s is kept", dropped[i]);
    assert_int_equal(environment_clean(&arena, from, more, &env, NULL), 0);
    assert_true(has(env, "HOME=/srv/me") && has(env, "LC_ALL=C") && has(env, "PATH=/bin"));
    assert_true(has(env, "http_proxy=http://proxy:80"));
    assert_true(has(env, "TMPDIR=/tmp") && !has(env, "TMPDIR=/elsewhere"));
    assert_true(has(env, "MINE=yes") && has(env, "SET=1") && has(env, "TZ=CET"));
    assert_false(has(env, "TZ=UTC"));
    assert_int_equal(environment_clean(&arena, from, wrong, &env, NULL), ERR_INVALID_ARGUMENT);
}

static void what_the_user_names_for_commands_is_there_under_a_sound_name(void **state)
{
    static const char *const given[] = {"MINE=yes", "EMPTY=", NULL};
    static const char *const sound[] = {"MINE",          "EMPTY",       "A=1,2", "_b2=x=y",
                                        "LD_PRELOAD=/x", "BASH_ENV=/x", NULL};
    static const char *const wrong[] = {"=s3cret",    "",    "2A=s3cret", "A B=s3cret",
                                        "A-B=s3cret", "A.B", " A=s3cret", "é=s3cret"};
    char *const *from = (char *const *)(uintptr_t)given;
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(environment_check("--shell-env", sound, from, &err), 0);
    assert_int_equal(environment_check("--shell-env", NULL, from, &err), 0);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        const char *const one[] = {wrong[i], NULL};

        assert_int_equal(environment_check("--shell-env", one, from, &err), ERR_INVALID_OPTION);
        assert_non_null(strstr(err.message, "--shell-env"));
        assert_null(strstr(err.message, "s3cret"));
    }
    assert_int_equal(
        environment_check("--shell-env", (const char *const[]){"GONE", NULL}, from, &err),
        ERR_INVALID_OPTION);
    assert_non_null(strstr(err.message, "GONE is not set here"));
}

static void hides(const char *text, const char *hidden)
{
    static const char *const from_given[] = {"OF_MINE=value-of-mine\n", NULL};
    static const char *const given[] = {"MY_TOKEN=abcd",
                                        "OF_MINE",
                                        "LONGER=value-of-mine, longer",
                                        "A=1",
                                        "GONE",
                                        "TZ=CET",
                                        "SHORT_TOKEN=ab",
                                        "EMPTY=",
                                        NULL};
    cleanup_buf struct buf out = BUF_INIT(ARENA_BYTES);

    assert_int_equal(
        environment_hide(given, (char *const *)(uintptr_t)from_given, str_from(text), &out), 0);
    assert_true(str_eq_c(buf_view(&out), hidden));
}

static void values_are_hidden_wherever_they_stand(void **state)
{
    cleanup_buf struct buf out = BUF_INIT(ARENA_BYTES);

    (void)state;
    hides("", "");
    hides("abcd", "[redacted]");
    hides("xabcdabcdx abc", "x[redacted][redacted]x abc");
    hides("value-of-mine\nvalue-of-mine, longer\n", "[redacted]\n[redacted]\n");
    hides("A=1 TZ=CET ab EMPTY=", "A=1 TZ=CET ab EMPTY=");
    assert_int_equal(environment_hide(NULL, NULL, STR("abcd"), &out), 0);
    assert_true(str_eq_c(buf_view(&out), "abcd"));
}

static void what_the_user_names_wins(void **state)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    static const char *const given[] = {"MINE=yes", "TZ=UTC", NULL};
    static const char *const ours[] = {"http_proxy=ours", "TZ=CET", NULL};
    static const char *const own[] = {"http_proxy=own", "MINE", NULL};
    char *const *from = (char *const *)(uintptr_t)given;
    const char *const *env;

    (void)state;
    assert_int_equal(
        environment_clean(&arena, from, environment_join(&arena, ours, own), &env, NULL), 0);
    assert_true(has(env, "http_proxy=own") && has(env, "TZ=CET") && has(env, "MINE=yes"));
    assert_false(has(env, "http_proxy=ours"));
    assert_int_equal(
        environment_clean(&arena, from, environment_join(&arena, NULL, own), &env, NULL), 0);
    assert_true(has(env, "MINE=yes") && has(env, "TZ=UTC"));
    assert_int_equal(
        environment_clean(&arena, from, environment_join(&arena, ours, NULL), &env, NULL), 0);
    assert_true(has(env, "http_proxy=ours") && !has(env, "MINE=yes"));
}

static void no_program_is_looked_for_where_a_command_starts(void **state)
{
    static const struct {
        const char *given;
        const char *expected;
    } cases[] = {
        {"PATH=/a:/b", "PATH=/a:/b"},
        {"PATH=.:/a", "PATH=/a"},
        {"PATH=:/a", "PATH=/a"},
        {"PATH=/a:", "PATH=/a"},
        {"PATH=/a::/b:bin:./c:~/d", "PATH=/a:/b"},
        {"PATH=", "PATH=/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"},
        {"PATH=.:bin", "PATH=/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
        const char *const given[] = {cases[i].given, NULL};
        const char *const *env;

        assert_int_equal(
            environment_clean(&arena, (char *const *)(uintptr_t)given, NULL, &env, NULL), 0);
        if (!has(env, cases[i].expected))
            fail_msg("%s: %s", cases[i].given, env[0]);
    }
}

static const char *risk_of(const char *path, enum box_access access, const char *home)
{
    static char found[PLACE_PATH_BYTES];
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    struct places places = PLACES_INIT(&arena);
    const char *risk;

    assert_int_equal(places_add(&places, path, access, NULL), 0);
    risk = startfiles_writable(&places, home);
    if (risk == NULL)
        return NULL;
    snprintf(found, sizeof(found), "%s", risk);
    return found;
}

static void a_writable_place_with_files_that_are_started_later_is_known(void **state)
{
    const struct place *place = *state;
    char path[PLACE_PATH_BYTES + 32];

    /* The home, what is above it, and start files in it, whether they are there or not. */
    assert_string_equal(risk_of(place->inside, BOX_WRITE, place->inside), place->inside);
    assert_string_equal(risk_of(place->base, BOX_WRITE, place->inside), place->base);
    assert_string_equal(risk_of("/", BOX_WRITE, place->inside), "/");
    assert_int_equal(mkdirat(place->base_fd, "inside/.config", 0700), 0);
    assert_int_equal(mkdirat(place->base_fd, "inside/.config/autostart", 0700), 0);
    assert_int_equal(mkdirat(place->base_fd, "inside/.config/autostart/x", 0700), 0);
    snprintf(path, sizeof(path), "%s/.config", place->inside);
    assert_string_equal(risk_of(path, BOX_WRITE, place->inside), path);
    snprintf(path, sizeof(path), "%s/.config/autostart/x", place->inside);
    assert_string_equal(risk_of(path, BOX_WRITE, place->inside), path);
    /* By its real path. */
    assert_int_equal(symlinkat(place->inside, place->base_fd, "home"), 0);
    snprintf(path, sizeof(path), "%s/home", place->base);
    assert_string_equal(risk_of(place->inside, BOX_WRITE, path), place->inside);
    /* A project in it, another folder, and what is only read are none. */
    snprintf(path, sizeof(path), "%s/a", place->inside);
    assert_null(risk_of(path, BOX_WRITE, place->inside));
    assert_null(risk_of(place->outside, BOX_WRITE, place->inside));
    assert_null(risk_of(place->inside, BOX_READ, place->inside));
    assert_null(risk_of(place->inside, BOX_WRITE, NULL));
    /* The home of somebody else shows itself. */
    place_write(place->base_fd, "outside/.profile", "");
    assert_string_equal(risk_of(place->outside, BOX_WRITE, place->inside), place->outside);
}

TEST_MAIN(place_test(the_longer_path_holds), place_test(the_socket_of_a_daemon_is_hidden),
          place_test(links_are_followed_once), place_test(grants_become_places_while_they_last),
          cmocka_unit_test(all_secrets_fit_with_room_to_spare),
          place_test(the_home_of_the_password_file_counts_too),
          place_test(what_was_moved_out_of_the_home_counts_too),
          place_test(sockets_of_the_host_are_hidden_but_for_writable_places),
          place_test(what_variables_name_is_hidden),
          place_test(secrets_behind_links_are_hidden_where_they_lie),
          place_test(toolchains_of_the_home_are_shown),
          place_test(a_writable_place_with_files_that_are_started_later_is_known),
          cmocka_unit_test(the_environment_opens_nothing),
          cmocka_unit_test(what_the_user_names_for_commands_is_there_under_a_sound_name),
          cmocka_unit_test(values_are_hidden_wherever_they_stand),
          cmocka_unit_test(what_the_user_names_wins),
          cmocka_unit_test(no_program_is_looked_for_where_a_command_starts))
