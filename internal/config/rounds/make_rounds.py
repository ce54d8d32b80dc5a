#!/usr/bin/env python3
"""Writes rounds.json from the tables of the reference's submission checker.

    python3 make_rounds.py CHECKOUT_OF_MLCOMMONS_INFERENCE > rounds.json

The tables are those of tools/submission/submission_checker/constants.py
(MODEL_CONFIG, OFFLINE_MIN_SPQ_SINCE_V4, RESULT_FIELD_*, LLM_LATENCY_LIMITS, …),
checks/power/sources_checksums.json, and tools/submission/generate_final_report.py
(filter_scenarios).
"""
import ast
import json
import os
import subprocess
import sys

root = sys.argv[1]
sys.path.insert(0, os.path.join(root, "tools", "submission"))
from submission_checker import constants as c  # noqa: E402
from submission_checker.configuration.configuration import Config  # noqa: E402


def metrics(flat):
    return [{"name": flat[i], "bound": flat[i + 1]} for i in range(0, len(flat), 2)]


def by_scenario(value):
    return value if isinstance(value, dict) else {"": value}


def shown_scenarios():
    """The scenarios that the final report shows, by round, suite and model."""
    with open(os.path.join(root, "tools", "submission", "generate_final_report.py")) as f:
        tree = ast.parse(f.read())
    shown = {}

    def filters(statements):
        return next((ast.literal_eval(n.value) for n in statements
                     if isinstance(n, ast.Assign) and n.targets[0].id == "filter_scenarios"), None)

    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test).startswith("args.version ==") and filters(node.body):
            shown["v" + node.test.comparators[0].value] = filters(node.body)
            if filters(node.orelse):  # of the round that no branch names
                shown["v5.1"] = filters(node.orelse)
    return shown


def model(version, base, name, shown):
    m = {"listed": name in base["models"]}
    for kind in ("datacenter", "edge", "datacenter-edge"):
        required = base["required-scenarios-" + kind].get(name)
        if required is not None:
            m.setdefault("required", {})[kind] = required
        optional = base["optional-scenarios-" + kind].get(name)
        if optional is not None:
            m.setdefault("optional", {})[kind] = optional
    target = base["accuracy-target"].get(name)
    if target is not None:
        m["accuracy"] = {k: metrics(v) for k, v in by_scenario(target).items()}
    limit = base["accuracy-upper-limit"].get(name)
    if limit is not None:
        m["limits"] = metrics(limit)
    m["delta"] = base["accuracy-delta-perc"].get(name)
    m["performance_samples"] = base["performance-sample-count"].get(name)
    count = base["accuracy-sample-count"].get(name, base["dataset-size"].get(name))
    if count is not None:
        m["accuracy_samples"] = by_scenario(count)
    m["latency_ns"] = base["latency-constraint"].get(name)
    m["min_queries"] = base["min-queries"].get(name)
    m["tests"] = [t for t in ("TEST01", "TEST04", "TEST06", "TEST07", "TEST09", "TEST08")
                  if name in base.get("models_" + t, [])]
    m["offline_samples"] = c.OFFLINE_MIN_SPQ_SINCE_V4.get(name)
    m["metric"] = c.RESULT_FIELD_BENCHMARK_OVERWRITE.get(version, {}).get(name)
    m["token_limits_ns"] = c.LLM_LATENCY_LIMITS.get(name)
    m["uses_tokens"] = name in Config(version, None).get_llm_models()
    m["units"] = {s: u for s, u in c.SPECIAL_UNIT_DICT.get(name, {}).items() if s[0].isupper()} or None
    m["files"] = c.REQUIRED_ACC_BENCHMARK.get(name, {}).get(version)
    m["shown"] = {suite: models[name] for suite, models in shown.items() if name in models}
    m["endpoints"] = name in c.ENDPOINTS_ALLOWED_MODELS
    return {k: v for k, v in m.items() if v not in (None, [], {}, False)}


def names(base):
    found = set(base["models"])
    for key, table in base.items():
        if key.startswith(("models_",)) or (isinstance(table, dict) and key not in ("seeds", "test05_seeds", "model_mapping")):
            found |= set(table)
    return sorted(found)


def main():
    rounds = {}
    shown = shown_scenarios()
    for version, base in sorted(c.MODEL_CONFIG.items()):
        rounds[version] = {
            "seeds": base["seeds"],
            "aliases": base["model_mapping"],
            "metric": c.RESULT_FIELD_NEW[version],
            "endpoints_metric": c.RESULT_FIELD_ENDPOINTS.get(version, {}),
            "models": {n: model(version, base, n, shown[version]) for n in names(base)},
        }
    with open(os.path.join(root, "tools/submission/submission_checker/checks/power/sources_checksums.json")) as f:
        sources = json.load(f)
    json.dump({
        "source": "github.com/mlcommons/inference tools/submission/submission_checker/constants.py at " +
                  (sys.argv[2] if len(sys.argv) > 2 else subprocess.check_output(["git", "-C", root, "rev-parse", "HEAD"], text=True).strip()),
        "power_sources": sources,
        "endpoints": {
            "keys": c.ENDPOINTS_MAPPINGS, "yaml": c.ENDPOINTS_YAML_FIELD_MAP, "alternatives": c.ENDPOINTS_JSON_ALT_PATHS,
            "audits": c.ENDPOINTS_COMPLIANCE_MAPPING,
            "output_tokens": {"least": c.TEST09_LOW, "most": c.TEST09_HIGH},
        },
        "rounds": rounds,
    }, sys.stdout, indent=1, sort_keys=True)
    print()


main()
