// Serialises reports as JSON and as a page. docs/profile-json.md describes each field.
#include "runtime/tiles/report/report_json.hpp"

#include <fmt/format.h>

#include <map>

#include "runtime/base/limits/interrupt.hpp"
#include "runtime/tiles/report/dump.hpp"

namespace pxl::tiles {

namespace {

using Json = nlohmann::ordered_json;

double proportion(int64_t permille) { return static_cast<double>(permille) / 1000; }

Json machine_json(const Machine& m) {
  Json constants = Json::array();
  for (size_t i = 0; i < machine_fields().size(); ++i) {
    const MachineField& f = machine_fields()[i];
    if (m.given[i].given)
      constants.push_back(
          {{"name", f.key}, {"value", m.*f.field}, {"unit", f.unit}, {"doc", f.doc}, {"source", m.given[i].source}});
  }
  return {{"name", m.name},      {"chip", m.chip},
          {"tiles", m.tiles},    {"bytes_per_tile", m.memory},
          {"clock_hz", m.clock}, {"constants", std::move(constants)}};
}

/// The index of a point, or -1 if the point was truncated.
int kept_point(const Report& r, int point) { return point < static_cast<int>(r.liveness.size()) ? point : -1; }

Json totals_json(const Report& r) {
  int64_t bytes = 0, code = 0;
  for (const TileMemory& t : r.tiles) bytes += t.total, code += t.code();
  const bool any = !r.tiles.empty();
  return {{"cycles", r.cycles.device()},
          {"cycles_with_host", r.cycles.total()},
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

// Returns the index in `lists` at which an op's candidates are. Equal lists are shared.
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
          {"waiting_cycles", o.waiting_cycles},
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

Json peak_json(const Report& r) {
  Json tensors = Json::array();
  for (const TensorGroup& g : r.peak_tensors)
    tensors.push_back({{"name", g.name}, {"spec", g.spec}, {"count", g.count}, {"bytes", g.bytes}});
  return {{"op", r.peak_op}, {"tensors", std::move(tensors)}};
}

Json remedies_json(const Report& r) {
  Json all = Json::array();
  for (const Remedy& remedy : r.remedies) {
    Json one = {{"what", remedy.what}, {"fits", remedy.fits}, {"bytes", remedy.bytes}};
    one["cycles"] = remedy.fits ? Json(remedy.cycles) : Json();
    all.push_back(std::move(one));
  }
  return all;
}

/// Lines without ops have only their text.
Json sources_json(const Report& r) {
  Json files = Json::array();
  for (const SourceListing& listing : r.sources) {
    Json lines = Json::array();
    for (const SourceLine& line : listing.lines)
      lines.push_back({{"text", line.text}, {"cycles", line.cycles}, {"bytes", line.bytes}, {"ops", line.ops}});
    files.push_back({{"name", listing.name}, {"lines", std::move(lines)}});
  }
  return files;
}

Json sweep_rows(const Sweep& sweep) {
  const std::vector<bool> best = pareto_rows(sweep);
  Json rows = Json::array();
  for (size_t i = 0; i < sweep.rows.size(); ++i) {
    const SweepRow& row = sweep.rows[i];
    Json one = {{"program", row.program}, {"values", row.values},           {"fits", row.fits},
                {"bytes", row.bytes},     {"total_bytes", row.total_bytes}, {"best", static_cast<bool>(best[i])}};
    one["cycles"] = row.fits ? Json(row.cycles) : Json();
    one["seconds"] = row.fits ? Json(row.seconds) : Json();
    rows.push_back(std::move(one));
  }
  return {{"event", "sweep"}, {"schema", "pxl-sweep/1"}, {"keys", sweep.keys}, {"rows", std::move(rows)}};
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
          {"remedies", remedies_json(r)},
          {"float16_partials_cycles", r.float16_partials_cycles},
          {"peak", peak_json(r)},
          {"sources", sources_json(r)},
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

}  // namespace

std::string dump(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string json_text(std::span<const Report> runs, std::span<const Report> against) {
  return dump(all_json(runs, against)) + "\n";
}

std::string sweep_json(const Sweep& sweep) { return dump(sweep_rows(sweep)) + "\n"; }

std::string page_text(std::span<const Report> runs, std::span<const Report> against, const PageExtras& extras) {
  // A `<` in the data could end the script element or begin a comment. JSON has this character only in strings.
  const auto embedded = [](const Json& json) {
    std::string out;
    for (const char c : dump(json)) c == '<' ? out += "\\u003c" : out += c;
    return out;
  };
  Json all = all_json(runs, against);
  if (!extras.sweep.rows.empty()) all["sweep"] = sweep_rows(extras.sweep);
  if (!extras.measured.empty()) all["measured"] = Json::array({Json::parse(extras.measured)});
  const std::string data = embedded(all), other = embedded(Json(extras.graphs)),
                    sources = embedded(Json(extras.sources));
  std::string js;
  for (const std::string_view part :
       {"elements.js", "base.js", "summary.js", "compare.js", "timeline.js", "memory.js", "liveness.js", "tree.js",
        "ops.js", "graph.js", "source.js", "sweep.js", "measured.js", "main.js"})
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

}  // namespace pxl::tiles
