// Answers requests that the kernel refuses to handle: cells queued after an error, and requests that lack required
// members. Each gets a reply and the states busy and idle, as the protocol requires.
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

  /// Called when an error or an interrupt has ended a cell: refuses the cells that are queued or arrive within a
  /// moment.
  void abort_cells();
  /// The time to wait for the next message, in milliseconds; -1 means no limit. If no message arrives in that time, the
  /// caller calls `waited`.
  long patience() const;
  void waited() { aborting_ = false; }
  /// Answers a request that is refused, with the reason. Returns false for other requests.
  bool refuse(xeus::xserver& server, xeus::channel channel, const xeus::xmessage& request, const std::string& problem);

 private:
  void publish(xeus::xserver& server, xeus::channel channel, const xeus::xmessage& request, const char* state) const;
  std::string topic_, user_, session_;
  bool aborting_ = false;
  std::chrono::steady_clock::time_point end_;
};

}  // namespace pxl::jupyter
