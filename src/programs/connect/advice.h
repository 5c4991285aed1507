/* SPDX-License-Identifier: Apache-2.0 */
/* Short advice for a user whose server could not be connected to. */
#ifndef PROGRAMS_CONNECT_ADVICE_H
#define PROGRAMS_CONNECT_ADVICE_H

#include <stdbool.h>

/* NULL if the error says it all. The advice depends on the kind of key and on the use of TLS. */
const char *advice_for(int code, bool is_static_key, bool is_tls);

#endif
