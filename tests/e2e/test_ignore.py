#!/usr/bin/env python3
"""Compares our ignore rules with git, for random names and rules.

Each round generates a small tree with nested .gitignore files and .git/info/exclude, with everything
that rules can contain, and asks `git check-ignore` about every name; `ignore_answers` must agree.
It prints the seed, and for a difference the rules that caused it.

    test_ignore.py IGNORE_ANSWERS [ROUNDS [SEED]]
"""
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
ENVIRONMENT = {
    "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "HOME": "/nonexistent",
}

NAME_PIECES = [
    b"a", b"a", b"b", b"b", b"c", b"A", b".", b".c", b".o", b"1", b"-", b"_", b" ", b"  ", b"!", b"#",
    b"*", b"?", b"[", b"]", b"\\", b"^", b":", b"~", b"\t", b"\r", b"\n", b"\xc3\xa9", b"\xff", b"{a}",
    b"foo", b"bar",
]
RULE_PIECES = [
    b"*", b"*", b"**", b"**/", b"/**", b"/**/", b"?", b"/", b"/", b"\\", b"[ab]", b"[!a]", b"[^a-c]",
    b"[", b"]", b"[]-a]", b"[[:alpha:]]", b"[[:digit:]_]", b"[[:space:][:punct:]]", b"[[:upper:]-z]",
    b"[[:nope:]]", b"[[:", b":]", b"[a-", b"[\\]]", b"[a-\\c]", b"[--0]", b"[c-a]", b"[a/b]", b"[!/]",
    b"-", b"\\*", b"\\a", b"\\ ", b"\\/", b"*.c", b"*.", b"*/", b"***", b"[[:xdigit:]]", b"[[:graph:]]",
    b"[[:cntrl:]]", b"[[:print:]]", b"[[:blank:]]", b"[[:lower:]][[:alnum:]]", b"[[a]", b"[[:a]", b"\0",
]

# Older versions of git take the stars of "foo**/bar" for a component of their own, which its manual does not.
STARS_BEHIND_TEXT = re.compile(rb"/?[^*?\[\\]*[^/*?\[\\]\*\*+(/|\\/|$)")


def git(repository, *arguments, given=b""):
    return subprocess.run(
        ["git", "-C", repository, *arguments], input=given, env=ENVIRONMENT, check=False,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )


def draw_name(draw):
    while True:
        name = b"".join(draw.choices(NAME_PIECES, k=draw.choice((1, 1, 2, 2, 3))))
        if name not in (b".", b"..", b".git", b".gitignore"):
            return name


def draw_tree(draw):
    """Directories and files, as {name: whether it is a directory}."""
    tree = {b"": True}
    common = [draw_name(draw) for _ in range(6)]
    for _ in range(draw.randint(20, 80)):
        parent = draw.choice([name for name, is_dir in tree.items() if is_dir])
        last = draw.choice(common) if draw.random() < 0.6 else draw_name(draw)
        name = parent + b"/" + last if parent else last
        if name.count(b"/") < 6:
            tree.setdefault(name, draw.random() < 0.5)
    return tree


def escape(draw, text):
    return re.sub(rb"([*?\[\\])", rb"\\\1", text) if draw.random() < 0.7 else text


def draw_rule(draw, below):
    """A rule, mostly made of a name below its directory, so that it has something to match."""
    kind = draw.random()
    if kind < 0.25 or not below:
        rule = b"".join(draw.choices(RULE_PIECES + NAME_PIECES, k=draw.randint(1, 6)))
    else:
        parts = draw.choice(below).split(b"/")
        start = draw.randrange(len(parts))
        parts = [escape(draw, part) for part in parts[start:draw.randint(start + 1, len(parts))]]
        for i, part in enumerate(parts):
            chance = draw.random()
            if chance < 0.15:
                at = draw.randint(0, len(part))
                parts[i] = part[:at] + draw.choice(RULE_PIECES) + part[at:]
            elif chance < 0.3:
                parts[i] = part[:draw.randrange(len(part))] + b"*"
            elif chance < 0.45:
                parts[i] = b"*" + part[draw.randrange(len(part)):]
            elif chance < 0.55:
                parts[i] = draw.choice((b"*", b"**", b"?" * len(part), b"[!x]*", b"***"))
            elif chance < 0.6:
                parts[i] = b"**/" + part
        rule = draw.choice((b"/", b"", b"", b"**/")) + b"/".join(parts)
    before = draw.choice((b"", b"", b"", b"", b"!", b"!", b"\\", b"#", b"!!", b" "))
    behind = draw.choice((b"", b"", b"", b"/", b"/", b" ", b"  ", b"\\ ", b"/**", b"/*", b"\\", b" \\", b"\r"))
    return (before + rule + behind).replace(b"\n", b"")


def draw_rules(draw, tree, directory):
    prefix = directory + b"/" if directory else b""
    below = [name[len(prefix):] for name in tree if name.startswith(prefix) and name != directory]
    rules = [draw_rule(draw, below) for _ in range(draw.randint(1, 6))]
    ending = draw.choice((b"\n", b"\n", b"\r\n"))
    content = ending.join(rules) + draw.choice((b"", ending, b"\n\n"))
    return draw.choice((b"", b"", b"", b"\xef\xbb\xbf")) + content


def has_stars_behind_text(content):
    lines = (line.split(b"\0")[0].rstrip(b"\r ") for line in content.split(b"\n"))
    return any(STARS_BEHIND_TEXT.match(line.removeprefix(b"\xef\xbb\xbf").removeprefix(b"!"))
               for line in lines)


def clear(root):
    for path in root.iterdir():
        if path.name != ".git":
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()


def plant(root, tree, rules):
    base = os.fsencode(root)
    for name, is_dir in tree.items():
        path = os.path.join(base, name)
        if is_dir:
            os.makedirs(path, exist_ok=True)
        else:
            with open(path, "wb"):
                pass
    for directory, content in rules:
        name = b".git/info/exclude" if directory is None else os.path.join(directory, b".gitignore")
        with open(os.path.join(base, name), "wb") as file:
            file.write(content)


def ask_git(root, names):
    done = git(root, "check-ignore", "--no-index", "-v", "-n", "-z", "--stdin",
               given=b"".join(b"./" + name + b"\0" for name in names))  # ":" would be magic
    if done.returncode not in (0, 1):
        sys.exit(f"git check-ignore failed: {done.stderr.decode(errors='replace')}")
    fields = done.stdout.split(b"\0")[:-1]
    answers = {}
    for source, _, rule, name in zip(*[iter(fields)] * 4):
        answers[name[2:]] = "n" if not source else "+" if rule.startswith(b"!") else "i"
    return [answers[name] for name in names]


def question(tree, rules, names):
    parts = [b"new\n"]
    for directory, content in rules:
        directory = directory or b""
        parts.append(b"rules %d %d\n" % (len(directory), len(content)) + directory + content)
    parts += [b"ask %d %d\n" % (tree[name], len(name)) + name for name in names]
    return b"".join(parts)


def draw_round(draw, is_old):
    tree = draw_tree(draw)
    directories = [None] + [name for name, is_dir in tree.items() if is_dir]
    rules = []
    for directory in directories:
        if directory != b"" and draw.random() > 0.3:
            # .git/info/exclude of the round before must not stay.
            if directory is None:
                rules.append((None, b""))
            continue
        content = draw_rules(draw, tree, directory or b"")
        while is_old and has_stars_behind_text(content):
            content = draw_rules(draw, tree, directory or b"")
        rules.append((directory, content))
    # Parents come first in the order in which the tree was drawn.
    return tree, rules, [name for name in tree if name]


def is_old_git(root):
    plant(root, {b"foobar": False}, [(b"", b"foo**/bar\n")])
    is_old = ask_git(root, [b"foobar"]) == ["i"]
    clear(root)
    return is_old


def tell(rules, name, is_dir, wanted, got):
    words = {"n": "no rule", "i": "ignored", "+": "included"}
    print(f"{name!r}{' (a directory)' if is_dir else ''}: git says {words[wanted]}, we {words[got]}")
    for directory, content in rules:
        if directory is None or not directory or name.startswith(directory + b"/"):
            print(f"  {'exclude' if directory is None else directory!r}: {content!r}")


def main():
    answers = pathlib.Path(sys.argv[1]).resolve()
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 200
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else random.SystemRandom().randrange(1 << 32)
    if shutil.which("git") is None:
        print("git is not installed")
        return SKIPPED
    print(f"seed {seed}", flush=True)
    draw = random.Random(seed)
    tally = {"n": 0, "i": 0, "+": 0}
    asked = []
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        git(root, "init", "-q")
        (root / ".git/info").mkdir(exist_ok=True)
        is_old = is_old_git(root)
        for _ in range(rounds):
            tree, rules, names = draw_round(draw, is_old)
            clear(root)
            plant(root, tree, rules)
            asked.append((tree, rules, names, ask_git(root, names)))
    given = b"".join(question(tree, rules, names) for tree, rules, names, _ in asked)
    told = subprocess.run([answers], input=given, stdout=subprocess.PIPE, check=True).stdout.decode()
    differences = 0
    at = 0
    for tree, rules, names, wanted in asked:
        for name, git_says in zip(names, wanted):
            tally[git_says] += 1
            if told[at] != git_says:
                differences += 1
                if differences <= 10:
                    tell(rules, name, tree[name], git_says, told[at])
            at += 1
    print(f"{at} names: {tally['i']} ignored, {tally['+']} included, {differences} differences")
    # A draw that seldom matches would prove little.
    is_telling = min(tally.values()) * 50 > at
    if not is_telling:
        print("too few names are decided by a rule")
    return 0 if differences == 0 and is_telling and at == len(told) else 1


if __name__ == "__main__":
    sys.exit(main())
