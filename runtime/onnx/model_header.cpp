// Reads a model without the elements of its weights: the rest of the file, at most 1 MiB.
#include <fmt/format.h>

#include <algorithm>

#include "runtime/base/effects.hpp"
#include "runtime/base/files/input_file.hpp"
#include "runtime/onnx/model.hpp"

namespace pxl::onnx {

namespace {

constexpr int64_t max_header_bytes = int64_t{1} << 20;
constexpr int64_t max_kept_bytes = 4096;  ///< shapes and axes, which decide what is built, are shorter
constexpr uint32_t graph_of_model = 7, weight_of_graph = 5;
constexpr uint32_t elements_of_tensor[] = {4, 5, 7, 9, 10, 11};

/// A field in the file: its bytes with the tag, and the text in it.
struct Field {
  WireField head;
  int64_t begin = 0, text = 0, end = 0;
};

/// The parts of a file that are read, within the bound.
class Parts {
 public:
  explicit Parts(InputFile file) : file_(std::move(file)) {}
  int64_t size() const { return file_.size(); }

  std::string bytes(int64_t from, int64_t to) {
    if ((left_ -= to - from) < 0) throw Damaged{"it has more than 1 MiB beside its weights"};
    std::string out(static_cast<size_t>(to - from), '\0');
    if (!file_.seek(from) || file_.read(out.data(), to - from) != to - from) throw Damaged{"it cannot be read"};
    return out;
  }

  /// The field at a place of a message that ends at `end`.
  Field field(int64_t at, int64_t end) {
    constexpr int64_t longest_head = 20;  // a tag and a number
    const std::string head = bytes(at, std::min(end, at + longest_head));
    std::string_view rest = head;
    Field f;
    const uint64_t tag = WireReader::varint(rest);
    f.head = {.number = static_cast<uint32_t>(tag >> 3), .type = static_cast<WireType>(tag & 7)};
    uint64_t size = 0;
    switch (f.head.type) {
      case WireType::varint: WireReader::varint(rest); break;
      case WireType::fixed64: size = 8; break;
      case WireType::fixed32: size = 4; break;
      case WireType::bytes: size = WireReader::varint(rest); break;
      default: throw Damaged{"a field has a type that there is not"};
    }
    f.begin = at;
    f.text = at + static_cast<int64_t>(head.size() - rest.size());
    if (size > static_cast<uint64_t>(end - f.text)) throw Damaged{"a field ends beyond its message"};
    f.end = f.text + static_cast<int64_t>(size);
    return f;
  }

 private:
  InputFile file_;
  int64_t left_ = max_header_bytes;
};

/// The bytes of a model in which long weights have no elements.
class Reduced {
 public:
  explicit Reduced(Parts& parts) : parts_(parts) {}

  std::string model() {
    return message(0, parts_.size(), [&](const Field& f, WireWriter& to) {
      if (f.head.number != graph_of_model || f.head.type != WireType::bytes) return false;
      to.text(graph_of_model, graph(f));
      return true;
    });
  }
  std::vector<bool> omitted;  ///< for each weight of the graph, whether its elements are left out

 private:
  /// A message in which `change` writes some of the fields.
  template <class F>
  std::string message(int64_t begin, int64_t end, F&& change) {
    WireWriter to;
    for (int64_t at = begin; at < end;) {
      const Field f = parts_.field(at, end);
      if (!change(f, to)) to.bytes += parts_.bytes(f.begin, f.end);
      at = f.end;
    }
    return std::move(to.bytes);
  }
  std::string graph(const Field& whole) {
    return message(whole.text, whole.end, [&](const Field& f, WireWriter& to) {
      if (f.head.number != weight_of_graph || f.head.type != WireType::bytes) return false;
      omitted.push_back(false);
      to.text(weight_of_graph, weight(f));
      return true;
    });
  }
  std::string weight(const Field& whole) {
    return message(whole.text, whole.end, [&](const Field& f, WireWriter&) {
      const bool elements = std::find(std::begin(elements_of_tensor), std::end(elements_of_tensor), f.head.number) !=
                            std::end(elements_of_tensor);
      if (!elements || f.end - f.text <= max_kept_bytes) return false;
      omitted.back() = true;
      return true;
    });
  }

  Parts& parts_;
};

}  // namespace

Model read_model_header(const std::string& path) {
  require_effect(Effect::reads_headers);
  std::string why;
  std::optional<InputFile> file = InputFile::open(path, why);
  try {
    if (!file) throw Damaged{why};
    Parts parts(std::move(*file));
    Reduced reduced(parts);
    Model model = parse_model(reduced.model(), path);
    auto& weights = model.graph.initialisers;
    for (size_t i = 0; i < weights.size(); ++i)
      weights[i].omitted = weights[i].location == 1 || (i < reduced.omitted.size() && reduced.omitted[i]);
    return model;
  } catch (const Damaged& damaged) {
    throw Error(fmt::format("cannot read the model {}: {}", path, damaged.what), {}, Fault::unreadable);
  }
}

}  // namespace pxl::onnx
