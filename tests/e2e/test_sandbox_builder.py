#!/usr/bin/env python3
"""An agent that builds workflows in sandboxes: write TypeScript, check it, run it, check its JSON, hand it out.

    test_sandbox_builder.py GATEHOUSE PACKAGES [--preset]

With --preset the image is `FROM builder`, which npm fills in a step that has the network. Otherwise the same
packages, except Node.js, come from PACKAGES, where they are installed once, as a build context.
"""
import concurrent.futures
import io
import hashlib
import json
import pathlib
import shutil
import sys
import tarfile
import unittest

sys.dont_write_bytecode = True  # not into the sources
from sandboxd_scene import Scene
import npm_packages

PRESET = pathlib.Path(__file__).resolve().parents[2] / "data/builder"
PACKAGES = pathlib.Path(sys.argv[2]).resolve()
PLACE = "/srv/builder"

TYPES = """
export interface Node { name: string; type: string; parameters: Record<string, unknown> }
export interface Workflow { name: string; nodes: Node[]; connections: Record<string, string[]> }
export function workflow(given: Workflow): void { console.log(JSON.stringify(given)) }
"""
WRONG = """
import { workflow } from './sdk';
workflow({ name: 42, nodes: [], connections: {} });
"""
LOOSE = """
import { workflow } from './sdk';
workflow({ name: '%s', nodes: [{ name: 'Start', type: 'trigger', parameters: {} }], connections: { Start: ['Nowhere'] } });
"""
RIGHT = """
import { workflow, type Node } from './sdk';
const nodes: Node[] = ['Start', 'End'].map((name) => ({ name, type: 'step', parameters: { of: '%s' } }));
workflow({ name: '%s', nodes, connections: { Start: ['End'] } });
"""


class Refused(Exception):
    """A check that failed; its text is what the agent reads."""


def without_node(folder):
    """The preset's packages without Node.js, whose own binary this machine has, and npm."""
    package = json.loads((PRESET / "package.json").read_text())
    lock = json.loads((PRESET / "package-lock.json").read_text())
    for name in package.pop("optionalDependencies"):
        del lock["packages"][f"node_modules/{name}"]
    del lock["packages"][""]["optionalDependencies"]
    del package["dependencies"]["npm"], lock["packages"][""]["dependencies"]["npm"]
    lock["packages"] = {name: about for name, about in lock["packages"].items()
                        if name != "node_modules/npm" and not about.get("inBundle")}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "package.json").write_text(json.dumps(package))
    (folder / "package-lock.json").write_text(json.dumps(lock))
    return folder


def check(text):
    """The rules for a workflow; it, or what is wrong."""
    flow = json.loads(text)
    names = {node["name"] for node in flow["nodes"]}
    if not isinstance(flow["name"], str) or not names:
        raise Refused("a workflow has a name and nodes")
    for source, targets in flow["connections"].items():
        for name in [source, *targets]:
            if name not in names:
                raise Refused(f"connections: there is no node {name}")
    return flow


class Builder:
    """One builder: a sandbox of its own, deleted at the end."""

    def __init__(self, service, image):
        self.service = service
        status, _, record = service.ask("POST", "/sandboxes", {"image_id": image, "ephemeral": True})
        assert status == 201, record
        self.id = record["id"]
        self.write("sdk.ts", TYPES)

    def write(self, name, text):
        status = self.service.ask("PUT", f"/sandboxes/{self.id}/files", text.encode(), path=f"/home/user/{name}")[0]
        assert status == 200, status

    def run(self, command):
        events = self.service.events(self.id, command)
        text = "".join(event.get("data", "") for event in events)
        if events[-1].get("exit_code") != 0:
            raise Refused(text or str(events[-1]))
        return text

    def attempt(self, text):
        """The workflow, after all checks; nothing is returned before."""
        self.write("workflow.ts", text)
        self.run("tsc --noEmit --strict --target es2022 --module esnext --moduleResolution bundler workflow.ts")
        return check(self.run("tsx workflow.ts"))

    def close(self):
        assert self.service.ask("DELETE", f"/sandboxes/{self.id}")[0] == 204


class Loop(Scene):
    is_preset = False

    def image(self, service):
        if self.is_preset:
            return ["FROM builder"], {}
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w:gz", compresslevel=3) as archive:
            archive.add(PACKAGES / "node_modules", "node_modules",
                        filter=lambda entry: None if "/typescript/lib/" in entry.name and entry.isdir() else entry)
        name = hashlib.sha256(packed.getvalue()).hexdigest()
        self.assertEqual(service.ask("PUT", f"/contexts/{name}", packed.getvalue())[0], 204)
        return [f"WORKDIR {PLACE}", "COPY . .", f"ENV PATH={PLACE}/node_modules/.bin:/usr/local/bin:/usr/bin:/bin",
                "WORKDIR /home/user"], {"context": name}

    def build(self, *arguments):
        service = self.serve(*arguments)
        steps, more = self.image(service)
        status, _, made = service.ask("POST", "/sandboxes", {"dockerfile_steps": steps, **more})
        if self.is_preset and status != 201 and "npm" in str(made):
            self.skipTest(f"npm gets no packages here: {str(made)[-300:]}")
        self.assertEqual(status, 201, made)
        self.assertEqual(service.ask("DELETE", f"/sandboxes/{made['id']}")[0], 204)
        return service, made["image_id"]

    def build_one(self, service, image, name, texts=(WRONG, LOOSE, RIGHT)):
        """What an agent does; the texts it got, and what it handed out."""
        builder = Builder(service, image)
        read, handed_out = [], []
        for text in texts:
            try:
                handed_out.append(builder.attempt(text.replace("%s", name)))
            except Refused as refusal:
                read.append(str(refusal))
                self.assertEqual(handed_out, [], "nothing is handed out before all checks pass")
        seen = builder.run("cat /home/user/workflow.ts; ls /home/user")
        builder.close()
        return read, handed_out, seen

    def test_two_builders_at_once(self):
        service, image = self.build(*(["--build-net", "host"] if self.is_preset else []))
        names = ("one-flow", "another-flow")
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            results = list(pool.map(lambda name, texts: self.build_one(service, image, name, texts), names,
                                    ((WRONG, LOOSE, RIGHT), (WRONG, RIGHT))))
        for name, other, (read, handed_out, seen) in zip(names, reversed(names), results):
            self.assertEqual(len(read), 2 if name == names[0] else 1, read)
            self.assertRegex(read[0], r"workflow\.ts\(3,12\): error TS2322: Type 'number' is not assignable")
            self.assertEqual(read[1:], ["connections: there is no node Nowhere"][: len(read) - 1])
            self.assertEqual([flow["name"] for flow in handed_out], [name])
            self.assertEqual([node["parameters"] for node in handed_out[0]["nodes"]], [{"of": name}] * 2)
            self.assertNotIn(other, seen)
            self.assertIn(name, seen)
        self.assertEqual(service.ask("GET", "/sandboxes")[2], [])
        if self.is_preset:
            self.use_npm(service, image)
            service.close()  # from now on without the network: the layers are there
            again = self.serve()
            self.assertEqual(again.ask("POST", "/sandboxes", {"dockerfile_steps": ["FROM builder"]})[2]["image_id"], image)
            self.assertEqual(self.build_one(again, image, "offline", [RIGHT])[1][0]["name"], "offline")

    def use_npm(self, service, image):
        """It is the pinned one, and installs for the sandbox's user; without the network what is there."""
        builder = Builder(service, image)
        pinned = json.loads((PRESET / "package.json").read_text())["dependencies"]["npm"]
        self.assertEqual(builder.run("npm --version; npx --version").split(), [pinned] * 2)
        builder.write("tool/package.json", '{"name":"tool","version":"1.0.0","bin":"tool.js"}')
        builder.write("tool/tool.js", "#!/usr/bin/env node\nconsole.log('runs', process.version)\n")
        node = builder.run("node --version")
        self.assertEqual(builder.run("mkdir app && cd app && npm init -y > /dev/null && npm install ../tool > /dev/null && npx tool 2> /dev/null"),
                         f"runs {node}")
        self.assertEqual(builder.run("npm install -g ./tool > /dev/null && tool"), f"runs {node}")
        # It trusts whom this machine trusts, as its other programs do.
        builder.write("trust.js", "const tls = require('tls'), all = new Set(tls.getCACertificates('default'));\n"
                      "console.log(tls.getCACertificates('system').every((one) => all.has(one)));\n")
        self.assertEqual(builder.run("node trust.js"), "true\n")
        # The rest is this machine's system.
        for name, command in (("bash", "bash -c 'echo here'"), ("python3", "python3 -c 'print(\"here\")'")):
            if (pathlib.Path("/usr/bin") / name).exists():
                self.assertEqual(builder.run(command), "here\n")
        builder.close()


if __name__ == "__main__":
    Scene.gatehouse = pathlib.Path(sys.argv[1]).resolve()
    Loop.is_preset = "--preset" in sys.argv
    if not Loop.is_preset:
        if not (shutil.which("node") or "").startswith("/usr/"):
            npm_packages.skip("sandboxes have this machine's /usr, and there is no node in it")
        npm_packages.install(without_node(PACKAGES.with_name(PACKAGES.name + "-lock")), PACKAGES,
                             node="node_modules/.bin/tsx", arguments=("--ignore-scripts",))
    elif shutil.which("npm") is None:
        npm_packages.skip("npm is not installed")
    unittest.main(argv=sys.argv[:1])
