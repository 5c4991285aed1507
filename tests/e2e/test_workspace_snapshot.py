#!/usr/bin/env python3
"""`gatehouse workspace` of a Btrfs subvolume: a snapshot instead of a copy. All that holds for copies holds here too,
so their tests run again, as an ordinary user, on a file system of the test's own."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # not into the sources
import mcp_client
import test_workspace
import test_workspace_kills
from workspace_scene import WorkspaceScene, content

SUBVOLUME = 256  # the inode of its root
IS_THERE = "GATEHOUSE_TEST_ON_BTRFS"
BYTES = 1 << 30
# In a mount namespace of its own: whatever happens, nothing stays mounted.
ON_BTRFS = 'mkfs.btrfs -q "$0" >/dev/null 2>&1; mount -o loop "$0" "$1"; rm "$0"; chmod 1777 "$1"; shift; exec "$@"'


class OnSubvolume:
    def make_project(self):
        subprocess.run(["btrfs", "subvolume", "create", self.project], check=True, stdout=subprocess.DEVNULL)


class Copying(OnSubvolume, test_workspace.Copying):
    pass


class Changing(OnSubvolume, test_workspace.Changing):
    pass


class Using(OnSubvolume, test_workspace.Using):
    pass


class Kills(OnSubvolume, test_workspace_kills.Kills):
    def assert_clean(self):
        names = set(self.names())
        kept = {path.name for path in self.records.iterdir() if not path.name.endswith(".undo")}
        self.assertEqual({path.name for path in self.copies.iterdir()}, names)
        self.assertEqual(kept, names | {f"{name}.base" for name in names})


class Snapshots(OnSubvolume, WorkspaceScene):
    def is_snapshot(self, copy):
        return copy.stat().st_ino == SUBVOLUME

    def test_it_is_one(self):
        file = self.write("d/a.txt")
        copy = self.new()
        self.assertTrue(self.is_snapshot(copy))
        self.assertEqual((copy / "d/a.txt").stat().st_ino, file.stat().st_ino)
        self.does("rm", copy.name)
        self.assertFalse(copy.exists())
        self.assertEqual(list(self.records.iterdir()), [])

    def test_one_that_was_made_read_only_is_removed(self):
        self.write("d/a.txt")
        for words in (), ("--force",):
            copy = self.new()
            (copy / "d").chmod(0o500)
            subprocess.run(["btrfs", "property", "set", "-ts", copy, "ro", "true"], check=True)
            self.does("rm", *words, copy.name)
            self.assertFalse(copy.exists())
            self.assertEqual(list(self.records.iterdir()), [])

    def test_secrets_are_in_neither_of_the_two(self):
        self.write("a.txt")
        self.write(".env", "KEY=1\n")
        self.write("deep/er/id_rsa", "private\n")
        copy = self.new()
        self.assertTrue(self.is_snapshot(copy))
        for place in (copy, self.records / f"{copy.name}.base"):
            self.assertEqual(set(content(place)), {b"a.txt", b"deep", b"deep/er"})
        self.assertEqual(self.does("diff", copy.name), "")
        self.assertEqual(content(self.new("--with-sensitive")), content(self.project))

    def test_changes_of_both_are_told_apart(self):
        for name in ("mine", "yours", "both", "same"):
            self.write(name)
        copy = self.new()
        self.write("mine", "by me\n")
        self.write("both", "by me\n")
        self.write("yours", "by the agent\n", at=copy)
        self.write("both", "by the agent\n", at=copy)
        said = self.does("diff", copy.name)
        self.assertIn("by the agent", said)
        self.assertNotIn("mine", said)
        self.assertIn("your file has changed since the copy", said)
        self.assertIn("both", self.refuses("apply", "--yes", copy.name))
        self.assertEqual((self.project / "yours").read_text(), "by the agent\n")
        self.assertEqual((self.project / "both").read_text(), "by me\n")
        self.does("undo", copy.name)
        self.assertEqual((self.project / "yours").read_text(), "text\n")

    def assert_copied(self, *missing):
        """Not a snapshot, and without these names."""
        copy = self.new()
        self.assertFalse(self.is_snapshot(copy))
        self.assertEqual(set(content(copy)), set(content(self.project)) - set(missing))
        self.assertEqual({path.name for path in self.records.iterdir()}, {copy.name})

    def test_what_a_snapshot_would_bring_is_copied_instead(self):
        self.write("a.txt")
        os.mkfifo(self.project / "fifo")
        self.assert_copied(b"fifo")

    def test_a_second_name_of_a_secret_is_copied_instead(self):
        self.write(".env", "KEY=1\n")
        os.link(self.project / ".env", self.project / "settings.txt")
        self.assert_copied(b".env", b"settings.txt")

    def test_another_subvolume_is_copied_instead(self):
        subprocess.run(["btrfs", "subvolume", "create", self.project / "lib"], check=True, stdout=subprocess.DEVNULL)
        self.write("lib/a.txt")
        self.assert_copied()

    def test_what_cannot_be_looked_at_is_copied_instead(self):
        (self.project / "shut").mkdir(mode=0)
        self.addCleanup((self.project / "shut").chmod, 0o700)
        if os.geteuid() == 0:
            shutil.chown(self.project / "shut", "nobody")
        self.assert_copied()

    def test_a_plain_folder_is_copied(self):
        self.project.rmdir()
        self.project.mkdir()
        self.write("a.txt")
        self.assert_copied()


def start_again(*words):
    """On a file system of its own; whether that went well."""
    with tempfile.TemporaryDirectory(prefix="snapshots-", dir=mcp_client.in_memory()) as room:
        disk, place = pathlib.Path(room, "disk"), pathlib.Path(room, "mounted")
        pathlib.Path(room).chmod(0o755)
        place.mkdir()
        with open(disk, "wb") as file:
            file.truncate(BYTES)
        command = ["unshare", "--mount", "--propagation", "private", "sh", "-euc", ON_BTRFS, disk, place, *words]
        return subprocess.run(command, env={**os.environ, "TMPDIR": str(place), IS_THERE: "1"}).returncode == 0


def main():
    if IS_THERE in os.environ:
        mcp_client.in_memory = lambda: None  # where TMPDIR says
        mcp_client.main()
    if os.geteuid() != 0 or not shutil.which("mkfs.btrfs") or not start_again("true"):
        print("skipped: Btrfs cannot be mounted here")
        return 0
    again = [sys.executable, *sys.argv]
    return 0 if start_again(*again, "Snapshots") and start_again(*again, "--as-user") else 1


if __name__ == "__main__":
    sys.exit(main())
