"""make_rules.py INFERENCE [--write]: makes rules.json, every key and value of the official mlperf.conf of each round, from a clone
of mlcommons/inference. Without --write it says whether the file differs."""

import json
import pathlib
import subprocess
import sys

FILE = pathlib.Path(__file__).parent / "rules.json"
CONFS = {
    "v0.5": "origin/r0.5:v0.5/mlperf.conf", "v0.7": "v0.7:mlperf.conf", "v1.0": "v1.0.1:mlperf.conf", "v1.1": "origin/r1.1:mlperf.conf", "v2.0": "v2.0:mlperf.conf",
    "v2.1": "v2.1:mlperf.conf", "v3.0": "v3.0:mlperf.conf", "v3.1": "v3.1:mlperf.conf", "v4.0": "v4.0:mlperf.conf", "v4.1": "v4.1:mlperf.conf",
    "v5.0": "v5.0.1:loadgen/mlperf.conf", "v5.1": "v5.1.1:loadgen/mlperf.conf", "v6.0": "80aaa82a:loadgen/mlperf.conf", "v6.1": "b0662794:loadgen/mlperf.conf",
}


def settings(conf):
    text = subprocess.check_output(["git", "-C", sys.argv[1], "show", conf], text=True)
    lines = [line.split("#")[0] for line in text.splitlines()]
    return {key.strip(): value.strip() for key, equals, value in (line.partition("=") for line in lines) if equals}


def main():
    rules = {version: settings(conf) for version, conf in CONFS.items()}
    if "--write" in sys.argv:
        FILE.write_text(json.dumps(rules, indent=0, sort_keys=True))
    elif json.loads(FILE.read_text()) != rules:
        print("rules.json differs")


main()
