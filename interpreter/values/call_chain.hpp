// The chain of calls that is running. Its links lie on the machine's stack; frames, which ops and errors keep, are made
// when one of them asks.
#pragma once

#include <string>

#include "runtime/base/diagnostic.hpp"

namespace pxl {

class CallChain {
 public:
  /// A running call; pushed when it begins and popped when it ends.
  struct Link {
    std::string what;
    Span at;
    Link* outer = nullptr;
    FramePtr made;  ///< null until somebody asked
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

}  // namespace pxl
