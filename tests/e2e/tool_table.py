"""Every tool in every mode: what a call needs, and what it may reveal or do without that.

A row is a tool with the arguments of one call, for something that exists and for something of the same
length that does not. If reading is not allowed, both responses must be the same: a difference would
reveal what exists.
"""
import io
import itertools
import json
import re
import shutil
import zipfile

MODES = ("deny", "ask", "allow")
CONTENT = "the-secret-content"
NAME = "secretname"
GONE = "secretgone"  # as long as NAME, and not there


class Row:
    def __init__(self, tool, needs, **arguments):
        self.tool, self.needs, self.template = tool, frozenset(needs), arguments

    def arguments(self, name):
        """Puts the name wherever the row says NAME."""
        return json.loads(json.dumps(self.template).replace("{NAME}", name))

    def has_twin(self):
        return "{NAME}" in json.dumps(self.template)


READ, WRITE, BOTH = {"read"}, {"write"}, {"read", "write"}
ROWS = [
    Row("read_file", READ, filePath="{NAME}"),
    Row("read_files", READ, filePaths=["{NAME}"]),
    Row("list_allowed_directories", READ),
    Row("stat_file", READ, path="{NAME}"),
    Row("list_files", READ, dirPath="{NAME}.dir"),
    Row("list_files", READ),
    Row("get_file_tree", READ, dirPath="{NAME}.dir"),
    Row("get_file_tree", READ),
    Row("search_files", READ, query="secret"),
    Row("search_files", READ, name="*"),
    Row("search_files", READ, query="secret", dirPath="{NAME}.dir"),
    Row("write_file", BOTH, filePath="{NAME}", content="x"),
    Row("write_file", BOTH, filePath="{NAME}/below", content="x"),
    Row("append_file", BOTH, filePath="{NAME}", content="x"),
    Row("edit_file", BOTH, filePath="{NAME}", oldString="secret", newString="x"),
    Row("edit_file", BOTH, filePath="{NAME}", oldString="secret", newString="x", dryRun=True),
    Row("edit_files", BOTH, edits=[{"filePath": "{NAME}", "oldString": "secret", "newString": "x"}]),
    Row("edit_files", BOTH, dryRun=True,
        edits=[{"filePath": "{NAME}", "oldString": "secret", "newString": "x"}]),
    Row("create_directory", BOTH, dirPath="{NAME}"),
    Row("create_directory", BOTH, dirPath="{NAME}.dir"),
    Row("copy_file", BOTH, sourcePath="{NAME}", destinationPath="copied"),
    Row("copy_file", BOTH, sourcePath="open.txt", destinationPath="{NAME}.dir"),
    Row("move", BOTH, sourcePath="{NAME}", destinationPath="moved"),
    Row("move", BOTH, sourcePath="{NAME}.dir", destinationPath="moved"),
    Row("move", BOTH, sourcePath="open.txt", destinationPath="{NAME}.dir"),
    Row("delete", BOTH, path="{NAME}"),
    Row("delete", BOTH, path="{NAME}.dir"),
    Row("extract_archive", BOTH, archivePath="{NAME}.zip", destinationPath="unpacked"),
    Row("extract_archive", BOTH, archivePath="open.zip", destinationPath="{NAME}.dir"),
    Row("undo_changes", BOTH),
]


def archive(content):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as file:
        file.writestr("inner.txt", content)
    return data.getvalue()


def furnish(root):
    """The same tree before every call."""
    for entry in root.iterdir():
        if entry.is_dir():
            shutil.rmtree(entry)
        else:
            entry.unlink()
    (root / NAME).write_text(CONTENT)
    (root / f"{NAME}.dir").mkdir()
    (root / f"{NAME}.dir" / f"{NAME}.inner").write_text(CONTENT)
    (root / f"{NAME}.zip").write_bytes(archive(CONTENT))
    (root / "open.txt").write_text("open")
    (root / "open.zip").write_bytes(archive("open"))


def picture(root):
    """Names, kinds and contents."""
    return {str(path.relative_to(root)): path.read_bytes() if path.is_file() else None
            for path in sorted(root.rglob("*"))}


def mode_pairs():
    return itertools.product(MODES, MODES)


def check(case, root, row, modes, call):
    """call(tool, arguments) gives (whether it worked, the answer as text)."""
    told = {}
    has_worked = False
    allowed = all(modes[need] == "allow" for need in row.needs) and modes["read"] != "deny"
    for name in (NAME, GONE):
        furnish(root)
        before = picture(root)
        about = (row.tool, row.template, name, modes)
        worked, text = call(row.tool, row.arguments(name))
        if modes["read"] != "allow":
            case.assertNotIn(CONTENT, text, about)
            case.assertNotIn(f"{NAME}.inner", text, about)
            if name == GONE:
                case.assertNotIn(NAME, text, about)
        if modes["write"] != "allow" or modes["read"] == "deny" or "write" not in row.needs:
            case.assertEqual(picture(root), before, about)
        # With nothing to undo it changes nothing, and nobody is asked.
        is_idle = row.tool == "undo_changes" and modes["read"] == "allow" and re.search(r"undone\W*\[\]", text)
        if not allowed and not is_idle:
            case.assertFalse(worked, (about, text))
        told[name] = text.replace(name, "{NAME}")
        has_worked = has_worked or worked
    if modes["read"] != "allow" and row.has_twin():
        case.assertEqual(told[NAME], told[GONE], (row.tool, row.template, modes))
    return allowed and has_worked
