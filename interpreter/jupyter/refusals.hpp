// Requests that are answered without being handled: cells that are queued after an error, and requests that lack what
// they need. As the protocol demands, each has a reply, and the states busy and idle.
#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <xeus/xmessage.hpp>
#include <xeus/xserver.hpp>

namespace pxl::jupyter {

class Refusals {
 public:
  /// `status` is the kernel's first message about its state.
  void begin(const xeus::xpub_message& status);

  /// An error or an interrupt has ended a cell: the cells that are queued, or come within a moment, are refused.
  void abort_cells();
  /// How long to wait for the next message, in milliseconds; -1 without an end. After a wait in vain `waited` is
  /// called.
  long patience() const;
  void waited() { aborting_ = false; }
  /// Answers a request that is refused, with the reason; returns false for others.
  bool refuse(xeus::xserver& server, xeus::channel channel, const xeus::xmessage& request, const std::string& problem);

 private:
  void publish(xeus::xserver& server, xeus::channel channel, const xeus::xmessage& request, const char* state) const;
  std::string topic_, user_, session_;
  bool aborting_ = false;
  std::chrono::steady_clock::time_point end_;
};

}  // namespace pxl::jupyter
