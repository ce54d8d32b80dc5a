#!/usr/bin/env python3
"""Writes verdicts.json: what the official checker says of every changed tree.

    go test ./internal/submission/checker -run Official -trees /tmp/trees
    python3 make_verdicts.py CHECKOUT_OF_MLCOMMONS_INFERENCE /tmp/trees > verdicts.json

It runs tools/submission/submission_checker/main.py (needs Debian's python3-yaml) once a
tree, and takes the columns that differ from its summary. A tree's name starts with the round, or ends in "as <round>".
"""
import concurrent.futures
import csv
import json
import os
import re
import subprocess
import sys
import tempfile

checker = os.path.join(sys.argv[1], "tools/submission/submission_checker/main.py")
trees = sys.argv[2]
columns = ("Scenario", "Result", "Units", "Accuracy", "total_accelerators", "notes", "inferred", "has_power", "design_power_watts")


def judge(name):
    version = name.split()[-1] if " as v" in name else name.split()[0]
    root = os.path.join(trees, name)
    with tempfile.NamedTemporaryFile() as summary:
        p = subprocess.run([sys.executable, checker, "--input", root, "--version", version, "--csv", summary.name],
                           capture_output=True, text=True, errors="replace")
        with open(summary.name, encoding="utf-8") as f:
            rows = [" | ".join(row[column] for column in columns) for row in csv.DictReader(f)]
    results = {}
    for line in p.stderr.splitlines():
        m = re.search(r"(NoResults|Results) (" + re.escape(root) + r"/.*)/performance/run_1/mlperf_log_detail.txt", line)
        if m:
            path = os.path.relpath(m.group(2), root)
            if m.group(1) == "Results" or path not in results:
                results[path] = "pass" if m.group(1) == "Results" else "fail"
    exception = ""
    if "Traceback (most recent call last)" in p.stderr and "SUMMARY" not in p.stderr:
        exception = p.stderr.strip().splitlines()[-1].replace(root, "")[:120]
    verdict = {"passes": p.returncode == 0, "exception": exception, "results": results}
    if rows:
        verdict["rows"] = rows
    return name, verdict


with concurrent.futures.ThreadPoolExecutor(2) as pool:
    verdicts = dict(pool.map(judge, sorted(os.listdir(trees))))
json.dump(verdicts, sys.stdout, indent=1, sort_keys=True, ensure_ascii=False)
print()
