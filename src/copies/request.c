/* SPDX-License-Identifier: Apache-2.0 */
#include "copies/request.h"

#include <stdio.h>
#include <string.h>

#include "base/hex.h"

static const char *const verbs[COPIES_VERBS] = {[COPIES_LIST] = "list",
                                                [COPIES_DIFF] = "diff",
                                                [COPIES_APPLY] = "apply",
                                                [COPIES_UNDO] = "undo"};

bool copies_take_workspace(struct str text, char out_name[WORKSPACE_NAME_BYTES + 1])
{
    if (text.len > WORKSPACE_NAME_BYTES || str_has_nul(text))
        return false;
    snprintf(out_name, WORKSPACE_NAME_BYTES + 1, "%.*s", STR_ARG(text));
    return workspace_is_name(out_name);
}

int copies_choose(struct copies_request *request, struct str id)
{
    if (id.len != COPIES_ID_CHARS || !hex_is_small(id))
        return ERR_INVALID_ARGUMENT;
    if (request->chosen_count == COPIES_MAX_CHOSEN)
        return ERR_TOO_LARGE;
    memcpy(request->chosen[request->chosen_count], id.ptr, id.len);
    request->chosen[request->chosen_count++][id.len] = '\0';
    return 0;
}

int copies_request_write(const struct copies_request *request, struct buf *out)
{
    int r = buf_printf(out, "%s%s%s\n", verbs[request->verb],
                       request->verb != COPIES_LIST ? " " : "", request->name);

    for (size_t i = 0; i < request->chosen_count && r == 0; i++)
        r = buf_printf(out, "%s\n", request->chosen[i]);
    return r;
}

int copies_request_parse(struct str text, struct copies_request *out_request)
{
    struct str line;
    struct str verb;
    size_t index;
    int r = 0;

    /* Each line has an end. */
    if (!str_ends_with(text, STR("\n")))
        return ERR_INVALID_ARGUMENT;
    text.len--;
    (void)str_cut(&text, '\n', &line);
    (void)str_cut(&line, ' ', &verb);
    index = str_index(verb, verbs, COPIES_VERBS);
    if (index == SIZE_MAX)
        return ERR_INVALID_ARGUMENT;
    out_request->verb = (enum copies_verb)index;
    out_request->name[0] = '\0';
    out_request->chosen_count = 0;
    if (index == COPIES_LIST ? line.ptr != NULL
                             : line.ptr == NULL || !copies_take_workspace(line, out_request->name))
        return ERR_INVALID_ARGUMENT;
    while (r == 0 && str_cut(&text, '\n', &line))
        r = copies_choose(out_request, line);
    if (r == 0 && (index == COPIES_APPLY) != (out_request->chosen_count > 0))
        r = ERR_INVALID_ARGUMENT;
    return r;
}

/* ---- answers ---- */

int copies_answer_write_error(const struct err *err, struct buf *out)
{
    return buf_printf(out, "%s\n%s", err_name(err->code),
                      err->message[0] != '\0' ? err->message : err_text(err->code));
}

int copies_answer_parse(struct str text, struct str *out_document, struct err *err)
{
    struct str word;

    if (str_starts_with(text, STR(COPIES_ANSWER_OK))) {
        *out_document = str_slice(text, strlen(COPIES_ANSWER_OK), text.len);
        return 0;
    }
    (void)str_cut(&text, '\n', &word);
    if (text.ptr == NULL)
        return err_set(err, ERR_IO, "gatehouse-workspace has ended without an answer");
    return err_set(err, err_from_name(word.ptr, word.len), "%.*s", STR_ARG(text));
}
