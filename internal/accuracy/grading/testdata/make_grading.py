#!/usr/bin/env python3
"""Writes into grading.json the results of the official scripts for the texts and pairs of answers in it.

    python3 make_grading.py INFERENCE PRM800K

Called with the folders of mlcommons/inference at b66003e1 and openai/prm800k at 7ecc794, whose grader needs sympy (1.14.0) and pylatexenc (2.10).
The pairs are MATH-500's answers with themselves, with answers of DeepSeek-R1 (from the compliance logs of MLPerf Inference v5.1), of Qwen2 and of Llama 3 to
questions of MATH, with other ways to write them, and made ones. No text holds İ, which the scripts take for an I that is never right. To add a case, add its text or pair and run the script.
"""
import importlib.util
import json
import logging
import os
import signal
import sys
import types
import warnings

here = os.path.dirname(os.path.abspath(__file__))
inference, prm800k = map(os.path.abspath, sys.argv[1:])


class Anything(types.ModuleType):
    """A module that the functions in question do not use."""

    def __getattr__(self, name):
        return Anything(name)

    def __call__(self, *args, **kwargs):
        return Anything("x")


for name in ("pandas", "tqdm", "transformers", "numpy"):
    sys.modules.setdefault(name, Anything(name))
sys.modules["pandas"].isna = lambda x: x is None


def load(model):
    spec = importlib.util.spec_from_file_location(model.replace("-", "_"), f"{inference}/language/{model}/eval_accuracy.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


deep, oss = load("deepseek-r1"), load("gpt-oss-120b")
warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)
os.chdir(prm800k + "/prm800k")
sys.path.insert(0, os.getcwd())
from grading.grader import grade_answer  # noqa: E402


def read(text):
    return {"text": text, "gpqa": [m.parse_multiple_choice(text, "D") for m in (deep, oss)], "mmlu": [m.parse_multiple_choice(text, "J") for m in (deep, oss)], "boxed": deep.parse_boxed_math(text),
            "integer": deep.parse_aime_answer(text), "final": oss.extract_final_section(text), "code": [m.parse_code(text) or "" for m in (deep, oss)]}


class Late(BaseException):
    pass


def late(*_):
    raise Late


signal.signal(signal.SIGALRM, late)


def grade(said, wanted):
    """Returns the grader's verdict; None: it takes longer than ten seconds."""
    signal.alarm(10)
    try:
        return bool(grade_answer(said, wanted))
    except Late:
        return None
    finally:
        signal.alarm(0)


golden = json.load(open(here + "/grading.json", encoding="utf-8"))
texts = [read(t["text"]) for t in golden["texts"]]
pairs = [{"said": p["said"], "wanted": p["wanted"], "same": same} for p in golden["pairs"] if (same := grade(p["said"], p["wanted"])) is not None]
with open(here + "/grading.json", "w", encoding="utf-8") as f:
    f.write("{\"texts\": [\n %s\n],\n\"pairs\": [\n %s\n]}\n" % tuple(",\n ".join(json.dumps(x, ensure_ascii=False) for x in all) for all in (texts, pairs)))
