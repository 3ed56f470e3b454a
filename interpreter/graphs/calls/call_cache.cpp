#include "interpreter/graphs/calls/call_cache.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "interpreter/values/containers.hpp"
#include "runtime/base/never_destroyed.hpp"
#include "runtime/op/op.hpp"

namespace pxl {
namespace {

// The tag is the first word of a value. Its upper bits hold a length or a rank.
enum class Tag : uint64_t { none, boolean, integer, floating, array, dtype, text, list, tuple, name };
constexpr int length_shift = 8;

uint64_t tagged(Tag tag, uint64_t length = 0) { return static_cast<uint64_t>(tag) | length << length_shift; }

// A multiply-and-fold hash of machine words. The multiplier is 2^64 over the golden ratio.
uint64_t hash_of(std::span<const uint64_t> words) {
  uint64_t hash = words.size();
  for (const uint64_t word : words) {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 32;
  }
  return hash;
}

}  // namespace

CallKey::CallKey(const OpRow& row) : has_key_(!row.side_effect && !row.modifies && row.exchange == Exchange::none) {
  add(std::bit_cast<uint64_t>(&row));
}

void CallKey::read(const NamedArg& arg) {
  has_key_ = has_key_ && add(tagged(Tag::name)) && add_text(arg.name) && add_value(arg.value, 0);
}

bool CallKey::add_value(const Value& v, int depth) {
  if (v.is_none()) return add(tagged(Tag::none));
  if (v.is_bool()) return add(tagged(Tag::boolean)) && add(v.as_bool());
  if (v.is_natural()) return false;
  if (v.is_int()) return add(tagged(Tag::integer)) && add(static_cast<uint64_t>(v.as_int()));
  if (v.is_float()) return add(tagged(Tag::floating)) && add(std::bit_cast<uint64_t>(v.as_double()));
  if (const Array* a = v.as_array()) return add_array(*a);
  if (const DType* d = v.as_dtype()) return add(tagged(Tag::dtype, static_cast<uint64_t>(*d)));
  if (const std::string* s = v.as_string()) return add_text(*s);
  const SequenceObject* sequence = nullptr;
  Tag tag = Tag::list;
  if (const auto* list = v.as<ListObject>())
    sequence = list;
  else if (const auto* tuple = v.as<TupleObject>())
    sequence = tuple, tag = Tag::tuple;
  if (!sequence || depth == max_list_depth || !add(tagged(tag, sequence->items.size()))) return false;
  for (const Value& item : sequence->items)
    if (!add_value(item, depth + 1)) return false;
  return true;
}

// Adds the dtype, the shape, and whether the array shares the elements of an earlier one: `x * x` is another program
// than `x * y`.
bool CallKey::add_array(const Array& a) {
  if (!a.has_elements() || a.spec().is_shard() || !a.spec().meta_shape.empty() || array_count_ == arrays_.size())
    return false;
  size_t same = 0;
  while (same < array_count_ && arrays_[same]->raw() != a.raw()) ++same;
  arrays_[array_count_++] = &a;
  if (!add(tagged(Tag::array, a.shape().size())) || !add(static_cast<uint64_t>(a.dtype()) << 32 | same)) return false;
  for (const int64_t extent : a.shape())
    if (!add(static_cast<uint64_t>(extent))) return false;
  return true;
}

bool CallKey::add_text(std::string_view text) {
  if (!add(tagged(Tag::text, text.size()))) return false;
  for (size_t at = 0; at < text.size(); at += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, text.data() + at, std::min(sizeof(word), text.size() - at));
    if (!add(word)) return false;
  }
  return true;
}

CallCache& CallCache::of_thread() { return pxl::of_thread<CallCache>(); }

CallCache::Entry& CallCache::find(const CallKey& key) {
  if (entries_.empty()) entries_.resize(2 * sets);
  const std::span<const uint64_t> words = key.words();
  Entry* const set = &entries_[hash_of(words) % sets * 2];
  const auto matches = [&](const Entry& e) { return std::ranges::equal(e.words, words); };
  if (matches(set[0])) return set[0];
  std::swap(set[0], set[1]);
  if (matches(set[0])) return set[0];
  set[0] = {};
  set[0].words.assign(words.begin(), words.end());
  return set[0];
}

}  // namespace pxl
