/* SPDX-License-Identifier: Apache-2.0 */
/* Overflows on purpose: if this succeeds in a sanitizer build, the sanitizer does not work. */
#include <limits.h>

int main(int argc, char **argv)
{
    volatile int large = INT_MAX;

    (void)argv;
    large += argc;
    return large == 0;
}
