// See fit.hpp.
#include "runtime/tiles/fit.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "runtime/base/diagnostic.hpp"
#include "runtime/base/interrupt.hpp"

namespace pxl::tiles {

namespace {

/// How much a program lacks: where most is missing first, then over all tiles.
struct Missing {
  int64_t worst = 0, sum = 0;
  friend auto operator<=>(const Missing&, const Missing&) = default;
};

Missing missing(const Mapping& mapping, const Memory& memory) {
  const Machine& m = mapping.machine();
  Missing all;
  for (const TileMemory& t : memory.tiles()) {
    const int64_t data = std::max<int64_t>(0, t.total - m.memory), code = std::max<int64_t>(0, t.code() - m.executable);
    all.worst = std::max(all.worst, data + code);
    all.sum += data + code;
  }
  return all;
}

struct Move {
  int node = 0, choice = 0;
  int64_t freed = 0;  ///< bytes
  int64_t lost = 0;   ///< cycles, at least 1
};

// Better first: bytes for each cycle, compared as fractions; then by number, so that the order is one.
bool better(const Move& a, const Move& b) {
  const double one = static_cast<double>(a.freed) * static_cast<double>(b.lost),
               other = static_cast<double>(b.freed) * static_cast<double>(a.lost);
  if (one != other) return one > other;
  return std::pair(a.node, a.choice) < std::pair(b.node, b.choice);
}

class Fitting {
 public:
  explicit Fitting(Mapping& mapping) : m_(mapping), memory_(std::make_unique<Memory>(mapping)) {}

  std::unique_ptr<Memory> run() {
    now_ = missing(m_, *memory_);
    if (now_.worst == 0) return std::move(memory_);
    const std::vector<int> fastest = choice();
    if (!fits_at(highest_price)) {
      nearest(fastest);
    } else {
      take(fastest);
      memory_ = std::make_unique<Memory>(m_);
      // Neither way is always the better one.
      single_moves();
      const bool moved = now_.worst == 0;
      if (moved) give_back(fastest);
      const std::vector<int> by_moves = choice();
      std::unique_ptr<Memory> memory = std::move(memory_);
      tried_.clear();
      with_price(fastest);
      if (moved && m_.choices().cost(by_moves) <= m_.choices().cost(choice())) {
        take(by_moves);
        memory_ = std::move(memory);
      }
    }
    for (size_t n = 0; n < fastest.size(); ++n) m_.search.moves += fastest[n] != m_.nodes()[n].chosen;
    return std::move(memory_);
  }

 private:
  static constexpr int highest_price = 28;  // as a power of two, of a thousandth of a cycle for a byte
  static constexpr int most_rounds = 24;
  static constexpr size_t most_at_once = 64;

  std::vector<int> choice() const {
    std::vector<int> all;
    for (const Mapping::Node& n : m_.nodes()) all.push_back(n.chosen);
    return all;
  }
  void take(const std::vector<int>& all) {
    for (size_t n = 0; n < all.size(); ++n) m_.set_choice(static_cast<int>(n), all[n]);
  }

  void single_moves() {
    size_t at_once = most_at_once;
    for (int round = 0; round < most_rounds && now_.worst > 0; ++round) {
      check_interrupt();
      std::vector<Move> moves = wanted(now_.worst);
      if (moves.size() > at_once) moves.resize(at_once);
      if (moves.empty()) return;
      std::vector<int> before;
      for (const Move& move : moves) {
        before.push_back(chosen(move.node));
        m_.set_choice(move.node, move.choice);
      }
      auto next = std::make_unique<Memory>(m_);
      const Missing then = missing(m_, *next);
      if (then <= now_) {
        // Of two choices that free the same the way back is closed, so this ends.
        for (size_t i = 0; i < moves.size(); ++i) tried_.insert({moves[i].node, before[i]});
        memory_ = std::move(next);
        now_ = then;
        at_once = std::min(most_at_once, at_once * 2);
        continue;
      }
      for (size_t i = moves.size(); i-- > 0;) m_.set_choice(moves[i].node, before[i]);
      if (moves.size() == 1)
        tried_.insert({moves[0].node, moves[0].choice});
      else
        at_once = moves.size() / 2;
    }
  }

  /// Whether the program fits with what the search chooses at a price, which is then taken.
  bool fits_at(int price) {
    check_interrupt();
    take(solve(m_.priced(int64_t{1} << price)).choice);
    memory_ = std::make_unique<Memory>(m_);
    return missing(m_, *memory_).worst == 0;
  }

  /// The choices at the least price at which the program fits, to a power of two, given that it fits at the highest.
  void with_price(const std::vector<int>& fastest) {
    int low = 3, high = highest_price;
    while (high - low > 1) {
      const int middle = (low + high) / 2;
      (fits_at(middle) ? high : low) = middle;
    }
    now_ = {};
    if (!fits_at(high)) throw Error("a price no longer lets the program fit", {}, Fault::internal);
    give_back(fastest);
  }

  /// Where the highest price does not do: the choices that lack least, of those at any price and with what single moves
  /// free then.
  void nearest(const std::vector<int>& fastest) {
    std::vector<int> best = fastest;
    for (int price = highest_price; price > 0; price -= 8) {
      fits_at(price);
      const Missing then = missing(m_, *memory_);
      if (then < now_) now_ = then, best = choice();
      if (now_.worst == 0) break;
    }
    take(best);
    memory_ = std::make_unique<Memory>(m_);
    single_moves();
    if (now_.worst == 0) give_back(fastest);
  }

  /// Choices of the fastest schedule come back where the program fits all the same, those that gain most first.
  void give_back(const std::vector<int>& fastest) {
    for (int tries = 0; tries < 8; ++tries) {
      Move gain{-1, 0, 0, 0};
      for (int node = 0; node < static_cast<int>(fastest.size()); ++node) {
        const int there = fastest[static_cast<size_t>(node)];
        if (there == chosen(node) || tried_.count({node, there})) continue;
        const int64_t cycles = m_.cost_of(node, chosen(node)) - m_.cost_of(node, there);
        if (cycles > gain.lost) gain = {node, there, 0, cycles};
      }
      if (gain.node < 0) return;
      const int before = chosen(gain.node);
      m_.set_choice(gain.node, gain.choice);
      auto memory = std::make_unique<Memory>(m_);
      if (missing(m_, *memory).worst == 0) {
        memory_ = std::move(memory);
      } else {
        m_.set_choice(gain.node, before);
        tried_.insert({gain.node, gain.choice});
      }
    }
  }

  size_t choices_of(int node) const { return m_.choices().nodes[static_cast<size_t>(node)].size(); }
  int chosen(int node) const { return m_.nodes()[static_cast<size_t>(node)].chosen; }

  /// The moves that together free what is missing, one for a node.
  std::vector<Move> wanted(int64_t bytes) {
    std::vector<Move> found;
    const TileMemory& full = memory_->tiles()[static_cast<size_t>(memory_->fullest_tile())];
    // What lies on the fullest tile then, by node.
    std::map<int, std::vector<const Tensor*>> live;
    const Op* running = nullptr;
    if (full.total > m_.machine().memory) {
      running = memory_->op_at(full.peak);
      if (running && !running->called.empty()) running = nullptr;
      for (const auto& [t, size] : memory_->on_tile(memory_->fullest_tile(), full.peak))
        live[m_.node_of(t)].push_back(t);
      if (running) live[m_.node_of(*running)];
    }
    for (int node = 0; node < static_cast<int>(m_.nodes().size()); ++node) {
      const auto there = live.find(node);
      const int now = chosen(node);
      Move best;
      const int64_t held = bytes_held(node, there == live.end() ? nullptr : &there->second, running);
      const int64_t cycles = m_.cost_of(node, now);
      for (int choice = 0; choice < static_cast<int>(choices_of(node)); ++choice) {
        if (choice == now || tried_.count({node, choice})) continue;
        // Without anything on the tile only code can be freed, which is quickly seen.
        if (there == live.end() && !less_code(node, now, choice)) continue;
        m_.set_choice(node, choice);
        const Move move{node, choice, held - bytes_held(node, there == live.end() ? nullptr : &there->second, running),
                        std::max<int64_t>(1, m_.cost_of(node, choice) - cycles)};
        if (move.freed > 0 && (best.freed == 0 || better(move, best))) best = move;
      }
      m_.set_choice(node, now);
      if (best.freed > 0) found.push_back(best);
    }
    std::sort(found.begin(), found.end(), better);
    // Where all moves together free too little none of them helps.
    int64_t all = 0;
    for (const Move& move : found) all += move.freed;
    if (all < bytes) return {};
    size_t enough = 0;
    for (int64_t freed = 0; enough < found.size() && freed < bytes; ++enough) freed += found[enough].freed;
    found.resize(enough);
    return found;
  }

  bool less_code(int node, int now, int choice) const {
    const std::vector<OpPlan>& plans = m_.plans_of(node);
    return !plans.empty() && Mapping::held_bytes(plans[static_cast<size_t>(choice)]) <
                                 Mapping::held_bytes(plans[static_cast<size_t>(now)]);
  }

  /// Bytes on the fullest tile that the node's choice is about: its tensors there, temporaries of the op that runs
  /// then, code.
  int64_t bytes_held(int node, const std::vector<const Tensor*>* tensors, const Op* running) const {
    int64_t sum = 0;
    if (tensors) {
      const auto tile = static_cast<size_t>(memory_->fullest_tile());
      for (const Tensor* t : *tensors) sum += m_.bytes_by_tile(m_.layout_of(t), t->spec).on[tile];
      if (running) sum += memory_->temp_bytes(*running);
    }
    const std::vector<OpPlan>& plans = m_.plans_of(node);
    if (!plans.empty())
      sum += saturating_product(m_.nodes()[static_cast<size_t>(node)].ops,
                                Mapping::held_bytes(plans[static_cast<size_t>(chosen(node))]));
    return sum;
  }

  Mapping& m_;
  std::unique_ptr<Memory> memory_;
  Missing now_;
  std::set<std::pair<int, int>> tried_;
};

}  // namespace

std::unique_ptr<Memory> fit(Mapping& mapping) { return Fitting(mapping).run(); }

}  // namespace pxl::tiles
