// Points of a script that all processes of a job pass together, and the error if one of them is elsewhere.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/processes/json_text.hpp"
#include "runtime/processes/processes.hpp"

namespace pxl {

namespace {

using nlohmann::json;

std::string place_text(const Span& at) {
  if (!at) return {};
  const Position p = at.file->position(at.begin);
  return fmt::format(" at {}:{}:{}", at.file->name(), p.line, p.column);
}

}  // namespace

Fingerprint& Fingerprint::add(uint64_t value) {
  const auto mixed = [](uint64_t h, uint64_t factor) {  // Murmur's finaliser
    h ^= h >> 33;
    h *= factor;
    return h ^ (h >> 29);
  };
  low = mixed(low ^ value, 0xff51afd7ed558ccd);
  high = mixed(high + value, 0xc4ceb9fe1a85ec53);
  return *this;
}

Fingerprint& Fingerprint::add(std::string_view bytes) {
  size_t at = 0;
  for (; at + 8 <= bytes.size(); at += 8) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, 8);
    add(word);
  }
  uint64_t last = 0;
  std::memcpy(&last, bytes.data() + at, bytes.size() - at);
  return add(last).add(bytes.size());
}

std::string Processes::from_first(std::string_view mine, std::string_view what) {
  meet(what);
  return all_gather(rank_ == 0 ? mine : std::string_view(), {fmt::format("where all {}", what)})[0];
}

void Processes::meet(std::string_view what, const Fingerprint& fingerprint, int replicas) {
  if (!several()) return;
  const Span at = place ? place() : Span{};
  Fingerprint whole = fingerprint;
  whole.add(what).add(++meetings_);
  std::vector<Fingerprint> all(static_cast<size_t>(size_));
  std::vector<Outgoing> sends;
  std::vector<Incoming> receives;
  for (int p = 0; p < size_; ++p) {
    if (p == rank_) continue;
    sends.push_back({p, reinterpret_cast<const std::byte*>(&whole), sizeof whole});
    receives.push_back({p, reinterpret_cast<std::byte*>(&all[static_cast<size_t>(p)]), sizeof whole});
  }
  exchange(sends, receives, {fmt::format("where all are to {}", what), at, replicas});
  all[static_cast<size_t>(rank_)] = whole;
  if (std::all_of(all.begin(), all.end(), [&](const Fingerprint& f) { return f == whole; })) return;
  part(json_text({{"what", what}, {"place", place_text(at)}}), all);
}

void Processes::meet_at_end(int status, const Error* error) {
  if (!several() || lost_ || parted_) return;
  const std::string text = error ? encode_error(*error) : std::string();
  // The same message as that of the other meetings, so that all understand that this process has ended.
  ended_ = error ? std::optional(text) : std::nullopt;
  meet(error ? "end with an error" : fmt::format("end with status {}", status), Fingerprint().add(text));
}

/// The processes are at different points, in the states that they have told: each says at which.
void Processes::part(const std::string& mine, std::span<const Fingerprint> states) {
  json own = json::parse(mine);
  if (ended_) own["error"] = *ended_;
  parted_ = true;
  const std::vector<std::string> all = all_gather(json_text(own), {"to learn where they are"});
  std::vector<json> notes;
  for (const std::string& text : all) notes.push_back(json::parse(text));
  for (size_t p = 0; p < notes.size(); ++p) {
    if (!notes[p].contains("error")) continue;
    Error error = decode_error(notes[p].at("error").get<std::string>());
    error.first().notes.push_back(fmt::format("in process {} of {}, on host {}", p, size_, peers_[p].host));
    throw error;
  }
  const auto in_state = [&](const Fingerprint& f) { return std::count(states.begin(), states.end(), f); };
  // Finds the action that most processes are to do next, and the first process with another action.
  const auto fewer = [&](const Fingerprint& a, const Fingerprint& b) { return in_state(a) < in_state(b); };
  const auto usual = std::max_element(states.begin(), states.end(), fewer);
  const auto unlike = std::find_if(states.begin(), states.end(), [&](const Fingerprint& f) { return f != *usual; });
  const auto first = static_cast<size_t>(usual - states.begin()), other = static_cast<size_t>(unlike - states.begin());
  const auto doing = [&](size_t p) {
    return fmt::format("process {} (host {}) is to {}{}", p, peers_[p].host, notes[p].at("what").get<std::string>(),
                       notes[p].at("place").get<std::string>());
  };
  std::vector<std::string> lines = {doing(first), doing(other)};
  if (notes[first] == notes[other]) lines.emplace_back("but not of the same program, inputs and initial values");
  lines.emplace_back("all processes run one script, and have to come to the same runs in the same order");
  throw run_error("the processes of the job have gone apart", std::move(lines)).as(codes::replicas);
}

}  // namespace pxl
