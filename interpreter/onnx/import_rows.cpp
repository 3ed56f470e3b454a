// The table of ONNX ops: how each is written in pxl.
#include "interpreter/onnx/import.hpp"

namespace pxl::onnx {

namespace {

// Before opset 7 the node states whether and from which axis on the second operand is broadcast.
#define BROADCAST(name, expression, aligned)                                                                           \
  {.op = name, .since = 7, .text = expression}, {.op = name, .until = 6, .text = expression, .when = "broadcast~0"}, { \
    .op = name, .until = 6, .text = aligned                                                                            \
  }
#define TRAINING "ai.onnx.preview.training"

// clang-format off
constexpr ImportRow rows[] = {
    // ---- elementwise
    {.op = "Abs", .text = "abs({0})"},
    {.op = "Acos", .text = "acos({0})"},
    {.op = "Acosh", .text = "acosh({0})"},
    BROADCAST("Add", "{0} + {1}", "{0} + onnx.aligned({1}, {0}{,axis=axis})"),
    BROADCAST("And", "{0} & {1}", "{0} & onnx.aligned({1}, {0}{,axis=axis})"),
    {.op = "Asin", .text = "asin({0})"},
    {.op = "Asinh", .text = "asinh({0})"},
    {.op = "Atan", .text = "atan({0})"},
    {.op = "Atanh", .text = "atanh({0})"},
    {.op = "BitShift"},
    {.op = "BitwiseAnd", .since = 18, .text = "{0} & {1}"},
    {.op = "BitwiseNot", .since = 18, .text = "~{0}"},
    {.op = "BitwiseOr", .since = 18, .text = "{0} | {1}"},
    {.op = "BitwiseXor", .since = 18, .text = "{0} ^ {1}"},
    {.op = "Cast", .text = "onnx.cast({0}, {to:dtype}{,saturate=saturate})"},
    {.op = "CastLike"},
    {.op = "Ceil", .text = "ceil({0})"},
    {.op = "Celu", .text = "celu({0}{,alpha=alpha})"},
    {.op = "Clip"},
    {.op = "Cos", .text = "cos({0})"},
    {.op = "Cosh", .text = "cosh({0})"},
    BROADCAST("Div", "div({0}, {1})", "div({0}, onnx.aligned({1}, {0}{,axis=axis}))"),
    {.op = "Elu", .text = "elu({0}{,alpha=alpha})"},
    BROADCAST("Equal", "{0} == {1}", "{0} == onnx.aligned({1}, {0}{,axis=axis})"),
    {.op = "Erf", .text = "erf({0})"},
    {.op = "Exp", .text = "exp({0})"},
    {.op = "Floor", .text = "floor({0})"},
    {.op = "Gelu", .text = "gelu({0})", .when = "approximate=tanh"},
    {.op = "Gelu", .text = "geluerf({0})"},
    BROADCAST("Greater", "{0} > {1}", "{0} > onnx.aligned({1}, {0}{,axis=axis})"),
    {.op = "GreaterOrEqual", .text = "{0} >= {1}"},
    {.op = "HardSigmoid", .text = "hard_sigmoid({0}{,alpha=alpha}{,beta=beta})"},
    {.op = "HardSwish", .text = "hard_swish({0})"},
    {.op = "Identity", .text = "{0}"},
    {.op = "IsInf"},
    {.op = "IsNaN", .text = "isnan({0})"},
    {.op = "LeakyRelu", .text = "leaky_relu({0}{,alpha=alpha})"},
    BROADCAST("Less", "{0} < {1}", "{0} < onnx.aligned({1}, {0}{,axis=axis})"),
    {.op = "LessOrEqual", .text = "{0} <= {1}"},
    {.op = "Log", .text = "log({0})"},
    {.op = "Max", .text = "maximum({*})"},
    {.op = "Mean"},
    {.op = "Min", .text = "minimum({*})"},
    {.op = "Mish", .text = "{0} * tanh(softplus({0}))"},
    {.op = "Mod"},
    BROADCAST("Mul", "{0} * {1}", "{0} * onnx.aligned({1}, {0}{,axis=axis})"),
    {.op = "Neg", .text = "-{0}"},
    {.op = "Not", .text = "~{0}"},
    BROADCAST("Or", "{0} | {1}", "{0} | onnx.aligned({1}, {0}{,axis=axis})"),
    {.op = "PRelu", .until = 6, .text = "*p_relu_channels"},
    {.op = "PRelu"},
    BROADCAST("Pow", "onnx.pow({0}, {1})", "onnx.pow({0}, onnx.aligned({1}, {0}{,axis=axis}))"),
    {.op = "Reciprocal", .text = "reciprocal({0})"},
    {.op = "Relu", .text = "relu({0})"},
    {.op = "Round", .text = "round({0})"},
    {.op = "Selu", .text = "selu({0}{,alpha=alpha}{,gamma=gamma})"},
    {.op = "Shrink", .text = "shrink({0}{,lambd=lambd}{,bias=bias})"},
    {.op = "Sigmoid", .text = "sigmoid({0})"},
    {.op = "Sign", .text = "sign({0})"},
    {.op = "Sin", .text = "sin({0})"},
    {.op = "Sinh", .text = "sinh({0})"},
    {.op = "Softplus", .text = "softplus({0})"},
    {.op = "Softsign", .text = "softsign({0})"},
    {.op = "Sqrt", .text = "sqrt({0})"},
    BROADCAST("Sub", "{0} - {1}", "{0} - onnx.aligned({1}, {0}{,axis=axis})"),
    {.op = "Sum"},
    {.op = "Tan", .text = "tan({0})"},
    {.op = "Tanh", .text = "tanh({0})"},
    {.op = "ThresholdedRelu", .text = "thresholded_relu({0}{,alpha=alpha})"},
    {.op = "Where", .text = "where({0}, {1}, {2})"},
    BROADCAST("Xor", "{0} ^ {1}", "{0} ^ onnx.aligned({1}, {0}{,axis=axis})"),

    // ---- shapes
    {.op = "CenterCropPad", .since = 18, .host = "1"},
    {.op = "Concat", .text = "*"},
    {.op = "Constant"},  // uses a known attribute; see constant_node
    {.op = "ConstantOfShape", .host = "0"},
    {.op = "DepthToSpace", .text = "depth_to_space({0}, {blocksize}{,mode=mode})"},
    {.op = "Expand", .host = "1"},
    {.op = "EyeLike"},
    {.op = "Flatten"},
    {.op = "Pad", .until = 10, .text = "onnx.pad({0}, {pads}{,value=value}{,mode=mode})"},
    {.op = "Pad", .since = 11, .text = "onnx.pad({0}, {1:ints}, {2:host|none}, {3:host|none}{,mode=mode})"},
    {.op = "Range", .text = "*range_onnx", .host = "0,1,2"},
    {.op = "Reshape", .until = 4, .text = "onnx.reshape_onnx({0}, {shape})"},
    {.op = "Reshape", .since = 5, .text = "onnx.reshape_onnx({0}, {1:ints}{,allowzero=allowzero})"},
    {.op = "Shape"},
    {.op = "Size"},
    {.op = "Slice", .until = 9, .text = "onnx.slice({0}, {starts}, {ends}{,axes=axes})"},
    {.op = "Slice", .since = 10, .text = "onnx.slice({0}, {1:ints}, {2:ints}{,axes=3:ints}{,steps=4:ints})"},
    {.op = "SpaceToDepth", .text = "space_to_depth({0}, {blocksize})"},
    {.op = "Split", .until = 12, .text = "onnx.split({0}{,sizes=split}{,axis=axis}, outputs = {outputs})", .several = true},
    {.op = "Split", .since = 13, .text = "onnx.split({0}{,sizes=1:ints}{,axis=axis}, outputs = {outputs})", .several = true},
    {.op = "Squeeze", .until = 12, .text = "onnx.squeeze({0}{,axes=axes})"},
    {.op = "Squeeze", .since = 13, .text = "onnx.squeeze({0}{,axes=1:ints})"},
    {.op = "Tile", .since = 6, .text = "onnx.tile({0}, {1:ints})"},
    {.op = "Transpose", .text = "transpose({0}{,permutation=perm})"},
    {.op = "Trilu", .text = "onnx.trilu({0}{,k=1:int1}{,upper=upper})"},
    {.op = "Unsqueeze", .until = 12, .text = "onnx.unsqueeze({0}, {axes})"},
    {.op = "Unsqueeze", .since = 13, .text = "onnx.unsqueeze({0}, {1:ints})"},

    // ---- indices
    {.op = "ArgMax"},
    {.op = "ArgMin"},
    {.op = "Compress", .host = "1"},
    {.op = "Gather", .text = "gather({0}, {1}, axis = {axis|0})"},
    {.op = "GatherElements"},
    {.op = "GatherND", .text = "gather_nd({0}, {1}, batch_dims = {batch_dims|0})"},
    {.op = "NonMaxSuppression", .host = "*"},
    {.op = "NonZero", .host = "0"},
    {.op = "OneHot", .host = "1"},
    {.op = "ReverseSequence", .host = "1"},
    {.op = "Scatter", .text = "*scatter_elements"},
    {.op = "ScatterElements"},
    {.op = "ScatterND", .text = "scatter_nd({0}, {1}, {2}, {reduction|\"none\"})"},
    {.op = "TopK", .until = 9, .text = "onnx.top_k({0}, {k}{,axis=axis})", .several = true},
    {.op = "Unique", .host = "0", .several = true},
    {.op = "TopK", .since = 10, .text = "onnx.top_k({0}, {1:int1}{,axis=axis}{,largest=largest}{,sorted=sorted})", .several = true},

    // ---- reductions
    {.op = "CumSum", .host = "1"},
    {.op = "ReduceL1", .host = "1"},
    {.op = "ReduceL2", .host = "1"},
    {.op = "ReduceLogSum", .host = "1"},
    {.op = "ReduceLogSumExp", .host = "1"},
    {.op = "ReduceMax", .host = "1"},
    {.op = "ReduceMean", .host = "1"},
    {.op = "ReduceMin", .host = "1"},
    {.op = "ReduceProd", .host = "1"},
    {.op = "ReduceSum", .host = "1"},
    {.op = "ReduceSumSquare", .host = "1"},

    // ---- products
    {.op = "ConvInteger"},
    {.op = "Det", .text = "det({0})"},
    {.op = "Einsum"},
    {.op = "Gemm", .since = 7, .text = "{0} @ transpose({1}) + {2}", .when = "2,alpha~1,beta~1,transA~0,transB=1"},
    {.op = "Gemm", .since = 7, .text = "{0} @ {1} + {2}", .when = "2,alpha~1,beta~1,transA~0,transB~0"},
    {.op = "Gemm", .since = 6},
    {.op = "MatMul", .text = "{0} @ {1}"},
    {.op = "MatMulInteger"},
    {.op = "QLinearConv"},
    {.op = "QLinearMatMul"},
    {.op = "DequantizeLinear"},
    {.op = "DynamicQuantizeLinear", .several = true},
    {.op = "QuantizeLinear"},

    // ---- windows
    {.op = "AffineGrid", .since = 20, .host = "1"},
    {.op = "AveragePool"},
    {.op = "Col2Im", .since = 18, .text = "*col_to_image", .host = "1,2"},
    {.op = "Conv", .text = "conv({0}, {1}{,stride=strides}{,padding=pads}{,dilation=dilations}{,groups=group}{,bias=2})", .when = "auto_pad~NOTSET"},
    {.op = "Conv"},
    {.op = "ConvTranspose"},
    {.op = "DeformConv", .since = 19},
    {.op = "GlobalAveragePool", .text = "global_average_pool({0})"},
    {.op = "GlobalLpPool", .since = 2},
    {.op = "GlobalMaxPool", .text = "global_max_pool({0})"},
    {.op = "GridSample"},
    {.op = "LRN", .text = "lrn({0}, {size}{,alpha=alpha}{,beta=beta}{,bias=bias})"},
    {.op = "LpPool", .since = 2},
    {.op = "MaxPool", .text = "*max_pool_with_indices", .when = "outputs=2", .several = true},
    {.op = "MaxPool"},
    {.op = "MaxUnpool", .host = "2"},
    {.op = "RoiAlign", .when = "mode~avg"},
    {.op = "Resize", .until = 10, .text = "onnx.upsample({0}, {1:floats})", .when = "mode~nearest"},
    {.op = "Resize", .until = 10, .text = "onnx.upsample_linear({0}, {1:floats})"},
    {.op = "Resize", .since = 11, .host = "1,2,3"},
    {.op = "Upsample", .until = 8, .text = "onnx.upsample({0}, {scales})", .when = "mode~nearest"},
    {.op = "Upsample", .until = 8, .text = "onnx.upsample_linear({0}, {scales})"},
    {.op = "Upsample", .since = 9, .text = "onnx.upsample({0}, {1:floats})", .when = "mode~nearest"},
    {.op = "Upsample", .since = 9, .text = "onnx.upsample_linear({0}, {1:floats})"},

    // ---- normalisation
    {.op = "BatchNormalization", .since = 7, .several = true},
    {.op = "BatchNormalization", .until = 6, .text = "onnx.batch_normalization({*}{,epsilon=epsilon})", .when = "is_test=1", .several = true},
    {.op = "Dropout", .until = 11, .text = "onnx.dropout({0})", .several = true},
    {.op = "Dropout", .since = 12, .host = "1,2", .several = true},
    {.op = "GroupNormalization", .since = 18},
    {.op = "Hardmax", .until = 12, .text = "onnx.hardmax_flat({0}{,axis=axis})"},
    {.op = "Hardmax", .since = 13, .text = "hardmax({0}, axis = {axis|-1})"},
    {.op = "InstanceNormalization", .since = 6},
    {.op = "LayerNormalization", .several = true},
    {.op = "LogSoftmax", .until = 12, .text = "onnx.log_softmax_flat({0}{,axis=axis})"},
    {.op = "LogSoftmax", .since = 13, .text = "log_softmax({0}, axis = {axis|-1})"},
    {.op = "LpNormalization"},
    {.op = "MeanVarianceNormalization"},
    {.op = "Softmax", .until = 12, .text = "onnx.softmax_flat({0}{,axis=axis})"},
    {.op = "Softmax", .since = 13, .text = "softmax({0}, axis = {axis|-1})"},

    // ---- losses
    {.op = "NegativeLogLikelihoodLoss"},
    {.op = "SoftmaxCrossEntropyLoss", .several = true},

    // ---- recurrent layers
    {.op = "GRU", .since = 7, .host = "4", .several = true},
    {.op = "LSTM", .since = 7, .host = "4", .several = true},
    {.op = "RNN", .since = 7, .host = "4", .several = true},

    // ---- control
    {.op = "If", .text = "*if_onnx", .when = "optional", .host = "0", .several = true},
    {.op = "If", .text = "*if_onnx", .several = true},
    {.op = "Loop", .text = "*loop_repeat", .when = "0,steady,plain", .host = "0,1", .several = true},
    {.op = "Loop", .text = "*loop_scan", .when = "0,steady", .host = "0,1", .several = true},
    {.op = "Loop", .text = "*loop_while", .when = "conditional", .host = "0", .several = true},
    {.op = "Loop", .host = "0,1", .several = true},
    {.op = "Scan", .since = 9, .when = "steady", .several = true},
    {.op = "Scan", .since = 9, .text = "*scan_unrolled", .several = true},
    {.op = "Scan", .until = 8, .text = "*scan_batched", .several = true},
    {.op = "ConcatFromSequence"},
    {.op = "Optional", .when = "0"},
    {.op = "Optional", .text = "none"},
    {.op = "OptionalGetElement"},
    {.op = "OptionalHasElement"},
    {.op = "SequenceAt", .host = "1"},
    {.op = "SequenceConstruct"},
    {.op = "SequenceEmpty", .text = "[]"},
    {.op = "SequenceErase", .host = "1"},
    {.op = "SequenceInsert", .host = "2"},
    {.op = "SequenceLength"},
    {.op = "SequenceMap", .several = true},
    {.op = "SplitToSequence", .host = "1"},

    // ---- signals
    {.op = "BlackmanWindow", .host = "0"},
    {.op = "DFT", .until = 19, .host = "1"},
    {.op = "DFT", .since = 20, .text = "onnx.dft({0}, {1:int1|none}, {2:int1|-2}{,inverse=inverse}{,onesided=onesided})"},
    {.op = "HammingWindow", .host = "0"},
    {.op = "HannWindow", .host = "0"},
    {.op = "MelWeightMatrix", .host = "*"},
    {.op = "STFT", .host = "1,3"},

    // ---- text
    {.op = "TfIdfVectorizer"},

    // ---- optimisers
    {.op = "Adagrad", .several = true, .domain = TRAINING},
    {.op = "Adam", .several = true, .domain = TRAINING},
    {.op = "Momentum", .several = true, .domain = TRAINING},
};
// clang-format on

#undef BROADCAST
#undef TRAINING

}  // namespace

std::span<const ImportRow> import_rows() { return rows; }

}  // namespace pxl::onnx
