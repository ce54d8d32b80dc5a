#!/usr/bin/env python3
"""Compares the tables of the tests with the official scripts.

    GRADING_TABLES=/tmp/tables.json go test ./internal/grading
    python3 tables.py INFERENCE PRM800K /tmp/tables.json

Called with the folders of mlcommons/inference and openai/prm800k (whose grader needs sympy and pylatexenc). Each line of the
file is a function, its arguments, and what the table says that it gives.
"""
import json
import logging
import os
import signal
import sys
import warnings

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, here)
from official import load  # noqa: E402

warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)
inference, prm800k, tables = map(os.path.abspath, sys.argv[1:])
deep, oss = load(inference, "deepseek-r1"), load(inference, "gpt-oss-120b")
sys.path.insert(0, prm800k + "/prm800k")
os.chdir(prm800k + "/prm800k")
from grading import grader  # noqa: E402


def latex(text):
    try:
        return grader._parse_latex(text)
    except Exception:
        return None


FUNCTIONS = {
    "same": lambda said, wanted: bool(grader.grade_answer(said, wanted)),
    "latex": latex,
    "written": lambda text: grader.math_normalize.normalize_answer(text),
    "normal": lambda text: grader._normalize(text),
    "letter": lambda text, last: deep.parse_multiple_choice(text, last),
    "final letter": lambda text, last: oss.parse_multiple_choice(text, last),
    "final": lambda text: oss.extract_final_section(text),
    "boxed": lambda text: deep.parse_boxed_math(text),
    "integer": lambda text: deep.parse_aime_answer(text),
    "code": lambda text: deep.parse_code(text) or "",
    "final code": lambda text: oss.parse_code(text) or "",
}


def too_long(*_):
    raise TimeoutError


signal.signal(signal.SIGALRM, too_long)
wrong = total = 0
for line in open(tables, encoding="utf-8"):
    case = json.loads(line)
    signal.alarm(10)
    try:
        got = FUNCTIONS[case["function"]](*case["arguments"])
    except Exception as e:
        got = f"{type(e).__name__}: {e}"
    signal.alarm(0)
    total += 1
    if got != case["result"]:
        wrong += 1
        print(f"{case['function']}{tuple(case['arguments'])!r}\n  is   {got!r}\n  want {case['result']!r}")
print(f"{total} cases, {wrong} wrong")
