#include "interpreter/values/ref.hpp"

namespace pxl {

constinit thread_local object_memory::Kept object_memory::kept[object_memory::sizes] = {};

namespace {

/// Frees the memory that a thread keeps when the thread ends. After that the thread keeps no memory.
struct End {
  ~End() {
    for (object_memory::Kept& k : object_memory::kept) {
      while (k.first) ::operator delete(std::exchange(k.first, *static_cast<void**>(k.first)));
      k.count = UINT32_MAX;
    }
  }
};

}  // namespace

void RefCounts::increase_shared(uint32_t& count) noexcept {
  std::atomic_ref(count).fetch_add(1, std::memory_order_relaxed);
}
bool RefCounts::decrease_shared(uint32_t& count) noexcept {
  return std::atomic_ref(count).fetch_sub(1, std::memory_order_acq_rel) == 1;
}

void* object_memory::take_new(size_t bytes) {
  static thread_local const End end;
  static_cast<void>(end);
  return ::operator new(bytes);
}
void object_memory::give_back_more(void* memory) noexcept { ::operator delete(memory); }

}  // namespace pxl
