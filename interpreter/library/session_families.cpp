#include "interpreter/library/session_families.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <numeric>

#include "interpreter/graphs/programs.hpp"
#include "interpreter/values/builtin.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/conversions.hpp"
#include "interpreter/values/host.hpp"
#include "interpreter/values/operations.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/text/suggest.hpp"
#include "runtime/execute/streams.hpp"

namespace pxl {
namespace {

constexpr size_t many_members = 16;

const Family& family_of(const SessionObject& s) { return *s.program.as<IrObject>()->family; }

/// A number of bytes: an int, or a text such as "1 GiB".
int64_t bytes_of(const Value& v) {
  constexpr std::pair<std::string_view, int> units[] = {{"B", 0}, {"KiB", 10}, {"MiB", 20}, {"GiB", 30}, {"TiB", 40}};
  if (v.is_int() && v.as_int() >= 0) return v.as_int();
  if (const std::string* text = v.as_string()) {
    size_t end = 0;
    while (end < text->size() && (*text)[end] >= '0' && (*text)[end] <= '9') ++end;
    const std::string unit = text->substr(std::min(text->find_first_not_of(' ', end), text->size()));
    constexpr size_t digits = 6;
    for (const auto& [name, shift] : units)
      if (unit == name && end > 0 && end <= digits) return std::stoll(text->substr(0, end)) << shift;
  }
  throw Error("Session: `keep` is a number of bytes, or a text such as \"1 GiB\"").as(codes::value);
}

std::vector<int64_t> allowed_sizes(Interpreter& in, const std::string& name, const Value& given) {
  std::vector<int64_t> sizes;
  for (const Value& v : elements_of(in, given)) {
    if (!v.is_int() || v.as_int() < 1)
      throw Error(fmt::format("Session: `sizes` of `{}` are ints from 1 on, got {}", name, repr_of(in, v)))
          .as(codes::value);
    sizes.push_back(v.as_int());
  }
  if (sizes.empty()) throw Error(fmt::format("Session: `sizes` has none for `{}`", name)).as(codes::value);
  std::ranges::sort(sizes);
  return sizes;
}

void read_sizes(Interpreter& in, const IrObject& program, const Value& given, FamilyRuns& runs) {
  const Sizes& free = program.family->exemplar;
  runs.allowed.resize(free.size());
  std::vector<std::string> names;
  for (const auto& [name, size] : free) names.push_back(name);
  if (const auto* dict = given.as<DictObject>()) {
    for (const auto& [key, value] : dict->items) {
      const std::string* name = key.as_string();
      const auto at = name ? std::ranges::find(names, *name) : names.end();
      if (at == names.end()) {
        const std::string hint = name ? did_you_mean(*name, names) : "";
        throw Error(fmt::format("Session: program {} has no free size {}{}", program.ir->name(), repr_of(in, key),
                                hint.empty() ? "" : "; " + hint))
            .as(codes::arguments);
      }
      runs.allowed[static_cast<size_t>(at - names.begin())] = allowed_sizes(in, *name, value);
    }
  } else if (free.size() == 1) {
    runs.allowed[0] = allowed_sizes(in, names[0], given);
  } else {
    throw Error(fmt::format("Session: program {} has the free sizes {}: `sizes` is a dict from their names to lists",
                            program.ir->name(), text(free)))
        .as(codes::arguments);
  }
  for (const auto& stream : program.ir->streams())
    if (stream->to_device && stream->name() == "rows" && stream->spec() == TensorSpec{{}, DType::int32, {}})
      runs.rows = stream.get();
  if (!runs.rows)
    throw Error(
        fmt::format("Session: `sizes` pads rows, and program {} does not ask how many are real", program.ir->name()),
        {"declare `stream in rows: int32[]` in the program: a run gives it that number"})
        .as(codes::stream);
}

/// An array with zeros after its elements, so that some axes have other extents.
Array padded(const Array& a, const Shape& to) {
  Array out = Array::zeros(a.dtype(), to);
  const Shape& from = a.shape();
  const auto width = static_cast<int64_t>(size_of(a.dtype()));
  if (a.size() == 0) return out;
  if (from.empty()) return a;
  const int64_t line = from.back() * width, line_to = to.back() * width;
  const int64_t lines = a.size() / from.back();
  for (int64_t i = 0; i < lines; ++i) {
    int64_t rest = i, place = 0, stride = 1;
    for (size_t axis = from.size() - 1; axis-- > 0;) {
      place += rest % from[axis] * stride;
      rest /= from[axis];
      stride *= to[axis];
    }
    std::copy_n(a.raw() + i * line, line, out.mutable_raw() + place * line_to);
  }
  return out;
}

int64_t parts_of(const SessionObject& s, const Stream& stream) {
  return s.session->transfers(&stream) * s.ir->replication_factor;
}

/// Rounds sizes up to those that are allowed, pads the arrays, and adds the number of rows.
void round_up(const SessionObject& s, Sizes& sizes, StreamData& data) {
  const FamilyRuns& runs = *s.family;
  const Sizes real = sizes;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (runs.allowed[i].empty()) continue;
    const auto fits = std::ranges::lower_bound(runs.allowed[i], sizes[i].second);
    if (fits == runs.allowed[i].end())
      throw run_error(fmt::format("session.run: `{}` is {}, and the largest of the session's sizes is {}",
                                  sizes[i].first, sizes[i].second, runs.allowed[i].back()))
          .as(codes::stream);
    sizes[i].second = *fits;
  }
  for (auto& [stream, array] : data) {
    Shape shape = array.shape();
    if (shape.size() < stream->spec().shape.size()) continue;
    const size_t more = shape.size() - stream->spec().shape.size();
    const int64_t parts = parts_of(s, *stream);
    const bool folded = more == 0 && parts > 1 && !shape.empty();
    if (folded) {
      shape[0] /= parts;
      shape.insert(shape.begin(), parts);
    }
    Shape to = shape;
    for (const Family::Extent& e : family_of(s).extents)
      if (e.stream == stream->name()) to[e.axis + more + (folded ? 1 : 0)] = sizes[e.size].second;
    if (to == shape) continue;
    Array filled = padded(array.reshaped(shape), to);
    if (folded) {
      to[1] *= to[0];
      to.erase(to.begin());
      filled = filled.reshaped(to);
    }
    array = std::move(filled);
  }
  if (data.contains(runs.rows))
    throw run_error("session.run: `rows` is given by the session, which knows how many rows are real")
        .as(codes::stream);
  const Shape shape = host_shape(*runs.rows, s.session->transfers(runs.rows), s.ir->replication_factor);
  data.emplace(runs.rows, Array::full(DType::int32, shape, static_cast<double>(real[0].second)));
}

void drop_old(FamilyRuns& runs) {
  int64_t all = 0;
  for (size_t i = 0; i < runs.members.size(); ++i) {
    FamilyRuns::Member& m = runs.members[i];
    if (!m.session) continue;
    all += m.bytes;
    if (i > 0 && all > runs.keep) m.session = {};
  }
}

Ref<SessionObject> make_member(Interpreter& in, SessionObject& s, const Sizes& sizes) {
  const Ref<IrObject> program = build_member(in, *s.program.as<IrObject>(), sizes);
  auto made = make_ref<SessionObject>();
  made->ir = program->ir;
  made->program = Value(program);
  made->names = stream_names(*program->ir, program->fields.get());
  made->device = s.device;
  made->engine = s.engine;
  made->estimating = s.estimating;
  if (!s.session) return made;
  std::vector<const Session*> owners;
  if (!program->ir->variables().empty()) owners.push_back(s.session.get());
  made->session = std::make_unique<Session>(program->ir, s.device, s.engine,
                                            std::make_shared<const tiles::EstimateOptions>(s.estimating), owners);
  return made;
}

}  // namespace

std::shared_ptr<FamilyRuns> family_runs(Interpreter& in, const IrObject& program, const ArgReader& args) {
  const Value sizes = args.value_or("sizes", {}), keep = args.value_or("keep", {});
  if (!program.family) {
    if (sizes.is_none() && keep.is_none()) return nullptr;
    throw Error(fmt::format("Session: program {} has no free size, which `{}` is for", program.ir->name(),
                            sizes.is_none() ? "keep" : "sizes"),
                {"a parameter of kind size that a call leaves out is free: `program p(batch: size = 64)`, `p()`"})
        .as(codes::arguments);
  }
  auto runs = std::make_shared<FamilyRuns>();
  if (!keep.is_none()) runs->keep = bytes_of(keep);
  if (!sizes.is_none()) read_sizes(in, program, sizes, *runs);
  return runs;
}

void SessionObject::references(References& to) const {
  to.add(program);
  for (const Ref<SessionObject>& owner : owners) to.add(owner);
  for (const CallMember& member : called) {
    to.add(member.of);
    to.add(member.session);
  }
  if (family)
    for (const FamilyRuns::Member& member : family->members) to.add(member.session);
}

SessionObject& member_of_sizes(Interpreter& in, SessionObject& s, const Sizes& sizes) {
  FamilyRuns& runs = *s.family;
  if (sizes == family_of(s).exemplar) {
    ++runs.runs_of_exemplar;
    return s;
  }
  auto at = std::ranges::find(runs.members, sizes, &FamilyRuns::Member::sizes);
  if (at == runs.members.end()) at = runs.members.insert(at, FamilyRuns::Member{sizes, {}, 0, 0, 0, 0});
  if (!at->session) {
    const auto start = std::chrono::steady_clock::now();
    try {
      at->session = make_member(in, s, sizes);
    } catch (...) {
      if (at->made == 0) runs.members.erase(at);
      throw;
    }
    at->seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    ++at->made;
    if (s.session) {
      const auto& memory = at->session->session->memory();
      at->bytes = std::max<int64_t>(1, memory.arena + memory.constants);  // engines without plans have neither
    }
    if (at->made == 1 && runs.members.size() == many_members && runs.allowed.empty())
      host_of(in).notice(
          fmt::format("session.run: {} sizes of program {} were built; `Session({}(), sizes = {{\"{}\": "
                      "[32, 64, 128]}})` rounds sizes up, so that there are few\n",
                      many_members, s.ir->name(), s.ir->name(), sizes[0].first));
  }
  ++at->runs;
  std::rotate(runs.members.begin(), at, at + 1);
  drop_old(runs);
  return *runs.members.front().session;
}

const Stream* stream_like(const Ir& from, const Ir& to, const Stream* stream) {
  for (size_t i = 0; i < from.streams().size() && i < to.streams().size(); ++i)
    if (from.streams()[i].get() == stream) return to.streams()[i].get();
  return stream;
}

SessionObject& session_for(Interpreter& in, SessionObject& s, StreamData& data) {
  std::vector<std::pair<const Stream*, Shape>> shapes;
  for (const auto& [stream, array] : data) shapes.emplace_back(stream, array.shape());
  Sizes sizes =
      sizes_of(*s.program.as<IrObject>(), shapes, [&](const Stream& stream) { return s.session->transfers(&stream); });
  if (!s.family->allowed.empty()) round_up(s, sizes, data);
  SessionObject& member = member_of_sizes(in, s, sizes);
  if (&member == &s) return s;
  StreamData translated;
  for (auto& [stream, array] : data) translated.emplace(stream_like(*s.ir, *member.ir, stream), std::move(array));
  data = std::move(translated);
  return member;
}

Value report_of_sizes(const SessionObject& s) {
  std::vector<Value> rows;
  const auto add = [&](const Sizes& sizes, int64_t runs, int64_t made, double seconds, bool kept) {
    auto of = make_ref<DictObject>();
    for (const auto& [name, size] : sizes) of->put(Value(name), Value(size));
    auto row = make_ref<DictObject>();
    row->put(Value("sizes"), Value(of));
    row->put(Value("runs"), Value(runs));
    row->put(Value("made"), Value(made));
    row->put(Value("ms"), Value(seconds * 1e3));
    row->put(Value("kept"), Value(kept));
    rows.emplace_back(row);
  };
  add(family_of(s).exemplar, s.family->runs_of_exemplar, 1, 0, true);
  for (const FamilyRuns::Member& m : s.family->members) add(m.sizes, m.runs, m.made, m.seconds, m.session != nullptr);
  return make_list(std::move(rows));
}

}  // namespace pxl
