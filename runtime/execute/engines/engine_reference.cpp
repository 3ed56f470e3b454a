// The engine that runs op by op, each by its definition: it defines the meaning of a program.
#include <algorithm>
#include <cstring>

#include "runtime/execute/engines/engines.hpp"
#include "runtime/execute/moved_addresses.hpp"
#include "runtime/execute/op_by_op.hpp"
#include "runtime/op/definitions.hpp"

namespace pxl {

namespace {

/// Memory of one tensor, from its making to its last view.
struct StoredBytes {
  Array own = {};  ///< empty where the memory is a variable's
  std::byte* data = nullptr;
  bool of_variable = false;
};
using StoragePtr = std::shared_ptr<StoredBytes>;

/// A tensor's elements: dense in one storage, or, of views, an address each. `owners` keep the memory.
struct Elements {
  TensorSpec spec = {};
  std::byte* dense = nullptr;
  std::shared_ptr<const std::vector<uint64_t>> addresses = nullptr;
  std::vector<StoragePtr> owners = {};

  bool of_variable() const {
    return std::any_of(owners.begin(), owners.end(), [](const StoragePtr& s) { return s->of_variable; });
  }
  std::byte* at(int64_t i) const {
    return addresses ? reinterpret_cast<std::byte*>((*addresses)[static_cast<size_t>(i)])
                     : dense + i * static_cast<int64_t>(size_of(spec.dtype));
  }
  void read(std::byte* to) const {
    const size_t width = size_of(spec.dtype);
    const int64_t n = spec.size();
    if (!addresses) {
      std::copy_n(dense, n * static_cast<int64_t>(width), to);
      return;
    }
    for (int64_t i = 0; i < n; ++i) std::memcpy(to + static_cast<size_t>(i) * width, at(i), width);
  }
  void write(const std::byte* from) const {
    const size_t width = size_of(spec.dtype);
    const int64_t n = spec.size();
    if (!addresses) {
      std::memmove(dense, from, static_cast<size_t>(n) * width);
      return;
    }
    for (int64_t i = 0; i < n; ++i) std::memcpy(at(i), from + static_cast<size_t>(i) * width, width);
  }
};

Elements fresh(const TensorSpec& spec) {
  auto storage = std::make_shared<StoredBytes>();
  storage->own = Array(spec.dtype, spec.shape);
  storage->data = storage->own.mutable_raw();
  return {spec, storage->data, nullptr, {storage}};
}

/// The elements of a dense tensor, or those of a view gathered for as long as this lives.
struct Dense {
  Array gathered = {};
  std::byte* data = nullptr;
  explicit Dense(const Elements& e) {
    if (!e.addresses) {
      data = e.dense;
      return;
    }
    gathered = Array(e.spec.dtype, e.spec.shape);
    data = gathered.mutable_raw();
    e.read(data);
  }
};

/// Whole tensors in the host's memory, on which ops run.
class HostStore {
 public:
  using Value = Elements;
  static constexpr bool copies_arguments = false;

  explicit HostStore(const EngineTask& task) : task_(task) {}
  HostStore(const HostStore&, const EngineTask& task) : task_(task) {}

  void begin() {}
  void end() {}
  void abandon() {}
  std::vector<std::pair<std::string_view, int64_t>> counts() const { return {}; }
  std::string profile() const { return {}; }
  Elements source(const Tensor& t, bool may_change) const {
    auto storage = std::make_shared<StoredBytes>();
    storage->of_variable = t.kind == TensorKind::variable;
    if (storage->of_variable) {
      storage->data = task_.variable(&t);
    } else {
      storage->own = may_change ? t.data.clone() : t.data;
      storage->data = const_cast<std::byte*>(storage->own.raw());  // never written while it is shared
    }
    return {t.spec, storage->data, nullptr, {storage}};
  }
  Elements made(const Tensor& t, const std::byte* value) const {
    const Elements elements = fresh(t.spec);
    elements.write(value);
    return elements;
  }
  Elements copied(const Elements& from, const Tensor&) const {
    Elements to = fresh(from.spec);
    from.read(to.dense);
    return to;
  }
  void read(const Elements& value, std::byte* to) const { value.read(to); }
  void write(const Elements& value, const std::byte* from) const { value.write(from); }
  bool of_variable(const Elements& value) const { return value.of_variable(); }
  bool share_memory(const Elements& a, const Elements& b) const {
    return std::any_of(a.owners.begin(), a.owners.end(), [&](const StoragePtr& s) {
      return std::find(b.owners.begin(), b.owners.end(), s) != b.owners.end();
    });
  }
  bool same_elements(const Elements& a, const Elements& b) const { return a.dense && a.dense == b.dense; }

  std::vector<Elements> run(const Op& op, const std::vector<Elements>& in, const Watch& watch) const {
    const OpRow& row = *op.row;
    const OpContextStorage storage(op);
    const bool is_alias = row.alias >= 0, is_view = is_alias && row.modifies == 0;
    std::vector<Elements> out;
    for (size_t i = 0; i < op.outputs.size(); ++i) {
      if (i == 0 && is_view)
        out.push_back(view(storage.site, in));
      else if (i == 0 && is_alias)
        out.push_back(in[static_cast<size_t>(row.alias)]);
      else
        out.push_back(fresh(op.outputs[i]->spec));
    }
    std::vector<Dense> from, to;
    std::vector<const std::byte*> from_data;
    std::vector<std::byte*> to_data;
    for (size_t i = 0; i < in.size(); ++i) {
      from.emplace_back(op.inputs[i] ? in[i] : Elements{});
      from_data.push_back(op.inputs[i] ? from.back().data : nullptr);
    }
    if (row.exchange == Exchange::replica) from_data.push_back(reinterpret_cast<const std::byte*>(&watch.replica));
    for (size_t i = 0; i < out.size(); ++i) {
      to.emplace_back(out[i]);
      // Changed in place: one copy of the elements, where they are copied.
      const bool own = i != 0 || !is_alias || is_view;
      to_data.push_back(own ? to.back().data : from[static_cast<size_t>(row.alias)].data);
    }
    std::vector<Array> seen_in, seen_out;
    if (watch.observer) {
      seen_in = seen(op.inputs, from_data.data());
      seen_out = seen(op.outputs, to_data.data());
      watch.observer->before({op, seen_in, seen_out, watch.replica.number, watch.replica.count});
    }
    if (!is_view) {
      definition_kernel(storage.site)(Buffers{from_data.data(), to_data.data()});
      for (size_t i = 0; i < in.size(); ++i)
        if (op.inputs[i] && op.modifies(i) && in[i].addresses) in[i].write(from[i].data);
    }
    if (watch.observer) watch.observer->after({op, seen_in, seen_out, watch.replica.number, watch.replica.count});
    return out;
  }

 private:
  /// A view moves the addresses of elements as its op moves elements.
  static Elements view(const OpContext& site, const std::vector<Elements>& in) {
    Elements result{site.out[0], nullptr, nullptr, {}};
    std::vector<std::vector<uint64_t>> addresses(in.size());
    for (size_t i = 0; i < in.size(); ++i) {
      for (int64_t e = 0; e < in[i].spec.size(); ++e) addresses[i].push_back(reinterpret_cast<uint64_t>(in[i].at(e)));
      result.owners.insert(result.owners.end(), in[i].owners.begin(), in[i].owners.end());
    }
    result.addresses = std::make_shared<const std::vector<uint64_t>>(moved_addresses(site, addresses));
    return result;
  }

  static std::vector<Array> seen(const std::vector<Tensor*>& tensors, const std::byte* const* memory) {
    std::vector<Array> arrays;
    for (size_t i = 0; i < tensors.size(); ++i) {
      if (!tensors[i]) {
        arrays.emplace_back(DType::float32, Shape{0});
        continue;
      }
      const std::shared_ptr<std::byte> data(const_cast<std::byte*>(memory[i]), [](std::byte*) {});
      arrays.push_back(Array::wrap(tensors[i]->spec.dtype, tensors[i]->spec.shape, data));
    }
    return arrays;
  }

  EngineTask task_;
};

}  // namespace

// Walks the graph and runs the definition of each op. Tensors are addresses of elements, so that a view shares the
// memory of its operand by construction.
std::unique_ptr<ExecutionEngine> make_reference_engine(const EngineTask& task) {
  check_planned(task);
  return std::make_unique<OpByOpEngine<HostStore>>(task);
}

}  // namespace pxl
