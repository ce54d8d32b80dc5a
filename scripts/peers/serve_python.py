"""A plain server of the Open Inference Protocol in Python, over HTTP (aiohttp) and gRPC (grpcio): what people write around ONNX Runtime.

    pip install "tritonclient[http,grpc]==2.73.0" aiohttp onnxruntime==1.24.3 numpy
    python serve_python.py MODEL.onnx 8000 8001 [REQUESTS]
    mlperf run --model mobilenet --scenario server --target-qps 60 --backend oip --endpoint http://127.0.0.1:8000
    mlperf run --model mobilenet --scenario server --target-qps 60 --backend oip --endpoint grpc://127.0.0.1:8001

One request at a time has all processors, as ONNX Runtime does by default; with REQUESTS so many run at once, with a thread each. Models have one input and one output of float32.
"""
import asyncio
import concurrent.futures
import json
import sys

import grpc
import numpy as np
import onnxruntime
from aiohttp import web
from tritonclient.grpc import service_pb2 as pb, service_pb2_grpc as rpc

path, http_port, grpc_port = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
at_once = int(sys.argv[4]) if len(sys.argv) > 4 else 1
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 1 if at_once > 1 else 0
session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
inputs, outputs = session.get_inputs(), session.get_outputs()
pool = concurrent.futures.ThreadPoolExecutor(at_once)
name = "model"


def ports(ends):
    return [{"name": e.name, "datatype": "FP32", "shape": [d if isinstance(d, int) else -1 for d in e.shape]} for e in ends]


about = {"name": name, "versions": ["1"], "platform": "onnxruntime", "inputs": ports(inputs), "outputs": ports(outputs)}


def compute(shape, data):
    x = np.frombuffer(data, np.float32).reshape(shape)
    return session.run(None, {inputs[0].name: x})[0]


async def infer(request):
    body = await request.read()
    head = int(request.headers["Inference-Header-Content-Length"])
    doc = json.loads(body[:head])
    y = await asyncio.get_running_loop().run_in_executor(pool, compute, doc["inputs"][0]["shape"], body[head:])
    data = y.tobytes()
    text = json.dumps({"model_name": name, "model_version": "1", "id": doc.get("id", ""), "outputs": [
        {"name": outputs[0].name, "datatype": "FP32", "shape": y.shape, "parameters": {"binary_data_size": len(data)}}]}).encode()
    return web.Response(body=text + data, headers={"Inference-Header-Content-Length": str(len(text))}, content_type="application/octet-stream")


class Service(rpc.GRPCInferenceServiceServicer):
    async def ServerLive(self, q, context): return pb.ServerLiveResponse(live=True)
    async def ServerReady(self, q, context): return pb.ServerReadyResponse(ready=True)
    async def ModelReady(self, q, context): return pb.ModelReadyResponse(ready=True)
    async def ServerMetadata(self, q, context): return pb.ServerMetadataResponse(name="python", version="1")

    async def ModelMetadata(self, q, context):
        return pb.ModelMetadataResponse(**{**about, **{k: [pb.ModelMetadataResponse.TensorMetadata(**p) for p in about[k]] for k in ("inputs", "outputs")}})

    async def ModelInfer(self, q, context):
        y = await asyncio.get_running_loop().run_in_executor(pool, compute, list(q.inputs[0].shape), q.raw_input_contents[0])
        out = pb.ModelInferResponse(model_name=name, model_version="1", id=q.id, raw_output_contents=[y.tobytes()])
        out.outputs.add(name=outputs[0].name, datatype="FP32", shape=y.shape)
        return out


async def main():
    app = web.Application(client_max_size=1 << 30)
    app.router.add_post("/v2/models/model/infer", infer)
    app.router.add_post("/v2/models/model/versions/1/infer", infer)
    for ready in ("/v2/health/live", "/v2/health/ready", "/v2/models/model/ready", "/v2/models/model/versions/1/ready"):
        app.router.add_get(ready, lambda r: web.Response())
    app.router.add_get("/v2", lambda r: web.json_response({"name": "python", "version": "1", "extensions": ["binary_tensor_data"]}))
    for metadata in ("/v2/models/model", "/v2/models/model/versions/1"):
        app.router.add_get(metadata, lambda r: web.json_response(about))
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", http_port).start()
    server = grpc.aio.server(options=[("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)])
    rpc.add_GRPCInferenceServiceServicer_to_server(Service(), server)
    server.add_insecure_port(f"127.0.0.1:{grpc_port}")
    await server.start()
    print("ready", flush=True)
    await server.wait_for_termination()


asyncio.run(main())
