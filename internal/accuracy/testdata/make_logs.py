#!/usr/bin/env python3
"""Runs the official accuracy scripts on the logs in logs/ and compares what they print with expected.json.

    make_logs.py INFERENCE           # a checkout of mlcommons/inference; b66003e made the files
    make_logs.py --write INFERENCE   # put what they print into expected.json

Needs what the scripts need: NumPy 1.24.2, pycocotools 2.0.11, and for KiTS19 nibabel 5.0.0 and pandas 1.5.3.
"""
import gzip, json, os, shutil, subprocess, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOOLS = "vision/classification_and_detection/tools"


def plain(src, dst):
    """Copies a file, unpacked."""
    os.makedirs(os.path.dirname(dst), exist_ok=True)
    with gzip.open(src, "rb") as f, open(dst, "wb") as g:
        shutil.copyfileobj(f, g)


def command(inference, folder, run):
    log = ["--mlperf-accuracy-file", os.path.join(folder, run["log"])]
    kind = run["folder"]
    if kind == "resnet50":
        script, data = "accuracy-imagenet.py", ["--imagenet-val-file", os.path.join(folder, "val_map.txt")]
    elif kind == "retinanet":
        script, data = "accuracy-openimages.py", ["--openimages-dir", folder, "--verbose"]
    else:
        script, data = "accuracy-coco.py", ["--coco-dir", folder, "--verbose"]
    return [sys.executable, os.path.join(inference, TOOLS, script)] + log + data + run["arguments"]


def check(inference, kind, write):
    """Runs all runs of a folder of logs; returns how many differ."""
    source, differ = os.path.join(HERE, "logs", kind), 0
    with tempfile.TemporaryDirectory() as folder:
        for base, _, names in os.walk(source):
            for name in names:
                path = os.path.join(base, name)
                if name.endswith(".gz"):
                    plain(path, os.path.join(folder, os.path.relpath(path, source)[:-3]))
        with open(os.path.join(folder, "expected.json")) as f:
            expected = json.load(f)
        for run in expected["runs"]:
            done = subprocess.run(command(inference, folder, dict(run, folder=kind)), cwd=folder, capture_output=True, text=True)
            lines = [l for l in done.stdout.splitlines() if l.startswith((" Average", "mAP", "found", "ignored", "ERROR", "accuracy"))]
            lines = [l for l in lines if not l.startswith("no results:")]
            printed = next((l for l in reversed(lines) if l.startswith(("accuracy=", "mAP="))), "")
            then = (run["exit_code"] != 0, run.get("printed") or "", run.get("printed_lines") or [])
            now = (done.returncode != 0, printed, lines if then[2] else [])
            if done.returncode == 0 and then != now or then[0] != now[0]:
                differ += 1
                print(f"{kind}/{run['variant']}: {now[1] or done.stderr[-200:]}, {then[1]} before")
                run.update(exit_code=done.returncode, printed=printed)
                if then[2]:
                    run["printed_lines"] = lines
    if write and differ:
        with open(os.path.join(source, "expected.json.gz"), "wb") as f, gzip.GzipFile("", "wb", 9, f, 0) as z:
            z.write(json.dumps(expected, separators=(",", ":")).encode())
    return differ


def main():
    args = [a for a in sys.argv[1:] if a != "--write"]
    if len(args) != 1:
        sys.exit(__doc__)
    differ = sum(check(os.path.abspath(args[0]), kind, len(args) < len(sys.argv) - 1) for kind in ("resnet50", "ssd", "ssd_remove_empty", "retinanet"))
    print(differ, "runs differ")
    sys.exit(differ > 0)


if __name__ == "__main__":
    main()
