/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long tests wait for what must happen: as long as those in Python (patience.py), and
 * less than meson gives a test as a whole. Nobody waits that long where all is well.
 */
#ifndef TESTS_SUPPORT_PATIENCE_H
#define TESTS_SUPPORT_PATIENCE_H

enum { PATIENCE_S = 300, PATIENCE_MS = PATIENCE_S * 1000 };

#endif
