"""Shared by the tests of `gatehouse workspace`: a project, and what is in a folder."""
import os
import pathlib

from command_scene import CommandScene


def content(folder):
    """What is below a folder: names, kinds, modes and contents."""
    found = {}
    for path in sorted(pathlib.Path(folder).rglob("*")):
        name = os.fsencode(path.relative_to(folder))
        if path.is_symlink():
            found[name] = ("link", os.readlink(path))
        elif path.is_dir():
            found[name] = ("directory", path.stat().st_mode & 0o7777)
        elif path.is_file():
            found[name] = ("file", path.stat().st_mode & 0o7777, path.read_bytes())
        else:
            found[name] = ("other",)
    return found


class WorkspaceScene(CommandScene):
    COMMAND = ("workspace",)

    def setUp(self):
        super().setUp()
        self.project = self.root / "shop"
        self.make_project()
        self.copies = self.state / "gatehouse-workspaces"
        self.records = self.state / "gatehouse" / "workspaces"

    def make_project(self):
        self.project.mkdir()

    def write(self, name, text="text\n", at=None):
        path = (at or self.project) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def new(self, *words):
        """The folder of a new workspace."""
        code, out, said = self.run_it("new", *words, self.project)
        self.assertEqual(code, 0, said)
        return self.copies / out.strip()

    def does(self, *words):
        """What a command that succeeds has written, on both streams."""
        code, out, said = self.run_it(*words)
        self.assertEqual(code, 0, said)
        return out + said

    def refuses(self, *words, status=1):
        code, out, said = self.run_it(*words)
        self.assertEqual(code, status, out + said)
        return out + said
