"""Every tool of commands in every mode: what may be told or done without a yes, and despite one.

A row is a command, with a directory if it names one, about something that exists and about something of
the same length that does not. Where it is refused it has no effect and tells nothing; where reading needs
permission, the refusals of both are alike. What rules deny stays denied where commands have sandboxes.

A client is called with a tool, arguments, and what to answer if there is a question. It returns a Told.
"""
import collections
import itertools
import shutil

from tool_table import CONTENT, GONE, MODES, NAME, picture

KEPT = "the-kept-content"  # rules deny reading it
LOCKED = "the-locked-content"  # and changing this
TOOLS = {"shell_execute", "shell_start", "shell_output", "shell_input", "shell_stop", "shell_list"}
ANSWERS = {"deny": ("nobody",), "allow": ("nobody",), "ask": ("nobody", "no", "yes")}

# Whether it was done, all that was told, questions included, and the structured result.
Told = collections.namedtuple("Told", "worked text result")


class Row:
    def __init__(self, command, cwd=None, is_outside=False, is_denied=False, is_no_directory=False):
        self.command, self.cwd = command, cwd
        self.can_run = not (is_outside or is_denied or is_no_directory)
        self.is_outside = is_outside  # of the folder, so nobody is told about it
        self.is_denied = is_denied  # by a rule, in any mode

    def arguments(self, name):
        given = {"command": self.command, "cwd": self.cwd}
        return {key: text.replace("{NAME}", name) for key, text in given.items() if text is not None}

    def has_twin(self):
        return "{NAME}" in f"{self.command}{self.cwd}"


ROWS = [
    Row("cat {NAME} {NAME}.dir/*"),
    Row("echo x > made"),
    Row("echo x > {NAME}; rm -r {NAME}.dir"),
    Row("cat *; echo x > made", cwd="{NAME}.dir"),
    Row("cat *; echo x > made", cwd="./{NAME}.dir//"),
    Row("echo x > made", cwd="{NAME}", is_no_directory=True),
    Row("echo x > made", cwd="{NAME}/below", is_no_directory=True),
    Row("echo x > made", cwd="away/{NAME}.dir", is_outside=True),
    Row("echo x > made", cwd="../outside/{NAME}.dir", is_outside=True),
    Row("cat *; echo x > made", cwd="kept{NAME}", is_denied=True),
]
DENIED = ((f"kept{NAME}/inner", KEPT), ("kept", KEPT), ("locked", LOCKED))
# What rules deny would be read, moved to where it can be read, or changed.
ATTEMPTS = (
    f"cat kept kept{NAME}/*", "mv kept bare; cat bare", "ln kept bare; cat bare",
    "cp -r . copies; cat copies/*", f"mv kept{NAME} bare; cat bare/*", "echo x > kept",
    f"rm -rf kept{NAME}", "echo x > locked", "rm -f locked", "mv locked bare",
    "ln locked bare && echo x > bare",
)


def furnish(root):
    """The same tree before every call, and an empty folder beside it."""
    for entry in root.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()
    outside = root.parent / "outside"
    (outside / f"{NAME}.dir").mkdir(parents=True, exist_ok=True)
    (root / "away").symlink_to(outside)
    for name, content in ((NAME, CONTENT), (f"{NAME}.dir/inner", CONTENT), *DENIED):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(content)


def rules(root):
    """For the settings."""
    return {"filesystemRead": {"allow": [], "deny": ["glob:**/kept*"]},
            "filesystemWrite": {"allow": [], "deny": [str(root / "locked")]}}


def cases():
    """All modes, and for each what somebody may answer, or that there is nobody."""
    for read, write, shell in itertools.product(MODES, MODES, MODES):
        if read == "deny" and shell == "deny":
            continue  # then there is nothing to serve
        for answer in ANSWERS[shell]:
            yield {"read": read, "write": write, "shell": shell}, answer


def flags(modes):
    return ("--permission-filesystem-read", modes["read"], "--permission-filesystem-write", modes["write"],
            "--permission-shell", modes["shell"])


def is_refused(modes, answer):
    return modes["shell"] == "deny" or (modes["shell"] == "ask" and answer != "yes")


def end_job(client, job):
    """What it said up to its end."""
    said, state = "", "running"
    while state == "running":
        result = client("shell_output", {"jobId": job, "waitMs": 1000}).result
        said, state = said + result["output"], result["state"]
    client("shell_stop", {"jobId": job})
    return said


def check_row(case, root, row, modes, answer, client):
    """Tells whether the command ran."""
    has_run = False
    # To wait for every job that may run would take long.
    has_jobs = is_refused(modes, answer) or modes["read"] == modes["write"]
    for tool in ("shell_execute", "shell_start") if has_jobs else ("shell_execute",):
        texts = {}
        for name in (NAME, GONE):
            furnish(root)
            before = picture(root)
            about = (tool, row.arguments(name), modes, answer)
            told = client(tool, row.arguments(name), answer)
            said = told.text
            if told.worked and tool == "shell_start":
                said += end_job(client, told.result["jobId"])
            if is_refused(modes, answer) or row.is_outside:
                case.assertFalse(told.worked, (about, said))
                case.assertEqual(picture(root), before, about)
                case.assertNotIn(CONTENT, said, about)
            if row.is_denied:
                case.assertNotIn(KEPT, said, about)
            case.assertEqual(list((root / "away" / f"{NAME}.dir").iterdir()), [], about)
            texts[name] = told.text.replace(name, "{NAME}")
            has_run = has_run or told.worked
        is_secret = row.is_outside or row.is_denied or (
            is_refused(modes, answer) and modes["read"] != "allow")
        if is_secret and row.has_twin():
            case.assertEqual(texts[NAME], texts[GONE], (tool, row.arguments("x"), modes, answer))
    return has_run


def check_typing(case, root, modes, answer, client):
    """What is typed into a job counts as a command of its own."""
    furnish(root)
    before = picture(root)
    started = client("shell_start", {"command": "bash -s"}, "yes")
    if not started.worked:
        case.assertNotEqual(modes["shell"], "allow", started.text)
        return
    job = started.result["jobId"]
    typed = client("shell_input", {"jobId": job, "text": f"cat {NAME}; echo x > made; exit\n"}, answer)
    case.assertEqual(typed.worked, not is_refused(modes, answer), (modes, answer, typed.text))
    if typed.worked:
        case.assertIn(CONTENT, end_job(client, job))
    else:
        client("shell_stop", {"jobId": job})
        case.assertEqual(picture(root), before, (modes, answer))


def check_rules(case, root, modes, client):
    """What rules deny, and what the folder's mode denies, stays denied to a command in a sandbox."""
    for attempt in ATTEMPTS:
        furnish(root)
        told = client("shell_execute", {"command": attempt}, "yes")
        case.assertNotIn(KEPT, told.text, (attempt, modes))
        for name, content in DENIED:
            case.assertEqual((root / name).read_text(), content, (attempt, modes))
    furnish(root)
    client("shell_execute", {"command": "echo x > made"}, "yes")
    case.assertEqual((root / "made").exists(), modes["write"] != "deny" != modes["read"], modes)


def check_all(case, root, is_boxed, connect):
    """connect(modes, answer) is a context manager that gives a client."""
    has_run = set()
    for modes, answer in cases():
        furnish(root)
        with connect(modes, answer) as client:
            for row in ROWS:
                if check_row(case, root, row, modes, answer, client):
                    has_run.add(row)
            check_typing(case, root, modes, answer, client)
            for tool in sorted(TOOLS - {"shell_execute", "shell_start", "shell_list"}):
                arguments = {"jobId": "1"} | ({"text": "x"} if tool == "shell_input" else {})
                case.assertFalse(client(tool, arguments, answer).worked, (tool, modes))
            if is_boxed and not is_refused(modes, answer):
                check_rules(case, root, modes, client)
    # What is allowed runs, or the table would say nothing.
    for row in ROWS:
        case.assertEqual(row in has_run, row.can_run, row.arguments(NAME))
