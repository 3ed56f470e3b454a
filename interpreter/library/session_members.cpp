// The members of sessions: runs, variables, checkpoints, reports.
#include <fmt/format.h>

#include "interpreter/graphs/modules/modules.hpp"
#include "interpreter/graphs/programs.hpp"
#include "interpreter/graphs/tensor_objects.hpp"
#include "interpreter/graphs/variables/variable_paths.hpp"
#include "interpreter/language/check.hpp"
#include "interpreter/language/evaluator.hpp"
#include "interpreter/language/look.hpp"
#include "interpreter/library/data/saved_states.hpp"
#include "interpreter/library/estimates.hpp"
#include "interpreter/library/missing_files.hpp"
#include "interpreter/library/session_families.hpp"
#include "interpreter/library/sessions.hpp"
#include "interpreter/values/builtin.hpp"
#include "interpreter/values/call_chain.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/conversions.hpp"
#include "interpreter/values/host.hpp"
#include "interpreter/values/members.hpp"
#include "interpreter/values/operations.hpp"
#include "interpreter/values/unknown.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/text/join_texts.hpp"
#include "runtime/graph/ir.hpp"
#include "runtime/graph/shown_names.hpp"
#include "runtime/io/suffix.hpp"

namespace pxl {
namespace {

/// How the script names a variable of a session: "ir.net.vars.weight"; empty if it has no name, or several.
std::string written_variable(Interpreter& in, const SessionObject& s, const std::string& name) {
  const auto* program = s.program.as<IrObject>();
  if (!program || !program->fields) return {};
  std::string found, ir = "session.ir";
  for (const auto& [bound, value] : evaluator_of(in).file_scope()->entries())
    if (const auto* other = value.as<IrObject>(); other && other->ir == s.ir) ir = bound.text();
  for (const auto& [tensor, at] : variable_paths(*s.ir, *program->fields)) {
    if (tensor->name != name && at.path != name && !at.path.ends_with("." + name)) continue;
    if (!found.empty()) return {};
    const Value* field = program->fields->find_here(at.prefix);
    const bool bound = field && field->as<BoundGraphObject>();
    found = fmt::format("{}.{}{}{}{}", ir, at.prefix, bound ? ".vars" : "", at.path.empty() ? "" : ".", at.path);
  }
  return found;
}

Tensor* state_tensor(Interpreter& in, const Value& v, const SessionObject& session, const char* where) {
  const Ir& ir = *session.ir;
  Tensor* t = as_tensor(v);
  if (const std::string* name = v.as_string(); name && !t) {
    Error e(std::string(where) + " takes a variable, got a str",
            {"a tensor is given itself, as a field of the program: `ir.net.vars.weight`"});
    e.as(codes::type);
    if (const std::string written = written_variable(in, session, *name); !written.empty()) {
      e.first().notes = {fmt::format("a tensor is given itself: `{}`", written)};
      const Span call = position_of(in).here;
      for (const char quote : {'"', '\''}) {
        const size_t at = call.text().find(quote + *name + quote);
        if (at == std::string_view::npos) continue;
        const auto begin = call.begin + static_cast<uint32_t>(at);
        e.offer({call.file, begin, begin + static_cast<uint32_t>(name->size()) + 2}, written);
      }
    }
    throw std::move(e);
  }
  if (!t) type_error(std::string(where) + " takes a variable, got " + with_article(v.type_name()));
  if (Tensor* variable = variable_of(session, t)) t = variable;
  if (&t->graph->ir() != &ir)
    throw Error(std::string(where) + ": `" + shown_name(*t) + "` belongs to program " + t->graph->ir().name() +
                ", not to " + ir.name())
        .as(codes::other_graph);
  return t;
}

/// Writes all variables, or none if one value does not fit.
void write_variables(Interpreter& in, SessionObject& s, const std::string& where,
                     const std::vector<std::pair<Value, Value>>& items) {
  std::vector<Session::VariableValue> values;
  for (const auto& [tensor, data] : items) {
    Tensor* t = state_tensor(in, tensor, s, where.c_str());
    if (t->kind != TensorKind::variable) type_error(where + ": `" + shown_name(*t) + "` is no variable");
    const Array* array = data.as_array();
    if (!array && !data.is_number() && !data.as<SequenceObject>())
      type_error(where + " takes an array or a number for `" + shown_name(*t) + "`, got " +
                 with_article(data.type_name()));
    if (array && array->has_elements()) (void)array->raw();  // of a lazy array: what cannot be read fails here
    values.push_back({t, array ? *array : to_array(in, data, t->spec.dtype, where + ": `" + t->name + "`")});
  }
  s.changing();
  s.session->write_variables_data(values);
  for (const Session::VariableValue& v : values) s.weights_to_host(v.tensor);
}

Value report_value(const Session::LoadReport& r) {
  auto d = make_ref<DictObject>();
  auto put = [&](const char* name, const std::vector<std::string>& list) {
    std::vector<Value> items(list.begin(), list.end());
    d->put(Value(name), make_list(std::move(items)));
  };
  put("loaded", r.loaded);
  put("missing", r.missing);
  put("mismatched", r.mismatched);
  put("unused", r.unused);
  return d;
}

Value s_get_tensor_data(Interpreter& in, SessionObject& s, const Arguments& args) {
  ArgReader a(args);
  const std::string retrieval = a.string_or("retrieval", "one_per_group");
  if (retrieval != "one_per_group" && retrieval != "all")
    throw Error("get_tensor_data: retrieval is \"one_per_group\" or \"all\", not \"" + retrieval + "\"")
        .as(codes::value);
  s.weights_to_host();
  return Value(
      s.session->get_tensor_data(state_tensor(in, a.value("tensor"), s, "get_tensor_data"),
                                 retrieval == "all" ? Session::Retrieval::all : Session::Retrieval::one_per_group));
}
Value s_check_replicas(Interpreter&, SessionObject& s, const Arguments& args) {
  ArgReader a(args);
  s.session->check_replicas();
  return {};
}
Value s_get_tensors_data(Interpreter& in, SessionObject& s, const Arguments& args) {
  ArgReader a(args);
  s.weights_to_host();
  auto d = make_ref<DictObject>();
  std::vector<Value> list;
  Value given = a.value("tensors");
  if (auto* tree = given.as<TreeObject>())
    list = tree->sorted_tensors();
  else if (as_tensor(given))
    list.push_back(given);
  else
    list = elements_of(in, given);
  for (const Value& t : list) d->put(t, Value(s.session->get_tensor_data(state_tensor(in, t, s, "get_tensors_data"))));
  return d;
}
Value s_write_variable_data(Interpreter& in, SessionObject& s, const Arguments& args) {
  ArgReader a(args);
  write_variables(in, s, "write_variable_data", {{a.value("tensor"), a.value("data")}});
  return {};
}
Value s_write_variables_data(Interpreter& in, SessionObject& s, const Arguments& args) {
  ArgReader a(args);
  auto* d = a.value("data").as<DictObject>();
  if (!d)
    type_error("write_variables_data takes a dict from variables to arrays, got " +
               with_article(a.value("data").type_name()));
  write_variables(in, s, "write_variables_data", {d->items.begin(), d->items.end()});
  return {};
}
/// The report as a value. A notice names the variables that only the order of calls tells apart.
Value noted_report(Interpreter& in, const char* function, const Session::LoadReport& r) {
  if (!r.by_order.empty())
    host_of(in).notice(fmt::format("{}: the order of calls alone tells these variables apart: {}\n", function,
                                   join_texts(r.by_order, ", ")));
  return report_value(r);
}
Value s_load_from_session(Interpreter& in, SessionObject& s, const Arguments& args) {
  ArgReader a(args);
  auto* other = a.value("other").as<SessionObject>();
  if (!other) type_error("load_from_session takes a session, got " + with_article(a.value("other").type_name()));
  s.changing();
  return noted_report(in, "load_from_session", s.session->load_from(*other->session));
}
Value s_save(Interpreter& in, SessionObject& s, const Arguments& args) {
  ArgReader a("save", args, {"path", "shards", "data"});
  const std::string path = a.string("path");
  const Value data = a.value_or("data", {});
  if (a.boolean_or("shards", false)) {
    if (!data.is_none())
      throw Error("session.save: `data` is saved in one file, and shards are several").as(codes::arguments);
    s.session->save_parts(path);
    return {};
  }
  require_suffix("session.save", path, ".safetensors", "variables");
  s.session->save(path, states_beside(in, data));
  return {};
}
/// The variable to which `map`, a dict or a function, assigns an entry of a file.
std::optional<std::string> mapped_name(Interpreter& in, const Value& map, const std::string& entry) {
  Value name;
  if (const auto* dict = map.as<DictObject>()) {
    const Value* found = dict->find(Value(entry));
    std::string rest;
    // Searches the dict for the longest prefix of the name.
    for (size_t dot = entry.rfind('.'); !found && dot != entry.npos && dot > 0; dot = entry.rfind('.', dot - 1)) {
      found = dict->find(Value(entry.substr(0, dot)));
      rest = entry.substr(dot);
    }
    if (!found) return entry;
    if (!rest.empty() && found->as_string()) return *found->as_string() + rest;
    name = *found;
  } else {
    name = invoke(in, map, {Value(entry)});
  }
  if (name.is_none()) return {};
  const std::string* text = name.as_string();
  if (!text) type_error("restore: map gives names of variables or none, not " + with_article(name.type_name()));
  return *text;
}
Value s_restore(Interpreter& in, SessionObject& s, const Arguments& args) {
  ArgReader a(args);
  Session::RestoreOptions options;
  options.strict = a.boolean("strict");
  options.states = a.boolean("states");
  if (const Value given = a.value_or("transpose_linear", {}); !given.is_none())
    options.transpose_linear = a.boolean_or("transpose_linear", false);
  const Value map = a.value_or("map", {});
  if (!map.is_none()) options.variable_of = [&](const std::string& entry) { return mapped_name(in, map, entry); };
  s.changing();
  const std::string path = a.string("path");
  const Session::LoadReport report = reading_file(in, path, [&] {
    ResumedStates states(in, path, a.value_or("data", {}));
    Session::LoadReport restored = s.session->restore(path, options);
    states.keep();
    return restored;
  });
  return noted_report(in, "restore", report);
}
Value s_reset(Interpreter& in, SessionObject& s, const Arguments& args) {
  ArgReader a(args);
  std::vector<const Tensor*> variables;
  for (const auto& [path, v] : variables_meant(in, s, a.value("what"), "reset")) variables.push_back(v);
  s.changing();
  s.session->reset(variables);
  for (const Tensor* v : variables) s.weights_to_host(v);
  return {};
}
/// The pairs that `session.copy` copies: from, to. Throws unless `from` has each path in `to`, with its spec.
std::vector<std::pair<Tensor*, Tensor*>> copied_pairs(Interpreter& in, SessionObject& s, const ArgReader& a) {
  const auto from = variables_meant(in, s, a.value("from"), "copy"), to = variables_meant(in, s, a.value("to"), "copy");
  std::vector<std::pair<Tensor*, Tensor*>> pairs;
  std::vector<std::string> missing, paths;
  for (const auto& [path, v] : from) paths.push_back(path);
  for (const auto& [path, v] : to) {
    const auto source = std::ranges::find(paths, path);
    if (source == paths.end()) {
      missing.push_back(path);
      continue;
    }
    Tensor* of = from[static_cast<size_t>(source - paths.begin())].second;
    if (of->data.spec() != v->data.spec())
      throw Error(fmt::format("session.copy: `{}` is {} in `from` and {} in `to`", path, text(of->spec), text(v->spec)))
          .as(codes::session);
    pairs.emplace_back(of, v);
  }
  if (!missing.empty())
    throw Error(fmt::format("session.copy: `from` has no `{}`", join_texts(missing, "`, `")),
                {"its paths: " + join_texts(paths, ", ")})
        .as(codes::session);
  return pairs;
}
Value s_copy(Interpreter& in, SessionObject& s, const Arguments& args) {
  const ArgReader a("copy", args, {"from", "to"});
  std::vector<Session::VariableValue> values;
  for (const auto& [from, to] : copied_pairs(in, s, a)) values.push_back({to, s.session->get_tensor_data(from)});
  s.changing();
  s.session->write_variables_data(values);
  for (const Session::VariableValue& v : values) s.weights_to_host(v.tensor);
  return {};
}
Value s_report(Interpreter&, SessionObject& s, const Arguments& args) {
  ArgReader a(args);
  Session::MemoryUse use = s.session->memory();
  auto memory = make_ref<DictObject>();
  memory->put(Value("variables"), Value(use.variables));
  memory->put(Value("constants"), Value(use.constants));
  memory->put(Value("arena"), Value(use.arena));
  memory->put(Value("total"), Value(use.variables + use.constants + use.arena));
  auto d = make_ref<DictObject>();
  d->put(Value("device"), Value(s.session->device()));
  d->put(Value("num_host_transfers"), Value(s.session->num_host_transfers()));
  d->put(Value("memory"), Value(memory));
  if (s.has_grown())
    throw run_error("report: program " + s.ir->name() + " was added to after the session was made",
                    {"make a new session: `Session(" + s.ir->name() + ")`"})
        .as(codes::session);
  if (const auto counts = s.session->counts(); !counts.empty()) {
    auto of_runs = make_ref<DictObject>();
    for (const auto& [name, count] : counts) of_runs->put(Value(std::string(name)), Value(count));
    d->put(Value("runs"), Value(of_runs));
  }
  if (s.family) d->put(Value("sizes"), report_of_sizes(s));
  if (s.session->device() == "ipu_model")
    d->put(Value("ipu"), estimate_value(tiles::estimate(s.ir->main(), s.estimating)));
  return d;
}
Value stream_values(const SessionObject& s, const std::vector<const Stream*>& list) {
  std::vector<Value> out;
  for (const auto& owned : s.ir->streams())
    if (std::find(list.begin(), list.end(), owned.get()) != list.end())
      out.push_back(make_ref<StreamObject>(s.ir, owned.get()));
  return make_list(std::move(out));
}
Value s_expected_inputs(Interpreter&, SessionObject& s, const Arguments& args) {
  ArgReader a(args);
  return stream_values(s, s.session->expected_inputs());
}
Value s_outputs(Interpreter&, SessionObject& s, const Arguments& args) {
  ArgReader a(args);
  return stream_values(s, s.session->outputs());
}

using In = Interpreter&;
using SessionRef = SessionObject&;
using Got = std::optional<Value>;
constexpr Member<SessionObject> session_rows[] = {
    {"run", "(data = none, name = array, ..., finite = false)",
     "Runs the program once. Input streams are given by name, or in a dict by name or stream; the result has the "
     "arrays of the output streams. finite: a NaN or an infinity in an output or a variable is the error not-finite.",
     "session.run(x = [1.0, 2.0]).y", [](In in, SessionRef s, const Arguments& args) { return s.run(in, args); },
     Effect::runs_session},
    {"call", "(net, *arrays, name = array, ...)",
     "Calls a bound graph of the program, or the one of this name, on arrays of any shapes, with the variables as they "
     "are: `self.training` is false, and states are only read. The result has arrays in place of the tensors.",
     "", [](In in, SessionRef s, const Arguments& args) { return s.call_graph(in, args); }, Effect::runs_session},
    {"reset", "(what)",
     "Sets initial values again: of a tree, of a bound graph with its states, or of the one that the program calls so.",
     "session.reset(session.ir.w)", s_reset},
    {"copy", "(from, to)",
     "Copies variables to those with equal paths. Both are trees, bound graphs, or names of these in the program.",
     "session.copy(session.ir.w, session.ir.w)", s_copy},
    {"get_tensor_data", "(tensor, retrieval = 'one_per_group')",
     "The array of a variable or constant. retrieval: 'all' adds a first axis for replicas.",
     "session.get_tensor_data(session.ir.w)", s_get_tensor_data},
    {"get_tensors_data", "(tensors)", "A dict from variables to their arrays: of a list or a tree.",
     "session.get_tensors_data([session.ir.w])", s_get_tensors_data},
    {"check_replicas", "()", "An error if replicas of a variable differ that must be equal.",
     "session.check_replicas()", s_check_replicas},
    {"write_variable_data", "(tensor, data)", "Sets a variable to an array of its shape.",
     "session.write_variable_data(session.ir.w, [3.0, 4.0])\nsession.get_tensor_data(session.ir.w)",
     s_write_variable_data},
    {"write_variables_data", "(data)",
     "Sets variables, from a dict from variables to arrays: all of them, or none if one does not fit.",
     "session.write_variables_data({session.ir.w: [0.5, 0.5]})\nsession.get_tensor_data(session.ir.w)",
     s_write_variables_data},
    {"load_from_session", "(other)",
     "Copies the variables of another session by name, and returns which were loaded, missing, mismatched and unused.",
     "session.load_from_session(Session(scale()))", s_load_from_session},
    {"save", "(path, shards = false, data = none)",
     "Writes all variables to a file, NAME.safetensors, which other frameworks read too. shards: to a folder of such "
     "files with an index, which the processes of a job write at the same time. data: batches and replays by name, "
     "whose states are in the file too, with that of the script's random numbers.",
     "session.save('scale.safetensors')", s_save, Effect::writes_files},
    {"restore", "(path, strict = true, map = none, transpose_linear = none, states = true, data = none)",
     "Reads variables from a file, or from a folder that `save` made, by name, and returns which were loaded, missing, "
     "mismatched and unused. strict: an "
     "error if any of these is missing or mismatched. map: a dict from names in the file, or prefixes of them, to "
     "names of variables, or a "
     "function; none ignores an entry. transpose_linear: weights of dense layers are [out, in] in the file, as "
     "PyTorch has them. states: false leaves the states of builds as they are. data: batches and replays that go on "
     "where `save` found those of their names, as the script's random numbers do.",
     "session.save('scale.safetensors')\nsession.restore('scale.safetensors')", s_restore, Effect::reads_files},
    {"report", "()", "Memory of the plan in bytes, and cycles and memory on the tiles of the machine, as a dict.",
     "session.report()['memory']", s_report},
    {"expected_inputs", "()", "A list of the streams that a run must be given.", "session.expected_inputs()",
     s_expected_inputs},
    {"outputs", "()", "A list of the streams that a run returns.", "session.outputs()", s_outputs},
    {"ir", "The program.", "session.ir", [](In, SessionRef s) -> Got { return s.program; }},
    {"device", "\"cpu\" or \"ipu_model\".", "session.device", [](In, SessionRef s) -> Got { return Value(s.device); }},
    {"engine", "The name of the engine (docs/engines.md).", "session.engine",
     [](In, SessionRef s) -> Got { return Value(s.engine); }},
    {"is_attached", "Whether the session is inside its `with`.", "session.is_attached",
     [](In, SessionRef s) -> Got { return s.session ? Value(s.session->is_attached()) : unknown_value(); }},
    {"num_host_transfers", "The number of transfers of each stream in one run.", "session.num_host_transfers",
     [](In, SessionRef s) -> Got { return s.session ? Value(s.session->num_host_transfers()) : unknown_value(); }},
};
constexpr std::span<const Member<SessionObject>> session_table(session_rows);

/// A method of a session that was not made, for a look.
Value look_at_method(Interpreter& in, SessionObject& s, const Member<SessionObject>& row, const Arguments& args) {
  const std::string_view name = row.info.name;
  if (name == "run") return look_at_run(in, s, args);
  if (name == "call") return call_of_session(in, s, args);
  if (!holds_unknown(args)) values_by_parameter(row.info, args);
  if (name == "get_tensor_data") {
    ArgReader a(name, args, {"tensor", "retrieval"});
    if (is_unknown(a.value("tensor"))) return unknown_value();
    const TensorSpec& spec = state_tensor(in, a.value("tensor"), s, "get_tensor_data")->spec;
    return s.ir->replication_factor > 1 ? unknown_value() : unknown_array(spec);
  }
  if (name == "reset" || name == "copy") {
    if (holds_unknown(args)) return {};
    if (name == "reset")
      variables_meant(in, s, ArgReader(name, args, {"what"}).value("what"), "reset");
    else
      copied_pairs(in, s, ArgReader(name, args, {"from", "to"}));
    return {};
  }
  if (name == "save") {
    ArgReader a(name, args, {"path", "shards", "data"});
    if (a.value("path").as_string() && !holds_unknown(args) && !a.boolean_or("shards", false))
      require_suffix("session.save", a.string("path"), ".safetensors", "variables");
    return {};
  }
  if (name == "write_variable_data" || name == "write_variables_data" || name == "check_replicas") return {};
  return unknown_value();
}

}  // namespace

MemberTable session_members() {
  return member_table("session",
                      "A program prepared to run, with the state of its variables: `Session(scale())`. Inside `with "
                      "session { ... }` the variables stay on the device between runs.",
                      "program scale {\n  stream in x: float32[2]\n  w = variable([1.0, 2.0], name = 'w')\n"
                      "  stream out y = host_load(x) * w\n}\nsession = Session(scale())",
                      session_table);
}

std::optional<Value> SessionObject::member(Interpreter& in, std::string_view name) {
  const Member<SessionObject>* row = find_member(session_table, name);
  if (!row) return std::nullopt;
  if (row->get) return row->get(in, *this);
  if (session) {
    check_in_effect();
    return bind_member(*row, *this);
  }
  auto self = static_ref_cast<SessionObject>(shared_from_this());
  return make_method(
      {Effect::runs_session}, row->info,
      [self, row](Interpreter& inner, const Arguments& args) { return look_at_method(inner, *self, *row, args); },
      InLook::calls_body);
}

std::vector<std::string> SessionObject::member_names() const {
  std::vector<std::string> names;
  append_names(names, session_table);
  return names;
}

}  // namespace pxl
