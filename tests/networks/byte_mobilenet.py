# SPDX-License-Identifier: Apache-2.0
"""Writes MobileNet_v1 0.25 for images of 96 x 96 on bytes, in the form of ONNX Runtime's quantizer
(QLinearConv, scales of weights per channel), with seeded weights and without the softmax, whose result for
random weights is nearly always the same.

    byte_mobilenet.py >FILE.onnx
"""

import math
import random
import sys

from onnx_writer import INT8, INT32, UINT8, model, node, tensor, value

# Channels and stride of each pair of a depthwise and a 1 x 1 convolution.
PAIRS = ((16, 1), (32, 2), (32, 1), (64, 2), (64, 1), (128, 2), *[(128, 1)] * 5, (256, 2), (256, 1))
CLASSES = 1000
WEIGHT = 127 / math.sqrt(3)  # root mean square of the random weights
SPREAD = 64  # standard deviation of a layer's bytes, the positive half of which is kept


class Layers:
    """Nodes and constants of a network under construction. All values have one scale and the zero point 0, as
    after a relu, except signed ones."""

    def __init__(self):
        self.draw = random.Random(96)
        self.nodes = []
        self.tensors = [tensor("scale", [], [1 / 128]), tensor("zero", [], [0], UINT8), tensor("middle", [], [128], UINT8)]
        self.last, self.rms = "bytes", 256 / math.sqrt(12)

    def convolution(self, inputs, outputs, window, stride=1, group=1, zeros=("zero", "zero")):
        """Adds a convolution whose sums are scaled to bytes with the standard deviation SPREAD. `zeros`: zero
        points of input and output."""
        name = f"v{len(self.nodes)}"
        each = inputs // group * window * window
        spread = math.sqrt(each) * WEIGHT * self.rms
        self.tensors += [
            tensor(f"{name}_w", [outputs, inputs // group, window, window], [max(byte, 1) - 128 for byte in self.draw.randbytes(outputs * each)], INT8),
            tensor(f"{name}_ws", [outputs], [SPREAD / spread * self.draw.uniform(0.8, 1.2) for _ in range(outputs)]),
            tensor(f"{name}_wz", [outputs], [0] * outputs, INT8),
            tensor(f"{name}_b", [outputs], [int(self.draw.gauss(0, spread / 4)) for _ in range(outputs)], INT32),
        ]
        constants = ["scale", zeros[0], f"{name}_w", f"{name}_ws", f"{name}_wz", "scale", zeros[1], f"{name}_b"]
        self.nodes.append(node("QLinearConv", [self.last, *constants], [name], kernel_shape=[window, window], pads=[window // 2] * 4,
                               strides=[stride, stride], group=group))
        self.last, self.rms = name, SPREAD / math.sqrt(2)


def network(pairs=PAIRS):
    """Returns the model's bytes; fewer pairs make a short network. Inputs are -1 to 1, outputs the scores of
    all classes."""
    layers = Layers()
    layers.nodes.append(node("QuantizeLinear", ["image", "scale", "middle"], ["bytes"]))
    layers.convolution(3, 8, 3, stride=2, zeros=("middle", "zero"))
    channels = 8
    for outputs, stride in pairs:
        layers.convolution(channels, channels, 3, stride, group=channels)
        layers.convolution(channels, outputs, 1)
        channels = outputs
    pool = node("QLinearGlobalAveragePool", [layers.last, "scale", "zero", "scale", "zero"], ["pooled"], domain="com.microsoft", channels_last=0)
    layers.nodes.append(pool)
    layers.last = "pooled"
    layers.convolution(channels, CLASSES, 1, zeros=("zero", "middle"))
    layers.nodes += [node("DequantizeLinear", [layers.last, "scale", "middle"], ["real"]), node("Flatten", ["real"], ["scores"])]
    return model(layers.nodes, [value("image", [1, 3, 96, 96])], [value("scores", [1, CLASSES])], layers.tensors, domains=["com.microsoft"])


if __name__ == "__main__":
    sys.stdout.buffer.write(network())
