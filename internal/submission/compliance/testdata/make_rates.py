#!/usr/bin/env python3
"""Writes rates.json: what the reference's compliance scripts say of random results.

    python3 make_rates.py CHECKOUT_OF_MLCOMMONS_INFERENCE > rates.json

Results lie around the thresholds of TEST01 (from detail logs) and TEST04 (from summaries).
Of each are the scores that the script prints and whether the test passes.
"""
import json
import os
import random
import re
import subprocess
import sys
import tempfile

root = os.path.abspath(sys.argv[1])
rng = random.Random(20261123)
os.chdir(tempfile.mkdtemp())
FIELD = {"Offline": "result_samples_per_second", "SingleStream": "early_stopping_latency_ss",
         "MultiStream": "early_stopping_latency_ms", "Server": "result_completed_samples_per_sec"}


def detail(name, scenario, score):
    with open(name, "w") as f:
        for key, value in (("effective_scenario", scenario), (FIELD[scenario], score), ("result_validity", "VALID"), ("effective_target_latency_ns", 5)):
            f.write(':::MLLOG ' + json.dumps({"key": key, "value": value, "metadata": {"is_error": False, "is_warning": False}}) + "\n")


def summary(name, scenario, score):
    line = {"Offline": "Samples per second: %s", "Server": "Completed samples per second    : %s",
            "SingleStream": " * Early stopping 90.0th percentile estimate: %s", "MultiStream": " * Early stopping 99.0th percentile estimate: %s"}[scenario] % score
    with open(name, "w") as f:
        f.write("Scenario : %s\nResult is : VALID\n%s\n" % (scenario, line))


cases = []
for test, write, script, flags in (("TEST01", detail, "verify_performance.py", ("-r", "-t")), ("TEST04", summary, "verify_performance.py", ("-r", "-t"))):
    for i in range(30):
        scenario = rng.choice(list(FIELD))
        stream = scenario.endswith("Stream")
        ref = rng.choice([10, 150000, 200000, 200001, 1600000, 1600001, 5000000, rng.randrange(1, 10**7)]) if stream else rng.choice([1, 12.5, 100, 1e6, round(rng.uniform(1, 1e5), 3)])
        by = rng.choice([0.8, 0.89999, 0.9, 0.90001, 1, 1.09999, 1.1, 1.10001, 1.19999, 1.2, 1.20001, 1 / 1.1, 1 / 1.2, rng.uniform(0.7, 1.4)])
        run = max(1, round(ref * by)) if stream else ref * by
        write("ref", scenario, ref)
        write("run", scenario, run)
        p = subprocess.run([sys.executable, os.path.join(root, "compliance", test, script), flags[0], "ref", flags[1], "run"], capture_output=True, text=True)
        scores = [float(s) for s in re.findall(r"(?:[Rr]eference|[Tt]est) score = (\S+)", p.stdout)]
        cases.append({"test": test, "scenario": scenario, "ref": ref, "run": run, "scores": scores, "passes": "TEST PASS" in p.stdout})
print("[\n" + ",\n".join(json.dumps(c) for c in cases) + "\n]")
