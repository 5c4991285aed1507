/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/internal.h"

#include <stdio.h>

enum { LISTING_PARTS = 2 };

/* Adds the prepared text of an entry in one of our own lists, in parts. Returns how many. */
typedef size_t listing_fn(const struct mcp_offer *offer, size_t index, struct str *out_parts);

static size_t tool_listing(const struct mcp_offer *offer, size_t index, struct str *out_parts)
{
    const struct catalog_listing *tool = offer->tools[index];
    size_t at;

    out_parts[0] = tool->text;
    if (!offer->hides_output_schemas || tool->output.len == 0)
        return 1;
    at = (size_t)(tool->output.ptr - tool->text.ptr);
    out_parts[0] = str_slice(tool->text, 0, at);
    out_parts[1] = str_slice(tool->text, at + tool->output.len, tool->text.len);
    return 2;
}

static size_t prompt_listing(const struct mcp_offer *offer, size_t index, struct str *out_parts)
{
    out_parts[0] = offer->prompts[index]->listing;
    return 1;
}

/*
 * Our cursor is the number of the first entry that was not sent. If a list changes meanwhile, the
 * client is notified and asks again.
 */
static int answer_page(struct mcp_session *session, const struct mcp_envelope *request,
                       struct str opening, listing_fn *listing, size_t count, struct err *err)
{
    const struct mcp_offer *offer = &session->service->offer->offer;
    size_t page = session->server->page_size;
    struct str members[(1 + LISTING_PARTS) * MCP_MAX_PAGE + 8];
    char next[sizeof("],\"nextCursor\":\"\"") + 20];
    struct str cursor = STR_EMPTY;
    int64_t start = 0;
    size_t end;
    size_t n = 0;
    int r = mcp_read_cursor(request, &cursor, err);

    if (r < 0)
        return r;
    if (cursor.len > 0 && (!str_to_int64(cursor, &start) || start <= 0 || (uint64_t)start >= count))
        return err_set_field(err, ERR_INVALID_ARGUMENT, "cursor", "invalid cursor");
    if (page == 0 || page > MCP_MAX_PAGE)
        page = MCP_MAX_PAGE;
    end = count - (size_t)start > page ? (size_t)start + page : count;
    members[n++] = opening;
    for (size_t i = (size_t)start; i < end; i++) {
        if (i > (size_t)start)
            members[n++] = STR(",");
        n += listing(offer, i, members + n);
    }
    if (end < count) {
        snprintf(next, sizeof(next), "],\"nextCursor\":\"%zu\"", end);
        members[n++] = str_from(next);
    } else {
        members[n++] = STR("]");
    }
    mcp_answer_parts(session, NULL, request->id, mcp_stamp(session, request->is_modern, true),
                     members, n);
    return 0;
}

int mcp_tools_list(struct mcp_session *session, const struct mcp_envelope *request, struct err *err)
{
    return answer_page(session, request, STR("\"tools\":["), tool_listing,
                       session->service->offer->offer.tool_count, err);
}

int mcp_prompts_list(struct mcp_session *session, const struct mcp_envelope *request,
                     struct err *err)
{
    return answer_page(session, request, STR("\"prompts\":["), prompt_listing,
                       session->service->offer->offer.prompt_count, err);
}

static int find_prompt(const struct mcp_session *session, struct str name,
                       const struct mcp_prompt **out_prompt, struct err *err)
{
    const struct mcp_offer *offer = &session->service->offer->offer;

    for (size_t i = 0; i < offer->prompt_count; i++) {
        if (str_eq(offer->prompts[i]->name, name)) {
            *out_prompt = offer->prompts[i];
            return 0;
        }
    }
    return err_set_field(err, ERR_INVALID_ARGUMENT, "name", "unknown prompt \"%.*s\"",
                         STR_ARG(str_slice(name, 0, 64)));
}

static int check_arguments(const struct mcp_prompt *prompt, const struct json_value *arguments,
                           struct err *err)
{
    if (arguments->type != JSON_OBJECT)
        return err_set_field(err, ERR_INVALID_ARGUMENT, "arguments",
                             "\"arguments\" is not an object");
    json_each_member (key, arguments) {
        if (key[1].type != JSON_STRING)
            return err_set_field(err, ERR_INVALID_ARGUMENT, "arguments",
                                 "the arguments of a prompt must be strings");
    }
    for (size_t i = 0; i < prompt->argument_count; i++) {
        const struct mcp_prompt_argument *argument = &prompt->arguments[i];

        if (argument->is_required && json_get(arguments, argument->name) == NULL)
            return err_set_field(err, ERR_INVALID_ARGUMENT, "arguments",
                                 "the prompt needs \"%.*s\"", STR_ARG(argument->name));
    }
    return 0;
}

int mcp_prompts_get(struct mcp_session *session, const struct mcp_envelope *request,
                    struct err *err)
{
    const struct json_value *arguments = json_get(request->params, STR("arguments"));
    const struct mcp_prompt *prompt;
    struct mcp_call *call;
    struct str name = STR_EMPTY;
    int r = mcp_need_str(request->params, STR("name"), SIZE_MAX, &name, err);

    if (r == 0)
        r = find_prompt(session, name, &prompt, err);
    if (r < 0)
        return r;
    if (arguments == NULL || arguments->type == JSON_NULL)
        arguments = &mcp_empty_object;
    r = check_arguments(prompt, arguments, err);
    if (r < 0)
        return r;
    call = mcp_call_new(session, request, MCP_PROMPT_GET, err);
    if (call == NULL)
        return err->code;
    call->offer = session->service->offer;
    call->request.prompt.prompt = prompt;
    call->request.prompt.arguments = arguments;
    r = mcp_call_take_answers(session, call, request, err);
    return r < 0 ? r : mcp_call_begin(session, call, err);
}

/* What is to be completed: an argument of a prompt, or a part of a URI. */
static int read_reference(const struct mcp_session *session, const struct mcp_envelope *request,
                          struct str *out_uri, const struct mcp_prompt **out_prompt,
                          struct err *err)
{
    const struct json_value *reference = json_get(request->params, STR("ref"));
    struct str type;
    struct str name;
    int r;

    if (reference == NULL || !json_get_str(reference, STR("type"), &type))
        return err_set_field(err, ERR_INVALID_ARGUMENT, "ref", "\"ref\" has no type");
    if (str_eq(type, STR("ref/prompt")) && session->server->has_prompts) {
        r = mcp_need_str(reference, STR("name"), SIZE_MAX, &name, err);
        return r < 0 ? r : find_prompt(session, name, out_prompt, err);
    }
    if (!str_eq(type, STR("ref/resource")))
        return err_set_field(err, ERR_INVALID_ARGUMENT, "ref",
                             session->server->has_prompts
                                 ? "only the arguments of prompts and of resource templates can "
                                   "be completed"
                                 : "only the arguments of resource templates can be completed");
    return mcp_need_str(reference, STR("uri"), MCP_MAX_URI_BYTES, out_uri, err);
}

int mcp_complete(struct mcp_session *session, const struct mcp_envelope *request, struct err *err)
{
    const struct json_value *argument = json_get(request->params, STR("argument"));
    const struct json_value *context = json_get(request->params, STR("context"));
    const struct mcp_prompt *prompt = NULL;
    struct mcp_call *call;
    struct str name;
    struct str value;
    struct str uri = STR_EMPTY;
    int r = read_reference(session, request, &uri, &prompt, err);

    if (r == 0)
        r = mcp_need_str(argument != NULL ? argument : &mcp_empty_object, STR("name"),
                         MCP_MAX_URI_BYTES, &name, err);
    if (r == 0)
        r = mcp_need_str(argument, STR("value"), MCP_MAX_URI_BYTES, &value, err);
    if (r < 0)
        return r;
    call = mcp_call_new(session, request, MCP_COMPLETE, err);
    if (call == NULL)
        return err->code;
    if (context != NULL)
        context = json_get(context, STR("arguments"));
    if (prompt != NULL)
        call->offer = session->service->offer;
    call->request.complete.prompt = prompt;
    call->request.complete.uri = uri;
    call->request.complete.name = name;
    call->request.complete.value = value;
    call->request.complete.context =
        context != NULL && context->type == JSON_OBJECT ? context : NULL;
    return mcp_call_begin(session, call, err);
}
