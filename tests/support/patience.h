/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long tests wait for what must happen: a disk may hang for a minute. Less than the limit of a
 * whole case (test.h), which is less than meson's limit for the program. Normally nobody waits that
 * long; what happens on the test's own loop has less (loop_until.h).
 */
#ifndef TESTS_SUPPORT_PATIENCE_H
#define TESTS_SUPPORT_PATIENCE_H

enum { PATIENCE_S = 90, PATIENCE_MS = PATIENCE_S * 1000 };

#endif
