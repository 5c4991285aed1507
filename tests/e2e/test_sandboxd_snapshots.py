#!/usr/bin/env python3
"""Images from Dockerfiles, their build contexts and snapshots, by the Daytona API and its little S3."""
import hashlib
import http.client
import io
import pathlib
import re
import sys
import tarfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from sandboxd_scene import PATIENCE, Scene, wait_until

HASH = hashlib.md5(b"any name").hexdigest()
OTHER = hashlib.md5(b"another name").hexdigest()


def archive(**files):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, content in files.items():
            entry = tarfile.TarInfo(name.replace("__", "/").replace("_dot_", "."))
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    return out.getvalue()


class Snapshots(Scene):
    def setUp(self):
        super().setUp()
        self.service = self.serve()
        self.addCleanup(lambda: self.assertEqual(self.service.end(), 0))

    def api(self, method, path, body=None, key=None, **query):
        return self.service.ask(method, "/api" + path, body, key=key, **query)

    def tenant(self):
        return self.service.ask("POST", "/admin/tenants", {"create_key": True})[2]["key"]["api_key"]

    def access(self, key=None):
        status, _, access = self.api("GET", "/object-storage/push-access", key=key)
        self.assertEqual(status, 200, access)
        self.assertEqual(access["storageUrl"], self.service.url + "/storage")
        return access

    def storage(self, access, method, path, body=None, headers=None, **query):
        return self.service.ask(method, f"/storage/{access['bucket']}{path}", body, key="", headers={
            "X-Amz-Security-Token": access["sessionToken"], "Authorization": "AWS4-HMAC-SHA256 Credential=x",
            **(headers or {})}, **query)

    def put(self, access, name, content, **headers):
        return self.storage(access, "PUT", f"/{access['organizationId']}/{name}/context.tar", content, headers)

    def has(self, access, name):
        status, headers, text = self.storage(access, "GET", "", **{
            "list-type": "2", "max-keys": "1", "prefix": f"{access['organizationId']}/{name}/"})
        self.assertEqual((status, headers["Content-Type"]), (200, "application/xml"), text)
        return b"<Key>" in text

    def build(self, lines, hashes=None, key=None, **more):
        info = {"dockerfileContent": "\n".join(lines) + "\n"}
        if hashes is not None:
            info["contextHashes"] = hashes
        return self.built(self.api("POST", "/sandbox", {"buildInfo": info, **more}, key=key), key)

    def built(self, answer, key=None):
        """The answer, or what became of it, if the build was not waited for."""
        if answer[0] != 200 or answer[2]["state"] != "pending_build":
            return answer
        path = f"/sandbox/{answer[2]['id']}"
        wait_until(lambda: self.api("GET", path, key=key)[2]["state"] not in ("building_snapshot", "starting"), "it is built")
        status, headers, record = self.api("GET", path, key=key)
        if record["state"] != "error":
            return status, headers, record
        log = self.api("GET", path + "/build-logs", key=key)[2].decode()
        return 400, headers, {"statusCode": 400, "message": f"{record['errorReason']}\n{log}"}

    def sandbox(self, *arguments, **more):
        status, _, record = self.build(*arguments, **more)
        self.assertEqual(status, 200, record)
        self.assertEqual(record["state"], "started")
        return record["id"]

    # ---- Dockerfiles ----

    def test_a_dockerfile_is_built_once_and_used(self):
        lines = ["FROM node:22", "# a comment", "ENV A=1 \\", "  B='two words'", "WORKDIR /srv/app",
                 "RUN echo \"$B\" > made && \\", "    date +%N > when", "USER root", 'ENTRYPOINT ["sleep"]',
                 'CMD ["1"]']
        first = self.sandbox(lines)
        second = self.sandbox(lines)
        for sandbox in (first, second):
            self.assertEqual(self.service.output(sandbox, 'pwd; cat made; echo "$A $B"'),
                             "/srv/app\ntwo words\n1 two words\n")
        self.assertEqual(*(self.service.output(each, "cat when") for each in (first, second)))
        words = "no image has the name node:22: the base is the system of this machine"
        self.assertEqual(self.api("GET", f"/sandbox/{first}")[2]["warning"], words)
        snapshot = self.api("POST", "/snapshots", {"name": "mine", "imageName": "node:22"})[2]
        self.assertEqual(snapshot["warning"], words)
        status, _, record = self.api("POST", "/sandbox", {"snapshot": "mine"})
        self.assertEqual((status, record["warning"]), (200, words))

    def test_a_failed_step_tells_its_output_and_nothing_is_created(self):
        status, _, error = self.build(["FROM x", "RUN echo before; echo wrong >&2; exit 3"])
        self.assertEqual((status, error["statusCode"]), (400, 400))
        self.assertRegex(error["message"], "(?s)step 2 failed with exit code 3.*before.*wrong")
        for lines, words in ((["RUN true"], "begins with FROM"), (["FROM x", "ADD a b"], "line 2: only FROM"),
                             (["FROM x", "COPY a b"], "build context"), (["FROM x", "COPY ../a b"], "build context"),
                             (["FROM x", "RUN cat <<EOF", "x", "EOF"], "here-documents"), ([""], "begins with FROM")):
            status, _, error = self.build(lines)
            self.assertEqual(status, 400, lines)
            self.assertRegex(error["message"], words)
        for info in ({}, [], "FROM x", {"dockerfileContent": 3}, {"dockerfileContent": "FROM x", "contextHashes": 3},
                     {"dockerfileContent": "FROM x", "contextHashes": [3]},
                     {"dockerfileContent": "FROM x", "contextHashes": [HASH]},
                     {"dockerfileContent": "FROM x", "contextHashes": [HASH] * 65}):
            self.assertEqual(self.api("POST", "/sandbox", {"buildInfo": info})[0], 400, info)
        self.assertEqual(self.api("GET", "/sandbox")[2]["items"], [])

    # ---- builds that take long ----

    def begin_build(self, *lines, key=None, **more):
        """Of a sandbox whose image takes longer than its request waits."""
        info = {"dockerfileContent": "\n".join(("FROM x", *lines)) + "\n"}
        status, _, record = self.api("POST", "/sandbox", {"buildInfo": info, **more}, key=key)
        self.assertEqual((status, record["state"]), (200, "pending_build"), record)
        return record

    def follow(self, path):
        connection = http.client.HTTPConnection("127.0.0.1", self.service.port, timeout=PATIENCE)
        self.addCleanup(connection.close)
        connection.request("GET", path + "?follow=true", headers={"Authorization": f"Bearer {self.service.key}"})
        return connection.getresponse()

    def test_a_long_build_is_followed(self):
        record = self.begin_build("RUN echo first; sleep 2; echo last >&2", name="long")
        path = f"/sandbox/{record['id']}"
        for known in (path, "/sandbox/long"):
            status, _, building = self.api("GET", known)
            self.assertEqual((status, building["id"], building["state"]), (200, record["id"], "building_snapshot"))
        self.assertRegex(self.api("POST", path + "/start")[2]["message"], "being built")
        self.assertEqual(self.api("POST", "/sandbox", {"name": "long"})[0], 409)
        status, _, answer = self.api("GET", path + "/build-logs-url")
        self.assertEqual((status, answer), (200, {"url": f"{self.service.url}/api{path}/build-logs"}))
        log = self.follow(f"/api{path}/build-logs")
        self.assertEqual((log.status, log.headers["Content-Type"]), (200, "text/plain; charset=utf-8"))
        lines = [log.readline().decode() for _ in range(4)]
        self.assertEqual(lines, ["step 1/2: FROM x\n", "warning: no image has the name x: the base is the system of this machine\n",
                                 "step 2/2: RUN echo first; sleep 2; echo last >&2\n", "first\n"])
        self.assertEqual(self.api("GET", path)[2]["state"], "building_snapshot")  # it comes while it is built
        self.assertEqual(log.read(), b"last\n")
        wait_until(lambda: self.api("GET", path)[2]["state"] == "started", "the sandbox runs")
        self.assertEqual(self.api("GET", path + "/build-logs")[2].decode(), "".join(lines) + "last\n")
        self.assertEqual(self.api("GET", "/sandbox/long/build-logs-url")[0], 200)
        self.assertEqual(self.service.output(record["id"], "echo runs"), "runs\n")
        # What is there needs no build, and has no log.
        sandbox = self.sandbox(["FROM x", "RUN echo first; sleep 2; echo last >&2"])
        self.assertEqual(self.api("GET", f"/sandbox/{sandbox}/build-logs")[::2], (200, b""))
        key = self.tenant()
        for what in ("", "/build-logs", "/build-logs-url"):
            self.assertEqual(self.api("GET", path + what, key=key)[0], 404)
        self.assertEqual(self.api("GET", path + "/build-logs", follow="maybe")[0], 400)
        self.assertEqual(self.api("DELETE", path)[0], 200)
        self.assertEqual(self.api("GET", path + "/build-logs")[0], 404)

    def test_a_long_build_that_fails(self):
        path = f"/sandbox/{self.begin_build('RUN echo before; sleep 2; exit 3')['id']}"
        log = self.follow(f"/api{path}/build-logs").read().decode()
        self.assertRegex(log, r"\nbefore\nstep 2 failed with exit code 3.*\n$")
        record = self.api("GET", path)[2]
        self.assertEqual(record["state"], "error")
        self.assertRegex(record["errorReason"], "^step 2 failed with exit code 3")
        self.assertEqual(self.api("DELETE", path)[2]["state"], "destroyed")
        self.assertEqual(self.api("GET", path)[0], 404)
        self.assertEqual(self.api("GET", "/sandbox")[2]["items"], [])

    def test_a_sandbox_is_deleted_while_it_is_built(self):
        path = f"/sandbox/{self.begin_build('RUN sleep 2', name='gone')['id']}"
        log = self.follow(f"/api{path}/build-logs")
        self.assertEqual(self.api("DELETE", "/sandbox/gone")[2]["state"], "destroyed")
        self.assertIn(b"RUN sleep 2", log.read())
        self.assertEqual(self.api("GET", path)[0], 404)
        # What was begun is there for others.
        self.sandbox(["FROM x", "RUN sleep 2"], name="gone")

    def test_the_service_ends_while_somebody_waits(self):
        path = f"/sandbox/{self.begin_build('RUN sleep 60')['id']}"
        log = self.follow(f"/api{path}/build-logs")
        self.assertEqual(self.service.end(), 0)
        self.assertIn(b"RUN sleep 60", log.read())

    # ---- build contexts ----

    def test_contexts_are_copied_from(self):
        access = self.access()
        self.assertFalse(self.has(access, HASH))
        self.assertEqual(self.put(access, HASH, archive(tmp__x__one_dot_txt=b"one\n", tmp__x__two_dot_txt=b"two\n"))[0],
                         200)
        self.assertEqual(self.put(access, OTHER, archive(other=b"three\n"))[0], 200)
        self.assertTrue(self.has(access, HASH))
        sandbox = self.sandbox(["FROM x", "COPY /tmp/x/one.txt /data/1", "COPY /tmp/x/*.txt /all/",
                                "WORKDIR /srv", "COPY other ."], [HASH, OTHER])
        self.assertEqual(self.service.output(sandbox, "cat /data/1 /srv/other; ls /all"),
                         "one\nthree\none.txt\ntwo.txt\n")
        # Other content under the same name builds anew.
        self.assertEqual(self.put(access, OTHER, archive(other=b"four\n"))[0], 200)
        sandbox = self.sandbox(["FROM x", "COPY other /o"], [OTHER])
        self.assertEqual(self.service.output(sandbox, "cat /o"), "four\n")

    def test_a_context_leads_nowhere_else(self):
        access = self.access()
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w") as tar:
            for name, target in (("link", "/etc/passwd"), ("up", "../../../etc"), ("tree", "/etc")):
                entry = tarfile.TarInfo(name)
                entry.type, entry.linkname = tarfile.SYMTYPE, target
                tar.addfile(entry)
            entry = tarfile.TarInfo("../../outside")
            tar.addfile(entry)
        self.put(access, HASH, out.getvalue())
        for source in ("link", "up", "up/passwd", "tree/*", "/etc/passwd", "$HOME"):
            status, _, error = self.build(["FROM x", f"COPY {source} /got"], [HASH])
            self.assertEqual(status, 400, source)
        self.put(access, OTHER, b"no archive" * 100)
        self.assertEqual(self.build(["FROM x", "COPY a /got"], [OTHER])[0], 400)

    def test_contexts_belong_to_their_owner(self):
        keys = [self.tenant(), self.tenant()]
        access = [self.access(key) for key in keys]
        self.assertEqual(self.put(access[0], HASH, archive(secret=b"mine\n"))[0], 200)
        self.assertFalse(self.has(access[1], HASH))
        self.assertEqual(self.build(["FROM x", "COPY secret /s"], [HASH], key=keys[1])[0], 400)
        for method in ("GET", "PUT"):
            path = "" if method == "GET" else f"/{access[0]['organizationId']}/{HASH}/context.tar"
            query = {"prefix": f"{access[0]['organizationId']}/{HASH}/"} if method == "GET" else {}
            status, _, text = self.storage(access[1], method, path, None if method == "GET" else b"x", **query)
            self.assertEqual(status, 403, text)
            self.assertIn(b"<Code>AccessDenied</Code>", text)
        self.assertEqual(self.build(["FROM x", "COPY secret /s"], [HASH], key=keys[0])[0], 200)

    def test_hostile_requests_for_storage(self):
        access = self.access()
        good = archive(a=b"a")
        own = f"/{access['organizationId']}/{HASH}/context.tar"
        for ticket in ("", "x", "..", access["sessionToken"] + "0", access["sessionToken"][:-1],
                       access["sessionToken"].replace(".", ".9", 1), "a" * 5000, self.service.key):
            for method, path in (("PUT", own), ("GET", "")):
                status, _, text = self.storage({**access, "sessionToken": ticket}, method, path,
                                               good if method == "PUT" else None)
                self.assertEqual(status, 403, ticket)
        for path in (own.replace(HASH, "../" + HASH), own.replace(HASH, HASH.upper()), own.replace(HASH, HASH[:-1]),
                     own.replace(HASH, HASH + "0"), own.replace("context.tar", "other"), own + "/x", "/x",
                     own.replace(access["organizationId"], "someone"), own.replace("/", "//"), "/%2e%2e/%2e%2e/x"):
            self.assertIn(self.storage(access, "PUT", path, good)[0], (400, 401, 403, 404, 405), path)
        # What was signed must be what is there; encodings are not understood.
        sha = hashlib.sha256(good).hexdigest()
        self.assertEqual(self.put(access, HASH, good, **{"X-Amz-Content-Sha256": "0" * 64})[0], 400)
        self.assertEqual(self.put(access, HASH, b"")[0], 400)
        self.assertEqual(self.put(access, HASH, good, **{"Content-Encoding": "aws-chunked"})[0], 501)
        self.assertEqual(self.put(access, HASH, bytes((15 << 20) + 1))[0], 400)
        self.assertFalse(self.has(access, HASH))
        self.assertEqual(self.put(access, HASH, good, **{"X-Amz-Content-Sha256": sha})[0], 200)
        self.assertTrue(self.has(access, HASH))
        for prefix in ("", "/", access["organizationId"], access["organizationId"] + "/", "x/y/", "<&>",
                       f"{access['organizationId']}/{HASH}", f"{access['organizationId']}/{HASH}/more"):
            status, _, text = self.storage(access, "GET", "", prefix=prefix)
            self.assertEqual(status, 403, prefix)
            self.assertNotIn(HASH.encode(), text)
        self.assertEqual(self.storage({**access, "bucket": "other"}, "GET", "", prefix="x")[0], 404)
        # Much is kept only up to a limit: the oldest go.
        for number in range(6):
            self.assertEqual(self.put(access, f"{number:032x}", bytes(15 << 20))[0], 200)
        self.assertFalse(self.has(access, HASH))

    # ---- contexts in parts ----

    def begin(self, access, name=HASH):
        status, _, text = self.storage(access, "POST", self.object(access, name), b"", uploads="")
        self.assertEqual(status, 200, text)
        return re.search(rb"<UploadId>([0-9a-f]{32})</UploadId>", text)[1].decode()

    def object(self, access, name=HASH):
        return f"/{access['organizationId']}/{name}/context.tar"

    def put_part(self, access, upload, number, content, name=HASH, **headers):
        status, headers, text = self.storage(access, "PUT", self.object(access, name), content, headers,
                                             partNumber=number, uploadId=upload)
        return status, headers["ETag"], text

    def complete(self, access, upload, tags, name=HASH):
        body = "".join(f"<Part><ETag>{tag.replace(chr(34), '&quot;')}</ETag><PartNumber>{number}</PartNumber></Part>"
                       for number, tag in tags)
        return self.storage(access, "POST", self.object(access, name),
                            f'<CompleteMultipartUpload xmlns="http://s3">{body}</CompleteMultipartUpload>',
                            uploadId=upload)

    def test_a_context_in_parts_is_one(self):
        access = self.access()
        content = archive(large=bytes(range(256)) * (70 << 10), last=b"end\n")  # 17.5 MiB
        pieces = [content[at:at + (5 << 20)] for at in range(0, len(content), 5 << 20)]
        upload = self.begin(access)
        tags = {}
        for number in reversed(range(1, len(pieces) + 1)):  # in any order, and again
            for body in (b"wrong", pieces[number - 1]):
                status, tags[number], text = self.put_part(access, upload, number, body)
                self.assertEqual(status, 200, text)
        self.assertFalse(self.has(access, HASH))
        status, _, text = self.complete(access, upload, sorted(tags.items()))
        self.assertEqual(status, 200, text)
        self.assertIn(b"<CompleteMultipartUploadResult>", text)
        self.assertTrue(self.has(access, HASH))
        self.assertEqual(self.complete(access, upload, sorted(tags.items()))[0], 404)
        sandbox = self.sandbox(["FROM x", "COPY large last /got/"], [HASH])
        self.assertEqual(self.service.output(sandbox, "wc -c < /got/large; cat /got/last"), f"{256 * (70 << 10)}\nend\n")

    def test_hostile_uploads_in_parts(self):
        keys = [self.tenant(), self.tenant()]
        access, other = (self.access(key) for key in keys)
        upload = self.begin(access)
        own = self.object(access)
        status, tag, _ = self.put_part(access, upload, 1, b"part")
        self.assertEqual(status, 200)
        # Another tenant, another object, another id.
        self.assertEqual(self.storage(other, "PUT", own, b"x", partNumber=1, uploadId=upload)[0], 403)
        self.assertEqual(self.put_part(other, upload, 1, b"x")[0], 404)
        self.assertEqual(self.complete(other, upload, [(1, tag)])[0], 404)
        self.assertEqual(self.storage(other, "DELETE", self.object(other), uploadId=upload)[0], 404)
        self.assertEqual(self.put_part(access, upload, 1, b"x", OTHER)[0], 404)
        for wrong in ("", "x", upload[:-1], upload.upper() + "0", "../" + upload, "%00"):
            self.assertEqual(self.put_part(access, wrong, 1, b"x")[0], 404, wrong)
        # Numbers, bodies and queries that are none.
        for number in ("0", "65", "-1", "1.5", "", "x", "9" * 40):
            self.assertEqual(self.put_part(access, upload, number, b"x")[0], 400, number)
        self.assertEqual(self.put_part(access, upload, 2, b"")[0], 400)
        self.assertEqual(self.put_part(access, upload, 2, b"x", **{"X-Amz-Content-Sha256": "0" * 64})[0], 400)
        self.assertEqual(self.put_part(access, upload, 2, b"x", **{"Content-Encoding": "aws-chunked"})[0], 501)
        self.assertEqual(self.put_part(access, upload, 2, bytes((15 << 20) + 1))[0], 400)
        for method, query in (("PUT", {"partNumber": 1}), ("PUT", {"uploadId": upload}), ("PUT", {"uploads": ""}),
                              ("POST", {}), ("POST", {"uploads": "", "uploadId": upload}),
                              ("POST", {"uploadId": upload, "partNumber": 1})):
            self.assertEqual(self.storage(access, method, own, b"x", **query)[0], 400, (method, query))
        self.assertEqual(self.storage(access, "DELETE", own)[0], 403)
        # Lists that are not what is there.
        for tags in ([], [(1, "x")], [(2, tag)], [(1, tag), (1, tag)], [(1, tag), (2, tag)], [("1]", tag)]):
            self.assertEqual(self.complete(access, upload, tags)[0], 400, tags)
        part = f"<Part><PartNumber>1</PartNumber><ETag>{tag}</ETag></Part>"
        for body in ("", "<", part, f"<CompleteMultipartUpload><!-- {part} --></CompleteMultipartUpload>",
                     f"<CompleteMultipartUpload>{part}<Part></CompleteMultipartUpload>",
                     '<!DOCTYPE x [<!ENTITY e "x">]><CompleteMultipartUpload>' + part, "x" * (70 << 10)):
            self.assertEqual(self.storage(access, "POST", own, body, uploadId=upload)[0], 400, body[:80])
        self.assertFalse(self.has(access, HASH))
        # So much is kept of one, and of one owner, and others are not in its way.
        for number in (1, 2, 3):
            self.assertEqual(self.put_part(access, upload, number, bytes(15 << 20))[0], 200)
        self.assertEqual(self.put_part(access, upload, 4, bytes(4 << 20))[0], 400)
        second = self.begin(access)
        self.assertEqual(self.put_part(access, second, 1, bytes(4 << 20))[0], 503)
        self.assertEqual(self.put_part(other, self.begin(other), 1, bytes(15 << 20))[0], 200)
        self.assertEqual(self.storage(access, "DELETE", own, uploadId=upload)[0], 204)
        self.assertEqual(self.storage(access, "DELETE", own, uploadId=upload)[0], 404)
        self.assertEqual(self.put_part(access, second, 1, bytes(4 << 20))[0], 200)
        for _ in range(7):
            self.begin(access)
        self.assertEqual(self.storage(access, "POST", own, b"", uploads="")[0], 503)

    # ---- snapshots ----

    def test_snapshots_are_made_listed_used_and_deleted(self):
        status, _, made = self.api("POST", "/snapshots", {
            "name": "mine", "cpu": 1, "memory": 1, "disk": 3,
            "buildInfo": {"dockerfileContent": "FROM x\nRUN echo hi > /made\n"}})
        self.assertEqual(status, 200, made)
        self.assertEqual((made["name"], made["state"], made["mem"], made["general"]), ("mine", "active", 1, False))
        self.assertEqual(self.api("POST", "/snapshots", {"name": "mine", "imageName": "x"})[0], 409)
        status, _, plain = self.api("POST", "/snapshots", {"name": "plain", "imageName": "ubuntu:24.04"})
        self.assertEqual((status, plain["imageName"]), (200, "ubuntu:24.04"))
        self.assertEqual(self.api("GET", "/snapshots/mine")[2], made)
        self.assertEqual(self.api("GET", "/snapshots/" + made["id"])[2], made)
        listed = self.api("GET", "/snapshots", page=1, limit=1)[2]
        self.assertEqual((listed["items"], listed["total"], listed["totalPages"]), ([made], 2, 2))
        self.assertEqual(self.api("GET", "/snapshots", page=2, limit=1)[2]["items"], [plain])
        status, _, record = self.api("POST", "/sandbox", {"snapshot": "mine"})
        self.assertEqual((status, record["snapshot"], record["memory"]), (200, "mine", 1))
        self.assertEqual(self.service.output(record["id"], "cat /made"), "hi\n")
        # Its image is in use, also when the sandbox is gone.
        self.assertEqual(self.api("DELETE", "/sandbox/" + record["id"])[0], 200)
        self.assertEqual(self.service.ask("DELETE", "/images/" + made["ref"])[0], 409)
        # It outlives the service.
        self.assertEqual(self.service.end(), 0)
        self.service = self.serve()
        self.assertEqual(self.api("GET", "/snapshots/mine")[2], made)
        self.assertEqual(self.api("DELETE", "/snapshots/" + made["id"])[0], 200)
        self.assertEqual(self.api("GET", "/snapshots/mine")[0], 404)
        self.assertEqual(self.api("POST", "/sandbox", {"snapshot": "mine"})[0], 404)
        self.assertEqual(self.service.ask("DELETE", "/images/" + made["ref"])[0], 204)
        for wrong in ({}, {"name": "x"}, {"name": "", "imageName": "x"}, {"name": "a/b", "imageName": "x"},
                      {"name": "x" * 129, "imageName": "x"}, {"name": "x", "imageName": "a\nRUN b"},
                      {"name": "x", "imageName": "a b"}, {"name": "x", "imageName": "x", "cpu": -1},
                      {"name": "x", "imageName": "x", "buildInfo": {"dockerfileContent": "FROM x"}},
                      {"name": "x", "imageName": "x", "gpu": 1}, {"name": 3, "imageName": "x"}):
            self.assertEqual(self.api("POST", "/snapshots", wrong)[0], 400, wrong)

    def test_snapshots_belong_to_their_owner(self):
        keys = [self.tenant(), self.tenant()]
        self.assertEqual(self.api("POST", "/snapshots", {"name": "mine", "imageName": "x"}, key=keys[0])[0], 200)
        made = self.api("GET", "/snapshots/mine", key=keys[0])[2]
        for key in (keys[1], None):
            for name in ("mine", made["id"]):
                self.assertEqual(self.api("GET", "/snapshots/" + name, key=key)[0], 404)
                self.assertEqual(self.api("DELETE", "/snapshots/" + name, key=key)[0], 404)
                self.assertEqual(self.api("POST", "/sandbox", {"snapshot": name}, key=key)[0], 404)
            self.assertEqual(self.api("GET", "/snapshots", key=key)[2]["items"], [])
        # The same name is free for another; a tenant that goes takes its own along.
        self.assertEqual(self.api("POST", "/snapshots", {"name": "mine", "imageName": "x"}, key=keys[1])[0], 200)
        tenant = made["organizationId"]
        self.assertEqual(self.service.ask("DELETE", "/admin/tenants/" + tenant)[0], 204)
        self.assertEqual(self.api("GET", "/snapshots/mine", key=keys[1])[0], 200)


def main():
    Scene.gatehouse = sys.argv.pop(1)
    unittest.main(verbosity=1)


if __name__ == "__main__":
    main()
