/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "base/sha1.h"

static void assert_sha1(struct str text, const char *wanted)
{
    uint8_t digest[SHA1_BYTES];
    char hex[2 * SHA1_BYTES + 1];

    sha1(text, digest);
    for (size_t i = 0; i < SHA1_BYTES; i++)
        snprintf(hex + 2 * i, 3, "%02x", digest[i]);
    assert_string_equal(hex, wanted);
}

static void the_known_answers_are_given(void **state)
{
    static char million[1000000];

    (void)state;
    assert_sha1(STR_EMPTY, "da39a3ee5e6b4b0d3255bfef95601890afd80709");
    assert_sha1(STR("abc"), "a9993e364706816aba3e25717850c26c9cd0d89d");
    assert_sha1(STR("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
                "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
    assert_sha1(STR("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmno"
                    "pqklmnopqrlmnopqrsmnopqrstnopqrstu"),
                "a49b2446a02c645bf419f995b67091253a04a259");
    memset(million, 'a', sizeof(million));
    assert_sha1((struct str){million, sizeof(million)}, "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
    /* Where the length no longer fits behind the text, and where a block is full. */
    assert_sha1((struct str){million, 55}, "c1c8bbdc22796e28c0e15163d20899b65621d65a");
    assert_sha1((struct str){million, 56}, "c2db330f6083854c99d4b5bfb6e8f29f201be699");
    assert_sha1((struct str){million, 64}, "0098ba824b5c16427bd7a1122a5a442a25ec644d");
}

TEST_MAIN(cmocka_unit_test(the_known_answers_are_given))
