/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes dangerous functions of the C library fail to compile. The build includes this file before
 * every source file of the project.
 *
 * The headers that declare these names come first: a declaration after the macro would be caught
 * itself.
 */
#ifndef BASE_BANNED_H
#define BASE_BANNED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

#define BANNED(name, instead) banned_##name##_use_##instead

/* No length: the copy is limited only by the source. */
#undef strcpy
#undef strcat
#undef stpcpy
#undef strncpy
#undef strncat
#define strcpy(...)  BANNED(strcpy, buf_append)
#define strcat(...)  BANNED(strcat, buf_append)
#define stpcpy(...)  BANNED(stpcpy, buf_append)
#define strncpy(...) BANNED(strncpy, memcpy_with_a_checked_length)
#define strncat(...) BANNED(strncat, buf_append)
#undef sprintf
#undef vsprintf
#define sprintf(...)  BANNED(sprintf, snprintf_or_buf_printf)
#define vsprintf(...) BANNED(vsprintf, vsnprintf_or_buf_vprintf)
#undef gets
#define gets(...) BANNED(gets, read)

/* Hidden state shared by the whole process. */
#undef strtok
#undef gmtime
#undef localtime
#undef ctime
#undef asctime
#undef strerror
#define strtok(...)    BANNED(strtok, str_cut)
#define gmtime(...)    BANNED(gmtime, gmtime_r)
#define localtime(...) BANNED(localtime, localtime_r)
#define ctime(...)     BANNED(ctime, strftime)
#define asctime(...)   BANNED(asctime, strftime)
#define strerror(...)  BANNED(strerror, err_errno_text)

/* Errors are indistinguishable from results. */
#undef atoi
#undef atol
#undef atoll
#undef atof
#define atoi(...)  BANNED(atoi, str_to_int64)
#define atol(...)  BANNED(atol, str_to_int64)
#define atoll(...) BANNED(atoll, str_to_int64)
#define atof(...)  BANNED(atof, json_number)

/* Guessable numbers and guessable names. */
#undef rand
#undef srand
#undef random
#undef tmpnam
#undef mktemp
#define rand(...)   BANNED(rand, rand_bytes)
#define srand(...)  BANNED(srand, rand_bytes)
#define random(...) BANNED(random, rand_bytes)
#define tmpnam(...) BANNED(tmpnam, the_authority)
#define mktemp(...) BANNED(mktemp, the_authority)

/* A shell between us and the command. */
#undef system
#undef popen
#define system(...) BANNED(system, isolate)
#define popen(...)  BANNED(popen, isolate)

/* Stack growth that depends on input. */
#undef alloca
#define alloca(...) BANNED(alloca, arena_alloc)

#endif
