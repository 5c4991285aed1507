#!/usr/bin/env python3
"""Attempts to escape from a sandbox. It runs inside one, as an attacker would:

    gatehouse sandbox run ... -- python3 attempts.py NAME '{"root": ..., "home": ...}'

An attempt is a function with @attempt in one of the files in this folder. It prints what it read
with got(); test_escapes.py checks what happened outside. `refused(call, ...)` and
`works(what, function, ...)` report a call that should have been refused and was not. Where that is
harmless, the test also runs the attempt outside a sandbox, where it must succeed: an attempt that
can never work proves nothing.
"""
import json
import pathlib
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import files
import kernel
import processes
import reach
from way import attempts, place

SUBJECTS = (files, kernel, processes, reach)


def main():
    place.update(json.loads(sys.argv[2]))
    place["abstract"] = "\0" + place["abstract"]
    attempts[sys.argv[1]]()
    print("tried", flush=True)


if __name__ == "__main__":
    main()
