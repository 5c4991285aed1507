/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/gatehouse/sandbox.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "cli/sandbox.h"
#include "cli/shared.h"
#include "isolate/box/box.h"
#include "isolate/box/places.h"
#include "isolate/box/secondnames.h"
#include "isolate/environment.h"
#include "isolate/ownplaces.h"
#include "isolate/webproxy.h"
#include "programs/gatehouse/complain.h"
#include "programs/gatehouse/follow.h"

enum {
    ARENA_MAX_BYTES = 16 << 20,
    WORDS_MAX_BYTES = 4096,
    LEAST_MEMORY = 1 << 20,
    MOST_SECOND_NAMES = 256,  /* of hidden files */
    MUCH_MEMORY_PERCENT = 75, /* of the limit: it may have run out */
};

static int add_list(struct places *places, const struct option_values *values, size_t option,
                    enum box_access access, struct err *err)
{
    struct option_list list = options_list(values, option);

    for (size_t i = 0; i < list.count; i++) {
        struct err why = ERR_INIT;
        int r = places_add(places, list.items[i], access, &why);

        if (r < 0)
            return err_set(err, r, "--%s: %s", values->command->options[option].name, why.message);
    }
    return 0;
}

/*
 * Hides our own settings and state, unless named, and makes what is missing of them in a writable
 * place, so that no command does.
 */
static int hide_own_places(struct places *places, struct err *err)
{
    struct ownplaces own;
    size_t named = places->count;
    int r = ownplaces_list(&own, err);

    if (r < 0)
        return r;
    for (size_t i = 0; i < named && r == 0; i++)
        if (places->items[i].access == BOX_WRITE)
            r = ownplaces_make(&own, places->items[i].path, err);
    for (size_t i = 0; i < own.count && r == 0; i++) {
        r = places_add(places, own.items[i].path, BOX_HIDDEN, err);
        /* What nobody can reach, no command can reach either. */
        if (r == ERR_PERMISSION_DENIED || r == ERR_NOT_A_DIRECTORY)
            r = 0;
    }
    ownplaces_free(&own);
    return r;
}

static int find_here(struct arena *arena, const char **out_cwd, struct err *err)
{
    __attribute__((uninitialized)) char found[PATH_MAX];
    int r = getcwd(found, sizeof(found)) == NULL ? err_from_errno(errno) : 0;

    if (r == ERR_NOT_FOUND)
        return err_set(err, r, "the current directory no longer exists");
    if (r < 0)
        return err_set(err, r, "cannot use the current directory: %s", err_errno_text(errno));
    *out_cwd = arena_copy(arena, str_from(found));
    return *out_cwd != NULL ? 0 : err_set_plain(err, arena->error);
}

/* Named places override the current directory, and what is hidden by default. */
static int gather_places(const struct option_values *values, struct places *places,
                         const char **out_cwd, struct err *err)
{
    const char *home = getenv("HOME");
    int r = add_list(places, values, SANDBOX_OPTION_HIDE, BOX_HIDDEN, err);

    if (r == 0)
        r = add_list(places, values, SANDBOX_OPTION_RW, BOX_WRITE, err);
    if (r == 0)
        r = add_list(places, values, SANDBOX_OPTION_RO, BOX_READ, err);
    if (r == 0)
        r = hide_own_places(places, err);
    if (r < 0)
        return r;
    r = find_here(places->arena, out_cwd, err);
    if (r < 0)
        return r;
    assert(*out_cwd != NULL);
    if (strcmp(*out_cwd, "/") != 0 && !places_holds_home(*out_cwd, home))
        r = places_add(places, *out_cwd, BOX_READ, err);
    if (r == 0)
        r = places_show_toolchains(places, home, err);
    if (r == 0)
        r = places_hide_secrets(places, home, err);
    if (r == 0)
        r = places_hide_sockets(places, err);
    places_sort(places);
    return r;
}

/* 0 means none, and one that was not given has a default. */
static int read_limits(const struct option_values *values, struct cgroup_limits *out_limits,
                       struct err *err)
{
    const char *cores = options_text(values, SANDBOX_OPTION_CPUS);
    const int64_t memory = options_int(values, SANDBOX_OPTION_MEMORY);
    const int64_t processes = options_int(values, SANDBOX_OPTION_PIDS);

    if (memory > 0 && memory < LEAST_MEMORY)
        return err_set_field(err, ERR_INVALID_OPTION, "--memory",
                             "--memory needs at least 1MiB, or 0 for no limit");
    if (processes == 1)
        return err_set_field(err, ERR_INVALID_OPTION, "--pids",
                             "--pids needs at least 2, or 0 for no limit");
    *out_limits =
        (struct cgroup_limits){.memory_bytes = (uint64_t)memory, .processes = (unsigned)processes};
    if (options_source(values, SANDBOX_OPTION_MEMORY) == OPTION_UNSET)
        out_limits->memory_unasked = CGROUP_USUAL_MEMORY_BYTES;
    if (options_source(values, SANDBOX_OPTION_PIDS) == OPTION_UNSET)
        out_limits->processes_unasked = CGROUP_USUAL_PROCESSES;
    out_limits->yields = cores == NULL;
    if (cores == NULL)
        out_limits->cpu_percent_unasked = CGROUP_USUAL_CPU_PERCENT;
    return cores != NULL ? sandbox_read_cores(cores, &out_limits->cpu_percent, err) : 0;
}

static int check_network(const struct option_values *values, struct err *err)
{
    if (options_list(values, SANDBOX_OPTION_DOMAIN).count > 0 &&
        options_choice(values, SANDBOX_OPTION_NET) == SANDBOX_NET_HOST)
        return err_set_field(err, ERR_INVALID_OPTION, "--domain",
                             "--domain has no effect with --net host, which opens the whole "
                             "network: drop one of them");
    return shared_check_domains(values, SANDBOX_OPTION_DOMAIN, "domain", err);
}

/* What the user sets wins over what leads to listed hosts. */
static int make_environment(struct arena *arena, const struct option_values *values,
                            const char *const **out_env, struct err *err)
{
    bool has_hosts = options_list(values, SANDBOX_OPTION_DOMAIN).count > 0;
    const char *const *more = environment_join(arena, has_hosts ? webproxy_variables : NULL,
                                               options_list(values, SANDBOX_OPTION_ENV).items);

    if (more == NULL)
        return err_set_plain(err, arena->error);
    return environment_clean(arena, environ, more, out_env, err);
}

static int make_plan(const struct option_values *values, const struct places *places,
                     struct box_plan *out_plan, struct err *err)
{
    const struct option_list hosts = options_list(values, SANDBOX_OPTION_DOMAIN);

    *out_plan = (struct box_plan){
        .places = places->items,
        .place_count = places->count,
        .home = getenv("HOME"),
        .network = options_choice(values, SANDBOX_OPTION_NET) == SANDBOX_NET_HOST ? BOX_NETWORK_HOST
                   : hosts.count > 0 ? BOX_NETWORK_LISTED
                                     : BOX_NETWORK_NONE,
        .hosts = hosts.items,
        .libexec = GATEHOUSE_LIBEXECDIR,
        .tmp_bytes = (uint64_t)options_int(values, SANDBOX_OPTION_TMP_SIZE),
        .may_lack_landlock = options_is_on(values, SANDBOX_OPTION_ALLOW_WEAKER),
    };
    return read_limits(values, &out_plan->limits, err);
}

static void tell_what_holds(struct box *box, struct box_process *process)
{
    cleanup_buf struct buf words = BUF_INIT(WORDS_MAX_BYTES);

    (void)box_limit_together(box, process, NULL); /* early, so that the report is true */
    if (box_describe(box, &words) == 0)
        fwrite(words.data, 1, words.len, stderr);
}

/* The status alone is ambiguous: a script's own 124, or a kill by hand. */
static void tell_why_it_ended(const struct box_end *end, bool is_timed_out)
{
    const uint64_t most = CGROUP_USUAL_MEMORY_BYTES;

    if (is_timed_out)
        fputs("gatehouse sandbox: timed out, and everything in it was killed (--timeout)\n",
              stderr);
    else if (end->ran_out)
        fputs("gatehouse sandbox: a process was killed because memory ran out (--memory)\n",
              stderr);
    else if (end->is_signal && end->value == SIGKILL)
        fputs("gatehouse sandbox: the command was killed\n", stderr);
    else if (end->peak_bytes >= most / 100 * MUCH_MEMORY_PERCENT)
        fprintf(stderr,
                "gatehouse sandbox: a process may have run out of memory; each has %u MiB unless "
                "you use --memory\n",
                (unsigned)(most >> 20));
}

static int exit_status(const struct box_end *end, bool is_timed_out)
{
    if (is_timed_out)
        return SANDBOX_EXIT_TIMED_OUT;
    return end->is_signal ? SANDBOX_EXIT_SIGNAL + end->value : end->value;
}

static void free_box(struct box **box)
{
    box_free(*box);
}

/* The command's words, NULL-terminated for the kernel. */
static const char *const *words_of(struct arena *arena, const struct option_values *values)
{
    const char **words = arena_alloc_array(arena, values->argument_count + 1, sizeof(*words));

    if (words == NULL)
        return NULL;
    memcpy(words, values->arguments, values->argument_count * sizeof(*words));
    words[values->argument_count] = NULL;
    return words;
}

/* Hidden files are hidden by all their names. */
static int hide_second_names(struct arena *arena, const struct places *places,
                             struct box_command *command, struct err *err)
{
    struct matches names = {.room = MOST_SECOND_NAMES};
    int r;

    names.items = arena_alloc_array(arena, names.room, sizeof(*names.items));
    if (names.items == NULL)
        return err_set_plain(err, arena->error);
    r = secondnames_find(arena, places->items, places->count, &names, err);
    command->denials = names.items;
    command->denial_count = names.count;
    return r;
}

/* Returns the exit status, or an error. */
static int run(struct arena *arena, const struct option_values *values, struct err *err)
{
    cleanup_with(free_box) struct box *box = NULL;
    struct places *places = arena_new(arena, struct places);
    struct follow_terminal terminal = follow_find_terminal();
    struct box_process process = BOX_PROCESS_INIT;
    struct outputs outputs = OUTPUTS_INIT;
    struct box_command command = {
        .argv = words_of(arena, values), .rows = terminal.rows, .columns = terminal.columns};
    struct box_plan plan;
    struct box_end end;
    bool is_timed_out;
    int r;

    if (places == NULL || command.argv == NULL)
        return err_set_plain(err, arena->error);
    places_init(places, arena);
    r = check_network(values, err);
    if (r == 0)
        r = gather_places(values, places, &command.cwd, err);
    if (r == 0)
        r = hide_second_names(arena, places, &command, err);
    places_drop_unseen(places);
    if (r == 0)
        r = make_plan(values, places, &plan, err);
    if (r == 0)
        r = make_environment(arena, values, &command.env, err);
    if (r == 0)
        r = box_new(&plan, &box, err);
    if (r == 0)
        r = follow_prepare(err);
    if (r < 0)
        return r;
    follow_streams(command.fds);
    r = outputs_open(&outputs, command.fds, err);
    if (r == 0)
        r = box_start(box, &command, &process, err);
    outputs_give(&outputs);
    if (r < 0)
        return r;
    if (options_is_on(values, SANDBOX_OPTION_VERBOSE))
        tell_what_holds(box, &process);
    is_timed_out = follow_box(box, &process, &terminal, &outputs,
                              options_int(values, SANDBOX_OPTION_TIMEOUT), &end);
    tell_why_it_ended(&end, is_timed_out);
    if (outputs.errno_value != 0)
        return err_set(err, err_from_errno(outputs.errno_value), "cannot write its output: %s",
                       err_errno_text(outputs.errno_value));
    return exit_status(&end, is_timed_out);
}

static int check(struct err *err)
{
    int r = box_probe(err);

    if (r == 0)
        puts("this machine can create a sandbox with all its restrictions");
    return r;
}

/* Like a shell: the command does not exist, or cannot be run. */
static int status_of_error(const struct err *err)
{
    if (strcmp(err->field, "command") != 0)
        return SANDBOX_EXIT_FAILED;
    return err->code == ERR_NOT_FOUND ? SANDBOX_EXIT_NOT_FOUND : SANDBOX_EXIT_CANNOT_RUN;
}

/* A single word for a shell, which is not asked. */
static bool is_for_shell(const char *word)
{
    return strpbrk(word, " \t\n|&;<>()$`*?") != NULL;
}

int sandbox_run(const struct option_values *values)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_MAX_BYTES);
    struct err err = ERR_INIT;
    int r =
        values->command == &sandbox_commands[SANDBOX_RUN] ? run(&arena, values, &err) : check(&err);

    if (r >= 0)
        return r;
    complain("gatehouse sandbox", err.message);
    if (status_of_error(&err) == SANDBOX_EXIT_NOT_FOUND && is_for_shell(values->arguments[0]))
        fputs("For shell syntax use: gatehouse sandbox run -- sh -c '...'\n", stderr);
    return status_of_error(&err);
}
