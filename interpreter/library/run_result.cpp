// The arrays that a session's run returns, by attribute, name and stream.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "interpreter/graphs/modules/tensor_trees.hpp"
#include "interpreter/graphs/tensor_objects.hpp"
#include "interpreter/library/sessions.hpp"
#include "interpreter/values/builtin.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/members.hpp"
#include "interpreter/values/operations.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/text/join_texts.hpp"
#include "runtime/base/text/suggest.hpp"
#include "runtime/graph/ir.hpp"

namespace pxl {

std::vector<std::string> sorted_names(const std::unordered_map<std::string, const Stream*>& map) {
  std::vector<std::string> out;
  for (const auto& [name, s] : map) out.push_back(name);
  std::sort(out.begin(), out.end());
  return out;
}

namespace {

Error ambiguous_output(const std::string& name) {
  return run_error("`" + name + "` names two streams: one was declared under this name, another is bound to it",
                   {"index by the stream: out[ir." + name + "] is the one that is bound"})
      .as(codes::key);
}

}  // namespace

std::vector<std::string> RunResultObject::later(std::string_view name) const {
  if (!names->outputs.count(std::string(name)))
    for (const auto& s : ir->streams())
      if (!s->to_device && s->name() == name)
        return {"the stream was added to the program after the session was made: make a new one, `Session(" +
                ir->name() + ")`"};
  return {};
}

std::string RunResultObject::repr(Interpreter& in) {
  std::string out = "{";
  for (const auto& owned : ir->streams()) {
    auto it = arrays.find(owned.get());
    if (it == arrays.end()) continue;
    out += (out.size() > 1 ? ", '" : "'") + owned->name() + "': " + repr_of(in, Value(it->second));
  }
  return out + "}";
}

namespace {

using ResultRef = RunResultObject&;
enum class ResultPart : uint8_t { streams, arrays, pairs };
Value listed(ResultRef r, const char* name, const Arguments& args, ResultPart part) {
  ArgReader(name, args, {});
  std::vector<Value> out;
  for (const auto& owned : r.ir->streams()) {
    auto it = r.arrays.find(owned.get());
    if (it == r.arrays.end()) continue;
    const Value k = make_ref<StreamObject>(r.ir, owned.get());
    out.push_back(part == ResultPart::streams  ? k
                  : part == ResultPart::arrays ? Value(it->second)
                                               : make_tuple({k, Value(it->second)}));
  }
  return make_list(std::move(out));
}

constexpr Member<RunResultObject> result_rows[] = {
    {"keys", "()", "A list of the output streams.", "out.keys()",
     [](Interpreter&, ResultRef r, const Arguments& args) { return listed(r, "keys", args, ResultPart::streams); }},
    {"values", "()", "A list of the arrays.", "out.values()",
     [](Interpreter&, ResultRef r, const Arguments& args) { return listed(r, "values", args, ResultPart::arrays); }},
    {"items", "()", "A list of tuples (stream, array).", "out.items()",
     [](Interpreter&, ResultRef r, const Arguments& args) { return listed(r, "items", args, ResultPart::pairs); }},
};
constexpr std::span<const Member<RunResultObject>> result_table(result_rows);

}  // namespace

MemberTable run_result_members() {
  return member_table("run result",
                      "The result of `session.run`: the arrays of the output streams, as attributes (`out.y`), by name "
                      "(`out['y']`) and by stream (`out[ir.y]`).",
                      "program scale {\n  stream in x: float32[2]\n  stream out y = host_load(x) * 2\n}\n"
                      "out = Session(scale()).run(x = [1.0, 2.0])",
                      result_table);
}

std::optional<Value> RunResultObject::tree(Interpreter& in, std::string_view name) const {
  const auto found = names->output_trees.find(std::string(name));
  if (found == names->output_trees.end()) return std::nullopt;
  return map_tree(in, found->second, [&](const Value& leaf, const std::string&) {
    const auto* s = leaf.as<StreamObject>();
    const auto array = s ? arrays.find(s->stream) : arrays.end();
    return array == arrays.end() ? leaf : Value(array->second);
  });
}

std::optional<Value> RunResultObject::member(Interpreter& in, std::string_view name) {
  auto named = names->outputs.find(std::string(name));
  if (named != names->outputs.end()) {
    if (!named->second) throw ambiguous_output(std::string(name));
    auto it = arrays.find(named->second);
    if (it != arrays.end()) return Value(it->second);
  } else if (std::optional<Value> found = tree(in, name)) {
    return found;
  }
  if (std::vector<std::string> notes = later(name); !notes.empty())
    throw run_error("the run gave nothing named `" + std::string(name) + "`", std::move(notes)).as(codes::key);
  return member_of_table(in, result_table, *this, name);
}

std::vector<std::string> RunResultObject::member_names() const {
  std::vector<std::string> out = sorted_names(names->outputs);
  append_names(out, result_table);
  return out;
}

std::vector<std::string> output_names(const SessionObject::Names& names,
                                      const std::function<bool(const Stream*)>& is_given) {
  StreamMap<std::string> one_name;
  for (const auto& [name, stream] : names.outputs) {
    if (!stream || !is_given(stream)) continue;
    const auto [known, is_first] = one_name.emplace(stream, name);
    const bool is_own = stream->name() == name;
    if (!is_first && (is_own || (known->second != stream->name() && name < known->second))) known->second = name;
  }
  std::vector<std::string> out;
  for (const auto& [stream, name] : one_name) out.push_back(name);
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<std::string> RunResultObject::output_names() const {
  return pxl::output_names(*names, [this](const Stream* s) { return arrays.count(s) != 0; });
}

std::string note_on_outputs(const std::vector<std::string>& names) {
  if (names.empty()) return "the program has no `stream out`, so that its run gives no array";
  std::vector<std::string> members;
  for (const std::string& name : names) members.push_back(fmt::format("`.{}`", name));
  return fmt::format("the {} members of a run's result: {}", names.size() == 1 ? "array is among the" : "arrays are",
                     join_texts(members, ", "));
}

Value RunResultObject::index(Interpreter& in, const Value& key) {
  if (auto* s = key.as<StreamObject>()) {
    auto it = arrays.find(s->stream);
    if (it == arrays.end())
      throw run_error("the run gave nothing for stream `" + s->stream->name() + "`").as(codes::key);
    return Value(it->second);
  }
  if (const std::string* name = key.as_string()) {
    auto named = names->outputs.find(*name);
    if (named != names->outputs.end() && !named->second) throw ambiguous_output(*name);
    if (named != names->outputs.end())
      if (auto it = arrays.find(named->second); it != arrays.end()) return Value(it->second);
    if (named == names->outputs.end())
      if (std::optional<Value> found = tree(in, *name)) return *std::move(found);
    std::string hint = did_you_mean(*name, sorted_names(names->outputs));
    throw run_error("the run gave nothing named `" + *name + "`" + (hint.empty() ? "" : "; " + hint), later(*name))
        .as(codes::key);
  }
  type_error("a run result is indexed by stream or name, got " + with_article(key.type_name()));
}

std::optional<Iterator> RunResultObject::iterate(Interpreter&) {
  std::vector<Value> keys;
  for (const auto& owned : ir->streams())
    if (arrays.count(owned.get())) keys.push_back(make_ref<StreamObject>(ir, owned.get()));
  return Iterator([keys, i = size_t{0}]() mutable -> std::optional<Value> {
    if (i >= keys.size()) return std::nullopt;
    return keys[i++];
  });
}

bool RunResultObject::contains(Interpreter&, const Value& item) {
  if (auto* s = item.as<StreamObject>()) return arrays.count(s->stream) != 0;
  if (const std::string* name = item.as_string()) {
    auto it = names->outputs.find(*name);
    return it != names->outputs.end() && arrays.count(it->second) != 0;
  }
  return false;
}

}  // namespace pxl
