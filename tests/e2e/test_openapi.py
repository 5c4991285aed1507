#!/usr/bin/env python3
"""The OpenAPI document of host.fs, as the server serves it, by a validator that others wrote.

    test_openapi.py GATEHOUSE CACHE

CACHE is a folder of the build directory, where the packages of tests/openapi are installed once.
Skipped with the reason where npm has no packages.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # not into the sources
from server_scene import PATIENCE, Server

HERE = pathlib.Path(__file__).resolve().parent.parent / "openapi"
sys.path.insert(0, str(HERE.parent / "support"))
import npm_packages

VALIDATE = """
import { readFileSync } from "node:fs";
import { Validator } from "@seriousme/openapi-schema-validator";
const validator = new Validator();
const result = await validator.validate(JSON.parse(readFileSync(0, "utf8")));
console.log(JSON.stringify({ valid: result.valid, version: validator.version, errors: result.errors }));
"""


def main():
    gatehouse, cache = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
    npm_packages.install(HERE, cache)
    with tempfile.TemporaryDirectory() as room:
        # With a host, transports are described too, if their libraries are installed.
        server = Server(str(gatehouse), pathlib.Path(room) / "state", 0,
                        ("--fs-memory", "--fs-transport-host", "ftp://127.0.0.1:21"))
        try:
            status, headers, document = server.ask("GET", "/v1/openapi.json")
        finally:
            server.close()
    assert status == 200 and headers["Content-Type"] == "application/json", (status, headers)
    # In the cache, beside the packages that it imports.
    (cache / "validate.mjs").write_text(VALIDATE)
    result = subprocess.run([cache / npm_packages.NODE, cache / "validate.mjs"], input=json.dumps(document), text=True,
                            capture_output=True, timeout=PATIENCE)
    print(result.stdout, result.stderr, *document["paths"])
    found = json.loads(result.stdout)
    assert found["valid"] and found["version"] == "3.1", found
    broken = json.dumps(document | {"paths": {"x": 1}})
    result = subprocess.run([cache / npm_packages.NODE, cache / "validate.mjs"], input=broken, text=True,
                            capture_output=True, timeout=PATIENCE)
    assert not json.loads(result.stdout)["valid"], "the validator finds nothing"
    return 0


if __name__ == "__main__":
    sys.exit(main())
