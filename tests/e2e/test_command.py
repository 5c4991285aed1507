#!/usr/bin/env python3
"""Runs commands and their names in real shells: both must run the same program on the same words.

Commands are generated from what a shell command can contain: wrappers and their options,
assignments, quotes, expansions, redirections, blanks. If the name of a command differs from its
text, dash and bash run both. The program in it records its arguments, directory and input. A wrapper
may reject its options and run nothing, but must not run anything else or leave other files.

    test_command.py COMMAND_ANSWERS [ROUNDS [SEED]]
"""
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # not into the sources
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from patience import PATIENCE

SKIPPED = 77
SHELLS = ["dash", "bash"]
DRAWN_AT_ONCE = 2000

TOOL = """#!/bin/sh
{ printf '%s\\0' "$0" "$@"; pwd; cat; printf '\\0\\0'; } >>'LOG'
"""

WRAPPERS = ["env", "nice", "nohup", "time", "xargs", "BIN/env", "command", "exec", "eval"]
OPTIONS = [
    "-n", "-n 5", "-n5", "-5", "--adjustment=3", "-i", "-", "-u X", "-uX", "-iu X", "--unset=X", "-u LANG", "-uLANG", "--unset=TZ", "-v", "-p",
    "-f %e", "-o out", "-0", "-r", "-I{}", "-I {}", "-n1", "-n 1", "-0n1", "-l", "-i{}", "-a list", "-t", "--",
    "-S", "-C sub", "--chdir=sub", "-x", "-c", "--help", "--null", "--max-args=2", "-u PATH",
]
ASSIGNMENTS = [
    "LANG=C", "LC_ALL=", "TZ=UTC", "COLUMNS=80", "NO_COLOR=1", "LANG=$Y", "LANG='b  c'", "LC_X={a,b}",
    "A=1", "A=", "A='b  c'", 'A="b  $X"', "A=$X", "A=$Y", "A=${X}", "A=${X:-q  r}", "A={a,b}", "A=*", "A=a\\ b",
    "PATH=/x", "LD_X=1", "A+=1", "'A'=1", "a-b=1", "A=$'q  r'", "A=(b)", "HOME=sub",
]
PROGRAMS = ["tool", "tool", "tool", "TOOLS/tool", "OTHER/tool", "./tool", "sub/tool", "to\\ol", '"tool"', "t*l", "$T"]
WORDS = [
    "a", "b", "list", "'c  d'", '"e  $X  f"', "\\ ", "g\\  h", "$X", "$Y", '"$Y"', "${Y}", "*", "?", "{a,b}", "~", "#", "x#y",
    "'", '"', "\\", "$'i  j'", '$"k  l"', "${X:-m  n}", '"${X:-"m  n"}"', "$", "(", ")", "> out", ">out", "< list",
    "<list", "2>err", ";", "|", "&", "`", "$(a)", "\r", "\n", "''", "\\\\", "%", "=", "!", "[", "-", "\u00e9", "\\\n",
]
BLANKS = [" ", " ", " ", " ", "  ", "\t", " \t ", ""]


def draw_command(draw):
    parts = []
    for _ in range(draw.choice((0, 0, 0, 1, 2))):
        parts.append(draw.choice(ASSIGNMENTS))
    for _ in range(draw.choice((0, 1, 1, 2, 3))):
        parts.append(draw.choice(WRAPPERS))
        parts += draw.choices(OPTIONS, k=draw.choice((0, 0, 1, 1, 2)))
        parts += draw.choices(ASSIGNMENTS, k=draw.choice((0, 0, 0, 1)))
    parts.append(draw.choice(PROGRAMS))
    parts += draw.choices(WORDS, k=draw.choice((0, 1, 2, 3, 4)))
    return draw.choice(BLANKS) + "".join(part + draw.choice(BLANKS) for part in parts)


class Place:
    """A directory with programs that tell what they got."""

    def __init__(self, base):
        self.base = base
        self.work = base / "work"
        self.log = base / "log"
        self.tools = base / "tools"
        self.path = [str(self.tools), "/usr/bin", "/bin"]
        for directory in (self.tools, base / "other"):
            directory.mkdir()
            self.make_tool(directory / "tool")

    def make_tool(self, path):
        path.write_text(TOOL.replace("LOG", str(self.log)))
        path.chmod(0o755)

    def fill_in(self, command):
        for mark, directory in (("TOOLS", self.tools), ("OTHER", self.base / "other"), ("BIN", "/usr/bin")):
            command = command.replace(mark + "/", f"{directory}/")
        return command

    def run(self, shell, command):
        """What the program got, and what lies in the directory afterwards."""
        shutil.rmtree(self.work, ignore_errors=True)
        (self.work / "sub").mkdir(parents=True)
        (self.work / "list").write_text("one two\n")
        self.make_tool(self.work / "tool")
        self.make_tool(self.work / "sub" / "tool")
        self.log.write_bytes(b"")
        environment = {"PATH": ":".join(self.path), "X": "ex", "Y": "p  q", "T": "tool", "HOME": str(self.work)}
        subprocess.run(
            [shell, "-c", command], cwd=self.work, env=environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False, timeout=PATIENCE,
        )
        files = {str(path.relative_to(self.work)) for path in self.work.rglob("*")}
        return self.log.read_bytes(), files


def names_of(program, commands, path):
    asked = "".join(command + "\0" for command in commands).encode()
    told = subprocess.run([program, *path], input=asked, stdout=subprocess.PIPE, check=True).stdout
    answers = told.decode().split("\0")[:-1]
    assert len(answers) == len(commands), "an answer for each command"
    return [(answer[0] == "a", answer[1:]) for answer in answers]


def compare(place, command, name, shells):
    for shell in shells:
        ran, files = place.run(shell, command)
        ran_by_name, files_by_name = place.run(shell, name)
        if ran not in (b"", ran_by_name) or not files <= files_by_name:
            print(f"{shell}: {command!r} is called {name!r}")
            print(f"  it ran {ran!r} and left {sorted(files)}")
            print(f"  its name ran {ran_by_name!r} and left {sorted(files_by_name)}")
            return None
    return ran != b""


def main():
    program = pathlib.Path(sys.argv[1]).resolve()
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 200
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else random.randrange(1 << 32)
    shells = [shell for shell in SHELLS if shutil.which(shell)]
    if not shells:
        print(f"skipped: none of {', '.join(SHELLS)} is here")
        return SKIPPED
    print(f"seed {seed}")
    draw = random.Random(seed)
    compared = ran = 0
    with tempfile.TemporaryDirectory() as base:
        place = Place(pathlib.Path(base))
        while compared < rounds:
            commands = [place.fill_in(draw_command(draw)) for _ in range(DRAWN_AT_ONCE)]
            for command, (is_as_is, name) in zip(commands, names_of(program, commands, place.path)):
                if is_as_is:
                    assert name.strip() == command.strip(), command
                    continue
                if "$$" in command:  # a number that is another one each time
                    continue
                outcome = compare(place, command, name, shells)
                if outcome is None:
                    return 1
                ran += outcome
                compared += 1
                if compared == rounds:
                    break
    print(f"{compared} commands, of which {ran} ran something")
    # Or it would compare nothing with nothing.
    return 0 if ran > rounds // 4 else 1


if __name__ == "__main__":
    sys.exit(main())
