// The chain of running calls, and the guards that every call holds. Links are stored on the machine stack; frames,
// which ops and errors keep, are made when first requested.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "runtime/base/diagnostic.hpp"
#include "runtime/base/stack.hpp"

namespace pxl {

class Interpreter;

class CallChain {
 public:
  /// A running call; pushed when it begins and popped when it ends.
  struct Link {
    std::string_view what;
    Span at;
    Link* outer = nullptr;
    FramePtr made;  ///< null until first requested
  };

  void push(Link& link) {
    link.outer = top_;
    top_ = &link;
  }
  void pop() { top_ = top_->outer; }

  /// The frames of the chain; null outside all calls.
  operator const FramePtr&() const;

 private:
  Link* top_ = nullptr;
};

/// Where the running code is: new ops and errors get it as their location.
struct CodePosition {
  int depth = 0;     ///< nested calls
  CallChain frames;  ///< the chain of running calls
  Span here;         ///< the expression that is being evaluated
  /// Of the latest assignment `NAME = CALL` of a call of code in C++: the name, and the call. `variable` and
  /// `constant` name their tensors by it.
  const std::string* target = nullptr;
  Span target_call;
};
/// The name that the value of a call is assigned to, or `otherwise`.
std::string target_name(Interpreter& in, const Span& call, std::string_view otherwise);
CodePosition& position_of(Interpreter& in);

/// Counts nested calls and checks the remaining machine stack: throws "recursion too deep" while there is room to
/// report it. Held by every call, and by every recursive walk over values.
class DepthGuard {
 public:
  explicit DepthGuard(Interpreter& in) : DepthGuard(position_of(in)) {}
  explicit DepthGuard(CodePosition& at) : at_(at) {
    if (at.depth >= max_calls || stack_room() < stack_reserve) refuse();
    ++at.depth;
  }
  ~DepthGuard() { --at_.depth; }
  DepthGuard(const DepthGuard&) = delete;
  DepthGuard& operator=(const DepthGuard&) = delete;

 private:
  static constexpr int max_calls = 10000;
  [[noreturn]] static void refuse();
  CodePosition& at_;
};

/// Restores the call chain and the current location when a call ends, also by an exception.
struct CallFrame {
  /// `what` must outlive the frame.
  CallFrame(CodePosition& position, const std::string& what, Span at)
      : position_(position), link_{what, at, nullptr, nullptr}, here_(position.here) {
    position.frames.push(link_);
  }
  CallFrame(Interpreter& in, const std::string& what, Span at) : CallFrame(position_of(in), what, at) {}
  CallFrame(Interpreter& in, std::string&& what, Span at);
  ~CallFrame() {
    position_.frames.pop();
    position_.here = here_;
  }
  CallFrame(const CallFrame&) = delete;
  CallFrame& operator=(const CallFrame&) = delete;

 private:
  CodePosition& position_;
  std::unique_ptr<const std::string> owned_;
  CallChain::Link link_;
  Span here_;
};

}  // namespace pxl
