/* SPDX-License-Identifier: Apache-2.0 */
/* Overflows on purpose: a sanitizer build in which this ends well is asleep. */
#include <limits.h>

int main(int argc, char **argv)
{
    volatile int large = INT_MAX;

    (void)argv;
    large += argc;
    return large == 0;
}
