#!/usr/bin/env python3
"""Writes verdicts.json: what the reference's compliance scripts say of random logs.

    python3 make_verdicts.py CHECKOUT_OF_MLCOMMONS_INFERENCE > verdicts.json

Needs Debian's python3-numpy. Responses are in hexadecimal digits. A test's verdict is the
lines of its text that count; logs of which a script ends with an exception are left out.
"""
import contextlib
import importlib.util
import io
import json
import os
import random
import re
import sys
import tempfile

import numpy as np

np.seterr(all="ignore")
rng = random.Random(20260820)
compliance = os.path.join(sys.argv[1], "compliance")
os.chdir(tempfile.mkdtemp())


def script(test, name="run_verification"):
    spec = importlib.util.spec_from_file_location(test + name, os.path.join(compliance, test, name + ".py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(module, *args):
    sys.argv = ["x", *args]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        try:
            module.main()
        except SystemExit:
            pass
    return printed.getvalue()


def log(name, records):
    with open(name, "w") as f:
        json.dump(records, f)


def digits(values, dtype):
    return np.array(values, dtype).tobytes().hex().upper()


def record(sample, data, **more):
    return {"seq_id": 0, "qsl_idx": sample, "data": data, **more}


def counts(text):
    return re.findall(r"^(?:num_\w+ = \d+|TEST PASS|TEST FAIL)$", text, re.M)


def responses():
    """TEST01: few samples, some of them several times, few different responses."""
    module = script("TEST01", "verify_accuracy")
    for dtype in ["byte", "float32", "int32", "int64"] * 20:
        choices = [0.0, -0.0, 1.5, 1.5, float("nan")] if dtype == "float32" else [1, 1, 1, 2, -1]
        known = {}

        def one(fresh):
            sample = rng.randrange(6)
            data = digits([rng.choice(choices) for _ in range(rng.choice([0, 1, 1, 2]))], module.dtype_map[dtype])
            if rng.random() >= fresh:
                data = known.setdefault(sample, data)
            return record(sample, data)

        accuracy = [one(0.1) for _ in range(rng.choice([1, 3, 6, 8]))]
        test = [one(0.07) for _ in range(rng.choice([1, 2, 5]))]
        log("accuracy.json", accuracy)
        log("test.json", test)
        text = run(module, "-r", "accuracy.json", "-t", "test.json", "--dtype", dtype)
        yield {"test": "TEST01", "dtype": dtype, "accuracy": accuracy, "log": test, "verdict": counts(text)}


def answers():
    """TEST06: short answers with end tokens, first tokens and counts that are mostly right."""
    module = script("TEST06")
    for dtype in ["int32", "int64", "int16"] * 30:
        test = []
        for sample in range(rng.choice([1, 1, 2, 4])):
            tokens = [rng.choice([2, 7, 8, 9, -1]) for _ in range(rng.choice([0, 1, 2, 3, 5]))]
            first = tokens[:rng.choice([0, 1, 1, 2])] + rng.choice([[]] * 6 + [[5]])
            data, more = digits(first, module.DTYPE_MAP[dtype]), {}
            if rng.random() < 0.05:
                data = data[:-2]
            if rng.random() < 0.95:
                more["token_data"] = data
            more["token_count"] = len(tokens) + rng.choice([0] * 9 + [1])
            test.append(record(sample, digits(tokens, module.DTYPE_MAP[dtype]), **more))
        log("mlperf_log_accuracy.json", test)
        scenario = rng.choice(["Offline", "Server", "SingleStream", "MultiStream"])
        run(module, "-c", ".", "-o", ".", "-d", dtype, "-s", scenario)
        with open("TEST06/verify_accuracy.txt") as f:
            yield {"test": "TEST06", "dtype": dtype, "scenario": scenario, "log": test, "verdict": f.read().splitlines()}


def entropies():
    """TEST08: predictions that differ around the tolerance, and some at the ends of what is possible."""
    module = script("TEST08")
    ends = [0, 1, 1 - 2**-24, 1 - 2**-23, 1e-7, 5e-8, 2, -1]
    for _ in range(60):
        accuracy, test = [], []
        for i in range(rng.choice([1, 2, 3])):
            n = rng.choice([0, 1, 2, 3, 10])
            predictions = [rng.choice(ends) if rng.random() < 0.2 else rng.random() for _ in range(n)]
            labels = [rng.choice([0, 1]) for _ in range(n)]
            weights = [rng.choice([1, 1, 0, 2]) for _ in range(n)]
            accuracy.append(record(i, digits([i, 3, *predictions, *labels, *weights, n], np.float32)))
            change = rng.choice([0, 0, 1e-5, 3e-4, 1e-2])
            other = [p + change * rng.random() for p in predictions]
            if n and rng.random() < 0.2:
                other[0] = rng.choice(ends)
            test.append(record(i, digits([i, rng.choice([3] * 9 + [4]), *other], np.float32)))
        log("accuracy.json", accuracy)
        log("test.json", test)
        text = run(module, "-r", "accuracy.json", "-t", "test.json")
        yield {"test": "TEST08", "accuracy": accuracy, "log": test, "verdict": counts(text)}


def lengths():
    """TEST09: answers around the bounds, some with part of a token at their end."""
    module = script("TEST09")
    for least, most in [(1, 3), (2, 2), (2.5, 7), (0.5, 1)] * 8:
        test = [record(i, "07000000" * rng.choice([0, 1, 2, 3, 6]) + rng.choice(["", "", "08", "080808"])) for i in range(rng.choice([1, 2, 3]))]
        log("mlperf_log_accuracy.json", test)
        text = run(module, "-c", ".", "-o", ".", "--min-output-tokens", str(least), "--max-output-tokens", str(most))
        yield {"test": "TEST09", "least": least, "most": most, "log": test, "verdict": re.findall("TEST PASS|TEST FAIL", text)}


cases = [*responses(), *answers(), *entropies(), *lengths()]
print("[\n" + ",\n".join(json.dumps(c) for c in cases) + "\n]")
