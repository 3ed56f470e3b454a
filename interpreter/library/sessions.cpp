// Makes and runs sessions; `eval`.
#include "interpreter/library/sessions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "interpreter/graphs/calls/graph_builder.hpp"
#include "interpreter/graphs/modules/modules.hpp"
#include "interpreter/graphs/modules/tensor_trees.hpp"
#include "interpreter/graphs/programs.hpp"
#include "interpreter/graphs/variables/variable_paths.hpp"
#include "interpreter/language/check.hpp"
#include "interpreter/language/evaluator.hpp"
#include "interpreter/language/look.hpp"
#include "interpreter/library/estimates.hpp"
#include "interpreter/library/run_watch.hpp"
#include "interpreter/library/session_families.hpp"
#include "interpreter/values/builtin.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/conversions.hpp"
#include "interpreter/values/host.hpp"
#include "interpreter/values/operations.hpp"
#include "interpreter/values/scope.hpp"
#include "interpreter/values/unknown.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/text/join_texts.hpp"
#include "runtime/base/text/suggest.hpp"
#include "runtime/execute/engines/engine.hpp"
#include "runtime/execute/evaluate.hpp"
#include "runtime/execute/streams.hpp"
#include "runtime/execute/variables.hpp"
#include "runtime/graph/ir.hpp"
#include "runtime/graph/schedule.hpp"
#include "runtime/graph/shown_names.hpp"
#include "runtime/graph/transaction.hpp"
#include "runtime/io/suffix.hpp"

namespace pxl {

std::shared_ptr<const SessionObject::Names> stream_names(const Ir& ir, const Scope* fields) {
  auto names = std::make_shared<SessionObject::Names>();
  for (const auto& s : ir.streams()) (s->to_device ? names->inputs : names->outputs)[s->name()] = s.get();
  if (fields)
    for (const auto& [name, v] : fields->entries()) {
      if (auto* s = v.as<StreamObject>(); s && s->ir.get() == &ir) {
        auto& known = s->stream->to_device ? names->inputs : names->outputs;
        const auto [entry, fresh] = known.emplace(name.text(), s->stream);
        if (!fresh && entry->second != s->stream) entry->second = nullptr;
      } else if (const StreamObject* first = first_stream(v); first && first->ir.get() == &ir) {
        (first->stream->to_device ? names->input_trees : names->output_trees).emplace(name.text(), v);
      }
    }
  return names;
}

namespace {

std::string names_of(const std::vector<TreeLeaf>& parts) {
  std::vector<std::string> names;
  for (const auto& [name, part] : parts) names.push_back(name);
  return join_texts(names, ", ");
}

/// Gives the parts of a tree to the streams in their places. `where` begins messages, and `path` is the tree's.
void give_tree(Interpreter& in, const Value& streams, const Value& value, const std::string& where,
               const std::string& path, GivenStreams& to) {
  if (const auto* s = streams.as<StreamObject>()) {
    to.emplace_back(s->stream, value);
    return;
  }
  const std::vector<TreeLeaf> parts = branches_of(in, streams);
  const std::vector<TreeLeaf> given = is_unknown(value) ? std::vector<TreeLeaf>() : branches_of(in, value);
  const auto is_part = [&](const TreeLeaf& leaf) {
    return std::ranges::find(parts, leaf.first, &TreeLeaf::first) != parts.end();
  };
  const bool others = !std::ranges::all_of(given, is_part);
  for (const auto& [name, part] : parts) {
    const auto found = std::ranges::find(given, name, &TreeLeaf::first);
    const auto* leaf = part.as<StreamObject>();
    if (leaf && !leaf->stream->used && !others && !is_unknown(value)) continue;  // the program does not load it
    if (!is_unknown(value) && (others || found == given.end()))
      throw run_error(fmt::format("{}: `{}` is a tree of {}; got {}", where, path, names_of(parts),
                                  is_tree(value) ? names_of(given) : with_article(value.type_name())))
          .as(codes::stream);
    give_tree(in, part, is_unknown(value) ? value : found->second, where, path + "." + name, to);
  }
}

}  // namespace

void give_named(Interpreter& in, const SessionObject& s, const std::string& name, const Value& value,
                GivenStreams& to) {
  const auto tree = s.names->input_trees.find(name);
  if (tree == s.names->input_trees.end() || s.names->inputs.contains(name))
    to.emplace_back(input_stream(s, name), value);
  else
    give_tree(in, tree->second, value, "session.run", name, to);
}

namespace {

Error ambiguous_name(const std::string& name) {
  return run_error("`" + name + "` names two streams: one was declared under this name, another is bound to it",
                   {"use the stream itself: ir." + name + " is the one that is bound"})
      .as(codes::stream);
}

/// The note for an error about a stream that the session does not have.
std::vector<std::string> later_stream(const Ir& ir, const SessionObject::Names& names, const std::string& name) {
  for (const auto& s : ir.streams())
    if (s->name() == name && !names.inputs.count(name) && !names.outputs.count(name))
      return {"the stream was added to the program after the session was made: make a new one, `Session(" + ir.name() +
              ")`"};
  return {};
}

}  // namespace

const Stream* input_stream(const SessionObject& s, const std::string& name) {
  auto it = s.names->inputs.find(name);
  if (it != s.names->inputs.end()) {
    if (!it->second) throw ambiguous_name(name);
    return it->second;
  }
  std::vector<std::string> all = sorted_names(s.names->inputs);
  std::string hint = did_you_mean(name, all);
  if (s.names->outputs.count(name))
    throw run_error("session.run: stream `" + name + "` goes out of the device: nothing can be given for it")
        .as(codes::stream);
  std::vector<std::string> notes = later_stream(*s.ir, *s.names, name);
  notes.push_back("its input streams: " + (all.empty() ? std::string("none") : join_texts(all, ", ")));
  throw run_error("session.run: program " + s.ir->name() + " has no input stream `" + name + "`" +
                      (hint.empty() ? "" : "; " + hint),
                  std::move(notes))
      .as(codes::stream);
}

namespace {

Array stream_data(Interpreter& in, const Value& v, const Stream& s) {
  if (const Array* a = v.as_array()) return *a;
  if (as_tensor(v))
    type_error("session.run: stream `" + s.name() +
               "` takes an array, got a tensor, whose value exists only inside a run");
  return to_array(in, v, s.spec().dtype, "stream `" + s.name() + "`");
}

void give(StreamData& data, const Stream* s, Array a) {
  if (!data.emplace(s, std::move(a)).second)
    throw run_error("session.run: stream `" + s->name() + "` is given twice").as(codes::stream);
}

/// The sessions that `variables` of a session names: one, or a list of some.
std::vector<Ref<SessionObject>> owners_given(const Value& given) {
  std::vector<Ref<SessionObject>> owners;
  const auto add = [&](const Value& v) {
    if (is_unknown(v)) return;
    auto s = v.ptr<SessionObject>();
    if (!s)
      throw Error("Session: `variables` is the session that has the variables, or a list of sessions; got " +
                  with_article(v.type_name()))
          .as(codes::type);
    if (s->session) s->check_in_effect();
    owners.push_back(std::move(s));
  };
  if (const auto* list = given.as<SequenceObject>())
    for (const Value& v : list->items) add(v);
  else if (!given.is_none())
    add(given);
  return owners;
}

/// `Session(evaluate(...))` without `variables`: the script's name of the session that has them.
void offer_owner(Interpreter& in, Error& e, const Ir& ir, const Span& call) {
  const ScopePtr scope = evaluator_of(in).file_scope();
  for (const std::string& name : scope->names()) {
    const Value* v = scope->find_here(name);
    const auto* owner = v ? v->as<SessionObject>() : nullptr;
    const auto is_of_owner = [&](const Tensor* t) { return t->shared && &t->shared->graph->ir() == owner->ir.get(); };
    const std::vector<Tensor*> all = ir.variables();
    if (!owner || std::none_of(all.begin(), all.end(), is_of_owner) || !call || !call.text().ends_with(')')) continue;
    const std::string argument = fmt::format(", variables = {}", name);
    const std::string_view text = call.text().substr(0, call.text().size() - 1);
    e.first().notes = {fmt::format("`{}{})` has the memory of that session", text, argument)};
    const uint32_t end = call.end - 1;
    e.offer({call.file, end, end}, argument, fmt::format("Give `variables = {}`", name));
    return;
  }
}

/// The program of a session. A net is none: the note says how a program has it.
IrObject* program_given(Interpreter& in, const Arguments& args, const Value& given, Value& holder) {
  try {
    return to_ir(in, given, "Session", holder);
  } catch (Error& e) {
    const Span at = args.spans.empty() ? Span() : args.spans[0];
    const bool makes_net = given.as<ModuleInstance>() != nullptr;
    if (at) e.locate(at, position_of(in).frames);
    if (makes_net || given.as<BoundGraphObject>())
      e.first().notes.push_back(
          fmt::format("a program has the net and its streams: `stream out y = {}{}(host_load(x))` in `program p {{ ... "
                      "}}`, then `Session(p())`",
                      at ? at.text() : "net", makes_net ? ".bound(x)" : ""));
    throw;
  }
}

/// Makes a session: `Session(ir, device = "ipu_model", machine = "bow", ..., engine = "planned")`.
Value make_session(Interpreter& in, const Arguments& args) {
  ArgReader a("Session", args,
              {"ir", "device", "machine", "available_memory_proportion", "partials", "weights_to_host_on_exit",
               "engine", "variables", "sizes", "keep"});
  Value holder;
  IrObject* ir = program_given(in, args, a.value("ir"), holder);
  for (const BuildTarget& t : graphs_of(in).targets())
    if (t.ir == ir->ir && t.ir != graphs_of(in).implicit_ir())
      throw Error("program " + ir->ir->name() +
                  " is still being built: make its session after the program has returned")
          .as(codes::session);
  auto s = make_ref<SessionObject>();
  if (!permits(Effect::runs_session)) {
    check_inplace_order(*ir->ir);
    check_in_progress(in)->sessions.push_back(ir->ir);
  }
  if (ir->fields) name_variables(*ir->ir, *ir->fields);
  s->owners = owners_given(a.value_or("variables", {}));
  s->ir = ir->ir;
  s->program = holder.is_none() ? a.value("ir") : holder;
  s->names = stream_names(*ir->ir, ir->fields.get());
  s->device = a.string_or("device", "ipu_model");
  s->engine = find_engine(a.string_or("engine", default_engine())).name;
  s->estimating = estimate_options(a);
  if (permits(Effect::runs_session)) {
    std::vector<const Session*> owners;
    for (const Ref<SessionObject>& owner : s->owners) owners.push_back(owner->session.get());
    s->session = std::make_unique<Session>(ir->ir, s->device, s->engine,
                                           std::make_shared<const tiles::EstimateOptions>(s->estimating), owners);
  } else if (!holds_unknown(a.value_or("variables", {}))) {
    std::vector<const Ir*> programs;
    for (const Ref<SessionObject>& owner : s->owners) programs.push_back(owner->ir.get());
    try {
      check_shared(*ir->ir, programs);
    } catch (Error& e) {
      if (programs.empty()) offer_owner(in, e, *ir->ir, args.span);
      throw;
    }
  }
  s->family = family_runs(in, *ir, a);
  s->weights_to_host_on_exit = a.boolean_or("weights_to_host_on_exit", true);
  if (ir->ir->open_ended) s->made_at = ir->ir->mark();
  s->made_at_moment = GraphTransaction::moment();
  const Graph& main = ir->ir->main();
  if (!main.tensors().empty()) s->newest_tensor = main.tensors().back().get();
  if (!main.ops().empty()) s->newest_op = main.ops().back().get();
  return s;
}

/// `eval(t, stream = array, ...)`: computes the value of a tensor outside its program.
Value eval_tensor(Interpreter& in, const Value& given, const std::vector<NamedArg>& streams) {
  if (given.is_number() || given.as_array()) return given;
  if (auto* list = given.as<SequenceObject>()) {
    std::vector<Value> out;
    for (const Value& item : list->items) out.push_back(eval_tensor(in, item, streams));
    return given.as<TupleObject>() ? make_tuple(std::move(out)) : make_list(std::move(out));
  }
  if (is_unknown(given)) return unknown_value();
  auto* t = given.as<TensorObject>();
  if (!t) type_error("eval takes a tensor, got " + with_article(given.type_name()));
  if (!permits(Effect::computes) && t->tensor->graph->is_main()) {
    if (t->ir->replication_factor > 1) return unknown_value();
    return unknown_array(t->tensor->spec);
  }
  const Tensor& tensor = *t->tensor;
  check_in_effect("eval", tensor);
  if (tensor.kind == TensorKind::variable || tensor.kind == TensorKind::constant) return Value(tensor.data);
  if (!tensor.graph->is_main())
    throw Error(
        "`" + shown_name(tensor) + "` belongs to " + shown_name(*tensor.graph) + ", and has a value only in its calls",
        {"eval works on tensors of the main graph"})
        .as(codes::session);
  require_effect(Effect::computes);
  const Value program = ir_value(in, t->ir);
  const std::shared_ptr<const SessionObject::Names> names = stream_names(*t->ir, program.as<IrObject>()->fields.get());
  StreamData data;
  for (const NamedArg& n : streams) {
    const auto found = names->inputs.find(n.name);
    if (const auto tree = names->input_trees.find(n.name);
        found == names->inputs.end() && tree != names->input_trees.end()) {
      GivenStreams parts;
      give_tree(in, tree->second, n.value, "eval", n.name, parts);
      for (const auto& [stream, value] : parts) give(data, stream, stream_data(in, value, *stream));
      continue;
    }
    if (found == names->inputs.end()) {
      const std::vector<std::string> all = sorted_names(names->inputs);
      const std::string hint = did_you_mean(n.name, all);
      throw Error("eval: program " + t->ir->name() + " has no input stream `" + n.name + "`" +
                      (hint.empty() ? "" : "; " + hint),
                  {"its input streams: " + (all.empty() ? std::string("none") : join_texts(all, ", "))})
          .as(codes::stream);
    }
    if (!found->second) throw ambiguous_name(n.name);
    give(data, found->second, stream_data(in, n.value, *found->second));
  }
  // The code that runs may replace the watch.
  const std::shared_ptr<RunWatch> watch = run_watch_of(in);
  try {
    return evaluate(tensor, data, watch ? watch->evaluation() : nullptr);
  } catch (Error& e) {
    if (e.first().message.starts_with("stream `")) e.first().message = "eval: " + e.first().message;
    throw;
  }
}

Value eval_call(Interpreter& in, Arguments args) {
  if (args.positional.size() != 1)
    throw Error("eval takes one tensor, and an array for each input stream by name").as(codes::arguments);
  return eval_tensor(in, args.positional[0], args.named);
}

}  // namespace

// ---- sessions

std::string SessionObject::repr(Interpreter&) { return "Session[" + ir->name() + " on " + device + "]"; }

namespace {

/// The stream for a key in the dict of a run.
const Stream* stream_of_key(SessionObject& session, const Value& key) {
  auto* stream = key.as<StreamObject>();
  if (!stream) type_error("session.run: keys are streams or their names, got " + with_article(key.type_name()));
  if (stream->ir != session.ir)
    throw run_error("session.run: stream `" + stream->stream->name() + "` belongs to program " + stream->ir->name())
        .as(codes::other_graph);
  if (!stream->stream->to_device)
    throw run_error("session.run: stream `" + stream->stream->name() +
                    "` goes out of the device: nothing can be given for it")
        .as(codes::stream);
  return stream->stream;
}

/// A run with arrays by position: by name, in the order in which the program declares its streams.
[[noreturn]] void refuse_positions(SessionObject& session, const Arguments& args, const std::string& message) {
  std::string names, edit;
  size_t next = 0;
  for (const auto& s : session.ir->streams()) {
    if (!s->to_device) continue;
    const bool given =
        std::any_of(args.named.begin(), args.named.end(), [&](const NamedArg& n) { return n.name == s->name(); });
    if (given) continue;
    names += fmt::format("{}{} = ...", names.empty() ? "" : ", ", s->name());
    if (next < args.spans.size())
      edit += fmt::format("{}{} = {}", edit.empty() ? "" : ", ", s->name(), args.spans[next].text());
    ++next;
  }
  Error e(message);
  if (!names.empty()) e.first().notes.push_back(fmt::format("arrays are given by name: `session.run({})`", names));
  if (next == args.positional.size() && args.spans.size() == next)
    e.offer(join(args.spans.front(), args.spans.back()), edit);
  throw std::move(e.as(codes::arguments));
}

/// Whether an argument of a run is `finite = true`. A stream of this name comes first.
bool is_finite_flag(const SessionObject& session, const NamedArg& n) {
  if (n.name != "finite" || session.names->inputs.contains(n.name)) return false;
  if (!n.value.is_bool() && !is_unknown(n.value))
    type_error("session.run: finite is true or false, got " + with_article(n.value.type_name()));
  return true;
}

/// The arguments of a run, by stream. An unknown dict adds no known argument in a look.
GivenStreams given_streams(Interpreter& in, SessionObject& session, const Arguments& args) {
  GivenStreams given;
  if (args.positional.size() > 1)
    refuse_positions(session, args, "session.run takes one dict, or an array for each input stream by name");
  if (!args.positional.empty() && !args.positional[0].is_none() && !is_unknown(args.positional[0])) {
    auto* d = args.positional[0].as<DictObject>();
    if (!d)
      refuse_positions(session, args,
                       "session.run takes a dict from streams to arrays, or arrays by name; got " +
                           with_article(args.positional[0].type_name()));
    for (const auto& [k, v] : d->items) {
      if (const std::string* name = k.as_string())
        give_named(in, session, *name, v, given);
      else
        given.emplace_back(is_unknown(k) ? nullptr : stream_of_key(session, k), v);
    }
  }
  for (const NamedArg& n : args.named)
    if (!is_finite_flag(session, n)) give_named(in, session, n.name, n.value, given);
  return given;
}

}  // namespace

Value SessionObject::run_given(Interpreter& in, const Arguments& args) {
  StreamData data;
  for (const auto& [stream, value] : given_streams(in, *this, args))
    give(data, stream, stream_data(in, value, *stream));
  if (!said_grown_ && made_at) {
    const std::vector<const Op*> added = session->added_later();
    if (!added.empty()) {
      said_grown_ = true;
      const Span at = added.front()->origin.span;
      host_of(in).notice(
          fmt::format("session.run: {} of program {}{} came after the session was made, and {} not run; "
                      "`Session({})` makes one that has {}, `load_from_session` copies the variables\n",
                      added.size() == 1 ? "an op" : fmt::format("{} ops", added.size()), ir->name(),
                      at ? fmt::format(" (from {}:{} on)", at.file->name(), at.file->position(at.begin).line) : "",
                      added.size() == 1 ? "is" : "are", ir->name(), added.size() == 1 ? "it" : "them"));
    }
  }
  SessionObject& runner = family ? session_for(in, *this, data) : *this;
  auto result = make_ref<RunResultObject>();
  result->ir = ir;
  result->names = names;
  // The code that runs may replace the watch.
  const std::shared_ptr<RunWatch> watch = run_watch_of(in);
  const bool finite = std::any_of(args.named.begin(), args.named.end(),
                                  [&](const NamedArg& n) { return is_finite_flag(*this, n) && n.value.as_bool(); });
  StreamMap<Array> arrays = runner.session->run(data, watch ? watch->begin(runner) : nullptr, {}, finite);
  if (watch) watch->end(runner);
  for (auto& [stream, array] : arrays)
    result->arrays.emplace(&runner == this ? stream : stream_like(*runner.ir, *ir, stream), std::move(array));
  return result;
}

namespace {

/// How often a run loads a stream; nullopt where a called graph loads it, which may run several times.
std::optional<int64_t> transfers_in_look(const Ir& ir, const Stream& stream) {
  if (ir.num_host_transfers) return std::nullopt;  // what a session says of them comes first
  int64_t count = 0;
  for (const auto& graph : ir.graphs())
    for (const auto& op : graph->ops()) {
      if (op->stream != &stream) continue;
      if (!graph->is_main()) return std::nullopt;
      ++count;
    }
  return count > 0 ? std::optional(count) : std::nullopt;
}

void refuse_missing_streams(const SessionObject& s, const StreamSet& given) {
  std::vector<std::string> missing;
  for (const auto& stream : s.ir->streams())
    if (stream->to_device && stream->used && !given.contains(stream.get()) && transfers_in_look(*s.ir, *stream))
      missing.push_back(fmt::format("`{}` {}", stream->name(), text(stream->spec())));
  if (!missing.empty()) throw run_error("session.run: missing input " + join_texts(missing, ", ")).as(codes::stream);
}

/// The result of a run in a look: its streams are known, and of its arrays the specs.
struct UnknownRunObject final : Object {
  std::shared_ptr<const SessionObject::Names> names;
  std::shared_ptr<Ir> ir;
  bool any_shape;
  UnknownRunObject(std::shared_ptr<const SessionObject::Names> n, std::shared_ptr<Ir> i, bool any = false)
      : names(std::move(n)), ir(std::move(i)), any_shape(any) {}
  std::string type_name() const override { return "run result"; }
  std::string repr(Interpreter&) override { throw Unevaluated{}; }
  std::optional<int64_t> length(Interpreter&) override { throw Unevaluated{}; }
  std::optional<Iterator> iterate(Interpreter&) override { throw Unevaluated{}; }
  bool contains(Interpreter&, const Value&) override { throw Unevaluated{}; }
  bool truth(Interpreter&) override { throw Unevaluated{}; }
  std::optional<Value> member(Interpreter&, std::string_view name) override {
    if (const auto found = names->outputs.find(std::string(name)); found != names->outputs.end())
      return array_of(found->second);
    if (names->output_trees.contains(std::string(name))) return unknown_value();
    if (name == "keys" || name == "values" || name == "items") return unknown_value();
    return std::nullopt;
  }
  /// The place where the program stores once: a loop may store more often.
  Value array_of(const Stream* stream) const {
    const auto transfers = stream ? transfers_in_look(*ir, *stream) : std::nullopt;
    if (transfers != 1 || ir->replication_factor != 1 || any_shape) return unknown_value();
    return unknown_array(stream->spec());
  }
  std::vector<std::string> member_names() const override { return sorted_names(names->outputs); }
  std::vector<std::string> own_names() const override {
    return output_names(*names, [](const Stream*) { return true; });
  }
  std::string note_on_misuse() const override { return note_on_outputs(own_names()); }
  Value index(Interpreter&, const Value& key) override {
    const std::string* name = key.as_string();
    if (!name) return unknown_value();
    if (const auto found = names->outputs.find(*name); found != names->outputs.end()) return array_of(found->second);
    if (names->output_trees.contains(*name)) return unknown_value();
    std::string hint = did_you_mean(*name, sorted_names(names->outputs));
    throw run_error("the run gave nothing named `" + *name + "`" + (hint.empty() ? "" : "; " + hint)).as(codes::key);
  }
};

}  // namespace

namespace {

/// The shape of what a stream is given, if a look knows it.
std::optional<Shape> known_shape(Interpreter& in, const Stream* stream, const Value& v) {
  if (const auto spec = unknown_spec(v)) return spec->shape;
  if (!stream || is_unknown(v) || holds_unknown(v)) return std::nullopt;
  return stream_data(in, v, *stream).shape();
}

/// A run of a program with free sizes: a look at the run of the member, if it knows the sizes.
Value look_at_sizes(Interpreter& in, SessionObject& s, const Arguments& args) {
  const Value open = make_ref<UnknownRunObject>(s.names, s.ir, true);
  std::vector<std::pair<const Stream*, Shape>> shapes;
  if (!args.positional.empty() || !s.family->allowed.empty()) return open;
  for (const auto& [stream, value] : given_streams(in, s, args)) {
    const std::optional<Shape> shape = known_shape(in, stream, value);
    if (!shape) return open;
    shapes.emplace_back(stream, *shape);
  }
  const Sizes sizes = sizes_of(*s.program.as<IrObject>(), shapes,
                               [&](const Stream& stream) { return transfers_in_look(*s.ir, stream).value_or(1); });
  SessionObject& member = member_of_sizes(in, s, sizes);
  return &member == &s ? Value() : look_at_run(in, member, args);
}

}  // namespace

// The streams of a run's arguments, and its results. How often a stream is loaded is known where the program has a
// loop around it only in a run: its array is then of any shape.
Value look_at_run(Interpreter& in, SessionObject& s, const Arguments& args) {
  if (s.family)
    if (Value looked = look_at_sizes(in, s, args); !looked.is_none()) return looked;
  const bool open = !args.positional.empty() && is_unknown(args.positional[0]);
  StreamSet known;
  bool all_known = !open;
  for (const auto& [stream, value] : given_streams(in, s, args)) {
    all_known = all_known && stream;
    if (!stream || !known.insert(stream).second || is_unknown(value) || holds_unknown(value)) continue;
    const std::optional<int64_t> transfers = transfers_in_look(*s.ir, *stream);
    if (!transfers) continue;
    try {
      prepare_input(*stream, *transfers, s.ir->replication_factor, stream_data(in, value, *stream));
    } catch (Error& e) {
      if (e.first().message.starts_with("stream `")) e.first().message = "session.run: " + e.first().message;
      for (const NamedArg& n : args.named)
        if (n.name == stream->name() && n.span) e.locate(n.span, nullptr);
      e.first().fault = Fault::failed;
      throw;
    }
  }
  if (all_known && !s.made_at && !lacks_part_noted(in, *s.ir)) refuse_missing_streams(s, known);
  return make_ref<UnknownRunObject>(s.names, s.ir);
}

bool SessionObject::has_grown() const { return made_at && ir->changed_since(*made_at); }

void bind_session_builtins(Scope& p) {
  define(
      p, Effect::runs_session,
      {"Session(ir, device = \"ipu_model\", machine = \"bow\", available_memory_proportion = 0.6, partials = "
       "\"float32\", weights_to_host_on_exit = true, engine = \"planned\", variables = none, sizes = none, keep = \"1 "
       "GiB\")",
       "Prepares an ir to run; devices are \"cpu\" (the evaluator alone) and \"ipu_model\" (the same numbers; report() "
       "gives cycles and bytes of the machine's tiles). `engine` runs the program (docs/engines.md); `--engine` says "
       "which one where none is named. `variables` is the session that has the variables which the program shares with "
       "others, or a list of sessions: they are in its memory. Of a program with free sizes, `sizes` are those to "
       "which "
       "a run rounds up, a list, or a dict "
       "of lists by name; `keep` is how much memory the programs for other sizes may take.",
       R"(program twice {
  stream in x: float32[2]
  stream out y = host_load(x) * 2
}
Session(twice()).run(x = [1, 2]))"},
      make_session, InLook::calls_body);
  define(
      p, Effect::computes,
      {"eval(t, stream = array, ...)",
       "The value of a tensor in the main graph, from the initial values of variables. Only the ops that it needs run.",
       R"(variable w: float32[2] = 3
eval(w * 2))"},
      eval_call, InLook::calls_body);
}

}  // namespace pxl
