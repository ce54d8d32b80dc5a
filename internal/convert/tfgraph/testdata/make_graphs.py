"""Makes the frozen graphs of this folder and what TensorFlow answers to made inputs (NAME.json).

    pip install tensorflow-cpu numpy && python make_graphs.py

network: the operators of MobileNet v1 and ResNet-50 v1 as TensorFlow 1 writes them. detector: a picture decoder and a
suppression of boxes by class in loops over the batch, as the Object Detection API has them. branches: conditions and slices.
"""
import json
import os
import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
tf.disable_control_flow_v2()
HERE = os.path.dirname(os.path.abspath(__file__))
random = np.random.default_rng(5)



def variable(name, *shape):
    with tf.variable_scope(name):
        return tf.get_variable("v", initializer=random.normal(0, .4, shape).astype(np.float32), use_resource=False)


def norm(name, x):
    c = int(x.shape[-1])
    y, *_ = tf.nn.fused_batch_norm(x, variable(name + "_gamma", c), variable(name + "_beta", c), variable(name + "_mean", c),
                                   tf.abs(variable(name + "_variance", c)) + .5, epsilon=.001, is_training=False)
    return y


def network():
    x = tf.placeholder(tf.float32, [None, 9, 10, 3], "input")
    x = tf.nn.relu6(norm("a", tf.nn.conv2d(x, variable("w1", 3, 3, 3, 8), 2, "SAME")))
    y = tf.nn.depthwise_conv2d_native(x, variable("w2", 3, 3, 8, 1), [1, 1, 1, 1], "SAME")
    y = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(y, variable("w3", 1, 1, 8, 8), 1, "VALID"), variable("b3", 8)))
    x = x + y * tf.rsqrt(tf.abs(variable("scale", 8)) + 1)
    x = tf.pad(x, [[0, 0], [1, 1], [1, 2], [0, 0]])
    x = tf.concat([tf.nn.max_pool(x, 3, 2, "SAME"), tf.nn.avg_pool(x, 3, 2, "SAME")], 3)
    x = tf.image.resize_bilinear(x, [5, 6])
    x = tf.reduce_mean(x, [1, 2], keepdims=True)
    x = tf.squeeze(tf.nn.conv2d(x, variable("w4", 1, 1, 16, 10), 1, "SAME"), [1, 2])
    scores = tf.nn.softmax(tf.reshape(x, [-1, 10]))
    scores = tf.reshape(scores, tf.shape(x), name="scores")
    tf.identity(scores, "probabilities")
    tf.argmax(scores, 1, name="label")
    return [picture(n, (1 + n, 9, 10, 3)) / 255 for n in range(2)], ["probabilities", "label"]


def detector():
    image = tf.placeholder(tf.uint8, [None, None, None, 3], "image_tensor")

    def decode(one):
        return tf.squeeze(tf.image.resize_bilinear(tf.expand_dims(one, 0), [8, 8]), [0]), tf.shape(one)

    x, shapes = tf.map_fn(decode, tf.to_float(image), dtype=(tf.float32, tf.int32))
    x = x * (2 / 255) - 1
    x = tf.reshape(tf.nn.conv2d(x, variable("w", 2, 2, 3, 7), 2, "SAME"), [tf.shape(x)[0], -1, 7])
    corner, size = tf.sigmoid(x[:, :, :2]), tf.exp(x[:, :, 2:4] * .5) * .3
    boxes, scores = tf.concat([corner, corner + size], 2), tf.sigmoid(x[..., 4:])

    def suppress(parts):
        boxes, scores, shape = parts
        kept_boxes, kept_scores, kept_classes = [], [], []
        for c in range(3):
            of_class = tf.reshape(tf.slice(scores, [0, c], tf.stack([tf.shape(scores)[0], 1])), [-1])
            kept = tf.image.non_max_suppression(boxes, of_class, tf.minimum(4, tf.shape(boxes)[0]), .3, .45)
            kept_boxes.append(tf.gather(boxes, kept))
            kept_scores.append(tf.gather(of_class, kept))
            kept_classes.append(tf.zeros_like(kept_scores[-1]) + c)
        scores, order = tf.nn.top_k(tf.concat(kept_scores, 0), tf.reduce_sum([tf.shape(k)[0] for k in kept_scores]))
        scores, order = scores[:5], order[:5]
        n = tf.shape(scores)[0]
        fill = lambda v, rank: tf.pad(v, tf.concat([[[0, 5 - n]], tf.zeros([rank - 1, 2], tf.int32)], 0))
        wide = tf.to_float(shape[1] > shape[0])
        return (fill(tf.gather(tf.concat(kept_boxes, 0), order), 2), fill(scores, 1), fill(tf.gather(tf.concat(kept_classes, 0), order), 1) + wide, n)

    parts = tf.map_fn(suppress, (boxes, scores, shapes), dtype=(tf.float32, tf.float32, tf.float32, tf.int32))
    for name, part in zip(("detection_boxes", "detection_scores", "detection_classes", "num_detections"), parts):
        tf.identity(tf.to_float(part), name)
    names = ["detection_boxes", "detection_scores", "detection_classes", "num_detections"]
    return [picture(n, (1 + n, 12 + n, 16 - 2 * n, 3)) for n in range(3)], names


def branches():
    x = tf.placeholder(tf.float32, [None, 6], "x")
    many = tf.shape(x)[0] > 2
    y = tf.cond(many, lambda: tf.reduce_sum(x, 0, keepdims=True) - 1, lambda: tf.cond(x[0, 0] > .5, lambda: x * 2, lambda: tf.constant([[7.]]) + x))
    total = tf.while_loop(lambda i, t: tf.less(i, tf.shape(x)[0]), lambda i, t: (i + 1, t * .5 + x[i]), (tf.constant(0), tf.zeros([6])))[1]
    tf.identity(y, "chosen")
    tf.identity(total, "total")
    tf.identity(tf.stack([x[:, ::-2][:, 0], x[..., 1], tf.reduce_max(tf.where(x > .3, x, -x), 1)], 1), "slices")
    return [picture(n, (1 + n, 6)) / 255 for n in range(4)], ["chosen", "total", "slices"]


def picture(n, shape):
    """Bytes that the test makes, too."""
    return ((np.arange(np.prod(shape)) * (7 + 2 * n) + n * 31) % 256).reshape(shape)


for make in (network, detector, branches):
    tf.reset_default_graph()
    inputs, names = make()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        frozen = tf.graph_util.convert_variables_to_constants(session, tf.get_default_graph().as_graph_def(), names)
        outputs = [name + ":0" for name in names]
        into = [n.name + ":0" for n in frozen.node if n.op == "Placeholder"][0]
        answers = [[a.ravel().tolist() for a in session.run(outputs, {into: v})] for v in inputs]
    with open(os.path.join(HERE, make.__name__ + ".pb"), "wb") as f:
        f.write(frozen.SerializeToString())
    with open(os.path.join(HERE, make.__name__ + ".json"), "w") as f:
        json.dump({"tensorflow": tf.__version__, "input": into, "shapes": [v.shape for v in inputs], "outputs": outputs, "answers": answers}, f)
