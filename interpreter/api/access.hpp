// What the parts of the library's interface share: turns of threads, exceptions to errors, conversions of arrays and
// values.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <type_traits>

#include "interpreter/values/value.hpp"
#include "pxl/array.hpp"
#include "pxl/error.hpp"
#include "pxl/session.hpp"
#include "pxl/value.hpp"

namespace pxl::api {

/// Calls of one object take turns. Unlike a mutex it finds out that its thread has the turn already (a call from a
/// callback), and that the thread which has it is not in this process (the child of a fork).
class Turns {
 public:
  /// Waits. Throws Error in the two cases above.
  void enter(const char* what);
  void leave() noexcept;

 private:
  std::atomic<uint64_t> holder_{0};  ///< generation of forks and number of the thread; 0: none
};

class Turn {
 public:
  Turn(Turns& turns, const char* what) : turns_(turns) { turns_.enter(what); }
  ~Turn() { turns_.leave(); }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  Turns& turns_;
};

/// The exception that is being handled, as an error.
v1::Error current_error() noexcept;
v1::Error usage_error(std::string message, std::vector<std::string> notes = {});

/// Runs `body` as a call of the library: on enough stack, with the library's floating-point environment, heard by
/// `cancel` alone. Throws what it throws.
void run_call(const v1::Cancel& cancel, const std::function<void()>& body);

/// What `body` returns, or the error for what it throws.
template <class F, class T = std::invoke_result_t<F>>
v1::Result<T> guarded(const v1::Cancel& cancel, F&& body) noexcept {
  try {
    std::optional<v1::Result<T>> result;
    run_call(cancel, [&] {
      if constexpr (std::is_void_v<T>) {
        body();
        result.emplace();
      } else {
        result.emplace(body());
      }
    });
    return *std::move(result);
  } catch (...) {
    return current_error();
  }
}

v1::DType public_dtype(DType dtype);
/// Whether the elements of a view are read, or only written.
enum class Contents : uint8_t { read, undefined };
/// An array that reads the view's memory in place, or a converted copy of it (unaligned, bools that are
/// neither 0 nor 1). Throws Error. Whoever calls sees to it that the memory lives as long: `owner` may do so.
Array array_of(const v1::View& view, std::shared_ptr<const void> owner = nullptr, Contents contents = Contents::read);
v1::Array public_array(Array array);

/// Whether arrays of the caller's memory are copied: code that keeps them would otherwise change with that memory.
enum class Borrowed : uint8_t { shared, copied };
Value value_of(const v1::Value& value, Borrowed borrowed);
/// Tensors have the value that `eval` computes, results of runs are dicts. Throws Error.
v1::Value public_value(Interpreter& in, const Value& value);

}  // namespace pxl::api

/// The elements of a public array.
struct pxl::v1::Array::State {
  pxl::Array array;
  bool borrowed = false;  ///< they are in memory of the caller's
};
