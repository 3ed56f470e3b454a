#include "interpreter/values/argument_names.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/base/text/suggest.hpp"

namespace pxl {
namespace {

// Names of one parameter in pxl and other frameworks, a group a line.
constexpr std::string_view groups[] = {
    " lr learning_rate eta step_size alpha ",
    " axis axes dim dims ",
    " keepdims keepdim keep_dims ",
    " eps epsilon ",
    " beta1 beta_1 b1 ",
    " beta2 beta_2 b2 ",
    " p rate dropout dropout_rate prob drop_prob ",
    " bias use_bias with_bias ",
    " num_heads heads n_heads nhead ",
    " num_layers layers n_layers ",
    " features out_features units output_dim out_dim num_units dim_out n_out ",
    " channels out_channels filters ",
    " kernel kernel_size kernel_shape ",
    " stride strides ",
    " padding pads pad ",
    " dilation dilations dilation_rate ",
    " dtype type ",
    " shape size ",
    " std stddev scale sigma ",
    " mean loc mu ",
    " low minval min a minimum ",
    " high maxval max b maximum ",
    " weight_decay wd decay ",
    " smoothing label_smoothing ",
    " labels target targets y_true ",
    " x input inputs ",
    " groups num_groups ",
    " reduction reduce ",
    " vocab num_embeddings vocab_size input_dim ",
    " momentum decay ",
    " end_factor final_factor ",
    " wrt argnums argnum arguments ",
    " aux has_aux ",
    " axes in_axes ",
    " hidden_size embedding_dim embed_dim d_model n_embd ",
};

// Arguments that pxl does not have, and what is written in their place. `drop`: the argument can be left out.
struct Missing {
  std::string_view name, way_out;
  bool drop = false;
};
constexpr std::string_view no_mode =
    "there is no mode: dropout takes a seed, and a program without it leaves the seed out";
constexpr Missing missing[] = {
    {"activation", "an activation is an op of its own: `relu(layer(x))`, or `Sequential(Linear(8), relu)`"},
    {"train", no_mode},
    {"training", no_mode},
    {"is_training", no_mode},
    {"deterministic", no_mode},
    {"device", "programs run on the host's processor: leave it out", true},
    {"requires_grad", "gradients are asked for by `grad(loss, w)`: leave it out", true},
    {"inplace", "an op makes a new tensor; the form with an underscore changes one: leave it out", true},
    {"input_shape", "the shape of the input is that of the argument: leave it out", true},
    {"in_features", "the size of the input is that of the argument: leave it out", true},
    {"in_channels", "the channels of the input are those of the argument: leave it out", true},
    {"input_size", "pxl infers the size of the input: leave it out", true},
    {"input_dim", "pxl infers the size of the input: leave it out", true},
    {"num_features", "pxl infers the size of the input: leave it out", true},
    {"normalized_shape", "pxl infers the size of the input: leave it out", true},
    {"num_channels", "pxl infers the channels of the input: leave it out", true},
    {"kernel_initializer", "a param has its initialiser where it is declared: `param w: float32[3] = normal(0, 0.1)`"},
    {"flush", "what is printed is written at once: leave it out", true},
    {"file", "`print` writes to standard output, `write_text(path, text)` to a file"},
    {"key", "draws of a program take a `seed`: uint32[2]"},
    {"rng", "draws of a program take a `seed`: uint32[2]"},
    {"out", "an op returns its result: `y = add(a, b)`"},
};

Span name_span(const NamedArg& named) {
  if (!named.span || !named.span.text().starts_with(named.name)) return {};
  return {named.span.file, named.span.begin, named.span.begin + static_cast<uint32_t>(named.name.size())};
}

}  // namespace

Span with_comma(const Span& at) {
  const std::string_view text = at.file->text();
  const size_t before = at.begin == 0 ? text.npos : text.find_last_not_of(" \n", at.begin - 1);
  if (before != text.npos && text[before] == ',') return {at.file, static_cast<uint32_t>(before), at.end};
  const size_t after = text.find_first_not_of(" \n", at.end);
  if (after == text.npos || text[after] != ',') return at;
  return {at.file, at.begin, static_cast<uint32_t>(std::min(text.find_first_not_of(' ', after + 1), text.size()))};
}

std::string meant_parameter(std::string_view name, const std::vector<std::string>& parameters) {
  const std::string word = fmt::format(" {} ", name);
  for (const std::string_view group : groups)
    if (group.find(word) != group.npos)
      for (const std::string& p : parameters)
        if (p != name && group.find(" " + p + " ") != group.npos) return p;
  return nearest(name, parameters).value_or("");
}

void explain_unknown_argument(Error& e, const NamedArg& named, const std::vector<std::string>& parameters,
                              const Arguments& args, const std::vector<std::string>& given_by_position) {
  std::vector<std::string> left;
  const auto has = [](const auto& list, const std::string& name, auto&& name_of) {
    return std::any_of(list.begin(), list.end(), [&](const auto& x) { return name_of(x) == name; });
  };
  for (const std::string& p : parameters)
    if (!has(args.named, p, [](const NamedArg& n) { return n.span ? n.name : std::string(); }) &&
        !has(given_by_position, p, [](const std::string& s) { return s; }))
      left.push_back(p);
  const std::string meant = meant_parameter(named.name, left);
  if (!meant.empty()) {
    e.first().notes.insert(e.first().notes.begin(), fmt::format("did you mean `{}`?", meant));
    e.offer(name_span(named), meant);
    return;
  }
  const auto row =
      std::find_if(std::begin(missing), std::end(missing), [&](const Missing& m) { return m.name == named.name; });
  if (row != std::end(missing)) {
    e.first().notes.insert(e.first().notes.begin(), std::string(row->way_out));
    if (row->drop && named.span) e.offer(with_comma(named.span), "", fmt::format("Remove `{}`", named.name));
  }
}

}  // namespace pxl
