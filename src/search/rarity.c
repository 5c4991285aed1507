/* SPDX-License-Identifier: Apache-2.0 */
#include "search/rarity.h"

/*
 * Counted over C, C++, Python, Perl, JavaScript, shell and Markdown; bytes beyond ASCII have more
 * than was counted, for text in other languages.
 */
static const uint16_t frequencies[256] = {
    1,     1,    1,    1,    1,    1,    1,    1,   1,    625,  2967, 1,   1,    4,    1,    1,
    1,     1,    1,    1,    1,    1,    1,    1,   1,    1,    1,    1,   1,    1,    1,    1,
    17330, 75,   643,  547,  385,  28,   211,  379, 1013, 1020, 499,  89,  847,  773,  968,  897,
    411,   337,  248,  146,  144,  166,  146,  112, 135,  146,  521,  578, 143,  678,  302,  39,
    53,    588,  254,  596,  394,  719,  258,  212, 163,  513,  45,   86,  473,  216,  457,  438,
    429,   37,   485,  774,  644,  226,  124,  80,  127,  116,  20,   198, 125,  196,  14,   2212,
    236,   3469, 894,  2246, 2092, 6945, 1514, 974, 1577, 3852, 180,  451, 2277, 1393, 3709, 3614,
    1852,  114,  3785, 3850, 5245, 1715, 537,  508, 375,  842,  124,  320, 110,  320,  11,   1,
    10,    10,   10,   10,   10,   10,   10,   10,  10,   10,   10,   10,  10,   10,   10,   10,
    10,    10,   10,   10,   10,   10,   10,   10,  10,   10,   10,   10,  10,   10,   10,   10,
    10,    10,   10,   10,   10,   10,   10,   10,  10,   10,   10,   10,  10,   10,   10,   10,
    10,    10,   10,   10,   10,   10,   10,   10,  10,   10,   10,   10,  10,   10,   10,   10,
    10,    10,   10,   60,   10,   10,   10,   10,  10,   10,   10,   10,  10,   10,   10,   10,
    60,    60,   10,   10,   10,   10,   10,   10,  10,   10,   10,   10,  10,   10,   10,   10,
    10,    10,   60,   60,   60,   60,   60,   60,  60,   60,   10,   10,  10,   10,   10,   10,
    10,    10,   10,   10,   10,   10,   10,   10,  10,   10,   10,   10,  10,   10,   10,   10,
};

unsigned rarity_of_byte(unsigned char byte)
{
    return frequencies[byte];
}

double rarity_of_set(const struct byteset *set)
{
    unsigned sum = 0;

    for (unsigned byte = 0; byte < 256; byte++)
        if (byteset_has(set, byte))
            sum += frequencies[byte];
    return sum < 100000 ? sum / 1e5 : 1;
}

double rarity_of_run(const struct byteset *set, unsigned length)
{
    const double scan_ns = 0.05, engine_ns = 150;
    double one = rarity_of_set(set);
    double rate = one;

    for (unsigned i = 1; i < length && rate > 1e-12; i++)
        rate *= rarity_again(one);
    return scan_ns + rate * engine_ns;
}
