/* SPDX-License-Identifier: Apache-2.0 */
/* What a person can do about a server that could not be connected to, in a few words. */
#ifndef PROGRAMS_CONNECT_ADVICE_H
#define PROGRAMS_CONNECT_ADVICE_H

#include <stdbool.h>

/* NULL where the error says it all. What helps depends on the key and on how it was spoken to. */
const char *advice_for(int code, bool is_static_key, bool is_tls);

#endif
