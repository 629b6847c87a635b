# SPDX-License-Identifier: Apache-2.0
"""Writes models of ONNX as bytes, without the package onnx: the wire format of protocol buffers, and the part
of the schema that tests need.

    model([node("Relu", ["x"], ["y"])], inputs=[value("x", [1, 3])], outputs=[value("y", [1, 3])])
"""

import ast
import struct

FLOAT, UINT8, INT8, UINT16, INT16, INT32, INT64, STRING, BOOL, FLOAT16, DOUBLE, UINT32, UINT64, BFLOAT16, UINT4, INT4 = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 16, 21, 22
FORMATS = {FLOAT: "f", DOUBLE: "d", UINT8: "B", INT8: "b", UINT16: "H", INT16: "h", INT32: "i", INT64: "q", BOOL: "B", FLOAT16: "e", UINT32: "I", UINT64: "Q", BFLOAT16: "H"}


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out) + bytes([value])


def number(field, value):
    return varint(field << 3) + varint(value)


def real(field, value):
    return varint(field << 3 | 5) + struct.pack("<f", value)


def text(field, value):
    value = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(value)) + value


def elements(kind, values):
    if kind in (UINT4, INT4):  # two in a byte, the first one in the lower half
        pairs = [*values, 0][:(len(values) + 1) // 2 * 2]
        return bytes(a & 15 | (b & 15) << 4 for a, b in zip(pairs[::2], pairs[1::2]))
    return struct.pack(f"<{len(values)}{FORMATS[kind]}", *values)


def tensor(name, shape, values, kind=FLOAT):
    """A TensorProto with its elements as bytes."""
    return b"".join(number(1, n) for n in shape) + number(2, kind) + text(8, name) + text(9, elements(kind, values))


def listed(name, shape, values, kind):
    """A TensorProto of an unsigned type with its elements as a list of numbers."""
    return (b"".join(number(1, n) for n in shape) + number(2, kind) + text(8, name)
            + text(5 if kind == UINT16 else 11, b"".join(varint(v) for v in values)))


def external(name, shape, location, kind=FLOAT, **entries):
    entries = {"location": location, **entries}
    data = b"".join(text(13, text(1, k) + text(2, str(v))) for k, v in entries.items())
    return b"".join(number(1, n) for n in shape) + number(2, kind) + text(8, name) + data + number(14, 1)


class Graph(bytes):
    """A graph that is an attribute's value."""


class Floats(list):
    """A list of numbers of f32."""


class Texts(list):
    """A list of texts."""


class Reference(str):
    """The name of an attribute of the function around the node, whose value an attribute takes."""


def attribute(name, value):
    if isinstance(value, Graph):
        return text(1, name) + text(6, value) + number(20, 5)
    if isinstance(value, Floats):
        return text(1, name) + b"".join(real(7, v) for v in value) + number(20, 6)
    if isinstance(value, Texts):
        return text(1, name) + b"".join(text(9, v) for v in value) + number(20, 8)
    if isinstance(value, Reference):
        return text(1, name) + text(21, value) + number(20, 1)
    if isinstance(value, bool) or isinstance(value, int):
        return text(1, name) + number(3, value) + number(20, 2)
    if isinstance(value, float):
        return text(1, name) + real(2, value) + number(20, 1)
    if isinstance(value, str):
        return text(1, name) + text(4, value) + number(20, 3)
    if isinstance(value, bytes):  # a tensor
        return text(1, name) + text(5, value) + number(20, 4)
    return text(1, name) + b"".join(number(8, n) for n in value) + number(20, 7)


def node(op, inputs, outputs, name="", domain="", overload="", **attributes):
    return (b"".join(text(1, n) for n in inputs) + b"".join(text(2, n) for n in outputs) + text(3, name or op.lower() + "_" + outputs[0]) + text(4, op)
            + b"".join(text(5, attribute(k, v)) for k, v in attributes.items()) + text(7, domain) + (text(8, overload) if overload else b""))


def value(name, shape, kind=FLOAT):
    """Name, type and shape of a tensor; a string as extent is the name of an open dimension."""
    dims = b"".join(text(1, number(1, n) if isinstance(n, int) else text(2, n)) for n in shape)
    return text(1, name) + text(2, text(1, number(1, kind) + text(2, dims)))


def graph(nodes, inputs=(), outputs=(), initializers=()):
    return (b"".join(text(1, n) for n in nodes) + text(2, "g") + b"".join(text(5, t) for t in initializers)
            + b"".join(text(11, v) for v in inputs) + b"".join(text(12, v) for v in outputs))


def function(domain, name, inputs, outputs, nodes, opset=17, defaults=None, overload="", domains=()):
    """A FunctionProto."""
    return (text(1, name) + b"".join(text(4, n) for n in inputs) + b"".join(text(5, n) for n in outputs) + b"".join(text(7, n) for n in nodes)
            + text(9, text(1, "") + number(2, opset)) + b"".join(text(9, text(1, d) + number(2, 1)) for d in domains) + text(10, domain)
            + b"".join(text(11, attribute(k, v)) for k, v in (defaults or {}).items()) + (text(13, overload) if overload else b""))


def model(nodes, inputs=(), outputs=(), initializers=(), opset=17, properties=None, domains=(), functions=()):
    return (number(1, 8) + text(7, graph(nodes, inputs, outputs, initializers)) + text(8, text(1, "") + number(2, opset))
            + b"".join(text(8, text(1, domain) + number(2, 1)) for domain in domains)
            + b"".join(text(14, text(1, k) + text(2, v)) for k, v in (properties or {}).items())
            + b"".join(text(25, f) for f in functions))


def npy(shape, values, kind=FLOAT):
    descr = {FLOAT: "<f4", DOUBLE: "<f8", UINT8: "|u1", INT8: "|i1", INT32: "<i4", INT64: "<i8", BOOL: "|b1", FLOAT16: "<f2", BFLOAT16: "<V2", UINT16: "<u2", UINT32: "<u4",
             UINT64: "<u8", INT16: "<i2", UINT4: "|u1", INT4: "|i1"}[kind]
    kind = {UINT4: UINT8, INT4: INT8}.get(kind, kind)
    head = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': ({''.join(f'{n}, ' for n in shape)}), }}".encode()
    head += b" " * (-(len(head) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + elements(kind, values)


def read_npy(path):
    """Kind of elements, shape and values of a file that npy() or uk wrote."""
    with open(path, "rb") as f:
        data = f.read()
    length = struct.unpack("<H", data[8:10])[0]
    head = ast.literal_eval(data[10 : 10 + length].decode())
    kind = {"<f4": FLOAT, "|u1": UINT8, "|i1": INT8, "<i4": INT32, "<i8": INT64, "|b1": BOOL}[head["descr"]]
    count = 1
    for n in head["shape"]:
        count *= n
    return kind, head["shape"], struct.unpack(f"<{count}{FORMATS[kind]}", data[10 + length :])
