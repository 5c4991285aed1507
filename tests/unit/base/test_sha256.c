/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "base/sha256.h"

static void is_hex(const unsigned char digest[SHA256_BYTES], const char *wanted)
{
    char text[2 * SHA256_BYTES + 1];

    for (size_t i = 0; i < SHA256_BYTES; i++)
        snprintf(text + 2 * i, 3, "%02x", digest[i]);
    assert_string_equal(text, wanted);
}

static void hashes_to(struct str bytes, const char *wanted)
{
    unsigned char digest[SHA256_BYTES];
    struct sha256 hash;

    sha256_init(&hash);
    sha256_add(&hash, bytes);
    sha256_end(&hash, digest);
    is_hex(digest, wanted);
}

/* The examples of NIST for FIPS 180-4. */
static void the_published_examples_come_out(void **state)
{
    (void)state;
    hashes_to(STR(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    hashes_to(STR("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    hashes_to(STR("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
              "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    hashes_to(STR("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmno"
                  "ijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu"),
              "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
}

static void a_million_letters_in_pieces_of_any_size(void **state)
{
    unsigned char digest[SHA256_BYTES];
    struct sha256 hash;
    char letters[200];
    size_t piece = 1;

    (void)state;
    memset(letters, 'a', sizeof(letters));
    sha256_init(&hash);
    for (size_t left = 1000000; left > 0;) {
        size_t part = piece < left ? piece : left;

        sha256_add(&hash, (struct str){letters, part});
        left -= part;
        piece = piece % sizeof(letters) + 1;
    }
    sha256_end(&hash, digest);
    is_hex(digest, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

static void mac_is(struct str key, struct str bytes, const char *wanted)
{
    unsigned char digest[SHA256_BYTES];
    struct hmac mac;

    hmac_init(&mac, key);
    hmac_add(&mac, bytes);
    hmac_end(&mac, digest);
    is_hex(digest, wanted);
}

/* RFC 4231, cases 1, 2, 3, 6 and 7: short keys, long keys, long texts. */
static void the_published_macs_come_out(void **state)
{
    char bytes[131];

    (void)state;
    memset(bytes, 0x0b, 20);
    mac_is((struct str){bytes, 20}, STR("Hi There"),
           "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
    mac_is(STR("Jefe"), STR("what do ya want for nothing?"),
           "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    memset(bytes, 0xaa, 20);
    memset(bytes + 20, 0xdd, 50);
    mac_is((struct str){bytes, 20}, (struct str){bytes + 20, 50},
           "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
    memset(bytes, 0xaa, sizeof(bytes));
    mac_is((struct str){bytes, sizeof(bytes)},
           STR("Test Using Larger Than Block-Size Key - Hash Key First"),
           "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
    mac_is((struct str){bytes, sizeof(bytes)},
           STR("This is a test using a larger than block-size key and a larger than block-size "
               "data. The key needs to be hashed before being used by the HMAC algorithm."),
           "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2");
}

static void parts_do_not_pass_into_each_other(void **state)
{
    unsigned char left[SHA256_BYTES];
    unsigned char right[SHA256_BYTES];
    struct hmac mac;

    (void)state;
    hmac_init(&mac, STR("key"));
    hmac_add_part(&mac, STR("ab"));
    hmac_add_part(&mac, STR("c"));
    hmac_end(&mac, left);
    hmac_init(&mac, STR("key"));
    hmac_add_part(&mac, STR("a"));
    hmac_add_part(&mac, STR("bc"));
    hmac_end(&mac, right);
    assert_memory_not_equal(left, right, SHA256_BYTES);
}

static int with_instructions(void **state)
{
    (void)state;
    sha256_use_instructions(true);
    return 0;
}

static int without_instructions(void **state)
{
    (void)state;
    sha256_use_instructions(false);
    return 0;
}

/* Twice each: what a processor without the instructions does must be right on every one. */
#define hash_test(name)                                                                            \
    cmocka_unit_test_setup(name, with_instructions),                                               \
        cmocka_unit_test_setup(name, without_instructions)

TEST_MAIN(hash_test(the_published_examples_come_out),
          hash_test(a_million_letters_in_pieces_of_any_size),
          hash_test(the_published_macs_come_out), hash_test(parts_do_not_pass_into_each_other))
