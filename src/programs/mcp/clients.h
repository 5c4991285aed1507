/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How MCP clients are told about this server: for each the file, its format and the text in it, and
 * the command of the client's own that writes it. programs/mcp/install.h changes the file.
 */
#ifndef PROGRAMS_MCP_CLIENTS_H
#define PROGRAMS_MCP_CLIENTS_H

#include <limits.h>
#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/options/options.h"
#include "base/str.h"
#include "cli/mcp.h"

enum { CLIENTS_NAME_BYTES = 65, CLIENTS_TEXT_BYTES = 1 << 20 };

enum client_format {
    CLIENT_JSON, /* a member of an object of the file */
    CLIENT_TOML, /* a table of the file */
    CLIENT_YAML, /* a file of its own */
    CLIENT_FORM, /* no file: typed into the client */
};

struct client {
    const char *title;
    const char *group; /* the member with all servers; or NULL */
    /* The file lies in the directory of this variable, else below HOME in `base` (may be ""). */
    const char *variable;
    const char *base;
    const char *file; /* NULL: without one; "%s" is the name of the server */
    const char *url;  /* the member with the address; NULL: does not use HTTP */
    const char *key;  /* how it takes the key from GATEHOUSE_HTTP_KEY; NULL: it must be written */
    const char *type; /* member "type" of HTTP servers; or NULL */
    enum client_format format;
    bool names_stdio; /* "type": "stdio" for others */
};

/* One server in the settings of one client. */
struct client_entry {
    const struct client *client;
    enum mcp_client id;
    char name[CLIENTS_NAME_BYTES];
    const char *program;      /* absolute path of `gatehouse` */
    const char *const *words; /* its arguments, up to a NULL */
    const char *url;          /* NULL: the client starts the program */
};

/*
 * From the options. `root` is the folder's real path, for the name.
 * ERR_INVALID_OPTION for a client that has no HTTP, or a name that some client would not take.
 */
int clients_make(struct arena *arena, const struct option_values *values, enum mcp_client id,
                 const char *root, struct client_entry *out_entry, struct err *err);

/* The entry without what is around it: a JSON object, the lines of a table, or a whole file. */
int clients_write_entry(const struct client_entry *entry, struct buf *out, struct err *err);

/* The text to paste, complete with what is around it. */
int clients_write_snippet(const struct client_entry *entry, struct buf *out, struct err *err);

/* Where it belongs, for a person: the file, other ways, and how to start an HTTP server. */
int clients_write_advice(const struct client_entry *entry, struct buf *out, struct err *err);

/*
 * The directory and the name in it. ERR_UNSUPPORTED without a file, ERR_INVALID_ARGUMENT without
 * an absolute HOME.
 */
int clients_find_file(const struct client_entry *entry, char out_dir[PATH_MAX],
                      char out_name[PATH_MAX], struct err *err);

#endif
