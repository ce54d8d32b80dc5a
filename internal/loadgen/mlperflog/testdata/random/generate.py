"""generate.py LOADGEN: writes reference.txt.gz, the logs of the reference LoadGen (the folder loadgen of
mlcommons/inference) for random settings. Its clock is replaced by one that driver.cc moves. Cases in which the reference
crashes are left out, and so are rates that are not finite. On a busy machine it may warn that it
logs late ("CAS failed"), in detail log and summary: such cases are made again."""

import gzip
import hashlib
import json
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
CLOCK = """struct PerfClock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<PerfClock>;
  static constexpr bool is_steady = true;
  static time_point now();
  static void sleep_until(time_point t);
};"""
EDITS = {
    "logging.h": [("using PerfClock = std::chrono::high_resolution_clock;", CLOCK)],
    "issue_query_controller.cc": [("std::this_thread::sleep_until(scheduled_time)", "PerfClock::sleep_until(scheduled_time)")],
    # The system's clock does not go with this one, and threads that answer at once fill buffers.
    "loadgen.cc": [("float pc_sc_ratio = static_cast<float>(pc_duration) / sc_duration;", "float pc_sc_ratio = 1;")],
    "logging.cc": [("max_entry_vector_size > kTlsLogReservedEntryCount", "false")],
}
SCENARIOS = ["SingleStream", "MultiStream", "Server", "Offline"]
SOURCES = "early_stopping issue_query_controller loadgen logging results test_settings_internal utils version".split()


def build(loadgen, folder):
    shutil.copytree(loadgen, folder, dirs_exist_ok=True)
    for name, edits in EDITS.items():
        text = (folder / name).read_text()
        for old, new in edits:
            assert old in text, (name, old)
            text = text.replace(old, new)
        (folder / name).write_text(text)
    (folder / "mlperf_conf.h").write_text('const char* mlperf_conf = "";\n')
    files = [str(folder / (s + ".cc")) for s in SOURCES]
    subprocess.check_call(["g++", "-std=c++17", "-O1", "-I", str(folder), "-o", str(folder / "driver"), str(HERE / "driver.cc"), *files, "-lpthread"])
    return folder / "driver"


CORNERS = [
    "corner0 scenario=1 mode=2 total=20 perf=7 equal=1 min_q=0 min_ms=30 per_query=3 expected_ns=2900000.0 base_ns=1000000 seed2=11",
    "corner1 scenario=3 mode=1 total=9 perf=4 min_q=0 min_ms=0 base_ns=1000000",
    "corner2 scenario=1 mode=2 total=7 perf=3 tokens=1 min_q=64 min_ms=10 per_query=3 parallel=1 expected_ns=1366223.8 base_ns=3000000 sut_seed=746034257",
    "corner3 scenario=2 mode=3 total=20 perf=10 min_q=100 min_ms=100 percentile=0.9 base_ns=1000000 limit_ns=4000000 qps=100 seed1=1 seed2=2 seed3=3",
]


def case(r, i):
    scenario = r.randrange(4)
    total = r.choice([1, 2, 3, 7, 20, 40])
    c = {"scenario": scenario, "mode": r.choice([2, 2, 2, 2, 1, 0]), "total": total}
    c["perf"] = r.choice([1, 2, total, max(1, total // 2), total + 5, 10])
    for key, chance, values in [
        ("perf_override", 0.2, [1, 3, total]), ("acc_override", 0.2, [1, 3, 50, total * 2]), ("max_q", 0.15, [1, 50, 100, r.randrange(1, 500)]),
        ("max_ms", 0.15, [1, 10, r.randrange(1, 300)]), ("unique", 0.15, [1]), ("equal", 0.25, [1]), ("log_p", 0.4, [0.01, 0.1, 1, r.random()]),
        ("log_n", 0.25, [1, 10, 1024]), ("test05", 0.1, [1]), ("tokens", 0.3, [1]), ("infer", 0.15, [1]), ("coalesce", 0.4, [1]),
    ]:
        if r.random() < chance:
            c[key] = r.choice(values)
    for k in range(1, 5):
        c["seed%d" % k] = r.choice([0, 1, r.getrandbits(32), r.getrandbits(64)])
    c["percentile"] = r.choice([0.5, 0.9, 0.9, 0.95, 0.97, 0.99, 0.99, 0.999, 0.1, r.uniform(0.05, 0.995)])
    c["min_q"] = r.choice([0, 1, 5, 64, 100, 270, 662, r.randrange(1, 900)])
    c["min_ms"] = r.choice([0, 1, 10, 100, r.randrange(1, 300)])
    base = r.choice([1000, 100000, 1000000, r.randrange(10**5, 10**7)])
    c["base_ns"] = base
    c["spread_ns"] = r.choice([0, 0, 7, base, 2 * base + 1, 10 * base])
    c["parallel"] = r.choice([0, 1])
    c["sut_seed"] = r.getrandbits(32)
    mean = base + c["spread_ns"] / 2
    if c["min_ms"] * 1e6 / mean > 2000:
        c["min_ms"] = 1
    c["limit_ns"] = int(r.choice([1e6, 1e8, mean, base + c["spread_ns"] * c["percentile"], 0]))
    c["qps"] = repr(r.choice([0.1, 10, 1000, r.uniform(0.5, 3000), min(3000, 1e9 / mean)]))
    if scenario == 1:
        c["per_query"] = r.choice([1, 2, 3, 8, 17])
        if not c["parallel"]:
            mean *= c["per_query"]
    c["expected_ns"] = repr(mean * r.choice([0.1, 0.5, 1, 1.5, 0.9]) * r.uniform(0.9, 1.1))
    if "unique" not in c and r.random() < 0.15:
        c["same"], c["same_index"] = 1, r.randrange(min(total, c.get("perf_override") or c["perf"]))
    if "tokens" in c:
        c["ttft_ns"], c["tpot_ns"] = int(r.choice([1e6, 1e8, mean / 2])), int(r.choice([1e5, 1e8, mean / 30]))
    if "infer" in c:
        c["factor"] = r.choice([1, 2, 1000003])
    if scenario == 2 and not c["parallel"] and r.random() < 0.2:
        c["max_async"] = r.choice([1, 5, 100])
    return " ".join(["r%d" % i] + ["%s=%s" % kv for kv in c.items()])


# What is of the run and not of the settings, and what is in the words of the program.
PROSE = re.compile(r"^(loadgen_|logger_|test_datetime|get_sut|power_|early_stopping.*result$|result_invalid_reason|error_|warning_|generic_)")
NO_RATE = re.compile(r"(: |= )-?(nan|inf)$")


def detail(text):
    for line in text.splitlines():
        m = re.match(r':::MLLOG {"key": "([^"]+)", "value": (.*), "time_ms": ', line)
        if not m:
            raise ValueError(line)
        key, value = m.groups()
        if key.startswith("error_"):
            yield key
        elif not PROSE.match(key) and not NO_RATE.search(key + " = " + value):
            yield key + " = " + value


def summary(text):
    prose = False
    for line in text.splitlines():
        if line.startswith("WARNING") or line.endswith("Early Stopping Result:") or line == "Recommendations:":
            prose = True
        elif line.startswith("===") or line == "":
            prose = False
        estimate = re.search(r"percentile estimate: \d+", line)
        if estimate:
            yield estimate.group()
        elif not prose and not NO_RATE.search(line):
            yield line


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()


def main(loadgen):
    r = random.Random(20)
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        driver = build(loadgen, work / "loadgen")
        lines = CORNERS + [case(r, i) for i in range(120)]
        late = lines
        while late:
            (work / "cases").write_text("\n".join(late) + "\n")
            subprocess.check_call([str(driver), str(work / "cases"), str(work)])
            late = [l for l in late if "CAS failed" in (work / l.split()[0] / "mlperf_log_detail.txt").read_text()]
        out = []
        for line in lines:
            folder = work / line.split()[0]
            if (folder / "crashed").exists():
                continue
            accuracy = (folder / "mlperf_log_accuracy.json").read_text()
            records = sorted(l.rstrip(",") for l in accuracy.splitlines())
            json.loads(accuracy)
            out.append("case " + re.sub(r"scenario=(\d)", lambda m: "scenario=" + SCENARIOS[int(m[1])], line))
            out.append("issued " + digest((folder / "issued.txt").read_text()))
            out.append("accuracy " + digest("\n".join(records)))
            out += ["summary " + l for l in summary((folder / "mlperf_log_summary.txt").read_text())]
            out += ["detail " + l for l in detail((folder / "mlperf_log_detail.txt").read_text())]
        with open(HERE / "reference.txt.gz", "wb") as f, gzip.GzipFile("", "wb", 9, f, mtime=0) as z:
            z.write(("\n".join(out) + "\n").encode())


main(sys.argv[1])
