// Families: programs with sizes that the arrays of a run decide. A member is the program for some sizes.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "interpreter/graphs/modules/modules.hpp"
#include "interpreter/graphs/programs.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/graph/ir.hpp"

namespace pxl {

/// The values that names of a program's code find, as text, and what an error calls them.
struct NamedKey {
  std::string name, key, shown;
};
/// The keys of a program's code and arguments. `of_key` holds everything whose address a key contains.
std::vector<NamedKey> keys_of_program(Interpreter& in, const ast::Function& code, const ScopePtr& closure,
                                      const Arguments& args, GraphWorld::Addresses& of_key);

/// The free sizes of a program, by name, with those of the exemplar, which its call built.
using Sizes = std::vector<std::pair<std::string, int64_t>>;
std::string text(const Sizes& sizes);  ///< "batch = 64, time = 8"

struct Family {
  Ref<ProgramObject> program;
  Arguments given;  ///< of the call: without the free sizes
  Sizes exemplar;
  std::vector<NamedKey> keys;
  GraphWorld::Addresses of_keys;
  /// An axis of an input stream that is written as the name of a free size.
  struct Extent {
    std::string stream;
    size_t axis = 0, size = 0;
  };
  std::vector<Extent> extents;
};

/// Whether a parameter is a size.
bool is_size(const ast::Parameter& p);
/// Makes the program that a call without some sizes built the exemplar of a family. Throws if no `stream in` of the
/// program's body has a free size as its extent.
void make_family(Interpreter& in, IrObject& exemplar, const Ref<ProgramObject>& program, const Arguments& given);

/// Builds the member for some sizes: output is dropped, random numbers stay as they are, and the variables are those of
/// the exemplar. Throws if a name that the code uses has another value now, or if streams or variables differ.
Ref<IrObject> build_member(Interpreter& in, const IrObject& exemplar, const Sizes& sizes);

/// The sizes that the shapes of input streams name, and the streams that were not given have none. `transfers`: how
/// many samples a run loads of a stream. Throws if two streams name different sizes, and if a size is unknown.
Sizes sizes_of(const IrObject& exemplar, const std::vector<std::pair<const Stream*, Shape>>& given,
               const std::function<int64_t(const Stream&)>& transfers);

}  // namespace pxl
