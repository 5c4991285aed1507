/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Puts load on a gateway server for a while, from very many machines and agents:
 *
 *     gateway_load PORT SECONDS MACHINES CALLED OTHERS CALLS SEED
 *
 * Machines 1 to MACHINES have streams. Agents call, CALLS a second in turn: those of the users 1 to
 * CALLED, and of OTHERS users after MACHINES, whose machines are somebody else's. Some machines
 * stop reading for a while, some lose their streams. Whoever started this may kill the server
 * meanwhile. Prints "connected" when all have come, and in the end what happened; then nobody
 * disturbs any more, all must come back, and every call must succeed.
 */
#include <stdio.h>
#include <stdlib.h>

#include "draw.h"
#include "gateway_crowd.h"

enum {
    ANSWER_BYTES = 4096,
    STALLED_MAX = 16,
    STALL_MS = 2000,
    CUTS_PER_SECOND = 5,
    COME_BACK_MS = 60 * 1000,
    ANSWERS_MS = 90 * 1000,
};

static unsigned machines;
static unsigned called;
static unsigned others;
static unsigned long ok;
static unsigned long failed;
static unsigned long broken;

static void on_answered(void *data, unsigned user, int status, double took_ns)
{
    (void)data;
    (void)user;
    (void)took_ns;
    if (status == 200)
        ok++;
    else if (status == 0)
        broken++;
    else
        failed++;
}

static unsigned any(unsigned most)
{
    return 1 + (unsigned)draw(most);
}

/* Machines that do not read: each is one for STALL_MS. */
static unsigned stalled[STALLED_MAX];
static size_t next_stalled;

static void stall_another(struct crowd *crowd)
{
    if (stalled[next_stalled] > 0)
        crowd_stall(crowd, stalled[next_stalled], false);
    stalled[next_stalled] = any(machines);
    crowd_stall(crowd, stalled[next_stalled], true);
    next_stalled = (next_stalled + 1) % STALLED_MAX;
}

/* The agents: of the first users, and of those after the machines. */
static unsigned user_of(unsigned agent)
{
    return agent <= called ? agent : machines + agent - called;
}

static void disturb(struct crowd *crowd, double seconds, double calls)
{
    double now = crowd_now_ns();
    const double end = now + seconds * 1e9;
    double next_call = now;
    double next_stall = now;
    double next_cut = now;
    unsigned agent = 0;

    while (now < end) {
        while (next_call <= now) {
            next_call += 1e9 / calls;
            agent = agent % (called + others) + 1;
            crowd_call(crowd, user_of(agent));
        }
        while (next_stall <= now) {
            next_stall += STALL_MS * 1e6 / STALLED_MAX;
            stall_another(crowd);
        }
        while (next_cut <= now) {
            next_cut += 1e9 / CUTS_PER_SECOND;
            crowd_cut(crowd, any(machines));
        }
        crowd_run(crowd, next_call - now);
        now = crowd_now_ns();
    }
    for (size_t i = 0; i < STALLED_MAX; i++)
        if (stalled[i] > 0)
            crowd_stall(crowd, stalled[i], false);
}

static void wait_for_answers(struct crowd *crowd)
{
    double end = crowd_now_ns() + ANSWERS_MS * 1e6;

    while (crowd_counts(crowd)->calling > 0 && crowd_now_ns() < end)
        crowd_run(crowd, 10e6);
}

/* One call of each agent, when nothing disturbs: false if one fails. */
static bool call_each(struct crowd *crowd)
{
    unsigned long before = ok;
    unsigned long asked = 0;

    for (unsigned i = 1; i <= called + others; i++) {
        asked += crowd_call(crowd, user_of(i));
        crowd_run(crowd, 1e6);
    }
    wait_for_answers(crowd);
    return asked == called + others && ok - before == asked;
}

int main(int argc, char **argv)
{
    struct crowd *crowd;
    const struct crowd_counts *counts;
    bool is_well;

    if (argc != 8) {
        fprintf(stderr, "usage: gateway_load PORT SECONDS MACHINES CALLED OTHERS CALLS SEED\n");
        return 2;
    }
    machines = (unsigned)strtoul(argv[3], NULL, 10);
    called = (unsigned)strtoul(argv[4], NULL, 10);
    others = (unsigned)strtoul(argv[5], NULL, 10);
    draw_seed = strtoul(argv[7], NULL, 10);
    setvbuf(stdout, NULL, _IOLBF, 0);
    crowd = crowd_new(&(struct crowd_config){.port = (uint16_t)strtoul(argv[1], NULL, 10),
                                             .count = machines + others,
                                             .answer_bytes = ANSWER_BYTES,
                                             .answers_twice = true,
                                             .comes_back = true,
                                             .answered = on_answered});
    counts = crowd_counts(crowd);
    crowd_connect(crowd, 1, machines);
    if (!crowd_wait_streams(crowd, machines, COME_BACK_MS * 1e6)) {
        fprintf(stderr, "only %u of %u machines were let in\n", counts->streams, machines);
        return 1;
    }
    printf("connected\n");
    disturb(crowd, strtod(argv[2], NULL), strtod(argv[6], NULL));
    printf("quiet\n");
    is_well = crowd_wait_streams(crowd, machines, COME_BACK_MS * 1e6);
    if (!is_well)
        printf("only %u of %u machines came back\n", counts->streams, machines);
    /* A call whose event went into a stream that broke takes its whole time, and fails. */
    wait_for_answers(crowd);
    if (!call_each(crowd)) {
        printf("not every call succeeds in the end\n");
        is_well = false;
    }
    printf("%lu calls answered, %lu failed, %lu broken off; %lu answers given, %u streams lost and "
           "opened again\n",
           ok, failed, broken, counts->served, counts->lost);
    if (counts->twice + counts->repeated + counts->bad + counts->dismissed > 0) {
        printf("%lu answers accepted twice, %lu calls sent twice, %lu strange answers, %u machines "
               "dismissed\n",
               counts->twice, counts->repeated, counts->bad, counts->dismissed);
        is_well = false;
    }
    crowd_free(crowd);
    return is_well ? 0 : 1;
}
