// Cycles and bytes by line of the program.
#include <algorithm>
#include <map>

#include "runtime/tiles/report/writer.hpp"

namespace pxl::tiles {

namespace {

struct PlacesOfOp {
  std::vector<std::pair<const SourceFile*, int>> lines;  ///< without duplicates
  void add(Span at) {
    if (!at) return;
    const std::pair<const SourceFile*, int> line{at.file, at.file->position(at.begin).line};
    if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(line);
  }
};

}  // namespace

// An op counts for its own line, and for the lines of the calls in which it was created.
void Writer::write_sources() {
  std::map<const SourceFile*, size_t> listing;
  for (const GraphInstance& instance : m_.graphs())
    for (const Op* op : instance.order) {
      const int index = index_of_.at(op);
      const ReportOp& o = r_.ops[static_cast<size_t>(index)];
      PlacesOfOp places;
      places.add(op->origin.span);
      for (const Frame* f = op->origin.frames.get(); f; f = f->outer.get()) places.add(f->at);
      int64_t bytes = 0;
      for (const Tensor* t : op->outputs) bytes += t->spec.bytes();
      bytes += saturating_product(o.temp_bytes, o.tiles);
      for (const auto& [file, number] : places.lines) {
        const auto [at, fresh] = listing.try_emplace(file, r_.sources.size());
        if (fresh) {
          SourceListing& made = r_.sources.emplace_back();
          made.name = file->name();
          for (int i = 1; i <= file->line_count(); ++i) made.lines.push_back({std::string(file->line(i)), 0, 0, {}});
        }
        SourceLine& line = r_.sources[at->second].lines[static_cast<size_t>(number - 1)];
        line.cycles += o.total_cycles;
        line.bytes += bytes;
        line.ops.push_back(index);
      }
    }
}

}  // namespace pxl::tiles
