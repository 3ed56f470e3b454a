// The chain of running calls, and the guards that every call holds. Links are stored on the machine stack. Frames,
// which ops and errors keep, are made when first requested.
#pragma once

#include <memory>
#include <string>

#include "interpreter/values/ref.hpp"
#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/base/limits/stack.hpp"

namespace pxl {

class Interpreter;

class CallChain {
 public:
  /// A running call, which is pushed when it begins and popped when it ends.
  struct Link {
    const std::string* what;
    const Span* at;
    Link* outer;
    FramePtr made = nullptr;  ///< null until first requested
  };

  Link* top() const { return top_; }
  void push(Link& link) { top_ = &link; }
  void pop() { top_ = top_->outer; }

  /// The frames of the chain; null outside all calls.
  operator const FramePtr&() const;

 private:
  Link* top_ = nullptr;
};

/// The position of the running code. New ops and errors get it as their location.
struct CodePosition {
  int depth = 0;     ///< depth of nested calls
  CallChain frames;  ///< the chain of running calls
  Span here;         ///< the expression that is being evaluated
  /// The name and the call in the latest assignment `NAME = CALL` whose call runs C++ code. `variable` and `constant`
  /// name their tensors after it.
  const std::string* target = nullptr;
  Span target_call;
};
/// The name to which a call's value is assigned, or `otherwise`.
std::string target_name(Interpreter& in, const Span& call, std::string_view otherwise);
CodePosition& position_of(Interpreter& in);

/// Counts nested calls and checks the remaining machine stack: throws "recursion too deep" while there is room to
/// report it. Held by every call, and by every recursive walk over values.
class DepthGuard {
 public:
  explicit DepthGuard(Interpreter& in) : DepthGuard(position_of(in)) {}
  explicit DepthGuard(CodePosition& at) : at_(at) {
    if (is_full(at)) refuse();
    ++at.depth;
  }
  /// Whether the constructor would throw.
  PXL_INLINE static bool is_full(const CodePosition& at) {
    return at.depth >= max_calls || stack_room() < stack_reserve;
  }
  /// For a caller that knows that it is not full.
  enum class Room : uint8_t { checked };
  PXL_INLINE DepthGuard(CodePosition& at, Room) : at_(at) { ++at.depth; }
  ~DepthGuard() { --at_.depth; }
  DepthGuard(const DepthGuard&) = delete;
  DepthGuard& operator=(const DepthGuard&) = delete;

 private:
  static constexpr int max_calls = 10000;
  [[noreturn]] static void refuse();
  CodePosition& at_;
};

/// A link of the call chain during a call, which begins at the current location, `at`. When the call ends, also by an
/// exception, both are restored.
struct CodeFrame {
  /// `what` and `at` must outlive the frame.
  PXL_INLINE CodeFrame(CodePosition& position, const std::string& what, const Span& at)
      : position_(position), link_{&what, &at, position.frames.top()} {
    position.frames.push(link_);
  }
  PXL_INLINE ~CodeFrame() {
    position_.frames.pop();
    position_.here = *link_.at;
  }
  CodeFrame(const CodeFrame&) = delete;
  CodeFrame& operator=(const CodeFrame&) = delete;

 private:
  CodePosition& position_;
  CallChain::Link link_;
};

/// A link for a call whose place differs from the current location.
struct CallFrame {
  /// `what` must outlive the frame.
  CallFrame(CodePosition& position, const std::string& what, Span at)
      : position_(position), here_(position.here), at_(at), frame_(position, what, at_) {}
  CallFrame(Interpreter& in, const std::string& what, Span at) : CallFrame(position_of(in), what, at) {}
  CallFrame(Interpreter& in, std::string&& what, Span at);
  ~CallFrame() { at_ = here_; }
  CallFrame(const CallFrame&) = delete;
  CallFrame& operator=(const CallFrame&) = delete;

 private:
  std::unique_ptr<const std::string> owned_;
  CodePosition& position_;
  Span here_, at_;
  CodeFrame frame_;
};

}  // namespace pxl
