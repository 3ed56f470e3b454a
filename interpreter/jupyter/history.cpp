#include "interpreter/jupyter/history.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

namespace pxl::jupyter {

namespace {

using nlohmann::json;

struct Entry {
  int session, line;
  std::string input, output;
};

class History : public xeus::xhistory_manager {
  void configure_impl() override {}

  // Counts the inputs here, since xeus 2.4 gives every input the line 1.
  void store_inputs_impl(int session, int, const std::string& input, const std::string& output) override {
    entries_.push_back({session, static_cast<int>(entries_.size()) + 1, input, output});
  }

  json get_tail_impl(int n, bool, bool output) const override { return last(entries_, n, output); }

  json get_range_impl(int session, int start, int stop, bool, bool output) const override {
    const int wanted = session == 0 && !entries_.empty() ? entries_.back().session : session;
    std::vector<Entry> found;
    std::copy_if(entries_.begin(), entries_.end(), std::back_inserter(found),
                 [&](const Entry& e) { return e.session == wanted && e.line >= start && e.line < stop; });
    return shown(found.begin(), found.end(), output);
  }

  json search_impl(const std::string& pattern, bool, bool output, int n, bool unique) const override {
    std::vector<Entry> found;
    std::set<std::string> seen;
    for (auto e = entries_.rbegin(); e != entries_.rend(); ++e)
      if (fnmatch(pattern.c_str(), e->input.c_str(), 0) == 0 && (!unique || seen.insert(e->input).second))
        found.push_back(*e);
    std::reverse(found.begin(), found.end());
    return last(found, n, output);
  }

  static json last(const std::vector<Entry>& entries, int n, bool output) {
    const auto count = std::clamp<std::ptrdiff_t>(n, 0, std::ssize(entries));
    return shown(entries.end() - count, entries.end(), output);
  }

  // The protocol's form: [session, line, input] or [session, line, [input, output]].
  static json shown(std::vector<Entry>::const_iterator from, std::vector<Entry>::const_iterator to, bool output) {
    json history = json::array();
    for (; from != to; ++from) {
      json input = from->input;
      if (output) input = json::array({from->input, from->output});
      history.push_back(json::array({from->session, from->line, std::move(input)}));
    }
    return {{"status", "ok"}, {"history", std::move(history)}};
  }

  std::vector<Entry> entries_;
};

}  // namespace

std::unique_ptr<xeus::xhistory_manager> make_history() { return std::make_unique<History>(); }

}  // namespace pxl::jupyter
