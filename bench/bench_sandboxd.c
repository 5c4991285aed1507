/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sandbox service over HTTP, as root: what a sandbox and a command cost beside posix_spawn of
 * `true`, what a sandbox that waits holds, many creates at once, an image with many files, much
 * output, what a workspace adds, and files in both directions beside a plain server. Arguments:
 * gatehouse, and a folder on a disk for the service's state.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "bench.h"
#include "plain_server.h"
#include "process.h"
#include "sandboxd_link.h"
#include "workspace/workspace.h"

enum {
    ROUNDS = 40,
    ROUND_MS = 60,
    IMAGE_ROUNDS = 40,
    LIVE = 100,
    LIVE_ROUNDS = 3,
    AT_ONCE = 50,
    AT_ONCE_ROUNDS = 3,
    FLOODS = 5,
    FLOOD_MB = 100,
    TRANSFERS = 7,
    TRANSFER_MB = 100,
    MOST_PROCESSES = 4096,
    ID_CHARS = 36,
};

static const double cycle_goal = 12;
static const double exec_goal = 5;
static const double live_goal_mb = 1.5;
static const double tail_goal = 10;
static const double image_goal = 1.2;
static const double flood_goal = 200;
static const double workspace_goal_us = 100;
static const double toolbox_goal = 6;
static const double transfer_goal = 0.4;
static const double transfer_goal_mb = 8;

static const char key[] = "0123456789abcdef-of-the-benchmark";

extern char **environ;

static pid_t service_pid; /* 0: it does not run */

__attribute__((noreturn)) static void die(const char *what)
{
    fprintf(stderr, "bench_sandboxd: %s\n", what);
    if (service_pid > 0)
        (void)kill(service_pid, SIGTERM);
    exit(1);
}

static double now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static int by_size(const void *one, const void *other)
{
    double a = *(const double *)one;
    double b = *(const double *)other;

    return (a > b) - (a < b);
}

static double middle(double *values, size_t count)
{
    qsort(values, count, sizeof(*values), by_size);
    return values[count / 2];
}

/* ---- the service ---- */

struct service {
    pid_t pid;
    unsigned short port;
};

static struct service start_service(const char *gatehouse, const char *place)
{
    const char *argv[] = {gatehouse,     "sandbox",     "serve", "--listen",
                          "127.0.0.1:0", "--state-dir", place,   NULL};
    char *words[array_size(argv)];
    posix_spawn_file_actions_t actions;
    struct service service = {0};
    char line[256] = "";
    const char *found;
    FILE *from;
    int ends[2];

    if (setenv("GATEHOUSE_SANDBOX_ADMIN_KEY", key, 1) < 0 || pipe2(ends, O_CLOEXEC) < 0)
        die("no pipe");
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    /* SAFETY: posix_spawn does not change its arguments, whatever its type says. */
    memcpy(words, argv, sizeof(words));
    if (posix_spawn(&service.pid, gatehouse, &actions, NULL, words, environ) != 0)
        die("the service does not start");
    service_pid = service.pid;
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    from = fdopen(ends[0], "r");
    if (from == NULL || fgets(line, sizeof(line), from) == NULL ||
        (found = strstr(line, "http://127.0.0.1:")) == NULL)
        die("the service does not start");
    service.port = (unsigned short)strtoul(found + strlen("http://127.0.0.1:"), NULL, 10);
    fclose(from);
    return service;
}

static void stop_service(const struct service *service)
{
    service_pid = 0;
    (void)kill(service->pid, SIGTERM);
    (void)waitpid(service->pid, NULL, 0);
}

/* ---- calls ---- */

struct client {
    struct link link;
    const char *body;      /* of a create */
    char id[ID_CHARS + 1]; /* of the sandbox */
};

static void open_client(struct client *client, const struct service *service, const char *body)
{
    *client = (struct client){.body = body};
    link_open(&client->link, service->port, key);
}

static void read_created(struct client *client)
{
    const char *id;

    if (link_answer(&client->link) != 201)
        die(client->link.body);
    id = strstr(client->link.body, "\"id\":\"");
    if (id == NULL)
        die("a record without an id");
    snprintf(client->id, sizeof(client->id), "%.*s", ID_CHARS, id + strlen("\"id\":\""));
}

static void create(struct client *client)
{
    link_send(&client->link, "POST", "/sandboxes", client->body);
    read_created(client);
}

static void execute(struct client *client, const char *body)
{
    char path[128];

    snprintf(path, sizeof(path), "/sandboxes/%s/executions", client->id);
    link_send(&client->link, "POST", path, body);
    if (link_answer(&client->link) != 200 || strstr(client->link.body, "\"exit_code\":0") == NULL)
        die(client->link.body);
}

static void remove_sandbox(struct client *client)
{
    char path[128];

    snprintf(path, sizeof(path), "/sandboxes/%s", client->id);
    link_send(&client->link, "DELETE", path, NULL);
    if (link_answer(&client->link) != 204)
        die(client->link.body);
}

/* ---- contenders ---- */

static void spawn_true(void *context)
{
    static char program[] = "/bin/true";
    char *const argv[] = {program, NULL};
    int status;
    pid_t pid;

    (void)context;
    if (posix_spawn(&pid, argv[0], NULL, NULL, argv, environ) != 0 ||
        waitpid(pid, &status, 0) != pid || status != 0)
        die("true does not run");
}

static void run_cycle(void *context)
{
    create(context);
    execute(context, "{\"command\":\"true\"}");
    remove_sandbox(context);
}

static void run_warm(void *context)
{
    execute(context, "{\"command\":\"true\"}");
}

/* The same by the Daytona API. */
static void run_toolbox(void *context)
{
    struct client *client = context;
    char path[128];

    snprintf(path, sizeof(path), "/toolbox/%s/process/execute", client->id);
    link_send(&client->link, "POST", path, "{\"command\":\"true\"}");
    if (link_answer(&client->link) != 200 || strstr(client->link.body, "\"exitCode\":0") == NULL)
        die(client->link.body);
}

static void compare_with_spawn(const struct service *service)
{
    struct client cycle;
    struct client warm;
    struct bench_contender all[] = {
        {.name = "posix_spawn", .run = spawn_true},
        {.name = "create, exec, delete", .run = run_cycle, .context = &cycle},
        {.name = "exec", .run = run_warm, .context = &warm},
        {.name = "process/execute", .run = run_toolbox, .context = &warm},
    };

    open_client(&cycle, service, NULL);
    open_client(&warm, service, NULL);
    create(&warm);
    bench_compare(all, array_size(all), ROUNDS, ROUND_MS);
    remove_sandbox(&warm);
    link_close(&cycle.link);
    link_close(&warm.link);
    printf("posix_spawn of true %.0f us; create, exec and delete %.0f us; exec %.0f us;"
           " process/execute %.0f us\n",
           all[0].middle_ns / 1e3, all[1].middle_ns / 1e3, all[2].middle_ns / 1e3,
           all[3].middle_ns / 1e3);
    bench_goal_at_most("create, exec, delete beside posix_spawn", bench_ratio(&all[1], &all[0]),
                       cycle_goal);
    bench_goal_at_most("exec in a live sandbox beside posix_spawn", bench_ratio(&all[2], &all[0]),
                       exec_goal);
    bench_goal_at_most("process/execute in a live sandbox beside posix_spawn",
                       bench_ratio(&all[3], &all[0]), toolbox_goal);
}

static void compare_images(const struct service *service)
{
    static const char steps[] =
        "{\"dockerfile_steps\":[\"RUN mkdir /data && cd /data && seq 20000 | xargs touch\"]}";
    char image[128];
    char body[160];
    struct client plain;
    struct client many;
    const char *found;
    struct bench_contender both[] = {
        {.name = "empty", .run = run_cycle, .context = &plain},
        {.name = "20,000 files", .run = run_cycle, .context = &many},
    };

    open_client(&plain, service, NULL);
    open_client(&many, service, steps);
    create(&many);
    found = strstr(many.link.body, "\"image_id\":\"");
    if (found == NULL)
        die("a record without an image");
    found += strlen("\"image_id\":\"");
    snprintf(image, sizeof(image), "%.*s", (int)strcspn(found, "\""), found);
    execute(&many, "{\"command\":\"[ $(ls /data | wc -l) = 20000 ]\"}");
    remove_sandbox(&many);
    snprintf(body, sizeof(body), "{\"image_id\":\"%s\"}", image);
    many.body = body;
    bench_compare(both, array_size(both), IMAGE_ROUNDS, ROUND_MS);
    link_close(&plain.link);
    link_close(&many.link);
    printf("create, exec and delete: empty %.0f us, over 20,000 files %.0f us\n",
           both[0].middle_ns / 1e3, both[1].middle_ns / 1e3);
    bench_goal_at_most("sandbox over 20,000 files beside an empty one",
                       bench_ratio(&both[1], &both[0]), image_goal);
}

/* ---- memory ---- */

/* What the kernel keeps for processes and namespaces; caches that it would give back do not count.
 */
static double kernel_kb(void)
{
    static const char *const fields[] = {"SUnreclaim:", "KernelStack:", "PageTables:", "Percpu:"};
    FILE *file = fopen("/proc/meminfo", "re");
    char line[128];
    double sum = 0;

    if (file == NULL)
        die("no /proc/meminfo");
    while (fgets(line, sizeof(line), file) != NULL)
        for (size_t i = 0; i < array_size(fields); i++)
            if (strncmp(line, fields[i], strlen(fields[i])) == 0)
                sum += strtod(line + strlen(fields[i]), NULL);
    fclose(file);
    return sum;
}

static double family_kb(const struct service *service)
{
    static pid_t pids[MOST_PROCESSES];
    size_t count = process_family(service->pid, pids, MOST_PROCESSES);
    double sum = 0;

    for (size_t i = 0; i < count; i++) {
        double pss = process_pss_kb(pids[i]);

        sum += pss > 0 ? pss : 0;
    }
    return sum;
}

static void measure_memory(const struct service *service)
{
    static char ids[LIVE][ID_CHARS + 1];
    double each_mb[LIVE_ROUNDS];
    double pss_kb = 0;
    double own_kb = 0;
    struct client client;

    open_client(&client, service, NULL);
    for (int round = 0; round < LIVE_ROUNDS; round++) {
        double before = kernel_kb();
        double family = family_kb(service);

        for (int i = 0; i < LIVE; i++) {
            create(&client);
            execute(&client, "{\"command\":\"true\"}");
            memcpy(ids[i], client.id, sizeof(ids[i]));
        }
        own_kb = (kernel_kb() - before) / LIVE;
        pss_kb = (family_kb(service) - family) / LIVE;
        each_mb[round] = (own_kb + pss_kb) / 1024;
        for (int i = 0; i < LIVE; i++) {
            memcpy(client.id, ids[i], sizeof(ids[i]));
            remove_sandbox(&client);
        }
    }
    link_close(&client.link);
    printf("%d live sandboxes, in the last round: each %.0f KB of its own, %.0f KB of the kernel\n",
           LIVE, pss_kb, own_kb);
    bench_goal_at_most_of("memory of a live sandbox", middle(each_mb, LIVE_ROUNDS), live_goal_mb,
                          "MB");
}

/* ---- many at once ---- */

static void create_at_once(struct client *clients, double *took_ns)
{
    struct pollfd waits[AT_ONCE];
    double start = now_ns();
    int left = AT_ONCE;

    for (int i = 0; i < AT_ONCE; i++) {
        link_send(&clients[i].link, "POST", "/sandboxes", NULL);
        waits[i] = (struct pollfd){.fd = clients[i].link.fd, .events = POLLIN};
    }
    while (left > 0) {
        if (poll(waits, AT_ONCE, -1) < 0)
            die("poll");
        for (int i = 0; i < AT_ONCE; i++) {
            if (waits[i].revents == 0)
                continue;
            read_created(&clients[i]);
            took_ns[i] = now_ns() - start;
            waits[i].fd = -1;
            waits[i].revents = 0;
            left--;
        }
    }
}

static void measure_crowd(const struct service *service)
{
    static struct client clients[AT_ONCE];
    double ratios[AT_ONCE_ROUNDS];
    double took_ns[AT_ONCE];

    for (int i = 0; i < AT_ONCE; i++)
        open_client(&clients[i], service, NULL);
    for (int round = 0; round < AT_ONCE_ROUNDS; round++) {
        double middle_ns;

        create_at_once(clients, took_ns);
        middle_ns = middle(took_ns, AT_ONCE); /* sorts them */
        ratios[round] = took_ns[AT_ONCE - 1] / middle_ns;
        printf("%d creates at once: the middle one %.1f ms, the slowest %.1f ms\n", AT_ONCE,
               middle_ns / 1e6, took_ns[AT_ONCE - 1] / 1e6);
        for (int i = 0; i < AT_ONCE; i++)
            remove_sandbox(&clients[i]);
    }
    for (int i = 0; i < AT_ONCE; i++)
        link_close(&clients[i].link);
    bench_goal_at_most("slowest of 50 creates at once beside the middle one",
                       middle(ratios, AT_ONCE_ROUNDS), tail_goal);
}

/* ---- workspaces ---- */

/* One that is asked again and again, on a loop of its own. */
struct asked {
    struct loop *loop;
    struct workspace *workspace;
    bool is_done;
};

static void on_done(void *data, const struct err *err, const struct workspace_answer *answer)
{
    struct asked *asked = data;

    (void)answer;
    if (err != NULL)
        die(err->message);
    asked->is_done = true;
}

static void ask(struct asked *asked, const struct workspace_request *request)
{
    const struct workspace_events events = {.on_done = on_done, .data = asked};
    struct workspace_call *call;

    asked->is_done = false;
    if (workspace_begin(asked->workspace, request, &events, &call, NULL) < 0)
        die("no call of a workspace");
    while (!asked->is_done)
        loop_run_once(asked->loop);
}

static void stat_workspace(void *context)
{
    ask(context, &(struct workspace_request){.action = WORKSPACE_STAT,
                                             .path = STR("file"),
                                             .target = STR_EMPTY,
                                             .content = STR_EMPTY,
                                             .command = STR_EMPTY});
}

static void stat_directly(void *context)
{
    struct client *client = context;
    char path[128];

    snprintf(path, sizeof(path), "/sandboxes/%s/stat?path=/home/user/file", client->id);
    link_send(&client->link, "GET", path, NULL);
    if (link_answer(&client->link) != 200)
        die(client->link.body);
}

static void on_closed(void *data)
{
    ((struct asked *)data)->is_done = true;
}

static void measure_workspace(const struct service *service, const char *place)
{
    struct workspace_settings settings = {.provider = WORKSPACE_ISOLATED,
                                          .timeout_ms = WORKSPACE_TIMEOUT_MS};
    struct workspaces_config config = {
        .settings = &settings, .state_dir = place, .service_program = "none", .libexec = "none"};
    struct workspaces *workspaces;
    struct client client;
    struct asked asked = {.loop = NULL};
    struct bench_contender both[] = {
        {.name = "the service", .run = stat_directly, .context = &client},
        {.name = "a workspace", .run = stat_workspace, .context = &asked},
    };

    if (secret_set(&settings.key, str_from(key)) < 0 || loop_new(&clock_system, &asked.loop) < 0)
        die("no loop");
    config.loop = asked.loop;
    if (workspaces_new(&config, &workspaces, NULL) < 0 ||
        workspaces_new_one(workspaces, &asked.workspace) < 0)
        die("no workspace");
    ask(&asked, &(struct workspace_request){.action = WORKSPACE_WRITE,
                                            .path = STR("file"),
                                            .target = STR_EMPTY,
                                            .content = STR("content"),
                                            .command = STR_EMPTY});
    open_client(&client, service, NULL);
    snprintf(client.id, sizeof(client.id), "%s", workspace_id(asked.workspace));
    bench_compare(both, array_size(both), ROUNDS, ROUND_MS);
    link_close(&client.link);
    printf("stat of a file: by the service %.0f us, by a workspace %.0f us\n",
           both[0].middle_ns / 1e3, both[1].middle_ns / 1e3);
    bench_goal_at_most_of("what the workspace isolated adds to the service",
                          (both[1].middle_ns - both[0].middle_ns) / 1e3, workspace_goal_us, "us");
    asked.is_done = false;
    workspaces_close(workspaces, on_closed, &asked);
    while (!asked.is_done)
        loop_run_once(asked.loop);
    workspaces_free(workspaces);
    loop_free(asked.loop);
    secret_done(&settings.key);
}

/* ---- much output ---- */

static void measure_flood(const struct service *service)
{
    static const size_t expected = (size_t)FLOOD_MB << 20;
    double rates[FLOODS];
    struct client client;
    char command[128];

    open_client(&client, service, NULL);
    create(&client);
    snprintf(command, sizeof(command),
             "{\"command\":\"head -c %zu /dev/zero | tr '\\\\0' %c > big\"}", expected,
             LINK_COUNTED);
    execute(&client, command);
    for (int i = 0; i < FLOODS; i++) {
        double start = now_ns();

        execute(&client, "{\"command\":\"cat big\"}");
        rates[i] = FLOOD_MB / ((now_ns() - start) / 1e9);
        if (client.link.counted != expected)
            die("output was lost");
    }
    remove_sandbox(&client);
    link_close(&client.link);
    bench_goal_at_least_of("output to a client that reads along, none lost", middle(rates, FLOODS),
                           flood_goal, "MB/s");
}

/* ---- files ---- */

/* Sends a file, and gets it back; the seconds of both. */
static void transfer(struct link *link, const char *up, const char *type, const char *before,
                     const char *after, const char *method, const char *down, const char *body,
                     double *out_up_s, double *out_down_s)
{
    const size_t bytes = (size_t)TRANSFER_MB << 20;
    double start = now_ns();

    link_send_large(link, up, type, before, bytes, after);
    if (link_answer(link) != 200)
        die(link->body);
    *out_up_s = (now_ns() - start) / 1e9;
    start = now_ns();
    link_send(link, method, down, body);
    if (link_answer(link) != 200 || link->counted != bytes)
        die("a file did not come back");
    *out_down_s = (now_ns() - start) / 1e9;
}

static void measure_transfers(const struct service *service, const char *folder)
{
    static const char before[] =
        "--bound\r\nContent-Disposition: form-data; name=\"files[0].path\"\r\n\r\nbig\r\n"
        "--bound\r\nContent-Disposition: form-data; name=\"files[0].file\"\r\n\r\n";
    double up[2][TRANSFERS];
    double down[2][TRANSFERS];
    double kb;
    struct client client;
    struct link plain;
    char paths[2][128];
    unsigned short port;
    pid_t server = plain_server_start(folder, &port);

    if (server < 0)
        die("the plain server does not start");
    link_open(&plain, port, key);
    open_client(&client, service, NULL);
    create(&client);
    snprintf(paths[0], sizeof(paths[0]), "/toolbox/%s/files/bulk-upload", client.id);
    snprintf(paths[1], sizeof(paths[1]), "/toolbox/%s/files/bulk-download", client.id);
    kb = process_pss_kb(service->pid);
    for (int i = 0; i < TRANSFERS; i++) {
        transfer(&plain, "/", "application/octet-stream", "", "", "GET", "/", NULL, &up[0][i],
                 &down[0][i]);
        transfer(&client.link, paths[0], "multipart/form-data; boundary=bound", before,
                 "\r\n--bound--\r\n", "POST", paths[1], "{\"paths\":[\"big\"]}", &up[1][i],
                 &down[1][i]);
    }
    kb = process_pss_kb(service->pid) - kb;
    remove_sandbox(&client);
    link_close(&client.link);
    link_close(&plain);
    (void)kill(server, SIGKILL);
    (void)waitpid(server, NULL, 0);
    printf("%d MB up %.0f ms, plain %.0f ms; down %.0f ms, plain %.0f ms\n", TRANSFER_MB,
           middle(up[1], TRANSFERS) * 1e3, middle(up[0], TRANSFERS) * 1e3,
           middle(down[1], TRANSFERS) * 1e3, middle(down[0], TRANSFERS) * 1e3);
    bench_goal_at_least("bulk upload beside a plain one",
                        middle(up[0], TRANSFERS) / middle(up[1], TRANSFERS), transfer_goal);
    bench_goal_at_least("bulk download beside a plain one",
                        middle(down[0], TRANSFERS) / middle(down[1], TRANSFERS), transfer_goal);
    bench_goal_at_most_of("memory of the service, more after transfers", kb / 1024,
                          transfer_goal_mb, "MB");
}

int main(int argc, char **argv)
{
    struct service service;

    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc != 3)
        die("usage: bench_sandboxd GATEHOUSE FOLDER");
    if (geteuid() != 0) {
        printf("not root: the sandbox service is not measured\n");
        return 0;
    }
    service = start_service(argv[1], argv[2]);
    compare_with_spawn(&service);
    measure_memory(&service);
    measure_crowd(&service);
    compare_images(&service);
    measure_workspace(&service, argv[2]);
    measure_flood(&service);
    measure_transfers(&service, argv[2]);
    stop_service(&service);
    return bench_missed() > 0 ? BENCH_GOALS_MISSED : 0;
}
