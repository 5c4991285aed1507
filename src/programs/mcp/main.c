/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/mcp/program.h"

int main(int argc, char **argv)
{
    return program_run(argc, argv);
}
