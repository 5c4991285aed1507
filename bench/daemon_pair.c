/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon_pair.h"

#include <stdio.h>
#include <string.h>

struct daemon_side daemon_sides[SIDES] = {[OURS] = {.name = "ours"}, [THEIRS] = {.name = "theirs"}};

static struct loop *loop_of_servers;
static const char *place_of_files;
static cpu_set_t cores[PLACES];

static void find_cores(void)
{
    size_t last = 0;

    sched_getaffinity(0, sizeof(cores[FREE]), &cores[FREE]);
    for (size_t i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &cores[FREE]))
            last = i;
    CPU_ZERO(&cores[NEAR]);
    CPU_SET(last, &cores[NEAR]);
}

void daemon_pair_init(struct loop *loop, const char *place)
{
    loop_of_servers = loop;
    place_of_files = place;
    find_cores();
}

bool daemon_pair_has(int side)
{
    return daemon_sides[side].program[0] != NULL;
}

/* Neither has anybody to ask, and the other one has to be told that the server may be here. */
static void write_lines(struct daemon_lines *lines, int side, const char *folder, bool is_large)
{
    const struct daemon_side *given = &daemon_sides[side];
    const char *const ours[] = {given->program[0], "connect", "--auto-confirm",
                                "{url}",           "{token}", lines->folder};
    const char *const larger[] = {"--max-file-size=1MiB", "--max-lines=1000000"};
    const char *const theirs[] = {given->program[0],   given->program[1], "--auto-confirm",
                                  "--allowed-origins", "{url}",           "{url}",
                                  "{token}",           lines->folder};

    *lines = (struct daemon_lines){.argv = {NULL}};
    snprintf(lines->folder, sizeof(lines->folder), "%s/%s", place_of_files, folder);
    snprintf(lines->home, sizeof(lines->home), "HOME=%s/%s", place_of_files, given->name);
    if (side == THEIRS)
        memcpy(lines->argv, theirs, sizeof(theirs));
    else
        memcpy(lines->argv, ours, sizeof(ours));
    if (side == OURS && is_large)
        memcpy(lines->argv + array_size(ours), larger, sizeof(larger));
    lines->environment[0] = "PATH=/usr/bin:/bin";
    lines->environment[1] = lines->home;
    lines->environment[2] = given->trust;
}

void daemon_pair_open(struct daemon_pair *pair, const char *folder, bool is_large,
                      struct tls_context *tls)
{
    for (int side = OURS; side < SIDES; side++) {
        struct daemon_lines *lines = &pair->lines[side];

        if (!daemon_pair_has(side))
            continue;
        write_lines(lines, side, folder, is_large);
        daemon_peer_init(&pair->of[side],
                         &(struct daemon_peer_config){.name = daemon_sides[side].name,
                                                      .loop = loop_of_servers,
                                                      .argv = lines->argv,
                                                      .environment = lines->environment,
                                                      .tls = tls});
    }
}

void daemon_pair_start(struct daemon_pair *pair)
{
    for (int side = OURS; side < SIDES; side++)
        if (daemon_pair_has(side))
            daemon_peer_start(&pair->of[side]);
}

void daemon_pair_close(struct daemon_pair *pair)
{
    for (int side = OURS; side < SIDES; side++) {
        if (!daemon_pair_has(side))
            continue;
        if (pair->of[side].pid != 0)
            daemon_peer_stop(&pair->of[side]);
        daemon_peer_done(&pair->of[side]);
    }
}

void daemon_pair_go_to(const struct daemon_peer *peer, int where)
{
    sched_setaffinity(0, sizeof(cores[where]), &cores[where]);
    daemon_peer_run_on(peer, &cores[where]);
}

double daemon_pair_better(const double values[PLACES])
{
    return values[NEAR] < values[FREE] ? values[NEAR] : values[FREE];
}
