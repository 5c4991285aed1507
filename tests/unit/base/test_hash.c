/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "base/hash.h"

/* From an independent implementation whose SipHash-2-4 gives the published answers. */
static void known_answers(void **state)
{
    const struct hash_key key = {0x0706050403020100U, 0x0f0e0d0c0b0a0908U};
    char text[16];

    (void)state;
    for (int i = 0; i < 16; i++)
        text[i] = (char)i;
    assert_true(hash_str(&key, (struct str){text, 0}) == 0xabac0158050fc4dcU);
    assert_true(hash_str(&key, (struct str){text, 1}) == 0xc9f49bf37d57ca93U);
    assert_true(hash_str(&key, (struct str){text, 8}) == 0x369095118d299a8eU);
    assert_true(hash_str(&key, (struct str){text, 15}) == 0xd320d86d2a519956U);
}

static void the_key_decides(void **state)
{
    const struct hash_key a = {1, 2};
    const struct hash_key b = {1, 3};

    (void)state;
    assert_true(hash_str(&a, STR("name")) == hash_str(&a, STR("name")));
    assert_true(hash_str(&a, STR("name")) != hash_str(&b, STR("name")));
    assert_true(hash_str(&a, STR("")) != hash_str(&a, STR("\0")));
}

static void the_process_key_is_drawn_once(void **state)
{
    const struct hash_key *key = hash_process_key();

    (void)state;
    assert_ptr_equal(key, hash_process_key());
    assert_true(key->low != 0 || key->high != 0);
}

TEST_MAIN(cmocka_unit_test(known_answers), cmocka_unit_test(the_key_decides),
          cmocka_unit_test(the_process_key_is_drawn_once))
