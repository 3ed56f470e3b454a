// Making and ending an interpreter, and the guard of the machine stack.
#include "interpreter/values/interpreter.hpp"

#include <pthread.h>

#include <algorithm>
#include <random>

#include "interpreter/values/internal.hpp"
#include "runtime/base/codes.hpp"

namespace pxl {

namespace {

constexpr int kMaxCalls = 10000;
// Minimum stack, in bytes, that a call must leave: for one call's expressions (the parser allows 200 levels), kernels,
// and the error report. Not measured.
#if defined(__SANITIZE_ADDRESS__)
constexpr size_t kReserve = size_t{1536} << 10;
#else
constexpr size_t kReserve = size_t{768} << 10;
#endif

const char* frame_address() { return static_cast<const char*>(__builtin_frame_address(0)); }

// The lowest address that calls of this thread may reach.
const char* stack_limit() {
  static thread_local const char* limit = [] {
    const char* here = frame_address();
    const char* bottom = nullptr;
    pthread_attr_t attr;
    if (pthread_getattr_np(pthread_self(), &attr) == 0) {
      void* base = nullptr;
      size_t size = 0;
      if (pthread_attr_getstack(&attr, &base, &size) == 0 && base) {
        // A stack reported as unlimited is not: assume 64 MB from here.
        constexpr size_t most = size_t{64} << 20;
        bottom = static_cast<const char*>(base);
        if (static_cast<size_t>(here - bottom) > most) bottom = here - most;
      }
      pthread_attr_destroy(&attr);
    }
    if (!bottom) bottom = here - (size_t{4} << 20);
    return bottom + kReserve;
  }();
  return limit;
}

}  // namespace

DepthGuard::DepthGuard(Interpreter& in) : in_(in) {
  if (in.depth_ >= kMaxCalls || frame_address() < stack_limit()) {
    throw run_error("recursion too deep", {"a function calls itself, directly or through others, without an end"})
        .as(codes::recursion);
  }
  ++in.depth_;
}
DepthGuard::~DepthGuard() { --in_.depth_; }

Interpreter::Interpreter(InterpreterOptions options)
    : options_(std::move(options)),
      prelude_(std::make_shared<Scope>()),
      random_((static_cast<uint64_t>(std::random_device{}()) << 32) | std::random_device{}()) {
  if (!options_.out) options_.out = [](std::string_view) {};
  if (!options_.err) options_.err = [](std::string_view) {};
  bind_core_builtins(*this, *prelude_);
  bind_op_builtins(*this, *prelude_);
  bind_data_builtins(*this, *prelude_);
  bind_graph_builtins(*this, *prelude_);
  file_scope_ = std::make_shared<Scope>(prelude_);
}

// Functions hold the scopes that hold them: the names are taken out by hand, so that everything is freed.
Interpreter::~Interpreter() {
  auto empty = [](const ScopePtr& scope) {
    if (scope) scope->restore({});
  };
  targets_.clear();
  for (auto& weak : captured_) empty(weak.lock());
  for (auto& [key, scope] : imported_) empty(scope);
  empty(file_scope_);
  empty(prelude_);
}

}  // namespace pxl
