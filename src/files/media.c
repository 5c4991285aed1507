/* SPDX-License-Identifier: Apache-2.0 */
#include "files/media.h"

#include "base/cleanup.h"
#include "base/encoding.h"

static const struct {
    struct str beginning;
    size_t more_at; /* where the rest of the mark stands; 0: there is none */
    struct str more;
    const char *type;
} marks[] = {
    {STR_LITERAL("\x89PNG\r\n\x1a\n"), 0, STR_LITERAL(""), "image/png"},
    {STR_LITERAL("\xFF\xD8\xFF"), 0, STR_LITERAL(""), "image/jpeg"},
    {STR_LITERAL("GIF87a"), 0, STR_LITERAL(""), "image/gif"},
    {STR_LITERAL("GIF89a"), 0, STR_LITERAL(""), "image/gif"},
    {STR_LITERAL("RIFF"), 8, STR_LITERAL("WEBP"), "image/webp"},
    {STR_LITERAL("%PDF-"), 0, STR_LITERAL(""), "application/pdf"},
};

static const struct ending {
    struct str text;
    const char *type;
    bool is_text;
} endings[] = {
    {STR_LITERAL("avif"), "image/avif", false},
    {STR_LITERAL("bmp"), "image/bmp", false},
    {STR_LITERAL("c"), "text/x-c", true},
    {STR_LITERAL("cjs"), "text/javascript", true},
    {STR_LITERAL("css"), "text/css", true},
    {STR_LITERAL("csv"), "text/csv", true},
    {STR_LITERAL("gif"), "image/gif", false},
    {STR_LITERAL("h"), "text/x-c", true},
    {STR_LITERAL("htm"), "text/html", true},
    {STR_LITERAL("html"), "text/html", true},
    {STR_LITERAL("ico"), "image/x-icon", false},
    {STR_LITERAL("jpeg"), "image/jpeg", false},
    {STR_LITERAL("jpg"), "image/jpeg", false},
    {STR_LITERAL("js"), "text/javascript", true},
    {STR_LITERAL("json"), "application/json", true},
    {STR_LITERAL("jsx"), "text/javascript", true},
    {STR_LITERAL("md"), "text/markdown", true},
    {STR_LITERAL("mjs"), "text/javascript", true},
    {STR_LITERAL("mp3"), "audio/mpeg", false},
    {STR_LITERAL("mp4"), "video/mp4", false},
    {STR_LITERAL("ogg"), "audio/ogg", false},
    {STR_LITERAL("otf"), "font/otf", false},
    {STR_LITERAL("pdf"), "application/pdf", false},
    {STR_LITERAL("png"), "image/png", false},
    {STR_LITERAL("py"), "text/x-python", true},
    {STR_LITERAL("rs"), "text/x-rust", true},
    {STR_LITERAL("sh"), "application/x-sh", true},
    {STR_LITERAL("svg"), "image/svg+xml", true},
    {STR_LITERAL("toml"), "application/toml", true},
    {STR_LITERAL("ts"), "text/x-typescript", true},
    {STR_LITERAL("tsx"), "text/x-typescript", true},
    {STR_LITERAL("ttf"), "font/ttf", false},
    {STR_LITERAL("txt"), "text/plain", true},
    {STR_LITERAL("wasm"), "application/wasm", false},
    {STR_LITERAL("wav"), "audio/wav", false},
    {STR_LITERAL("webm"), "video/webm", false},
    {STR_LITERAL("webp"), "image/webp", false},
    {STR_LITERAL("woff"), "font/woff", false},
    {STR_LITERAL("woff2"), "font/woff2", false},
    {STR_LITERAL("xml"), "application/xml", true},
    {STR_LITERAL("yaml"), "application/yaml", true},
    {STR_LITERAL("yml"), "application/yaml", true},
    {STR_LITERAL("zip"), "application/zip", false},
};

const char *media_type_of_content(struct str head)
{
    for (size_t i = 0; i < array_size(marks); i++)
        if (str_starts_with(head, marks[i].beginning) &&
            str_starts_with(str_slice(head, marks[i].more_at, head.len), marks[i].more))
            return marks[i].type;
    return NULL;
}

bool media_is_image(const char *type)
{
    return str_starts_with(str_from(type), STR("image/"));
}

bool media_has_early_nul(struct str content)
{
    return str_has_nul(str_slice(content, 0, ENCODING_LOOK_BYTES));
}

static const struct ending *find_ending(struct str name)
{
    const char *dot = name.len > 0 ? memrchr(name.ptr, '.', name.len) : NULL;
    struct str text;

    if (dot == NULL)
        return NULL;
    text = str_slice(name, (size_t)(dot - name.ptr) + 1, name.len);
    for (size_t i = 0; i < array_size(endings); i++)
        if (str_eq_nocase(text, endings[i].text))
            return &endings[i];
    return NULL;
}

const char *media_type_of_name(struct str name)
{
    const struct ending *ending = find_ending(name);

    return ending != NULL ? ending->type : NULL;
}

const char *media_type_of_text(struct str name)
{
    const struct ending *ending = find_ending(name);

    return ending != NULL && ending->is_text ? ending->type : "text/plain";
}

const char *media_type_of_bytes(struct str name)
{
    const struct ending *ending = find_ending(name);

    return ending != NULL && !ending->is_text ? ending->type : "application/octet-stream";
}
