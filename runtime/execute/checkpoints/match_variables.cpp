#include "runtime/execute/checkpoints/match_variables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <unordered_map>

#include "runtime/base/text/join_texts.hpp"
#include "runtime/execute/json_text.hpp"

namespace pxl {

namespace {

constexpr std::string_view number_mark = "__t";

bool same_spec(const NamedVariable& a, const NamedVariable& b) {
  return a.spec.shape == b.spec.shape && a.spec.dtype == b.spec.dtype;
}

using Indices = std::vector<size_t>;

class Matcher {
 public:
  Matcher(const std::vector<NamedVariable>& here, const std::vector<NamedVariable>& there)
      : here_(here), there_(there), used_(there.size(), false) {
    out_.source.assign(here.size(), VariableMatches::none);
  }

  VariableMatches run() {
    match_names(true);
    match_checkpoint_names();
    match_bases();
    match_prefixes();
    match_names(false);
    match_suffixes();
    return std::move(out_);
  }

 private:
  bool open(size_t h) const { return out_.source[h] == VariableMatches::none; }
  void match(size_t h, size_t t) {
    out_.source[h] = t;
    used_[t] = true;
  }

  /// The caller's choices, or, where a side has no paths, equal names.
  void match_names(bool chosen) {
    std::unordered_map<std::string_view, size_t> by_name;
    for (size_t t = 0; t < there_.size(); ++t)
      if (!used_[t] && (!chosen || there_[t].by_name_only)) by_name.emplace(there_[t].name, t);
    for (size_t h = 0; h < here_.size(); ++h) {
      const auto found = by_name.find(here_[h].name);
      if (!open(h) || found == by_name.end() || used_[found->second]) continue;
      const NamedVariable& t = there_[found->second];
      if (!chosen && here_[h].path.known() && t.path.known()) continue;
      match(h, found->second);
      if (!chosen && twins_[base_name(here_[h].name)] > 1) out_.by_order.push_back(here_[h].checkpoint_name());
    }
  }

  /// Whether its name has the prefix of a tree, which another tree's variable lacks.
  static bool is_from_checkpoint(const NamedVariable& v) { return v.path.known() && v.name == v.path.text(); }

  void match_bases() {
    std::map<std::string, std::pair<Indices, Indices>> by_base;
    for (size_t h = 0; h < here_.size(); ++h)
      if (open(h)) by_base[base_name(here_[h].name)].first.push_back(h);
    for (size_t t = 0; t < there_.size(); ++t)
      if (!used_[t] && !is_from_checkpoint(there_[t])) by_base[base_name(there_[t].name)].second.push_back(t);
    for (const auto& [base, sides] : by_base) {
      const auto& [h, t] = sides;
      if (h.size() == 1 && t.size() == 1) match(h[0], t[0]);
      // A difference of specs tells variables apart: only variables of one spec can be confused by name.
      size_t equal = 0;
      for (const size_t a : h) {
        const auto is_twin = [&](const NamedVariable& other) { return same_spec(here_[a], other); };
        const auto twins_here = std::count_if(h.begin(), h.end(), [&](size_t i) { return is_twin(here_[i]); });
        const auto twins_there = std::count_if(t.begin(), t.end(), [&](size_t i) { return is_twin(there_[i]); });
        equal = std::max(equal, static_cast<size_t>(std::max(twins_here, twins_there)));
      }
      twins_[base] = equal;
    }
  }

  void match_checkpoint_names() {
    std::unordered_map<std::string, Indices> by_name;
    for (size_t t = 0; t < there_.size(); ++t)
      if (!used_[t] && !there_[t].by_name_only) by_name[there_[t].checkpoint_name()].push_back(t);
    for (size_t h = 0; h < here_.size(); ++h) {
      if (!open(h) || !here_[h].path.known()) continue;
      const auto found = by_name.find(here_[h].path.text());
      if (found != by_name.end() && found->second.size() == 1 && !used_[found->second[0]]) match(h, found->second[0]);
    }
  }

  using Prefixes = std::map<std::string, Indices>;
  /// The open variables of a side by prefix, of prefixes that have no match yet.
  template <class Open>
  Prefixes prefixes(const std::vector<NamedVariable>& all, Open is_open) const {
    Prefixes by_prefix;
    std::set<std::string_view> matched;
    for (size_t i = 0; i < all.size(); ++i)
      if (all[i].path.known() && !is_open(i)) matched.insert(all[i].path.prefix);
    for (size_t i = 0; i < all.size(); ++i)
      if (all[i].path.known() && is_open(i) && !matched.contains(all[i].path.prefix))
        by_prefix[all[i].path.prefix].push_back(i);
    return by_prefix;
  }

  /// Returns, for each variable of a prefix here, the variable there with the same path; empty if one is missing or has
  /// another spec.
  Indices fit(const Indices& of_here, const Indices& of_there) const {
    Indices found;
    for (const size_t h : of_here)
      for (const size_t t : of_there)
        if (there_[t].path.path == here_[h].path.path && same_spec(here_[h], there_[t])) {
          found.push_back(t);
          break;
        }
    return found.size() == of_here.size() ? found : Indices();
  }

  void match_prefixes() {
    const Prefixes here = prefixes(here_, [&](size_t h) { return open(h); });
    const Prefixes there = prefixes(there_, [&](size_t t) { return !used_[t]; });
    std::map<std::string, std::vector<std::string>> fits, fitted;
    for (const auto& [h, of_here] : here)
      for (const auto& [t, of_there] : there)
        if (!fit(of_here, of_there).empty()) {
          fits[h].push_back(t);
          fitted[t].push_back(h);
        }
    for (const auto& [h, candidates] : fits) {
      if (candidates.size() == 1 && fitted[candidates[0]].size() == 1) {
        const Indices found = fit(here.at(h), there.at(candidates[0]));
        for (size_t i = 0; i < found.size(); ++i) match(here.at(h)[i], found[i]);
      } else {
        out_.undecided.push_back(fmt::format("`{}` here may be `{}` there", h, join_texts(candidates, "` or `")));
      }
    }
  }

  /// State of an optimiser had the name of its variable's path, and has that of its variable: `d.w.sum` was `w.sum`.
  void match_suffixes() {
    for (size_t h = 0; h < here_.size(); ++h) {
      if (!open(h)) continue;
      const std::string name = base_name(here_[h].name);
      Indices found;
      for (size_t t = 0; t < there_.size(); ++t)
        if (!used_[t] && !there_[t].by_name_only && !there_[t].path.known() && same_spec(here_[h], there_[t]) &&
            name.ends_with("." + base_name(there_[t].name)))
          found.push_back(t);
      if (found.size() == 1) match(h, found[0]);
    }
  }

  const std::vector<NamedVariable>&here_, &there_;
  std::vector<bool> used_;
  std::map<std::string, size_t> twins_;  ///< by base name: variables of a side that have one spec
  VariableMatches out_;
};

}  // namespace

std::string base_name(std::string_view name) {
  std::string base;
  for (size_t at = 0; at < name.size();) {
    size_t end = at + number_mark.size();
    if (name.substr(at).starts_with(number_mark)) {
      while (end < name.size() && name[end] >= '0' && name[end] <= '9') ++end;
      if (end > at + number_mark.size() && at > 0 && (end == name.size() || name[end] == '.')) {
        at = end;
        continue;
      }
    }
    base += name[at++];
  }
  return base;
}

VariableMatches match_variables(const std::vector<NamedVariable>& here, const std::vector<NamedVariable>& there) {
  return Matcher(here, there).run();
}

std::string paths_text(const std::vector<NamedVariable>& variables) {
  nlohmann::ordered_json::object_t paths;  // names differ, which a search for each of them need not find out
  for (const NamedVariable& v : variables)
    if (v.path.known())
      paths.emplace_back(v.checkpoint_name(), nlohmann::ordered_json::array({v.path.prefix, v.path.path}));
  if (paths.empty()) return {};
  return nlohmann::ordered_json(std::move(paths)).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void read_paths(std::string_view text, std::vector<NamedVariable>& variables) {
  constexpr size_t deepest = 2;
  std::string twice;
  if (!is_nested_at_most(text, deepest)) return;
  const nlohmann::json paths = parse_unrepeated(text, twice);
  if (!paths.is_object()) return;
  for (NamedVariable& v : variables) {
    const auto found = paths.find(v.name);
    if (found == paths.end() || !found->is_array() || found->size() != 2 || !(*found)[0].is_string() ||
        !(*found)[1].is_string())
      continue;
    v.path = {(*found)[0].get<std::string>(), (*found)[1].get<std::string>()};
  }
}

}  // namespace pxl
