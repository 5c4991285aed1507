/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The user's own browser: its tabs are listed, one is controlled from the first call that uses it,
 * and none is closed that was not opened by a call. Internal to gatehouse-browser.
 */
#ifndef BROWSER_LOCAL_H
#define BROWSER_LOCAL_H

#include "browser/internal.h"

/* Connects and opens a tab of our own. */
int local_connect(struct browser_task *call, struct err *err);
int local_set_up(struct browser_task *call, struct err *err);

/* Waits until a tab that was just opened can be used; it is the active one then. */
int local_adopt(struct browser_task *call, struct str target, struct err *err);
/* The call's page is controlled from now on. */
int local_use(struct browser_task *call, struct err *err);

/* Titles change without an event: asks for those of all tabs. Nothing in other browsers. */
int local_refresh(struct browser_task *call, struct err *err);

/* True: the event of the browser is dealt with. */
bool local_on_target(struct host *host, struct str method, const struct json_value *params);

#endif
