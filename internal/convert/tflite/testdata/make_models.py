"""Makes the .tflite files of this folder and what TensorFlow Lite answers to made inputs (NAME.json).

    pip install tensorflow-cpu numpy && python make_models.py

One small network with the operators of MobileNet (convolutions of stride 2 with SAME padding, depthwise and dilated ones,
ReLU6, residual additions, resizing, pooling, softmax) in the forms that TensorFlow's converter writes: float32, float16 weights,
integer weights (hybrid), uint8 and int8 (per channel), int16 activations. Answers are those of the reference kernels.
"""
import json
import os
import tempfile
import numpy as np
import tensorflow as tf

HERE = os.path.dirname(os.path.abspath(__file__))
tf.keras.utils.set_random_seed(7)
L = tf.keras.layers


def net():
    x = inp = L.Input((17, 18, 3), batch_size=1, name="image")
    x = L.Conv2D(8, 3, 2, padding="same", use_bias=True)(x)
    x = L.ReLU(6)(x)
    y = L.DepthwiseConv2D(3, padding="same")(x)
    y = L.ReLU(6)(y)
    y = L.Conv2D(8, 1)(y)
    x = L.Add()([x, y])
    x = L.DepthwiseConv2D(3, dilation_rate=2, padding="same")(x)
    x = L.Conv2D(16, 3, 2, padding="same", activation="relu")(x)
    y = L.UpSampling2D(2, interpolation="bilinear")(L.AveragePooling2D(2, 1, padding="same")(x))
    y = L.MaxPooling2D(2)(y)
    x = L.Concatenate()([x, y])
    x = L.GlobalAveragePooling2D()(x)
    x = L.Dense(10)(x)
    return tf.keras.Model(inp, L.Softmax(name="scores")(x))


def picture(n):
    """Bytes that the test makes, too."""
    return ((np.arange(17 * 18 * 3) * (7 + n) + n * 31) % 256).reshape(1, 17, 18, 3)


model = net()


def convert(name, precision):
    c = tf.lite.TFLiteConverter.from_keras_model(model)
    if precision != "float32":
        c.optimizations = [tf.lite.Optimize.DEFAULT]
    if precision == "float16":
        c.target_spec.supported_types = [tf.float16]
    if precision in ("uint8", "int8", "int16"):
        c.representative_dataset = lambda: ([(picture(n) / 255).astype(np.float32)] for n in range(32))
        c.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
        kind = getattr(tf, precision)
        if precision == "int16":
            c.target_spec.supported_ops = [tf.lite.OpsSet.EXPERIMENTAL_TFLITE_BUILTINS_ACTIVATIONS_INT16_WEIGHTS_INT8]
        c.inference_input_type = c.inference_output_type = kind
    content = c.convert()
    with open(os.path.join(HERE, name + ".tflite"), "wb") as f:
        f.write(content)
    answer(name, content, [[picture(n)] for n in range(4)])


def answer(name, content, inputs):
    run = tf.lite.Interpreter(model_content=content, experimental_op_resolver_type=tf.lite.experimental.OpResolverType.BUILTIN_REF)
    run.allocate_tensors()
    answers = []
    for values in inputs:
        for i, v in zip(run.get_input_details(), values):
            if i["dtype"] == np.float32 and v.dtype != np.float32:
                v = v / 255
            elif i["dtype"] == np.int8:
                v = v - 128
            elif i["dtype"] == np.int16:
                v = v * 128
            run.set_tensor(i["index"], v.astype(i["dtype"]))
        run.invoke()
        answers.append([run.get_tensor(o["index"]).ravel().tolist() for o in run.get_output_details()])
    with open(os.path.join(HERE, name + ".tflite"), "wb") as f:
        f.write(content)
    with open(os.path.join(HERE, name + ".json"), "w") as f:
        json.dump({"tensorflow": tf.__version__, "inputs": [i["name"] for i in run.get_input_details()],
                   "outputs": [o["name"] for o in run.get_output_details()], "answers": answers}, f)


def lookup(name):
    """The embeddings of MobileBERT: rows of a table, one-hot vectors, and their product with a table, which becomes a lookup."""
    table, other = tf.random.normal((9, 4)), tf.random.normal((8, 5))

    @tf.function(input_signature=[tf.TensorSpec([6], tf.int32, "ids")])
    def f(ids):
        return tf.concat([tf.gather(table, ids), tf.one_hot(ids, 4), tf.matmul(tf.one_hot(ids, 8), other)], 1)

    content = tf.lite.TFLiteConverter.from_concrete_functions([f.get_concrete_function()]).convert()
    answer(name, content, [[picture(n).ravel()[:6] % 8] for n in range(4)])


def detector(name, regular):
    """The end of the SSDs: the custom operator, as the Object Detection API exports it."""
    attributes = {"max_detections": "i: 10", "max_classes_per_detection": "i: 1", "use_regular_nms": "b: " + str(regular).lower(),
                  "detections_per_class": "i: 5", "nms_score_threshold": "f: 0.3", "nms_iou_threshold": "f: 0.5",
                  "y_scale": "f: 10.0", "x_scale": "f: 10.0", "h_scale": "f: 5.0", "w_scale": "f: 5.0", "num_classes": "i: 3"}
    implements = 'name: "TFLite_Detection_PostProcess" ' + " ".join(
        'attr { key: "%s" value { %s } }' % kv for kv in attributes.items())
    rows = np.stack(np.meshgrid(np.linspace(.1, .9, 5), np.linspace(.1, .9, 5)), -1).reshape(-1, 2)
    anchors = np.concatenate([rows, np.full((25, 2), .3)], 1).astype(np.float32)

    @tf.function(experimental_implements=implements)
    def ends(boxes, scores, anchors):
        return tf.zeros((1, 10, 4)), tf.zeros((1, 10)), tf.zeros((1, 10)), tf.zeros((1,))

    module = tf.Module()

    @tf.function(input_signature=[tf.TensorSpec((1, 25, 4), name="boxes"), tf.TensorSpec((1, 25, 4), name="scores")])
    def ssd(boxes, scores):
        parts = ends(boxes * 4 - 2, scores, tf.constant(anchors))
        return dict(zip(("detection_boxes", "detection_classes", "detection_scores", "num_detections"), parts))

    module.ssd = ssd
    with tempfile.TemporaryDirectory() as folder:
        tf.saved_model.save(module, folder, signatures=ssd.get_concrete_function())
        c = tf.lite.TFLiteConverter.from_saved_model(folder)
        c.allow_custom_ops = True
        content = c.convert()
    parts = lambda n: [picture(n).ravel()[:100].reshape(1, 25, 4), picture(n + 8).ravel()[100:200].reshape(1, 25, 4)]
    answer(name, content, [parts(n) for n in range(4)] + [[parts(0)[0], np.zeros((1, 25, 4), np.int64)]])


def sparse():
    """Weights with few elements that are not 0, stored as these: MediaPipe's sparse models have such ones."""
    inp = L.Input((17, 18, 3), batch_size=1, name="image")
    x = L.Conv2D(16, 1, 6, name="first")(inp)
    x = L.Conv2D(16, 1, name="second")(x)
    net = tf.keras.Model(inp, x)
    for layer in net.layers[1:]:
        w, b = layer.get_weights()
        layer.set_weights([w * (np.random.default_rng(1).random(w.shape) < .15), b + .1])
    c = tf.lite.TFLiteConverter.from_keras_model(net)
    c.optimizations = [tf.lite.Optimize.EXPERIMENTAL_SPARSITY]
    content = c.convert()
    answer("sparse", content, [[picture(n)] for n in range(2)])


sparse()
detector("detections", False)
detector("detections_per_class", True)
for precision in ("float32", "float16", "hybrid", "uint8", "int8", "int16"):
    convert(precision, precision)
lookup("lookup")
