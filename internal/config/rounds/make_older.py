#!/usr/bin/env python3
"""Writes older.json: what the reference's submission checkers ask of each benchmark in the rounds before v5.0.

    python3 make_older.py CHECKOUT_OF_MLCOMMONS_INFERENCE > older.json

The tables are MODEL_CONFIG and OFFLINE_MIN_SPQ* of tools/submission, of each round from the
last commit that has it, and the compliance tests are those that check_compliance_dir asks for.
Rounds of a benchmark that follow each other and ask for the same are one row.
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
]

# The checker of v0.5 has no numbers of queries; this one is of the round's inference_rules.adoc.
QUERIES = {("v0.5", "gnmt"): {"Server": 90112, "MultiStream": 90112}}

# The tests of v0.5 are those of compliance/audit_v0.5; the answers of GNMT vary in length, so that its samples are not issued alone.
TESTS_V05 = ["TEST01", "TEST03", "TEST04-A", "TEST04-B", "TEST05"]


def source(commit, path):
    return subprocess.check_output(["git", "-C", sys.argv[1], "show", f"{commit}:tools/submission/{path}"], text=True)


class Config:
    """What check_compliance_dir looks at besides the model."""

    def __init__(self, version):
        self.version = version


def tests(commit, path, version, name):
    """The compliance tests of a benchmark: the statements of the checker that make its list."""
    if version == "v0.5":
        return [t for t in TESTS_V05 if name != "gnmt" or not t.startswith("TEST04")]
    function = next(n for n in ast.walk(ast.parse(source(commit, path)))
                    if isinstance(n, ast.FunctionDef) and n.name == "check_compliance_dir")
    at = next(i for i, n in enumerate(function.body) if isinstance(n, ast.Assign) and n.targets[0].id == "test_list")
    found = {"model": name, "config": Config(version)}
    for node in function.body[at:]:
        if isinstance(node, ast.Assign) or "test_list." in ast.unparse(node.body[0] if isinstance(node, ast.If) else node):
            exec(compile(ast.Module([node], []), path, "exec"), found)
        else:
            break
    parts = {"TEST04": ["TEST04-A", "TEST04-B"]} if version < "v2.1" else {}  # compliance/nvidia of these rounds
    return [t for test in found["test_list"] for t in parts.get(test, [test])]


def constants(commit, path):
    text = source(commit, path)
    found = {}
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "").startswith(("MODEL_CONFIG", "OFFLINE_MIN_SPQ")):
            exec(compile(ast.Module([node], []), path, "exec"), found)
    return found


def metrics(flat):
    return [{"name": flat[i], "bound": flat[i + 1]} for i in range(0, len(flat or ()), 2)]


def row(version, base, name, spq, tests):
    target = metrics(base["accuracy-target"].get(name))
    server = base.get("latency-constraint", {}).get(name, {}).get("Server")
    queries = {s: n for s, n in base.get("min-queries", {}).get(name, {}).items() if s != "Offline"}
    scenarios = {
        need: {kind: base[f"{need}-scenarios-{kind}"][name] for kind in ("datacenter", "edge", "datacenter-edge")
               if base.get(f"{need}-scenarios-{kind}", {}).get(name)}
        for need in ("required", "optional")}
    m = {
        **scenarios,
        "accuracy": target and {"": target},
        "limits": metrics(base.get("accuracy-upper-limit", {}).get(name)),
        "performance_samples": base["performance-sample-count"].get(name),
        "offline_samples": spq.get(name) if isinstance(spq, dict) else spq,
        "latency_ns": server and {"Server": server},
        "min_queries": QUERIES.get((version, name), queries),
        "tests": tests,
    }
    return {k: v for k, v in m.items() if v}


def main():
    rows, order = {}, [v for source in SOURCES for v in source[0]]
    for versions, commit, path in SOURCES:
        c = constants(commit, path)
        for version in versions:
            base = c["MODEL_CONFIG"][version]
            spq = c["OFFLINE_MIN_SPQ_SINCE_V4" if version >= "v4" else "OFFLINE_MIN_SPQ"]
            for name in base["models"]:
                asked, same = row(version, base, name, spq, tests(commit, path, version, name)), rows.setdefault(name, [])
                if same and same[-1][2] == asked and order.index(version) == order.index(same[-1][1]) + 1:
                    same[-1][1] = version
                else:
                    same.append([version, version, asked])
    print("[\n" + ",\n".join(
        json.dumps({"name": name, "first": first, "last": last, **asked}, separators=(",", ":"))
        for name in sorted(rows) for first, last, asked in rows[name]) + "\n]")


main()
