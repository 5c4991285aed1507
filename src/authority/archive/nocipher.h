/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of nettle with which the static libarchive decrypts zip files, given a password. We
 * give none and refuse such files, so nothing calls them, and a program that does not load nettle
 * starts 0.1 ms earlier. If one is called after all, the program aborts.
 */
#ifndef AUTHORITY_ARCHIVE_NOCIPHER_H
#define AUTHORITY_ARCHIVE_NOCIPHER_H

__attribute__((noreturn)) void nettle_aes128_encrypt(void);
__attribute__((noreturn)) void nettle_aes128_set_encrypt_key(void);
__attribute__((noreturn)) void nettle_aes192_encrypt(void);
__attribute__((noreturn)) void nettle_aes192_set_encrypt_key(void);
__attribute__((noreturn)) void nettle_aes256_encrypt(void);
__attribute__((noreturn)) void nettle_aes256_set_encrypt_key(void);
__attribute__((noreturn)) void nettle_hmac_sha1_digest(void);
__attribute__((noreturn)) void nettle_hmac_sha1_set_key(void);
__attribute__((noreturn)) void nettle_hmac_sha1_update(void);
__attribute__((noreturn)) void nettle_pbkdf2_hmac_sha1(void);

#endif
