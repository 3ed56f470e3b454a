// Values of variables: reading, writing, copying from another session, saving and restoring.
#include <fmt/format.h>

#include <unordered_map>
#include <unordered_set>

#include "runtime/base/codes.hpp"
#include "runtime/base/join_texts.hpp"
#include "runtime/execute/checkpoint.hpp"
#include "runtime/execute/checkpoint_parts.hpp"
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
  state_->meet("compare the replicas");
  state_->check_equal("check_replicas");
}

Array Session::get_tensor_data(const Tensor* tensor, Retrieval retrieval) const {
  if (!tensor || tensor->graph == nullptr || &tensor->graph->ir() != state_->ir.get())
    throw Error(fmt::format("`{}` does not belong to the session's program", tensor ? tensor->name : "none"))
        .as(codes::other_graph);
  if (state_->variables.has(tensor)) {
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
  for (const auto& [tensor, value] : values) state_->check_value(tensor, value);
  for (const auto& [tensor, value] : values) state_->variables.write(tensor, value);
}

void Session::write_replicas(const Tensor* tensor, const Array& values) { state_->variables.write_all(tensor, values); }

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

Session::LoadReport Session::State::compare(const std::vector<NamedSpec>& source) const {
  LoadReport report;
  const std::unordered_map<std::string, const Tensor*> here = by_name();
  std::unordered_set<std::string> there;
  for (const NamedSpec& from : source) {
    there.insert(from.name);
    const auto found = here.find(from.name);
    if (found == here.end()) {
      report.unused.push_back(from.name);
      continue;
    }
    const TensorSpec spec = found->second->data.spec();
    if (spec.shape != from.spec.shape || spec.dtype != from.spec.dtype)
      report.mismatched.push_back(fmt::format("{}: {} here, {} there", from.name, text(spec), text(from.spec)));
    else
      report.loaded.push_back(from.name);
  }
  for (const Tensor* v : variables.all())
    if (!there.count(v->name)) report.missing.push_back(v->name);
  return report;
}

std::unordered_map<std::string, const Tensor*> Session::State::by_name() const {
  std::unordered_map<std::string, const Tensor*> named;
  for (const Tensor* v : variables.all()) named.emplace(v->name, v);
  return named;
}

Session::LoadReport Session::load_from(const Session& other) {
  other.state_->meet("copy the variables of a session");
  other.state_->check_equal("load_from_session");
  std::vector<NamedSpec> source;
  for (const Tensor* v : other.state_->variables.all()) source.push_back({v->name, v->data.spec()});
  LoadReport report = state_->compare(source);
  if (!report.mismatched.empty())
    throw run_error("load_from_session: variables differ in shape or dtype", report.mismatched).as(codes::session);
  if (report.loaded.empty())
    throw run_error("load_from_session: the sessions have no variable in common",
                    {fmt::format("here: {}", report.missing.empty() ? "none" : join_texts(report.missing, ", ")),
                     fmt::format("there: {}", report.unused.empty() ? "none" : join_texts(report.unused, ", ")),
                     "variables are found by name: `facts.init(\"prefix\")` and name_scope name them"})
        .as(codes::session);
  const auto here = state_->by_name(), there = other.state_->by_name();
  for (const std::string& name : report.loaded)
    state_->variables.write(here.at(name), other.state_->variables.read(there.at(name)));
  return report;
}

void Session::save(const std::string& path) const {
  state_->meet("save the variables");
  state_->check_equal("save");
  const Variables& variables = state_->variables;
  std::vector<NamedSpec> entries;
  for (const Tensor* v : variables.all()) entries.push_back({v->name, v->data.spec()});
  write_checkpoint(path, entries, [&](size_t i) {
    state_->meet(fmt::format("save the variable `{}`", entries[i].name));
    return variables.read(variables.all()[i]);
  });
}

void Session::save_parts(const std::string& folder) const {
  state_->meet("save the variables in parts");
  state_->check_equal("save");
  pxl::save_parts(state_->variables, folder, [&](const std::string& what) { state_->meet(what); });
}

Session::LoadReport Session::restore(const std::string& path, const RestoreOptions& options) {
  CheckpointFile file(path);
  const auto here = state_->by_name();
  // The entries as the session's variables have them; empty names: ignored.
  std::vector<NamedSpec> entries = file.entries(), taken;
  std::vector<bool> transposed(entries.size());
  std::unordered_map<std::string, std::string> origin;
  for (size_t i = 0; i < entries.size(); ++i) {
    NamedSpec& e = entries[i];
    if (options.variable_of) e.name = options.variable_of(e.name).value_or("");
    if (e.name.empty()) continue;
    if (const auto [first, added] = origin.emplace(e.name, file.entries()[i].name); !added)
      throw run_error(fmt::format("restore: `{}` and `{}` of {} are both for the variable `{}`", first->second,
                                  file.entries()[i].name, path, e.name))
          .as(codes::session);
    const auto variable = here.find(e.name);
    transposed[i] = options.transpose_linear && variable != here.end() && e.spec.shape.size() == 2 &&
                    is_linear_weight(*variable->second);
    if (transposed[i]) std::swap(e.spec.shape[0], e.spec.shape[1]);
    taken.push_back(e);
  }
  LoadReport report = state_->compare(taken);
  if (options.strict && !(report.missing.empty() && report.mismatched.empty())) {
    std::vector<std::string> notes;
    if (!report.missing.empty())
      notes.push_back(fmt::format("missing in the file: {}", join_texts(report.missing, ", ")));
    for (const std::string& m : report.mismatched) notes.push_back("another shape or dtype: " + m);
    if (!report.unused.empty()) notes.push_back(fmt::format("unused in the file: {}", join_texts(report.unused, ", ")));
    notes.push_back("`restore(path, strict = false)` restores what fits, and returns what does not");
    const size_t all = report.missing.size() + report.mismatched.size();
    throw run_error(fmt::format("restore: {} does not have {} of the {} variables of program {}", path, all,
                                state_->variables.all().size(), state_->ir->name()),
                    std::move(notes))
        .as(codes::session);
  }
  const std::unordered_set<std::string> found(report.loaded.begin(), report.loaded.end());
  file.read_all_or_none([&](size_t i) { return found.count(entries[i].name) > 0; },
                        [&](size_t i, Array value) {
                          state_->variables.write(
                              here.at(entries[i].name),
                              transposed[i] ? from_column_major(value, entries[i].spec.shape) : value);
                        });
  return report;
}

}  // namespace pxl
