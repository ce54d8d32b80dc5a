"""A peer of the Open Inference Protocol that has nothing from this project but inference.proto.

    peer.py client ADDRESS   asks a server to double x FP32[? 4] of model m, in all ways
    peer.py server           is such a server, typed and raw; prints its port

inference_pb2 is what protoc makes of inference.proto; grpc is Debian's python3-grpcio.
"""
import concurrent.futures, struct, sys
import grpc
import inference_pb2 as pb

SERVICE = "/inference.GRPCInferenceService/"


def call(channel, method, request, answer, stream=False):
    make = channel.stream_stream if stream else channel.unary_unary
    return make(SERVICE + method, request_serializer=type(request).SerializeToString, response_deserializer=answer.FromString)


def request(values, typed):
    r = pb.ModelInferRequest(model_name="m", id="q")
    t = r.inputs.add(name="x", datatype="FP32", shape=[len(values) // 4, 4])
    if typed:
        t.contents.fp32_contents.extend(values)
    else:
        r.raw_input_contents.append(struct.pack("<%df" % len(values), *values))
    r.parameters["priority"].int64_param = 1
    return r


def check(response, values):
    assert response.id == "q" and response.model_name == "m", response
    got = struct.unpack("<%df" % len(values), response.raw_output_contents[0])
    assert list(got) == [2 * v for v in values], got


def client(address):
    with grpc.insecure_channel(address) as c:
        assert call(c, "ServerLive", pb.ServerLiveRequest(), pb.ServerLiveResponse)(pb.ServerLiveRequest()).live
        assert call(c, "ModelReady", pb.ModelReadyRequest(), pb.ModelReadyResponse)(pb.ModelReadyRequest(name="m")).ready
        m = call(c, "ModelMetadata", pb.ModelMetadataRequest(), pb.ModelMetadataResponse)(pb.ModelMetadataRequest(name="m"))
        assert m.inputs[0].name == "x" and list(m.inputs[0].shape) == [-1, 4], m
        values = [1.5, -2, 3, 4, 5, 6, 7, 8]
        infer = call(c, "ModelInfer", request(values, False), pb.ModelInferResponse)
        for typed in (False, True):
            check(infer(request(values, typed)), values)
        stream = call(c, "ModelStreamInfer", request(values, False), pb.ModelStreamInferResponse, stream=True)
        answers = list(stream(iter([request(values, t) for t in (False, True, False)])))
        assert len(answers) == 3, answers
        for a in answers:
            check(a.infer_response, values)
        try:
            infer(pb.ModelInferRequest(model_name="other"))
            raise AssertionError("a model that is not there answers")
        except grpc.RpcError as e:
            assert e.code() == grpc.StatusCode.NOT_FOUND, e
    print("right")


class Handler(grpc.GenericRpcHandler):
    def service(self, details):
        def serve(request, f):
            return grpc.unary_unary_rpc_method_handler(lambda r, _: f(r), request_deserializer=request.FromString,
                                                       response_serializer=lambda m: m.SerializeToString())
        tensor = pb.ModelMetadataResponse.TensorMetadata
        return {
            "ServerMetadata": lambda: serve(pb.ServerMetadataRequest, lambda r: pb.ServerMetadataResponse(name="peer", version="1")),
            "ModelReady": lambda: serve(pb.ModelReadyRequest, lambda r: pb.ModelReadyResponse(ready=True)),
            "ModelMetadata": lambda: serve(pb.ModelMetadataRequest, lambda r: pb.ModelMetadataResponse(
                name="m", versions=["1"], inputs=[tensor(name="x", datatype="FP32", shape=[-1, 4])], outputs=[tensor(name="y", datatype="FP32", shape=[-1, 4])])),
            "ModelInfer": lambda: serve(pb.ModelInferRequest, self.infer),
        }.get(details.method[len(SERVICE):], lambda: None)()

    def infer(self, r):
        data = r.raw_input_contents[0]
        values = [2 * v for v in struct.unpack("<%df" % (len(data) // 4), data)]
        out = pb.ModelInferResponse(model_name="m", model_version="1", id=r.id)
        t = out.outputs.add(name="y", datatype="FP32", shape=r.inputs[0].shape)
        if len(values) > 4:  # in the other form
            t.contents.fp32_contents.extend(values)
        else:
            out.raw_output_contents.append(struct.pack("<%df" % len(values), *values))
        return out


def server():
    s = grpc.server(concurrent.futures.ThreadPoolExecutor(4))
    s.add_generic_rpc_handlers((Handler(),))
    print(s.add_insecure_port("127.0.0.1:0"), flush=True)
    s.start()
    s.wait_for_termination()


if __name__ == "__main__":
    client(sys.argv[2]) if sys.argv[1] == "client" else server()
