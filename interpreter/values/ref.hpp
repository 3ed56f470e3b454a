// Counted references to objects and scopes. Each count is stored directly before its object. Counts change by atomic
// instructions only in a process where several threads may refer to one object. A program that runs alone counts in
// plain memory.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <new>
#include <type_traits>
#include <utility>

/// Marks the few operations that each step of a program performs.
#define PXL_INLINE inline __attribute__((always_inline))

/// Memory is not kept under sanitizers, so that they see each object's own memory.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define PXL_KEEPS_MEMORY false
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define PXL_KEEPS_MEMORY false
#endif
#endif
#ifndef PXL_KEEPS_MEMORY
#define PXL_KEEPS_MEMORY true
#endif

namespace pxl {

/// Whether several threads may refer to one object. A process that runs one program sets it to false before it makes
/// objects.
inline bool counts_are_shared = true;

/// The memory of objects. Each thread keeps blocks that it freed last, by size, for the objects that it makes next.
namespace object_memory {
inline constexpr size_t step = 16, sizes = 20;
/// Blocks of one size, each of which begins with the address of the next.
struct Kept {
  void* first = nullptr;
  uint32_t count = 0;
};
extern constinit thread_local Kept kept[sizes];
[[gnu::cold]] void* take_new(size_t bytes);
[[gnu::cold]] void give_back_more(void* memory) noexcept;

PXL_INLINE void* take(size_t bytes) {
  const size_t size = (bytes + step - 1) / step;
  if (size < sizes && kept[size].first) [[likely]] {
    Kept& k = kept[size];
    void* memory = k.first;
    k.first = *static_cast<void**>(memory);
    --k.count;
    return memory;
  }
  return take_new((bytes + step - 1) / step * step);
}
PXL_INLINE void give_back(void* memory, size_t bytes) noexcept {
  constexpr uint32_t most = 1024;  // maximum blocks of one size, 3 MB for all sizes
  const size_t size = (bytes + step - 1) / step;
  if (PXL_KEEPS_MEMORY && size < sizes && kept[size].count < most) [[likely]] {
    Kept& k = kept[size];
    *static_cast<void**>(memory) = k.first;
    k.first = memory;
    ++k.count;
    return;
  }
  give_back_more(memory);
}
}  // namespace object_memory

/// The counts of one object.
struct alignas(16) RefCounts {
  uint32_t strong = 1;
  uint32_t weak = 1;   ///< one for all strong references together, and one for each weak reference
  uint32_t bytes = 0;  ///< size of the object and its counts
  uint8_t tag = 0;     ///< T::class_tag of the object's class T; 0 if the class has none

  PXL_INLINE static RefCounts& of(const void* object) {
    return *reinterpret_cast<RefCounts*>(const_cast<char*>(static_cast<const char*>(object)) - sizeof(RefCounts));
  }
  PXL_INLINE static void increase(uint32_t& count) {
    if (counts_are_shared) [[unlikely]]
      return increase_shared(count);
    ++count;
  }
  /// Decreases a count; returns whether it has become 0.
  PXL_INLINE static bool decrease(uint32_t& count) {
    if (counts_are_shared) [[unlikely]]
      return decrease_shared(count);
    return --count == 0;
  }
  /// Decreases a count if it certainly stays above 0; returns whether it did.
  PXL_INLINE static bool decrease_above_one(uint32_t& count) {
    if (counts_are_shared || count == 1) return false;
    --count;
    return true;
  }
  /// Increases a count that is not 0; returns whether it did.
  static bool increase_alive(uint32_t& count) {
    if (!counts_are_shared) return count != 0 && ++count != 0;
    std::atomic_ref shared(count);
    uint32_t now = shared.load(std::memory_order_relaxed);
    while (now != 0)
      if (shared.compare_exchange_weak(now, now + 1, std::memory_order_acq_rel)) return true;
    return false;
  }
  void free_if_unused() {
    if (weak == 1 || decrease(weak)) object_memory::give_back(this, bytes);
  }

 private:
  // Not inlined, and cold, so that the code at each use of a count stays short.
  [[gnu::cold]] static void increase_shared(uint32_t& count) noexcept;
  [[gnu::cold]] static bool decrease_shared(uint32_t& count) noexcept;
};

/// A reference that keeps its object alive.
template <class T>
class Ref {
 public:
  using element_type = T;
  Ref() = default;
  Ref(std::nullptr_t) {}
  PXL_INLINE Ref(const Ref& other) noexcept : object_(other.object_) { hold(); }
  PXL_INLINE Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  template <class U>
  requires(std::is_convertible_v<U*, T*>) Ref(const Ref<U>& other)
  noexcept : object_(other.get()) { hold(); }
  template <class U>
  requires(std::is_convertible_v<U*, T*>) Ref(Ref<U>&& other)
  noexcept : object_(other.release()) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  PXL_INLINE ~Ref() {
    if (object_) drop(object_);
  }

  /// A new reference to an object that other references keep.
  static Ref to(T* object) noexcept {
    Ref made;
    made.object_ = object;
    made.hold();
    return made;
  }
  /// Takes over a count that the caller holds.
  static Ref adopt(T* object) noexcept {
    Ref made;
    made.object_ = object;
    return made;
  }
  /// Returns the object, and its count, to the caller.
  T* release() noexcept { return std::exchange(object_, nullptr); }

  T* get() const noexcept { return object_; }
  T& operator*() const noexcept { return *object_; }
  T* operator->() const noexcept { return object_; }
  explicit operator bool() const noexcept { return object_ != nullptr; }
  void reset() { *this = Ref(); }
  long use_count() const { return object_ ? static_cast<long>(RefCounts::of(object_).strong) : 0; }
  template <class U>
  bool operator==(const Ref<U>& other) const noexcept {
    return object_ == other.get();
  }
  bool operator==(std::nullptr_t) const noexcept { return !object_; }
  bool operator<(const Ref& other) const noexcept { return std::less<T*>()(object_, other.object_); }

 private:
  PXL_INLINE static void drop(T* object) noexcept {
    if (RefCounts::decrease(RefCounts::of(object).strong)) end(object);
  }
  __attribute__((noinline)) static void end(T* object) noexcept {
    RefCounts& counts = RefCounts::of(object);
    object->~T();
    counts.free_if_unused();
  }
  PXL_INLINE void hold() noexcept {
    if (object_) RefCounts::increase(RefCounts::of(object_).strong);
  }
  T* object_ = nullptr;
};

/// A reference to an object that other references keep alive.
template <class T>
class WeakRef {
 public:
  WeakRef() = default;
  template <class U>
  requires(std::is_convertible_v<U*, T*>) WeakRef(const Ref<U>& object) : object_(object.get()) { hold(); }
  WeakRef(const WeakRef& other) : object_(other.object_) { hold(); }
  WeakRef(WeakRef&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  WeakRef& operator=(WeakRef other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~WeakRef() {
    if (object_) RefCounts::of(object_).free_if_unused();
  }
  /// The object, or null if it has been destroyed.
  Ref<T> lock() const {
    if (!object_ || !RefCounts::increase_alive(RefCounts::of(object_).strong)) return nullptr;
    return Ref<T>::adopt(object_);
  }
  bool expired() const { return !object_ || RefCounts::of(object_).strong == 0; }
  /// An address that no other object has as long as this reference exists.
  const void* identity() const { return object_; }

 private:
  void hold() {
    if (object_) RefCounts::increase(RefCounts::of(object_).weak);
  }
  T* object_ = nullptr;
};

/// make_ref for places where the call would cost too much.
template <class T, class... A>
PXL_INLINE Ref<T> make_ref_inline(A&&... arguments) {
  static_assert(alignof(T) <= alignof(RefCounts) && alignof(RefCounts) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);
  constexpr size_t bytes = sizeof(RefCounts) + sizeof(T);
  auto* counts = new (object_memory::take(bytes)) RefCounts;
  counts->bytes = static_cast<uint32_t>(bytes);
  if constexpr (requires { T::class_tag; }) counts->tag = static_cast<uint8_t>(T::class_tag);
  if constexpr (std::is_nothrow_constructible_v<T, A...>) {
    return Ref<T>::adopt(new (counts + 1) T(std::forward<A>(arguments)...));
  } else {
    try {
      return Ref<T>::adopt(new (counts + 1) T(std::forward<A>(arguments)...));
    } catch (...) {
      counts->free_if_unused();
      throw;
    }
  }
}

/// Makes an object with its counts directly before it. A pointer to a base of T must be the address of the object.
template <class T, class... A>
Ref<T> make_ref(A&&... arguments) {
  return make_ref_inline<T>(std::forward<A>(arguments)...);
}

template <class T, class U>
Ref<T> static_ref_cast(const Ref<U>& r) {
  return Ref<T>::to(static_cast<T*>(r.get()));
}

}  // namespace pxl

template <class T>
struct std::hash<pxl::Ref<T>> {
  size_t operator()(const pxl::Ref<T>& r) const { return std::hash<T*>()(r.get()); }
};
