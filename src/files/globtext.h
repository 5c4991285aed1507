/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Globs as agents write them, in the syntax of the authority's globs (authority/names/glob.h):
 *
 *     ./src//a.c      src/a.c          ./a.c is /a.c: at the top only
 *     src/            src/(two stars)  everything below
 *     @(a|b)          {a,b}            ?(a|b) is {,a,b}; +( *( !( are refused
 *     {a..c}          {a,b,c}          {08..10} is {08,09,10}
 *     app/[slug]/x    app/{\[slug\],[slug]}/x: a class, or that name
 */
#ifndef FILES_GLOBTEXT_H
#define FILES_GLOBTEXT_H

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

/* ERR_INVALID_ARGUMENT says what is wrong; ERR_TOO_LARGE if it does not fit in the buffer. */
int globtext_rewrite(struct str text, struct buf *out, struct err *err);

/* Whether it is the name of one file, without anything to match. */
bool globtext_is_literal(struct str text);

#endif
