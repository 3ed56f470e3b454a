// The ordinary objects of the language: strings, sequences, dicts, ranges, slices, dtypes, specs, arrays.
#pragma once

#include <cstdint>
#include <memory>

#include "interpreter/values/value.hpp"

namespace pxl {

/// The `count` elements start, start + step, ...
struct SliceRange {
  int64_t start, step, count;
};

struct StringObject final : Object {
  static constexpr ClassTag class_tag = ClassTag::text;
  std::string value;  ///< only `append` changes it
  void append(std::string_view more);
  int64_t characters() const {  ///< the number of code points
    return characters_ >= 0 ? characters_ : counted();
  }
  size_t offset_of(int64_t character) const;  ///< byte offset of a character, up to the length
  std::string_view characters(int64_t from, int64_t count) const;
  uint64_t hash() const { return hash_ != 0 ? hash_ : computed_hash(); }
  Value sliced(const SliceRange& range) const;
  /// Returns the character at a byte offset, and moves the offset past it.
  inline Value character_at(size_t& offset) const;
  /// The character at a position, which counts from the end if negative. Null if the text is not ASCII only.
  inline const Value* ascii_at(int64_t at) const;
  explicit StringObject(std::string&& v) : value(std::move(v)) { has_parts_ = false; }
  explicit StringObject(std::string_view v) : value(v) { has_parts_ = false; }
  std::string type_name() const override { return "str"; }
  std::string str(Interpreter&) override { return value; }
  std::string repr(Interpreter&) override;
  Method method_of_class(std::string_view) const override;
  std::optional<Value> member(Interpreter&, std::string_view) override;
  std::vector<std::string> member_names() const override;
  Value index(Interpreter&, const Value&) override;
  std::optional<int64_t> length(Interpreter&) override;
  std::optional<Iterator> iterate(Interpreter&) override;
  bool contains(Interpreter&, const Value&) override;
  bool truth(Interpreter&) override { return !value.empty(); }
  bool equals(Interpreter&, const Value&) override;

 private:
  int64_t counted() const;
  uint64_t computed_hash() const;
  Value wide_character_at(size_t& offset) const;
  mutable int64_t characters_ = -1;                       ///< -1: not counted yet
  mutable uint64_t hash_ = 0;                             ///< 0: not computed yet
  mutable std::unique_ptr<std::vector<uint32_t>> marks_;  ///< offsets of every 64th character, for texts beyond ASCII
};

/// Lists (mutable) and tuples.
struct SequenceObject : Object {
  std::vector<Value> items;
  SequenceObject() = default;
  explicit SequenceObject(std::vector<Value> v) : items(std::move(v)) {}
  ~SequenceObject() override;  ///< frees nested containers without recursion
  Value sliced(const SliceRange& range) const;
  Value index(Interpreter&, const Value&) override;
  std::optional<int64_t> length(Interpreter&) override { return static_cast<int64_t>(items.size()); }
  std::optional<Iterator> iterate(Interpreter&) override;
  bool contains(Interpreter&, const Value&) override;
  bool truth(Interpreter&) override { return !items.empty(); }
  bool equals(Interpreter&, const Value&) override;
  void references(References& to) const override;
};
struct ListObject final : SequenceObject {
  static constexpr ClassTag class_tag = ClassTag::list;
  using SequenceObject::SequenceObject;
  std::string type_name() const override { return "list"; }
  std::string repr(Interpreter&) override;
  Method method_of_class(std::string_view) const override;
  std::optional<Value> member(Interpreter&, std::string_view) override;
  std::vector<std::string> member_names() const override;
  void set_index(Interpreter&, const Value&, Value) override;
  std::function<void()> state() override;
};
struct TupleObject final : SequenceObject {
  static constexpr ClassTag class_tag = ClassTag::tuple;
  using SequenceObject::SequenceObject;
  mutable uint64_t hash = 0;  ///< hash as a key of dicts; 0: not computed yet
  std::string type_name() const override { return "tuple"; }
  std::string repr(Interpreter&) override;
};

/// The keys and values of a dict, in order of insertion. An erased item stays as a gap, which iterators skip, until the
/// dict makes its table anew.
class DictItems {
 public:
  using Item = std::pair<Value, Value>;
  template <class I>
  class Skipping {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = Item;
    using difference_type = std::ptrdiff_t;
    using pointer = I*;
    using reference = I&;
    Skipping() = default;
    Skipping(I* at, I* end) : at_(at), end_(end) { skip(); }
    I& operator*() const { return *at_; }
    I* operator->() const { return at_; }
    Skipping& operator++() {
      ++at_;
      skip();
      return *this;
    }
    Skipping operator++(int) {
      const Skipping before = *this;
      ++*this;
      return before;
    }
    bool operator==(const Skipping& other) const { return at_ == other.at_; }

   private:
    void skip() {
      while (at_ != end_ && at_->first.is_unset()) ++at_;
    }
    I *at_ = nullptr, *end_ = nullptr;
  };
  size_t size() const { return all_.size() - gaps_; }
  bool empty() const { return size() == 0; }
  auto begin() { return Skipping<Item>(all_.data() + first_, all_.data() + all_.size()); }
  auto end() { return Skipping<Item>(all_.data() + all_.size(), all_.data() + all_.size()); }
  auto begin() const { return Skipping<const Item>(all_.data() + first_, all_.data() + all_.size()); }
  auto end() const { return Skipping<const Item>(all_.data() + all_.size(), all_.data() + all_.size()); }
  const Item& front() const { return *begin(); }

 private:
  friend struct DictObject;
  std::vector<Item> all_;
  size_t gaps_ = 0;
  size_t first_ = 0;  ///< the items before it are gaps
};

/// Insertion-ordered. Keys are none, bools, numbers, strings, tuples, and objects by identity (tensors, streams).
struct DictObject final : Object {
  static constexpr ClassTag class_tag = ClassTag::dict;
  ~DictObject() override;
  std::string type_name() const override { return "dict"; }
  std::string repr(Interpreter&) override;
  Method method_of_class(std::string_view) const override;
  std::optional<Value> member(Interpreter&, std::string_view) override;
  std::vector<std::string> member_names() const override;
  Value index(Interpreter&, const Value&) override;
  void set_index(Interpreter&, const Value&, Value) override;
  std::optional<int64_t> length(Interpreter&) override { return static_cast<int64_t>(items.size()); }
  std::optional<Iterator> iterate(Interpreter&) override;
  bool contains(Interpreter&, const Value&) override;
  bool truth(Interpreter&) override { return !items.empty(); }
  bool equals(Interpreter&, const Value&) override;

  const Value* find(const Value& key) const;
  Error missing(Interpreter& in, const Value& key) const;  ///< the error about a key that the dict lacks
  void put(const Value& key, Value value);                 ///< throws for an unhashable key
  bool erase(const Value& key);
  void clear();
  std::function<void()> state() override;
  void references(References& to) const override;
  /// The item at a position or after it; moves the position past it. Null at the end.
  const DictItems::Item* next_item(size_t& position) const;
  DictItems items;

 private:
  static constexpr size_t none = static_cast<size_t>(-1);
  size_t where(const Value& key) const;  ///< index into items.all_, or none
  size_t among_few(const Value& key) const;
  size_t in_table(const Value& key, uint64_t hash) const;
  size_t place_in_table(const Value& key, uint64_t hash) const;  ///< the key's place, or a free one
  void free_place(size_t place);
  void close_gaps();
  void add_to_table(size_t item);
  void make_table();

  std::vector<uint64_t> hashes_;  ///< of the keys, parallel to items.all_; empty for few items, which have no gaps
  struct Place {
    uint32_t item = 0;  ///< index into items.all_ plus one, 0 if free
    uint32_t part = 0;  ///< part of the key's hash
  };
  std::vector<Place> table_;  ///< open addressing; empty for few items
};

struct RangeObject final : Object {
  static constexpr ClassTag class_tag = ClassTag::range;
  int64_t start, stop, step;
  RangeObject(int64_t a, int64_t b, int64_t s) : start(a), stop(b), step(s) {}
  /// Element i, for i from 0 to below the length. The product fits, since the element is between start and stop.
  int64_t at(int64_t i) const {
    return static_cast<int64_t>(static_cast<uint64_t>(start) + static_cast<uint64_t>(i) * static_cast<uint64_t>(step));
  }
  std::string type_name() const override { return "range"; }
  std::string repr(Interpreter&) override;
  Value index(Interpreter&, const Value&) override;
  std::optional<int64_t> length(Interpreter&) override;
  std::optional<Iterator> iterate(Interpreter&) override;
  bool contains(Interpreter&, const Value&) override;
  bool truth(Interpreter&) override;
  bool equals(Interpreter&, const Value&) override;
};

struct SliceObject final : Object {
  static constexpr ClassTag class_tag = ClassTag::slice;
  Value start, stop, step;
  SliceObject(Value a, Value b, Value s) : start(std::move(a)), stop(std::move(b)), step(std::move(s)) {}
  std::string type_name() const override { return "slice"; }
};
struct EllipsisObject final : Object {
  std::string type_name() const override { return "ellipsis"; }
};

struct DTypeObject final : Object {
  DType value;
  explicit DTypeObject(DType v) : value(v) {}
  std::string type_name() const override { return "dtype"; }
  std::string repr(Interpreter&) override;
  std::optional<Value> member(Interpreter&, std::string_view) override;
  std::vector<std::string> member_names() const override;
  Value index(Interpreter&, const Value&) override;  ///< a spec: float32[8, 784]
  bool callable() const override { return true; }
  Value call(Interpreter&, Arguments) override;  ///< float32(x): converts a number or an array
  bool equals(Interpreter&, const Value&) override;
  bool is_handle() const override { return true; }
  std::optional<std::string> hash_key() const override;
};
struct SpecObject final : Object {
  TensorSpec value;
  explicit SpecObject(TensorSpec v) : value(std::move(v)) {}
  std::string type_name() const override { return "spec"; }
  std::string repr(Interpreter&) override;
  std::optional<Value> member(Interpreter&, std::string_view) override;
  std::vector<std::string> member_names() const override;
  bool equals(Interpreter&, const Value&) override;
  std::optional<std::string> hash_key() const override;
};

/// A host n-d array. Its methods are those of the op table (a.reshape(...), a.mean()) and T, shape, dtype, tolist, ...
struct ArrayObject final : Object {
  static constexpr ClassTag class_tag = ClassTag::array;
  Array value;
  explicit ArrayObject(Array v) : value(std::move(v)) {}
  std::string type_name() const override { return "array"; }
  std::string str(Interpreter&) override;
  std::string repr(Interpreter&) override;
  std::optional<Value> member(Interpreter&, std::string_view) override;
  std::vector<std::string> member_names() const override;
  Value index(Interpreter&, const Value&) override;
  void set_index(Interpreter&, const Value&, Value) override;
  std::optional<int64_t> length(Interpreter&) override;
  std::optional<Iterator> iterate(Interpreter&) override;
  bool truth(Interpreter&) override;
  std::function<void()> state() override;
};

/// Lists and tuples are the only kinds of sequences.
template <>
PXL_INLINE SequenceObject* Value::as<SequenceObject>() const {
  return kind_ == kind_of(static_cast<uint8_t>(ClassTag::list)) ||
                 kind_ == kind_of(static_cast<uint8_t>(ClassTag::tuple))
             ? static_cast<SequenceObject*>(object_.get())
             : nullptr;
}

/// A stream of values: the result of enumerate, zip, map or filter. It is iterated once, as in Python.
struct IteratorObject final : Object {
  const char* name;
  Iterator elements;
  IteratorObject(const char* n, Iterator it) : name(n), elements(std::move(it)) {}
  std::string type_name() const override { return "iterator"; }
  std::string repr(Interpreter&) override { return std::string("<") + name + ">"; }
  std::optional<Iterator> iterate(Interpreter&) override {
    auto self = static_ref_cast<IteratorObject>(shared_from_this());
    return Iterator([self](Value& out) { return self->elements.next(out); });
  }
};

/// The tuple that an iterator returns in each round. If the program still holds the last tuple, it makes a new one.
class ReusedTuple {
 public:
  explicit ReusedTuple(size_t size) : size_(size) {}
  std::vector<Value>& items() {
    if (!tuple_ || tuple_.use_count() > 1) tuple_ = make_ref<TupleObject>(std::vector<Value>(size_));
    tuple_->hash = 0;
    return tuple_->items;
  }
  Value value() const { return tuple_; }

 private:
  size_t size_;
  Ref<TupleObject> tuple_;
};

/// The iterator over tuples of `width` values. `pull` sets the values of the next tuple and returns true; the end is
/// false.
template <class F>
Iterator row_iterator(size_t width, F pull) {
  struct Rows final : Iterator::Source {
    F pull;
    ReusedTuple row;
    Rows(size_t size, F p) : pull(std::move(p)), row(size) { width = size; }
    bool next(Value& out) override {
      if (!pull(row.items().data())) return false;
      out = row.value();
      return true;
    }
    bool next_row(Value* out) override { return pull(out); }
  };
  return Iterator(std::unique_ptr<Iterator::Source>(std::make_unique<Rows>(width, std::move(pull))));
}

/// A position in the elements of a value. Those of lists, tuples, ranges and strs are read in place.
class Cursor {
 public:
  /// Throws if the value cannot be iterated.
  Cursor(Interpreter& in, Value iterable);
  bool is_in_place() const { return sequence_ || range_ || text_; }
  /// Moves to the next element, which is_in_place; returns false at the end.
  PXL_INLINE bool next_in_place(Value& out) {
    if (sequence_) {
      if (next_ >= sequence_->items.size()) return false;
      out = sequence_->items[next_++];
    } else if (range_) {
      if (next_ >= length_) return false;
      out = range_->at(static_cast<int64_t>(next_++));
    } else {
      if (next_ >= text_->value.size()) return false;
      out = text_->character_at(next_);
    }
    return true;
  }
  bool next(Value& out) { return is_in_place() ? next_in_place(out) : iterator().next(out); }
  /// Those of Iterator.
  size_t width() const { return stream_ ? stream_->elements.width() : iterator_.width(); }
  bool next_row(Value* out) { return iterator().next_row(out); }
  /// The number of elements of a sequence or a range, otherwise 0.
  size_t length() const { return sequence_ ? sequence_->items.size() : length_; }

 private:
  Iterator& iterator() { return stream_ ? stream_->elements : iterator_; }
  Value iterable_;
  SequenceObject* sequence_;
  StringObject* text_;
  RangeObject* range_;
  IteratorObject* stream_;
  Iterator iterator_;
  size_t next_ = 0, length_ = 0;  ///< position, in bytes of a str; elements of a range
};

/// The strs of one ASCII character, which need no new memory.
namespace ascii_detail {
extern constinit thread_local const Value* values;  ///< null before the first call of make_values
const Value* make_values();
}  // namespace ascii_detail
inline const Value& character_value(char ascii) {
  const Value* all = ascii_detail::values ? ascii_detail::values : ascii_detail::make_values();
  return all[static_cast<unsigned char>(ascii)];
}
inline Value StringObject::character_at(size_t& offset) const {
  const char c = value[offset];
  return static_cast<unsigned char>(c) < 128 ? (++offset, character_value(c)) : wide_character_at(offset);
}
inline const Value* StringObject::ascii_at(int64_t at) const {
  const auto size = static_cast<int64_t>(value.size());
  if (characters() != size) return nullptr;
  if (at < 0) at += size;
  return static_cast<uint64_t>(at) < static_cast<uint64_t>(size) ? &character_value(value[static_cast<size_t>(at)])
                                                                 : nullptr;
}
inline bool is_tuple(const SequenceObject& s) { return &typeid(s) == &typeid(TupleObject); }
Value make_list(std::vector<Value> items);
Value make_tuple(std::vector<Value> items);
Value make_pair(Value first, Value second);  ///< returns a tuple
/// An iterator over the pairs that a dict has at this moment.
Value pairs_of(const DictObject& dict);
/// The hash of a value as a dict key: equal keys have equal hashes (1, 1.0 and true are one key). Returns nullopt if
/// `v` cannot be a key.
std::optional<uint64_t> hash_of(const Value& v);
/// Whether two values that are valid keys are the same key.
bool is_same_key(const Value& a, const Value& b);

}  // namespace pxl
