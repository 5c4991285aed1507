/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The terminal of a job in a shell's session with Ctrl-Z, signals and crashes. A small shell does
 * what the test says, one letter at a time.
 */
#include "bench.h"

#include <signal.h>
#include <sys/wait.h>

#include "loop/reader.h"
#include "loop/signal.h"
#include "loop/worker.h"

enum { JOB_SAYS_BYE = 7 };

struct job_plan {
    bool handles_sigterm;
    bool ignores_sighup;
    bool runs_on_a_worker; /* which has signals blocked */
};

struct session {
    int keeper;
    int terminal; /* the test's own */
    int orders;   /* to the shell */
    int reports;  /* from it */
    int pokes;    /* to the job, which sends each back */
    int echoes;
    pid_t shell;
    pid_t job;
    struct termios before;
    struct buf written;
};

/* ---- the job ---- */

struct job {
    struct loop *loop;
    int answers;
    int pokes;
    int echoes;
};

static void on_answer(void *data, uint64_t id, enum permission_choice choice, const char *by)
{
    struct job *job = data;

    (void)id;
    (void)by;
    job->answers += choice == CHOICE_DENY_ONCE;
}

static void on_poke(void *data)
{
    struct job *job = data;
    char c;

    if (read(job->pokes, &c, 1) != 1)
        _exit(3);
    if (c == 'a')
        abort();
    if (write(job->echoes, &c, 1) != 1)
        _exit(3);
}

static void on_sigterm(void *data, int signum)
{
    struct job *job = data;

    (void)signum;
    loop_stop(job->loop);
}

static void run_job(const struct job_plan *plan, int fd, int pokes, int echoes)
{
    const struct question question = {.tool = STR_LITERAL("write_file"), .choices = ALL_CHOICES};
    struct job job = {.pokes = pokes, .echoes = echoes};
    struct console_config config = {.in_fd = fd, .out_fd = fd, .look = bench_colour};
    struct console *console = NULL;
    struct signal_watch *watch = NULL;
    struct ready_watch *poked = NULL;
    const struct worker_config workers = {.threads = 1, .abandoned_max = 1};
    struct worker_pool *pool = NULL;
    uint64_t id;

    /* Whatever the test itself was started with, by nohup or in the background. */
    signal(SIGINT, SIG_DFL);
    signal(SIGQUIT, SIG_DFL);
    signal(SIGHUP, plan->ignores_sighup ? SIG_IGN : SIG_DFL);
    if (loop_new(&clock_system, &job.loop) < 0 || question_queue_new(&config.queue) < 0)
        _exit(4);
    config.loop = job.loop;
    if (plan->handles_sigterm && signal_watch_new(job.loop, SIGTERM, on_sigterm, &job, &watch) < 0)
        _exit(4);
    if (ready_watch_new(job.loop, pokes, on_poke, &job, &poked) < 0 ||
        worker_pool_new(job.loop, &workers, &pool) < 0 || console_new(&config, &console) < 0 ||
        question_queue_ask(config.queue, &question, on_answer, &job, &id) < 0)
        _exit(4);
    if (plan->runs_on_a_worker)
        worker_run_loop(pool);
    else
        loop_run(job.loop);
    console_free(console);
    _exit(job.answers == 1 ? JOB_SAYS_BYE : 5);
}

/* ---- the shell ---- */

static void obey(pid_t job, int fd, int orders, int reports)
{
    char order;

    while (read(orders, &order, 1) == 1) {
        int status = 0;

        switch (order) {
        case 'w': /* what became of the job */
            if (waitpid(job, &status, WUNTRACED) != job)
                _exit(2);
            break;
        case 'f': /* fg */
            tcsetpgrp(fd, job);
            kill(-job, SIGCONT);
            break;
        case 'b': /* bg */
            tcsetpgrp(fd, getpgrp());
            kill(-job, SIGCONT);
            break;
        case 'g': /* fg, of one that runs */
            tcsetpgrp(fd, job);
            break;
        default:
            _exit(2);
        }
        if (write(reports, &status, sizeof(status)) != sizeof(status))
            _exit(2);
    }
    _exit(0);
}

static void run_shell(const struct job_plan *plan, int fd, const int orders[2],
                      const int reports[2], const int pokes[2], const int echoes[2])
{
    pid_t job;

    signal(SIGTTOU, SIG_IGN);
    if (setsid() < 0 || ioctl(fd, TIOCSCTTY, 0) < 0)
        _exit(2);
    job = fork();
    if (job == 0) {
        setpgid(0, 0);
        tcsetpgrp(fd, getpgrp());
        signal(SIGTTOU, SIG_DFL);
        run_job(plan, fd, pokes[0], echoes[1]);
    }
    setpgid(job, job);
    tcsetpgrp(fd, job);
    if (write(reports[1], &job, sizeof(job)) != sizeof(job))
        _exit(2);
    obey(job, fd, orders[0], reports[1]);
}

/* ---- the test's side ---- */

static void begin(struct session *session, const struct job_plan *plan)
{
    struct winsize size = {.ws_row = 24, .ws_col = 80};
    int orders[2];
    int reports[2];
    int pokes[2];
    int echoes[2];

    memset(session, 0, sizeof(*session));
    buf_init(&session->written, 1 << 20);
    assert_int_equal(openpty(&session->keeper, &session->terminal, NULL, NULL, &size), 0);
    assert_int_equal(tcgetattr(session->terminal, &session->before), 0);
    assert_int_equal(pipe(orders) + pipe(reports) + pipe(pokes) + pipe(echoes), 0);
    session->shell = fork();
    assert_true(session->shell >= 0);
    if (session->shell == 0) {
        close(session->keeper);
        close(orders[1]);
        close(pokes[1]);
        run_shell(plan, session->terminal, orders, reports, pokes, echoes);
    }
    close(orders[0]);
    close(reports[1]);
    close(pokes[0]);
    close(echoes[1]);
    session->orders = orders[1];
    session->reports = reports[0];
    session->pokes = pokes[1];
    session->echoes = echoes[0];
    assert_int_equal(read(session->reports, &session->job, sizeof(session->job)),
                     sizeof(session->job));
}

static int order(struct session *session, char letter)
{
    int status;

    assert_int_equal(write(session->orders, &letter, 1), 1);
    assert_int_equal(read(session->reports, &status, sizeof(status)), sizeof(status));
    return status;
}

/* The job's loop comes round. */
static void assert_lives(struct session *session)
{
    char c = 'x';

    assert_int_equal(write(session->pokes, &c, 1), 1);
    assert_int_equal(read(session->echoes, &c, 1), 1);
}

static void take_some(struct session *session)
{
    struct pollfd side = {.fd = session->keeper, .events = POLLIN};
    char bytes[4096];
    ssize_t got;

    assert_int_equal(poll(&side, 1, PATIENCE_MS), 1);
    got = read(session->keeper, bytes, sizeof(bytes));
    assert_true(got > 0);
    assert_int_equal(buf_append(&session->written, bytes, (size_t)got), 0);
}

/* Until it has been written, and forgets what is up to there. */
static void wait_for(struct session *session, const char *text)
{
    size_t at;

    while ((at = str_find(buf_view(&session->written), str_from(text))) == SIZE_MAX)
        take_some(session);
    buf_drop_front(&session->written, at + strlen(text));
}

static bool is_canonical(const struct session *session)
{
    struct termios now;

    assert_int_equal(tcgetattr(session->terminal, &now), 0);
    return (now.c_lflag & ICANON) != 0;
}

static void assert_restored(const struct session *session)
{
    struct termios now;

    assert_int_equal(tcgetattr(session->terminal, &now), 0);
    assert_int_equal(now.c_iflag, session->before.c_iflag);
    assert_int_equal(now.c_lflag, session->before.c_lflag);
    assert_memory_equal(now.c_cc, session->before.c_cc, sizeof(now.c_cc));
    assert_int_equal(fcntl(session->terminal, F_GETFL) & O_NONBLOCK, 0);
}

/* The question stands. */
static void begin_asking(struct session *session, const struct job_plan *plan)
{
    begin(session, plan);
    wait_for(session, "Gatehouse asks");
    wait_for(session, "Esc: deny");
    assert_false(is_canonical(session));
}

static void end(struct session *session)
{
    close(session->orders);
    close(session->pokes);
    assert_int_equal(waitpid(session->shell, NULL, 0), session->shell);
    close(session->reports);
    close(session->echoes);
    close(session->keeper);
    close(session->terminal);
    buf_done(&session->written);
}

static void a_signal_that_ends_us_restores_the_terminal_first(void **state)
{
    static const int signals[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT};

    (void)state;
    for (size_t i = 0; i < array_size(signals); i++) {
        struct session session;
        int status;

        begin_asking(&session, &(struct job_plan){0});
        assert_int_equal(kill(session.job, signals[i]), 0);
        status = order(&session, 'w');
        assert_true(WIFSIGNALED(status));
        assert_int_equal(WTERMSIG(status), signals[i]);
        assert_restored(&session);
        wait_for(&session, "\x1b[?1049l");
        end(&session);
    }
}

static void a_program_that_handles_the_signal_has_the_last_word(void **state)
{
    struct session session;
    int status;

    (void)state;
    begin_asking(&session, &(struct job_plan){.handles_sigterm = true});
    assert_int_equal(kill(session.job, SIGTERM), 0);
    status = order(&session, 'w');
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), JOB_SAYS_BYE); /* and the question was denied */
    assert_restored(&session);
    end(&session);
}

static void what_was_ignored_stays_ignored(void **state)
{
    struct session session;

    (void)state;
    begin_asking(&session, &(struct job_plan){.ignores_sighup = true});
    assert_int_equal(kill(session.job, SIGHUP), 0);
    assert_lives(&session);
    assert_false(is_canonical(&session));
    assert_int_equal(kill(session.job, SIGTERM), 0);
    assert_true(WIFSIGNALED(order(&session, 'w')));
    end(&session);
}

static void stop_and_go_on(const struct job_plan *plan)
{
    struct session session;
    int status;

    begin_asking(&session, plan);
    assert_int_equal(write(session.keeper, "\x1a", 1), 1); /* Ctrl-Z */
    status = order(&session, 'w');
    assert_true(WIFSTOPPED(status));
    assert_restored(&session);
    wait_for(&session, "\x1b[?1049l");
    order(&session, 'f');
    wait_for(&session, "\x1b[?1049h");
    wait_for(&session, "Gatehouse asks");
    wait_for(&session, "Esc: deny");
    assert_lives(&session);
    assert_false(is_canonical(&session));
    assert_int_equal(kill(session.job, SIGTERM), 0);
    assert_int_equal(WTERMSIG(order(&session, 'w')), SIGTERM);
    assert_restored(&session);
    end(&session);
}

static void stopping_gives_the_terminal_to_the_shell_and_back(void **state)
{
    (void)state;
    stop_and_go_on(&(struct job_plan){0});
    stop_and_go_on(&(struct job_plan){.runs_on_a_worker = true});
}

/* Also when it could not be asked before it was stopped. */
static void being_stopped_by_force_is_mended(void **state)
{
    struct session session;

    (void)state;
    begin_asking(&session, &(struct job_plan){0});
    assert_int_equal(kill(session.job, SIGSTOP), 0);
    assert_true(WIFSTOPPED(order(&session, 'w')));
    assert_int_equal(tcsetattr(session.terminal, TCSANOW, &session.before), 0); /* as shells do */
    order(&session, 'f');
    wait_for(&session, "\x1b[?1049h");
    wait_for(&session, "Esc: deny");
    assert_lives(&session);
    assert_int_equal(write(session.keeper, "\x1a", 1), 1);
    assert_true(WIFSTOPPED(order(&session, 'w')));
    order(&session, 'f');
    assert_int_equal(kill(session.job, SIGTERM), 0);
    assert_int_equal(WTERMSIG(order(&session, 'w')), SIGTERM);
    end(&session);
}

static void in_the_background_it_waits_for_its_turn(void **state)
{
    struct session session;

    (void)state;
    begin_asking(&session, &(struct job_plan){0});
    assert_int_equal(write(session.keeper, "\x1a", 1), 1);
    assert_true(WIFSTOPPED(order(&session, 'w')));
    wait_for(&session, "\x1b[?1049l");
    order(&session, 'b');
    assert_lives(&session);
    assert_lives(&session);
    assert_restored(&session);
    assert_int_equal(str_find(buf_view(&session.written), STR("Gatehouse")), SIZE_MAX);
    order(&session, 'g');
    wait_for(&session, "Gatehouse asks");
    assert_lives(&session);
    assert_false(is_canonical(&session));
    assert_int_equal(kill(session.job, SIGTERM), 0);
    assert_int_equal(WTERMSIG(order(&session, 'w')), SIGTERM);
    end(&session);
}

static void a_crash_restores_the_terminal(void **state)
{
    struct session session;
    int status;

    (void)state;
    begin_asking(&session, &(struct job_plan){0});
    assert_int_equal(write(session.pokes, "a", 1), 1);
    status = order(&session, 'w');
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGABRT);
    assert_true(is_canonical(&session));
    wait_for(&session, "\x1b[?1049l");
    end(&session);
}

TEST_MAIN(cmocka_unit_test(a_signal_that_ends_us_restores_the_terminal_first),
          cmocka_unit_test(a_program_that_handles_the_signal_has_the_last_word),
          cmocka_unit_test(what_was_ignored_stays_ignored),
          cmocka_unit_test(stopping_gives_the_terminal_to_the_shell_and_back),
          cmocka_unit_test(being_stopped_by_force_is_mended),
          cmocka_unit_test(in_the_background_it_waits_for_its_turn),
          cmocka_unit_test(a_crash_restores_the_terminal))
