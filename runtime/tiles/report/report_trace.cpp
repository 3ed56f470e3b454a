// The timeline of reports as trace events.
#include <fmt/format.h>

#include "runtime/tiles/report/dump.hpp"
#include "runtime/tiles/report/report_json.hpp"

namespace pxl::tiles {

namespace {

using Json = nlohmann::ordered_json;

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
