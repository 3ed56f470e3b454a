// Host arrays: aligned storage with a limit on memory, copy-on-write, conversions.
#include "runtime/tensor/array.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <mutex>
#include <type_traits>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/base/limits/interrupt.hpp"
#include "runtime/base/limits/memory_limit.hpp"
#include "runtime/base/never_destroyed.hpp"
#include "runtime/base/text/size_text.hpp"
#include "runtime/tensor/block_cache.hpp"
#include "runtime/tensor/exact.hpp"
#include "runtime/tensor/float8.hpp"

namespace pxl {
namespace {

constexpr size_t alignment = 64;  ///< bytes; a cache line, and the widest vector register
constexpr size_t huge_page = size_t{2} << 20, small_page = 4096;
// Minimum size of freed memory that is kept (block_cache.hpp), in bytes. The C library returns large blocks to the
// system, and a page fault there costs more than an op on the page.
constexpr size_t min_cached_bytes = size_t{64} << 10;
constexpr size_t max_joined_bytes = size_t{1} << 14;  ///< of elements that share a block with their counter

// Large zeroed memory comes from the system and is not committed before its first use: variables of a program that
// never runs cost nothing. Null if a look omits the elements.
std::shared_ptr<std::byte> allocate(const TensorSpec& spec, int64_t bytes, bool zeroed = false) {
  auto refuse = [&] {
    throw run_error(fmt::format("{} needs {}, more than memory", text(spec), size_text(bytes))).as(codes::memory);
  };
  // Linux overcommits: it grants memory at allocation and takes it when it is written. An array larger than memory
  // would end in swapping or in the OOM killer.
  if (!has_memory_for(bytes)) {
    release_cached_blocks();
    if (!has_memory_for(bytes)) refuse();
  }
  if (const Budget* budget = current_budget()) {
    // Arrays that a look keeps may take at most half of its memory.
    if (bytes > budget->limits().array_bytes || !budget->affords(bytes + budget->limits().memory_bytes / 2)) return {};
  }
  const size_t needed = std::max<size_t>(static_cast<size_t>(bytes), 1);
  if (!zeroed && needed >= min_cached_bytes && needed <= (size_t{256} << 20)) {
    // Huge pages (THP) serve weights and data sets, which are read end to end or row by row in any order. With 4 KiB
    // pages, TLB misses cost as much as the reads. A last page less than half full stays small. Not above 256 MiB: the
    // system may spend seconds compacting memory, uninterruptible by Ctrl-C.
    const bool huge = needed >= huge_page;
    const size_t page = huge ? huge_page : small_page, whole = (needed + page - 1) / page * page;
    std::byte* data = take_cached_block(whole);
    if (!data) {
      const auto allocated = [&] { return data = static_cast<std::byte*>(std::aligned_alloc(page, whole)); };
      if (!allocated()) {
        release_cached_blocks();
        if (!allocated()) refuse();
      }
#if defined(MADV_HUGEPAGE)
      if (huge) ::madvise(data, (needed + huge_page / 2) / huge_page * huge_page, MADV_HUGEPAGE);  // advisory: may fail
#endif
    }
    count_taken(static_cast<int64_t>(needed));
    return {data, [needed, whole](std::byte* p) {
              count_freed(static_cast<int64_t>(needed));
              free_or_cache_block(p, whole);
            }};
  }
  // Aligned by hand: glibc's aligned_alloc does not reuse freed small blocks as malloc does.
  const size_t rounded = (needed + alignment - 1) / alignment * alignment;
  // One block for the elements and their reference count: of small results, allocations are most of the time.
  if (rounded <= max_joined_bytes) {
    auto block = std::make_shared_for_overwrite<std::byte[]>(rounded + alignment);  // the heap counts it
    void* data = block.get();
    size_t room = rounded + alignment;
    std::align(alignment, rounded, data, room);
    if (zeroed) std::memset(data, 0, rounded);
    return {std::move(block), static_cast<std::byte*>(data)};
  }
  void* whole = zeroed ? std::calloc(1, rounded + alignment) : std::malloc(rounded + alignment);
  if (!whole) refuse();
  void* data = whole;
  size_t room = rounded + alignment;
  std::align(alignment, rounded, data, room);
  count_taken(static_cast<int64_t>(rounded));
  return {static_cast<std::byte*>(data), [whole, rounded](std::byte*) {
            count_freed(static_cast<int64_t>(rounded));
            std::free(whole);
          }};
}

/// Elements that are read when they are first needed.
struct LazyElements {
  std::mutex mutex;
  std::function<Array()> read;      ///< empty once they are read, so that what it holds is released
  std::shared_ptr<std::byte> data;  ///< null before
};
/// The deleter of a lazy array's null pointer: copies of the array share it, and arrays need no member for it.
struct LazyDeleter {
  std::shared_ptr<LazyElements> elements;
  void operator()(std::byte*) const {}
};

void copy_bytes(std::byte* to, const std::byte* from, int64_t bytes) {
  constexpr int64_t word = 64;  // elements of a chunk: about a nanosecond
  charged_chunks((bytes + word - 1) / word, 1, [&](int64_t begin, int64_t end) {
    std::memcpy(to + begin * word, from + begin * word,
                static_cast<size_t>(std::min(end * word, bytes) - begin * word));
  });
}

/// Initial values of at least this size are made when they are needed: checks and pages of graphs need none.
constexpr int64_t min_lazy_bytes = 1 << 16;

/// Fills `to` with the element of `scalar`.
void fill_with(const Array& scalar, Array& to) {
  std::byte* bytes = to.mutable_raw();
  const int64_t first = std::min(scalar.bytes(), to.bytes());
  std::memcpy(bytes, scalar.raw(), static_cast<size_t>(first));
  constexpr int64_t most = 1 << 24;  // bytes between two checks for Ctrl-C
  for (int64_t done = first; done < to.bytes();) {
    check_interrupt();
    const int64_t n = std::min({done, to.bytes() - done, most});
    std::memcpy(bytes + done, bytes, static_cast<size_t>(n));
    done += n;
  }
}

template <class V>
Array filled(DType dtype, Shape shape, V value) {
  if (is_float8(dtype) && value == V{}) return Array::zeros(dtype, std::move(shape));
  with_type(dtype, [&]<class T>(type_tag<T>) {
    if (!holds<T>(value)) refuse_value(value, dtype, {});
  });
  Array a(dtype, std::move(shape));
  if (!a.has_elements()) return a;
  with_type(dtype, [&]<class T>(type_tag<T>) {
    T* data = a.mutable_data<T>();
    charged_chunks(a.size(), 1,
                   [&](int64_t begin, int64_t end) { std::fill(data + begin, data + end, cast_element<T>(value)); });
  });
  return a;
}

}  // namespace

Array::Array() {
  static const auto& zero = never_destroyed([] {
    auto data = allocate({}, sizeof(float));
    std::memset(data.get(), 0, sizeof(float));
    return data;
  }());
  data_ = zero;
}

Array::Array(DType dtype, Shape shape) : spec_{std::move(shape), dtype, {}}, size_(element_count(spec_.shape)) {
  data_ = allocate(spec_, bytes());
}

Array Array::zeros(DType dtype, Shape shape) {
  Array a;
  a.spec_ = {std::move(shape), dtype, {}};
  a.size_ = element_count(a.spec_.shape);
  a.data_ = allocate(a.spec_, a.bytes(), true);
  return a;
}

Array Array::unevaluated(DType dtype, Shape shape) {
  Array a;
  a.spec_ = {std::move(shape), dtype, {}};
  a.size_ = element_count(a.spec_.shape);
  a.data_ = nullptr;
  return a;
}

Array Array::full(DType dtype, Shape shape, double value) { return filled(dtype, std::move(shape), value); }
Array Array::full_int(DType dtype, Shape shape, int64_t value) { return filled(dtype, std::move(shape), value); }

Array Array::repeated(const Array& scalar, Shape shape) {
  if (scalar.size() != 1) throw std::logic_error("only one element can be repeated");
  if (!scalar.has_elements()) return unevaluated(scalar.dtype(), std::move(shape));
  Array a(scalar.dtype(), std::move(shape));
  if (!a.has_elements()) return a;
  const auto fill = [scalar](Array to) {
    fill_with(scalar, to);
    return to;
  };
  if (a.bytes() < min_lazy_bytes) return fill(std::move(a));
  return lazy(a.dtype(), a.shape(), [fill, spec = a.spec()] { return fill(Array(spec.dtype, spec.shape)); });
}

Array Array::wrap(DType dtype, Shape shape, std::shared_ptr<std::byte> data) {
  if (!data) throw std::logic_error("array around a null pointer");
  Array a;
  a.spec_ = {std::move(shape), dtype, {}};
  a.size_ = element_count(a.spec_.shape);
  a.data_ = std::move(data);
  return a;
}

Array Array::lazy(DType dtype, Shape shape, std::function<Array()> read) {
  Array a = unevaluated(dtype, std::move(shape));
  auto elements = std::make_shared<LazyElements>();
  elements->read = std::move(read);
  a.data_ = std::shared_ptr<std::byte>(static_cast<std::byte*>(nullptr), LazyDeleter{std::move(elements)});
  return a;
}

const std::shared_ptr<std::byte>& Array::memory() const {
  if (data_) return data_;
  const auto* lazy = std::get_deleter<LazyDeleter>(data_);
  if (!lazy) throw Unevaluated{};
  LazyElements& elements = *lazy->elements;
  const std::lock_guard lock(elements.mutex);
  if (!elements.data) {
    const Array read = elements.read();
    if (read.bytes() != bytes() || read.dtype() != dtype()) throw std::logic_error("a lazy array got another spec");
    elements.data = read.memory();
    elements.read = nullptr;
  }
  return elements.data;
}

std::byte* Array::mutable_raw() {
  if (!data_) {
    std::shared_ptr<std::byte> read = memory();
    data_ = std::move(read);  // no copy follows if no other array shares the elements
  }
  if (data_.use_count() != 1) {
    auto own = allocate(spec_, bytes());
    if (!own) throw Unevaluated{};
    copy_bytes(own.get(), data_.get(), bytes());
    data_ = std::move(own);
  }
  return data_.get();
}

Array Array::rows(int64_t begin, int64_t end) const {
  if (rank() == 0) throw Error("a scalar has no rows").as(codes::shape);
  int64_t count = spec_.shape[0];
  if (begin < 0 || end < begin || end > count)
    throw Error(fmt::format("rows {} to {} are outside {}", begin, end, text(spec_))).as(codes::index);
  Array a = *this;
  a.spec_.shape[0] = end - begin;
  a.spec_.meta_shape.clear();
  a.size_ = element_count(a.spec_.shape);
  int64_t row_bytes = count == 0 ? 0 : bytes() / count;
  if (has_elements()) a.data_ = std::shared_ptr<std::byte>(memory(), memory().get() + begin * row_bytes);
  return a;
}

Array Array::reshaped(Shape shape) const {
  if (element_count(shape) != size_)
    throw Error(fmt::format("{} cannot be reshaped to {}: {} elements and {}", text(spec_), bracket_text(shape), size_,
                            element_count(shape)))
        .as(codes::shape);
  Array a = *this;
  a.spec_.shape = std::move(shape);
  a.spec_.meta_shape.clear();
  return a;
}

Array Array::cast(DType to) const {
  if (to == dtype()) return *this;
  Array out(to, spec_.shape);
  if (!has_elements() || !out.has_elements()) return unevaluated(to, spec_.shape);
  with_type(dtype(), [&]<class From>(type_tag<From>) {
    with_type(to, [&]<class To>(type_tag<To>) {
      const From* source = data<From>();
      To* target = out.mutable_data<To>();
      charged_chunks(size_, 1, [&](int64_t begin, int64_t end) {
        if constexpr (std::is_same_v<From, float> && is_narrow_v<To>)
          to_narrow(source + begin, target + begin, end - begin);
        else if constexpr (is_narrow_v<From> && std::is_same_v<To, float>)
          to_float(source + begin, target + begin, end - begin);
        else
          for (int64_t i = begin; i < end; ++i) target[i] = cast_element<To>(source[i]);
      });
    });
  });
  return out;
}

Array Array::clone() const {
  Array a(dtype(), shape());
  a.spec_.meta_shape = spec_.meta_shape;
  if (!has_elements() || !a.data_)
    a.data_ = nullptr;
  else
    copy_bytes(a.data_.get(), raw(), bytes());
  return a;
}

double Array::number(int64_t i) const {
  if (i < 0 || i >= size_) throw std::logic_error("array element out of range");
  if (is_float8(dtype())) return static_cast<double>(float8_value(dtype(), static_cast<uint8_t>(raw()[i])));
  return with_type(dtype(), [&]<class T>(type_tag<T>) { return cast_element<double>(data<T>()[i]); });
}

int64_t Array::integer(int64_t i) const {
  if (i < 0 || i >= size_) throw std::logic_error("array element out of range");
  if (is_float8(dtype())) return cast_element<int64_t>(number(i));
  return with_type(dtype(), [&]<class T>(type_tag<T>) {
    const T value = data<T>()[i];
    if constexpr (std::is_same_v<T, uint64_t>)
      if (!holds<int64_t>(value)) refuse_value(value, DType::int64, {}, codes::arithmetic);
    return cast_element<int64_t>(value);
  });
}

bool identical(const Array& a, const Array& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() && a.has_elements() && b.has_elements() &&
         std::memcmp(a.raw(), b.raw(), static_cast<size_t>(a.bytes())) == 0;
}

}  // namespace pxl
