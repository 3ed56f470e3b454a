// The parts of the calls that calls.cpp makes: a program whose names they mention, arguments, receivers of methods.
#pragma once

#include <string_view>

namespace fuzz {

/// Names that the arguments mention. `v_`: tensors of the top level, `a_`: host arrays.
inline constexpr std::string_view prelude = R"(
import nn
import optim
import losses
import init
import metrics
module Empty { }
module Layer(size: int = 3) {
  build(x) {
    param w: float32[size] = 1
    return x * w
  }
}
program tiny {
  stream in x: float32[3]
  stream out y = host_load(x) * 2
}
ir_tiny = tiny()
facts_layer, graph_layer = Layer().create_graph(float32[3])
session_tiny = Session(tiny())
v_scalar = variable(1.5)
v_row = variable([1.0, -2.0, 3.0])
v_matrix = variable(ones([2, 3]))
v_cube = variable(ones([2, 3, 4]))
v_empty = variable(zeros([0, 3]))
v_int = variable([3, -1, 2])
v_int_matrix = variable(array([[1, 2], [3, 4]], int32))
v_bool = variable([true, false, true])
v_half = variable(array([1.0, 2.0, -3.0], float16))
v_double = variable(array([[1.0, 2.0], [3.0, 4.0]], float64))
v_byte = variable(array([1, 2, 255], uint8))
v_image = variable(ones([1, 2, 5, 5]))
v_float8 = pow2scale_cast_to_fp8(v_half, 1, float8_143)
a_scalar = array(2.5)
a_row = array([0.5, -1.0, 2.0])
a_matrix = ones([3, 2])
a_empty = zeros([0])
a_empty_matrix = zeros([3, 0])
a_int = array([0, 2, -1], int32)
a_long = array([9223372036854775807, -9223372036854775808])
a_byte = array([0, 200, 255], uint8)
a_bool = array([true, false, true])
a_half = array([65504.0, 0.0, -1.0], float16)
a_strange = array([nan, inf, -inf, -0.0])
a_image = ones([2, 2, 4, 4])
f_one = (x) => x
f_two = (x, y) => x + y
f_none = () => 1
)";

// clang-format off
inline constexpr std::string_view atoms[] = {
    "none", "true", "false", "0", "1", "-1", "2", "3", "7", "1000000", "2 ** 31", "-2 ** 31", "2 ** 62", "-2 ** 62",
    "0.0", "-0.0", "0.5", "-1.5", "1e308", "1e-320", "nan", "inf", "-inf", "\"\"", "\"a\"", "\"sum\"", "\"float32\"",
    "\"none\"", "\"nearest\"", "\"\\u00e9\\U0001F600\"", "\"a b\\nc\"", "\"../x\"", "\"x.npy\"", "\"{\"", "\"{:9}\"",
    "[]", "()", "{}", "[0]", "[1, 2]", "[2, 3]", "[-1]", "[0, 0]", "[3, 0]", "[1.5, none]", "[[1, 2], [3]]",
    "[[1.0, 2.0], [3.0, 4.0]]", "[\"a\", 1]", "(1,)", "(1, 2, 3)", "[[]]", "{\"a\": 1}", "{\"a\": v_row, \"b\": [1]}",
    "{1: 2}", "range(3)", "range(0)", "range(5, 0, -2)", "float32", "float16", "float64", "int8", "int32", "int64",
    "uint8", "bool", "float32[3]", "float8_143", "float8_152", "float8_e4m3fn", "float32[2, 3]", "int32[0]",
    "float16[3]", "bool[2, 2]", "f_one", "f_two", "f_none", "Empty", "Empty()", "Layer", "Layer()", "Layer(0)", "tiny",
    "ir_tiny", "session_tiny", "graph_layer", "facts_layer", "ops", "nn", "nn.Linear(3)", "optim.Adam()", "gelu", "len",
    "print", "zeros", "1..2", "v_scalar", "v_row", "v_matrix", "v_cube", "v_empty", "v_int", "v_int_matrix", "v_bool",
    "v_half", "v_double", "v_byte", "v_image", "v_float8", "a_scalar", "a_row", "a_matrix", "a_empty", "a_empty_matrix",
    "a_int", "a_long", "a_byte", "a_bool", "a_half", "a_strange", "a_image", "v_row * 1", "v_matrix + 1", "v_int * 2",
    "zeros([])", "ones([1, 1, 1, 1, 1, 1, 1])", "enumerate([1, 2])", "zip([1], [2])",
};
// clang-format on

/// Values whose methods are called.
// clang-format off
inline constexpr std::string_view receivers[] = {
    "\"a b\"", "\"\"", "[3, 1, 2]", "[]", "(1, 2)", "{\"a\": 1}", "{}", "range(4)", "a_scalar", "a_row", "a_matrix",
    "a_empty", "a_int", "a_bool", "a_half", "v_scalar", "v_row", "v_matrix", "v_empty", "v_int", "v_bool", "v_half",
    "v_image", "ir_tiny", "tiny", "session_tiny", "graph_layer", "facts_layer", "Layer()", "Layer", "nn.Linear(3)",
    "optim.Adam()", "float32", "float32[2, 3]", "1", "1.5", "true", "none", "f_one", "ops", "tiny()",
    "graph_layer.bind(facts_layer.init())",
};
// clang-format on

}  // namespace fuzz
