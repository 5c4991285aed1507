/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>

#include "base/jsonwrite.h"
#include "conformance.h"

/* ---- prompts ---- */

static const struct mcp_prompt_argument two_arguments[] = {
    {STR_LITERAL("arg1"), true},
    {STR_LITERAL("arg2"), true},
};
static const struct mcp_prompt_argument resource_argument[] = {{STR_LITERAL("resourceUri"), true}};

#define ARGUMENT(name) "{\"name\":\"" name "\",\"required\":true}"
#define LISTING(name, description, arguments)                                                      \
    STR_LITERAL("{\"name\":\"" name "\",\"description\":\"" description                            \
                "\",\"arguments\":[" arguments "]}")

const struct mcp_prompt conformance_prompts[CONFORMANCE_PROMPTS] = {
    [SIMPLE_PROMPT] = {.name = STR_LITERAL("test_simple_prompt"),
                       .listing = LISTING("test_simple_prompt", "A text", "")},
    [PROMPT_WITH_ARGUMENTS] = {.name = STR_LITERAL("test_prompt_with_arguments"),
                               .listing = LISTING("test_prompt_with_arguments", "Two arguments",
                                                  ARGUMENT("arg1") "," ARGUMENT("arg2")),
                               .arguments = two_arguments,
                               .argument_count = array_size(two_arguments)},
    [PROMPT_WITH_EMBEDDED_RESOURCE] = {.name = STR_LITERAL("test_prompt_with_embedded_resource"),
                                       .listing =
                                           LISTING("test_prompt_with_embedded_resource",
                                                   "A resource in it", ARGUMENT("resourceUri")),
                                       .arguments = resource_argument,
                                       .argument_count = array_size(resource_argument)},
    [PROMPT_WITH_IMAGE] = {.name = STR_LITERAL("test_prompt_with_image"),
                           .listing = LISTING("test_prompt_with_image", "An image in it", "")},
    [ASKING_PROMPT] = {.name = STR_LITERAL("test_input_required_result_prompt"),
                       .listing = LISTING("test_input_required_result_prompt", "Asks first", "")},
    [MOMENTARY_PROMPT] = {.name = STR_LITERAL("test_momentary_prompt"),
                          .listing = LISTING("test_momentary_prompt", "Is not always there", "")},
};

#define MESSAGE(content) "{\"role\":\"user\",\"content\":" content "}"
#define TEXT(words)      "{\"type\":\"text\",\"text\":\"" words "\"}"
#define IMAGE            "{\"type\":\"image\",\"data\":\"" CONFORMANCE_PNG "\",\"mimeType\":\"image/png\"}"

static struct str argument_of(const struct mcp_call *call, struct str name)
{
    struct str value = STR_EMPTY;

    json_get_str(mcp_call_request(call)->prompt.arguments, name, &value);
    return value;
}

static void finish_written(struct mcp_call *call, struct json_writer *writer,
                           const struct buf *result)
{
    if (json_writer_finish(writer) < 0)
        conformance_fail(call, ERR_TOO_LARGE);
    else
        mcp_call_finish(call, buf_view(result));
}

static void write_text(struct json_writer *writer, struct str key, struct str text)
{
    json_key(writer, key);
    json_write_str(writer, text);
}

/* One message of the user, open for its content. */
static void begin_message(struct json_writer *writer)
{
    json_begin_object(writer);
    json_key(writer, STR("messages"));
    json_begin_array(writer);
    json_begin_object(writer);
    write_text(writer, STR("role"), STR("user"));
    json_key(writer, STR("content"));
    json_begin_object(writer);
}

static void get_with_arguments(struct mcp_call *call)
{
    cleanup_buf struct buf result = BUF_INIT(CONFORMANCE_RESULT_BYTES);
    cleanup_buf struct buf text = BUF_INIT(CONFORMANCE_RESULT_BYTES);
    struct json_writer writer;

    if (buf_printf(&text, "Prompt with arguments: arg1='%.*s', arg2='%.*s'",
                   STR_ARG(argument_of(call, STR("arg1"))),
                   STR_ARG(argument_of(call, STR("arg2")))) < 0) {
        conformance_fail(call, ERR_TOO_LARGE);
        return;
    }
    json_writer_init(&writer, &result);
    begin_message(&writer);
    write_text(&writer, STR("type"), STR("text"));
    write_text(&writer, STR("text"), buf_view(&text));
    json_end_object(&writer);
    json_end_object(&writer);
    json_end_array(&writer);
    json_end_object(&writer);
    finish_written(call, &writer, &result);
}

static void get_with_resource(struct mcp_call *call)
{
    cleanup_buf struct buf result = BUF_INIT(CONFORMANCE_RESULT_BYTES);
    struct json_writer writer;

    json_writer_init(&writer, &result);
    begin_message(&writer);
    write_text(&writer, STR("type"), STR("resource"));
    json_key(&writer, STR("resource"));
    json_begin_object(&writer);
    write_text(&writer, STR("uri"), argument_of(call, STR("resourceUri")));
    write_text(&writer, STR("mimeType"), STR("text/plain"));
    write_text(&writer, STR("text"), STR("Embedded resource content for testing."));
    json_end_object(&writer);
    json_end_object(&writer);
    json_end_object(&writer);
    json_splice(&writer, STR(MESSAGE(TEXT("Please process the embedded resource above."))));
    json_end_array(&writer);
    json_end_object(&writer);
    finish_written(call, &writer, &result);
}

void conformance_get_prompt(struct mcp_call *call)
{
    switch (
        (enum conformance_prompt)(mcp_call_request(call)->prompt.prompt - conformance_prompts)) {
    case SIMPLE_PROMPT:
    case MOMENTARY_PROMPT:
        mcp_call_finish(call, STR("{\"messages\":[" MESSAGE(
                                  TEXT("This is a simple prompt for testing.")) "]}"));
        return;
    case PROMPT_WITH_ARGUMENTS:
        get_with_arguments(call);
        return;
    case PROMPT_WITH_EMBEDDED_RESOURCE:
        get_with_resource(call);
        return;
    case PROMPT_WITH_IMAGE:
        mcp_call_finish(call, STR("{\"messages\":[" MESSAGE(IMAGE) "," MESSAGE(
                                  TEXT("Please analyze the image above.")) "]}"));
        return;
    case ASKING_PROMPT:
        conformance_ask(call);
        return;
    case CONFORMANCE_PROMPTS:
        assert(false && "no prompt has this number");
        return;
    }
}

void conformance_complete(struct mcp_call *call)
{
    static const struct str known[] = {STR_LITERAL("paris"), STR_LITERAL("park"),
                                       STR_LITERAL("party"), STR_LITERAL("test1")};
    cleanup_buf struct buf result = BUF_INIT(CONFORMANCE_RESULT_BYTES);
    struct json_writer writer;

    json_writer_init(&writer, &result);
    json_begin_object(&writer);
    json_key(&writer, STR("completion"));
    json_begin_object(&writer);
    json_key(&writer, STR("values"));
    json_begin_array(&writer);
    for (size_t i = 0; i < array_size(known); i++) {
        if (str_starts_with(known[i], mcp_call_request(call)->complete.value))
            json_write_str(&writer, known[i]);
    }
    json_end_array(&writer);
    json_end_object(&writer);
    json_end_object(&writer);
    finish_written(call, &writer, &result);
}

/* ---- resources ---- */

#define TEMPLATE_BEGIN "test://template/"
#define TEMPLATE_END   "/data"

const struct str conformance_templates =
    STR_LITERAL("[{\"uriTemplate\":\"" TEMPLATE_BEGIN "{id}" TEMPLATE_END
                "\",\"name\":\"template\",\"description\":\"One for each number\","
                "\"mimeType\":\"application/json\"}]");

static const struct resource {
    struct str uri;
    struct str listing;
    struct str contents;
} resources[] = {
#define RESOURCE(called, type, contents)                                                           \
    {                                                                                              \
        STR_LITERAL("test://" called),                                                             \
            STR_LITERAL("{\"uri\":\"test://" called "\",\"name\":\"" called                        \
                        "\",\"description\":\"For the suites\",\"mimeType\":\"" type "\"}"),       \
            STR_LITERAL("{\"contents\":[{\"uri\":\"test://" called "\",\"mimeType\":\"" type       \
                        "\"," contents "}]}")                                                      \
    }
    RESOURCE("static-text", "text/plain",
             "\"text\":\"This is the content of the static text resource.\""),
    RESOURCE("static-binary", "image/png", "\"blob\":\"" CONFORMANCE_PNG "\""),
    RESOURCE("watched-resource", "text/plain", "\"text\":\"It may change.\""),
#undef RESOURCE
};

static const struct resource *find_resource(struct str uri)
{
    for (size_t i = 0; i < array_size(resources); i++) {
        if (str_eq(resources[i].uri, uri))
            return &resources[i];
    }
    return NULL;
}

void conformance_list_resources(struct mcp_call *call)
{
    cleanup_buf struct buf result = BUF_INIT(CONFORMANCE_RESULT_BYTES);
    struct json_writer writer;

    json_writer_init(&writer, &result);
    json_begin_object(&writer);
    json_key(&writer, STR("resources"));
    json_begin_array(&writer);
    for (size_t i = 0; i < array_size(resources); i++)
        json_splice(&writer, resources[i].listing);
    json_end_array(&writer);
    json_end_object(&writer);
    finish_written(call, &writer, &result);
}

/* The part of the address that the template leaves open; empty for another address. */
static struct str template_id(struct str uri)
{
    const struct str begin = STR(TEMPLATE_BEGIN);
    const struct str end = STR(TEMPLATE_END);

    if (!str_starts_with(uri, begin) || !str_ends_with(uri, end) || uri.len <= begin.len + end.len)
        return STR_EMPTY;
    return str_slice(uri, begin.len, uri.len - begin.len - end.len);
}

static void read_template(struct mcp_call *call, struct str id)
{
    cleanup_buf struct buf text = BUF_INIT(CONFORMANCE_RESULT_BYTES);
    cleanup_buf struct buf result = BUF_INIT(CONFORMANCE_RESULT_BYTES);
    cleanup_buf struct buf words = BUF_INIT(CONFORMANCE_RESULT_BYTES);
    struct json_writer writer;

    (void)buf_printf(&words, "Data for ID: %.*s", STR_ARG(id));
    json_writer_init(&writer, &text);
    json_begin_object(&writer);
    write_text(&writer, STR("id"), id);
    json_key(&writer, STR("templateTest"));
    json_write_bool(&writer, true);
    write_text(&writer, STR("data"), buf_view(&words));
    json_end_object(&writer);
    if (json_writer_finish(&writer) < 0) {
        conformance_fail(call, ERR_TOO_LARGE);
        return;
    }
    json_writer_init(&writer, &result);
    json_begin_object(&writer);
    json_key(&writer, STR("contents"));
    json_begin_array(&writer);
    json_begin_object(&writer);
    write_text(&writer, STR("uri"), mcp_call_request(call)->uri);
    write_text(&writer, STR("mimeType"), STR("application/json"));
    write_text(&writer, STR("text"), buf_view(&text));
    json_end_object(&writer);
    json_end_array(&writer);
    json_end_object(&writer);
    finish_written(call, &writer, &result);
}

void conformance_read_resource(struct mcp_call *call)
{
    const struct resource *resource = find_resource(mcp_call_request(call)->uri);
    struct str id = template_id(mcp_call_request(call)->uri);

    if (resource != NULL)
        mcp_call_finish(call, resource->contents);
    else if (id.len > 0)
        read_template(call, id);
    else
        conformance_fail(call, ERR_NOT_FOUND);
}

void conformance_subscribe(struct mcp_call *call)
{
    for (size_t i = 0; i < mcp_call_request(call)->subscribe.count; i++) {
        if (find_resource(mcp_call_request(call)->subscribe.uris[i]) == NULL)
            mcp_call_refuse_uri(call, i);
    }
    mcp_call_finish(call, STR("{}"));
}
