/* SPDX-License-Identifier: Apache-2.0 */
#include "room_scene.h"

#include <arpa/inet.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/vfs.h>
#include <sys/wait.h>

static struct scene scene;
static struct scene_result life;
static struct scene_result result;
static struct room *room;

static int open_scene(void **state)
{
    (void)state;
    if (scene.loop == NULL)
        scene_open(&scene);
    room = scene_room(&scene, "files", &life);
    result = (struct scene_result){.fd = -1};
    return 0;
}

static int close_scene(void **state)
{
    (void)state;
    buf_done(&result.names);
    scene_clear(&scene);
    return 0;
}

#define call(expression) scene_await(&scene, &result, expression)

static int put(const char *path, unsigned flags, const char *content)
{
    return call(room_file_put(room, path, flags, str_from(content), scene_on_done, &result));
}

/* Its content in a static buffer, or the error in result.err. */
static const char *get(const char *path)
{
    static char text[4096];
    ssize_t got;

    if (call(room_file_open(room, path, scene_on_opened, &result)) != 0)
        return NULL;
    got = read(result.fd, text, sizeof(text) - 1);
    assert_true(got >= 0);
    text[got] = '\0';
    close(result.fd);
    return text;
}

static const char *list(const char *path, bool is_recursive)
{
    return call(room_file_list(room, path, is_recursive, scene_on_listed, &result)) == 0
               ? result.names.data
               : NULL;
}

static int make(const char *path, bool with_parents)
{
    return call(room_file_mkdir(room, path, with_parents, scene_on_done, &result));
}

static int delete (const char *path, unsigned flags)
{
    return call(room_file_delete(room, path, flags, scene_on_done, &result));
}

static int copy(const char *from, const char *to, unsigned flags)
{
    return call(room_file_copy(room, from, to, flags, scene_on_done, &result));
}

static int move(const char *from, const char *to, unsigned flags)
{
    return call(room_file_move(room, from, to, flags, scene_on_done, &result));
}

static int stat_of(const char *path)
{
    return call(room_file_stat(room, path, scene_on_statted, &result));
}

/* ---- Reading and writing ---- */

static void a_written_file_is_the_users_and_read_back(void **state)
{
    (void)state;
    assert_int_equal(put("/home/user/a/b/c.txt", 0, "hello"), ERR_NOT_FOUND);
    assert_int_equal(put("/home/user/a/b/c.txt", ROOM_WRITE_PARENTS, "hello"), 0);
    assert_string_equal(get("/home/user/a/b/c.txt"), "hello");
    assert_int_equal(result.entry.size, 5);
    assert_string_equal(result.name, "c.txt");
    scene_expect(&scene, room, "stat -c '%u %g %a %s' a/b/c.txt; ls -A a/b",
                 "1000 1000 644 5\nc.txt\n");
    assert_int_equal(put("/home/user/a/b/c.txt", 0, "other"), ERR_ALREADY_EXISTS);
    assert_string_equal(get("/home/user/a/b/c.txt"), "hello");
    assert_int_equal(put("/home/user/a/b/c.txt", ROOM_WRITE_REPLACE, "other"), 0);
    assert_int_equal(put("/home/user/a/b/c.txt", ROOM_WRITE_APPEND, " and more"), 0);
    assert_string_equal(get("/home/user/a/b/c.txt"), "other and more");
    assert_int_equal(put("/home/user/new", ROOM_WRITE_APPEND, "begun"), 0);
    assert_string_equal(get("/home/user/new"), "begun");
}

static void a_replaced_file_keeps_its_mode_and_a_link_leads_to_it(void **state)
{
    (void)state;
    scene_expect(&scene, room, "echo x > run; chmod 755 run; ln -s run link", "");
    assert_int_equal(put("/home/user/link", ROOM_WRITE_REPLACE, "new"), 0);
    scene_expect(&scene, room, "stat -c '%a %F' run link; cat run",
                 "755 regular file\n777 symbolic link\nnew");
}

static void execute(const char *path)
{
    const char *const argv[] = {path, NULL};
    struct scene_run run;

    scene_run(&scene, room, &(struct room_command){.argv = argv}, &run);
    if (run.has_failed)
        fail_msg("%s: %s", path, run.err.message);
    assert_int_equal(run.exit.code, 0);
    scene_forget(&run);
}

/* When a call is answered, nobody may have the file open for writing any more. */
static void a_written_file_can_be_executed_at_once(void **state)
{
    enum { ROUNDS = 20 };
    struct scene_run busy = {.drops = true};

    (void)state;
    /* So that who has answered does not go on at once. */
    scene_begin(room,
                &(struct room_command){.shell = "for i in $(seq $(nproc)) more; do "
                                                "while :; do :; done & done; wait"},
                &busy);
    for (int i = 0; i < ROUNDS; i++) {
        assert_int_equal(
            put("/home/user/run", ROOM_WRITE_REPLACE | ROOM_WRITE_EXECUTABLE, "#!/bin/true\n"), 0);
        execute("/home/user/run");
        assert_int_equal(put("/home/user/run", ROOM_WRITE_APPEND, "\n"), 0);
        execute("/home/user/run");
        assert_int_equal(copy("/home/user/run", "/home/user/copy", ROOM_FILE_REPLACE), 0);
        execute("/home/user/copy");
    }
    room_exec_kill(busy.exec);
    scene_wait(&scene, &busy);
    scene_forget(&busy);
}

static void content_that_ends_too_early_changes_nothing(void **state)
{
    int ends[2];

    (void)state;
    assert_int_equal(put("/home/user/f", 0, "old"), 0);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(write(ends[1], "half", 4), 4);
    close(ends[1]);
    assert_int_equal(call(room_file_write(room, "/home/user/f", ROOM_WRITE_REPLACE, ends[0], 8,
                                          scene_on_done, &result)),
                     ERR_CANCELLED);
    close(ends[0]);
    assert_string_equal(get("/home/user/f"), "old");
    scene_expect(&scene, room, "ls -A", "f\n");
}

static void large_content_comes_through_a_pipe_whole(void **state)
{
    enum { BYTES = 20 << 20 };
    char *bytes = malloc(BYTES);
    int ends[2];
    pid_t writer;

    (void)state;
    assert_non_null(bytes);
    memset(bytes, 'x', BYTES);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    writer = fork();
    if (writer == 0) {
        for (size_t at = 0; at < BYTES;)
            at += (size_t)write(ends[1], bytes + at, BYTES - at);
        _exit(0);
    }
    close(ends[1]);
    assert_int_equal(
        call(room_file_write(room, "/tmp/large", 0, ends[0], BYTES, scene_on_done, &result)), 0);
    close(ends[0]);
    assert_int_equal(waitpid(writer, NULL, 0), writer);
    assert_int_equal(stat_of("/tmp/large"), 0);
    assert_int_equal(result.entry.size, BYTES);
    free(bytes);
}

static void what_is_no_regular_file_is_refused_and_does_not_hang(void **state)
{
    (void)state;
    scene_expect(&scene, room, "mkfifo fifo; ln -s fifo link; mkdir dir; ln -s loop loop", "");
    assert_null(get("/home/user/fifo"));
    assert_int_equal(result.err.code, ERR_NOT_REGULAR_FILE);
    assert_null(get("/home/user/link"));
    assert_int_equal(result.err.code, ERR_NOT_REGULAR_FILE);
    assert_null(get("/home/user/dir"));
    assert_int_equal(result.err.code, ERR_NOT_REGULAR_FILE);
    assert_null(get("/dev/zero"));
    assert_int_equal(result.err.code, ERR_NOT_REGULAR_FILE);
    assert_null(get("/home/user/loop"));
    assert_int_equal(result.err.code, ERR_INVALID_PATH);
    assert_null(get("/home/user/missing"));
    assert_int_equal(result.err.code, ERR_NOT_FOUND);
    assert_null(get("/etc/passwd/x"));
    assert_int_equal(result.err.code, ERR_NOT_A_DIRECTORY);
    assert_int_equal(put("/home/user/fifo", ROOM_WRITE_APPEND, "x"), ERR_NOT_REGULAR_FILE);
    assert_int_equal(put("/home/user/fifo", ROOM_WRITE_REPLACE, "x"), ERR_NOT_REGULAR_FILE);
    assert_int_equal(put("/home/user/dir", ROOM_WRITE_REPLACE, "x"), ERR_NOT_REGULAR_FILE);
    assert_int_equal(copy("/home/user/fifo", "/home/user/f2", 0), ERR_NOT_REGULAR_FILE);
    assert_int_equal(room_file_open(room, "relative", scene_on_opened, &result), ERR_INVALID_PATH);
    assert_int_equal(room_file_open(room, "", scene_on_opened, &result), ERR_INVALID_PATH);
}

/* ---- Looking ---- */

static void lists_and_stat_tell_what_is_there(void **state)
{
    (void)state;
    scene_expect(&scene, room, "mkdir -p d/e; echo 123 > d/e/f; ln -s d/e link; mkfifo fifo", "");
    assert_string_equal(list("/home/user", false), "d d\no fifo\nl link\n");
    assert_string_equal(list("/home/user", true), "d d\nd d/e\nf d/e/f\no fifo\nl link\n");
    assert_string_equal(list("/home/user/link", false), "f f\n");
    assert_null(list("/home/user/d/e/f", false));
    assert_int_equal(result.err.code, ERR_NOT_A_DIRECTORY);
    assert_null(list("/missing", false));
    assert_int_equal(result.err.code, ERR_NOT_FOUND);
    assert_int_equal(stat_of("/home/user/d/e/f"), 0);
    assert_int_equal(result.entry.size, 4);
    assert_int_equal(result.entry.type, ROOM_FILE);
    assert_true(result.entry.modified_ms > INT64_C(1700000000000));
    assert_int_equal(stat_of("/home/user/link"), 0);
    assert_int_equal(result.entry.type, ROOM_DIRECTORY);
    assert_int_equal(stat_of("/home/user/missing"), ERR_NOT_FOUND);
}

static void a_folder_with_many_files_is_listed_whole(void **state)
{
    (void)state;
    scene_expect(&scene, room, "mkdir many; cd many; seq 2000 | xargs touch", "");
    assert_non_null(list("/home/user/many", false));
    assert_int_equal(result.count, 2000);
}

/* ---- Changing ---- */

static void folders_are_made_and_deleted(void **state)
{
    (void)state;
    assert_int_equal(make("/home/user/a/b", false), ERR_NOT_FOUND);
    assert_int_equal(make("/home/user/a/b", true), 0);
    assert_int_equal(make("/home/user/a/b", true), 0);
    assert_int_equal(make("/home/user/a/b", false), ERR_ALREADY_EXISTS);
    assert_int_equal(delete ("/home/user/a", 0), ERR_NOT_EMPTY);
    assert_int_equal(delete ("/home/user/a", ROOM_FILE_RECURSIVE), 0);
    assert_int_equal(delete ("/home/user/a", 0), ERR_NOT_FOUND);
    assert_int_equal(delete ("/home/user/a", ROOM_FILE_FORCE), 0);
    assert_int_equal(delete ("/", ROOM_FILE_RECURSIVE), ERR_ROOT_PROTECTED);
    scene_expect(&scene, room, "mkdir -p x/y; chmod 0 x/y x; mkdir k; ln -s ../k k/link", "");
    assert_int_equal(delete ("/home/user/x", ROOM_FILE_RECURSIVE), 0);
    assert_int_equal(delete ("/home/user/k/link", ROOM_FILE_RECURSIVE), 0);
    assert_string_equal(list("/home/user", true), "d k\n");
}

static void a_tree_deeper_than_one_pass_is_deleted(void **state)
{
    (void)state;
    scene_expect(&scene, room,
                 "python3 -c 'import os\n"
                 "for i in range(300):\n"
                 "    os.mkdir(\"d\"); os.chdir(\"d\")'",
                 "");
    assert_int_equal(delete ("/home/user/d", ROOM_FILE_RECURSIVE), 0);
    assert_string_equal(list("/home/user", true), "");
}

static void copies_and_moves_follow_their_rules(void **state)
{
    (void)state;
    scene_expect(&scene, room,
                 "mkdir -p s/t; echo 1 > s/t/f; chmod 700 s/t/f; ln -s t/f s/l; mkfifo s/p", "");
    assert_int_equal(copy("/home/user/s", "/home/user/c", 0), ERR_INVALID_ARGUMENT);
    assert_int_equal(copy("/home/user/s", "/home/user/s/t/in", ROOM_FILE_RECURSIVE),
                     ERR_INVALID_ARGUMENT);
    assert_int_equal(copy("/home/user/none", "/home/user/c", 0), ERR_NOT_FOUND);
    assert_int_equal(copy("/home/user/s", "/home/user/x/c", ROOM_FILE_RECURSIVE), 0);
    assert_string_equal(list("/home/user/x", true), "d c\nl c/l\nd c/t\nf c/t/f\n");
    scene_expect(&scene, room, "stat -c %a x/c/t/f; cat x/c/l", "700\n1\n");
    assert_int_equal(copy("/home/user/s/t/f", "/home/user/x/c/t/f", 0), ERR_ALREADY_EXISTS);
    scene_expect(&scene, room, "echo 2 > s/t/f", "");
    assert_int_equal(copy("/home/user/s/t/f", "/home/user/x/c/t/f", ROOM_FILE_REPLACE), 0);
    assert_string_equal(get("/home/user/x/c/t/f"), "2\n");
    assert_int_equal(move("/home/user/s", "/home/user/s/t/in", 0), ERR_INVALID_ARGUMENT);
    assert_int_equal(move("/home/user/s/t/f", "/home/user/x/c/t/f", 0), ERR_ALREADY_EXISTS);
    assert_int_equal(move("/home/user/s/t/f", "/home/user/x/c/t/f", ROOM_FILE_REPLACE), 0);
    assert_int_equal(move("/home/user/s", "/home/user/x/c", ROOM_FILE_REPLACE), 0);
    assert_string_equal(list("/home/user", true), "d x\nd x/c\nl x/c/l\no x/c/p\nd x/c/t\n");
    /* To another file system. */
    assert_int_equal(put("/home/user/x/c/t/n", 0, "moved"), 0);
    assert_int_equal(move("/home/user/x/c/t", "/dev/shm/t", 0), 0);
    assert_string_equal(get("/dev/shm/t/n"), "moved");
    assert_string_equal(list("/home/user/x", true), "d c\nl c/l\no c/p\n");
}

static void more_calls_than_a_room_takes_wait(void **state)
{
    enum { MANY = 3 * ROOM_MAX_FILE_CALLS };
    static struct scene_result results[MANY];

    (void)state;
    for (int i = 0; i < MANY; i++) {
        char path[32];

        results[i] = (struct scene_result){0};
        snprintf(path, sizeof(path), "/tmp/n%d", i);
        assert_int_equal(room_file_put(room, path, 0, STR("x"), scene_on_done, &results[i]), 0);
    }
    for (int i = 0; i < MANY; i++) {
        loop_until(scene.loop, results[i].is_done);
        assert_int_equal(results[i].err.code, 0);
    }
    assert_non_null(list("/tmp", false));
    assert_int_equal(result.count, MANY);
}

/* ---- Boundaries ---- */

static void no_path_leads_out_of_a_room(void **state)
{
    static const char secret[] = "of the host";
    char host[512];
    char path[2 * PATH_MAX];
    FILE *file;

    (void)state;
    snprintf(host, sizeof(host), "%s/secret", scene.directory);
    file = fopen(host, "w");
    assert_non_null(file);
    fputs(secret, file);
    fclose(file);
    assert_null(get(host));
    snprintf(path, sizeof(path), "/../../../../../../../../..%s", host);
    assert_null(get(path));
    snprintf(path, sizeof(path), "/proc/1/root%s", host);
    assert_null(get(path));
    snprintf(path, sizeof(path), "ln -s %s absolute; ln -s ../../../../../..%s relative; ln -s / r",
             host, host);
    scene_expect(&scene, room, path, "");
    assert_null(get("/home/user/absolute"));
    assert_null(get("/home/user/relative"));
    snprintf(path, sizeof(path), "/home/user/r%s", host);
    assert_null(get(path));
    /* Written through such a link, it lands inside, or nowhere. */
    (void)put("/home/user/absolute", ROOM_WRITE_REPLACE | ROOM_WRITE_PARENTS, "from inside");
    (void)put("/home/user/relative", ROOM_WRITE_APPEND | ROOM_WRITE_PARENTS, "from inside");
    file = fopen(host, "r");
    assert_non_null(file);
    assert_non_null(fgets(path, sizeof(path), file));
    fclose(file);
    assert_string_equal(path, secret);
    assert_int_equal(put("/../../tmp/up", 0, "x"), 0);
    assert_string_equal(get("/tmp/up"), "x");
}

static void a_name_that_is_exchanged_all_the_time_never_leads_out(void **state)
{
    enum { ROUNDS = 200 };
    char command[2 * PATH_MAX];
    struct scene_run run = {0};

    (void)state;
    snprintf(command, sizeof(command),
             "mkdir dir; echo inside > dir/f; ln -s %s host; ln -s dir name; echo go; while :; do "
             "ln -sfn /home/user/host name; ln -sfn dir name; done",
             scene.directory);
    scene_begin(room, &(struct room_command){.shell = command}, &run);
    loop_until(scene.loop, run.bytes > 0);
    for (int i = 0; i < ROUNDS; i++) {
        const char *text = get("/home/user/name/f");

        if (text != NULL)
            assert_string_equal(text, "inside\n");
        text = list("/home/user/name", true);
        if (text != NULL && strspn(text, "fwg \n") != strlen(text))
            fail_msg("listed: %s", text);
        (void)put("/home/user/name/w", ROOM_WRITE_REPLACE, "x");
        (void)delete ("/home/user/name/w", ROOM_FILE_FORCE);
        (void)copy("/home/user/name/f", "/home/user/name/g", ROOM_FILE_REPLACE);
        (void)delete ("/home/user/name/g", ROOM_FILE_FORCE);
    }
    room_exec_kill(run.exec);
    scene_wait(&scene, &run);
    scene_forget(&run);
    assert_int_equal(access(scene.directory, F_OK), 0);
}

static void file_work_has_only_the_rights_of_the_user(void **state)
{
    (void)state;
    if (room_keeper_abilities(scene.keeper)->ids == ROOM_IDS_SINGLE)
        skip_because("a room without a range has one user");
    assert_int_equal(put("/etc/new", 0, "x"), ERR_PERMISSION_DENIED);
    assert_int_equal(delete ("/etc/passwd", 0), ERR_PERMISSION_DENIED);
    assert_null(list("/root", false));
    assert_int_equal(result.err.code, ERR_PERMISSION_DENIED);
    assert_int_equal(make("/new", false), ERR_PERMISSION_DENIED);
}

/* ---- Ports ---- */

/* A server in the room that says which room it is to each who connects. */
#define SERVER                                                                                     \
    "import socket, sys\n"                                                                         \
    "s = socket.create_server((sys.argv[1], int(sys.argv[2])),"                                    \
    " family=socket.AF_INET6 if ':' in sys.argv[1] else socket.AF_INET)\n"                         \
    "print(s.getsockname()[1], flush=True)\n"                                                      \
    "while True:\n"                                                                                \
    "    c = s.accept()[0]\n"                                                                      \
    "    c.sendall(sys.argv[3].encode() + c.recv(9))\n"                                            \
    "    c.close()\n"

static void serve(struct room *where, const char *address, const char *port, const char *name,
                  struct scene_run *run)
{
    const char *const argv[] = {"python3", "-c", SERVER, address, port, name, NULL};

    scene_begin(where, &(struct room_command){.argv = argv}, run);
    loop_until(scene.loop, run->bytes > 0 || run->has_exited);
}

static const char *ask(struct room *where, uint16_t port)
{
    static char text[64];
    ssize_t got;

    if (call(room_connect(where, port, scene_on_connected, &result)) != 0)
        return NULL;
    assert_int_equal(write(result.fd, "?", 1), 1);
    got = read(result.fd, text, sizeof(text) - 1);
    text[got > 0 ? got : 0] = '\0';
    close(result.fd);
    return text;
}

static void a_port_leads_into_its_room_and_nowhere_else(void **state)
{
    static struct scene_result other_life;
    static struct scene_result host_life;
    struct room *other = scene_room(&scene, "other", &other_life);
    struct scene_run run = {0};
    struct scene_run other_run = {0};
    struct scene_run six_run = {0};
    struct sockaddr_in host = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(host);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)state;
    /* The host listens at a port of its own, and at the one of the rooms nothing does. */
    assert_int_equal(bind(listener, (struct sockaddr *)&host, sizeof(host)), 0);
    assert_int_equal(listen(listener, 8), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&host, &len), 0);
    serve(room, "0.0.0.0", "3000", "one", &run);
    serve(other, "127.0.0.1", "3000", "two", &other_run);
    assert_string_equal(ask(room, 3000), "one?");
    assert_string_equal(ask(other, 3000), "two?");
    assert_null(ask(room, ntohs(host.sin_port)));
    assert_int_equal(result.err.code, ERR_CONNECTION_LOST);
    assert_null(ask(room, 3001));
    assert_int_equal(room_connect(room, 0, scene_on_connected, &result), ERR_INVALID_ARGUMENT);
    serve(room, "::1", "3006", "six", &six_run);
    if (six_run.errors.len == 0) /* this machine has IPv6 */
        assert_string_equal(ask(room, 3006), "six?");
    /* A room in the host's network has the host's loopback. */
    assert_int_equal(scene_start(&scene,
                                 (struct room_plan){.id = "host", .network = ROOM_NETWORK_HOST},
                                 &host_life),
                     0);
    assert_int_equal(
        room_connect(host_life.room, ntohs(host.sin_port), scene_on_connected, &result),
        ERR_UNSUPPORTED);
    close(listener);
    scene_forget(&run);
    scene_forget(&other_run);
    scene_forget(&six_run);
}

static int end_scene(void **state)
{
    close_scene(state);
    scene_close(&scene);
    return 0;
}

/* Of a room of this name, in which the root's command made it. */
static int freeze_system(const char *id, const char *shell)
{
    struct scene_result built = {0};
    struct scene_run run;

    assert_int_equal(scene_start(&scene, (struct room_plan){.id = id, .is_build = true}, &built),
                     0);
    scene_run(&scene, built.room, &(struct room_command){.shell = shell, .is_root = true}, &run);
    assert_int_equal(run.exit.code, 0);
    scene_forget(&run);
    scene_await(&scene, &built, room_stop(built.room, scene_on_done, &built));
    return scene_await(&scene, &built,
                       room_freeze_system(scene.keeper, id, id, scene_on_done, &built));
}

static void a_room_over_a_system_sees_that_and_nothing_of_the_host(void **state)
{
    static const char *const layers[] = {"whole"};
    static struct scene_result over; /* the end of its room comes after this function */

    (void)state;
    assert_int_equal(freeze_system("without", "true"), ERR_NOT_FOUND);
    assert_int_not_equal(freeze_system("linked", "ln -s /usr " ROOM_SYSTEM), 0);
    assert_int_equal(scene_delete(&scene, "linked"), 0);
    assert_int_equal(freeze_system("whole", "mkdir " ROOM_SYSTEM " && cd " ROOM_SYSTEM
                                            " && mkdir dev proc own && echo x > own/file"),
                     0);
    assert_int_equal(
        scene_start(&scene, (struct room_plan){.id = "over", .layers = layers, .layer_count = 1},
                    &over),
        0);
    room = over.room;
    assert_string_equal(list("/", false), "d dev\nd own\nd proc\n");
    assert_string_equal(get("/own/file"), "x\n");
    assert_null(get("/usr/bin/env"));
}

/* Or ext4 without a journal makes rooms ever more slowly. */
static void ext4_puts_rooms_apart(void **state)
{
    static const char *const folders[] = {"fresh", "rooms"};

    (void)state;
    for (size_t i = 0; i < array_size(folders); i++) {
        char path[300];
        struct statfs about;
        int flags = 0;
        int fd;

        snprintf(path, sizeof(path), "%s/%s", scene.directory, folders[i]);
        fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_true(fd >= 0);
        assert_int_equal(fstatfs(fd, &about), 0);
        if (about.f_type == EXT4_SUPER_MAGIC) {
            assert_int_equal(ioctl(fd, FS_IOC_GETFLAGS, &flags), 0);
            assert_int_not_equal(flags & FS_TOPDIR_FL, 0);
        }
        close(fd);
    }
}

#define T(name) cmocka_unit_test_setup_teardown(name, open_scene, close_scene)
TEST_MAIN(T(a_written_file_is_the_users_and_read_back),
          T(a_replaced_file_keeps_its_mode_and_a_link_leads_to_it),
          T(a_written_file_can_be_executed_at_once), T(content_that_ends_too_early_changes_nothing),
          T(large_content_comes_through_a_pipe_whole),
          T(what_is_no_regular_file_is_refused_and_does_not_hang),
          T(lists_and_stat_tell_what_is_there), T(a_folder_with_many_files_is_listed_whole),
          T(folders_are_made_and_deleted), T(a_tree_deeper_than_one_pass_is_deleted),
          T(copies_and_moves_follow_their_rules), T(more_calls_than_a_room_takes_wait),
          T(no_path_leads_out_of_a_room), T(a_name_that_is_exchanged_all_the_time_never_leads_out),
          T(a_port_leads_into_its_room_and_nowhere_else),
          T(a_room_over_a_system_sees_that_and_nothing_of_the_host), T(ext4_puts_rooms_apart),
          cmocka_unit_test_setup_teardown(file_work_has_only_the_rights_of_the_user, open_scene,
                                          end_scene))
