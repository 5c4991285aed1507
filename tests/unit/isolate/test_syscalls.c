/* SPDX-License-Identifier: Apache-2.0 */
#include "child.h"

#include <linux/fs.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pty.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <termios.h>

#include "isolate/seccomp.h"
#include "isolate/syscalls.h"

static void filter_for(const struct syscalls_needs *wanted)
{
    struct syscalls_needs needs = *wanted;
    struct seccomp_program program;

    needs.pid = getpid();
    expect(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    expect(syscalls_compile(SECCOMP_ON_THIS, &needs, &program, NULL) == 0);
    expect(seccomp_install(&program, NULL) == 0);
}

static void filter(bool changes_files, bool passes_messages)
{
    filter_for(&(struct syscalls_needs){.changes_files = changes_files,
                                        .passes_messages = passes_messages});
}

static void try_what_is_refused(void *data)
{
    static const struct {
        long number;
        long first;
        bool is_widened; /* in a sanitizer's build */
    } calls[] = {
        {SYS_socket, AF_INET, false},
        {SYS_socket, AF_UNIX, false},
        {SYS_socketpair, AF_UNIX, false},
        {SYS_connect, 0, false},
        {SYS_bind, 0, false},
        {SYS_listen, 0, false},
        {SYS_accept4, 0, false},
        {SYS_sendmsg, 0, false},
        {SYS_recvmsg, 0, false},
        {SYS_sendto, 0, false},
        {SYS_setsockopt, 0, false},
        {SYS_clone, SIGCHLD, false},
        {SYS_clone, CLONE_VM | CLONE_VFORK | SIGCHLD, true},
        {SYS_clone, CLONE_NEWUSER | SIGCHLD, false},
        {SYS_ptrace, 0, true},
        {SYS_process_vm_readv, 0, true},
        {SYS_process_vm_writev, 0, false},
        {SYS_pidfd_open, 1, false},
        {SYS_pidfd_getfd, 0, false},
        {SYS_kcmp, 0, false},
        {SYS_kill, 0, false},
        {SYS_tkill, 0, false},
        {SYS_tgkill, 1, false},
        {SYS_rt_sigqueueinfo, 0, false},
        {SYS_bpf, 0, false},
        {SYS_perf_event_open, 0, false},
        {SYS_userfaultfd, 0, false},
        {SYS_keyctl, 0, false},
        {SYS_add_key, 0, false},
        {SYS_mount, 0, false},
        {SYS_umount2, 0, false},
        {SYS_fsopen, 0, false},
        {SYS_open_tree, 0, false},
        {SYS_move_mount, 0, false},
        {SYS_pivot_root, 0, false},
        {SYS_chroot, 0, false},
        {SYS_unshare, CLONE_NEWUSER, false},
        {SYS_setns, 0, false},
        {SYS_setuid, 0, false},
        {SYS_setresuid, 0, false},
        {SYS_setgroups, 0, false},
        {SYS_capset, 0, false},
        {SYS_init_module, 0, false},
        {SYS_finit_module, 0, false},
        {SYS_kexec_load, 0, false},
        {SYS_reboot, 0, false},
        {SYS_seccomp, 0, false},
        {SYS_prctl, PR_SET_SECCOMP, false},
        {SYS_prctl, PR_SET_DUMPABLE, true},
        {SYS_prctl, PR_SET_PTRACER, true},
        {SYS_prctl, PR_SET_PDEATHSIG, true},
        {SYS_prlimit64, 1, false},
        {SYS_setpriority, PRIO_USER, false},
        {SYS_sched_setaffinity, 0, false},
        {SYS_open_by_handle_at, 0, false},
        {SYS_name_to_handle_at, 0, false},
        {SYS_mknodat, 0, false},
        {SYS_symlinkat, 0, false},
        {SYS_truncate, 0, false},
        {SYS_setxattr, 0, false},
        {SYS_lsetxattr, 0, false},
        {SYS_fchownat, 0, false},
        {SYS_fchmodat, 0, false},
        {SYS_fchmod, 0, false},
        {SYS_fchown, 0, false},
        {SYS_fsetxattr, 0, false},
        {SYS_utimensat, 0, false},
        {SYS_memfd_create, 0, false},
        {SYS_shmget, 0, false},
        {SYS_msgget, 0, false},
        {SYS_quotactl, 0, false},
        {SYS_syslog, 0, false},
        {SYS_settimeofday, 0, false},
    };

    (void)data;
    filter(false, false);
    for (size_t i = 0; i < array_size(calls); i++) {
        long r;

        if (ISOLATE_IS_SANITIZED && calls[i].is_widened)
            continue;
        errno = 0;
        r = syscall(calls[i].number, calls[i].first, 0, 0, 0, 0, 0);
        if (r != -1 || errno != EPERM) {
            dprintf(2, "call %ld (%ld): %ld, %s\n", calls[i].number, calls[i].first, r,
                    err_errno_text(errno));
            _exit(1);
        }
    }
    /* What libraries have another way for is not there at all. */
    expect_errno(syscall(SYS_clone3, 0, 0), ENOSYS);
    expect_errno(syscall(SYS_io_uring_setup, 1, 0), ENOSYS);
    expect_errno(syscall(SYS_io_uring_enter, 0, 0, 0, 0, 0, 0), ENOSYS);
    expect_errno(syscall(SYS_io_uring_register, 0, 0, 0, 0), ENOSYS);
    expect_errno(syscall(SYSCALLS_LAST_KNOWN + 1, 0), ENOSYS);
    expect_errno(syscall(1000, 0), ENOSYS);
#if defined(__x86_64__)
    expect_errno(syscall(0x40000000 + SYS_getpid), EPERM);
    expect_errno(syscall(0x40000000 + 520, 0, 0, 0), EPERM); /* x32's execve */
#endif
}

static void what_is_not_on_the_list_is_refused(void **state)
{
    (void)state;
    in_child(try_what_is_refused, NULL);
}

static void make_memory_to_share(void *data)
{
    int fd;

    (void)data;
    filter_for(&(struct syscalls_needs){.passes_messages = true, .shares_memory = true});
    fd = memfd_create("shared", MFD_CLOEXEC);
    expect(fd >= 0 && ftruncate(fd, 4096) == 0);
    expect_errno(syscall(SYS_socket, AF_UNIX, SOCK_STREAM, 0), EPERM);
}

static void memory_to_share_is_made_where_it_is_needed(void **state)
{
    (void)state;
    in_child(make_memory_to_share, NULL); /* elsewhere not: see above */
}

static void run_a_program(void *data)
{
    (void)data;
    filter(true, true);
    execl("/bin/true", "true", (char *)NULL);
}

static void run_a_program_by_descriptor(void *data)
{
    (void)data;
    filter(true, true);
    syscall(SYS_execveat, AT_FDCWD, "/bin/true", NULL, NULL, 0);
}

static void starting_a_program_is_the_end(void **state)
{
    (void)state;
    assert_int_equal(WTERMSIG(status_of(run_a_program, NULL)), SIGSYS);
    assert_int_equal(WTERMSIG(status_of(run_a_program_by_descriptor, NULL)), SIGSYS);
}

#if defined(__x86_64__)
static void call_as_i386(void *data)
{
    long r = 20; /* getpid there, writev here */

    (void)data;
    filter(true, true);
    __asm__ volatile("int $0x80" : "+a"(r) : : "memory");
}
#endif

static void calls_by_another_table_are_the_end(void **state)
{
    (void)state;
#if defined(__x86_64__)
    int status = status_of(call_as_i386, NULL);

    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV)
        skip_because("this kernel runs no 32-bit programs");
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS);
#else
    skip_because("this machine has no second table");
#endif
}

static void *do_little(void *data)
{
    *(bool *)data = pthread_kill(pthread_self(), 0) == 0;
    expect_errno(syscall(SYS_socket, AF_INET, SOCK_STREAM, 0), EPERM);
    return NULL;
}

static void try_what_is_allowed(void *data)
{
    bool has_run = false;
    struct rlimit limit;
    int number = 0;
    int fds[2];

    (void)data;
    expect(pipe2(fds, O_CLOEXEC) == 0);
    filter(false, false);
    expect(in_thread(do_little, &has_run) && has_run);
    expect(raise(0) == 0);
    expect(ioctl(fds[0], FIONREAD, &number) == 0);
    expect(ioctl(fds[0], FIONBIO, &number) == 0);
    expect_errno(ioctl(fds[0], TCGETS, &number), ENOTTY);
    expect_errno(ioctl(fds[0], TIOCSTI, "x"), EPERM);
    expect_errno(ioctl(fds[0], FS_IOC_SETFLAGS, &number), EPERM);
    expect(prctl(PR_SET_NAME, "quiet", 0, 0, 0) == 0);
    expect(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) >= 0);
    expect(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    expect_errno(setrlimit(RLIMIT_NOFILE, &limit), EPERM);
    expect(setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0)) == 0);
    expect_errno(setpriority(PRIO_PROCESS, 1, 0), EPERM);
    expect(fcntl(fds[0], F_DUPFD_CLOEXEC, 0) >= 0);
    expect(fcntl(fds[0], F_SETFL, fcntl(fds[0], F_GETFL)) == 0);
    expect(fcntl(fds[0], F_SETPIPE_SZ, 4096) >= 0);
    /* Not even itself: with what it could be told to signal, it could signal others. */
    expect_errno(fcntl(fds[0], F_SETOWN, getpid()), EPERM);
    expect_errno(fcntl(fds[0], F_SETOWN_EX, &(struct f_owner_ex){F_OWNER_PID, getpid()}), EPERM);
    expect_errno(fcntl(fds[0], F_SETSIG, SIGURG), EPERM);
    expect_errno(fcntl(fds[0], F_SETLEASE, F_RDLCK), EPERM);
}

static void threads_and_questions_are_allowed(void **state)
{
    (void)state;
    in_child(try_what_is_allowed, NULL);
}

static void abort_it(void *data)
{
    (void)data;
    filter(false, false);
    abort();
}

static void a_process_can_still_abort(void **state)
{
    (void)state;
    assert_int_equal(WTERMSIG(status_of(abort_it, NULL)), SIGABRT);
}

static void pass_messages(void *data)
{
    char byte = 'x';
    struct iovec part = {&byte, 1};
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof(control)};
    int fds[2];

    (void)data;
    expect(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) == 0);
    filter(false, true);
    control.header = (struct cmsghdr){
        .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(&control.header), &fds[0], sizeof(int));
    expect(sendmsg(fds[0], &message, MSG_NOSIGNAL) == 1);
    expect(recvmsg(fds[1], &message, MSG_CMSG_CLOEXEC) == 1);
    expect(message.msg_controllen >= CMSG_LEN(sizeof(int)));
    expect(send(fds[0], "y", 1, MSG_NOSIGNAL) == 1);
    expect(recv(fds[1], &byte, 1, 0) == 1 && byte == 'y');
    expect_errno(sendto(fds[0], "y", 1, 0, (const struct sockaddr *)"\1\0", 2), EPERM);
    expect_errno(socket(AF_UNIX, SOCK_STREAM, 0), EPERM);
    expect_errno(syscall(SYS_socketpair, AF_UNIX, SOCK_STREAM, 0, fds), EPERM);
}

static void messages_pass_on_given_sockets_where_they_are_needed(void **state)
{
    (void)state;
    in_child(pass_messages, NULL);
}

static void answer_connections(void *data)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t len = sizeof(address);
    const struct sockaddr *any = (const struct sockaddr *)&address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int spare = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    char byte = 0;
    int on = 1;
    int fd;

    (void)data;
    expect(listener >= 0 && client >= 0 && spare >= 0);
    expect(bind(listener, any, sizeof(address)) == 0 && listen(listener, 1) == 0);
    expect(getsockname(listener, (struct sockaddr *)&address, &len) == 0);
    expect(connect(client, any, sizeof(address)) == 0);
    filter_for(&(struct syscalls_needs){.answers_connections = true});
    fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    expect(fd >= 0);
    expect(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) == 0);
    expect(setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on)) == 0);
    expect(write(fd, "y", 1) == 1 && read(client, &byte, 1) == 1 && byte == 'y');
    expect(shutdown(fd, SHUT_WR) == 0);
    /* Nobody is gone to, no door is opened, and no other socket is made. */
    expect_errno(connect(spare, any, sizeof(address)), EPERM);
    expect_errno(bind(spare, any, sizeof(address)), EPERM);
    expect_errno(listen(spare, 1), EPERM);
    expect_errno(socket(AF_INET, SOCK_STREAM, 0), EPERM);
    expect_errno(socket(AF_UNIX, SOCK_STREAM, 0), EPERM);
    expect_errno(setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, "lo", 2), EPERM);
    expect_errno(setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &on, sizeof(on)), EPERM);
    expect_errno(setsockopt(fd, IPPROTO_TCP, TCP_ULP, "tls", 3), EPERM);
    expect_errno(setsockopt(fd, IPPROTO_TCP, TCP_REPAIR, &on, sizeof(on)), EPERM);
    expect_errno(setsockopt(fd, SOL_IP, IP_TRANSPARENT, &on, sizeof(on)), EPERM);
    expect_errno(sendto(fd, "y", 1, 0, NULL, 0), EPERM);
}

static void connections_are_answered_on_a_given_socket_where_that_is_needed(void **state)
{
    (void)state;
    in_child(answer_connections, NULL);
}

static void pretend_to_connect(void *data)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t len = sizeof(address);
    struct sockaddr *any = (struct sockaddr *)&address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int spare = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)data;
    expect(listener >= 0 && spare >= 0);
    expect(bind(listener, any, sizeof(address)) == 0 && listen(listener, 1) == 0);
    expect(getsockname(listener, any, &len) == 0);
    filter_for(&(struct syscalls_needs){.has_connections = true, .answers_connections = true});
    expect_errno(connect(spare, any, sizeof(address)), EINPROGRESS);
    expect_errno(accept4(listener, NULL, NULL, SOCK_CLOEXEC), EAGAIN);
    expect_errno(getpeername(spare, any, &len), ENOTCONN);
    expect_errno(socket(AF_INET, SOCK_STREAM, 0), EPERM);
}

static void connecting_does_nothing_where_connections_are_given(void **state)
{
    (void)state;
    in_child(pretend_to_connect, NULL);
}

/* It may be asked what it is, and nothing can be done to it. */
static void use_a_terminal(void *data)
{
    struct termios modes;
    struct winsize size;
    pid_t group = 0;
    int master;
    int fd;

    (void)data;
    expect(openpty(&master, &fd, NULL, NULL, NULL) == 0);
    filter_for(&(struct syscalls_needs){0});
    expect(tcgetattr(fd, &modes) == 0);
    expect(ioctl(fd, TIOCGWINSZ, &size) == 0);
    expect_errno(tcsetattr(fd, TCSANOW, &modes), EPERM);
    expect_errno(tcsetattr(fd, TCSAFLUSH, &modes), EPERM);
    expect_errno(tcflush(fd, TCIFLUSH), EPERM);
    expect_errno(ioctl(fd, TIOCGPGRP, &group), EPERM);
    expect_errno(getpgid(0), EPERM);
    expect_errno(ioctl(fd, TIOCSTI, "x"), EPERM);
    expect_errno(ioctl(fd, TIOCLINUX, "x"), EPERM);
    expect_errno(ioctl(fd, TIOCSCTTY, 0), EPERM);
    expect_errno(ioctl(fd, TIOCSPGRP, &group), EPERM);
    expect_errno(ioctl(fd, TIOCSWINSZ, &size), EPERM);
    expect_errno(ioctl(fd, TIOCCONS, 0), EPERM);
    expect_errno(ioctl(fd, TIOCSETD, &master), EPERM);
    expect_errno(ioctl(fd, TCXONC, TCOOFF), EPERM);
    expect_errno(ioctl(fd, TCSBRK, 0), EPERM);
}

static void a_terminal_is_neither_set_nor_typed_into(void **state)
{
    (void)state;
    in_child(use_a_terminal, NULL);
}

static void change_modes(void *data)
{
    const struct place *place = data;
    int fd = openat(place->base_fd, "inside/one", O_RDWR | O_CLOEXEC);

    expect(fd >= 0);
    filter(true, false);
    expect(fchmod(fd, 0600) == 0);
    expect(fchmodat(place->base_fd, "inside/one", 0640, 0) == 0);
    expect(futimens(fd, NULL) == 0);
    expect_errno(utimensat(place->base_fd, "inside/one", NULL, 0), EPERM);
    expect_errno(fchownat(place->base_fd, "inside/one", getuid(), getgid(), 0), EPERM);
    expect(fchown(fd, getuid(), getgid()) == 0);
}

static void attributes_are_for_those_who_change_files(void **state)
{
    in_child(change_modes, *state);
}

TEST_MAIN(cmocka_unit_test(what_is_not_on_the_list_is_refused),
          cmocka_unit_test(memory_to_share_is_made_where_it_is_needed),
          cmocka_unit_test(starting_a_program_is_the_end),
          cmocka_unit_test(calls_by_another_table_are_the_end),
          cmocka_unit_test(threads_and_questions_are_allowed),
          cmocka_unit_test(a_process_can_still_abort),
          cmocka_unit_test(messages_pass_on_given_sockets_where_they_are_needed),
          cmocka_unit_test(connections_are_answered_on_a_given_socket_where_that_is_needed),
          cmocka_unit_test(connecting_does_nothing_where_connections_are_given),
          cmocka_unit_test(a_terminal_is_neither_set_nor_typed_into),
          place_test(attributes_are_for_those_who_change_files))
