"""generate.py INFERENCE: writes the logs in reference/ and old/ with the LoadGen of several versions of a checkout of
mlcommons/inference, in real time: a machine that is not busy takes half a minute. Times in the logs differ from run
to run, the tests compare the rest. On a busy machine that does not permit real-time priority, cases may end early or be
INVALID, and the search of find-peak may end with an error."""

import gzip
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
# Folder, prefix of the files' names, commit, version times ten.
VERSIONS = [
    ("reference", "", "b66003e1", 60),
    ("old", "v0.5-", "origin/r0.5", 5),
    ("old", "v0.7-", "v0.7", 7),
    ("old", "v1.0-", "v1.0.1", 10),
    ("old", "v2.0-", "v2.0", 20),
    ("old", "v4.0-", "v4.0", 40),
]


def build(inference, commit, version, folder):
    archive = subprocess.run(["git", "-C", inference, "archive", commit, "loadgen"], check=True, capture_output=True).stdout
    subprocess.run(["tar", "x", "-C", folder], input=archive, check=True)
    loadgen = folder / "loadgen"
    (loadgen / "mlperf_conf.h").write_text('const char* mlperf_conf = "";\n')
    sources = ["loadgen/" + s.name for s in loadgen.glob("*.cc")]
    flags = ["-std=c++14", "-O1", "-w", "-DLOADGEN=%d" % version, "-I", "loadgen"]
    subprocess.check_call(["g++", *flags, "-o", str(folder / "driver"), str(HERE / "driver.cc"), *sources, "-lpthread"], cwd=folder)
    return folder / "driver"


def first():
    """has the driver run before all other programs of a busy machine, where that is permitted"""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except PermissionError:
        pass


def main(inference):
    for target, prefix, commit, version in VERSIONS:
        with tempfile.TemporaryDirectory() as work:
            work = pathlib.Path(work)
            cases = HERE / target / "cases.txt"
            subprocess.check_call([str(build(inference, commit, version, work)), str(cases), str(work)], stdout=subprocess.DEVNULL, preexec_fn=first)
            for line in cases.read_text().splitlines():
                name = line.split()[0]
                out = str(HERE / target / (prefix + name))
                log = work / name
                pathlib.Path(out + ".summary.txt").write_bytes((log / "mlperf_log_summary.txt").read_bytes())
                with open(out + ".detail.txt.gz", "wb") as f, gzip.GzipFile("", "wb", 9, f, mtime=0) as z:
                    z.write((log / "mlperf_log_detail.txt").read_bytes())
                accuracy = pathlib.Path(out + ".accuracy.json")
                if accuracy.exists():
                    accuracy.write_bytes((log / "mlperf_log_accuracy.json").read_bytes())


main(sys.argv[1])
