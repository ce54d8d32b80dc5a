"""Writes verdicts.json: programs, their tests, and whether LiveCodeBench's own grader lets them pass.

    python3 make_verdicts.py CHECKOUT 3> verdicts.json

CHECKOUT is github.com/LiveCodeBench/LiveCodeBench at b1e7cab44d610bbc2e10d36d270cd0c89c600492, which
the reference has as a submodule; it needs NumPy. The programs are ours.
"""

import json
import os
import sys

sys.path.insert(0, sys.argv[1])
sys.modules["tqdm"] = type(sys)("tqdm")  # draws a bar
sys.modules["tqdm"].tqdm = None
import types
for name in ("lcb_runner", "lcb_runner.evaluation"):  # whose __init__ want more packages
    package = types.ModuleType(name)
    package.__path__ = [os.path.join(sys.argv[1], *name.split("."))]
    sys.modules[name] = package
from lcb_runner.evaluation.compute_code_generation_metrics import check_correctness
from lcb_runner.evaluation.pass_k_utils import extract_instance_results

ADD = [["1 2\n", "3\n"], ["10 -4\n", "6\n"]]
LINES = [["3\na\n\nc\n", "a||c\n"]]

TEXT = [
    ("reads by input", "a, b = map(int, input().split())\nprint(a + b)", ADD),
    ("is wrong", "print(3)", ADD),
    ("writes more", "a, b = map(int, input().split())\nprint(a + b)\nprint()", ADD),
    ("writes another line", "a, b = map(int, input().split())\nprint(a + b)\nprint('x')", ADD),
    ("has a guard", "def main():\n    print(sum(map(int, input().split())))\nif __name__ == '__main__':\n    main()", ADD),
    ("has a guard with other quotes", 'def main():\n    print(sum(map(int, input().split())))\nif __name__ == "__main__":\n    main()', ADD),
    ("has a guard that is not last", "if __name__ == '__main__':\n    print(sum(map(int, input().split())))\nx = 1", ADD),
    ("is empty", "# nothing", ADD),
    ("is only imports", "import sys", ADD),
    ("does not parse", "print(", ADD),
    ("raises", "1 / 0", ADD),
    ("exits", "print(sum(map(int, input().split())))\nexit()", ADD),
    ("exits by sys", "import sys\nprint(sum(map(int, input().split())))\nsys.exit(1)", ADD),
    ("quits", "print(sum(map(int, input().split())))\nquit()", ADD),
    ("ends at once", "import os\nprint(sum(map(int, input().split())))\nos._exit(0)", ADD),
    ("reads all", "import sys\nprint(sum(map(int, sys.stdin.read().split())))", ADD),
    ("reads all twice", "import sys\nsys.stdin.read()\nprint(sum(map(int, sys.stdin.read().split())))", ADD),
    ("reads lines", "import sys\nprint(sum(map(int, sys.stdin.readline().split())))", ADD),
    ("reads a line after all", "import sys\nsys.stdin.read()\nprint(sum(map(int, sys.stdin.readline().split())))", ADD),
    ("reads readline of sys bound at first", "import sys\ninput = sys.stdin.readline\nprint(sum(map(int, input().split())))", ADD),
    ("reads stdin of sys", "from sys import stdin\nprint(sum(map(int, stdin.readline().split())))", ADD),
    ("reads stdin of sys whole", "from sys import stdin\nprint(sum(map(int, stdin.read().split())))", ADD),
    ("iterates over stdin", "import sys\nfor line in sys.stdin:\n    print(sum(map(int, line.split())))", ADD),
    ("iterates over stdin of sys", "from sys import stdin\nfor line in stdin:\n    print(sum(map(int, line.split())))", ADD),
    ("writes stdout of sys", "from sys import stdout\nstdout.write(str(sum(map(int, input().split()))))", ADD),
    ("writes sys.stdout", "import sys\nsys.stdout.write(str(sum(map(int, input().split()))))", ADD),
    ("writes bytes", "import sys\nsys.stdout.buffer.write(str(sum(map(int, input().split()))).encode())", ADD),
    ("closes stdout", "import sys\nprint(sum(map(int, input().split())))\nsys.stdout.close()", ADD),
    ("reads bytes", "import sys\nprint(sum(map(int, sys.stdin.buffer.read().split())))", ADD),
    ("reads a line of bytes", "import sys\nprint(sum(map(int, sys.stdin.buffer.readline().split())))", ADD),
    ("reads lines of bytes", "import sys\nprint(sum(map(int, sys.stdin.buffer.readlines()[0].split())))", ADD),
    ("opens 0", "print(sum(map(int, open(0).read().split())))", ADD),
    ("opens 0 of builtins", "import builtins\nprint(sum(map(int, builtins.open(0).read().split())))", ADD),
    ("opens a name of stdin", "print(sum(map(int, open('/dev/stdin').read().split())))", ADD),
    ("reads an empty line", "n = int(input())\nprint('|'.join(input() for _ in range(n)))", LINES),
    ("reads an empty line of stdin of sys", "from sys import stdin\nn = int(stdin.readline())\nprint('|'.join(stdin.readline() for _ in range(n)))", LINES),
    ("strips lines", "import sys\nn = int(sys.stdin.readline())\nprint('|'.join(sys.stdin.readline().strip() for _ in range(n)))", LINES),
    ("reads lines at once", "import sys\nlines = sys.stdin.readlines()\nprint('|'.join(lines[1:4]))", LINES),
    ("reads past the end", "a = input()\ntry:\n    while True: input()\nexcept EOFError:\n    print(sum(map(int, a.split())))", ADD),
    ("reads past the end of stdin of sys", "from sys import stdin\na = stdin.readline()\ntry:\n    while True: stdin.readline()\nexcept StopIteration:\n    print(sum(map(int, a.split())))", ADD),
    ("asks with a prompt", "a, b = map(int, input('numbers? ').split())\nprint(a + b)", ADD),
    ("catches all", "try:\n    a, b = map(int, input().split())\nexcept:\n    pass\nprint(a + b)", ADD),
    ("uses names that nobody imported", "c = Counter(input().split())\nprint(sum(int(k) * v for k, v in c.items()))", ADD),
    ("uses gcd of math", "a, b = map(int, input().split())\nprint(a + b + gcd(4, 6) - 2)", ADD),
    ("uses pow of math", "a, b = map(int, input().split())\nprint(pow(a + b, 1))", [["1 2\n", "3\n"]]),
    ("uses pow with three numbers", "a, b = map(int, input().split())\nprint(pow(a + b, 1, 100))", ADD),
    ("has a global", "total = 0\ndef add(x):\n    global total\n    total += x\nfor x in input().split():\n    add(int(x))\nprint(total)", ADD),
    ("has a function that sees names of the program", "n = 2\ndef f():\n    return n\nprint(sum(map(int, input().split())) + f() - 2)", ADD),
    ("assigns and reads a name of the prelude", "print(sum(map(int, input().split())))\nsum = 1", ADD),
    ("returns at the outermost level", "print(sum(map(int, input().split())))\nreturn", ADD),
    ("has a class Solution", "class Solution:\n    def add(self, a, b):\n        return a + b\nprint(Solution().add(*map(int, input().split())))", ADD),
    ("speaks of a class Solution in a text", "x = 'class Solution'\nprint(sum(map(int, input().split())))", ADD),
    ("speaks of a class Solution in a comment", "# class Solution\nprint(sum(map(int, input().split())))", ADD),
    ("has annotations of the future", "from __future__ import annotations\nprint(sum(map(int, input().split())))", ADD),
    ("imports all inside", "def f():\n    import math\n    return math.floor(0.5)\nprint(sum(map(int, input().split())) + f())", ADD),
    ("asks for the folder", "import os\nos.getcwd()\nprint(sum(map(int, input().split())))", ADD),
    ("starts a process", "import subprocess\nsubprocess.Popen(['true'])\nprint(sum(map(int, input().split())))", ADD),
    ("imports resource", "import resource\nprint(sum(map(int, input().split())))", ADD),
    ("imports resource if it can", "try:\n    import resource\nexcept ImportError:\n    pass\nprint(sum(map(int, input().split())))", ADD),
    ("has a thread", "import sys, threading\ndef main():\n    print(sum(map(int, input().split())))\nthreading.stack_size(1 << 26)\nt = threading.Thread(target=main)\nt.start()\nt.join()", ADD),
    ("recurses", "import sys\nsys.setrecursionlimit(10 ** 6)\ndef f(n):\n    return 0 if n == 0 else f(n - 1)\nprint(sum(map(int, input().split())) + f(20000))", ADD),
    ("recurses too deep", "def f(n):\n    return 0 if n == 0 else f(n - 1)\nprint(sum(map(int, input().split())) + f(10 ** 5))", ADD),
    ("is slow", "while True: pass", [["1\n", "1\n"]]),
    ("is slow and catches it", "print(1)\ntry:\n    while True: pass\nexcept Exception:\n    pass", [["1\n", "1\n"]]),
    ("is slow and right before", "import time\nprint(1)\ntime.sleep(10)", [["1\n", "1\n"]]),
    ("replaces stdout", "import sys, io\nold = sys.stdout\nsys.stdout = io.StringIO()\nprint('lost')\nsys.stdout = old\nprint(sum(map(int, input().split())))", ADD),
    ("keeps what was before", "try:\n    seen\nexcept NameError:\n    seen = 0\nprint(sum(map(int, input().split())))", ADD),
    ("changes sys.stdin", "import sys, io\nsys.stdin = io.StringIO(sys.stdin.read())\nprint(sum(map(int, input().split())))", ADD),
    ("writes numbers otherwise", "print('3.0', 1)", [["\n", "3 1.00\n"]]),
    ("writes a number as a word", "print('three')", [["\n", "3\n"]]),
    ("writes a number with an exponent", "print('1e1')", [["\n", "10\n"]]),
    ("writes nearly the number", "print('0.1000000001')", [["\n", "0.1\n"]]),
    ("writes more numbers", "print('1 2 3')", [["\n", "1 2\n"]]),
    ("writes no number", "print('nan')", [["\n", "NaN\n"]]),
    ("writes blanks", "print('  a b  ')\nprint()", [["\n", "\na b\n\n"]]),
    ("writes blanks between", "print('1   2')", [["\n", "1 2\n"]]),
    ("writes words with blanks between", "print('a   b')", [["\n", "a b\n"]]),
    ("writes blank lines between", "print('a\\n\\nb')", [["\n", "a\nb\n"]]),
    ("writes other line ends", "print('a\\r\\nb')", [["\n", "a\nb\n"]]),
    ("writes nothing where nothing is wanted", "pass", [["\n", "\n"]]),
    ("writes a long number", "print(10 ** 40000)", [["\n", "1" + "0" * 40000 + "\n"]]),
    ("writes a longer number", "print(10 ** 60000)", [["\n", "1" + "0" * 60000 + "\n"]]),
    ("is right in the first test only", "print(3)", ADD),
    ("leaves a name for the next test", "import sys\nsys.seen = getattr(sys, 'seen', 0) + 1\nprint(sys.seen)", [["\n", "1\n"], ["\n", "2\n"]]),
]

SUM = ("add", [["1\n2", "3"], ["10\n-4", "6"]])
LIST = ("f", [["[1, 2]", "[2, 4]"]])
SOLUTION = "class Solution:\n    def %s(self, %s):\n        %s"

CALLS = [
    ("is a method", SOLUTION % ("add", "a, b", "return a + b"), SUM),
    ("is a wrong method", SOLUTION % ("add", "a, b", "return a"), SUM),
    ("is a function", "def add(a, b):\n    return a + b", SUM),
    ("has annotations", "class Solution:\n    def add(self, a: int, b: Optional[int]) -> List[int]:\n        return a + b", SUM),
    ("has another name", SOLUTION % ("plus", "a, b", "return a + b"), SUM),
    ("has fewer arguments", SOLUTION % ("add", "a", "return a"), SUM),
    ("is a class that cannot be made", "class Solution:\n    def __init__(self, x): pass\n    def add(self, a, b): return a + b", SUM),
    ("has another class before", "class Solution2:\n    pass\nclass Solution:\n    def add(self, a, b): return a + b", SUM),
    ("has only a class like it", "class Solution2:\n    def add(self, a, b): return a + b", SUM),
    ("gives a float", SOLUTION % ("add", "a, b", "return float(a + b)"), SUM),
    ("gives a text", SOLUTION % ("add", "a, b", "return str(a + b)"), SUM),
    ("gives nothing", SOLUTION % ("add", "a, b", "print(a + b)"), SUM),
    ("raises", SOLUTION % ("add", "a, b", "raise ValueError"), SUM),
    ("exits", SOLUTION % ("add", "a, b", "sys.exit(0)"), SUM),
    ("exits while it is loaded", "class Solution:\n    def add(self, a, b): return a + b\nsys.exit(0)", SUM),
    ("is slow", SOLUTION % ("add", "a, b", "\n        while True: pass"), ("add", [["1\n2", "3"]])),
    ("is slow and catches it", SOLUTION % ("add", "a, b", "\n        try:\n            while True: pass\n        except Exception: return a + b"), ("add", [["1\n2", "3"]])),
    ("is slow while it is loaded", "while True: pass", ("add", [["1\n2", "3"]])),
    ("gives a list", SOLUTION % ("f", "x", "return [2 * v for v in x]"), LIST),
    ("gives a tuple", SOLUTION % ("f", "x", "return tuple(2 * v for v in x)"), LIST),
    ("gives a list of tuples", SOLUTION % ("f", "x", "return [(v,) for v in x]"), ("f", [["[1, 2]", "[[1], [2]]"]])),
    ("gives a generator", SOLUTION % ("f", "x", "return (2 * v for v in x)"), LIST),
    ("gives True for 1", SOLUTION % ("f", "x", "return True"), ("f", [["0", "1"]])),
    ("gives a number for true", SOLUTION % ("f", "x", "return 1"), ("f", [["0", "true"]])),
    ("gives None for null", SOLUTION % ("f", "x", "return None"), ("f", [["0", "null"]])),
    ("gives nearly the number", SOLUTION % ("f", "x", "return 0.1 + 0.2"), ("f", [["0", "0.3"]])),
    ("gives what is equal to all", "class All:\n    def __eq__(self, other): return True\n" + SOLUTION % ("f", "x", "return All()"), LIST),
    ("gives what is equal by a number", "class All:\n    def __eq__(self, other): return 5\n" + SOLUTION % ("f", "x", "return All()"), LIST),
    ("gives what is equal below zero", "class All:\n    def __eq__(self, other): return -5\n" + SOLUTION % ("f", "x", "return All()"), LIST),
    ("gives what cannot be compared", "class All:\n    def __eq__(self, other): raise ValueError\n" + SOLUTION % ("f", "x", "return All()"), LIST),
    ("takes what is no JSON", SOLUTION % ("f", "x", "return x"), ("f", [["x", "1"]])),
    ("has an output that is no JSON", SOLUTION % ("f", "x", "return x"), ("f", [["1", "x"]])),
    ("has a line end after its input", SOLUTION % ("f", "x", "return x"), ("f", [["1\n", "1"]])),
    ("changes what it is given", SOLUTION % ("f", "x", "x.append(3); return x"), ("f", [["[1]", "[1, 3]"]])),
    ("keeps values from call to call", "class Solution:\n    seen = []\n    def f(self, x):\n        self.seen.append(x)\n        return len(self.seen)", ("f", [["1", "1"], ["1", "2"]])),
    ("uses cache", "class Solution:\n    @cache\n    def f(self, x):\n        return x", ("f", [["1", "1"]])),
    ("has a guard", SOLUTION % ("f", "x", "return x") + "\nif __name__ == '__main__':\n    raise ValueError", ("f", [["1", "1"]])),
    ("has annotations of the future", "from __future__ import annotations\n" + SOLUTION % ("f", "x", "return x"), ("f", [["1", "1"]])),
]

SECONDS = 2


def passes(code, tests, function):
    sample = {"input_output": json.dumps({"inputs": [t[0] for t in tests], "outputs": [t[1] for t in tests], "fn_name": function})}
    try:
        results, _ = check_correctness(sample, code, timeout=SECONDS, debug=False)
        return bool(extract_instance_results({0: [results]})[0][0])
    except Exception:  # as evaluate_livecodebench_worker takes it
        return False


def main():
    cases = [{"name": n, "code": c, "tests": t, "passes": passes(c, t, None)} for n, c, t in TEXT]
    cases += [{"name": n, "code": c, "function": f, "tests": t, "passes": passes(c, t, f)} for n, c, (f, t) in CALLS]
    with os.fdopen(3, "w") as out:
        json.dump({"seconds": SECONDS, "cases": cases}, out, indent=1)
        out.write("\n")


main()
