#include "runtime/processes/run_output.hpp"

#include <algorithm>

#include "runtime/base/files/standard_streams.hpp"
#include "runtime/processes/json_text.hpp"

namespace pxl {

using nlohmann::json;

RunOutput::~RunOutput() { end(); }

void RunOutput::begin() {
  texts_.clear();
  on_ = true;
  redirect_streams(keep, this);
}

void RunOutput::turn(int64_t passed, int replica) {
  passed_ = passed;
  replica_ = replica;
}

void RunOutput::keep(void* own, bool to_err, std::string_view text) {
  auto& self = *static_cast<RunOutput*>(own);
  if (self.texts_.empty() || self.texts_.back().passed != self.passed_ || self.texts_.back().replica != self.replica_ ||
      self.texts_.back().to_err != to_err)
    self.texts_.push_back({self.passed_, self.replica_, to_err});
  self.texts_.back().text += text;
}

std::string RunOutput::end() {
  if (!on_) return {};
  on_ = false;
  redirect_streams(nullptr, nullptr);
  return text();
}

std::string RunOutput::text() const {
  if (texts_.empty()) return {};
  json all = json::array();
  for (const Text& t : texts_) all.push_back({t.passed, t.replica, t.to_err, t.text});
  return json_text(all);
}

void RunOutput::print(const std::vector<std::string>& kept) {
  std::vector<Text> all;
  for (const std::string& texts : kept) {
    if (texts.empty()) continue;
    for (const json& t : json::parse(texts)) all.push_back({t[0], t[1], t[2], t[3]});
  }
  // Stable: what a replica wrote between two collectives keeps its order.
  std::stable_sort(all.begin(), all.end(), [](const Text& a, const Text& b) {
    return std::pair(a.passed, a.replica) < std::pair(b.passed, b.replica);
  });
  for (const Text& t : all) {
    if (t.to_err)
      write_err_as_is(t.text);
    else
      write_out_as_is(t.text);
  }
}

}  // namespace pxl
