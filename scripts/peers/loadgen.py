"""ResNet-50 or MobileNet under the official LoadGen with Python's onnxruntime, in the manner of the reference harness
(mlcommons/inference, vision/classification_and_detection/python/main.py): samples wait in memory as arrays, a query is
made into a batch by NumPy, SingleStream runs in LoadGen's own thread, Offline and Server in threads that share one
session and take batches, in Server of one sample, from a queue.

    pip install mlcommons-loadgen==6.0.17 onnxruntime==1.24.3 numpy==2.4.6
    python loadgen.py --model FILE.onnx --images FOLDER --scenario SingleStream|Offline|Server --seconds 15

FOLDER has the input tensors as .npy: mlperf preprocess makes them. Prints one line of JSON.
"""
import argparse
import array
import json
import pathlib
import queue
import re
import resource
import tempfile
import threading
import time

began = time.perf_counter()
import mlperf_loadgen as lg
import numpy as np
import onnxruntime as ort

flags = argparse.ArgumentParser()
flags.add_argument("--model", required=True)
flags.add_argument("--images", required=True)
flags.add_argument("--scenario", choices=["SingleStream", "Offline", "Server"], required=True)
flags.add_argument("--seconds", type=float, default=15)
flags.add_argument("--qps", type=float, default=100, help="Offline: expected rate; Server: target")
flags.add_argument("--bound-ms", type=float, default=100, help="Server: latency bound")
flags.add_argument("--percentile", type=float, default=0.9, help="Server: of the bound; mlperf run --quick takes 0.9")
flags.add_argument("--workers", type=int, default=2, help="Offline, Server: the reference takes one per processor")
flags.add_argument("--intra-threads", type=int, default=0, help="of the session; 0, as in the reference: all cores")
flags.add_argument("--batch", type=int, default=32, help="Offline: most samples of a run; the reference takes 32")
flags = flags.parse_args()

options = ort.SessionOptions()
options.intra_op_num_threads = flags.intra_threads
session = ort.InferenceSession(flags.model, options, providers=["CPUExecutionProvider"])
name = session.get_inputs()[0].name
outputs = [o.name for o in session.get_outputs()]
files = sorted(pathlib.Path(flags.images).rglob("*.npy"))
memory = {}


def run(samples):
    batch = np.array([memory[s.index] for s in samples])
    answers = session.run(outputs, {name: batch})
    # The class: of the first output if it is one number a sample, else the highest score.
    classes = answers[0] if answers[0].ndim == 1 else np.argmax(answers[0], axis=1)
    kept, responses = [], []
    for sample, answer in zip(samples, classes):
        data = array.array("B", np.array(answer, np.float32).tobytes())
        kept.append(data)
        address, length = data.buffer_info()
        responses.append(lg.QuerySampleResponse(sample.id, address, length))
    lg.QuerySamplesComplete(responses)


tasks = queue.Queue()


def work():
    while (samples := tasks.get()) is not None:
        run(samples)


def issue(samples):
    if flags.scenario == "SingleStream":
        run(samples)
        return
    for first in range(0, len(samples), flags.batch):
        tasks.put(samples[first:first + flags.batch])


def load(indices):
    for i in indices:
        x = np.load(files[i])
        memory[i] = x[0] if x.ndim == 4 else x


load([0])
for _ in range(5):  # as the reference warms up
    session.run(outputs, {name: np.array([memory[0]])})

settings = lg.TestSettings()
settings.scenario = getattr(lg.TestScenario, flags.scenario)
settings.mode = lg.TestMode.PerformanceOnly
settings.min_duration_ms = int(flags.seconds * 1000)
settings.min_query_count = 1
settings.offline_expected_qps = settings.server_target_qps = flags.qps
settings.server_target_latency_ns = int(flags.bound_ms * 1e6)
settings.server_target_latency_percentile = flags.percentile
logs = tempfile.TemporaryDirectory()
log = lg.LogSettings()
log.log_output = lg.LogOutputSettings()
log.log_output.outdir = logs.name
log.enable_trace = False

workers = [threading.Thread(target=work) for _ in range(0 if flags.scenario == "SingleStream" else flags.workers)]
for w in workers:
    w.start()
sut = lg.ConstructSUT(issue, lambda: None)
qsl = lg.ConstructQSL(len(files), len(files), load, lambda indices: None)
ready = time.perf_counter() - began
lg.StartTestWithLogSettings(sut, qsl, settings, log)
for w in workers:
    tasks.put(None)
lg.DestroyQSL(qsl)
lg.DestroySUT(sut)

summary = (pathlib.Path(logs.name) / "mlperf_log_summary.txt").read_text()
found = lambda what: float(re.search(re.escape(what) + r"\s*: ([\d.e+]+)", summary)[1])
use = resource.getrusage(resource.RUSAGE_SELF)
result = {"valid": "Result is : VALID" in summary, "ready_s": round(ready, 2), "peak_mb": use.ru_maxrss // 1024, "cpu_s": round(use.ru_utime + use.ru_stime, 1)}
if flags.scenario == "Offline":
    result["samples_per_s"] = found("Samples per second")
else:
    for p in ("50.00", "90.00", "99.00"):
        result["p" + p[:2] + "_ms"] = found(p + " percentile latency (ns)") / 1e6
print(json.dumps(result))
