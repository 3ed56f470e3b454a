// See estimates.hpp.
#include "interpreter/library/estimates.hpp"

#include <fmt/format.h>

#include "interpreter/graphs/graph_objects.hpp"
#include "interpreter/graphs/programs.hpp"
#include "interpreter/values/builtin.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/scope.hpp"
#include "interpreter/values/value.hpp"

namespace pxl {

namespace {

Ref<DictObject> dict(std::initializer_list<std::pair<const char*, Value>> items) {
  auto d = make_ref<DictObject>();
  for (const auto& [key, value] : items) d->put(Value(key), value);
  return d;
}

Ref<DictObject> phases(const tiles::PhaseCycles& c) {
  return dict({{"total", Value(c.total())},
               {"device", Value(c.device())},
               {"compute", Value(c.compute)},
               {"exchange", Value(c.exchange)},
               {"sync", Value(c.sync)},
               {"host", Value(c.host)}});
}

Ref<DictObject> categories(const tiles::CategoryBytes& bytes) {
  auto d = make_ref<DictObject>();
  for (size_t c = 0; c < bytes.size(); ++c)
    d->put(Value(std::string(tiles::name(static_cast<tiles::MemoryCategory>(c)))), Value(bytes[c]));
  return d;
}

Value estimate_graph(Interpreter& in, const Arguments& args) {
  ArgReader a(args);
  tiles::EstimateOptions options = estimate_options(a);
  options.cuts = nullptr;  // those of `pxl schedule --execute` are for sessions
  const Value given = a.value("graph");
  if (given.as<GraphObject>() || given.as<BoundGraphObject>())
    return estimate_value(tiles::estimate(*to_graph(given, "estimate")->graph, options));
  Value holder;
  return estimate_value(tiles::estimate(to_ir(in, given, "estimate", holder)->ir->main(), options));
}

}  // namespace

namespace {

tiles::EstimateOptions read_options(const ArgReader& args) {
  tiles::EstimateOptions options;
  if (args.has("machine")) options.machine = tiles::parse_machine(args.string("machine"));
  if (args.has("available_memory_proportion")) {
    const Value given = args.value("available_memory_proportion");
    if (auto* by_op = given.as<DictObject>()) {
      for (const auto& [op, proportion] : by_op->items)
        tiles::parse_memory_proportions(fmt::format("{}={}",
                                                    op.is_int()      ? std::to_string(op.as_int())
                                                    : op.as_string() ? *op.as_string()
                                                                     : "",
                                                    proportion.is_number() ? proportion.as_double() : -1.0),
                                        options);
    } else {
      tiles::parse_memory_proportions(fmt::format("{}", args.number_or("available_memory_proportion", 0.6)), options);
    }
  }
  if (args.has("partials")) tiles::parse_partials(args.string("partials"), options);
  return options;
}

}  // namespace

tiles::EstimateOptions estimate_options(const ArgReader& args) {
  try {
    return read_options(args);
  } catch (const Error& e) {
    if (e.first().fault != Fault::usage) throw;
    // The text is wrong here, not the command line.
    throw Error(e.first().message, e.first().notes);
  }
}

Value estimate_value(const tiles::Report& r) {
  std::vector<Value> ops;
  for (const tiles::ReportOp& o : r.ops)
    ops.push_back(dict({{"name", Value(o.name)},
                        {"id", Value(int64_t{o.id})},
                        {"cycles", Value(o.cycles.total())},
                        {"runs", Value(o.times)},
                        {"temporary_bytes", Value(o.temp_bytes)},
                        {"plan", Value(o.candidate)}}));
  std::vector<Value> tensors;
  for (const tiles::TensorGroup& g : r.peak_tensors)
    tensors.push_back(
        dict({{"name", Value(g.name)}, {"spec", Value(g.spec)}, {"count", Value(g.count)}, {"bytes", Value(g.bytes)}}));
  std::vector<Value> shortages;
  for (const tiles::Shortage& s : r.shortages) shortages.push_back(Value(s.what));
  const auto fullest = static_cast<size_t>(r.fullest_tile);
  return dict({{"machine", Value(r.machine.name)},
               {"cycles", phases(r.cycles)},
               {"microseconds", Value(r.microseconds)},
               {"runs_per_second", Value(r.runs_per_second)},
               {"flops", Value(r.flops)},
               {"fits", Value(r.fits)},
               {"shortages", make_list(std::move(shortages))},
               {"bytes", categories(r.memory)},
               {"fullest_tile", dict({{"tile", Value(r.fullest_tile)},
                                      {"bytes", Value(r.tiles[fullest].total)},
                                      {"available", Value(r.machine.capacity())},
                                      {"tensors", make_list(std::move(tensors))},
                                      {"categories", categories(r.tiles[fullest].bytes)}})},
               {"ops", make_list(std::move(ops))},
               {"summary", Value(tiles::summary_text(r))}});
}

void bind_estimate_builtins(Scope& p) {
  define(p, no_effects,
         {"estimate(graph, machine = \"bow\", available_memory_proportion = 0.6, partials = \"float32\")",
          "The cost of a graph or a program on an IPU: a dict of cycles, bytes and ops.",
          R"(def product(x) { return x @ x }
estimate(ir.create_graph(product, float32[64, 64]))["machine"])"},
         [](Interpreter& in, Arguments args) { return estimate_graph(in, args); });
}

}  // namespace pxl
