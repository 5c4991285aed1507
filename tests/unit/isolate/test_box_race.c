/* SPDX-License-Identifier: Apache-2.0 */
#include "child.h"

#include <signal.h>

#include "isolate/box/internal.h"
#include "isolate/landlock.h"

enum { ROUNDS = 40 };

/* Until it is killed: the place and something else change their names all the time. */
static _Noreturn void swap_forever(int dir_fd, const char *other)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    for (;;)
        (void)renameat2(dir_fd, "inside", dir_fd, other, RENAME_EXCHANGE);
}

/* A command that writes where the place was, again and again, while somebody swaps. */
static void race_with(const struct place *place, const char *other)
{
    char script[PLACE_PATH_BYTES + 64];
    const char *argv[] = {"sh", "-c", script, NULL};
    static const char *const env[] = {"PATH=/usr/bin:/bin", NULL};
    const struct box_command command = {.argv = argv, .env = env, .cwd = "/", .fds = {-1, -1, -1}};
    const struct box_place writable = {.path = place->inside, .access = BOX_WRITE};
    const struct box_plan plan = {.places = &writable,
                                  .place_count = 1,
                                  .may_lack_landlock = landlock_abi() < LANDLOCK_MIN_ABI};
    struct box *box = NULL;
    int status;
    pid_t swapper;

    snprintf(script, sizeof(script), "echo broken >%s/mark", place->inside);
    assert_int_equal(box_new(&plan, &box, NULL), 0);
    swapper = fork();
    assert_true(swapper >= 0);
    if (swapper == 0)
        swap_forever(place->base_fd, other);
    for (int i = 0; i < ROUNDS; i++) {
        struct box_process process = BOX_PROCESS_INIT;
        struct box_end end;

        /* It starts with the place that was named, or not at all. */
        if (box_start(box, &command, &process, NULL) == 0)
            box_finish(&process, &end);
    }
    assert_int_equal(kill(swapper, SIGKILL), 0);
    assert_int_equal(waitpid(swapper, &status, 0), swapper);
    box_free(box);
}

static void a_link_in_the_place_of_a_place_leads_nowhere(void **state)
{
    const struct place *place = *state;

    skip_without_boxes();
    assert_int_equal(symlinkat("outside", place->base_fd, "link"), 0);
    race_with(place, "link");
    assert_int_equal(faccessat(place->base_fd, "outside/mark", F_OK, 0), -1);
}

static void another_folder_in_the_place_of_a_place_stays_as_it_was(void **state)
{
    const struct place *place = *state;
    struct stat about;
    const char *other = "other";

    skip_without_boxes();
    assert_int_equal(mkdirat(place->base_fd, "other", 0755), 0);
    race_with(place, "other");
    /* Whichever it is called now: it is the one without "a". */
    if (fstatat(place->base_fd, "other/a", &about, 0) == 0)
        other = "inside";
    assert_int_equal(unlinkat(place->base_fd, other, AT_REMOVEDIR), 0);
}

TEST_MAIN(place_test(a_link_in_the_place_of_a_place_leads_nowhere),
          place_test(another_folder_in_the_place_of_a_place_stays_as_it_was))
