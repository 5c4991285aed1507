#!/usr/bin/env python3
"""Ways out of a sandbox. It runs inside one, as an attacker would:

    gatehouse sandbox run ... -- python3 attempts.py NAME '{"root": ..., "home": ...}'

A way out is a function with @attempt in one of the files beside this one. It tries, and tells what
it got: whatever it reads it shows with got(), and what must not have happened outside is for the
test to look at (test_escapes.py). What should be refused outright is written `refused(call, ...)` or
`works(what, function, ...)`, which tell when it was not. Where it can be done without harm, the test
runs it outside as well, and there it must get something: an attempt that cannot work shows nothing.
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
