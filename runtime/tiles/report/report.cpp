// Names of the report's categories, and sums over them.
#include "runtime/tiles/report/report.hpp"

namespace pxl::tiles {

namespace {
constexpr std::array<std::string_view, static_cast<size_t>(BspPhaseKind::count)> kinds = {"compute", "exchange", "sync",
                                                                                          "host", "call"};
struct CategoryRow {
  std::string_view name;
  bool always;
  bool code;
};
constexpr std::array<CategoryRow, static_cast<size_t>(MemoryCategory::count)> categories = {{
    {"weights", true, false},
    {"constants", true, false},
    {"activations", false, false},
    {"temporaries", false, false},
    {"vertex code", true, true},
    {"exchange code", true, true},
    {"control code", true, true},
    {"vertex state", true, false},
    {"vertex lists", true, false},
    {"runtime", true, false},
    {"gaps", true, false},
}};
}  // namespace

std::string_view name(BspPhaseKind kind) { return kinds[static_cast<size_t>(kind)]; }
std::string_view name(MemoryCategory category) { return categories[static_cast<size_t>(category)].name; }
bool always_live(MemoryCategory category) { return categories[static_cast<size_t>(category)].always; }

int64_t TileMemory::code() const {
  int64_t sum = 0;
  for (size_t i = 0; i < bytes.size(); ++i)
    if (categories[i].code) sum += bytes[i];
  return sum;
}

int64_t TileMemory::tensors() const {
  int64_t sum = 0;
  for (const auto c :
       {MemoryCategory::weights, MemoryCategory::constants, MemoryCategory::activations, MemoryCategory::temporaries})
    sum += bytes[static_cast<size_t>(c)];
  return sum;
}

}  // namespace pxl::tiles
