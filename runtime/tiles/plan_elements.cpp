// Plans of ops that go element by element, of views and of elements that change places. They follow the layouts that
// their neighbours bring.
#include <fmt/format.h>

#include <algorithm>

#include "runtime/tiles/plan.hpp"

namespace pxl::tiles {

namespace {

/// Cycles of the vertex of an elementwise family for `n` elements of output 0 on a tile.
int64_t vertex_cycles(const PlanRequest& r, int64_t n) {
  const Machine& m = r.machine;
  const OpSite& s = r.site;
  const TileMap& map = s.row.tiles;
  const TensorSpec& out = s.out[0];
  const int64_t bytes = element_bytes(out);
  switch (map.family) {
    case TileFamily::fill: return fill_cycles(m, n, bytes);
    case TileFamily::random: return random_cycles(m, map.vector, n, bytes);
    case TileFamily::nonlinearity: return nonlinearity_cycles(m, map.vector, n, bytes);
    case TileFamily::nonlinearity_grad: return nonlinearity_grad_cycles(m, map.vector, n, bytes);
    case TileFamily::cast: return cast_cycles(m, n, element_bytes(s.input(0)), bytes);
    case TileFamily::copy: return memcpy_cycles(m, n * bytes);
    case TileFamily::update: {
      bool mixed = false;
      for (const TensorSpec* t : s.in) mixed = mixed || (t && t->size() > 1 && t->dtype != out.dtype);
      return update_cycles(m, map.vector, n, bytes, mixed);
    }
    case TileFamily::unary: return unary_cycles(m, map.vector, n, bytes);
    default: break;
  }
  // Pairs of operands one after the other: n - 1 vertices for n of them.
  int64_t cycles = 0, vertices = 0;
  const int64_t columns = out.shape.empty() ? 1 : std::max<int64_t>(1, out.shape.back());
  for (size_t i = 1; i < s.in.size(); ++i) {
    if (!s.in[i]) continue;
    ++vertices;
    const int64_t wide = std::max(bytes, s.has(0) ? element_bytes(s.input(0)) : bytes);
    if (s.in[i]->size() == 1 && out.size() > 1)
      cycles += broadcast_scalar_cycles(m, map.vector, n, wide);
    else if (s.in[i]->size() < out.size() && s.in[i]->size() == columns)
      cycles += broadcast_vector_cycles(m, map.vector, div_up(n, columns), std::min(n, columns), wide);
    else
      cycles += binary_cycles(m, map.vector, n, wide);
  }
  return vertices ? cycles : unary_cycles(m, map.vector, n, bytes);
}

std::string_view vertex_name(TileFamily family) {
  switch (family) {
    case TileFamily::fill: return "Fill";
    case TileFamily::random: return "Random";
    case TileFamily::nonlinearity: return "NonLinearity";
    case TileFamily::nonlinearity_grad: return "NonLinearityGrad";
    case TileFamily::cast: return "Cast";
    case TileFamily::copy: return "Memcpy";
    case TileFamily::update: return "ScaledAdd";
    case TileFamily::unary: return "UnaryOp";
    default: return "BinaryOp";
  }
}

std::vector<int64_t> permutation_of(const OpSite& s) {
  const size_t rank = s.input(0).shape.size();
  std::vector<int64_t> order;
  for (size_t i = 0; i < s.row.params.size() && i < s.attrs.size(); ++i)
    if (s.row.params[i].name == "permutation")
      if (const auto* given = std::get_if<std::vector<int64_t>>(&s.attrs[i])) order = *given;
  if (order.size() != rank) {
    order.clear();
    for (size_t i = rank; i-- > 0;) order.push_back(static_cast<int64_t>(i));
  }
  for (int64_t& axis : order)
    if (axis < 0) axis += static_cast<int64_t>(rank);
  return order;
}

bool is_transposition(const OpSite& s) {
  return std::any_of(s.row.params.begin(), s.row.params.end(), [](const Param& p) { return p.name == "permutation"; });
}

void plan_transposition(const PlanRequest& r) {
  const Machine& m = r.machine;
  const TensorSpec& x = r.site.input(0);
  const TensorSpec& y = r.site.out[0];
  const std::vector<int64_t> order = permutation_of(r.site);
  // Only the layout's axes are renamed; each tile puts its own elements in order.
  std::vector<int32_t> from = r.pool.of(x);
  for (const int32_t wanted : r.pool.of(y)) {
    const Layout& l = r.pool.table.at(wanted);
    if (l.flat) continue;
    std::vector<int64_t> back(order.size());
    for (size_t i = 0; i < order.size(); ++i) back[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
    from.push_back(r.layout(transpose_layout(l, back)));
  }
  for (const int32_t id : from) {
    const Layout l = r.pool.table.at(id);
    OpPlan plan = r.start("on its tile");
    plan.in[0] = id;
    const int64_t most = r.at_most(id, x), bytes = element_bytes(x);
    if (l.flat) {
      // No tile holds a part that stays together: everything moves.
      const Layout to = linear_layout(m, y);
      plan.family = "through an exchange";
      Traffic t;
      t.in = t.out = most * bytes;
      // Axes behind the last that changes its place stay together.
      int64_t together = 1;
      for (size_t i = order.size(); i-- > 0 && order[i] == static_cast<int64_t>(i);) together *= x.shape[i];
      t.fragments = div_up(most, std::max<int64_t>(1, together)) + 1;
      t.total = x.bytes();
      plan.exchange(m, "transposition", t);
      plan.compute(m, "Transpose", rearrange_cycles(m, most * bytes, bytes), to.tiles());
      plan.temp_bytes = most * bytes;
      plan.out = {r.layout(to)};
    } else {
      // PopLibs: five cycles for each group of four elements in each dimension, by the bytes that are put in order.
      const bool last_stays = !order.empty() && order.back() == static_cast<int64_t>(order.size()) - 1;
      plan.compute(
          m, "Transpose",
          last_stays ? memcpy_cycles(m, most * bytes) : 20 + div_up(most * bytes * 5, std::min<int64_t>(8, bytes) * 4),
          l.tiles());
      plan.out = {r.layout(transpose_layout(l, order))};
    }
    plan.resident_bytes = 2 * most * bytes;
    plan.text = text(l);
    r.plans.push_back(std::move(plan));
  }
}

}  // namespace

void plan_elementwise(const PlanRequest& r) {
  const Machine& m = r.machine;
  const OpSite& s = r.site;
  const TensorSpec& out = s.out[0];
  for (const int32_t id : std::vector<int32_t>(r.pool.of(out))) {
    const Layout l = r.pool.table.at(id);
    const int64_t n = r.at_most(id, out), tiles = l.tiles();
    OpPlan plan = r.start("where the result lies");
    Traffic spread;  // operands of which every tile needs a part that lies elsewhere
    for (size_t i = 0; i < s.in.size(); ++i) {
      if (!s.in[i]) continue;
      const TensorSpec& x = *s.in[i];
      if (x.shape == out.shape) {
        plan.in[i] = id;
        plan.resident_bytes += n * element_bytes(x);
        continue;
      }
      if (i < r.constant.size() && r.constant[i]) continue;
      const int64_t needed = std::min({x.size(), n, l.flat ? n : x.size()}) * element_bytes(x);
      spread.in += needed;
      spread.out =
          std::max({spread.out, div_up(x.bytes(), std::min<int64_t>(m.tiles, std::max<int64_t>(1, x.bytes() / 128)))});
      spread.fragments += div_up(needed, 256);
      spread.runs += div_up(needed, std::max<int64_t>(128, x.bytes() / m.tiles));
      ++spread.sends;
      spread.total += needed * tiles;
    }
    plan.temp_bytes = spread.in;
    plan.exchange(m, "broadcast operands", spread);
    plan.compute(m, vertex_name(s.row.tiles.family), vertex_cycles(r, n), tiles, 20);
    plan.resident_bytes += n * element_bytes(out);
    plan.out.assign(s.out.size(), -1);
    for (size_t i = 0; i < s.out.size(); ++i)
      plan.out[i] = s.out[i].shape == out.shape ? id : r.layout(linear_layout(m, s.out[i]));
    plan.outputs_share = s.row.alias == 0;
    plan.text = text(l);
    r.plans.push_back(std::move(plan));
  }
}

void plan_view(const PlanRequest& r) {
  const TensorSpec& x = r.site.input(0);
  const TensorSpec& y = r.site.out[0];
  const auto offer = [&](const Layout& from, const Layout& to) {
    OpPlan plan = r.start("no step");
    plan.in[0] = r.layout(from);
    plan.out = {r.layout(to)};
    plan.outputs_share = true;
    plan.resident_bytes = elements_at_most(from, x.shape) * element_bytes(x);
    plan.text = text(to);
    r.plans.push_back(std::move(plan));
  };
  Layout seen;
  for (const int32_t id : std::vector<int32_t>(r.pool.of(x)))
    if (reshape_layout(r.pool.table.at(id), x.shape, y.shape, seen)) offer(r.pool.table.at(id), seen);
  for (const int32_t id : std::vector<int32_t>(r.pool.of(y)))
    if (reshape_layout(r.pool.table.at(id), y.shape, x.shape, seen)) offer(seen, r.pool.table.at(id));
}

void plan_movement(const PlanRequest& r) {
  const Machine& m = r.machine;
  const OpSite& s = r.site;
  if (is_transposition(s)) return plan_transposition(r);
  // A layout that leaves the axes whole along which elements are taken or joined: every tile works on its own.
  const bool joins = s.out.size() == 1 && s.in.size() > 1;
  const TensorSpec& large = joins ? s.out[0] : s.input(0);
  const auto fits = [&](const TensorSpec& part, const Layout& l) {
    if (l.flat || part.shape.size() != large.shape.size()) return false;
    for (size_t i = 0; i < part.shape.size(); ++i)
      if (part.shape[i] != large.shape[i] && l.parts[i] > 1) return false;
    return true;
  };
  for (const int32_t id : std::vector<int32_t>(r.pool.of(large))) {
    const Layout l = r.pool.table.at(id);
    bool all = true;
    for (const TensorSpec* t : s.in) all = all && (!t || t->size() <= 1 || fits(*t, l));
    for (const TensorSpec& t : s.out) all = all && fits(t, l);
    if (!all) continue;
    OpPlan plan = r.start("on its tile");
    for (size_t i = 0; i < s.in.size(); ++i)
      if (s.in[i] && s.in[i]->size() > 1) plan.in[i] = r.layout(block_layout(*s.in[i], l.parts, l.spread, l.copies));
    int64_t bytes = 0;
    for (const TensorSpec& t : s.out) {
      const Layout part = block_layout(t, l.parts, l.spread, l.copies);
      plan.out.push_back(r.layout(part));
      bytes += elements_at_most(part, t.shape) * element_bytes(t);
    }
    plan.compute(m, "Memcpy", memcpy_cycles(m, bytes), l.tiles(), 12);
    plan.resident_bytes = 2 * bytes;
    plan.text = text(l);
    r.plans.push_back(std::move(plan));
  }
  for (const int32_t id : std::vector<int32_t>(r.pool.of(s.out[0]))) {
    const Layout l = r.pool.table.at(id);
    OpPlan plan = r.start("through an exchange");
    Traffic t;
    int64_t run = INT64_MAX, held = 0;
    for (size_t i = 0; i < s.in.size(); ++i) {
      if (!s.in[i] || s.in[i]->size() <= 1) continue;
      const Layout from = linear_layout(m, *s.in[i]);
      plan.in[i] = r.layout(from);
      t.out += elements_at_most(from, s.in[i]->shape) * element_bytes(*s.in[i]);
      held += t.out;
      run = std::min(run, std::max<int64_t>(1, s.in[i]->shape.empty() ? 1 : s.in[i]->shape.back()));
    }
    for (const TensorSpec& y : s.out) {
      const Layout to = y.shape == s.out[0].shape ? l : linear_layout(m, y);
      plan.out.push_back(r.layout(to));
      t.in += elements_at_most(to, y.shape) * element_bytes(y);
      t.total += y.bytes();
      run = std::min({run, run_length(to, y.shape), std::max<int64_t>(1, y.shape.empty() ? 1 : y.shape.back())});
    }
    if (held == 0) t.out = std::min<int64_t>(t.in, 4);
    t.fragments = div_up(t.in, std::max<int64_t>(1, run) * element_bytes(s.out[0]));
    plan.exchange(m, "elements to their places", t);
    plan.resident_bytes = held + t.in;
    plan.tiles = l.tiles();
    plan.text = text(l);
    r.plans.push_back(std::move(plan));
  }
}

void plan_host(const PlanRequest& r) {
  const Machine& m = r.machine;
  OpPlan plan = r.start("host link");
  const TensorSpec& t = r.site.out.empty() ? r.site.input(0) : r.site.out[0];
  const int32_t layout = r.layout(linear_layout(m, t));
  for (size_t i = 0; i < r.site.in.size(); ++i) plan.in[i] = r.site.out.empty() ? layout : -1;
  plan.out.assign(r.site.out.size(), layout);
  const int64_t bytes = r.at_most(layout, t) * element_bytes(t);
  plan.host(m, t.bytes());
  plan.exchange(m, "between host buffers and tiles", {bytes, bytes, div_up(bytes, 256), t.bytes(), false, 1, 1});
  plan.resident_bytes = bytes;
  plan.temp_bytes = bytes;
  plan.text = text(r.pool.table.at(layout));
  r.plans.push_back(std::move(plan));
}

}  // namespace pxl::tiles
