/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/rules/program.h"

int main(int argc, char **argv)
{
    return program_run(argc, argv);
}
