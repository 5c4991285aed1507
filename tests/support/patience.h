/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long tests wait for what must happen: a disk may stand still for a minute. Less than a case
 * may take as a whole (test.h), and that is less than meson gives its program. Nobody waits that
 * long where all is well; what happens on the test's own loop has less (loop_until.h).
 */
#ifndef TESTS_SUPPORT_PATIENCE_H
#define TESTS_SUPPORT_PATIENCE_H

enum { PATIENCE_S = 90, PATIENCE_MS = PATIENCE_S * 1000 };

#endif
