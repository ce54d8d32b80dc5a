"""A runtime of MLServer for ONNX files, which it has none for: a foreign server of the Open Inference Protocol.

    pip install mlserver==1.7.1 onnxruntime==1.24.3
    mkdir mobilenet && cp mlserver_onnx.py mobilenet && cat >mobilenet/model-settings.json <<EOF
    {"name": "mobilenet", "implementation": "mlserver_onnx.ONNX", "parameters": {"uri": "/path/of/mobilenet.onnx"}}
    EOF
    PYTHONPATH=mobilenet mlserver start mobilenet
    mlperf run --model mobilenet --scenario offline --backend oip --endpoint http://127.0.0.1:8080
    mlperf run --model mobilenet --scenario offline --backend oip --endpoint grpc://127.0.0.1:8081
"""
import onnxruntime
from mlserver import MLModel
from mlserver.codecs import NumpyCodec
from mlserver.types import InferenceResponse, MetadataTensor

kinds = {"tensor(float)": "FP32", "tensor(int64)": "INT64", "tensor(int32)": "INT32"}


class ONNX(MLModel):
    async def load(self):
        self.session = onnxruntime.InferenceSession(self.settings.parameters.uri, providers=["CPUExecutionProvider"])

        def about(ends):
            return [MetadataTensor(name=e.name, datatype=kinds[e.type], shape=[d if isinstance(d, int) else -1 for d in e.shape]) for e in ends]
        self.inputs, self.outputs = about(self.session.get_inputs()), about(self.session.get_outputs())
        return True

    async def predict(self, request):
        names = [o.name for o in request.outputs] if request.outputs else [o.name for o in self.session.get_outputs()]
        found = self.session.run(names, {i.name: NumpyCodec.decode_input(i) for i in request.inputs})
        return InferenceResponse(model_name=self.name, outputs=[NumpyCodec.encode_output(n, x) for n, x in zip(names, found)])
