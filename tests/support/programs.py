"""Programs that several kinds of tests run."""

# A program `train` of one layer with an update by its gradient, and data `x` for it.
TRAINING = """
from nn import Linear
program train {
  stream in x: float32[64, 784]
  facts, graph = Linear(512).create_graph(x.spec)
  net = graph.bind(facts.init())
  fwd = net.call_with_info(host_load(x))
  grads = fwd.backward(fwd.output, net.vars)
  for v in net.vars.tensors { scaled_add_(v, grads[v], b = -0.0001) }
  stream out loss = mean(fwd.output)
}
x = normal(0, 1, [64, 784])
"""

# A program `train` of one module, which calls three layers from one line, with x of %d rows; and its session.
THREE_LAYERS = """from nn import Linear
module Net {
  layers = [Linear(64) for i in range(3)]
  build(x) {
    for layer in layers { x = gelu(layer(x)) }
    return x
  }
}
program train {
  stream in x: float32[%d, 64]
  facts, graph = Net().create_graph(x.spec)
  stream out y = graph.bind(facts.init())(host_load(x))
}
session = Session(train())
"""
