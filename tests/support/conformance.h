/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What MCP's conformance suites expect of a server:
 *
 *     conformance_server.c   listens, and describes what is offered
 *     conformance_tools.c    tools that answer, at once or in steps
 *     conformance_ask.c      tools and a prompt that ask the client
 *     conformance_texts.c    prompts, resources, completion
 *
 * The suites define the names and texts.
 */
#ifndef TESTS_SUPPORT_CONFORMANCE_H
#define TESTS_SUPPORT_CONFORMANCE_H

#include "loop/loop.h"
#include "mcp/mcp.h"

/* A grey pixel, and two samples of silence. */
#define CONFORMANCE_PNG                                                                            \
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR42mNoAAAAggCB2kUIOwAAAABJRU5ErkJggg=="
#define CONFORMANCE_WAV "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQIAAACAgA=="

enum { CONFORMANCE_RESULT_BYTES = 64 << 10 };

/* In list order; the suites call the first one without arguments. */
enum conformance_tool {
    SIMPLE_TEXT,
    IMAGE_CONTENT,
    AUDIO_CONTENT,
    EMBEDDED_RESOURCE,
    MULTIPLE_CONTENT_TYPES,
    ERROR_HANDLING,
    JSON_SCHEMA,
    CUSTOM_HEADER,
    TOOL_WITH_LOGGING,
    LOGGING_TOOL,
    TOOL_WITH_PROGRESS,
    RECONNECTION,
    TRIGGER_TOOL_CHANGE,
    TRIGGER_PROMPT_CHANGE,
    MISSING_CAPABILITY,
    SAMPLING,
    ELICITATION,
    ELICITATION_DEFAULTS,
    ELICITATION_ENUMS,
    STREAMING_ELICITATION,
    INPUT_ELICITATION,
    INPUT_SAMPLING,
    INPUT_LIST_ROOTS,
    INPUT_REQUEST_STATE,
    INPUT_MULTIPLE,
    INPUT_MULTI_ROUND,
    INPUT_TAMPERED_STATE,
    INPUT_CAPABILITIES,
    MOMENTARY_TOOL, /* comes and goes */
    CONFORMANCE_TOOLS,
};

enum conformance_prompt {
    SIMPLE_PROMPT,
    PROMPT_WITH_ARGUMENTS,
    PROMPT_WITH_EMBEDDED_RESOURCE,
    PROMPT_WITH_IMAGE,
    ASKING_PROMPT,
    MOMENTARY_PROMPT, /* comes and goes */
    CONFORMANCE_PROMPTS,
};

extern const struct catalog_listing conformance_tools[CONFORMANCE_TOOLS];
extern const struct mcp_prompt conformance_prompts[CONFORMANCE_PROMPTS];
extern const struct str conformance_templates;

/* conformance_server.c: adds or removes the momentary one. */
void conformance_change_tools(void);
void conformance_change_prompts(void);

/* conformance_tools.c */
void conformance_run_tool(struct loop *loop, struct mcp_call *call);
/* Ends whatever the call does. */
void conformance_cancel(struct mcp_call *call);
/* A result with one text. */
void conformance_finish_text(struct mcp_call *call, struct str text);
void conformance_fail(struct mcp_call *call, int code);

/* conformance_ask.c: starts, and continues when there are answers. */
void conformance_ask(struct mcp_call *call);

/* conformance_texts.c */
void conformance_get_prompt(struct mcp_call *call);
void conformance_list_resources(struct mcp_call *call);
void conformance_read_resource(struct mcp_call *call);
void conformance_subscribe(struct mcp_call *call);
void conformance_complete(struct mcp_call *call);

#endif
