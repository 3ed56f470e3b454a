// Hash maps and sets of pointers: open addressing with linear probing in one block of memory. Look-ups touch a cache
// line or two, and neither insertions nor destruction allocate or free node by node.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

namespace pxl {

/// A map from pointers that are not null to values. Insertions may move all values: references and entries are valid
/// until the next one. Entries cannot be removed, except all at once.
template <class Pointer, class T>
class PointerMap {
 public:
  struct Entry {
    Pointer first = nullptr;  ///< null: free
    [[no_unique_address]] T second{};
  };

  /// The entry of a key, which may be null; `end()` if there is none.
  const Entry* find(Pointer key) const {
    if (entries_.empty() || !key) return end();
    const size_t at = place(key);
    return entries_[at].first ? &entries_[at] : end();
  }
  Entry* find(Pointer key) { return const_cast<Entry*>(std::as_const(*this).find(key)); }
  static constexpr Entry* end() { return nullptr; }
  size_t count(Pointer key) const { return find(key) != end() ? 1 : 0; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  const T& at(Pointer key) const {
    const Entry* found = find(key);
    if (found == end()) throw std::out_of_range("a pointer that is not in the map");
    return found->second;
  }
  T& at(Pointer key) { return const_cast<T&>(std::as_const(*this).at(key)); }
  T& operator[](Pointer key) { return try_emplace(key).first->second; }

  /// The entry of a key, and whether it is new; an existing value is kept.
  template <class... Args>
  std::pair<Entry*, bool> try_emplace(Pointer key, Args&&... args) {
    if (entries_.size() < 2 * (size_ + 1)) grow(size_ + 1);
    Entry& entry = entries_[place(key)];
    if (entry.first) return {&entry, false};
    entry.first = key;
    entry.second = T(std::forward<Args>(args)...);
    ++size_;
    return {&entry, true};
  }
  template <class V>
  std::pair<Entry*, bool> emplace(Pointer key, V&& value) {
    return try_emplace(key, std::forward<V>(value));
  }

  void reserve(size_t count) {
    if (entries_.size() < 2 * count) grow(count);
  }
  void clear() {
    entries_.clear();
    size_ = 0;
  }

  /// f(key, value) for all, in an order that depends on addresses.
  template <class F>
  void for_each(F&& f) const {
    for (const Entry& entry : entries_)
      if (entry.first) f(entry.first, entry.second);
  }

 private:
  /// The position of the key, or the free position for it.
  size_t place(Pointer key) const {
    // Fibonacci hashing (Knuth, The Art of Computer Programming, volume 3, section 6.4): the upper bits of a product by
    // 2^64 over the golden ratio.
    const auto address = static_cast<uint64_t>(reinterpret_cast<uintptr_t>(key));
    size_t at = static_cast<size_t>((address * 0x9e3779b97f4a7c15u) >> shift_);
    while (entries_[at].first && entries_[at].first != key) at = (at + 1) & (entries_.size() - 1);
    return at;
  }

  /// Keeps at least half of the positions free.
  void grow(size_t count) {
    size_t places = 16;
    int bits = 4;
    while (places < 2 * count || places < entries_.size() * 2) places *= 2, ++bits;
    std::vector<Entry> old(places);
    old.swap(entries_);
    shift_ = 64 - bits;
    for (Entry& entry : old)
      if (entry.first) entries_[place(entry.first)] = std::move(entry);
  }

  std::vector<Entry> entries_;  ///< empty, or a power of two
  size_t size_ = 0;
  int shift_ = 64;
};

/// A set of pointers that are not null.
template <class Pointer>
class PointerSet {
 public:
  /// Whether the pointer is new.
  bool insert(Pointer p) { return map_.try_emplace(p).second; }
  size_t count(Pointer p) const { return map_.count(p); }
  size_t size() const { return map_.size(); }
  void reserve(size_t count) { map_.reserve(count); }

 private:
  struct Nothing {};
  PointerMap<Pointer, Nothing> map_;
};

}  // namespace pxl
