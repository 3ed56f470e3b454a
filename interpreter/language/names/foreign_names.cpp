#include "interpreter/language/names/foreign_names.hpp"

#include <algorithm>

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
    "there is no mode: `Net().bound(x, training = true)` is the net for training, `Net().bound(x)` that for inference";
constexpr std::string_view another_record = "`with(name = value)` makes another record";
constexpr std::string_view the_fields = "`fields` is a dict of a record's fields";
constexpr std::string_view an_entry = "an entry of a dict is set by `d[key] = value`";
constexpr std::string_view the_variables = "the variables are those of the program: `session.ir.net.vars`";
constexpr std::string_view list_of_modules = "modules in a list are a field: `layers = [Linear(8) for i in range(3)]`";
constexpr std::string_view a_choice =
    "`conditional(condition, f, g, then_inputs = [x], else_inputs = [x])` runs one of two functions";
constexpr std::string_view a_loop =
    "`repeat(f, count, state)` is a loop, `repeat_while(step, condition, state)` one with a condition";
constexpr std::string_view the_params = "`graph.bind(facts.init()).vars` is the tree of the params";
constexpr std::string_view the_file =
    "`session.save(\"net.safetensors\")` writes all variables, `session.restore(\"net.safetensors\")` reads them";
constexpr std::string_view normal_draws = "`normal(shape = [2, 3])` draws numbers";
constexpr std::string_view the_time = "`time()` is the time in seconds";
constexpr std::string_view a_product = "a matrix product is written `a @ b`";
constexpr std::string_view in_place =
    "a variable is changed by an op with an underscore: `copy_var_update_(w, x)`, `scaled_add_(w, g, b = -0.1)`";
constexpr std::string_view nothing = "no value is written `none`";
constexpr std::string_view gradients =
    "`grad(loss, w)` gives the gradient of a tensor for others, and `grad(f)` is a function's gradient";
constexpr std::string_view triangular = "`triangular_solve(a, b)` solves with a triangle of a matrix";
constexpr std::string_view by_qr =
    "least squares are solved by `q, r = qr(a)`, then `triangular_solve(r, q.T @ b, lower = false)`";
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
    {"tensor", an_array, "array"},
    {"Tensor", an_array},
    {"as_tensor", an_array, "array"},
    {"ndarray", an_array},
    {"inv", "the inverse of a matrix is `inverse(x)`", "inverse"},
    {"solve_triangular", triangular, "triangular_solve"},
    {"cho_solve", triangular},
    {"eigvalsh", "the eigenvalues are the first result of `eigh(x)`"},
    {"svdvals", "the singular values are the second result of `svd(x)`"},
    {"lstsq", by_qr},
    {"pinv", by_qr},
    {"hessian", "`jacobian(grad(f))` has the second derivatives, and `hvp(f, x, v)` is their product with a vector"},
    {"cat", how_to_join, "concat({0}, {1})|concat({args}, 0)"},
    {"concatenate", how_to_join, "concat({0}, {1})|concat({args}, 0)"},
    {"hstack", how_to_join, "concat({0}, 1)"},
    {"vstack", how_to_join, "concat({0}, 0)"},
    {"rand", "`uniform(shape = [2, 3])` draws numbers", "uniform(0, 1, [{args}])"},
    {"randn", normal_draws, "normal(0, 1, [{args}])"},
    {"random", normal_draws},
    {"seed", "`random_seed(1)` seeds what is drawn", "random_seed({0})"},
    {"manual_seed", "`random_seed(1)` seeds what is drawn", "random_seed({0})"},
    {"empty", "`zeros([2, 3])` makes an array", "zeros({args})"},
    {"clamp", "limits are set by `clip(x, 0.0, 1.0)`", "clip"},
    {"permute", "axes are permuted by `transpose(x, [1, 0])`", "transpose"},
    {"unsqueeze", "an axis is added by `expand_dims(x, 0)`", "expand_dims"},
    {"expand", "extents of 1 are repeated by `broadcast_to(x, [4, 3])`", "broadcast_to"},
    {"repeat_interleave", "`broadcast_to(x.reshape([3, 1]), [3, 2]).reshape([6])` repeats each element"},
    {"chunk", how_to_split},
    {"unbind", how_to_split},
    {"index_select", "`gather(x, indices, axis = 0)` picks slices", "gather({0}, {2}, axis = {1})"},
    {"index_add", how_to_scatter},
    {"one_hot", "`onehot(labels, 10, constant([0.0, 1.0]))` encodes whole numbers"},
    {"normalize", the_length},
    {"cosine_similarity", the_length},
    {"silu", "it is called `swish(x)`", "swish"},
    {"logsigmoid", "it is the negative of `softplus(-x)`", "-softplus(-{0})"},
    {"lerp", "it is `x + (y - x) * 0.1`", "{0} + ({1} - {0}) * {2}"},
    {"addmm", "it is `x @ w + b`", "{1} @ {2} + {0}"},
    {"dot", a_product, "{0} @ {1}"},
    {"mm", a_product, "{0} @ {1}"},
    {"bmm", a_product, "{0} @ {1}"},
    {"view", by_member, "{0}.reshape({rest})"},
    {"astype", by_member, "{0}.astype({1})"},
    {"numel", by_member, "{0}.size"},
    {"size", by_member, "{0}.size"},
    {"shape", "it is a member: `x.shape`", "{0}.shape"},
    {"dtype", "it is a member: `x.dtype`", "{0}.dtype"},
    {"item", by_member, "{0}.item()"},
    {"clock", the_time, "time"},
    {"perf_counter", the_time, "time"},
    {"help", "in the REPL, :help relu says what a name means; editors show it beside the name"},
    {"backward", gradients},
    {"no_grad", "nothing is differentiated that is not asked for: `no_grad` is not needed"},
    {"Module", "a module is declared: `module Net(width: int) { build(x) { ... } }`"},
    {"Parameter", "a parameter is declared in `build`: `param w: float32[3] = normal(0, 0.1)`"},
    {"ReLU", "an activation is its op: `Sequential(Linear(8), relu)`", "relu"},
    {"GELU", "an activation is its op: `Sequential(Linear(8), gelu)`", "gelu"},
    {"self", "fields and methods of a module are visible by their names, without `self`", "."},
    {"this", "fields and methods of a module are visible by their names, without `this`", "."},
    {"null", nothing, "none"},
    {"nil", nothing, "none"},
    {"undefined", nothing, "none"},
    {"NaN", "it is written `nan`", "nan"},
    {"Infinity", "it is written `inf`", "inf"},
    {"println", "it is written `print(x)`", "print"},
    {"printf", "it is written `print(x)`; an f-string formats: f\"{x:.2f}\""},
    {"length", "it is written `len(x)`", "len"},
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
    {"PRNGKey", "`create_seeds(0)` makes seeds of draws, uint32[2]; `random_seed(0)` fixes those of the host",
     "create_seeds({args})"},
    {"end", "the last element is `x[-1]`", "-1"},
    {"stddev", the_variance},
    {"trace", "the trace of a matrix is `sum(diag(x))`", "sum(diag({0}))"},
    {"absolute", "it is written `abs(x)`", "abs"},
    {"fabs", "it is written `abs(x)`", "abs"},
    {"power", "a power is written `a ** b`", "{0} ** {1}"},
    {"ln", "the natural logarithm is `log(x)`", "log"},
    {"relu6", "it is written `clip(x, 0.0, 6.0)`", "clip({0}, 0.0, 6.0)"},
    {"multiply", "a product is written `a * b`", "{0} * {1}"},
    {"subtract", "a difference is written `a - b`", "{0} - {1}"},
    {"divide", "a quotient is written `a / b`", "{0} / {1}"},
    {"zero_grad", "gradients are values that nothing adds up: leave `zero_grad` out"},
    {"console", "it is written `print(x)`"},
    {"echo", "it is written `print(x)`", "print"},
    {"disp", "it is written `print(x)`", "print"},
    {"writeln", "it is written `print(x)`", "print"},
    {"puts", "it is written `print(x)`", "print"},
    {"nothing", nothing, "none"},
    {"Dense", "a dense layer is `Linear`: `from nn import Linear`", "Linear"},
    {"Flatten", "a shape is changed by `x.reshape([8, -1])`"},
    {"CrossEntropyLoss", "the loss is `cross_entropy(scores, labels)`: `from losses import cross_entropy`"},
    {"MSELoss", "the loss is `mse_loss(x, y)`: `from losses import mse_loss`"},
    {"ModuleList", list_of_modules, "{0}"},
    {"ModuleDict", list_of_modules, "{0}"},
    {"cond", a_choice},
    {"fori_loop", a_loop},
    {"while_loop", a_loop},
    {"newaxis", "a new axis is written `none`: `x[:, none]`", "none"},
    {"pickle", the_file},
    {"pandas", "`load(\"table.csv\")` reads a table as a dict of columns"},
    {"pd", "`load(\"table.csv\")` reads a table as a dict of columns"},
    {"matplotlib", "`plot(y)` draws a chart"},
    {"plt", "`plot(y)` draws a chart"},
    {"tqdm", "`progress(items)` shows how far a loop is", "progress"},
    {"DataLoader", "`mnist().train.batches(8)` goes through batches, and `x[i:i + 8]` is one"},
};

// Paths, which say more than their last name.
constexpr ForeignName path_table[] = {
    {"console.log", "it is written `print(x)`", "print"},
    {"time.time", the_time, "time()"},
    {"os.path.exists", "it is written `exists(path)`", "exists"},
    {"os.path.join", "a path is written `folder + \"/\" + file`", "{0} + \"/\" + {1}"},
    {"json.loads", "`from_json(text)` reads JSON", "from_json"},
    {"json.dumps", "`to_json(x)` writes JSON", "to_json"},
    {"sys.exit", "`exit(1)` ends the program", "exit"},
    {"math.pi", "it is written `pi`", "pi"},
    {"np.pi", "it is written `pi`", "pi"},
    {"random.shuffle", "`permutation(len(rows))` draws an order: `[rows[i] for i in permutation(len(rows))]`"},
    {"random.choice", "`rows[int(randint(0, len(rows), []))]` is one of them"},
    {"np.random.seed", "`random_seed(1)` seeds what is drawn", "random_seed({args})"},
    {"random.seed", "`random_seed(1)` seeds what is drawn", "random_seed({args})"},
    {"np.random.uniform", "`uniform(low, high, shape)` draws numbers", "uniform"},
    {"np.random.normal", "`normal(mean, std, shape)` draws numbers", "normal"},
    {"random.uniform", "`uniform(low, high)` draws numbers", "float(uniform({0}, {1}, []))"},
    {"torch.cuda.is_available", the_host, "false"},
    {"torch.device", the_host, "{0}"},
    {"torch.save", the_file},
    {"torch.load", the_file},
    {"pickle.dump", the_file},
    {"pickle.load", the_file},
    {"np.array", an_array, "array"},
    {"torch.tensor", an_array, "array"},
    {"jnp.array", an_array, "array"},
    {"sys.argv", "`option rate: float = 0.1` is read from the command line"},
    {"os.environ", "`env(name)` reads a variable of the environment"},
    {"os.listdir", "`list_files(\"*.txt\")` lists files"},
};

constexpr ForeignName method_table[] = {
    {"permute", "axes are permuted by `x.transpose([1, 0])`", "{base}.transpose([{args}])"},
    {"expand", "extents of 1 are repeated by `broadcast_to(x, [4, 3])`", "broadcast_to({base}, [{args}])"},
    {"masked_fill", "`where(mask, 0.0, x)` replaces elements", "where({0}, {1}, {base})"},
    {"grad", gradients},
    {"view", "the elements get another shape by `x.reshape([2, 3])`", "{base}.reshape([{args}])"},
    {"item", run_values},
    {"numpy", run_values},
    {"tolist", run_values},
    {"to", by_cast},
    {"float", by_cast, "cast({base}, float32)"},
    {"int", by_cast, "cast({base}, int32)"},
    {"bool", by_cast, "cast({base}, bool)"},
    {"half", "`cast(x, float16)` converts the elements", "cast({base}, float16)"},
    {"double", "`cast(x, float64)` converts the elements", "cast({base}, float64)"},
    {"long", "`cast(x, int32)` converts the elements", "cast({base}, int32)"},
    {"cpu", the_host, "{base}"},
    {"cuda", the_host, "{base}"},
    {"clone", unchanged, "{base}"},
    {"contiguous", unchanged, "{base}"},
    {"requires_grad_", "`backward(1.0, wanted)` says of what gradients are wanted"},
    {"train", no_modes},
    {"eval", no_modes},
    {"parameters", the_params},
    {"named_parameters", the_params},
    {"state_dict", the_file},
    {"load_state_dict", the_file},
    {"forward", "a module is called by its name: `net(x)`", "{base}({args})"},
    {"register_buffer", "a param that no gradient is asked of stays as it is: `param mean: float32[3] = 0`"},
    {"assign", in_place, "copy_var_update_({base}, {args})"},
    {"copy_", in_place, "copy_var_update_({base}, {args})"},
    {"assign_add", in_place, "scaled_add_({base}, {args}, b = 1)"},
    {"add_", in_place, "scaled_add_({base}, {args}, b = 1)"},
    {"assign_sub", in_place, "scaled_add_({base}, {args}, b = -1)"},
    {"sub_", in_place, "scaled_add_({base}, {args}, b = -1)"},
    {"squeeze_", "it is written `squeeze(x)`", "squeeze({base})"},
    {"backward", gradients},
    {"zero_grad", "gradients are values that nothing adds up: leave `zero_grad` out"},
    {"step", "`optimise(Adam(), net.vars, grad(loss, net.vars), lr = 0.01)` adds the update to the program"},
    {"fit", "a loop of `session.run` trains: `for batch in data.train.batches(8) { session.run(x = batch[0]) }`"},
    {"compile", "a program is built when it is called, and `Session(p())` prepares it"},
    {"predict", "a program computes results: `Session(infer()).run(x = x).y`"},
    {"summary", "`facts.keys_flat()` lists the params, `print(graph)` shows the ops"},
    {"modules", the_params},
    {"children", the_params},
    {"apply", "a module is called by its name: `net(x)`"},
    {"init", "`facts, graph = net.create_graph(spec)` gives the params, and `facts.init()` their variables"},
    {"block_until_ready", the_host, "{base}"},
    {"swapaxes", "axes are permuted by `transpose(x, [1, 0])`"},
};

// Members of one type of values, or of all types.
constexpr ForeignMember foreign_members[] = {
    {"array", {"numpy", "it is an array already: leave out `.numpy()`", "{base}"}},
    {"array", {"copy", unchanged, "{base}"}},
    {"array", {"clone", unchanged, "{base}"}},
    {"array", {"detach", "an array has no gradient: leave out `.detach()`", "{base}"}},
    {"array", {"eval", "it is an array already: leave out `.eval()`", "{base}"}},
    {"", {"length", "it is written `len(x)`", "len({base})"}},
    {"", {"len", "it is written `len(x)`", "len({base})"}},
    {"list", {"size", "it is written `len(x)`", "len({base})"}},
    {"dict", {"size", "it is written `len(x)`", "len({base})"}},
    {"str", {"size", "it is written `len(x)`", "len({base})"}},
    {"dict", {"count", "it is written `len(x)`", "len({base})"}},
    {"list", {"push", "an element is added by `x.append(1)`", "{base}.append({args})"}},
    {"list", {"push_back", "an element is added by `x.append(1)`", "{base}.append({args})"}},
    {"list", {"add", "an element is added by `x.append(1)`", "{base}.append({args})"}},
    {"list", {"shape", "`array(x).shape` is the shape of nested lists", "array({base}).shape"}},
    {"dict", {"has_key", "it is written `key in d`", "{0} in {base}"}},
    {"dict", {"contains", "it is written `key in d`", "{0} in {base}"}},
    {"list", {"contains", "it is written `x in list`", "{0} in {base}"}},
    {"str", {"contains", "it is written `part in text`", "{0} in {base}"}},
    {"", {"includes", "it is written `x in list`", "{0} in {base}"}},
    {"dict", {"append", an_entry, "{base}[{0}] = {1}"}},
    {"dict", {"add", an_entry, "{base}[{0}] = {1}"}},
    {"dict", {"insert", an_entry, "{base}[{0}] = {1}"}},
    {"dict", {"put", an_entry, "{base}[{0}] = {1}"}},
    {"dict", {"set", an_entry, "{base}[{0}] = {1}"}},
    {"record", {"replace", another_record, "{base}.with({args})"}},
    {"record", {"_replace", another_record, "{base}.with({args})"}},
    {"record", {"copy", another_record, "{base}.with({args})"}},
    {"record", {"update", another_record, "{base}.with({args})"}},
    {"record", {"items", the_fields, "{base}.fields.items()"}},
    {"record", {"keys", the_fields, "{base}.fields.keys()"}},
    {"record", {"values", the_fields, "{base}.fields.values()"}},
    {"record", {"_asdict", the_fields, "{base}.fields"}},
    {"record", {"to_dict", the_fields, "{base}.fields"}},
    {"error", {"args", "`e.message` is the text of an error", "{base}.message"}},
    {"error", {"msg", "`e.message` is the text of an error", "{base}.message"}},
    {"program", {"run", "a session runs a program: `Session(p()).run(x = [1, 2])`"}},
    {"session", {"vars", the_variables}},
    {"session", {"variables", the_variables}},
    {"session", {"weights", the_variables}},
    {"session", {"parameters", the_variables}},
    {"dict", {"iteritems", "it is written `d.items()`", "{base}.items()"}},
    {"str", {"toUpperCase", "it is written `text.upper()`", "{base}.upper()"}},
    {"str", {"toLowerCase", "it is written `text.lower()`", "{base}.lower()"}},
    {"str", {"trim", "it is written `text.strip()`", "{base}.strip()"}},
    {"", {"toString", "it is written `str(x)`", "str({base})"}},
    {"", {"to_string", "it is written `str(x)`", "str({base})"}},
    {"session",
     {"load_state_dict",
      "`session.restore(\"net.safetensors\")` reads all variables, `session.write_variables_data({w: x})` sets some"}},
    {"session",
     {"state_dict",
      "`session.get_tensors_data(net.vars)` gives the values, `session.save(\"net.safetensors\")` writes them"}},
};

// Modules of other frameworks, whose members are functions and ops here.
constexpr std::string_view frameworks[] = {"np",    "numpy", "jnp",    "torch",  "tf",    "jax",        "math",
                                           "popxl", "F",     "keras",  "random", "optax", "functional", "layers",
                                           "flax",  "Flux",  "linalg", "lax",    "K",     "nnx",        "linen",
                                           "tfa",   "scipy", "stats",  "ops",    "jr",    "cp"};

}  // namespace

std::span<const ForeignName> foreign_names() { return foreign_table; }
std::span<const ForeignName> foreign_methods() { return method_table; }

namespace {

const ForeignName* row_in(std::span<const ForeignName> table, std::string_view name) {
  const auto found = std::find_if(table.begin(), table.end(), [&](const ForeignName& f) { return f.name == name; });
  return found == table.end() ? nullptr : &*found;
}

}  // namespace

bool is_framework(std::string_view name) {
  return std::find(std::begin(frameworks), std::end(frameworks), name) != std::end(frameworks);
}

const ForeignName* foreign_path(std::string_view path) { return row_in(path_table, path); }

const ForeignName* foreign_name(std::string_view name) { return row_in(foreign_table, name); }

const ForeignName* foreign_member(std::string_view name, std::string_view type) {
  for (const ForeignMember& m : foreign_members)
    if (m.row.name == name && (m.type.empty() || m.type == type)) return &m.row;
  if (const ForeignName* found = row_in(method_table, name)) return found;
  const ForeignName* found = foreign_name(name);
  return found && !found->way_out.starts_with("it is a member") ? found : nullptr;
}

}  // namespace pxl
