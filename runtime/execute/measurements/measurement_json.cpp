// Measurements as JSON, which pages contain too, and as trace events. docs/profile-json.md describes each field.
#include <fmt/format.h>

#include "runtime/execute/measurements/measurement.hpp"
#include "runtime/tiles/report/dump.hpp"

namespace pxl {

namespace {

using Json = nlohmann::ordered_json;

Json kernel_json(const MeasuredKernel& k) {
  Json lines = Json::array();
  for (const auto& [file, line] : k.lines) lines.push_back(fmt::format("{}:{}", file, line));
  const auto runs = static_cast<double>(k.runs);
  const double flops = static_cast<double>(k.flops) * runs, bytes = static_cast<double>(k.bytes) * runs;
  const bool any = k.seconds > 0;
  return {{"id", k.id},
          {"name", k.name},
          {"fused", k.fused},
          {"path", k.path},
          {"place", k.place},
          {"library", k.library},
          {"lines", std::move(lines)},
          {"result", k.result},
          {"runs", k.runs},
          {"seconds", k.seconds},
          {"flops", k.flops},
          {"bytes", k.bytes},
          {"roof", any ? roofline().share(flops / k.seconds, bytes / k.seconds) : 0},
          {"divided", k.divided}};
}

Json session_json(const Measurement& m) {
  Json kernels = Json::array(), sources = Json::array(), peak = Json::array();
  for (const MeasuredKernel& k : m.kernels) kernels.push_back(kernel_json(k));
  for (const auto& [name, text] : m.sources) sources.push_back({{"name", name}, {"text", text}});
  for (const MeasuredTensor& t : m.at_peak) peak.push_back({{"name", t.name}, {"spec", t.spec}, {"bytes", t.bytes}});
  Json kernel = Json::array(), thread = Json::array(), begin = Json::array(), ns = Json::array(), runs = Json::array();
  for (const Measurement::Part& p : m.timeline) {
    kernel.push_back(p.kernel);
    thread.push_back(p.thread);
    begin.push_back(p.begin_ns);
    ns.push_back(p.ns);
  }
  for (const auto& [at, length] : m.timed_runs) runs.push_back({at, length});
  return {{"name", m.program},
          {"runs", m.runs},
          {"making_seconds", m.making},
          {"run_seconds", m.in_runs},
          {"kernel_seconds", m.in_kernels},
          {"loop_seconds", m.loop},
          {"kernels", std::move(kernels)},
          {"timeline",
           {{"runs", std::move(runs)},
            {"kernel", std::move(kernel)},
            {"thread", std::move(thread)},
            {"begin_ns", std::move(begin)},
            {"ns", std::move(ns)}}},
          {"memory",
           {{"variable_bytes", m.variables},
            {"constant_bytes", m.constants},
            {"arena_bytes", m.arena},
            {"resident_bytes", m.resident},
            {"live_bytes", m.live},
            {"at_peak", std::move(peak)}}},
          {"sources", std::move(sources)}};
}

}  // namespace

std::string measurement_json(const ScriptMeasurement& m) {
  Json parts = Json::array(), sessions = Json::array();
  for (const auto& [what, seconds] : parts_of(m)) parts.push_back({{"name", what}, {"seconds", seconds}});
  for (const Measurement& s : m.sessions) sessions.push_back(session_json(s));
  const Json all{{"event", "profile"},
                 {"schema", "pxl-measurement/1"},
                 {"source", m.file},
                 {"seconds", m.seconds},
                 {"parts", std::move(parts)},
                 {"resident_peak_bytes", m.resident_peak},
                 {"roofline", {{"flops", roofline().flops}, {"bytes", roofline().bytes}}},
                 {"sessions", std::move(sessions)}};
  return tiles::dump(all) + "\n";
}

std::string measurement_trace(const ScriptMeasurement& m) {
  Json events = Json::array();
  for (size_t p = 0; p < m.sessions.size(); ++p) {
    const Measurement& s = m.sessions[p];
    const auto named = [&](std::string_view what, const std::string& name, int lane) {
      events.push_back({{"name", what}, {"ph", "M"}, {"pid", p}, {"tid", lane}, {"args", {{"name", name}}}});
    };
    const auto event = [&](const std::string& name, int64_t begin, int64_t ns, int lane, Json args) {
      events.push_back({{"name", name},
                        {"ph", "X"},
                        {"ts", static_cast<double>(begin) * 1e-3},
                        {"dur", static_cast<double>(ns) * 1e-3},
                        {"pid", p},
                        {"tid", lane},
                        {"args", std::move(args)}});
    };
    named("process_name", s.program, 0);
    named("thread_name", "session.run", 0);
    int threads = 0;
    for (const Measurement::Part& part : s.timeline) threads = std::max(threads, part.thread + 1);
    for (int t = 0; t < threads; ++t) named("thread_name", fmt::format("thread {}", t), t + 1);
    for (const auto& [begin, ns] : s.timed_runs) event("run", begin, ns, 0, Json::object());
    for (const Measurement::Part& part : s.timeline) {
      const MeasuredKernel& k = s.kernels[static_cast<size_t>(part.kernel)];
      event(k.name, part.begin_ns, part.ns, part.thread + 1,
            {{"module", k.path}, {"place", k.place}, {"result", k.result}, {"fused", k.fused}});
    }
  }
  return tiles::dump({{"traceEvents", std::move(events)}, {"displayTimeUnit", "ms"}}) + "\n";
}

}  // namespace pxl
