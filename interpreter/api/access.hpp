// Shared by the parts of the library's interface: turns of threads, exceptions converted to errors, conversions of
// arrays and values.
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

/// Calls of one object take turns. Unlike a mutex, Turns detects two cases. The thread has the turn already, in a call
/// from a callback. Or the thread that has the turn is not in this process, which is the child of a fork.
class Turns {
 public:
  /// Waits for the turn. Throws Error in the two cases above.
  void enter(const char* what);
  void leave() noexcept;

 private:
  std::atomic<uint64_t> holder_{0};  ///< fork generation and thread number of the holder; 0: none
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

/// The current exception as an error.
v1::Error current_error() noexcept;
v1::Error usage_error(std::string message, std::vector<std::string> notes = {});

/// Runs `body` as a call of the library: on enough stack, with the library's floating-point environment, and
/// interrupted by `cancel` alone. Throws what `body` throws.
void run_call(const v1::Cancel& cancel, const std::function<void()>& body);

/// Returns the result of `body`, or the error for its exception.
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

/// Makes the data of a script's `fail` public.
void publish_data(Interpreter& in, Error& error);
/// Runs code of a program, whose turn the caller has.
template <class F>
auto running_program(Interpreter& in, F&& code) {
  try {
    return code();
  } catch (Error& e) {
    publish_data(in, e);
    throw;
  }
}

v1::DType public_dtype(DType dtype);
/// Whether the elements of a view are read, or only written.
enum class Contents : uint8_t { read, undefined };
/// An array that reads the view's memory in place, or a converted copy of it (unaligned memory, or bools that are
/// neither 0 nor 1). Throws Error. The caller ensures that the memory lives as long as the array; `owner` may do so.
Array array_of(const v1::View& view, std::shared_ptr<const void> owner = nullptr, Contents contents = Contents::read);
v1::Array public_array(Array array);

/// Whether arrays in the caller's memory are copied. A program that stores a shared array would see later changes to
/// that memory.
enum class Borrowed : uint8_t { shared, copied };
Value value_of(const v1::Value& value, Borrowed borrowed);
/// Tensors become the value that `eval` computes; results of runs become dicts. Throws Error.
v1::Value public_value(Interpreter& in, const Value& value);

}  // namespace pxl::api

/// The elements of a public array.
struct pxl::v1::Array::State {
  pxl::Array array;
  bool borrowed = false;  ///< the elements are in the caller's memory
};
