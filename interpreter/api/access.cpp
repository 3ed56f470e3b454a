#include "interpreter/api/access.hpp"

#include <fmt/format.h>

#include <new>

#include "interpreter/api/running_call.hpp"
#include "interpreter/language/errors/errors.hpp"
#include "interpreter/values/exit_request.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/base/limits/budget.hpp"
#include "runtime/base/limits/cancel.hpp"
#include "runtime/base/limits/interrupt.hpp"
#include "runtime/base/limits/signals.hpp"
#include "runtime/base/limits/stack.hpp"
#include "runtime/base/threads/float_environment.hpp"
#include "runtime/base/threads/fork.hpp"
#include "runtime/base/threads/pool_turn.hpp"
#include "runtime/base/unevaluated.hpp"

namespace pxl::api {
namespace {

constexpr unsigned thread_bits = 40;

/// A number that is never 0 and differs in each thread and each process.
uint64_t own_number() {
  static std::atomic<uint64_t> next{1};
  static thread_local const uint64_t number = next.fetch_add(1);
  return uint64_t{fork_generation()} << thread_bits | number;
}

struct PublicData final : Carried {
  std::shared_ptr<const v1::Value> data;
  PublicData(std::string k, v1::Value d)
      : Carried(std::move(k)), data(std::make_shared<const v1::Value>(std::move(d))) {}
};

v1::Diagnostic public_diagnostic(const Diagnostic& d) {
  v1::Diagnostic out{std::string(code_of(d)), d.message, {}, d.notes, render(d)};
  if (const auto* carried = dynamic_cast<const PublicData*>(d.carried.get())) out.data = carried->data;
  if (d.span) {
    const Position at = d.span.file->position(d.span.begin);
    out.place = {d.span.file->name(), at.line, at.column};
  }
  return out;
}

v1::Failure failure_of(Fault fault) {
  switch (fault) {
    case Fault::refused: return v1::Failure::refused;
    case Fault::failed: return v1::Failure::failed;
    case Fault::unreadable: return v1::Failure::unreadable;
    case Fault::usage: return v1::Failure::usage;
    case Fault::internal: break;
  }
  return v1::Failure::internal;
}

v1::Error public_error(const Error& e) {
  v1::Error out;
  out.failure = failure_of(e.first().fault);
  for (const Diagnostic& d : e.all()) out.diagnostics.push_back(public_diagnostic(d));
  return out;
}

v1::Error plain(v1::Failure failure, const std::string& kind, const std::string& message) {
  return {failure, {{kind, message, {}, {}, "error: " + message + "\n"}}};
}

}  // namespace

void run_call(const v1::Cancel& cancel, const std::function<void()>& body) {
  const RunningCall running(cancel.flag());
  run_with_stack([&] {
    ensure_signal_stack();
    const OwnFloatEnvironment floats;
    const CancelScope heard(cancel.flag());
    const PoolTurn pool;
    body();
  });
}

void Turns::enter(const char* what) {
  const uint64_t own = own_number();
  for (uint64_t seen = 0; !holder_.compare_exchange_weak(seen, own, std::memory_order_acquire); seen = 0) {
    if (seen == 0) continue;
    if (seen == own)
      throw Error(fmt::format("{} is in use by the call that this one comes from", what), {}, Fault::usage)
          .as(codes::session);
    if (seen >> thread_bits != own >> thread_bits)
      throw Error(fmt::format("{} was in use by another thread when this process was forked off", what),
                  {"make another one in this process"}, Fault::usage)
          .as(codes::session);
    holder_.wait(seen);
  }
}

void Turns::leave() noexcept {
  holder_.store(0, std::memory_order_release);
  holder_.notify_one();
}

void publish_data(Interpreter& in, Error& error) {
  Diagnostic& d = error.first();
  const auto* carried = dynamic_cast<const WithData*>(d.carried.get());
  if (!carried) return;
  v1::Value data;
  try {
    data = public_value(in, carried->data);
  } catch (const Error&) {
    data = v1::Opaque{carried->data.type_name(), ""};  // nested too deeply
  }
  const auto made = std::make_shared<const PublicData>(std::string(code_of(d)), std::move(data));
  d.code = made->kind;
  d.carried = made;
}

v1::Error usage_error(std::string message, std::vector<std::string> notes) {
  Error e(std::move(message), std::move(notes), Fault::usage);
  return public_error(e.as(codes::usage));
}

v1::Error current_error() noexcept {
  try {
    throw;
  } catch (const Error& e) {
    return public_error(e);
  } catch (const Interrupted&) {
    return plain(v1::Failure::cancelled, "cancelled", "cancelled");
  } catch (const ExitRequest& e) {
    v1::Error out = plain(v1::Failure::exited, "exited", fmt::format("the program called exit({})", e.code));
    out.exit_status = e.code;
    return out;
  } catch (const std::bad_alloc&) {
    return plain(v1::Failure::failed, std::string(codes::memory), "out of memory");
  } catch (const std::exception& e) {
    return plain(v1::Failure::internal, std::string(codes::internal), fmt::format("internal error: {}", e.what()));
  } catch (...) {
    return plain(v1::Failure::internal, std::string(codes::internal), "internal error");
  }
}

}  // namespace pxl::api
