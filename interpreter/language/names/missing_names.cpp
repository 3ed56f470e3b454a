// Errors about names that are not bound when they are read.
#include "interpreter/language/activation.hpp"
#include "interpreter/language/evaluator.hpp"
#include "interpreter/values/scope.hpp"
#include "runtime/base/diagnostics/codes.hpp"

namespace pxl {

OuterName outer_kind(const Interpreter& in, const Scope* from, Name name) {
  for (const Scope* s = from; s; s = s->outer.get())
    if (s->find_here(name))
      return s->instance                             ? OuterName::field
             : s == evaluator_of(in).prelude().get() ? OuterName::builtin
                                                     : OuterName::name;
  return OuterName::none;
}

Error read_too_early(const std::string& name, OuterName outer) {
  std::vector<std::string> notes{"a name that a body binds anywhere is local to the whole body"};
  switch (outer) {
    case OuterName::name: notes.push_back("`nonlocal " + name + "` at its beginning means the one outside"); break;
    case OuterName::field: notes.push_back("`self." + name + "` is the module's, to read and to bind"); break;
    case OuterName::builtin: notes.push_back("`" + name + "` is also built in: give the local one another name"); break;
    case OuterName::none: notes.emplace_back("bind it on every way to this place"); break;
  }
  return Error("`" + name + "` is read before this body binds it", std::move(notes)).as(codes::unbound_name);
}

Error no_outer_name(const std::string& name, bool is_field) {
  return Error("nonlocal: there is no `" + name + "` outside of this body",
               {is_field ? "`" + name + "` is a field of the module: write `self." + name + " = ...`"
                         : "bind it in the file or in the function around first"})
      .as(codes::unbound_name);
}

}  // namespace pxl
