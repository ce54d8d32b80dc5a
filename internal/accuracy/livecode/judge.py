"""Judges a program of LiveCodeBench by its tests.

Reads a job as JSON from the standard input: the code, the inputs and outputs of the tests, the
name of the function (empty: the program reads and writes text), the seconds that a test may
take, and a secret. Writes the secret and nothing else if the program passes all tests.

A program passes if LiveCodeBench's own grader lets it pass (lcb_runner/evaluation/testing_util.py, revision b1e7cab):
its input behaves unlike a real one, and it misses the same functions. Comments mark these places.
"""

import ast
import builtins
import io
import json
import os
import shutil
import signal
import subprocess
import sys
from decimal import Decimal
from types import ModuleType
from unittest.mock import mock_open, patch

# Programs find these names without importing them, the later ones over the earlier.
OPEN = ("string re datetime collections heapq bisect copy math random statistics itertools functools"
        " operator io sys json builtins typing").split()
NAMED = "string re datetime collections heapq bisect copy math random statistics itertools functools operator io sys json".split()
PRELUDE = "".join(
    ["from %s import *\n" % name for name in OPEN]
    + ["import %s\n" % name for name in NAMED]
    + ["sys.setrecursionlimit(50000)\n"])

# Functions taken away: a program that uses one fails.
GONE = {
    builtins: "quit help",
    os: "kill system putenv remove removedirs rmdir fchdir setuid fork forkpty killpg rename renames truncate replace"
        " unlink fchmod fchown chmod chown chroot lchflags lchmod lchown getcwd chdir",
    shutil: "rmtree move chown",
    subprocess: "Popen",
}
NOT_IMPORTED = "ipdb joblib resource psutil tkinter".split()


class OutOfTime(Exception):
    """A test took too long. A program may catch it and go on."""


def on_alarm(signum, frame):
    print("out of time")  # makes the output wrong even if the program goes on
    raise OutOfTime


def take_away():
    os.environ["OMP_NUM_THREADS"] = "1"
    for module, names in GONE.items():
        for name in names.split():
            setattr(module, name, None)
    for name in NOT_IMPORTED:
        sys.modules[name] = None


def load(code, seconds):
    """Runs the code as a module and returns the owner of its functions: the module, or an object of its class Solution."""
    signal.alarm(seconds)
    try:
        module = ModuleType("solution", "")
        exec(code, module.__dict__)
        return module.Solution() if "class Solution" in code else module
    finally:
        signal.alarm(0)


def passes_calls(job):
    """Calls the function with the values in the lines of an input and compares the result with the output."""
    method = getattr(load(PRELUDE + "\n\n" + job["code"], job["seconds"]), job["function"])
    inputs = [[json.loads(line) for line in text.split("\n")] for text in job["inputs"]]
    outputs = [json.loads(text) for text in job["outputs"]]
    for arguments, want in zip(inputs, outputs):
        signal.alarm(job["seconds"])
        try:
            got = method(*arguments)
        finally:
            signal.alarm(0)
        if isinstance(got, tuple):
            got = list(got)
        same = got == want
        if not same or not same > 0:
            return False
    return True


def without_guard(code):
    """Replaces a last `if __name__ == '__main__'` by its body."""
    try:
        body = ast.parse(code).body
        last = body[-1]
        if isinstance(last, ast.If) and ast.unparse(last.test).strip() == "__name__ == '__main__'":
            return ast.unparse(body[:-1]) + "\n" + ast.unparse(last.body)
    except Exception:
        pass
    return code


def as_function(code):
    """Makes a program a function, after its imports."""
    try:
        body = ast.parse(code).body
        imports = [s for s in body if isinstance(s, (ast.Import, ast.ImportFrom))]
        rest = [s for s in body if not isinstance(s, (ast.Import, ast.ImportFrom))]
        none = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
        function = ast.FunctionDef(name="wrapped_function", args=none, body=rest, decorator_list=[], lineno=-1)
        return PRELUDE + "\n" + ast.unparse(imports) + "\n" + ast.unparse(function)
    except Exception:
        return code


class Bytes:
    """The bytes of an input: a line is always the first one."""

    def __init__(self, text):
        self.data = text.encode("utf-8")

    def read(self, *_):
        return self.data

    def readline(self, *_):
        return self.data.split(b"\n")[0] + b"\n"


class Input:
    """Takes the place of sys.stdin: read() returns the whole input each time, readlines() drops the line ends,
    and iteration fails."""

    def __init__(self, text):
        self.text = text
        self.lines = io.StringIO(text)
        self.buffer = Bytes(text)

    def read(self, *_):
        return self.text

    def readline(self, *limit):
        return self.lines.readline(*limit)

    def readlines(self, *_):
        return self.text.split("\n")

    def __getattr__(self, name):
        return getattr(self.lines, name)


def call(function, text):
    """Calls the function of a program with this text as its input. A program that imported stdin from sys
    before has the real one, whose three functions read the text too."""
    lines = iter(text.split("\n"))
    with patch("sys.stdin.read", lambda *_: text), \
            patch("sys.stdin.readlines", lambda *_: text.split("\n")), \
            patch("sys.stdin.readline", lambda *_: next(lines)), \
            patch("sys.stdin", Input(text)), \
            patch("builtins.open", mock_open(read_data=text)):
        try:
            function()
        except SystemExit:
            pass


def written(function, text, seconds):
    """Returns the text that the function writes through sys.stdout. A program that imported stdout from sys before writes nothing."""
    stdout, sys.stdout = sys.stdout, io.StringIO()
    sys.stdout.close = lambda _: 1  # needs an argument, so that closing it fails
    captured = sys.stdout
    signal.alarm(seconds)
    try:
        call(function, text)
        return captured.getvalue()
    finally:
        signal.alarm(0)
        sys.stdout = stdout


def lines_of(text):
    return [line.strip() for line in text.strip().split("\n")]


def same_line(got, want):
    """Equal as text, or as decimal numbers."""
    if got == want:
        return True
    try:
        return [Decimal(word) for word in got.split()] == [Decimal(word) for word in want.split()]
    except Exception:
        return False


def passes_texts(job):
    function = load(as_function(without_guard(job["code"])), job["seconds"]).wrapped_function
    for text, want in zip(job["inputs"], job["outputs"]):
        got, want = lines_of(written(function, text, job["seconds"])), lines_of(want)
        if len(got) != len(want) or not all(map(same_line, got, want)):
            return False
    return True


def main():
    job = json.loads(sys.stdin.buffer.read())
    secret, verdict = job.pop("secret").encode(), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    for file in range(3):
        os.dup2(nothing, file)
    sys.stdin = open(0, closefd=False)
    if hasattr(sys, "set_int_max_str_digits"):
        sys.set_int_max_str_digits(50000)
    signal.signal(signal.SIGALRM, on_alarm)
    take_away()
    passed = False
    try:
        passed = passes_texts(job) if not job["function"] else passes_calls(job)
    except BaseException:  # any other end of a program is a failure
        pass
    if passed:
        os.write(verdict, secret)
    os._exit(0)


main()
