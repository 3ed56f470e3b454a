#include "interpreter/language/foreign_names.hpp"

namespace pxl {
namespace {

constexpr std::string_view no_prefix = "functions and ops are visible without a prefix: `zeros([2, 3])`, `relu(x)`";
constexpr std::string_view an_array = "`array([1.0, 2.0])` makes an array; `constant(x)` makes a tensor of a program";
constexpr std::string_view how_to_join = "arrays and tensors are joined by `concat([a, b], 0)`";
constexpr std::string_view how_to_split = "`split(x, 2, axis = 0)` takes a tensor apart; `x[0]` is a slice";
constexpr std::string_view how_to_scatter =
    "`scatter_reduce(values, indices, \"sum\", axis_size = 10)` adds values with equal indices";
constexpr std::string_view the_length = "the Euclidean norm is `l2(x, axis = -1, keepdims = true)`";
constexpr std::string_view the_variance =
    "the variance is `mean(square(x - mean(x, axis = -1, keepdims = true)), axis = -1)`, the deviation its `sqrt(v)`";
constexpr std::string_view by_cast = "`cast(x, float32)` converts the elements";
constexpr std::string_view run_values =
    "a tensor has values when a session runs: of `stream out y = x`, `session.run().y`; `eval(x)` runs what x needs";
constexpr std::string_view the_host = "programs run on the host's processor: leave it out";
constexpr std::string_view unchanged = "values do not change behind a name: leave it out";
constexpr std::string_view no_modes =
    "there is no mode: what a program computes is written in it, and another program leaves it out";
constexpr std::string_view the_params = "`graph.bind(facts.init()).vars` is the tree of the params";
constexpr std::string_view the_file =
    "`session.save(\"net.safetensors\")` writes all variables, `session.restore(\"net.safetensors\")` reads them";
constexpr std::string_view normal_draws = "`normal(shape = [2, 3])` draws numbers";
constexpr std::string_view the_time = "`time()` is the time in seconds";
constexpr std::string_view a_product = "a matrix product is written `a @ b`";
constexpr std::string_view nothing = "no value is written `none`";
constexpr std::string_view gradients =
    "`grad(loss, w)` gives the gradient of a tensor for others, and `grad(f)` is a function's gradient";
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
    {"expand", "extents of 1 are repeated by `broadcast_to(x, [4, 3])`"},
    {"repeat_interleave", "`broadcast_to(x.reshape([3, 1]), [3, 2]).reshape([6])` repeats each element"},
    {"chunk", how_to_split},
    {"unbind", how_to_split},
    {"index_select", "`gather(x, indices, axis = 0)` picks slices"},
    {"index_add", how_to_scatter},
    {"scatter_add", how_to_scatter},
    {"bincount", how_to_scatter},
    {"masked_fill", "`where(mask, 0.0, x)` replaces elements"},
    {"one_hot", "`onehot(labels, 10, constant([0.0, 1.0]))` encodes whole numbers"},
    {"norm", the_length},
    {"normalize", the_length},
    {"cosine_similarity", the_length},
    {"var", the_variance},
    {"std", the_variance},
    {"cumprod", "of positive numbers it is `exp(cumsum(log(x)))`"},
    {"silu", "it is called `swish(x)`"},
    {"logsigmoid", "it is the negative of `softplus(-x)`"},
    {"outer", "it is `x.reshape([-1, 1]) * y`"},
    {"lerp", "it is `x + (y - x) * 0.1`"},
    {"addmm", "it is `x @ w + b`"},
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

constexpr ForeignName method_table[] = {
    {"grad", gradients},
    {"view", "the elements get another shape by `x.reshape([2, 3])`"},
    {"item", run_values},
    {"numpy", run_values},
    {"tolist", run_values},
    {"to", by_cast},
    {"float", by_cast},
    {"int", by_cast},
    {"bool", by_cast},
    {"half", "`cast(x, float16)` converts the elements"},
    {"double", "`cast(x, float64)` converts the elements"},
    {"long", "`cast(x, int32)` converts the elements"},
    {"cpu", the_host},
    {"cuda", the_host},
    {"clone", unchanged},
    {"contiguous", unchanged},
    {"requires_grad_", "`backward(1.0, wanted)` says of what gradients are wanted"},
    {"train", no_modes},
    {"eval", no_modes},
    {"parameters", the_params},
    {"named_parameters", the_params},
    {"state_dict", the_file},
    {"load_state_dict", the_file},
    {"forward", "a module is called by its name: `net(x)`"},
    {"register_buffer", "a param that no gradient is asked of stays as it is: `param mean: float32[3] = 0`"},
};

}  // namespace

std::span<const ForeignName> foreign_names() { return foreign_table; }

namespace {

std::string_view way_out_in(std::span<const ForeignName> table, std::string_view name) {
  for (const ForeignName& foreign : table)
    if (foreign.name == name) return foreign.way_out;
  return {};
}

}  // namespace

std::string_view way_out_of(std::string_view name) { return way_out_in(foreign_table, name); }

std::span<const ForeignName> foreign_methods() { return method_table; }

std::string_view way_out_of_method(std::string_view name) {
  if (const std::string_view found = way_out_in(method_table, name); !found.empty()) return found;
  const std::string_view found = way_out_of(name);
  return found.starts_with("it is a member") ? std::string_view() : found;
}

}  // namespace pxl
