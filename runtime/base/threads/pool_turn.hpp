// Which of several threads uses the thread pool, which serves one caller at a time (thread_pool.hpp).
#pragma once

#include <cstdint>

namespace pxl {

/// While it lives, its thread has the pool; if another thread has it, this thread runs its pool jobs serially. Results
/// are the same. Programs that use the pool from one thread only need no turns.
class PoolTurn {
 public:
  PoolTurn() noexcept;
  ~PoolTurn();
  PoolTurn(const PoolTurn&) = delete;
  PoolTurn& operator=(const PoolTurn&) = delete;

 private:
  bool owns_, was_without_;
  uint32_t generation_;
};

/// Whether this thread runs serially because another one has the pool.
extern constinit thread_local bool runs_without_pool;

}  // namespace pxl
