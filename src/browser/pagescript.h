/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The script that is injected into every document, as text: see docs/internals/browser-script.md.
 * scripts/make-script makes it from src/browser/page/.
 */
#ifndef BROWSER_PAGESCRIPT_H
#define BROWSER_PAGESCRIPT_H

#include "base/str.h"

extern const struct str browser_page_script;

#endif
