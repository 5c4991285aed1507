/* SPDX-License-Identifier: Apache-2.0 */
/* The least that a C program can be: what bench_start measures against. */
int main(void)
{
    return 0;
}
