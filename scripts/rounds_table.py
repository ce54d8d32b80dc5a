#!/usr/bin/env python3
"""Compares what this program takes by default with the official files of every round: 415 rows of round × benchmark × scenario.

    git clone https://github.com/mlcommons/inference      # with its tags
    python3 scripts/rounds_table.py inference [bin/mlperf] > table.md

For each round × benchmark × scenario: the result's metric, the target, the Server bound, samples in memory, least queries
and duration, from `mlperf show --json`, beside the submission checker and the mlperf.conf of that round at its tag (of v6.0
and v6.1 at the branch's end; of v0.5 in the checker of v0.7, of v1.1 in that of v2.0). Differences end the table, each with the reason that EXPLAINED
has for it. Exit status: 0 none is unexplained, 1 some are, 2 wrong usage.
"""
import collections
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
import types

TAGS = {
    "v0.5": "v0.7.1", "v0.7": "v0.7.1", "v1.0": "v1.0.1", "v1.1": "v2.0", "v2.0": "v2.0", "v2.1": "v2.1", "v3.0": "v3.0", "v3.1": "v3.1",
    "v4.0": "v4.0", "v4.1": "v4.1", "v5.0": "v5.0.1", "v5.1": "v5.1.1", "v6.0": "HEAD", "v6.1": "HEAD",
}
SCENARIOS = ["SingleStream", "MultiStream", "Server", "Offline"]

# The program's names of results by the fields of LoadGen's logs that checkers read.
RESULTS = {
    "result_90.00_percentile_latency_ns": "90th percentile latency",
    "90th percentile latency (ns)": "90th percentile latency",
    "early_stopping_latency_ss": "90th percentile latency (early stopping estimate)",
    "early_stopping_latency_ms": "99th percentile query latency (early stopping estimate)",
    "result_99.00_percentile_per_query_latency_ns": "99th percentile query latency",
    "effective_samples_per_query": "streams",
    "Samples per query": "streams",
    "generated_samples_per_query": "streams",
    "result_scheduled_samples_per_sec": "scheduled samples",
    "Scheduled samples per second": "scheduled samples",
    "result_completed_samples_per_sec": "completed samples",
    "result_samples_per_second": "samples",
    "Samples per second": "samples",
    "result_tokens_per_second": "tokens",
    "result_completed_tokens_per_second": "completed tokens",
    "result_inferred_tokens_per_second": "inferred tokens",
    "result_inferred_completed_tokens_per_second": "completed inferred tokens",
}

# Why the program has another value than a checker: (rounds, benchmark, scenario, what) as regular expressions.
EXPLAINED = [
    ("v5.0", "llama2-70b-interactive-.*", r"\*", "benchmark", "a benchmark of its own in this checker; here, as in later rounds, a scenario of llama2-70b"),
    (".*", ".*", r"\*", "benchmark", "not in the catalogue"),
    ("v4.1|v5.*", "mixtral-8x7b|deepseek-r1", "SingleStream", "result", "with token latencies LoadGen's early stopping of SingleStream is that of the time per token: the percentile of the latency itself"),
]


def git(repo, *args):
    return subprocess.run(["git", "-C", repo, *args], capture_output=True, text=True, check=True).stdout


def checker(repo, tag, folder):
    """The submission checker of a tag, as a module."""
    names = git(repo, "ls-tree", "-r", "--name-only", tag, "tools/submission").split()
    if any(n.endswith("submission_checker/constants.py") for n in names) and tag == "HEAD":
        text = git(repo, "show", tag + ":tools/submission/submission_checker/constants.py")
    else:
        name = next(n for n in names if re.search(r"submission[-_]checker\.py$", n))
        text = git(repo, "show", f"{tag}:{name}")
        text = text.split("\ndef ")[0]
        text = re.sub(r"^(from|import) (?!__future__|argparse|datetime|json|logging|os|re|sys|hashlib|math|glob|csv|io)\S.*$", "", text, flags=re.M)
    path = os.path.join(folder, re.sub(r"\W", "_", tag) + ".py")
    with open(path, "w") as f:
        f.write(text)
    spec = importlib.util.spec_from_file_location("checker_" + re.sub(r"\W", "_", tag), path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def conf(repo, tag, version):
    """The mlperf.conf of a round: its values by (benchmark, scenario, key)."""
    at = None if version in ("v0.5", "v1.1", "v6.0") else tag # no tag has theirs
    values = {}
    if at is None:
        return values
    for name in ("loadgen/mlperf.conf", "mlperf.conf"):
        try:
            text = git(repo, "show", f"{at}:{name}")
            break
        except subprocess.CalledProcessError:
            continue
    for line in text.splitlines():
        m = re.match(r"\s*([\w.*-]+?)\.(\*|SingleStream|MultiStream|Server|Offline|Interactive)\.(\w+)\s*=\s*(\S+)", line)
        if m:
            values[m.group(1), m.group(2), m.group(3)] = float(m.group(4))
    return values


def conf_value(values, names, scenario, key):
    for model in names + ["*"]:
        for s in (scenario, "*"):
            if (model, s, key) in values:
                return values[model, s, key]
    return None


def main():
    if len(sys.argv) not in (2, 3):
        print(__doc__, file=sys.stderr)
        return 2
    repo, mlperf = sys.argv[1], sys.argv[2] if len(sys.argv) == 3 else "bin/mlperf"
    rows, differences = [], []
    with tempfile.TemporaryDirectory() as folder:
        modules = {}
        for version, tag in TAGS.items():
            if tag not in modules:
                modules[tag] = checker(repo, tag, folder)
            c = modules[tag]
            base = c.MODEL_CONFIG.get(version)
            if base is None:
                differences.append((version, "*", "*", "round", "-", "not in the checker"))
                continue
            values = conf(repo, tag, version)
            one_round(repo, mlperf, version, c, base, values, rows, differences)
    print("| round | benchmark | scenario | result | target | Server bound | samples | queries | duration |")
    print("|---|---|---|---|---|---|---|---|---|")
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print("\n## Differences\n\n| round | benchmark | scenario | what | this program | official | why |\n|---|---|---|---|---|---|---|")
    unexplained, grouped = 0, collections.OrderedDict()
    for d in differences:
        why = next((e[4] for e in EXPLAINED if all(re.fullmatch(p, str(v)) for p, v in zip(e[:4], d[:4]))), None)
        unexplained += why is None
        grouped.setdefault((*d[1:], why or "UNEXPLAINED"), []).append(d[0])
    for (*rest, why), versions in grouped.items():
        print("| " + " | ".join([", ".join(versions), *map(str, rest), why]) + " |")
    print(f"\n{len(rows)} rows, {len(differences)} differences, {unexplained} unexplained.")
    return int(unexplained > 0)


def one_round(repo, mlperf, version, c, base, values, rows, differences):
    mapping = base.get("model_mapping", {})
    for model in base["models"]:
        names = [model] + [k for k, v in mapping.items() if v == model] + [re.sub(r"-99(\.9)?$", "", model)]
        names += [n.replace("3.1", "3_1") for n in names if "3.1" in n]
        card, error = None, ""
        for name in names:
            p = subprocess.run([mlperf, "show", name, "--rules", version, "--json"], capture_output=True, text=True)
            if p.returncode == 0:
                card = json.loads(p.stdout)
                break
            error = error or re.sub("[;,] (did you mean|want) .*", "", p.stderr.strip().splitlines()[0])
        if card is None:
            differences.append((version, model, "*", "benchmark", "none", error))
            continue
        scenarios = set()
        for kind in ("required", "optional"):
            for category in ("datacenter", "edge", "datacenter-edge"):
                for s in base.get(f"{kind}-scenarios-{category}", {}).get(model, []):
                    scenarios.update([s] if isinstance(s, str) else s)
        scenarios = {"Server" if s == "Interactive" else s for s in scenarios} or (set(SCENARIOS) if version == "v0.5" else set())

        def check(scenario, what, ours, official, same):
            if official is not None and not same:
                differences.append((version, model, scenario, what, ours, official))

        target = base["accuracy-target"].get(model)
        if isinstance(target, dict):
            target = target.get("Offline") or next(iter(target.values()))
        ours = card["reference"] * card["fraction"]
        if target is not None:
            check("*", "metric of the target", card["metric"], target[0], metric_of(target[0], card["metric"]))
            check("*", "target", f"{ours:.6g}", f"{target[1]:.6g}", abs(ours - target[1]) <= 1e-9 * abs(target[1]) + 1e-12 or abs(ours - 100 * target[1]) <= 1e-9 * abs(ours))
        samples = base["performance-sample-count"].get(model)
        by_name = {s["scenario"]: s for s in card["scenarios"]}
        for scenario in SCENARIOS:
            if scenario not in scenarios:
                if scenario in by_name and version != "v0.5":
                    differences.append((version, model, scenario, "scenario", "there", "not in the checker"))
                continue
            s = by_name.get(scenario)
            if s is None:
                differences.append((version, model, scenario, "scenario", "none", "in the checker"))
                continue
            settings = {r["key"]: r["value"] for r in s["settings"]}
            number = lambda key: float(settings[key].split()[0]) if key in settings else None
            field = result_field(c, version, model, names, scenario)
            check(scenario, "result", s["result"], RESULTS.get(field, field), RESULTS.get(field, field) == s["result"])
            in_memory = number("performance_sample_count_override") or card["performance_sample_count"]
            check(scenario, "samples in memory", f"{in_memory:.0f}", samples, samples is None or in_memory >= samples)
            least = base.get("min-queries", {}).get(model, {}).get(scenario)
            if scenario == "Offline":
                spq = getattr(c, "OFFLINE_MIN_SPQ_SINCE_V4", {}).get(model) if version >= "v4.0" else None
                least = spq if spq is not None else c.OFFLINE_MIN_SPQ
            elif isinstance(least, dict):
                least = least.get(scenario)
            queries = number("min_query_count")
            # Without a number of its own a test has as many queries as early stopping, or LoadGen's default of 100, asks for.
            check(scenario, "queries", f"{queries or 100:.0f}", least, least is None or (queries or 100) >= least or early(version, scenario, least))
            duration = number("min_duration")
            wanted = 60000 if version < "v1.0" else 600000
            check(scenario, "duration, ms", duration, wanted, duration is not None and duration >= wanted)
            bound = base.get("latency-constraint", {}).get(model, {}).get(scenario)
            ours_bound = number("target_latency")
            if scenario == "Server" and bound:
                check(scenario, "Server bound, ms", ours_bound, bound / 1e6, ours_bound is not None and ours_bound <= bound / 1e6)
            for key, mine in (("target_latency", ours_bound), ("target_latency_percentile", number("target_latency_percentile")), ("min_duration", duration), ("min_query_count", queries), ("samples_per_query", number("samples_per_query"))):
                official = conf_value(values, names, scenario, key)
                if official is not None and (scenario in ("Server", "MultiStream") or key in ("min_duration", "min_query_count") or key == "target_latency_percentile" and scenario != "Offline"):
                    check(scenario, "mlperf.conf " + key, mine, official, mine == official or mine is None and key == "min_query_count" and early(version, scenario, official))
            rows.append([version, model, scenario, s["result"], f"{card['metric']} ≥ {ours:.6g}", settings.get("target_latency", "–") if scenario == "Server" else "–",
                         f"{in_memory:.0f}", f"{queries:.0f}" if queries else "early stopping", settings.get("min_duration", "–")])


def early(version, scenario, least):
    """Since v2.0 early stopping decides about streams and Server, and the numbers of checkers are those of LoadGen's default."""
    return version >= "v2.0" and scenario != "Offline" or least <= 1


def metric_of(official, ours):
    words = {"acc": "accuracy", "bleu": "BLEU", "mAP": "mAP", "F1": "F1", "WER": "accuracy", "AUC": "AUC", "DICE": "mean", "mean": "mean", "ROUGE1": "rouge1", "ROUGE2": "rouge2", "ROUGEL": "rougeL"}
    return official.lower() == ours.lower() or words.get(official, "").lower() == ours.lower() or ours.lower() in official.lower() or official.lower() in ours.lower()


def result_field(c, version, model, names, scenario):
    over = getattr(c, "RESULT_FIELD_BENCHMARK_OVERWRITE", {})
    over = over.get(version, over) # of v4.0 without rounds
    for name in names:
        if name in over and scenario in over[name]:
            return over[name][scenario]
    new = getattr(c, "RESULT_FIELD_NEW", {}).get(version)
    if new:
        return new.get(scenario)
    old = c.RESULT_FIELD
    short = {"SingleStream": "Single", "MultiStream": "Multi"}
    return old.get(scenario, old.get(short.get(scenario)))


if __name__ == "__main__":
    sys.exit(main())
