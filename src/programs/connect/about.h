/* SPDX-License-Identifier: Apache-2.0 */
/* What the daemon tells a server about itself and this machine when it joins. */
#ifndef PROGRAMS_CONNECT_ABOUT_H
#define PROGRAMS_CONNECT_ABOUT_H

#include <stdbool.h>

#include "base/jsonwrite.h"
#include "protocol/catalog.h"

struct machine_about {
    const char *root_path;
    /* Whether the tool can be called here. */
    bool (*offers)(void *data, const struct catalog_tool *tool);
    void *data;
};

/* {rootPath, tools, hostIdentifier, toolCategories, extensions} */
int about_write(const struct machine_about *about, struct json_writer *json);

#endif
