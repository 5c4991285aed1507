#!/usr/bin/env python3
"""Searches random trees with our search and with grep, which must find the same lines.

Each round generates a tree, and patterns of a small grammar that mean the same to both.
`search_answers` and `grep -rn` (-E, -P or -F) then print path and line of every match. What our
search keeps must be the first of them in tree order. It prints the seed, and for a difference the
pattern and the line that caused it.

    test_search.py SEARCH_ANSWERS [ROUNDS [SEED]]
"""
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

SKIPPED = 77
PATTERNS = 6  # for each tree
DEPTH = 2  # of groups in groups
PIECE = 256 << 10
LOOK = 64 << 10  # what has no zero byte in so much of its beginning is text
ENVIRONMENT = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "LC_ALL": "C.UTF-8"}

WORDS = ["a", "b", "ab", "abc", "cab", "A", "Ab", "foo", "foo_bar", "x1", "12", "2024", "_", " ", "  ", "-",
         "(", ")", ";", "ba", "bab"]
BEYOND_ASCII = ["\u00e9", "\u00c9", "\u00f6l", "\u0436", "\u0416a", "\u20ac", "\U0001f600"]
# With a control character, or our search would take it for Latin-1.
BROKEN = [b"\x01" + broken for broken in (b"\xff", b"\xc3", b"\xe2\x82", b"\x80", b"\xed\xa0\x80")]
NAMES = ["a", "b", "c", "d", "A", "a.c", "b.h", "-n", "x y", "\u00e9", ".hidden", "z", "a-b", "a0", "#", "*"]


# ---- trees ----

def draw_line(draw, style):
    parts = []
    for _ in range(draw.choice((0, 1, 1, 2, 3, 5, 8))):
        chance = draw.random()
        if style != "ascii" and chance < 0.15:
            parts.append(draw.choice(BEYOND_ASCII).encode())
        elif style == "broken" and chance < 0.25:
            parts.append(draw.choice(BROKEN))
        else:
            parts.append(draw.choice(WORDS).encode())
    return b"".join(parts) + (b"\r" if draw.random() < 0.05 else b"")


def draw_content(draw, style):
    lines = [draw_line(draw, style) for _ in range(draw.choice((0, 1, 2, 5, 20, 60)))]
    if draw.random() < 0.02:
        lines = [draw.choice(lines or [b""]) + b" filler of some length" for _ in range(PIECE // 12)]
        lines[draw.randrange(len(lines))] = draw_line(draw, style)
    content = b"\n".join(lines)
    return content if draw.random() < 0.3 else content + b"\n"


def draw_tree(draw, style):
    """Directories, and contents of files by their names."""
    directories = [""]
    files = {}
    for _ in range(draw.randint(1, 25)):
        parent = draw.choice(directories)
        name = os.path.join(parent, draw.choice(NAMES))
        if name in files or name in directories:
            continue
        if draw.random() < 0.3 and name.count("/") < 5:
            directories.append(name)
        else:
            files[name] = draw_content(draw, style)
            if draw.random() < 0.03:
                files[name] += b"\0"
    return directories, files


def is_binary(content):
    return b"\0" in content[:LOOK]


def plant(root, directories, files):
    for name in directories[1:]:
        (root / name).mkdir()
    for name, content in files.items():
        (root / name).write_bytes(content)


# ---- patterns ----

def escape(text):
    return "".join("\\" + c if c in "().*+?[]{}|^$\\" else c for c in text)


def draw_atom(draw, style, depth, is_perl):
    chance = draw.random()
    if chance < 0.5:
        words = WORDS if style == "ascii" or draw.random() < 0.6 else BEYOND_ASCII
        return escape(draw.choice(draw.choice(words)))
    # PCRE2 tries what begins with ".*" from the start of a line alone, and not behind invalid bytes.
    if chance < 0.6 and style != "broken":
        return "."
    if chance < 0.75:
        return draw.choice(("[a-c]", "[^a]", "[a-z_]", "[0-9]", "[^0-9 ]", "[abA]", "[[:alpha:]]", "[ (]")
                           if style == "ascii" else ("[a-c]", "[^a]", "[0-9]", "[abA]", "[\u00e9\u0436]"))
    if chance < 0.8 and is_perl and style == "ascii":
        return draw.choice((r"\w", r"\d", r"\s", r"\W", r"\S", r"\D"))
    if depth == 0:
        return draw.choice("abx")
    return "(" + draw_regex(draw, style, depth - 1, is_perl) + ")"


def draw_piece(draw, style, depth, is_perl):
    if draw.random() < 0.3:
        return escape(draw.choice(WORDS))
    atom = draw_atom(draw, style, depth, is_perl)
    chance = draw.random()
    if chance < 0.6:
        return atom
    return atom + draw.choice(("*", "+", "?", "{2}", "{1,3}", "{2,}", *(("+?", "*?", "*+") if is_perl else ())))


def draw_branch(draw, style, depth, is_perl):
    pieces = [draw_piece(draw, style, depth, is_perl) for _ in range(draw.choice((1, 1, 2, 3, 4)))]
    # In groups that are repeated grep -E is wrong about them now and then.
    has_anchors = is_perl or depth == DEPTH
    if has_anchors and draw.random() < 0.12:
        pieces.insert(0, "^")
    if has_anchors and draw.random() < 0.12:
        pieces.append("$")
    if is_perl and style == "ascii" and draw.random() < 0.15:
        pieces.insert(draw.randrange(len(pieces) + 1), draw.choice((r"\b", r"\B", "(?=a)", "(?!b)", "(?<=a)")))
    return "".join(pieces)


def draw_regex(draw, style, depth, is_perl):
    return "|".join(draw_branch(draw, style, depth, is_perl) for _ in range(draw.choice((1, 1, 1, 2, 3))))


def draw_pattern(draw, style):
    """How grep is to read it, and what."""
    # About lines with invalid bytes grep -P goes its own way.
    kind = draw.choice("EEEF" if style == "broken" else "EEPPPF")
    if kind == "F":
        words = WORDS + (BEYOND_ASCII if style != "ascii" else [])
        return kind, "".join(draw.choices(words, k=draw.choice((1, 1, 2))))
    return kind, draw_regex(draw, style, DEPTH, kind == "P")


# ---- the two ----

def ask_grep(root, kind, ignores_case, pattern):
    """Path and line of every match; None and why for what it does not understand."""
    done = subprocess.run(
        ["grep", "-rnZa" + kind + ("i" if ignores_case else ""), "-e", pattern, "."], cwd=root,
        env=ENVIRONMENT, check=False, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )
    if done.returncode > 1:
        return None, done.stderr.decode(errors="replace").strip()
    found = []
    for record in done.stdout.split(b"\n")[:-1]:
        path, _, rest = record.partition(b"\0")
        found.append((path.decode().removeprefix("./"), int(rest.partition(b":")[0])))
    return found, ""


def ask_ours(answers, root, questions):
    given = b""
    for kind, ignores_case, pattern, threads, context, most in questions:
        text = pattern.encode()
        given += b"%d %d %d %d %d %d\n" % (kind != "F", ignores_case, threads, context, most, len(text)) + text
    told = subprocess.run([answers, root], input=given, stdout=subprocess.PIPE, check=True).stdout
    result, matches = [], []
    for line in told.splitlines():
        record = json.loads(line)
        if "path" in record:
            matches.append(record)
        else:
            result.append((matches, record))
            matches = []
    return result


def tree_order(match):
    """In each directory the directories first, then by bytes."""
    parts = match[0].split("/")
    return [(i == len(parts) - 1, part.encode()) for i, part in enumerate(parts)], match[1]


def count_lines(content):
    return content.count(b"\n") + (not content.endswith(b"\n"))


def around(count, number, context):
    """How many of so many lines there are to show with one."""
    return min(number - 1, context) + min(count - number, context)


def compare(question, wanted, files, matches, summary):
    """What differs, in words, or an empty string."""
    _, _, _, _, context, most = question
    if "error" in summary:
        return f"ours fails: {summary['error']}"
    binary = sum(is_binary(content) for content in files.values())
    if summary["binary"] != binary or summary["missed"] != 0:
        return f"{summary} with {binary} binary files"
    wanted = sorted(wanted, key=tree_order)
    if summary["total"] != len(wanted) or summary["isTruncated"] != (len(wanted) > most):
        return f"{summary} where grep counts {len(wanted)}"
    found = [(match["path"], match["line"]) for match in matches]
    if found != wanted[:most]:
        for ours, theirs in zip(found, wanted):
            if ours != theirs:
                return f"ours {ours}, grep {theirs}"
        return f"ours has {len(found)} matches"
    counts = {name: count_lines(content) for name, content in files.items()}
    for match in matches:
        if match["around"] != around(counts[match["path"]], match["line"], context):
            return f"{match['path']}:{match['line']}: {match['around']} lines around it"
    return ""


def do_round(draw, answers, tally):
    style = draw.choice(("ascii", "ascii", "utf8", "broken"))
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        directories, files = draw_tree(draw, style)
        plant(root, directories, files)
        texts = {name: content for name, content in files.items() if not is_binary(content)}
        questions, wanted = [], []
        while len(questions) < PATTERNS:
            kind, pattern = draw_pattern(draw, style)
            ignores_case = draw.random() < 0.25
            found, why = ask_grep(root, kind, ignores_case, pattern)
            if found is None:
                tally["refused"] += 1
                if tally["refused"] * 20 > tally["compared"] + 200:
                    sys.exit(f"grep does not understand much of this: /{pattern}/: {why}")
                continue
            most = draw.choice((1, 2, 7, 10000, 10000, 10000))
            questions.append((kind, ignores_case, pattern, draw.choice((1, 2, 4)), draw.choice((0, 0, 1, 3)), most))
            wanted.append([match for match in found if match[0] in texts])
        problems = 0
        for question, lines, (matches, summary) in zip(questions, wanted, ask_ours(answers, root, questions)):
            if summary.get("error") == "pattern_cost":
                tally["costly"] += 1
                continue
            tally["compared"] += 1
            tally["matching"] += bool(lines)
            tally["lines"] += len(lines)
            difference = compare(question, lines, files, matches, summary)
            if difference:
                problems += 1
                print(f"grep -{question[0]}{'i' if question[1] else ''} /{question[2]}/ {question[3:]}: {difference}")
                tell_lines(texts, lines, matches)
    return problems


def tell_lines(texts, wanted, matches):
    """The first lines that only one of them has found."""
    found = {(match["path"], match["line"]) for match in matches}
    for path, number in sorted(found ^ set(wanted))[:3]:
        print(f"  {path}:{number}: {texts.get(path, b'').split(bytes([10]))[number - 1]!r}")


def main():
    answers = pathlib.Path(sys.argv[1]).resolve()
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 50
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else random.SystemRandom().randrange(1 << 32)
    if subprocess.run(["grep", "-P", "x"], input=b"x", stdout=subprocess.DEVNULL, check=False).returncode != 0:
        print("grep knows no -P here")
        return SKIPPED
    print(f"seed {seed}", flush=True)
    draw = random.Random(seed)
    tally = {"compared": 0, "refused": 0, "costly": 0, "matching": 0, "lines": 0}
    differences = 0
    for _ in range(rounds):
        differences += do_round(draw, answers, tally)
        if differences > 10:
            break
    print(f"{tally['compared']} searches, {tally['matching']} of them with matches, {tally['lines']} lines, "
          f"{tally['costly']} that cost too much, {differences} differences")
    # A draw that seldom matches would prove little, nor would one that seldom comes to its end.
    is_telling = tally["matching"] * 3 > tally["compared"] > tally["costly"] * 50
    if not is_telling:
        print("too few patterns match anything, or too many cost too much")
    return 0 if differences == 0 and is_telling else 1


if __name__ == "__main__":
    sys.exit(main())
