/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/sandboxd/daytona/routes.h"

#include "programs/sandboxd/daytona/buildlog.h"
#include "programs/sandboxd/daytona/files.h"
#include "programs/sandboxd/daytona/pty.h"
#include "programs/sandboxd/daytona/sandboxes.h"
#include "programs/sandboxd/daytona/session.h"
#include "programs/sandboxd/daytona/signing.h"
#include "programs/sandboxd/daytona/toolbox.h"

/* clang-format off */
static const struct endpoint endpoints[] = {
    {HTTP_METHOD_POST,   "/api/sandbox", ENDPOINT_KEY, DAYTONA_MAX_BODY_BYTES, daytona_create},
    {HTTP_METHOD_GET,    "/api/sandbox", ENDPOINT_KEY, 0, daytona_list},
    {HTTP_METHOD_GET,    "/api/sandbox/paginated", ENDPOINT_KEY, 0, daytona_list_pages},
    {HTTP_METHOD_GET,    "/api/sandbox/*", ENDPOINT_KEY, 0, daytona_get},
    {HTTP_METHOD_DELETE, "/api/sandbox/*", ENDPOINT_KEY, 0, daytona_remove},
    {HTTP_METHOD_POST,   "/api/sandbox/*/start", ENDPOINT_KEY, DAYTONA_MAX_BODY_BYTES, daytona_start},
    {HTTP_METHOD_POST,   "/api/sandbox/*/stop", ENDPOINT_KEY, DAYTONA_MAX_BODY_BYTES, daytona_stop},
    {HTTP_METHOD_PUT,    "/api/sandbox/*/labels", ENDPOINT_KEY, DAYTONA_MAX_BODY_BYTES, daytona_set_labels},
    {HTTP_METHOD_POST,   "/api/sandbox/*/autostop/*", ENDPOINT_KEY, DAYTONA_MAX_BODY_BYTES, daytona_set_auto_stop},
    {HTTP_METHOD_POST,   "/api/sandbox/*/autodelete/*", ENDPOINT_KEY, DAYTONA_MAX_BODY_BYTES, daytona_set_auto_delete},
    {HTTP_METHOD_POST,   "/api/sandbox/*/autoarchive/*", ENDPOINT_KEY, DAYTONA_MAX_BODY_BYTES, daytona_set_auto_archive},
    {HTTP_METHOD_POST,   "/api/sandbox/*/archive", ENDPOINT_KEY, DAYTONA_MAX_BODY_BYTES, daytona_archive},
    {HTTP_METHOD_POST,   "/api/sandbox/*/last-activity", ENDPOINT_KEY, DAYTONA_MAX_BODY_BYTES, daytona_note_activity},
    {HTTP_METHOD_GET,    "/api/sandbox/*/toolbox-proxy-url", ENDPOINT_KEY, 0, daytona_get_toolbox_url},
    {HTTP_METHOD_GET,    "/api/sandbox/*/build-logs-url", ENDPOINT_KEY, 0, buildlog_get_url},
    {HTTP_METHOD_GET,    "/api/sandbox/*/build-logs", ENDPOINT_KEY, 0, buildlog_get},
    {HTTP_METHOD_GET,    "/api/sandbox/*/signing-key", ENDPOINT_KEY, 0, signing_get},
    {HTTP_METHOD_POST,   "/api/sandbox/*/signing-key/rotate", ENDPOINT_KEY, DAYTONA_MAX_BODY_BYTES, signing_rotate},
    {HTTP_METHOD_POST,   "/toolbox/*/env", ENDPOINT_KEY, TOOLBOX_MAX_BODY_BYTES, toolbox_set_env},
    {HTTP_METHOD_GET,    "/toolbox/*/work-dir", ENDPOINT_KEY, 0, toolbox_work_dir},
    {HTTP_METHOD_GET,    "/toolbox/*/user-home-dir", ENDPOINT_KEY, 0, toolbox_home_dir},
    {HTTP_METHOD_POST,   "/toolbox/*/process/execute", ENDPOINT_KEY, TOOLBOX_MAX_BODY_BYTES, toolbox_execute},
    {HTTP_METHOD_POST,   "/toolbox/*/process/code-run", ENDPOINT_KEY, TOOLBOX_MAX_BODY_BYTES, toolbox_run_code},
    {HTTP_METHOD_POST,   "/toolbox/*/process/session", ENDPOINT_KEY, TOOLBOX_MAX_BODY_BYTES, session_create},
    {HTTP_METHOD_GET,    "/toolbox/*/process/session", ENDPOINT_KEY, 0, session_list},
    {HTTP_METHOD_GET,    "/toolbox/*/process/session/*", ENDPOINT_KEY, 0, session_get},
    {HTTP_METHOD_DELETE, "/toolbox/*/process/session/*", ENDPOINT_KEY, 0, session_remove},
    {HTTP_METHOD_POST,   "/toolbox/*/process/session/*/exec", ENDPOINT_KEY, TOOLBOX_MAX_BODY_BYTES, session_execute},
    {HTTP_METHOD_GET,    "/toolbox/*/process/session/*/command/*", ENDPOINT_KEY, 0, session_get_command},
    {HTTP_METHOD_GET,    "/toolbox/*/process/session/*/command/*/logs", ENDPOINT_SOCKET, 0, session_logs},
    {HTTP_METHOD_POST,   "/toolbox/*/process/session/*/command/*/input", ENDPOINT_KEY, TOOLBOX_MAX_BODY_BYTES, session_input},
    {HTTP_METHOD_POST,   "/toolbox/*/process/pty", ENDPOINT_KEY, TOOLBOX_MAX_BODY_BYTES, pty_create},
    {HTTP_METHOD_GET,    "/toolbox/*/process/pty", ENDPOINT_KEY, 0, pty_list},
    {HTTP_METHOD_GET,    "/toolbox/*/process/pty/create-connect", ENDPOINT_SOCKET, 0, pty_create_and_connect},
    {HTTP_METHOD_GET,    "/toolbox/*/process/pty/*", ENDPOINT_KEY, 0, pty_get},
    {HTTP_METHOD_DELETE, "/toolbox/*/process/pty/*", ENDPOINT_KEY, 0, pty_remove},
    {HTTP_METHOD_POST,   "/toolbox/*/process/pty/*/resize", ENDPOINT_KEY, TOOLBOX_MAX_BODY_BYTES, pty_resize},
    {HTTP_METHOD_GET,    "/toolbox/*/process/pty/*/connect", ENDPOINT_SOCKET, 0, pty_connect},
    {HTTP_METHOD_GET,    "/toolbox/*/files", ENDPOINT_KEY, 0, dfiles_list},
    {HTTP_METHOD_DELETE, "/toolbox/*/files", ENDPOINT_KEY, 0, dfiles_remove},
    {HTTP_METHOD_GET,    "/toolbox/*/files/info", ENDPOINT_KEY, 0, dfiles_info},
    {HTTP_METHOD_POST,   "/toolbox/*/files/folder", ENDPOINT_KEY, TOOLBOX_MAX_BODY_BYTES, dfiles_make_folder},
    {HTTP_METHOD_POST,   "/toolbox/*/files/move", ENDPOINT_KEY, TOOLBOX_MAX_BODY_BYTES, dfiles_move},
    {HTTP_METHOD_POST,   "/toolbox/*/files/permissions", ENDPOINT_KEY, TOOLBOX_MAX_BODY_BYTES, dfiles_set_permissions},
    {HTTP_METHOD_GET,    "/toolbox/*/files/find", ENDPOINT_KEY, 0, dfiles_find},
    {HTTP_METHOD_GET,    "/toolbox/*/files/search", ENDPOINT_KEY, 0, dfiles_search},
    {HTTP_METHOD_POST,   "/toolbox/*/files/replace", ENDPOINT_KEY, TOOLBOX_MAX_BODY_BYTES, dfiles_replace},
    {HTTP_METHOD_POST,   "/toolbox/*/files/bulk-upload", ENDPOINT_KEY, ENDPOINT_STREAMED, dfiles_upload},
    {HTTP_METHOD_POST,   "/toolbox/*/files/bulk-download", ENDPOINT_KEY, TOOLBOX_MAX_BODY_BYTES, dfiles_download},
    {HTTP_METHOD_GET,    "/toolbox/*/files/download", ENDPOINT_SIGNED, 0, dfiles_download_one},
    {HTTP_METHOD_POST,   "/toolbox/*/files/upload-v2", ENDPOINT_SIGNED, ENDPOINT_STREAMED, dfiles_upload_one},
};
/* clang-format on */

const struct endpoint_table daytona_endpoints = {endpoints, array_size(endpoints)};
