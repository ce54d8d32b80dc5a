"""Triton's Python clients against mlperf serve: each call that a user of them has, and answers that are compared.

    pip install "tritonclient[http,grpc]==2.73.0" numpy
    mlperf serve mobilenet --listen 127.0.0.1:8000 --grpc-listen 127.0.0.1:8001 &
    python triton.py 127.0.0.1:8000 127.0.0.1:8001 mobilenet IMAGE.npy IMAGE.JPEG

IMAGE.npy is IMAGE.JPEG by mlperf preprocess. Ends with status 1 if a call fails or answers differ.
"""
import queue
import sys

import numpy as np
import tritonclient.grpc as tg
import tritonclient.http as th
import tritonclient.utils as tu

http, grpc, model, array, image = sys.argv[1:]
x = np.load(array)
x = x if x.ndim == 4 else x[None]
failed = 0


def check(what, call, want=lambda got: True):
    global failed
    try:
        got = call()
        ok = want(got)
        print("ok    " if ok else "WRONG ", what, "" if ok else repr(got)[:300])
        failed += not ok
        return got
    except Exception as e:
        print("FAILED", what, type(e).__name__, str(e)[:300])
        failed += 1


def tensor(t, name, value, kind, **how):
    i = t.InferInput(name, list(value.shape), kind)
    i.set_data_from_numpy(value, **how)
    return i


answers = {}
for t, client in ((th, th.InferenceServerClient(http, concurrency=4)), (tg, tg.InferenceServerClient(grpc))):
    on = t.__name__.rsplit(".", 1)[-1] + " "
    field = (lambda m, k: m[k]) if t is th else getattr
    check(on + "live", client.is_server_live, bool)
    check(on + "ready", client.is_server_ready, bool)
    check(on + "model ready", lambda: client.is_model_ready(model), bool)
    check(on + "no such model is not ready", lambda: client.is_model_ready("no such"), lambda r: r is False)
    check(on + "server metadata", client.get_server_metadata, lambda m: field(m, "name"))
    meta = check(on + "model metadata", lambda: client.get_model_metadata(model))
    check(on + "statistics", lambda: client.get_inference_statistics(model))
    check(on + "repository index", client.get_model_repository_index)
    check(on + "model config", lambda: client.get_model_config(model))
    name = field(field(meta, "inputs")[0], "name")
    outs = [field(o, "name") for o in field(meta, "outputs")]

    def infer(x, binary=True, wanted=outs, **how):
        data = [tensor(t, name, x, "FP32", **({"binary_data": binary} if t is th else {}))]
        want = [t.InferRequestedOutput(o, **({"binary_data": binary} if t is th else {})) for o in wanted]
        return client.infer(model, data, outputs=want or None, **how)

    got = check(on + "infer", lambda: infer(x, request_id="7"), lambda r: field(r.get_response(), "id") == "7")
    answers[on] = [got.as_numpy(o) for o in outs]
    check(on + "infer, all outputs by default", lambda: infer(x, wanted=[]), lambda r: (r.as_numpy(outs[-1]) == answers[on][-1]).all())
    if t is th:
        check(on + "infer in JSON", lambda: infer(x, binary=False), lambda r: (r.as_numpy(outs[-1]) == answers[on][-1]).all())
        for c in ("gzip", "deflate"):
            check(on + "request compressed by " + c, lambda: infer(x, request_compression_algorithm=c))
            check(on + "response compressed by " + c, lambda: infer(x, response_compression_algorithm=c))
        check(on + "async", lambda: client.async_infer(model, [tensor(t, name, x, "FP32")]).get_result())
    else:
        done = queue.Queue()
        check(on + "async", lambda: (client.async_infer(model, [tensor(t, name, x, "FP32")], lambda result, error: done.put(error)), done.get(timeout=20))[1], lambda e: e is None)

        def stream():
            client.start_stream(lambda result, error: done.put(error or result))
            for i in range(3):
                client.async_stream_infer(model, [tensor(t, name, x, "FP32")], request_id=str(i))
            found = [done.get(timeout=20).get_response().id for _ in range(3)]
            client.stop_stream()
            return found
        check(on + "stream", stream, lambda ids: sorted(ids) == ["0", "1", "2"])
    check(on + "batch of 3", lambda: infer(np.repeat(x, 3, 0)), lambda r: r.as_numpy(outs[-1]).shape[0] == 3)
    file = np.array([open(image, "rb").read()], dtype=object).reshape(1, 1)

    def task():
        m = client.get_model_metadata(model + "-task")
        i, o = field(m, "inputs")[0], field(m, "outputs")[0]
        return client.infer(model + "-task", [tensor(t, field(i, "name"), file[0], "BYTES")]).as_numpy(field(o, "name"))
    answers[on + "task"] = [check(on + "task, file as BYTES", task)]

    def refused(call):
        try:
            call()
        except tu.InferenceServerException as e:
            return e.status() and e.message()
    check(on + "wrong shape is refused with a reason", lambda: refused(lambda: infer(x[:, :, :5])), bool)
    check(on + "wrong output is refused with a reason", lambda: refused(lambda: infer(x, wanted=["no such"])), bool)
    check(on + "wrong model is refused with a reason", lambda: refused(lambda: client.infer("no such", [tensor(t, name, x, "FP32")])), bool)
    client.close()
for a, b in (("http ", "grpc "), ("http task", "grpc task")):
    check("answers of HTTP and gRPC are equal: " + a, lambda: all(np.array_equal(p, q) for p, q in zip(answers[a], answers[b])), bool)
sys.exit(failed > 0)
