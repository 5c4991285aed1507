/* SPDX-License-Identifier: Apache-2.0 */
#include "protocol/catalog.h"

#include "protocol/nearname.h"

enum { NAME_SHOWN_BYTES = 64 };

const struct catalog_tool *catalog_find_any(struct str name)
{
    for (size_t i = 0; i < catalog_tool_count; i++)
        if (str_eq(catalog_tools[i].name, name))
            return &catalog_tools[i];
    return NULL;
}

const struct catalog_tool *catalog_find(struct str name)
{
    const struct catalog_tool *tool = catalog_find_any(name);

    return tool != NULL && !tool->is_internal ? tool : NULL;
}

bool catalog_group_of(struct str name, enum catalog_group *out_group)
{
    for (size_t i = 0; i < catalog_name_count; i++)
        if (str_eq(catalog_names[i].name, name)) {
            *out_group = catalog_names[i].group;
            return true;
        }
    return false;
}

/* The option of the programs that offer tools. */
static const char *option_of(enum catalog_group group)
{
    switch (group) {
    case CATALOG_FILESYSTEM_READ:
        return "--permission-filesystem-read";
    case CATALOG_FILESYSTEM_WRITE:
        return "--permission-filesystem-write";
    case CATALOG_SHELL:
        return "--permission-shell";
    case CATALOG_COMPUTER:
        return "--permission-computer";
    case CATALOG_BROWSER:
        return "--permission-browser";
    }
    return "";
}

static const char *reason_of(enum catalog_group group)
{
    switch (group) {
    case CATALOG_FILESYSTEM_WRITE:
        return ": files are read-only here";
    case CATALOG_COMPUTER:
        return ": it is not allowed here, or no screen can be used";
    case CATALOG_BROWSER:
        return ": it is not allowed here, or no browser is installed";
    case CATALOG_FILESYSTEM_READ:
    case CATALOG_SHELL:
        break;
    }
    return "";
}

static const struct catalog_tool *find_nearest(struct str name, catalog_offers_fn *offers,
                                               void *data)
{
    const struct catalog_tool *nearest = NULL;
    size_t best = SIZE_MAX;
    char text[NEARNAME_BYTES];
    struct str folded = {text, nearname_fold(name, text)};

    for (size_t i = 0; i < catalog_tool_count && folded.len > 0; i++) {
        const struct catalog_tool *tool = &catalog_tools[i];
        char known[NEARNAME_BYTES];
        size_t far =
            nearname_distance(folded, (struct str){known, nearname_fold(tool->name, known)});

        if (far >= best || tool->is_internal || !offers(data, tool))
            continue;
        best = far;
        nearest = tool;
    }
    return nearest;
}

static bool is_named(const struct catalog_tool *tool, struct str folded)
{
    char text[NEARNAME_BYTES];

    for (size_t i = 0; i < tool->known_as_count; i++) {
        size_t len = nearname_fold(tool->known_as[i], text);

        if (str_eq(folded, (struct str){text, len}))
            return true;
    }
    return false;
}

/* The tool that other servers call so, offered or not. */
static const struct catalog_tool *find_known_as(struct str name)
{
    char text[NEARNAME_BYTES];
    struct str folded = {text, nearname_fold(name, text)};

    for (size_t i = 0; i < catalog_tool_count; i++)
        if (is_named(&catalog_tools[i], folded))
            return &catalog_tools[i];
    return NULL;
}

int catalog_refuse(struct str name, catalog_offers_fn *offers, void *data, int code,
                   struct err *err)
{
    const struct catalog_tool *tool = catalog_find(name);
    const struct catalog_tool *known = tool == NULL ? find_known_as(name) : NULL;
    const struct catalog_tool *nearest;
    struct str shown = str_slice(name, 0, NAME_SHOWN_BYTES);

    if (known != NULL && offers(data, known))
        return err_set_field(err, code, "name", "unknown tool \"%.*s\"; here it is %.*s",
                             STR_ARG(shown), STR_ARG(known->name));
    if (known != NULL) {
        tool = known;
        shown = known->name;
    }
    if (tool == NULL) {
        nearest = find_nearest(name, offers, data);
        if (nearest == NULL)
            return err_set_field(err, code, "name", "unknown tool \"%.*s\"", STR_ARG(shown));
        return err_set_field(err, code, "name", "unknown tool \"%.*s\"; did you mean %.*s?",
                             STR_ARG(shown), STR_ARG(nearest->name));
    }
    return err_set_field(
        err, code, "name",
        "%.*s is not offered%s; the user can start this server with %s ask or allow%s",
        STR_ARG(shown), reason_of(tool->group), option_of(tool->group),
        tool->group == CATALOG_COMPUTER || tool->group == CATALOG_BROWSER
            ? ", and see with 'gatehouse doctor' what is missing"
            : "");
}

const char *catalog_group_name(enum catalog_group group)
{
    switch (group) {
    case CATALOG_FILESYSTEM_READ:
        return "filesystemRead";
    case CATALOG_FILESYSTEM_WRITE:
        return "filesystemWrite";
    case CATALOG_SHELL:
        return "shell";
    case CATALOG_COMPUTER:
        return "computer";
    case CATALOG_BROWSER:
        return "browser";
    }
    return "";
}
