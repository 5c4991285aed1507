/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The authority in a program of its own: keeps a note in a folder and shows
 * what is in there, with every step recorded on standard error.
 *
 *     cc keep_notes.c $(pkg-config --cflags --libs gatehouse-authority) -o keep_notes
 *     ./keep_notes /some/folder "remember the milk"
 */
#include <stdio.h>
#include <string.h>

#include <gatehouse/authority.h>

/* Every operation comes by here, refused ones too. */
static int tell(void *data, const struct authority_event *event)
{
    (void)data;
    fprintf(stderr, "%s %.*s: %s%s%s\n", authority_operation_name(event->operation),
            STR_ARG(event->name), authority_outcome_name(event->outcome),
            event->error < 0 ? ", " : "", event->error < 0 ? err_name(event->error) : "");
    return 0;
}

static int show(void *data, const struct authority_entry *entry)
{
    (void)data;
    printf("%.*s%s\n", STR_ARG(entry->name), entry->type == AUTHORITY_DIRECTORY ? "/" : "");
    return 0;
}

int main(int argc, char **argv)
{
    static const char *const denied[] = {".env", "*.pem", NULL};
    const struct authority_config config = {.backend = AUTHORITY_LINUX};
    struct authority_request request = {
        .subject = {.type = AUTHORITY_CORE, .id = "keep-notes"},
        .root = {.kind = AUTHORITY_WORKSPACE, .id = "notes", .display_name = "Notes"},
        .access = AUTHORITY_READ | AUTHORITY_WRITE | AUTHORITY_LIST,
        .reason = "keep a note",
        .source = AUTHORITY_FROM_USER_APPROVAL,
        .limits = {.max_file_bytes = 1 << 20, .denied_globs = denied},
    };
    struct authority *authority = NULL;
    struct authority_scope *notes = NULL;
    struct err err = ERR_INIT;
    int r;

    if (argc != 3) {
        fprintf(stderr, "usage: keep_notes FOLDER TEXT\n");
        return 2;
    }
    request.root.path = argv[1];
    r = authority_new(&config, &authority, &err);
    if (r == 0)
        r = authority_add_listener(authority, tell, NULL);
    if (r == 0)
        r = authority_request_root(authority, &request, &notes, &err);
    if (r == 0)
        r = authority_append(notes, str_from("notes.txt"), str_from(argv[2]), NULL, &err);
    if (r == 0)
        r = authority_append(notes, str_from("notes.txt"), str_from("\n"), NULL, &err);
    if (r == 0)
        r = authority_list(notes, str_from(""), NULL, show, NULL, &err);
    if (r < 0)
        fprintf(stderr, "keep_notes: %s: %s\n", err.field, err.message);
    authority_free(authority);
    return r == 0 ? 0 : 1;
}
