/* SPDX-License-Identifier: Apache-2.0 */
/* Our filter against the openssl command, in both roles, over a socket. */
#include "test.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <openssl/x509.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tls_ends.h"

enum { PATH_BYTES = 100, LONGEST = 40 };

static struct tls_world world;
static char folder[] = "/tmp/gatehouse-tls-XXXXXX";
static char socket_path[PATH_BYTES];
static char authority_path[PATH_BYTES];
static char hashed_path[PATH_BYTES];
static char certificate_path[PATH_BYTES];
static char key_path[PATH_BYTES];

static void write_file(const char *path, struct str text)
{
    cleanup_fd int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text.ptr, text.len), (ssize_t)text.len);
}

static int set_up(void **state)
{
    unsigned long hash;

    (void)state;
    tls_world_init(&world);
    assert_non_null(mkdtemp(folder));
    hash = X509_subject_name_hash(world.authority.x509);
    snprintf(socket_path, PATH_BYTES, "%s/socket", folder);
    snprintf(authority_path, PATH_BYTES, "%s/authority.pem", folder);
    snprintf(hashed_path, PATH_BYTES, "%s/%08lx.0", folder, hash);
    snprintf(certificate_path, PATH_BYTES, "%s/server.pem", folder);
    snprintf(key_path, PATH_BYTES, "%s/key.pem", folder);
    write_file(authority_path, buf_view(&world.authority.pem));
    write_file(hashed_path, buf_view(&world.authority.pem));
    write_file(certificate_path, buf_view(&world.server.pem));
    write_file(key_path, secret_text_reveal(&world.server.key_pem));
    /* A test that hangs must end. */
    alarm(PATIENCE_S);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    unlink(socket_path);
    unlink(authority_path);
    unlink(hashed_path);
    unlink(certificate_path);
    unlink(key_path);
    rmdir(folder);
    tls_world_done(&world);
    return 0;
}

static struct sockaddr_un address(void)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};

    memcpy(at.sun_path, socket_path, strlen(socket_path));
    return at;
}

/* Starts `openssl ...`; its ends of the pipes are ours to close. */
static pid_t start_openssl(const char *const *arguments, int *out_stdin, int *out_stdout)
{
    char *copy[LONGEST] = {NULL};
    int in[2];
    int out[2];
    pid_t pid;

    for (size_t i = 0; arguments[i] != NULL; i++)
        copy[i] = strdup(arguments[i]);
    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        dup2(in[0], 0);
        dup2(out[1], 1);
        execvp(copy[0], copy);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    for (size_t i = 0; copy[i] != NULL; i++)
        free(copy[i]);
    *out_stdin = in[1];
    *out_stdout = out[0];
    return pid;
}

static bool has_openssl(void)
{
    static const char *const version[] = {"openssl", "version", NULL};
    int in;
    int out;
    int status;
    pid_t pid = start_openssl(version, &in, &out);

    close(in);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    close(out);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void flush_wire(struct end *end, int fd)
{
    for (size_t at = 0; at < end->wire.len;) {
        ssize_t written = write(fd, end->wire.data + at, end->wire.len - at);

        assert_true(written > 0);
        at += (size_t)written;
    }
    buf_clear(&end->wire);
}

/* Until so much has been said, or the other side is done. */
static void talk(struct end *end, int fd, size_t wanted)
{
    char bytes[4096];
    ssize_t got = 1;

    flush_wire(end, fd);
    while (got > 0 && end->plain.len < wanted) {
        got = read(fd, bytes, sizeof(bytes));
        assert_true(got >= 0);
        if (end_receive(end, (struct str){bytes, (size_t)got}) != 0)
            fail_msg("%s", end->err.message);
        flush_wire(end, fd);
    }
}

static void s_client_talks_to_our_server(void **state)
{
    const char *const arguments[] = {"openssl",
                                     "s_client",
                                     "-quiet",
                                     "-unix",
                                     socket_path,
                                     "-CAfile",
                                     authority_path,
                                     "-verify_return_error",
                                     "-verify_hostname",
                                     "host.test",
                                     "-servername",
                                     "host.test",
                                     "-alpn",
                                     "http/1.1",
                                     "-attime",
                                     "1800000000",
                                     NULL};
    cleanup_fd int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    cleanup_fd int fd = -1;
    struct sockaddr_un at = address();
    struct end server;
    char answer[64];
    ssize_t got;
    int in;
    int out;
    int status;
    pid_t pid;

    (void)state;
    if (!has_openssl())
        skip_because("the openssl command is not installed");
    assert_int_equal(bind(listener, (struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(listen(listener, 1), 0);
    pid = start_openssl(arguments, &in, &out);
    fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(in, "over there\n", 11), 11);
    end_init_server(&server, world.server_context);
    server.habit = END_ECHOES;
    talk(&server, fd, 11);
    assert_str(buf_view(&server.plain), "over there\n");
    server.filter->ops->close(server.filter);
    flush_wire(&server, fd);
    got = read(out, answer, sizeof(answer));
    assert_int_equal(got, 11);
    assert_memory_equal(answer, "over there\n", 11);
    close(in);
    close(out);
    end_done(&server);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_int_equal(unlink(socket_path), 0);
}

/* It says "ACCEPT 127.0.0.1:PORT" when it listens. */
static in_port_t port_of_server(int out)
{
    cleanup_buf struct buf said = BUF_INIT(64 << 10);
    struct str line = STR_EMPTY;
    int64_t port;

    while (line.len == 0) {
        char bytes[256];
        ssize_t got = read(out, bytes, sizeof(bytes));
        struct str rest;

        assert_true(got > 0);
        assert_int_equal(buf_append(&said, bytes, (size_t)got), 0);
        rest = buf_view(&said);
        if (str_find(rest, STR("ACCEPT ")) == SIZE_MAX)
            continue;
        rest = str_slice(rest, str_find(rest, STR("ACCEPT ")), rest.len);
        if (str_find(rest, STR("\n")) != SIZE_MAX)
            line = str_slice(rest, 0, str_find(rest, STR("\n")));
    }
    line = str_slice(line, str_find(line, STR(":")) + 1, line.len);
    assert_true(str_to_int64(line, &port));
    return (in_port_t)port;
}

static int connect_to(in_port_t port)
{
    const struct sockaddr_in at = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(connect(fd, (const struct sockaddr *)&at, sizeof(at)), 0);
    return fd;
}

/* The handshake, to its end or its failure. */
static void shake_hands(struct end *client, int fd)
{
    while (client->ready_count == 0 && client->code == 0) {
        char bytes[4096];
        ssize_t got;

        flush_wire(client, fd);
        got = read(fd, bytes, sizeof(bytes));
        assert_true(got > 0);
        end_receive(client, (struct str){bytes, (size_t)got});
    }
    flush_wire(client, fd);
}

static struct tls_context *trust_dir(const char *path)
{
    const struct tls_trust trust = {.authorities_dir = path};
    struct tls_context *context = NULL;

    assert_int_equal(tls_client_context_new(&trust, &world.clock, &context, NULL), 0);
    return context;
}

static void our_client_talks_to_s_server_and_finds_its_authority_by_hash(void **state)
{
    /* It sends lines back with their characters reversed. */
    const char *const arguments[] = {"openssl", "s_server",       "-rev", "-accept", "127.0.0.1:0",
                                     "-cert",   certificate_path, "-key", key_path,  NULL};
    struct tls_context *trusting;
    struct tls_context *distrusting;
    struct end client;
    in_port_t port;
    int fd;
    int in;
    int out;
    int status;
    pid_t pid;

    (void)state;
    if (!has_openssl())
        skip_because("the openssl command is not installed");
    pid = start_openssl(arguments, &in, &out);
    port = port_of_server(out);
    trusting = trust_dir(folder);
    distrusting = trust_dir("/nonexistent");

    fd = connect_to(port);
    assert_int_equal(end_init_client(&client, distrusting, "127.0.0.1"), 0);
    shake_hands(&client, fd);
    assert_int_equal(client.code, ERR_TLS_UNTRUSTED);
    end_done(&client);
    close(fd);

    fd = connect_to(port);
    assert_int_equal(end_init_client(&client, trusting, "127.0.0.1"), 0);
    shake_hands(&client, fd);
    if (client.code < 0)
        fail_msg("%s", client.err.message);
    end_send(&client, STR("desserts\n"));
    talk(&client, fd, 9);
    assert_str(buf_view(&client.plain), "stressed\n");
    client.filter->ops->close(client.filter);
    flush_wire(&client, fd);
    end_done(&client);
    close(fd);

    tls_context_unref(trusting);
    tls_context_unref(distrusting);
    kill(pid, SIGTERM);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    close(in);
    close(out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(s_client_talks_to_our_server),
        cmocka_unit_test(our_client_talks_to_s_server_and_finds_its_authority_by_hash),
    };
    const char *group = getenv("GATEHOUSE_TEST_NAME");

    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests_name(group != NULL ? group : "test_tls_openssl", tests, set_up,
                                       tear_down);
}
