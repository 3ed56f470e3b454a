#include "runtime/tiles/cuts/given_cut.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "runtime/base/text/join_texts.hpp"
#include "runtime/base/text/suggest.hpp"
#include "runtime/tiles/candidates/strategies.hpp"

namespace pxl::tiles {

namespace {

template <class Cut>
struct PartsRow {
  std::string_view key;
  int64_t Cut::*field;
};
constexpr PartsRow<ProductCut> product_parts_rows[] = {
    {"groups", &ProductCut::groups},   {"rows", &ProductCut::rows},     {"depth", &ProductCut::depth},
    {"columns", &ProductCut::columns}, {"serial", &ProductCut::serial}, {"steps", &ProductCut::shifts}};
constexpr PartsRow<ConvolutionCut> convolution_parts_rows[] = {{"groups", &ConvolutionCut::groups},
                                                               {"batch", &ConvolutionCut::batch},
                                                               {"field", &ConvolutionCut::first},
                                                               {"depth", &ConvolutionCut::depth},
                                                               {"columns", &ConvolutionCut::columns}};
constexpr PartsRow<TableCut> table_parts_rows[] = {
    {"entries", &TableCut::entries}, {"along", &TableCut::along}, {"lookups", &TableCut::lookups}};

/// Words of a product's cut, by number.
constexpr std::string_view numbering_words[] = {"rows-depth-columns", "rows-columns-depth", "depth-rows-columns",
                                                "columns-depth-rows"};
constexpr std::string_view operand_words[] = {"faster", "straight", "swapped"};
constexpr std::string_view side_words[] = {"none", "left", "right", "both"};
constexpr std::string_view partial_words[] = {"float16", "float32"};

size_t side_of(bool left, bool right) { return (left ? 1 : 0) + (right ? 2 : 0); }

class CutItems {
 public:
  template <class Cut, size_t n>
  void parts(const Cut& cut, const PartsRow<Cut> (&rows)[n]) {
    for (const PartsRow<Cut>& row : rows)
      if (cut.*row.field > 1) add(fmt::format("{} {}", row.key, cut.*row.field));
    if (text.empty()) add(fmt::format("{} 1", rows[0].key));
  }
  void word(std::string_view key, std::string_view value) { add(fmt::format("{} {}", key, value)); }
  std::string text;

 private:
  void add(const std::string& item) { text += (text.empty() ? "" : ", ") + item; }
};

bool has_half_operands(const Machine& m, const Op& op) {
  return !op.inputs.empty() && op.inputs[0] && product_bytes(m, op.inputs[0]->spec) == 2;
}

bool has_ways(const Op& op) {
  const auto* custom = std::get_if<CustomStrategy>(&strategy_info(op.row->tiles.strategy).work);
  return custom && custom->enumerate == enumerate_movement;
}

std::string numbered_slot(std::string_view word, size_t i) {
  return i == 0 ? std::string(word) : fmt::format("{}{}", word, i + 1);
}

void add_mappings(const OpCandidate& c, const TileMappingTable& mappings, CutItems& items) {
  std::vector<int32_t> all;
  for (const int32_t id : c.in)
    if (id >= 0) all.push_back(id);
  for (const int32_t id : c.out)
    if (id >= 0) all.push_back(id);
  if (all.empty()) return;
  if (std::all_of(all.begin(), all.end(), [&](int32_t id) { return id == all[0]; }))
    return items.word("all", text(mappings.at(all[0])));
  for (size_t i = 0; i < c.in.size(); ++i)
    if (c.in[i] >= 0) items.word(numbered_slot("operand", i), text(mappings.at(c.in[i])));
  for (size_t i = 0; i < c.out.size(); ++i)
    if (c.out[i] >= 0) items.word(numbered_slot("result", i), text(mappings.at(c.out[i])));
}

int64_t number_in(Span word, std::string_view key) {
  int64_t n = 0;
  const std::string_view text = word.text();
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (failed != std::errc{} || end != text.data() + text.size() || n < 0 || n > INT32_MAX)
    refuse_cut(word, fmt::format("expected a number for `{}`, got `{}`", key, text));
  return n;
}

std::vector<int32_t> numbers_in(Span word, std::string_view key) {
  std::vector<int32_t> all;
  for (uint32_t begin = word.begin; begin <= word.end;) {
    const auto end =
        static_cast<uint32_t>(std::min<size_t>(word.file->text().substr(0, word.end).find('x', begin), word.end));
    all.push_back(static_cast<int32_t>(number_in({word.file, begin, end}, key)));
    begin = end + 1;
  }
  return all;
}

template <size_t n>
size_t word_in(const CutItem& item, const std::string_view (&words)[n]) {
  const std::vector<std::string> all(std::begin(words), std::end(words));
  if (item.words.size() == 2) {
    const auto found = std::find(all.begin(), all.end(), item.words[1].text());
    if (found != all.end()) return static_cast<size_t>(found - all.begin());
  }
  refuse_cut(item.at, fmt::format("`{}` is one of {}", item.key(), join_texts(all, ", ")));
}

}  // namespace

std::string cut_text(const Machine& m, const Op& op, const OpCandidate& c, const TileMappingTable& mappings,
                     const CandidateOptions& options) {
  CutItems items;
  if (c.product) {
    const ProductCut& p = *c.product;
    items.parts(p, product_parts_rows);
    if (p.shifts > 1) items.word("rotate", side_words[side_of(p.shift_a, p.shift_b)]);
    if (p.hold_a || p.hold_b) items.word("copies", side_words[side_of(p.hold_a, p.hold_b)]);
    if (p.order != ProductOrder::rows_depth_columns)
      items.word("numbering", numbering_words[static_cast<size_t>(p.order)]);
    if (p.operands != ProductOperands::faster) items.word("operands", operand_words[static_cast<size_t>(p.operands)]);
  } else if (c.convolution) {
    items.parts(*c.convolution, convolution_parts_rows);
  } else if (c.table_cut) {
    items.parts(*c.table_cut, table_parts_rows);
  } else {
    if (has_ways(op)) items.word("way", c.variant);
    add_mappings(c, mappings, items);
  }
  if ((c.product || c.convolution) && has_half_operands(m, op))
    items.word("partials", partial_words[options.half_partial_bytes == 2 ? 0 : 1]);
  return items.text;
}

std::string mapping_problem(const Machine& m, const TileMapping& l, const TensorSpec& spec) {
  const int64_t elements = std::max<int64_t>(1, spec.size());
  if (l.flat) {
    const int64_t most = std::min(m.tiles, div_up(elements, std::max(1, l.grain)));
    if (l.grain < 1 || l.tiles_used < 1 || l.tiles_used > most)
      return fmt::format("{} elements, {} at a time, are on 1 to {} tiles", elements, l.grain, most);
  } else {
    if (l.parts.size() != spec.shape.size())
      return fmt::format("{} has {} axes, the mapping has {}", text(spec), spec.shape.size(), l.parts.size());
    for (size_t i = 0; i < l.parts.size(); ++i)
      if (const int64_t most = std::max<int64_t>(1, spec.shape[i]); l.parts[i] < 1 || l.parts[i] > most)
        return fmt::format("axis {} of {} has 1 to {} parts", i, text(spec), most);
  }
  if (l.first < 0 || l.first >= m.tiles) return fmt::format("the first tile is 0 to {}", m.tiles - 1);
  int64_t tiles = l.flat ? l.tiles_used : 1;
  for (const int32_t n : l.parts) tiles = saturating_product(tiles, n);
  tiles = saturating_product(saturating_product(tiles, l.spread), l.copies);
  if (l.spread < 1 || l.copies < 1 || tiles > m.tiles)
    return fmt::format("the mapping takes {} tiles, the machine has {}", tiles, m.tiles);
  if (l.strides.empty()) return {};
  std::vector<bool> taken(static_cast<size_t>(m.tiles));
  for (int64_t copy = 0; copy < l.copies; ++copy)
    for (int64_t i = 0; i < tiles / l.copies; ++i) {
      const int64_t tile = l.tile_of(copy, i);
      if (tile < 0 || tile >= m.tiles) return fmt::format("the strides lead to tile {} of {}", tile, m.tiles);
      if (taken[static_cast<size_t>(tile)]) return fmt::format("the strides put two blocks on tile {}", tile);
      taken[static_cast<size_t>(tile)] = true;
    }
  return {};
}

TileMapping read_mapping(const Machine& m, const CutItem& item, const TensorSpec& spec) {
  if (item.words.size() < 3 || item.words.size() % 2 == 0)
    refuse_cut(item.at, "expected a mapping, as `flat 4 grain 2` or `blocks 2x4 spread 2`");
  TileMapping l;
  std::vector<int32_t> strides;
  int64_t axis = 0, group = 1;
  for (size_t i = 1; i < item.words.size(); i += 2) {
    const std::string_view key = item.words[i].text();
    const Span value = item.words[i + 1];
    const auto number = [&] { return static_cast<int32_t>(number_in(value, key)); };
    if (i == 1 && key == "flat") {
      l.tiles_used = number();
    } else if (i == 1 && key == "blocks") {
      l.flat = false;
      l.parts = numbers_in(value, key);
      if (spec.shape.empty() && l.parts == std::vector<int32_t>{1}) l.parts.clear();
    } else if (key == "grain" && l.flat && i > 1) {
      l.grain = number();
    } else if (key == "first" && i > 1) {
      l.first = number();
    } else if (key == "copies" && i > 1) {
      l.copies = number();
    } else if (key == "spread" && !l.flat) {
      l.spread = number();
    } else if (key == "group" && !l.flat) {
      group = number();
    } else if (key == "axis" && !l.flat) {
      axis = number();
    } else if (key == "strides" && !l.flat) {
      strides = numbers_in(value, key);
    } else {
      std::vector<std::string> keys =
          i == 1   ? std::vector<std::string>{"flat", "blocks"}
          : l.flat ? std::vector<std::string>{"grain", "first", "copies"}
                   : std::vector<std::string>{"spread", "first", "copies", "group", "axis", "strides"};
      const std::string hint = did_you_mean(key, keys);
      refuse_cut(item.words[i], fmt::format("a mapping has no `{}`{}", key, hint.empty() ? "" : "; " + hint),
                 {fmt::format("here it has {}", join_texts(keys, ", "))});
    }
  }
  if (!strides.empty() && strides.size() != l.parts.size() + 2)
    refuse_cut(item.at, fmt::format("expected {} strides: of the axes, of tiles that share a block, of copies",
                                    l.parts.size() + 2));
  if (group > 1) {
    if (axis >= std::ssize(spec.shape)) refuse_cut(item.at, fmt::format("{} has no axis {}", text(spec), axis));
  }
  if (const std::string problem = mapping_problem(m, l, spec); !problem.empty()) refuse_cut(item.at, problem);
  if (!strides.empty()) l = with_strides(std::move(l), std::move(strides));
  if (group > 1) l = with_inner_axis(std::move(l), spec.shape, static_cast<size_t>(axis), group);
  if (const std::string problem = mapping_problem(m, l, spec); !problem.empty()) refuse_cut(item.at, problem);
  return l;
}

GivenCut::GivenCut(const CutLine& line, const Op& op, const Machine& m, TileMappingTable& mappings)
    : line_(line), in_(op.inputs.size(), -1), out_(op.outputs.size(), -1), table_of_mappings_(mappings), machine_(m) {
  const CutKind kind = strategy_info(op.row->tiles.strategy).cut;
  std::vector<std::string> keys;
  const auto parts = [&](const CutItem& item, auto& cut, const auto& rows) {
    for (const auto& row : rows) {
      keys.emplace_back(row.key);
      if (item.key() != row.key) continue;
      if (item.words.size() != 2) refuse_cut(item.at, fmt::format("expected a number for `{}`", row.key));
      if (!cut) cut.emplace();
      (*cut).*row.field = number_in(item.words[1], row.key);
      return true;
    }
    return false;
  };
  const auto word = [&](const CutItem& item, std::string_view key) {
    keys.emplace_back(key);
    return item.key() == key;
  };
  const auto mapping = [&](const CutItem& item, const std::string& key, const Tensor* t, int32_t& to) {
    if (!t || !word(item, key)) return false;
    mappings_.push_back(to = mappings.id(read_mapping(m, item, t->spec)));
    return true;
  };
  for (const CutItem& item : line.items) {
    keys.clear();
    bool taken = false;
    if (kind == CutKind::product) {
      taken = parts(item, product_, product_parts_rows);
      const auto sides = [&](std::string_view key, bool ProductCut::*left, bool ProductCut::*right) {
        if (taken || !word(item, key)) return;
        if (!product_) product_.emplace();
        const size_t side = word_in(item, side_words);
        (*product_).*left = (side & 1) != 0, (*product_).*right = (side & 2) != 0;
        taken = true;
      };
      sides("rotate", &ProductCut::shift_a, &ProductCut::shift_b);
      sides("copies", &ProductCut::hold_a, &ProductCut::hold_b);
      if (!taken && word(item, "numbering")) {
        if (!product_) product_.emplace();
        product_->order = static_cast<ProductOrder>(word_in(item, numbering_words)), taken = true;
      }
      if (!taken && word(item, "operands")) {
        if (!product_) product_.emplace();
        product_->operands = static_cast<ProductOperands>(word_in(item, operand_words)), taken = true;
      }
    } else if (kind == CutKind::convolution) {
      taken = parts(item, convolution_, convolution_parts_rows);
    } else if (kind == CutKind::table) {
      taken = parts(item, table_, table_parts_rows);
    }
    if (!taken && (kind == CutKind::product || kind == CutKind::convolution) && has_half_operands(m, op) &&
        word(item, "partials"))
      half_partial_bytes_ = word_in(item, partial_words) == 0 ? 2 : 4, taken = true;
    if (!taken && has_ways(op) && word(item, "way")) {
      for (size_t i = 1; i < item.words.size(); ++i) way_ += (i == 1 ? "" : " ") + std::string(item.words[i].text());
      taken = true;
    }
    const Tensor* any = !op.outputs.empty() ? op.outputs[0] : op.inputs.empty() ? nullptr : op.inputs[0];
    taken = taken || mapping(item, "all", any, all_);
    for (size_t i = 0; i < in_.size() && !taken; ++i)
      taken = mapping(item, numbered_slot("operand", i), op.inputs[i], in_[i]);
    for (size_t i = 0; i < out_.size() && !taken; ++i)
      taken = mapping(item, numbered_slot("result", i), op.outputs[i], out_[i]);
    if (taken) continue;
    const std::string hint = did_you_mean(item.key(), keys);
    refuse_cut(item.words[0],
               fmt::format("a cut of {} has no `{}`{}", op.row->schedule, item.key(), hint.empty() ? "" : "; " + hint),
               {fmt::format("it has {}", join_texts(keys, ", "))});
  }
}

std::vector<int32_t> GivenCut::mappings_of(const OpContext& site, const TensorSpec& spec) const {
  std::vector<int32_t> found;
  const auto add = [&](int32_t id, const TensorSpec* t) {
    if (id >= 0 && t && t->shape == spec.shape && t->dtype == spec.dtype &&
        std::find(found.begin(), found.end(), id) == found.end())
      found.push_back(id);
  };
  for (size_t i = 0; i < in_.size(); ++i) add(in_[i], site.in[i]);
  for (size_t i = 0; i < out_.size() && i < site.out.size(); ++i) add(out_[i], &site.out[i]);
  if (all_ >= 0 && mapping_problem(machine_, table_of_mappings_.at(all_), spec).empty()) add(all_, &spec);
  return found;
}

bool GivenCut::agrees(const OpCandidate& c) const {
  const auto differ = [&](const std::vector<int32_t>& given, const std::vector<int32_t>& has) {
    for (size_t i = 0; i < has.size(); ++i) {
      if (i < given.size() && given[i] >= 0 && given[i] != has[i]) return true;
      if (all_ >= 0 && has[i] >= 0 && has[i] != all_) return true;
    }
    return false;
  };
  return !differ(in_, c.in) && !differ(out_, c.out) && (way_.empty() || way_ == c.variant) &&
         (!product_ || c.product) && (!convolution_ || c.convolution) && (!table_ || c.table_cut);
}

void GivenCut::refuse(std::string_view key, std::string message, std::vector<std::string> notes) const {
  for (const CutItem& item : line_.items)
    if (item.key() == key) refuse_cut(item.at, std::move(message), std::move(notes));
  refuse_cut(line_.whole, std::move(message), std::move(notes));
}

void GivenCut::check_parts(std::string_view key, int64_t n, int64_t most, std::string_view what) const {
  if (n < 1 || n > most) refuse(key, fmt::format("{} of this op: 1 to {} parts, not {}", what, most, n));
}

void GivenCut::check_axes(std::string_view key, int64_t n, const Shape& axes, std::string_view what) const {
  int64_t all = 1;
  for (const int64_t extent : axes) all = saturating_product(all, std::max<int64_t>(1, extent));
  check_parts(key, n, all, what);
  const auto divides = [&](int64_t count) {
    std::vector<int32_t> parts;
    partition_axes(axes, 0, axes.size(), count, parts);
    int64_t made = 1;
    for (const int32_t part : parts) made *= part;
    return made == count;
  };
  if (divides(n)) return;
  int64_t fewer = n, more = n;
  while (!divides(fewer)) --fewer;
  while (more < all && !divides(more)) ++more;
  refuse(key, fmt::format("{} cannot have {} parts", what, n), {fmt::format("it can have {} or {}", fewer, more)});
}

void GivenCut::check_tiles(const Machine& m, int64_t tiles) const {
  if (tiles > m.tiles)
    refuse("", fmt::format("the cut takes {} tiles, the machine has {}", tiles, m.tiles),
           {"the product of the numbers of parts is the number of tiles"});
}

}  // namespace pxl::tiles
