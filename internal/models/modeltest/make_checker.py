#!/usr/bin/env python3
"""Writes checker.json: what the reference's submission checkers ask of each benchmark in each round.

    python3 make_checker.py CHECKOUT_OF_MLCOMMONS_INFERENCE > checker.json

The tables are MODEL_CONFIG and OFFLINE_MIN_SPQ* of tools/submission, of each round from the
last commit that has it. Rounds of a benchmark that follow each other and ask for the same are one row.
"""
import ast
import json
import subprocess
import sys

SOURCES = [  # rounds, commit, file
    (["v0.5", "v0.7", "v1.0", "v1.1", "v2.0", "v2.1"], "v2.1", "submission-checker.py"),
    (["v3.0"], "v3.0", "submission_checker.py"),
    (["v3.1"], "v3.1", "submission_checker.py"),
    (["v4.0", "v4.1"], "v4.1", "submission_checker.py"),
    (["v5.0", "v5.1", "v6.0", "v6.1"], "b66003e10e2db4b8c36a448b0545ec90fcc6e9e9", "submission_checker/constants.py"),
]


def constants(commit, path):
    text = subprocess.check_output(["git", "-C", sys.argv[1], "show", f"{commit}:tools/submission/{path}"], text=True)
    found = {}
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "").startswith(("MODEL_CONFIG", "OFFLINE_MIN_SPQ")):
            exec(compile(ast.Module([node], []), path, "exec"), found)
    return found


def metrics(flat):
    return {flat[i]: flat[i + 1] for i in range(0, len(flat or ()), 2)}


def number(value):
    """The number of a run that is not Interactive, where they differ."""
    return value.get("Offline", next(iter(value.values()))) if isinstance(value, dict) else value


def row(base, name, spq):
    target = base["accuracy-target"].get(name)
    if isinstance(target, dict):
        target = target.get("Offline", next(iter(target.values())))
    m = {
        "least": metrics(target),
        "most": metrics(base.get("accuracy-upper-limit", {}).get(name)),
        "performance": base["performance-sample-count"].get(name),
        "accuracy": number(base.get("accuracy-sample-count", {}).get(name, base.get("dataset-size", {}).get(name))),
        "offline": spq.get(name) if isinstance(spq, dict) else spq,
        "latency": base.get("latency-constraint", {}).get(name, {}).get("Server"),
        "queries": {s: n for s, n in base.get("min-queries", {}).get(name, {}).items() if s != "Offline"},
    }
    return {k: v for k, v in m.items() if v}


def main():
    rows, offline = [], {}
    for versions, commit, path in SOURCES:
        c = constants(commit, path)
        offline.update(c.get("OFFLINE_MIN_SPQ_SINCE_V4", {}))  # later commits leave out what has no round any more
        for version in versions:
            base = c["MODEL_CONFIG"][version]
            spq = offline if version >= "v4" else c["OFFLINE_MIN_SPQ"]
            for name in base["models"]:
                rows.append((name, version, row(base, name, spq)))
    print("[")
    lines, order = [], [v for source in SOURCES for v in source[0]]
    for name in sorted({r[0] for r in rows}):
        runs = []
        for version, asked in [(r[1], r[2]) for r in rows if r[0] == name]:
            if runs and runs[-1][2] == asked and order.index(version) == order.index(runs[-1][1]) + 1:
                runs[-1][1] = version
            else:
                runs.append([version, version, asked])
        lines += [json.dumps({"name": name, "first": first, "last": last, **asked}, separators=(",", ":")) for first, last, asked in runs]
    print(",\n".join(lines))
    print("]")


main()
