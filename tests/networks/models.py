# SPDX-License-Identifier: Apache-2.0
"""Networks that tests compare with ONNX Runtime, by name, each with inputs that are always the same.

    mobilenet_v1, mobilenet_v2-int8, bert-2, ...   made by examples/networks/make.py
    light_resnet50, ...                            from onnx's tests; random weights replace their constant ones
    shipped_resnet50, ...                          the same without change, with the output in onnx
    bytes, bytes_3                                 small networks of ONNX Runtime's operators on bytes, once or three times
    ocr_det, ocr_rec, ocr_cls                      trained PP-OCRv4 networks of the package rapidocr-onnxruntime
"""

import pathlib
import subprocess
import sys
import tempfile
import zlib

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

LIGHT = "bvlc_alexnet densenet121 inception_v1 inception_v2 resnet50 shufflenet squeezenet vgg19 zfnet512".split()
OCR = {
    "ocr_det": ("ch_PP-OCRv4_det_infer", (1, 3, 320, 320)),
    "ocr_rec": ("ch_PP-OCRv4_rec_infer", (1, 3, 48, 320)),
    "ocr_cls": ("ch_ppocr_mobile_v2.0_cls_infer", (1, 3, 48, 192)),
}
SOURCE = pathlib.Path(__file__).resolve().parents[2]
MODELS = SOURCE / ".venv-networks/rapidocr-onnxruntime/rapidocr_onnxruntime/models"


def random_of(name):
    return numpy.random.default_rng(zlib.crc32(name.encode()))


def inputs_of(model, random):
    constants = {w.name for w in model.graph.initializer}
    feeds = {}
    for value in model.graph.input:
        if value.name in constants:
            continue
        kind = value.type.tensor_type
        shape = [d.dim_value for d in kind.shape.dim]
        if kind.elem_type == TensorProto.FLOAT:
            feeds[value.name] = random.uniform(-1, 1, shape).astype(numpy.float32)
        elif "mask" in value.name:
            feeds[value.name] = numpy.ones(shape, numpy.int64)
        else:
            feeds[value.name] = random.integers(0, 2, shape).astype(numpy.int64)
    return feeds


# ---- onnx's light networks ----


def weights_of(model, name, shape, random):
    """Random values for a constant, scaled by its node such that values in the network neither vanish nor
    grow."""
    readers = [(n, list(n.input).index(name)) for n in model.graph.node if name in n.input]
    node, place = readers[0]
    if node.op_type in ("Unsqueeze", "Reshape"):
        return weights_of(model, node.output[0], shape, random)
    normal = lambda deviation: random.normal(0, deviation, shape)
    if node.op_type == "Conv" and place == 1:
        return normal((2 / numpy.prod(shape[1:])) ** 0.5)
    if node.op_type == "Gemm" and place == 1:
        # All have transB. Weights of classes, which precede a softmax, are small; otherwise one result would be 1.
        return normal((2 / shape[1]) ** 0.5 / (8 if shape[0] == 1000 else 1))
    if (node.op_type == "BatchNormalization" and place in (1, 4)) or node.op_type == "Mul":
        return random.uniform(0.5, 1.5, shape)
    return normal(0.1)


def light(name, shipped):
    data = pathlib.Path(onnx.__file__).parent / "backend/test/data/light"
    model = onnx.load(str(data / f"light_{name}.onnx"))
    model.ir_version = 4  # with this version constants need not be inputs
    random = random_of(name)
    if shipped:
        model_inputs = {k: (numpy.arange(v.size, dtype=numpy.float32) / v.size).reshape(v.shape) for k, v in inputs_of(model, random).items()}
        expected = onnx.load_tensor(str(data / f"light_{name}_output_0.pb"))
        return model, model_inputs, [numpy_helper.to_array(expected)]
    shapes = {w.name: numpy_helper.to_array(w) for w in model.graph.initializer}
    kept = []
    for node in model.graph.node:
        if node.op_type != "ConstantOfShape":
            kept.append(node)
            continue
        values = weights_of(model, node.output[0], tuple(shapes[node.input[0]]), random)
        model.graph.initializer.append(numpy_helper.from_array(values.astype(numpy.float32), node.output[0]))
    del model.graph.node[:]
    model.graph.node.extend(kept)
    return model, inputs_of(model, random), None


# ---- operators on bytes ----


def operators_on_bytes(draws):
    """Each of ONNX Runtime's operators on bytes so many times, of both types, with various scales and zero
    points."""
    random = random_of("bytes")
    nodes, constants, outputs, feeds = [], [], [], {}

    def constant(value):
        name = f"c{len(constants)}"
        constants.append(numpy_helper.from_array(numpy.asarray(value), name))
        return name

    def scale():
        return constant(numpy.float32(random.uniform(0.02, 0.1)))

    def node(op, kind, inputs, domain="com.microsoft", **attributes):
        nodes.append(helper.make_node(op, inputs, [f"y{len(nodes)}"], domain=domain, **attributes))
        outputs.append(onnx.ValueInfoProto(name=f"y{len(nodes) - 1}"))
        outputs[-1].type.tensor_type.elem_type = helper.np_dtype_to_tensor_dtype(numpy.dtype(kind))

    for kind in ("uint8", "int8") * draws:
        least = numpy.iinfo(kind).min
        whole = lambda *shape: random.integers(least, least + 256, shape).astype(kind)
        pair = lambda: [scale(), constant(numpy.array(least + random.integers(90, 166), kind))]
        a, b, flat = f"a{len(feeds)}", f"b{len(feeds)}", f"f{len(feeds)}"
        feeds |= {a: whole(1, 16, 9, 13), b: whole(1, 16, 9, 13), flat: whole(6, 40)}
        rows, columns = f"r{len(feeds)}", f"s{len(feeds)}"
        every = numpy.broadcast_to(numpy.arange(least, least + 256).astype(kind), (256, 256))
        feeds |= {rows: every.T.copy(), columns: every.copy()}
        for op in ("QLinearAdd", "QLinearAdd", "QLinearAdd", "QLinearMul"):
            node(op, kind, [rows, *pair(), columns, *pair(), *pair()])
        for op, more in (("QLinearSigmoid", {}), ("QLinearLeakyRelu", {"alpha": 0.1})):
            node(op, kind, [a, *pair(), *([constant(numpy.float32(1 / 256)), constant(numpy.array(least, kind))] if not more else pair())], **more)
        node("QLinearGlobalAveragePool", kind, [a, *pair(), *pair()])
        for include in (0, 1):  # with equal scales, so that means can be ties of two bytes, for which an odd zero point matters
            (same, zero), odd = pair(), constant(numpy.array(least + 101, kind))
            node("QLinearAveragePool", kind, [a, same, zero, same, odd], kernel_shape=[3, 3], pads=[1] * 4, strides=[2, 2],
                 count_include_pad=include)
        # Windows of four; of 25 and fewer in many forms; with different strides along each axis; with different scales.
        node("QLinearAveragePool", kind, [a, same, zero, same, odd], kernel_shape=[2, 2])
        node("QLinearAveragePool", kind, [a, same, zero, same, odd], kernel_shape=[5, 5], pads=[2] * 4)
        node("QLinearAveragePool", kind, [a, same, zero, same, zero], kernel_shape=[3, 2], pads=[1, 0, 0, 1], strides=[1, 3])
        node("QLinearAveragePool", kind, [a, *pair(), *pair()], kernel_shape=[3, 3], pads=[1] * 4)
        node("QLinearConcat", kind, [*pair(), a, *pair(), b, *pair()], axis=1)
        node("QLinearSoftmax", kind, [flat, *pair(), constant(numpy.float32(random.uniform(0.003, 0.006))), constant(numpy.array(least, kind))],
             axis=-1, opset=13)
        weights = constant(random.integers(-60, 60, (24, 16, 3, 3)).astype(numpy.int8))
        zero = constant(numpy.zeros(24, numpy.int8))
        scales = constant(random.uniform(1e-3, 5e-3, 24).astype(numpy.float32))
        bias = constant(random.integers(-999, 999, 24).astype(numpy.int32))
        node("QLinearConv", kind, [a, *pair(), weights, scales, zero, *pair(), bias], domain="", pads=[1] * 4)
        right = constant(random.integers(-60, 60, (24, 40)).astype(numpy.int8))
        node("QGemm", kind, [flat, *pair(), right, scales, zero, bias, *pair()], transB=1)
    graph = helper.make_graph(nodes, "bytes", [
        helper.make_tensor_value_info(k, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape) for k, v in feeds.items()], outputs, constants)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8), feeds, None


# ---- other networks ----


def halve_weights(model):
    """Gives the weights of products of bytes 7 bits: without VNNI ONNX Runtime saturates sums of two products at 16 bits."""
    factors = {n.input[1] for n in model.graph.node if n.op_type == "MatMul"}
    weights = {n.input[0] for n in model.graph.node if n.op_type == "DequantizeLinear" and n.output[0] in factors}
    for w in model.graph.initializer:
        if w.name in weights and w.data_type == TensorProto.INT8:
            w.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(w) >> 1, w.name))


def made(name):
    stem, int8 = name.removesuffix("-int8"), name.endswith("-int8")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, SOURCE / "examples/networks/make.py", stem, f"--folder={folder}", *(["--int8"] if int8 else [])],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        model = onnx.load(f"{folder}/{name}.onnx")
    halve_weights(model)
    return model, inputs_of(model, random_of(stem)), None


def ocr(name):
    stem, shape = OCR[name]
    model = onnx.load(str(MODELS / f"{stem}.onnx"))
    value = model.graph.input[0]
    value.CopyFrom(helper.make_tensor_value_info(value.name, TensorProto.FLOAT, shape))
    return model, inputs_of(model, random_of(name)), None


def network(name):
    """Returns the model, its inputs by name, and outputs that are known without another program, or None."""
    if name in OCR:
        return ocr(name)
    if name in ("bytes", "bytes_3"):
        return operators_on_bytes(1 if name == "bytes" else 3)
    kind, _, rest = name.partition("_")
    if kind in ("light", "shipped") and rest in LIGHT:
        return light(rest, kind == "shipped")
    return made(name)
