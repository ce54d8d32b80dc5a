#!/usr/bin/env python3
"""Writes final.json: the sheets that generate_final_report.py makes of random results.

    python3 make_final.py CHECKOUT_OF_MLCOMMONS_INFERENCE > final.json

Needs Debian's python3-pandas. Nothing is written as a spreadsheet: what would be is taken.
"""
import csv
import importlib.util
import json
import os
import random
import sys
import tempfile
import types

import pandas as pd

root = sys.argv[1]
spec = importlib.util.spec_from_file_location("report", os.path.join(root, "tools/submission/generate_final_report.py"))
report = importlib.util.module_from_spec(spec)
spec.loader.exec_module(report)
os.chdir(tempfile.mkdtemp())

sheets = []


class Writer:
    def __init__(self, *_, **__):
        self.book = types.SimpleNamespace(add_format=lambda _: None, worksheets=lambda: [])

    def close(self):
        pass


def take(df, writer, sheet_name):
    """Keeps the index, the columns and the cells of a sheet."""
    names = list(df.index.names)
    hidden = [names.index(n) for n in ("Unique ID (e.g. for Audit)", "ColorKey", "PrivateID", "Details", "Code")]
    rows = []
    for index, cells in zip(df.index, df.values.tolist()):
        shown = [str(x) for i, x in enumerate(index) if i not in hidden]
        rows.append(shown + ["" if c == "" else f"{c:.3f}" for c in cells])
    header = [n for i, n in enumerate(names) if i not in hidden] + [" ".join(c[1:]) for c in df.columns]
    sheets.append({"title": sheet_name, "header": header, "rows": rows})


pd.ExcelWriter = Writer
pd.DataFrame.to_excel = take

rng = random.Random(20260820)
models = {"resnet": "Samples/s", "bert-99": "Samples/s", "llama3.1-8b": "Tokens/s", "whisper": "Samples/s", "llama2-70b-99.9": "Tokens/s", "yolo-95": "Samples/s", "gpt-oss-120b": "Tokens/s",
          "3d-unet-99": "Samples/s", "wan-2.2-t2v-a14b": "Samples/s", "rgat": "Samples/s"}
newer = {"5.0": ["llama3.1-8b", "whisper", "yolo-95", "gpt-oss-120b", "wan-2.2-t2v-a14b"], "5.1": ["yolo-95", "gpt-oss-120b", "wan-2.2-t2v-a14b"]}  # than a round
units = {"SingleStream": "Latency (ms)", "MultiStream": "Latency (ms)", "Server": "Queries/s", "Interactive": "Queries/s"}
power = {"SingleStream": "millijoules", "MultiStream": "millijoules"}
head = ["Organization", "Availability", "Division", "SystemType", "SystemName", "Platform", "Model", "MlperfModel", "Scenario", "Result", "Accuracy", "number_of_nodes",
        "host_processor_model_name", "host_processors_per_node", "host_processor_core_count", "accelerator_model_name", "accelerators_per_node", "total_accelerators", "Location", "framework",
        "operating_system", "notes", "compliance", "errors", "version", "inferred", "has_power", "Units", "weight_data_types", "design_power_watts", "PrivateID"]


def system(n):
    kind = rng.choice(["edge", "datacenter", "datacenter,edge", "edge,datacenter"])
    return {"Organization": rng.choice(["Alpha", "beta", "Zeta"]), "Availability": rng.choice(["available", "preview", "rdi"]), "Division": rng.choice(["closed", "closed", "open", "network"]),
            "SystemType": kind, "SystemName": f"System {n}", "Platform": f"box{rng.randrange(3)}-{n}", "number_of_nodes": rng.choice([1, 2]), "host_processor_model_name": "CPU",
            "host_processors_per_node": 2, "host_processor_core_count": 8, "accelerator_model_name": rng.choice(["GPU", "-", "N/A"]), "accelerators_per_node": rng.choice([0, 1, 8]),
            "total_accelerators": 8, "framework": "runtime 1", "operating_system": "Linux", "notes": rng.choice(["", "noted"]), "errors": 0, "inferred": 0, "weight_data_types": "fp32",
            "PrivateID": "p"}


def results(version, n):
    rows = []
    for s in (system(i) for i in range(n)):
        for model in rng.sample(sorted(set(models) - set(newer.get(version, []))), rng.randrange(1, 4)):
            accuracy = f"acc: {rng.randrange(70, 72)}"
            for scenario in rng.sample(["SingleStream", "MultiStream", "Server", "Offline", "Interactive"], rng.randrange(1, 5)):
                row = dict(s, Model=("my" + model if s["Division"] == "open" and n % 2 else model), MlperfModel=model, Scenario=rng.choice([scenario, scenario, scenario.lower()]),
                           Result=round(rng.uniform(1, 5000), 4), Accuracy=rng.choice([accuracy, accuracy, "acc: 99"]), compliance=s["Division"], has_power=rng.random() < 0.2)
                row["Units"] = units.get(scenario, models[model])
                if scenario in ("Server", "Interactive") and models[model] == "Tokens/s":
                    row["Units"] = "Tokens/s"
                rows.append(row)
                if row["has_power"]:
                    rows.append(dict(row, Result=round(rng.uniform(1, 900), 4), Units=power.get(scenario, "Watts")))
    return rows


cases = []
for version in ["6.1", "6.0", "5.1", "5.0"] * 3:
    rows = results(version, rng.randrange(1, 9))
    with open("in.csv", "w", newline="") as f:
        w = csv.DictWriter(f, head, restval="")
        w.writeheader()
        w.writerows(rows)
    if os.path.exists("ids.json"):
        os.remove("ids.json")
    sheets.clear()
    sys.argv = ["x", "--input", "in.csv", "--version", version]
    report.main()
    kept = ["Organization", "Availability", "Division", "SystemType", "SystemName", "Platform", "Model", "MlperfModel", "Scenario", "Result", "Accuracy", "number_of_nodes",
            "host_processor_model_name", "host_processors_per_node", "accelerator_model_name", "accelerators_per_node", "total_accelerators", "framework", "notes", "has_power", "Units"]
    cases.append({"version": version, "results": [{k: r[k] for k in kept} for r in rows], "sheets": list(sheets)})
print("[\n" + ",\n".join(json.dumps(c) for c in cases) + "\n]")
