/* SPDX-License-Identifier: Apache-2.0 */
#include "hostfs/discovery.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "base/jsonwrite.h"
#include "hostfs/runs.h"
#include "hostfs/service.h"
#include "media/wire.h"

static void put_formats(struct json_writer *json, unsigned features)
{
    json_key(json, STR("formats"));
    json_begin_array(json);
    for (int i = MEDIA_JPEG; i < MEDIA_FORMAT_END; i++)
        if ((features & 1U << (HOSTFS_FORMAT_SHIFT + i)) != 0)
            json_write_str(json, str_from(media_format_name((enum media_format)i)));
    json_end_array(json);
}

/* In the second major what is not there is left out, and what is has no word `supported`. */
static void put_feature(struct json_writer *json, struct str key, unsigned feature,
                        unsigned features, enum hostfs_major major)
{
    bool is_there = (features & feature) != 0;

    if (!is_there && major == HOSTFS_V2)
        return;
    json_key(json, key);
    json_begin_object(json);
    if (major == HOSTFS_V1)
        json_put_bool(json, STR("supported"), is_there);
    if (is_there && feature == HOSTFS_HAS_IMAGE)
        put_formats(json, features);
    json_end_object(json);
}

/* In the second major only those that are there. */
static void put_transport(struct json_writer *json, unsigned features, enum hostfs_major major)
{
    static const struct {
        struct str name;
        unsigned feature;
    } protocols[] = {{STR_LITERAL("ftp"), HOSTFS_HAS_FTP},
                     {STR_LITERAL("sftp"), HOSTFS_HAS_SFTP},
                     {STR_LITERAL("ssh"), HOSTFS_HAS_SSH}};

    if (major == HOSTFS_V2 && (features & HOSTFS_HAS_TRANSPORT) == 0)
        return;
    json_key(json, STR("transport"));
    json_begin_object(json);
    for (size_t i = 0; i < array_size(protocols); i++)
        if (major == HOSTFS_V1 || (features & protocols[i].feature) != 0)
            json_put_bool(json, protocols[i].name, (features & protocols[i].feature) != 0);
    json_end_object(json);
}

static void put_files(struct json_writer *json, const struct discovery *discovery,
                      enum hostfs_major major)
{
    json_key(json, STR("fs"));
    json_begin_object(json);
    if (major == HOSTFS_V1)
        json_put_bool(json, STR("supported"), true);
    json_put_str(json, STR("sandboxRoot"), STR(HOSTFS_ROOT));
    json_put_int(json, STR("maxFileSizeBytes"), (int64_t)discovery->max_file_bytes);
    put_feature(json, STR("image"), HOSTFS_HAS_IMAGE, discovery->features, major);
    put_feature(json, STR("pdf"), HOSTFS_HAS_PDF, discovery->features, major);
    put_transport(json, discovery->features, major);
    json_end_object(json);
}

/* There are no conversations here: host.fs alone. */
static void put_limits(struct json_writer *json)
{
    json_key(json, STR("supportedEnvelopes"));
    json_begin_array(json);
    json_end_array(json);
    json_key(json, STR("schemaVersions"));
    json_begin_object(json);
    json_end_object(json);
    json_key(json, STR("limits"));
    json_begin_object(json);
    json_put_int(json, STR("clarificationRounds"), 0);
    json_put_int(json, STR("schemaRounds"), 0);
    json_put_int(json, STR("envelopesPerTurn"), 1);
    json_end_object(json);
}

int discovery_write(const struct discovery *discovery, enum hostfs_major major, struct buf *out)
{
    struct json_writer json;

    json_writer_init(&json, out);
    json_begin_object(&json);
    json_put_str(&json, STR("protocolVersion"), major == HOSTFS_V1 ? STR("1.0") : STR("2.0"));
    json_key(&json, STR("implementation"));
    json_begin_object(&json);
    json_put_str(&json, STR("name"), STR("gatehouse"));
    json_put_str(&json, STR("version"), STR(GATEHOUSE_VERSION));
    json_end_object(&json);
    put_limits(&json);
    if (discovery->has_files)
        put_files(&json, discovery, major);
    if (discovery->has_files && major == HOSTFS_V2) {
        json_key(&json, STR("fixtures"));
        json_begin_array(&json);
        json_write_str(&json, STR(RUNS_WORKFLOW));
        json_end_array(&json);
    }
    json_end_object(&json);
    return json_writer_finish(&json);
}

/* ---- OpenAPI ---- */

static bool is_of_transport(struct str key)
{
    return str_ends_with(key, STR("/transport")) || str_starts_with(key, STR("Transport"));
}

/* Objects without the members that only transport has: its path, and components named after it. */
static void write_without_transport(struct json_writer *json, const struct json_value *object)
{
    json_begin_object(json);
    json_each_member (key, object) {
        if (is_of_transport(json_str(key)))
            continue;
        json_key(json, json_str(key));
        if (key[1].type == JSON_OBJECT)
            write_without_transport(json, &key[1]);
        else
            json_write_value(json, &key[1]);
    }
    json_end_object(json);
}

int discovery_write_openapi(unsigned features, struct buf *out)
{
    cleanup_arena struct arena arena = ARENA_INIT(8 << 20);
    const struct json_value *document;
    struct json_writer json;
    int r;

    if ((features & HOSTFS_HAS_TRANSPORT) != 0)
        return buf_append_str(out, discovery_openapi);
    r = json_parse(&arena, discovery_openapi, JSON_LIMITS_DEFAULT, &document, NULL);
    if (r < 0)
        return r;
    json_writer_init(&json, out);
    write_without_transport(&json, document);
    return json_writer_finish(&json);
}
