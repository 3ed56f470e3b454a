// Rows of the strategies: vertices, cycles, and the choice of mappings.
#include "runtime/tiles/candidates/strategies.hpp"

#include <algorithm>

#include "runtime/base/diagnostics/diagnostic.hpp"

namespace pxl::tiles {

namespace {

using S = TileStrategy;
using M = MappingSource;
constexpr PeakRate vector_rate = PeakRate::vector, unit_rate = PeakRate::accumulating_units;
constexpr WithoutOutputs no_step = WithoutOutputs::no_step, runs = WithoutOutputs::runs;

const VectorCost& vector_of(const CandidateRequest& r) { return r.site.row.tiles.vector; }

int64_t fill_vertex_cycles(const CandidateRequest& r, const TileShare& t) {
  return fill_cycles(r.machine, t.elements, t.element_bytes);
}
int64_t random_vertex_cycles(const CandidateRequest& r, const TileShare& t) {
  return random_cycles(r.machine, vector_of(r), t.elements, t.element_bytes);
}
int64_t unary_vertex_cycles(const CandidateRequest& r, const TileShare& t) {
  return unary_cycles(r.machine, vector_of(r), t.elements, t.element_bytes);
}
int64_t nonlinearity_vertex_cycles(const CandidateRequest& r, const TileShare& t) {
  return nonlinearity_cycles(r.machine, vector_of(r), t.elements, t.element_bytes);
}
int64_t nonlinearity_grad_vertex_cycles(const CandidateRequest& r, const TileShare& t) {
  return nonlinearity_grad_cycles(r.machine, vector_of(r), t.elements, t.element_bytes);
}
int64_t cast_vertex_cycles(const CandidateRequest& r, const TileShare& t) {
  return cast_cycles(r.machine, t.elements, element_bytes(r.site.input(0)), t.element_bytes);
}
int64_t copy_vertex_cycles(const CandidateRequest& r, const TileShare& t) {
  return memcpy_cycles(r.machine, t.elements * t.element_bytes);
}

int64_t update_vertex_cycles(const CandidateRequest& r, const TileShare& t) {
  bool mixed = false;
  for (const TensorSpec* x : r.site.in) mixed = mixed || (x && x->size() > 1 && x->dtype != r.site.out[0].dtype);
  return update_cycles(r.machine, vector_of(r), t.elements, t.element_bytes, mixed);
}

/// n - 1 vertices combine n operands pairwise.
int64_t binary_vertex_cycles(const CandidateRequest& r, const TileShare& t) {
  const Machine& m = r.machine;
  const OpContext& s = r.site;
  const TensorSpec& out = s.out[0];
  const int64_t n = t.elements;
  int64_t cycles = 0, vertices = 0;
  const int64_t columns = out.shape.empty() ? 1 : std::max<int64_t>(1, out.shape.back());
  for (size_t i = 1; i < s.in.size(); ++i) {
    if (!s.in[i]) continue;
    ++vertices;
    const int64_t wide = std::max(t.element_bytes, s.has(0) ? element_bytes(s.input(0)) : t.element_bytes);
    if (s.in[i]->size() == 1 && out.size() > 1)
      cycles += broadcast_scalar_cycles(m, vector_of(r), n, wide);
    else if (s.in[i]->size() < out.size() && s.in[i]->size() == columns)
      cycles += broadcast_vector_cycles(m, vector_of(r), div_up(n, columns), std::min(n, columns), wide);
    else
      cycles += binary_cycles(m, vector_of(r), n, wide);
  }
  return vertices ? cycles : unary_vertex_cycles(r, t);
}
constexpr Vertex binary_vertex = {"BinaryOp", binary_vertex_cycles, binary_in_place_cycles};

int64_t no_cycles(const CandidateRequest&, const TileShare&) { return 0; }
int64_t scan_vertex_cycles(const CandidateRequest& r, const TileShare& t) {
  return scan_cycles(r.machine, vector_of(r), t.rows, t.length);
}
int64_t sort_vertex_cycles(const CandidateRequest& r, const TileShare& t) {
  return sort_cycles(r.machine, vector_of(r), t.rows, t.length);
}
int64_t loss_vertex_cycles(const CandidateRequest& r, const TileShare& t) {
  return loss_cycles(r.machine, t.rows, t.length, t.element_bytes);
}
/// A row multiplies and exponentiates as many products as there are keys. A vector instruction has 8 bytes.
int64_t attention_vertex_cycles(const CandidateRequest& r, const TileShare& t) {
  const Shape &k = r.site.input(1).shape, &v = r.site.input(2).shape;
  const int64_t vectors = div_up((k.back() + v.back()) * t.element_bytes, 8);
  const int64_t exponential = div_up(tile_exp.vector.f32_cycles, tile_exp.vector.f32_elements);
  return t.rows * k[k.size() - 2] * (vectors + exponential);
}

constexpr VectorCost add_pass = tile_add.vector;
constexpr VectorCost softmax_passes[] = {add_pass, tile_exp.vector, add_pass},
                     softmax_grad_passes[] = {add_pass, add_pass, add_pass},
                     normalise_passes[] = {add_pass, tile_square.vector, add_pass, add_pass},
                     normalise_grad_passes[] = {add_pass, add_pass, add_pass, add_pass, add_pass},
                     loss_passes[] = {tile_log.vector}, loss_grad_passes[] = {add_pass, add_pass};

/// Returns 0 for vertices whose formula is the same wherever the result is stored.
int64_t as_elsewhere(const Machine&, int64_t, int64_t) { return 0; }
constexpr ElementwiseStrategy elementwise(std::string_view vertex, VertexCyclesFn cycles,
                                          InPlaceCyclesFn in_place = as_elsewhere) {
  return {{vertex, cycles, in_place}};
}

constexpr TileStrategyInfo strategy_rows[] = {
    {S::view, "view", CustomStrategy{enumerate_views}, M::propagated, vector_rate, no_step, element_parts},
    {S::fill, "fill", elementwise("Fill", fill_vertex_cycles), M::neighbours, vector_rate, no_step, own_element_parts},
    {S::random, "random", elementwise("Random", random_vertex_cycles), M::neighbours, vector_rate, no_step,
     own_element_parts},
    {S::unary, "unary", elementwise("UnaryOp", unary_vertex_cycles, unary_in_place_cycles), M::neighbours, vector_rate,
     no_step, element_parts},
    {S::binary, "binary", ElementwiseStrategy{binary_vertex}, M::neighbours, vector_rate, no_step, element_parts},
    {S::nonlinearity, "nonlinearity", elementwise("NonLinearity", nonlinearity_vertex_cycles), M::neighbours,
     vector_rate, no_step, element_parts},
    {S::nonlinearity_grad, "nonlinearity gradient", elementwise("NonLinearityGrad", nonlinearity_grad_vertex_cycles),
     M::neighbours, vector_rate, no_step, element_parts},
    {S::cast, "cast", elementwise("Cast", cast_vertex_cycles), M::propagated, vector_rate, no_step, element_parts},
    {S::update, "update", elementwise("ScaledAdd", update_vertex_cycles), M::neighbours, vector_rate, no_step,
     element_parts},
    {S::copy, "copy", elementwise("Memcpy", copy_vertex_cycles), M::neighbours, vector_rate, no_step, element_parts},
    {S::movement, "movement", CustomStrategy{enumerate_movement}, M::propagated, vector_rate, no_step, element_parts},
    {S::reduction, "reduction", CustomStrategy{enumerate_reductions}, M::neighbours, vector_rate, no_step,
     reduction_parts},
    {S::scan, "scan",
     RowStrategy{
         .vertex = {"CumSum", scan_vertex_cycles, as_elsewhere}, .reductions = 0, .passes = {}, .whole_rows = true},
     M::own, vector_rate, no_step, row_parts},
    {S::sort, "sort",
     RowStrategy{.vertex = {"Sort", sort_vertex_cycles, as_elsewhere},
                 .reductions = 0,
                 .passes = {},
                 .whole_rows = true,
                 .sorts = true},
     M::own, vector_rate, no_step, row_parts},
    {S::softmax, "softmax",
     RowStrategy{.vertex = {"Softmax", no_cycles, as_elsewhere},
                 .reductions = 2,
                 .passes = softmax_passes,
                 .whole_in_library = true},
     M::own, vector_rate, no_step, row_parts},
    {S::softmax_grad, "softmax gradient",
     RowStrategy{.vertex = {"SoftmaxGrad", no_cycles, as_elsewhere},
                 .reductions = 1,
                 .passes = softmax_grad_passes,
                 .whole_in_library = true},
     M::own, vector_rate, no_step, row_parts},
    {S::normalise, "normalisation",
     RowStrategy{
         .vertex = {"Norm", no_cycles, as_elsewhere}, .reductions = 2, .passes = normalise_passes, .parameters = true},
     M::own, vector_rate, no_step, normalisation_parts},
    {S::normalise_grad, "normalisation gradient",
     RowStrategy{.vertex = {"NormGrad", no_cycles, as_elsewhere},
                 .reductions = 2,
                 .passes = normalise_grad_passes,
                 .parameters = true,
                 .column_sums = true},
     M::own, vector_rate, no_step, normalisation_gradient_parts},
    {S::product, "product", CustomStrategy{enumerate_products}, M::own, unit_rate, no_step, product_parts,
     CutKind::product},
    {S::convolution, "convolution", CustomStrategy{enumerate_convolutions}, M::own, vector_rate, no_step,
     convolution_parts, CutKind::convolution},
    {S::convolution_data, "convolution, data gradient", CustomStrategy{enumerate_data_gradients}, M::own, vector_rate,
     no_step, data_gradient_parts, CutKind::convolution},
    {S::convolution_weights, "convolution, weights gradient", CustomStrategy{enumerate_weight_gradients}, M::own,
     vector_rate, no_step, weight_gradient_parts, CutKind::convolution},
    {S::pooling, "pooling", CustomStrategy{enumerate_pooling}, M::own, vector_rate, no_step, pooling_parts},
    {S::gather, "gather", CustomStrategy{enumerate_gathers}, M::own, vector_rate, no_step, gather_parts,
     CutKind::table},
    {S::scatter, "scatter", CustomStrategy{enumerate_scatters}, M::own, vector_rate, no_step, scatter_parts,
     CutKind::table},
    {S::loss, "loss",
     RowStrategy{.vertex = {"Loss", loss_vertex_cycles, as_elsewhere},
                 .reductions = 1,
                 .passes = loss_passes,
                 .sums_rows = true},
     M::own, vector_rate, no_step, loss_parts},
    {S::loss_grad, "loss gradient",
     RowStrategy{.vertex = {"LossGrad", no_cycles, as_elsewhere}, .reductions = 0, .passes = loss_grad_passes}, M::own,
     vector_rate, no_step, loss_parts},
    {S::attention, "attention",
     RowStrategy{.vertex = {"Attention", attention_vertex_cycles, as_elsewhere},
                 .reductions = 0,
                 .passes = {},
                 .whole_rows = true},
     M::own, vector_rate, no_step, own_result_parts},
    {S::host, "host", CustomStrategy{enumerate_host}, M::neighbours, vector_rate, runs, whole_parts},
    {S::control, "control", CallStrategy{}, M::neighbours, vector_rate, no_step, whole_parts},
};

constexpr bool has_named_vertex(const TileStrategyInfo& row) {
  if (const auto* e = std::get_if<ElementwiseStrategy>(&row.work)) return !e->vertex.name.empty();
  if (const auto* r = std::get_if<RowStrategy>(&row.work)) return !r->vertex.name.empty();
  return true;
}
constexpr bool is_complete() {
  size_t next = 1;  // after unset
  for (const TileStrategyInfo& row : strategy_rows)
    if (static_cast<size_t>(row.strategy) != next++ || row.name.empty() || !has_named_vertex(row)) return false;
  return next == static_cast<size_t>(S::count);
}
static_assert(is_complete(), "every TileStrategy has a row with names, in the order of the enum");

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>;

}  // namespace

const TileStrategyInfo& strategy_info(TileStrategy strategy) {
  const size_t index = static_cast<size_t>(strategy);
  if (index == 0 || index >= static_cast<size_t>(S::count))
    throw Error("an op without a tile strategy", {}, Fault::internal);
  return strategy_rows[index - 1];
}

void enumerate_candidates(const TileStrategyInfo& strategy, const CandidateRequest& r) {
  std::visit(Overloaded{[&](const ElementwiseStrategy& e) { enumerate_elementwise(r, e.vertex); },
                        [&](const RowStrategy& rows) { enumerate_row_op(r, rows); },
                        [&](const CustomStrategy& c) { c.enumerate(r); }, [](const CallStrategy&) {}},
             strategy.work);
}

void enumerate_as_binary(const CandidateRequest& r) { enumerate_elementwise(r, binary_vertex); }

}  // namespace pxl::tiles
