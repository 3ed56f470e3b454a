#include "interpreter/language/foreign_names.hpp"

namespace pxl {
namespace {

constexpr std::string_view no_prefix = "functions and ops are visible without a prefix: `zeros([2, 3])`, `relu(x)`";
constexpr std::string_view an_array = "`array([1.0, 2.0])` makes an array; `constant(x)` makes a tensor of a program";
constexpr std::string_view how_to_join = "arrays and tensors are joined by `concat([a, b], 0)`";
constexpr std::string_view normal_draws = "`normal(shape = [2, 3])` draws numbers";
constexpr std::string_view the_time = "`time()` is the time in seconds";
constexpr std::string_view a_product = "a matrix product is written `a @ b`";
constexpr std::string_view nothing = "no value is written `none`";
constexpr std::string_view gradients =
    "in a program `graph.call_with_info(x).backward(1.0, graph.vars)` is the gradient of a call; `autodiff(graph)` "
    "makes a graph of "
    "it";
constexpr std::string_view by_member = "it is a member: `x.reshape([2, 3])`, `x.astype(int32)`, `x.size`, `x.item()`";

constexpr ForeignName foreign_table[] = {
    {"np", no_prefix},
    {"numpy", no_prefix},
    {"jnp", no_prefix},
    {"torch", no_prefix},
    {"tf", no_prefix},
    {"jax", no_prefix},
    {"math", no_prefix},
    {"popxl", no_prefix},
    {"tensor", an_array},
    {"Tensor", an_array},
    {"as_tensor", an_array},
    {"ndarray", an_array},
    {"cat", how_to_join},
    {"concatenate", how_to_join},
    {"hstack", how_to_join},
    {"vstack", how_to_join},
    {"rand", "`uniform(shape = [2, 3])` draws numbers"},
    {"randn", normal_draws},
    {"random", normal_draws},
    {"seed", "`random_seed(1)` seeds what is drawn"},
    {"manual_seed", "`random_seed(1)` seeds what is drawn"},
    {"empty", "`zeros([2, 3])` makes an array"},
    {"clamp", "limits are set by `clip(x, 0.0, 1.0)`"},
    {"permute", "axes are permuted by `transpose(x, [1, 0])`"},
    {"unsqueeze", "an axis is added by `expand_dims(x, 0)`"},
    {"dot", a_product},
    {"mm", a_product},
    {"bmm", a_product},
    {"view", by_member},
    {"astype", by_member},
    {"numel", by_member},
    {"size", by_member},
    {"shape", "it is a member: `x.shape`"},
    {"dtype", "it is a member: `x.dtype`"},
    {"item", by_member},
    {"half", "the dtype is `float16`"},
    {"double", "the dtype is `float64`"},
    {"long", "the dtype is `int64`"},
    {"clock", the_time},
    {"perf_counter", the_time},
    {"grad", gradients},
    {"backward", gradients},
    {"no_grad", "nothing is differentiated that is not asked for: `no_grad` is not needed"},
    {"Module", "a module is declared: `module Net(width: int) { build(x) { ... } }`"},
    {"Parameter", "a parameter is declared in `build`: `param w: float32[3] = normal(0, 0.1)`"},
    {"ReLU", "an activation is its op: `Sequential(Linear(8), relu)`"},
    {"GELU", "an activation is its op: `Sequential(Linear(8), gelu)`"},
    {"self", "fields and methods of a module are visible by their names, without `self`"},
    {"this", "fields and methods of a module are visible by their names, without `this`"},
    {"null", nothing},
    {"nil", nothing},
    {"undefined", nothing},
    {"NaN", "it is written `nan`"},
    {"Infinity", "it is written `inf`"},
    {"println", "it is written `print(x)`"},
    {"printf", "it is written `print(x)`; an f-string formats: f\"{x:.2f}\""},
    {"length", "it is written `len(x)`"},
    {"set", "there are no sets; the keys of a dict are distinct: `{\"a\": true}`"},
    {"open",
     "files are read by `read_text(path)` and `load(path)`, and written by `write_text(path, text)` and `save(path, "
     "x)`"},
    {"os",
     "`env(name)` reads a variable of the environment, `list_files(\"*.txt\")` lists files, `exists(path)` asks for "
     "one"},
    {"sys", "`exit(1)` ends the program; `option rate: float = 0.1` is read from the command line"},
    {"argparse", "`option rate: float = 0.1` is read from the command line"},
    {"json", "`from_json(text)` reads JSON, `to_json(x)` writes it"},
    {"input", "`option rate: float = 0.1` is read from the command line"},
};

}  // namespace

std::span<const ForeignName> foreign_names() { return foreign_table; }

std::string_view way_out_of(std::string_view name) {
  for (const ForeignName& foreign : foreign_table)
    if (foreign.name == name) return foreign.way_out;
  return {};
}

}  // namespace pxl
