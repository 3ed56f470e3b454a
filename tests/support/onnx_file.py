"""Files of ONNX from NumPy arrays, written field by field: tests that need no python3-onnx."""
import struct

import numpy as np

ELEMENTS = {"f4": 1, "u1": 2, "i1": 3, "u2": 4, "i2": 5, "i4": 6, "i8": 7, "b1": 9, "f2": 10, "f8": 11, "u4": 12, "u8": 13}


def element(dtype):
    return ELEMENTS[np.dtype(dtype).str[1:]]


def varint(n):
    n &= (1 << 64) - 1
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes(out + bytes([n]))


def number(field, n):
    return varint(field << 3) + varint(int(n))


def text(field, value):
    value = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(value)) + value


def texts(field, values):
    return b"".join(text(field, v) for v in values)


def tensor(array, name=""):
    array = np.asarray(array)
    return b"".join(number(1, d) for d in array.shape) + number(2, element(array.dtype)) + text(8, name) + text(9, array.tobytes())


def value_info(name, dtype, shape):
    """Extents are numbers, names, or None; a shape that is None is of any rank."""
    dims = b"" if shape is None else text(2, b"".join(
        text(1, number(1, d) if isinstance(d, (int, np.integer)) else text(2, d) if d else b"") for d in shape))
    return text(1, name) + text(2, text(1, number(1, element(dtype)) + dims))


def attribute(name, value):
    """An int, a float, a str, a list of such values, an array, or a graph's bytes."""
    head = text(1, name)
    if isinstance(value, bytes):
        return head + text(6, value) + number(20, 5)
    if isinstance(value, np.ndarray):
        return head + text(5, tensor(value)) + number(20, 4)
    if isinstance(value, (int, np.integer)):
        return head + number(3, value) + number(20, 2)
    if isinstance(value, float):
        return head + varint(2 << 3 | 5) + struct.pack("<f", value) + number(20, 1)
    if isinstance(value, str):
        return head + text(4, value) + number(20, 3)
    if all(isinstance(v, (int, np.integer)) for v in value):
        return head + b"".join(number(8, v) for v in value) + number(20, 7)
    if all(isinstance(v, str) for v in value):
        return head + texts(9, value) + number(20, 8)
    return head + b"".join(varint(7 << 3 | 5) + struct.pack("<f", v) for v in value) + number(20, 6)


def node(op, inputs, outputs, domain="", name="", **attributes):
    """An input that is None is absent."""
    return (texts(1, [i or "" for i in inputs]) + texts(2, outputs) + text(3, name) + text(4, op) +
            b"".join(text(5, attribute(k, v)) for k, v in attributes.items()) + (text(7, domain) if domain else b""))


def graph(nodes, inputs, outputs, known=(), name="g"):
    """`inputs`, `outputs`: of value_info; `known`: pairs of a name and an array."""
    return (texts(1, nodes) + text(2, name) + b"".join(text(5, tensor(a, n)) for n, a in known) + texts(11, inputs) + texts(12, outputs))


def model(graph_bytes, opset=17, domains=(), functions=()):
    opsets = [text(1, d) + number(2, v) for d, v in [("", opset), *domains]]
    return number(1, 8) + text(7, graph_bytes) + texts(8, opsets) + texts(25, functions)
