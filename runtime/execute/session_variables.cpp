// Values of variables: reading, writing, copying from another session, saving and restoring.
#include <fmt/format.h>

#include <unordered_map>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/text/join_texts.hpp"
#include "runtime/execute/checkpoints/checkpoint.hpp"
#include "runtime/execute/checkpoints/checkpoint_parts.hpp"
#include "runtime/execute/session_state.hpp"
#include "runtime/graph/linear_weights.hpp"
#include "runtime/op/replica_groups.hpp"
#include "runtime/tensor/column_major.hpp"

namespace pxl {

namespace {

Error later_variable(const Tensor& variable) {
  return Error(fmt::format("the variable `{}` was added to the program after the session was made", variable.name),
               {"a session takes the program as it is: make a new one"})
      .as(codes::session);
}

}  // namespace

void Session::check_replicas() const {
  const VariablesTurn turn(state_->variables);
  state_->meet("compare the replicas");
  state_->check_equal("check_replicas");
}

Array Session::get_tensor_data(const Tensor* tensor, Retrieval retrieval) const {
  if (!tensor || tensor->graph == nullptr || &tensor->graph->ir() != state_->ir.get())
    throw Error(fmt::format("`{}` does not belong to the session's program", tensor ? tensor->name : "none"))
        .as(codes::other_graph);
  if (state_->variables.has(tensor)) {
    const VariablesTurn turn(state_->variables);
    state_->meet(fmt::format("read the variable `{}`", tensor->name));
    if (retrieval == Retrieval::all) return state_->variables.read_all(tensor);
    if (retrieval == Retrieval::one_per_group) state_->variables.check_equal(tensor, "get_tensor_data");
    return state_->variables.read(tensor);
  }
  if (tensor->kind == TensorKind::constant) return tensor->data.clone();
  if (tensor->kind == TensorKind::variable) throw later_variable(*tensor);
  throw Error(
      fmt::format("`{}` is neither a variable nor a constant, so a session does not keep its value", tensor->id),
      {"store it to a stream, or copy it to a variable"})
      .as(codes::session);
}

void Session::write_variable_data(const Tensor* tensor, const Array& value) { write_variables_data({{tensor, value}}); }

void Session::write_variables_data(const std::vector<VariableValue>& values) {
  const VariablesTurn turn(state_->variables);
  for (const auto& [tensor, value] : values) state_->check_value(tensor, value);
  for (const auto& [tensor, value] : values) state_->variables.write(tensor, value);
}

void Session::write_replicas(const Tensor* tensor, const Array& values) {
  const VariablesTurn turn(state_->variables);
  state_->variables.write_all(tensor, values);
}

void Session::reset(const std::vector<const Tensor*>& variables) {
  std::vector<VariableValue> values;
  for (const Tensor* v : variables) values.push_back({v, v->data});
  write_variables_data(values);
}

void Session::State::check_value(const Tensor* tensor, const Array& value) const {
  if (tensor && tensor->kind == TensorKind::variable && tensor->graph && &tensor->graph->ir() == ir.get() &&
      !variables.has(tensor))
    throw later_variable(*tensor);
  if (!tensor || !variables.has(tensor))
    throw Error(fmt::format("`{}` is not a variable of the session's program", tensor ? tensor->name : "none"))
        .as(codes::session);
  if (value.shape() == tensor->data.shape() && value.dtype() == tensor->spec.dtype) return;
  std::vector<std::string> notes;
  if (!tensor->groups.empty())
    notes.push_back(
        fmt::format("a value for each of its {} groups is {}", group_count(tensor->groups), text(tensor->data.spec())));
  throw Error(
      fmt::format("the variable `{}` is {}, the value {}", tensor->name, text(tensor->spec), text(value.spec())),
      std::move(notes))
      .as(codes::session);
}

std::vector<NamedVariable> Session::State::named() const {
  std::vector<NamedVariable> named;
  for (const Tensor* v : variables.all()) named.push_back({v->name, v->data.spec(), v->path});
  return named;
}

std::vector<std::string> Session::State::checkpoint_names() const {
  std::vector<std::string> names;
  std::unordered_map<std::string, const Tensor*> taken;
  for (const Tensor* v : variables.all()) {
    names.push_back(NamedVariable{v->name, {}, v->path}.checkpoint_name());
    const auto [first, added] = taken.emplace(names.back(), v);
    if (!added)
      throw run_error(fmt::format("save: two variables have the name `{}`: {} and {}", names.back(),
                                  text(*first->second), text(*v)),
                      {"give one a name: `net.bound(x, name = \"...\")`, `facts.init(\"...\")`, or another name for "
                       "its tree in the program"})
          .as(codes::session);
  }
  return names;
}

Session::LoadReport Session::State::compare(const std::vector<NamedVariable>& source, const VariableMatches& matches,
                                            bool states) const {
  LoadReport report;
  report.by_order = matches.by_order;
  const std::vector<NamedVariable> here = named();
  constexpr size_t no_one = VariableMatches::none, left_out = no_one - 1;
  std::vector<size_t> taker(source.size(), no_one);
  for (size_t i = 0; i < here.size(); ++i) {
    const bool takes_part = states || !variables.all()[i]->is_state;
    if (matches.source[i] != no_one)
      taker[matches.source[i]] = takes_part ? i : left_out;
    else if (takes_part)
      report.missing.push_back(here[i].checkpoint_name());
  }
  for (size_t i = 0; i < source.size(); ++i) {
    if (taker[i] == left_out) continue;
    if (taker[i] == no_one) {
      report.unused.push_back(source[i].name);
      continue;
    }
    const NamedVariable& to = here[taker[i]];
    const TensorSpec& from = source[i].spec;
    if (to.spec.shape != from.shape || to.spec.dtype != from.dtype)
      report.mismatched.push_back(
          fmt::format("{}: {} here, {} there", to.checkpoint_name(), text(to.spec), text(from)));
    else
      report.loaded.push_back(to.checkpoint_name());
  }
  return report;
}

Session::LoadReport Session::load_from(const Session& other) {
  const VariablesTurn turn(state_->variables, other.state_->variables);
  other.state_->meet("copy the variables of a session");
  other.state_->check_equal("load_from_session");
  std::vector<NamedVariable> source = other.state_->named();
  const VariableMatches matches = match_variables(state_->named(), source);
  for (NamedVariable& v : source) v.name = v.checkpoint_name();
  LoadReport report = state_->compare(source, matches);
  if (!report.mismatched.empty())
    throw run_error("load_from_session: variables differ in shape or dtype", report.mismatched).as(codes::session);
  if (!matches.undecided.empty()) {
    std::vector<std::string> notes = matches.undecided;
    notes.push_back("bind them by equal names in both programs, or name them: `facts.init(\"prefix\")`");
    throw run_error("load_from_session: several variables of the other session fit one name", std::move(notes))
        .as(codes::session);
  }
  if (report.loaded.empty())
    throw run_error("load_from_session: the sessions have no variable in common",
                    {fmt::format("here: {}", report.missing.empty() ? "none" : join_texts(report.missing, ", ")),
                     fmt::format("there: {}", report.unused.empty() ? "none" : join_texts(report.unused, ", ")),
                     "variables are found by name: `facts.init(\"prefix\")` and name_scope name them"})
        .as(codes::session);
  for (size_t i = 0; i < matches.source.size(); ++i)
    if (matches.source[i] != VariableMatches::none)
      state_->variables.write(state_->variables.all()[i],
                              other.state_->variables.read(other.state_->variables.all()[matches.source[i]]));
  return report;
}

namespace {

/// The entry of a checkpoint's metadata, or of its index, with the paths of its variables.
constexpr std::string_view paths_entry = "paths";

}  // namespace

void Session::save(const std::string& path, const std::vector<NamedArray>& beside) const {
  const VariablesTurn turn(state_->variables);
  state_->meet("save the variables");
  state_->check_equal("save");
  const Variables& variables = state_->variables;
  const std::vector<std::string> names = state_->checkpoint_names();
  std::vector<NamedSpec> entries;
  for (size_t i = 0; i < names.size(); ++i) entries.push_back({names[i], variables.all()[i]->data.spec()});
  for (const NamedArray& a : beside) entries.push_back({a.name, a.data.spec()});
  CheckpointFormat format;
  if (std::string paths = paths_text(state_->named()); !paths.empty())
    format.metadata.emplace_back(paths_entry, std::move(paths));
  write_checkpoint(
      path, entries,
      [&](size_t i) {
        state_->meet(fmt::format("save the variable `{}`", entries[i].name));
        if (i >= names.size()) return beside[i - names.size()].data;
        return variables.read(variables.all()[i]);
      },
      format);
}

void Session::save_parts(const std::string& folder) const {
  const VariablesTurn turn(state_->variables);
  state_->meet("save the variables in parts");
  state_->check_equal("save");
  pxl::save_parts(state_->variables, state_->checkpoint_names(), folder, paths_text(state_->named()),
                  [&](const std::string& what) { state_->meet(what); });
}

Session::LoadReport Session::restore(const std::string& path, const RestoreOptions& options) {
  CheckpointFile file(path);
  const VariablesTurn turn(state_->variables);
  const std::vector<NamedVariable> here = state_->named();
  std::unordered_map<std::string, size_t> by_name, by_path;
  for (size_t i = 0; i < here.size(); ++i) {
    by_name.emplace(here[i].name, i);
    if (here[i].path.known()) by_path.emplace(here[i].path.text(), i);
  }
  std::vector<NamedVariable> entries;
  for (const NamedSpec& e : file.entries()) entries.push_back({e.name, e.spec});
  for (const auto& [name, text] : file.metadata())
    if (name == paths_entry) read_paths(text, entries);
  // The entries of the file that are not ignored, their positions in the file, and the entries that `variable_of` has
  // chosen.
  std::vector<NamedVariable> taken;
  std::vector<size_t> place;
  std::unordered_map<std::string, std::string> origin;
  for (size_t i = 0; i < entries.size(); ++i) {
    NamedVariable e = entries[i];
    if (e.name.starts_with(beside_prefix)) continue;
    if (options.variable_of) {
      std::optional<std::string> wanted = options.variable_of(e.name);
      if (wanted == e.name && e.path.known()) {
        const std::optional<std::string> of_path = options.variable_of(e.path.text());
        if (of_path != e.path.text()) wanted = of_path;
      }
      if (!wanted || wanted->empty()) continue;
      e.by_name_only = *wanted != e.name;
      e.name = *wanted;
      const auto bound = by_path.find(e.name);
      if (e.by_name_only && bound != by_path.end()) e.name = here[bound->second].name;
    }
    if (const auto [first, added] = origin.emplace(e.name, entries[i].name); !added)
      throw run_error(fmt::format("restore: `{}` and `{}` of {} are both for the variable `{}`", first->second,
                                  entries[i].name, path, e.name))
          .as(codes::session);
    taken.push_back(std::move(e));
    place.push_back(i);
  }
  const VariableMatches matches = match_variables(here, taken);
  const auto by_pxl = [](const auto& entry) {
    return entry.first == paths_entry || (entry.first == "format" && entry.second == "pxl");
  };
  const bool foreign = std::none_of(file.metadata().begin(), file.metadata().end(), by_pxl);
  std::vector<const Tensor*> target(entries.size(), nullptr);  // of the entries that are read
  std::vector<bool> transposed(entries.size());
  for (size_t i = 0; i < here.size(); ++i) {
    if (matches.source[i] == VariableMatches::none) continue;
    NamedVariable& e = taken[matches.source[i]];
    const size_t at = place[matches.source[i]];
    const Tensor* variable = state_->variables.all()[i];
    if (!options.states && variable->is_state) continue;
    const bool linear = e.spec.shape.size() == 2 && is_linear_weight(*variable);
    transposed[at] = linear && options.transpose_linear.value_or(false);
    if (linear && foreign && !options.transpose_linear && e.spec.shape[0] == e.spec.shape[1] && e.spec.shape[0] > 1)
      throw run_error(
          fmt::format("restore: `{}` is square: its shape does not tell whether it is [in, out] or [out, in]", e.name),
          {"`restore(path, transpose_linear = true)` for weights of PyTorch, false for weights of pxl"})
          .as(codes::session);
    if (transposed[at]) std::swap(e.spec.shape[0], e.spec.shape[1]);
    if (e.spec.shape == here[i].spec.shape && e.spec.dtype == here[i].spec.dtype) target[at] = variable;
  }
  LoadReport report = state_->compare(taken, matches, options.states);
  if (options.strict && !(report.missing.empty() && report.mismatched.empty())) {
    std::vector<std::string> notes;
    if (!report.missing.empty())
      notes.push_back(fmt::format("missing in the file: {}", join_texts(report.missing, ", ")));
    for (const std::string& m : report.mismatched) notes.push_back("another shape or dtype: " + m);
    if (!report.unused.empty()) notes.push_back(fmt::format("unused in the file: {}", join_texts(report.unused, ", ")));
    notes.insert(notes.end(), matches.undecided.begin(), matches.undecided.end());
    if (!matches.undecided.empty())
      notes.push_back("`restore(path, map = {\"name there\": \"name here\"})` says which is which");
    notes.push_back("`restore(path, strict = false)` restores what fits, and returns what does not");
    const size_t all = report.missing.size() + report.mismatched.size();
    throw run_error(fmt::format("restore: {} does not have {} of the {} variables of program {}", path, all,
                                state_->variables.all().size(), state_->ir->name()),
                    std::move(notes))
        .as(codes::session);
  }
  file.read_all_or_none([&](size_t i) { return target[i] != nullptr; },
                        [&](size_t i, Array value) {
                          state_->variables.write(
                              target[i], transposed[i] ? from_column_major(value, target[i]->data.shape()) : value);
                        });
  return report;
}

}  // namespace pxl
