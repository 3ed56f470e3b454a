"""The same ONNX model in float64 (bench/onnx): wider.py MODEL FOLDER INPUT ... prints the files of the model and of its inputs."""
import pathlib
import sys

import numpy
import onnx
from onnx import TensorProto, numpy_helper


def widen(graph):
    for t in graph.initializer:
        if t.data_type == TensorProto.FLOAT:
            t.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(t).astype(numpy.float64), t.name))
    for value in [*graph.input, *graph.output, *graph.value_info]:
        if value.type.tensor_type.elem_type == TensorProto.FLOAT:
            value.type.tensor_type.elem_type = TensorProto.DOUBLE
    for node in graph.node:
        for a in node.attribute:
            if a.name == "to" and a.i == TensorProto.FLOAT:
                a.i = TensorProto.DOUBLE
            if a.type == onnx.AttributeProto.TENSOR and a.t.data_type == TensorProto.FLOAT:
                a.t.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(a.t).astype(numpy.float64), a.t.name))
            if a.type == onnx.AttributeProto.GRAPH:
                widen(a.g)


model, folder, *inputs = sys.argv[1:]
wide = onnx.load(model)
if any("uantize" in n.op_type or "Integer" in n.op_type or n.op_type.startswith("QLinear") for n in wide.graph.node):
    sys.exit("a quantised model has no form in float64")
widen(wide.graph)
target = pathlib.Path(folder) / "wide.onnx"
onnx.save(wide, str(target))
files = [target]
for i, name in enumerate(inputs):
    x = numpy.load(name)
    files.append(pathlib.Path(folder) / f"wide_{i}.npy")
    numpy.save(files[-1], x.astype(numpy.float64) if x.dtype == numpy.float32 else x)
print(*files)
