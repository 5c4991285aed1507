/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/gatehouse/commands.h"

int main(int argc, char **argv)
{
    return commands_run(argc, argv);
}
