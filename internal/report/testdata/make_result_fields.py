#!/usr/bin/env python3
"""Writes result_fields.json: the log key by which each round compares systems, by scenario.

    python3 make_result_fields.py CHECKOUT_OF_MLCOMMONS_INFERENCE

From RESULT_FIELD_NEW and RESULT_FIELD_BENCHMARK_OVERWRITE of the submission checker at the tag of the
round; of v0.5, v0.7, v1.0 and v1.1, whose checkers read the summary only, from the checker of v2.0.
MultiStream until v1.0 is what the tables call MultiStreamLegacy; v1.1 had none. "llama2-70b" has token latencies.
"""
import ast
import json
import os
import subprocess
import sys

checkout = sys.argv[1]
PATHS = ["tools/submission/submission_checker/constants.py", "tools/submission/submission_checker.py",
         "tools/submission/submission-checker.py"]
TAGS = {"v0.5": "v2.0", "v0.7": "v2.0", "v1.0": "v2.0", "v1.1": "v2.0", "v2.0": "v2.0", "v2.1": "v2.1", "v3.0": "v3.0",
        "v3.1": "v3.1", "v4.0": "v4.0", "v4.1": "v4.1", "v5.0": "v5.0.1", "v5.1": "v5.1.1", "v6.0": "b66003e1", "v6.1": "b66003e1"}


def tables(tag):
    for path in PATHS:
        run = subprocess.run(["git", "-C", checkout, "show", f"{tag}:{path}"], capture_output=True, text=True)
        if run.returncode == 0 and "\nRESULT_FIELD_NEW = " in run.stdout:
            return {n.targets[0].id: ast.literal_eval(n.value) for n in ast.parse(run.stdout).body
                    if isinstance(n, ast.Assign) and n.targets[0].id.startswith("RESULT_FIELD_")}
    raise SystemExit(f"no checker at {tag}")


out = {}
for version, tag in TAGS.items():
    t = tables(tag)
    fields = dict(t["RESULT_FIELD_NEW"][version])
    legacy = fields.pop("MultiStreamLegacy", None)
    if version in ("v0.5", "v0.7", "v1.0"):
        fields["MultiStream"] = legacy
    if version == "v1.1":
        del fields["MultiStream"]
    overwrite = t.get("RESULT_FIELD_BENCHMARK_OVERWRITE", {})
    tokens = overwrite.get(version, overwrite).get("llama2-70b-99")
    if tokens:
        fields["llama2-70b"] = tokens
    out[version] = fields
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "result_fields.json"), "w") as f:
    json.dump(out, f, indent=1)
    f.write("\n")
