// Every op in parts on tiles against its definition on the whole: candidates of its strategy, on machines of a few
// tiles.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstring>

#include "draw.hpp"
#include "oracle.hpp"
#include "runtime/execute/tiles/chip.hpp"
#include "runtime/tiles/candidates/strategies.hpp"

using namespace pxl;
using namespace pxl::test;

namespace {

constexpr int draws = 8;  // of a row and dtype

/// The action of the next kernel, and the outcomes of the kernels before.
struct {
  uint64_t turn = 0;
  int ran = 0, as_planned = 0;
} tried;

/// A mapping in blocks, as neighbours of an op may offer it.
tiles::TileMapping some_blocks(const TensorSpec& spec, uint64_t turn) {
  std::vector<int32_t> parts;
  for (size_t i = 0; i < spec.shape.size(); ++i) parts.push_back(static_cast<int32_t>(1 + (turn >> (2 * i)) % 3));
  return tiles::block_mapping(spec, parts, 1 + static_cast<int64_t>(turn % 2), 1 + static_cast<int64_t>(turn / 2 % 2));
}

/// One of the op's candidates, carried out.
Kernel on_tiles(const OpContext& given) {
  const uint64_t turn = tried.turn++;
  struct Owned {
    std::vector<TensorSpec> in, out;
    std::vector<bool> has;
    Attributes attrs;
    const OpRow* row;
    Op op;
    Tensor operand;  ///< in place of each operand that the op has
  };
  auto own = std::make_shared<Owned>();
  own->row = &given.row;
  own->attrs = given.attrs;
  own->out.assign(given.out.begin(), given.out.end());
  for (const TensorSpec* spec : given.in) {
    own->in.push_back(spec ? *spec : TensorSpec{});
    own->has.push_back(spec != nullptr);
  }
  own->op.row = &given.row;
  for (const bool has : own->has) own->op.inputs.push_back(has ? &own->operand : nullptr);
  return Kernel([own, turn](const Buffers& buffers) {
    std::vector<const TensorSpec*> slots;
    for (size_t i = 0; i < own->in.size(); ++i) slots.push_back(own->has[i] ? &own->in[i] : nullptr);
    const OpContext site{.row = *own->row, .in = slots, .attrs = own->attrs, .out = own->out};
    const tiles::Machine machine = tiles::parse_machine(fmt::format("mk2,tiles={}", 2 + turn % 7 * 5));
    tiles::TileMappingPool pool(machine);
    for (const std::vector<TensorSpec>* specs : {&own->in, &own->out})
      for (const TensorSpec& spec : *specs)
        if (spec.size() > 0) pool.add(spec, pool.table.id(some_blocks(spec, turn)));
    std::vector<tiles::OpCandidate> candidates;
    const tiles::CandidateOptions options;
    const std::vector<bool> none(own->in.size(), false);
    const tiles::CandidateRequest request{machine, options, pool, site, none, none, candidates};
    bool empty = false;
    for (const TensorSpec& spec : own->out) empty = empty || spec.size() == 0;
    if (!empty) tiles::enumerate_candidates(tiles::strategy_info(own->row->tiles.strategy), request);
    tiles::OpCandidate candidate = request.start("nothing");
    if (candidates.empty())
      for (const TensorSpec& spec : own->out)
        candidate.out.push_back(request.mapping(tiles::linear_mapping(machine, spec)));
    else
      candidate = candidates[turn / 7 % candidates.size()];
    tiles::OpParts parts = tiles::op_parts({machine, options, own->op, site, candidate, pool.table});
    ++tried.ran;
    tried.as_planned += parts.as_planned;
    CHECK_MESSAGE((parts.as_planned || candidate.tiles <= 1 || tiles::has_single_results(site)),
                  own->row->name << " is planned on " << candidate.tiles << " tiles and runs on one");

    Chip chip(std::vector<int64_t>(static_cast<size_t>(machine.tiles), machine.memory), "");
    std::vector<Chip::MemoryPtr> memories;
    std::vector<const tiles::Layout*> layouts;
    const auto place = [&](int32_t id, const TensorSpec& spec) -> tiles::TensorPlace {
      const tiles::TileMapping mapping = id >= 0 ? pool.table.at(id) : tiles::linear_mapping(machine, spec);
      memories.push_back(std::make_shared<const Chip::Memory>(
          chip, std::make_shared<const tiles::Layout>(machine, mapping, spec.shape), size_of(spec.dtype)));
      layouts.push_back(memories.back()->layout().get());
      return {memories.size() - 1, nullptr};
    };
    std::vector<tiles::TensorPlace> operands, results;
    for (size_t i = 0; i < own->in.size(); ++i) {
      operands.push_back(own->has[i] ? place(candidate.in[i], own->in[i]) : tiles::TensorPlace{});
      if (own->has[i]) memories.back()->write(buffers.in[i]);
    }
    const bool in_place = own->row->alias >= 0 && own->row->modifies != 0;
    for (size_t i = 0; i < own->out.size(); ++i)
      results.push_back(i == 0 && in_place ? operands[static_cast<size_t>(own->row->alias)]
                                           : place(candidate.out[i], own->out[i]));
    const tiles::LoweredOp lowered = tiles::lower(std::move(parts), layouts, operands, results);
    chip.run({&own->op, site, lowered, memories});
    for (size_t i = 0; i < own->out.size(); ++i) memories[results[i].memory]->read(buffers.out[i]);
    // A tensor that an op changes in place is its result here, as kernels and definitions are compared.
    for (size_t i = 0; i < own->in.size(); ++i)
      if (own->has[i] && own->op.modifies(i) && static_cast<int>(i) != own->row->alias)
        memories[operands[i].memory]->read(const_cast<std::byte*>(buffers.in[i]));
  });
}

}  // namespace

TEST_CASE("parts of ops on tiles compute what the definition computes") {
  const char* only = std::getenv("PXL_ORACLE_ONLY");
  int rows_as_planned = 0, rows = 0;
  for (const OpRow* row : op_table()) {
    if (row->role != Role::compute || row->exchange != Exchange::none || row->side_effect || is_view(*row)) continue;
    if (only && row->name != only) continue;
    OpRow tiled = *row;
    tiled.kernel = on_tiles;
    tiled.order = [](const OpContext&) { return ElementOrder::whole; };
    tiled.inplace_ok = false;
    std::string first;
    const int before = tried.as_planned, ran = tried.ran;
    for (const DType dtype : {DType::float32, DType::float16, DType::int32, DType::float8_143})
      for (uint64_t seed = 0; seed < draws; ++seed) {
        Draw draw(tiled, dtype, seed * 977 + static_cast<uint64_t>(dtype), seed % 4 == 3);
        const Verdict v = compare(tiled, draw.sample());
        if (v.taken && !v.difference.empty() && first.empty())
          first = fmt::format("{}, {}, draw {}: {}", row->name, name(dtype), seed, v.difference);
      }
    CHECK_MESSAGE(first.empty(), first);
    rows += tried.ran > ran;
    rows_as_planned += tried.as_planned > before;
  }
  MESSAGE(fmt::format("{} rows, {} of them in parts as planned; {} runs, {} of them in parts", rows, rows_as_planned,
                      tried.ran, tried.as_planned));
  if (!only) CHECK(rows_as_planned == rows);
}
