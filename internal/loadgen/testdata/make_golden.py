"""make_golden.py LOADGEN [--write]: makes the files of rng, traces and early-stopping.json with the reference LoadGen (the
folder loadgen of mlcommons/inference at b66003e) and this machine's g++ (12.2, libstdc++). Without --write it says which files differ."""

import hashlib
import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
SOURCES = "early_stopping issue_query_controller loadgen logging results test_settings_internal utils version".split()
SEEDS = {  # of qsl, samples and schedule
    "official": (2085463073848966840, 2747215439041700203, 16159082839903944936),  # mlperf.conf of v6.1
    "test05": (7975553102935885558, 11403566307062068064, 15816800565822761601),  # compliance/TEST05/audit.config
}
PROGRAM = None


def compact(value):
    return json.dumps(value, separators=(",", ":"))


def run(*args):
    return subprocess.check_output([str(PROGRAM), *map(str, args)], text=True).splitlines()


def integers(*args):
    return [int(line) for line in run(*args)]


def sha256(values):
    return hashlib.sha256(",".join(map(str, values)).encode()).hexdigest()


def numbers(seed):
    """What libstdc++ draws from one seed."""
    raw = integers("raw", seed, 10000)
    case = {"seed": str(seed), "seed_low32": seed % 2**32, "mt19937_first20": raw[:20], "mt19937_draws_624_to_626": raw[623:626], "mt19937_draw_10000": raw[9999]}
    case["uniform_int"], case["shuffle"] = [], []
    for n in [1, 2, 7, 1000, 1024, 24576, 50000, 2147483647]:
        *values, following = integers("uniform", seed, n, 100)
        case["uniform_int"].append({"n": n, "values": values, "next_raw": following})
    for n in [1, 2, 3, 4, 10, 11, 1000, 1001, 24576, 65535, 65536, 70001]:
        *values, following = integers("shuffle", seed, n, 1)
        if n < 24576:
            case["shuffle"].append({"n": n, "values": values, "next_raw": following})
        else:
            case["shuffle"].append({"n": n, "next_raw": following, "sha256_of_decimal_csv": sha256(values), "first20": values[:20], "last20": values[-20:]})
    *values, _ = integers("shuffle", seed, 10, 4)
    case["reshuffle_same_vector_n10_x4"] = [values[i:i + 10] for i in range(0, 40, 10)]
    case["exponential"] = []
    for qps in [1, 100, 2000.5, 1000000]:
        gaps = [line.split() for line in run("gaps", seed, qps, 10000)]
        case["exponential"].append({"qps": qps, "hex": [h for h, _ in gaps[:50]], "decimal": [float.fromhex(h) for h, _ in gaps[:50]],
                                    "nanoseconds": [int(ns) for _, ns in gaps[:50]], "sum_ns_of_first_10000": sum(int(ns) for _, ns in gaps)})
    case["uniform_real_0_1_hex"] = run("real", seed, 50)
    return case


def test(settings):
    """One test of LoadGen: what it loaded and issued, and what it says that it generated."""
    with tempfile.TemporaryDirectory() as folder:
        lines = [line.split() for line in run("test", folder, *(f"{key}={value}" for key, value in settings.items()))]
        log = (pathlib.Path(folder) / "mlperf_log_detail.txt").read_text().splitlines()
    events = [json.loads(line.removeprefix(":::MLLOG ")) for line in log]
    said = lambda key: [e["value"] for e in events if e["key"] == key]
    pick = lambda what: [[int(x) for x in rest] for head, *rest in lines if head == what]
    return pick("load"), pick("query"), said


def sequences(set_number, seeds):
    """Short tests, in full."""
    def case(scenario, mode, total, perf, least, most, ms, qps, option=None, per_query=None):
        settings = dict(scenario=scenario, mode=mode, total=total, perf=perf, min_query_count=least, max_query_count=most, min_duration_ms=ms, target_qps=qps,
                        qsl_seed=seeds[0], sample_seed=seeds[1], schedule_seed=seeds[2])
        settings |= {None: {}, "performance_issue_unique": {"unique": 1}, "sample_concatenate_permutation": {"permutation": 1},
                     "performance_issue_same index 3": {"same": 1, "same_index": 3}}[option]
        if per_query:
            settings["samples_per_query"] = per_query
        loads, queries, said = test(settings)
        short = lambda s: s if len(s) <= 2000 else {"n": len(s), "sha256_of_decimal_csv": sha256(s), "first20": s[:20]}
        return {"scenario": scenario, "mode": mode, "total_sample_count": total, "performance_sample_count": perf, "min_query_count": least,
                "max_query_count": most, "min_duration_ms": ms, "target_qps": qps, "option": option, "multi_stream_samples_per_query": per_query,
                "generated_query_count": said("generated_query_count"), "generated_samples_per_query": said("generated_samples_per_query"),
                "generated_query_duration_ns": said("generated_query_duration"),
                "load_samples_to_ram_calls": [short(s) for s in loads], "issued_queries": [short(s) for s in queries]}

    P, A = "PerformanceOnly", "AccuracyOnly"
    unique, same, equal = "performance_issue_unique", "performance_issue_same index 3", "sample_concatenate_permutation"
    cases = [
        case("SingleStream", P, 100, 40, 50, 50, 10, 1000.0), case("SingleStream", A, 100, 40, 50, 0, 10, 1000.0),
        case("MultiStream", P, 100, 40, 30, 30, 10, 1000.0, per_query=8), case("MultiStream", A, 100, 40, 30, 0, 10, 1000.0, per_query=8),
        case("Server", P, 100, 40, 60, 60, 50, 1000.0), case("Server", P, 1024, 1024, 270, 270, 20, 5000.0), case("Server", A, 100, 40, 60, 0, 10, 1000.0),
        case("Offline", P, 60, 25, 1, 1, 1000, 10.0), case("Offline", A, 100, 40, 1, 0, 10, 10.0),
        case("SingleStream", P, 100, 40, 40, 40, 10, 1000.0, unique), case("SingleStream", P, 100, 40, 30, 30, 10, 1000.0, same),
        case("SingleStream", P, 100, 16, 48, 48, 10, 1000.0, equal), case("Server", P, 100, 16, 50, 50, 10, 2000.0, equal), case("Offline", P, 60, 16, 1, 1, 1000, 10.0, equal),
        case("MultiStream", P, 50, 50, 30, 30, 10, 1000.0, unique, 8), case("Server", P, 7, 7, 20, 20, 40, 500.0),
        case("SingleStream", P, 1, 1, 5, 5, 1, 1000.0), case("SingleStream", P, 50000, 24576, 100, 100, 10, 1000.0),
    ]
    roles = dict(zip(["qsl_rng_seed", "sample_index_rng_seed", "schedule_rng_seed"], map(str, seeds)))
    return f'{{"set":{set_number},\n"seeds":{compact(roles)},\n"cases":[\n' + ",\n".join(map(compact, cases)) + "\n]}\n"


def draws(set_number, seeds):
    roles = dict(zip(["qsl_rng_seed", "sample_index_rng_seed", "schedule_rng_seed"], map(str, seeds)))
    about = ["official mlperf.conf seeds", "TEST05-style alternative seeds"][set_number - 1]
    return (f'{{"set":{set_number},\n"description":{json.dumps(about)},\n"compiler":"g++ 12.2.0, libstdc++, x86_64 Linux, glibc 2.36",\n"roles":{compact(roles)},\n"cases":[\n'
            + ",\n".join(compact(numbers(s)) for s in seeds) + "\n]}\n")


# Settings of longer tests, of which the beginning and a checksum are kept.
def performance(scenario, ms, total, perf, qps=1000, min_query_count=None, **more):
    least = {} if min_query_count is None else {"min_query_count": min_query_count}
    return dict(scenario=scenario, target_qps=qps, min_duration_ms=ms) | least | dict(total=total, perf=perf) | more


def accuracy(scenario, total, perf, **more):
    return dict(scenario=scenario, mode="AccuracyOnly", total=total, perf=perf, min_duration_ms=0) | more


TRACES = [
    performance("Server", 1000, 5000, 1024, 500), performance("Server", 500, 50000, 1024, 20000), performance("Server", 200, 3000, 64, min_query_count=1500),
    performance("Server", 200, 43, 43, 2000, min_query_count=300, permutation=1), performance("Server", 200, 5000, 1024, 2000, unique=1),
    performance("Server", 200, 5000, 1024, 2000, same=1, same_index=3),
    performance("SingleStream", 0, 50000, 1024, min_query_count=1024), performance("SingleStream", 0, 43, 43, min_query_count=100, permutation=1),
    performance("SingleStream", 0, 500, 256, min_query_count=700, unique=1), performance("SingleStream", 0, 500, 256, min_query_count=700, same=1, same_index=7),
    performance("MultiStream", 0, 50000, 1024, min_query_count=662, samples_per_query=8), performance("MultiStream", 0, 1000, 100, min_query_count=270, samples_per_query=3),
    performance("MultiStream", 0, 5000, 256, min_query_count=32, samples_per_query=8, unique=1),
    performance("Offline", 0, 50000, 1024, min_query_count=24576), performance("Offline", 1000, 5000, 256, 3333.3, min_query_count=100),
    performance("Offline", 0, 43, 43, min_query_count=500, permutation=1), performance("Offline", 0, 5000, 256, min_query_count=500, unique=1),
    performance("Offline", 0, 5000, 256, min_query_count=500, same=1, same_index=9),
    accuracy("SingleStream", 5000, 1024), accuracy("MultiStream", 5000, 1024, samples_per_query=8), accuracy("Server", 1000, 300, target_qps=5000),
    accuracy("Offline", 5000, 1024), accuracy("Offline", 43, 43),
    dict(scenario="SingleStream", mode="SubmissionRun", total=500, perf=128, min_duration_ms=0, min_query_count=200),
]


def trace(settings, seeds):
    settings = settings | dict(zip(["qsl_seed", "sample_seed", "schedule_seed"], seeds))
    loads, queries, _ = test({"mode": "PerformanceOnly"} | settings)
    arrivals = []
    if settings["scenario"] == "Server":
        gaps = [int(line.split()[1]) for line in run("gaps", seeds[2], settings["target_qps"], len(queries))]
        arrivals = [sum(gaps[:i]) for i in range(len(queries))]
    begin = lambda s: {"count": len(s), "sha256": sha256(s), "first": s[:200]}
    return {"settings": settings, "queries": len(queries), "loads": [{"count": len(s), "first": s[:12]} for s in loads],
            "samples": begin([i for q in queries for i in q]), "query_sizes": begin([len(q) for q in queries]), "scheduled_ns": begin(arrivals)}


def early_stopping():
    passing, discard = [], []
    for p in [0.5, 0.9, 0.95, 0.97, 0.99, 0.999]:
        for t in [*range(1, 21), *range(40, 401 if p != 0.999 else 61, 20)]:
            h, = integers("passing", p, t)
            passing.append({"percentile": p, "tolerance": 0, "confidence": 0.99, "overlatency": t, "min_underlatency": h})
    for p in [0.9, 0.99]:
        for n in [44, 45, 64, 65, 100, 459, 500, 662, 1000, 1024, 5000, 10000, 24576]:
            enough, value = map(int, run("rank", p, n)[0].split())
            discard.append({"percentile": p, "queries": n, "enough": bool(enough)} | ({"rank_from_top": value} if enough else {"need": value}))
    return compact({"min_passing": passing, "discard": discard}) + "\n"


def main():
    global PROGRAM
    loadgen = pathlib.Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        PROGRAM = pathlib.Path(folder) / "golden"
        (pathlib.Path(folder) / "mlperf_conf.h").write_text('const char* mlperf_conf = "";\n')
        subprocess.check_call(["g++", "-std=c++17", "-O1", "-I", folder, "-I", str(loadgen), "-o", str(PROGRAM), str(HERE / "golden.cc"),
                               *(str(loadgen / f"{s}.cc") for s in SOURCES), "-lpthread"])
        files = {"early-stopping.json": early_stopping()}
        for i, (name, seeds) in enumerate(SEEDS.items()):
            files[f"rng/set{i + 1}.json"] = draws(i + 1, seeds)
            files[f"rng/loadgen_sequences_set{i + 1}.json"] = sequences(i + 1, seeds)
            files[f"traces/trace-{name}.json"] = compact([trace(s, seeds) for s in TRACES])
    for name, text in files.items():
        if "--write" in sys.argv:
            (HERE / name).write_text(text)
        elif (HERE / name).read_text() != text:
            print(f"{name} differs")


main()
