#include "runtime/tiles/costs/fit.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/base/limits/interrupt.hpp"

namespace pxl::tiles {

namespace {

/// Bytes beyond the memory: first of the worst tile, then the sum over tiles.
struct Shortfall {
  int64_t worst = 0, sum = 0;
  friend auto operator<=>(const Shortfall&, const Shortfall&) = default;
};

Shortfall shortfall(const MappedProgram& program, const Memory& memory) {
  const Machine& m = program.machine();
  Shortfall all;
  for (const TileMemory& t : memory.tiles()) {
    const int64_t data = std::max<int64_t>(0, t.total - m.capacity()),
                  code = std::max<int64_t>(0, t.code() - m.executable);
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

// Compares bytes per cycle as fractions. Ties are decided by number, so that the order is total.
bool is_better_move(const Move& a, const Move& b) {
  const double one = static_cast<double>(a.freed) * static_cast<double>(b.lost),
               other = static_cast<double>(b.freed) * static_cast<double>(a.lost);
  if (one != other) return one > other;
  return std::pair(a.node, a.choice) < std::pair(b.node, b.choice);
}

class Fitting {
 public:
  explicit Fitting(MappedProgram& program) : m_(program), memory_(std::make_unique<Memory>(program)) {}

  std::unique_ptr<Memory> run() {
    now_ = shortfall(m_, *memory_);
    if (now_.worst == 0) return std::move(memory_);
    const std::vector<int> fastest = choice();
    // Neither method dominates the other.
    const State moved = search_from(fastest);
    const State multiplied = with_multipliers();
    take(moved < multiplied ? moved.choice : multiplied.choice);
    memory_ = std::make_unique<Memory>(m_);
    for (size_t n = 0; n < fastest.size(); ++n) m_.search.moves += fastest[n] != m_.nodes()[n].chosen;
    return std::move(memory_);
  }

 private:
  static constexpr int max_multiplier_log2 = 28;  // log2 of thousandths of a cycle per byte
  static constexpr int multipliers_beyond = 3;
  static constexpr size_t searches_from_shortfall = 4;
  static constexpr int max_rounds = 24;
  static constexpr size_t max_moves_at_once = 64;
  static constexpr int64_t max_pairs = int64_t{1} << 18;             // per edge: pairs of choices of its two nodes
  static constexpr int64_t max_improvement_work = int64_t{1} << 24;  // ops times tiles, over all tries

  std::vector<int> choice() const {
    std::vector<int> all;
    for (const MappedProgram::Node& n : m_.nodes()) all.push_back(n.chosen);
    return all;
  }
  void take(const std::vector<int>& all) {
    for (size_t n = 0; n < all.size(); ++n) m_.set_choice(static_cast<int>(n), all[n]);
  }

  void single_moves() {
    size_t at_once = max_moves_at_once;
    for (int round = 0; round < max_rounds && now_.worst > 0; ++round) {
      check_interrupt();
      std::vector<Move> moves = needed_moves(now_.worst);
      if (moves.size() > at_once) moves.resize(at_once);
      if (moves.empty()) return;
      std::vector<int> before;
      for (const Move& move : moves) {
        before.push_back(chosen(move.node));
        m_.set_choice(move.node, move.choice);
      }
      auto next = std::make_unique<Memory>(m_);
      const Shortfall then = shortfall(m_, *next);
      if (then <= now_) {
        // The previous choices are not tried again, since a choice with the same bytes could undo the move. So the loop
        // terminates.
        for (size_t i = 0; i < moves.size(); ++i) tried_.insert({moves[i].node, before[i]});
        memory_ = std::move(next);
        now_ = then;
        at_once = std::min(max_moves_at_once, at_once * 2);
        continue;
      }
      for (size_t i = moves.size(); i-- > 0;) m_.set_choice(moves[i].node, before[i]);
      if (moves.size() == 1)
        tried_.insert({moves[0].node, moves[0].choice});
      else
        at_once = moves.size() / 2;
    }
  }

  /// Choices and what they need. The better ones have the smaller shortfall, and among equals the fewer cycles.
  struct State {
    Shortfall shortfall;
    int64_t cycles = 0;
    std::vector<int> choice;
    friend bool operator<(const State& a, const State& b) {
      return std::tie(a.shortfall, a.cycles) < std::tie(b.shortfall, b.cycles);
    }
  };
  State state() const { return {now_, m_.problem().cost(choice()), choice()}; }

  /// The choices that local search reaches from these.
  State search_from(const std::vector<int>& start) {
    take(start);
    memory_ = std::make_unique<Memory>(m_);
    now_ = shortfall(m_, *memory_);
    tried_.clear();
    single_moves();
    if (now_.worst == 0) improve();
    return state();
  }

  /// The solution for a multiplier.
  State solution_at(int64_t multiplier) {
    check_interrupt();
    take(solve(m_.with_memory_multiplier(multiplier)).choice);
    memory_ = std::make_unique<Memory>(m_);
    now_ = shortfall(m_, *memory_);
    return state();
  }

  /// The best solution of ascending multipliers, refined towards the next lower one, then local search. Shortfalls do
  /// not fall steadily: the search tries a few multipliers beyond the first that fits. If none fits, local search
  /// begins at the solutions with the smallest shortfalls.
  State with_multipliers() {
    std::vector<std::pair<State, int64_t>> found;
    for (int log2 = 3, beyond = 0; log2 <= max_multiplier_log2 && beyond < multipliers_beyond; ++log2) {
      found.emplace_back(solution_at(int64_t{1} << log2), int64_t{1} << log2);
      beyond += found.back().first.shortfall.worst == 0 || beyond > 0;
    }
    std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    State best = found.front().first;
    if (best.shortfall.worst > 0) {
      for (size_t i = 0; i < std::min(found.size(), searches_from_shortfall); ++i)
        best = std::min(best, search_from(found[i].first.choice));
      return best;
    }
    int64_t above = found.front().second, below = above / 2;
    for (int step = 0; step < 4; ++step) {
      const int64_t middle = (above + below) / 2;
      const State between = solution_at(middle);
      (between.shortfall.worst == 0 ? above : below) = middle;
      best = std::min(best, between);
    }
    return std::min(best, search_from(best.choice));
  }

  /// A change of choices that takes fewer cycles in total. The change affects one node, both nodes of an edge, or a
  /// node and its neighbours, which take their best choices.
  struct Gain {
    int64_t cycles = 0;
    std::vector<std::pair<int, int>> choices;  ///< node and choice
  };
  std::vector<Gain> gains() const {
    const PbqpProblem& problem = m_.problem();
    const std::vector<int> now = choice();
    std::vector<Gain> found;
    for (int node = 0; node < static_cast<int>(now.size()); ++node) {
      const int64_t cycles = m_.cost_of(node, chosen(node));
      for (int other = 0; other < static_cast<int>(choices_of(node)); ++other)
        if (const int64_t gain = cycles - m_.cost_of(node, other); gain > 0) found.push_back({gain, {{node, other}}});
    }
    const auto pairs = [&](const PbqpProblem::Edge& e) {
      return static_cast<int64_t>(choices_of(e.a) * choices_of(e.b));
    };
    int64_t all = 0;
    for (const PbqpProblem::Edge& e : problem.edges) all += pairs(e);
    if (all <= max_pairs) {
      add_stars(found);
      for (const PbqpProblem::Edge& e : problem.edges) {
        if (e.a == e.b) continue;
        for (int i = 0; i < static_cast<int>(choices_of(e.a)); ++i) {
          if (i == chosen(e.a)) continue;
          const int64_t first = m_.cost_of(e.a, chosen(e.a)) - m_.cost_of(e.a, i);
          const int before = chosen(e.a);
          m_.set_choice(e.a, i);
          const int64_t cycles = m_.cost_of(e.b, chosen(e.b));
          for (int j = 0; j < static_cast<int>(choices_of(e.b)); ++j)
            if (const int64_t gain = first + cycles - m_.cost_of(e.b, j); j != chosen(e.b) && gain > 0)
              found.push_back({gain, {{e.a, i}, {e.b, j}}});
          m_.set_choice(e.a, before);
        }
      }
    }
    std::stable_sort(found.begin(), found.end(), [](const Gain& a, const Gain& b) { return a.cycles > b.cycles; });
    return found;
  }

  void add_stars(std::vector<Gain>& found) const {
    std::vector<std::set<int>> neighbours(m_.nodes().size());
    for (const PbqpProblem::Edge& e : m_.problem().edges)
      if (e.a != e.b)
        neighbours[static_cast<size_t>(e.a)].insert(e.b), neighbours[static_cast<size_t>(e.b)].insert(e.a);
    for (int node = 0; node < static_cast<int>(neighbours.size()); ++node) {
      const std::set<int>& around = neighbours[static_cast<size_t>(node)];
      if (around.size() < 2) continue;  // a pair
      for (int other = 0; other < static_cast<int>(choices_of(node)); ++other) {
        if (other == chosen(node)) continue;
        Gain gain{m_.cost_of(node, chosen(node)) - m_.cost_of(node, other), {{node, other}}};
        std::vector<std::pair<int, int>> before = {{node, chosen(node)}};
        m_.set_choice(node, other);
        for (const int next : around) {
          const int64_t cycles = m_.cost_of(next, chosen(next));
          std::pair<int64_t, int> best{cycles, chosen(next)};
          for (int choice = 0; choice < static_cast<int>(choices_of(next)); ++choice)
            best = std::min(best, {m_.cost_of(next, choice), choice});
          if (best.first == cycles) continue;
          gain.cycles += cycles - best.first;
          gain.choices.emplace_back(next, best.second);
          before.emplace_back(next, chosen(next));
          m_.set_choice(next, best.second);
        }
        for (const auto& [changed, choice] : before) m_.set_choice(changed, choice);
        if (gain.cycles > 0 && gain.choices.size() > 2) found.push_back(std::move(gain));
      }
    }
  }

  /// Local search: takes choices with fewer cycles, largest gain first, while the program still fits. Each try adds up
  /// the memory, so large programs have few tries.
  void improve() {
    int64_t ops = 1;
    for (const GraphInstance& instance : m_.graphs()) ops += std::ssize(instance.order);
    int64_t tries = std::clamp<int64_t>(max_improvement_work / (ops * m_.machine().tiles), 8, 256);
    std::set<std::vector<std::pair<int, int>>> failed;
    for (bool improved = true; improved && tries > 0;) {
      improved = false;
      for (const Gain& gain : gains()) {
        if (tries == 0 || improved) break;
        if (failed.count(gain.choices)) continue;
        --tries;
        check_interrupt();
        std::vector<int> before;
        for (const auto& [node, other] : gain.choices) {
          before.push_back(chosen(node));
          m_.set_choice(node, other);
        }
        auto memory = std::make_unique<Memory>(m_);
        if (shortfall(m_, *memory).worst == 0) {
          memory_ = std::move(memory);
          improved = true;
          continue;
        }
        for (size_t i = 0; i < before.size(); ++i) m_.set_choice(gain.choices[i].first, before[i]);
        failed.insert(gain.choices);
      }
    }
  }

  size_t choices_of(int node) const { return m_.problem().nodes[static_cast<size_t>(node)].size(); }
  int chosen(int node) const { return m_.nodes()[static_cast<size_t>(node)].chosen; }

  /// The moves, at most one per node, that together free `bytes`.
  std::vector<Move> needed_moves(int64_t bytes) {
    std::vector<Move> found;
    const TileMemory& full = memory_->tiles()[static_cast<size_t>(memory_->fullest_tile())];
    // Tensors on the fullest tile at its peak, by node.
    std::map<int, std::vector<const Tensor*>> live;
    const Op* running = nullptr;
    if (full.total > m_.machine().usable()) {
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
      const int64_t held = node_bytes(node, there == live.end() ? nullptr : &there->second, running);
      const int64_t cycles = m_.cost_of(node, now);
      for (int choice = 0; choice < static_cast<int>(choices_of(node)); ++choice) {
        if (choice == now || tried_.count({node, choice})) continue;
        // If the node has no tensors on the tile, only code can be freed, which is cheap to check.
        if (there == live.end() && !less_code(node, now, choice)) continue;
        m_.set_choice(node, choice);
        const Move move{node, choice, held - node_bytes(node, there == live.end() ? nullptr : &there->second, running),
                        std::max<int64_t>(1, m_.cost_of(node, choice) - cycles)};
        if (move.freed > 0 && (best.freed == 0 || is_better_move(move, best))) best = move;
      }
      m_.set_choice(node, now);
      if (best.freed > 0) found.push_back(best);
    }
    std::sort(found.begin(), found.end(), is_better_move);
    // If all moves together free too little, no move is worth its cycles.
    int64_t all = 0;
    for (const Move& move : found) all += move.freed;
    if (all < bytes) return {};
    size_t enough = 0;
    for (int64_t freed = 0; enough < found.size() && freed < bytes; ++enough) freed += found[enough].freed;
    found.resize(enough);
    return found;
  }

  bool less_code(int node, int now, int choice) const {
    const std::vector<OpCandidate>& candidates = m_.candidates_of(node);
    return !candidates.empty() && MappedProgram::code_and_state_bytes(candidates[static_cast<size_t>(choice)]) <
                                      MappedProgram::code_and_state_bytes(candidates[static_cast<size_t>(now)]);
  }

  /// Bytes on the fullest tile that depend on the node's choice: the node's tensors there, temporaries of the running
  /// op, and code.
  int64_t node_bytes(int node, const std::vector<const Tensor*>* tensors, const Op* running) const {
    int64_t sum = 0;
    if (tensors) {
      const auto tile = static_cast<size_t>(memory_->fullest_tile());
      for (const Tensor* t : *tensors) sum += m_.bytes_by_tile(m_.mapping_of(t), t->spec).on[tile];
      if (running) sum += memory_->temp_bytes(*running);
    }
    const std::vector<OpCandidate>& candidates = m_.candidates_of(node);
    if (!candidates.empty())
      sum += saturating_product(m_.nodes()[static_cast<size_t>(node)].ops,
                                MappedProgram::code_and_state_bytes(candidates[static_cast<size_t>(chosen(node))]));
    return sum;
  }

  MappedProgram& m_;
  std::unique_ptr<Memory> memory_;
  Shortfall now_;
  std::set<std::pair<int, int>> tried_;
};

}  // namespace

std::unique_ptr<Memory> fit(MappedProgram& program) { return Fitting(program).run(); }

}  // namespace pxl::tiles
