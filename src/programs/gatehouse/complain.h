/* SPDX-License-Identifier: Apache-2.0 */
/* Says on standard error what is wrong, so that no name in the words can control a terminal. */
#ifndef PROGRAMS_GATEHOUSE_COMPLAIN_H
#define PROGRAMS_GATEHOUSE_COMPLAIN_H

/* "title: words" on one line. */
void complain(const char *title, const char *words);

#endif
