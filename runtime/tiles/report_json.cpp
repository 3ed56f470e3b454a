// Serialises reports as JSON and as a page. docs/profile-json.md describes each field.
#include "runtime/tiles/report_json.hpp"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

#include "runtime/base/interrupt.hpp"

namespace pxl::tiles {

namespace {

using Json = nlohmann::ordered_json;

double proportion(int64_t permille) { return static_cast<double>(permille) / 1000; }

Json machine_json(const Machine& m) {
  Json constants = Json::array();
  for (const MachineField& f : machine_fields())
    constants.push_back(
        {{"name", f.key}, {"value", m.*f.field}, {"unit", f.unit}, {"doc", f.doc}, {"source", f.source}});
  return {{"name", m.name},      {"chip", m.chip},
          {"tiles", m.tiles},    {"bytes_per_tile", m.memory},
          {"clock_hz", m.clock}, {"constants", std::move(constants)}};
}

/// A point's index, or -1 if it was truncated.
int kept_point(const Report& r, int point) { return point < static_cast<int>(r.liveness.size()) ? point : -1; }

Json totals_json(const Report& r) {
  int64_t bytes = 0, code = 0;
  for (const TileMemory& t : r.tiles) bytes += t.total, code += t.code();
  const bool any = !r.tiles.empty();
  return {{"cycles", r.cycles.device()},
          {"compute_cycles", r.cycles.compute},
          {"exchange_cycles", r.cycles.exchange},
          {"sync_cycles", r.cycles.sync},
          {"host_cycles", r.cycles.host},
          {"waiting_cycles", r.waiting_cycles},
          {"seconds", r.microseconds / 1e6},
          {"runs_per_second", r.runs_per_second},
          {"flops", r.flops},
          {"useful", proportion(r.useful_permille)},
          {"exchanged_bytes", r.exchanged_bytes},
          {"host_bytes", r.host_bytes},
          {"parameter_bytes", r.parameter_bytes},
          {"tiles_used", r.tiles_used},
          {"fullest_tile", r.fullest_tile},
          {"fullest_tile_bytes", any ? r.tiles[static_cast<size_t>(r.fullest_tile)].total : 0},
          {"peak_point", any ? kept_point(r, r.tiles[static_cast<size_t>(r.fullest_tile)].peak) : -1},
          {"total_bytes", bytes},
          {"always_live_bytes", r.always_live_bytes},
          {"code_bytes", code}};
}

Json step_json(const ReportStep& s) {
  return {{"kind", name(s.kind)},         {"what", s.what},           {"cycles", s.cycles},
          {"mean_cycles", s.mean_cycles}, {"tiles", s.tiles},         {"bytes", s.bytes},
          {"bytes_in", s.bytes_in},       {"bytes_out", s.bytes_out}, {"fragments", s.fragments},
          {"code_bytes", s.code_bytes}};
}

Json candidates_json(const std::vector<ReportCandidate>& candidates) {
  Json all = Json::array();
  for (const ReportCandidate& p : candidates)
    all.push_back({{"text", p.text},
                   {"family", p.variant},
                   {"cycles", p.cycles},
                   {"temp_bytes", p.temp_bytes},
                   {"resident_bytes", p.resident_bytes},
                   {"code_bytes", p.code_bytes},
                   {"tiles", p.tiles},
                   {"chosen", p.chosen}});
  return all;
}

// Index in `lists` of the op's list of candidates; equal lists are shared.
size_t list_of(const std::vector<ReportCandidate>& candidates, std::map<std::string, size_t>& known, Json& lists) {
  std::string key;
  for (const ReportCandidate& p : candidates)
    key += fmt::format("{}\n{} {} {} {} {} {}\n", p.text, p.cycles, p.temp_bytes, p.resident_bytes, p.code_bytes,
                       p.tiles, p.chosen);
  const auto [found, added] = known.emplace(std::move(key), lists.size());
  if (added) lists.push_back(candidates_json(candidates));
  return found->second;
}

Json op_json(const Report& r, const ReportOp& o, size_t candidates) {
  Json steps = Json::array();
  for (int s = o.first_step; s < o.first_step + o.step_count; ++s)
    steps.push_back(step_json(r.steps[static_cast<size_t>(s)]));
  return {{"id", o.id},
          {"name", o.name},
          {"scope", o.scope},
          {"family", o.strategy},
          {"where", o.where},
          {"graph", o.graph},
          {"operands", o.operands},
          {"results", o.results},
          {"runs", o.times},
          {"total_cycles", o.total_cycles},
          {"cycles", o.cycles.total()},
          {"compute_cycles", o.cycles.compute},
          {"exchange_cycles", o.cycles.exchange},
          {"sync_cycles", o.cycles.sync},
          {"host_cycles", o.cycles.host},
          {"relayout_cycles", o.rearrangement_cycles},
          {"flops", o.flops},
          {"useful", proportion(o.useful_permille)},
          {"tiles", o.tiles},
          {"temp_bytes", o.temp_bytes},
          {"state_bytes", o.state_bytes},
          {"exchange_code_bytes", o.exchange_code_bytes},
          {"control_code_bytes", o.control_bytes},
          {"exchanged_bytes", o.exchanged_bytes},
          {"plan", o.candidate},
          {"plans", candidates},
          {"steps", std::move(steps)}};
}

std::string_view name(ProgramNode::Kind kind) {
  switch (kind) {
    case ProgramNode::Kind::call: return "call";
    case ProgramNode::Kind::loop: return "loop";
    case ProgramNode::Kind::branch: return "branch";
    case ProgramNode::Kind::sequence: return "sequence";
    case ProgramNode::Kind::op: break;
  }
  return "op";
}

Json body_json(const ProgramNode& body) {
  Json nodes = Json::array();
  for (const ProgramNode& n : body.children) {
    Json graphs = Json::array();
    if (n.graph >= 0) graphs.push_back(n.graph);
    for (const ProgramNode& other : n.children) graphs.push_back(other.graph);
    nodes.push_back({{"kind", name(n.kind)}, {"op", n.op}, {"graphs", std::move(graphs)}, {"repeats", n.repeats}});
  }
  return nodes;
}

Json points_json(const Report& r) {
  Json op = Json::array(), repeats = Json::array(), live = Json::array(), temp = Json::array(), tile = Json::array(),
       fullest = Json::array();
  for (const LivenessPoint& p : r.liveness) {
    op.push_back(p.op);
    repeats.push_back(p.repeats);
    live.push_back(p.live_bytes);
    temp.push_back(p.temp_bytes);
    tile.push_back(p.tile);
    fullest.push_back(p.fullest);
  }
  return {{"complete", r.liveness_complete && r.timeline_complete},
          {"op", std::move(op)},
          {"repeats", std::move(repeats)},
          {"live_bytes", std::move(live)},
          {"temp_bytes", std::move(temp)},
          {"fullest_tile", std::move(tile)},
          {"fullest_bytes", std::move(fullest)}};
}

Json problems_json(const Report& r) {
  Json problems = Json::array();
  for (const Shortage& s : r.shortages) {
    Json tensors = Json::array();
    for (const TensorOnTile& t : s.tensors) tensors.push_back({{"tensor", t.tensor}, {"bytes", t.bytes}});
    problems.push_back({{"message", s.what},
                        {"tile", s.tile},
                        {"needed", s.needed},
                        {"available", s.available},
                        {"point", kept_point(r, s.point)},
                        {"op", s.op},
                        {"tensors", std::move(tensors)}});
  }
  return problems;
}

Json run_json(const Report& r) {
  Json categories = Json::array(), memory = Json::object();
  for (size_t c = 0; c < r.memory.size(); ++c) {
    const auto category = static_cast<MemoryCategory>(c);
    categories.push_back({{"name", name(category)}, {"always_live", always_live(category)}, {"bytes", r.memory[c]}});
    Json by_tile = Json::array();
    for (const TileMemory& t : r.tiles) by_tile.push_back(t.bytes[c]);
    memory[std::string(name(category))] = std::move(by_tile);
  }
  Json ops = Json::array(), candidates = Json::array();
  std::map<std::string, size_t> known;
  for (const ReportOp& o : r.ops) {
    check_interrupt();
    ops.push_back(op_json(r, o, list_of(o.alternatives, known, candidates)));
  }
  Json graphs = Json::array();
  for (size_t g = 0; g < r.graphs.size(); ++g) {
    const ReportGraph& graph = r.graphs[g];
    graphs.push_back({{"name", graph.name},
                      {"calls", graph.calls},
                      {"runs", graph.runs},
                      {"cycles", graph.cycles},
                      {"code_bytes", graph.code_bytes},
                      {"saved_bytes", graph.saved_bytes},
                      {"copied_bytes", graph.copied_bytes},
                      {"copy_cycles", graph.copy_cycles},
                      {"entries", graph.entries},
                      {"body", g < r.bodies.size() ? body_json(r.bodies[g]) : Json::array()}});
  }
  Json tensors = Json::array();
  for (const ReportTensor& t : r.tensors)
    tensors.push_back({{"name", t.name},
                       {"spec", t.spec},
                       {"layout", t.mapping},
                       {"category", name(t.category)},
                       {"graph", t.graph},
                       {"bytes", t.bytes},
                       {"tile_bytes", t.tile_bytes},
                       {"always_live", t.always_live},
                       {"first", t.first},
                       {"last", t.last}});
  return {{"name", r.program},
          {"source", r.source},
          {"machine", machine_json(r.machine)},
          {"options",
           {{"available_memory_proportion", proportion(r.options.available_memory_permille)},
            {"partials", r.options.partials},
            {"objective", r.options.objective}}},
          {"fits", r.fits},
          {"problems", problems_json(r)},
          {"totals", totals_json(r)},
          {"categories", std::move(categories)},
          {"memory", std::move(memory)},
          {"graphs", std::move(graphs)},
          {"ops", std::move(ops)},
          {"plans", std::move(candidates)},
          {"points", points_json(r)},
          {"tensors", std::move(tensors)},
          {"search",
           {{"keys", r.search.keys},
            {"plans", r.search.candidates},
            {"refused", r.search.rejected},
            {"kept", r.search.kept},
            {"rounds", r.search.rounds},
            {"moves", r.search.moves},
            {"fastest_cycles", r.search.fastest_cycles}}}};
}

// Names come from programs and may be truncated within a UTF-8 sequence.
std::string dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

Json all_json(std::span<const Report> runs, std::span<const Report> against) {
  Json first = Json::array(), second = Json::array();
  for (const Report& r : runs) first.push_back(run_json(r));
  for (const Report& r : against) second.push_back(run_json(r));
  return {
      {"event", "profile"}, {"schema", "pxl-profile/1"}, {"runs", std::move(first)}, {"against", std::move(second)}};
}

std::string_view page_file(std::string_view name) {
  for (const PageFile& f : page_files())
    if (f.name == name) return f.text;
  return {};
}

// A complete event ("X").
Json event(std::string_view name, std::string_view category, double ts, double dur, size_t process, int lane,
           Json args) {
  return {{"name", name}, {"cat", category}, {"ph", "X"},   {"ts", ts},
          {"dur", dur},   {"pid", process},  {"tid", lane}, {"args", std::move(args)}};
}

int lane_of(BspPhaseKind kind) {
  switch (kind) {
    case BspPhaseKind::exchange: return 2;
    case BspPhaseKind::sync: return 3;
    case BspPhaseKind::host: return 4;
    case BspPhaseKind::compute:
    case BspPhaseKind::call:
    case BspPhaseKind::count: break;
  }
  return 1;
}

}  // namespace

std::string json_text(std::span<const Report> runs, std::span<const Report> against) {
  return dump(all_json(runs, against)) + "\n";
}

std::string page_text(std::span<const Report> runs, std::span<const Report> against, const PageExtras& extras) {
  // A `<` in the data could end the script element or begin a comment; in JSON it occurs in strings only.
  const auto embedded = [](const Json& json) {
    std::string out;
    for (const char c : dump(json)) c == '<' ? out += "\\u003c" : out += c;
    return out;
  };
  const std::string data = embedded(all_json(runs, against)), other = embedded(Json(extras.graphs)),
                    sources = embedded(Json(extras.sources));
  std::string js;
  for (const std::string_view part : {"elements.js", "base.js", "summary.js", "compare.js", "timeline.js", "memory.js",
                                      "liveness.js", "tree.js", "ops.js", "main.js"})
    js += page_file(part);
  std::string page;
  std::string_view rest = page_file("page.html");
  for (size_t at; (at = rest.find("@@")) != rest.npos;) {
    page += rest.substr(0, at);
    rest.remove_prefix(at + 2);
    const std::string_view mark = rest.substr(0, rest.find("@@"));
    page += mark == "css"       ? page_file("page.css")
            : mark == "data"    ? std::string_view(data)
            : mark == "graphs"  ? std::string_view(other)
            : mark == "sources" ? std::string_view(sources)
                                : std::string_view(js);
    rest.remove_prefix(mark.size() + 2);
  }
  return page.append(rest);
}

std::string trace_text(std::span<const Report> runs) {
  Json events = Json::array();
  bool complete = true;
  for (size_t p = 0; p < runs.size(); ++p) {
    const Report& r = runs[p];
    const auto named = [&](std::string_view what, std::string_view name, int lane) {
      events.push_back({{"name", what}, {"ph", "M"}, {"pid", p}, {"tid", lane}, {"args", {{"name", name}}}});
    };
    complete = complete && r.timeline_complete;
    named("process_name",
          fmt::format("{} on {}{}", r.program, r.machine.name,
                      r.timeline_complete
                          ? ""
                          : fmt::format(", its first {} steps", grouped(static_cast<int64_t>(r.timeline.size())))),
          0);
    constexpr std::string_view lanes[] = {"op", "compute", "exchange", "sync", "host"};
    for (int lane = 0; lane < 5; ++lane) named("thread_name", lanes[lane], lane);
    for (size_t i = 0; i < r.timeline.size();) {
      const ReportStep& first = r.steps[static_cast<size_t>(r.timeline[i].step)];
      const ReportOp& op = r.ops[static_cast<size_t>(first.op)];
      const int64_t start = r.timeline[i].start, repeats = r.timeline[i].repeats;
      int64_t end = start;
      for (int s = 0; s < op.step_count && i < r.timeline.size(); ++s, ++i) {
        const ReportSpan& span = r.timeline[i];
        const ReportStep& step = r.steps[static_cast<size_t>(span.step)];
        end = span.start + span.cycles;
        if (span.cycles == 0) continue;
        Json args = {{"cycles", span.cycles}, {"repeats", span.repeats}, {"tiles", step.tiles}};
        if (step.bytes > 0) args["bytes"] = step.bytes;
        events.push_back(event(step.what, name(step.kind), r.machine.microseconds(span.start),
                               r.machine.microseconds(span.cycles), p, lane_of(step.kind), std::move(args)));
      }
      if (end > start)
        events.push_back(
            event(fmt::format("{}.{}", op.name, op.id), "op", r.machine.microseconds(start),
                  r.machine.microseconds(end - start), p, 0,
                  {{"cycles", end - start}, {"repeats", repeats}, {"scope", op.scope}, {"plan", op.candidate}}));
    }
    if (!r.timeline_complete && !r.timeline.empty())
      events.push_back({{"name", "the run goes on"},
                        {"ph", "i"},
                        {"s", "p"},
                        {"ts", r.machine.microseconds(r.timeline.back().start + r.timeline.back().cycles)},
                        {"pid", p},
                        {"tid", 0},
                        {"args", {{"steps_kept", r.timeline.size()}, {"cycles", r.cycles.total()}}}});
  }
  return dump(
             {{"traceEvents", std::move(events)}, {"displayTimeUnit", "ns"}, {"otherData", {{"complete", complete}}}}) +
         "\n";
}

}  // namespace pxl::tiles
