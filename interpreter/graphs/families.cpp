#include "interpreter/graphs/families.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "interpreter/graphs/calls/graph_builder.hpp"
#include "interpreter/language/check.hpp"
#include "interpreter/syntax/ast.hpp"
#include "interpreter/syntax/statement_parts.hpp"
#include "interpreter/values/host.hpp"
#include "interpreter/values/scope.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/graph/ir.hpp"
#include "runtime/graph/shown_names.hpp"

namespace pxl {

std::string text(const Sizes& sizes) {
  std::string out;
  for (const auto& [name, value] : sizes) out += fmt::format("{}{} = {}", out.empty() ? "" : ", ", name, value);
  return out;
}

bool is_size(const ast::Parameter& p) {
  return p.annotation && p.annotation->kind == ast::ExprKind::name &&
         static_cast<const ast::NameExpr&>(*p.annotation).name == "size";
}

namespace {

/// Finds the axes of a body's input streams that are written as the names of free sizes.
class Extents final : public StatementVisitor {
 public:
  explicit Extents(Family& family) : family_(family) {}
  void block(const ast::Block& b) override {
    for (const ast::Stmt* s : b.statements) {
      if (s->kind == ast::StmtKind::stream) stream(static_cast<const ast::StreamStmt&>(*s));
      visit_parts(*s, *this);
    }
  }

 private:
  void stream(const ast::StreamStmt& s) {
    if (s.is_input && s.spec) declare(*s.spec, s.name);
  }
  /// Reads a spec, or a tree of specs; `name` is the stream's.
  void declare(const ast::Expr& written, const std::string& name) {
    if (written.kind == ast::ExprKind::dict)
      for (const auto& [key, value] : static_cast<const ast::DictExpr&>(written).items)
        if (key && key->kind == ast::ExprKind::string)
          declare(*value, name + "." + static_cast<const ast::StringExpr&>(*key).value);
    const auto read_all = [&](const std::vector<ast::Expr*>& items) {
      for (size_t i = 0; i < items.size(); ++i) declare(*items[i], fmt::format("{}.{}", name, i));
    };
    if (written.kind == ast::ExprKind::list) read_all(static_cast<const ast::ListExpr&>(written).items);
    if (written.kind == ast::ExprKind::tuple) read_all(static_cast<const ast::TupleExpr&>(written).items);
    if (written.kind != ast::ExprKind::index) return;
    const auto& spec = static_cast<const ast::IndexExpr&>(written);
    for (size_t axis = 0; axis < spec.subscripts.size(); ++axis) {
      if (spec.subscripts[axis]->kind != ast::ExprKind::name) continue;
      const std::string& extent = static_cast<const ast::NameExpr&>(*spec.subscripts[axis]).name;
      for (size_t i = 0; i < family_.exemplar.size(); ++i)
        if (family_.exemplar[i].first == extent) family_.extents.push_back({name, axis, i});
    }
  }
  Family& family_;
};

/// While it lives, output is dropped, and random numbers come back afterwards.
class Quiet {
 public:
  explicit Quiet(Interpreter& in) : in_(in), random_(host_of(in).random()) {
    host_of(in).mute(true);
    ++graphs_of(in).world().building_members;
  }
  ~Quiet() {
    host_of(in_).mute(false);
    host_of(in_).random() = random_;
    --graphs_of(in_).world().building_members;
  }
  Quiet(const Quiet&) = delete;
  Quiet& operator=(const Quiet&) = delete;

 private:
  Interpreter& in_;
  Random random_;
};

Sizes sizes_now(const Family& family, const Sizes& sizes) {
  Sizes all = family.exemplar;
  for (auto& [name, value] : all)
    for (const auto& [given, to] : sizes)
      if (given == name) value = to;
  return all;
}

void check_keys(Interpreter& in, const Family& family) {
  GraphWorld::Addresses addresses;
  const ast::Function& code = *family.program->code->function;
  const std::vector<NamedKey> now = keys_of_program(in, code, family.program->closure, family.given, addresses);
  for (size_t i = 0; i < now.size() || i < family.keys.size(); ++i) {
    const NamedKey *was = i < family.keys.size() ? &family.keys[i] : nullptr, *is = i < now.size() ? &now[i] : nullptr;
    if (was && is && was->name == is->name && was->key == is->key) continue;
    // A name that one list lacks moves the names after it.
    const auto lacks = [](const std::vector<NamedKey>& list) {
      return [&list](const NamedKey& k) { return std::ranges::find(list, k.name, &NamedKey::name) == list.end(); };
    };
    const auto added = std::ranges::find_if(now, lacks(family.keys)),
               gone = std::ranges::find_if(family.keys, lacks(now));
    const std::string& name = added != now.end()          ? added->name
                              : gone != family.keys.end() ? gone->name
                                                          : (was ? was : is)->name;
    const bool shown = was && is && was->name == is->name && !was->shown.empty() && !is->shown.empty();
    throw Error(
        shown ? fmt::format("program {}: `{}` was {}, is {}", code.name, name, was->shown, is->shown)
              : fmt::format("program {}: `{}` has another value than when its first sizes were built", code.name, name),
        {"all sizes of a program are built with the same values: make a new session to use new ones"})
        .as(codes::session);
  }
}

void check_streams(const Ir& exemplar, const Ir& member, const Sizes& sizes) {
  const auto &were = exemplar.streams(), &are = member.streams();
  const auto same = [](const auto& a, const auto& b) {
    return a->name() == b->name() && a->to_device == b->to_device && a->spec().dtype == b->spec().dtype &&
           a->spec().shape.size() == b->spec().shape.size();
  };
  if (std::ranges::equal(were, are, same) && member.replication_factor == exemplar.replication_factor &&
      member.num_host_transfers == exemplar.num_host_transfers)
    return;
  throw Error(
      fmt::format("program {} has other streams or another number of replicas for {}", member.name(), text(sizes)),
      {"all sizes of a program declare the same streams and variables"})
      .as(codes::stream);
}

/// Makes a member share the exemplar's variables.
void share_variables(const IrObject& exemplar, const Ir& member, const Family& family, const Sizes& sizes) {
  const std::vector<Tensor*> were = exemplar.ir->variables(), are = member.variables();
  for (size_t i = 0; i < were.size() || i < are.size(); ++i) {
    const Tensor *was = i < were.size() ? were[i] : nullptr, *is = i < are.size() ? are[i] : nullptr;
    if (!was || !is || was->name != is->name)
      throw Error(fmt::format("program {} has the variable `{}` for {}, and not for {}", member.name(),
                              shown_name(was ? *was : *is), text(was ? family.exemplar : sizes),
                              text(was ? sizes : family.exemplar)),
                  {"all sizes of a program declare the same streams and variables"})
          .as(codes::program);
    if (was->spec != is->spec) {
      std::vector<std::string> notes;
      if (was->is_state)
        notes.emplace_back("give it a size that fits all and slice it, or make it an argument and a result");
      Error e(fmt::format("variable `{}` is {} for {} and {} for {}: a variable has one shape", shown_name(*is),
                          text(is->spec), text(sizes), text(was->spec), text(family.exemplar)),
              std::move(notes));
      e.as(codes::program).locate(is->origin.span, is->origin.frames);
      throw e;
    }
    are[i]->shared = was->shared ? was->shared : std::shared_ptr<const Tensor>(exemplar.ir, was);
    are[i]->data = was->data;
  }
}

}  // namespace

void make_family(Interpreter& in, IrObject& exemplar, const Ref<ProgramObject>& program, const Arguments& given) {
  auto family = std::make_shared<Family>();
  family->program = program;
  family->given = given;
  const ast::Function& f = *program->code->function;
  size_t position = 0;
  for (const ast::Parameter& p : f.parameters) {
    const bool by_position = !p.by_name && !p.collects() && position++ < given.positional.size();
    const bool by_name = std::ranges::any_of(given.named, [&](const NamedArg& n) { return n.name == p.name; });
    const Value* bound = exemplar.fields->find_here(p.name);
    if (is_size(p) && !by_position && !by_name && bound && bound->is_int())
      family->exemplar.emplace_back(p.name, bound->as_int());
  }
  if (family->exemplar.empty()) return;
  if (f.body) Extents(*family).block(*f.body);
  for (size_t i = 0; i < family->exemplar.size(); ++i) {
    if (std::ranges::any_of(family->extents, [&](const Family::Extent& e) { return e.size == i; })) continue;
    const std::string& name = family->exemplar[i].first;
    throw Error(fmt::format("program {}: no `stream in` has the free size `{}` as an extent", f.name, name),
                {fmt::format("declare one: `stream in x: float32[{}, ...]`, or give the size: `{}({} = {})`", name,
                             f.name, name, family->exemplar[i].second)})
        .as(codes::program);
  }
  family->keys = keys_of_program(in, f, program->closure, given, family->of_keys);
  exemplar.family = std::move(family);
}

Ref<IrObject> build_member(Interpreter& in, const IrObject& exemplar, const Sizes& sizes) {
  const Family& family = *exemplar.family;
  check_keys(in, family);
  const Sizes all = sizes_now(family, sizes);
  Arguments args = family.given;
  for (const auto& [name, value] : all) args.named.push_back({name, Value(value), {}});
  Ref<IrObject> member;
  try {
    const Quiet quiet(in);
    member = family.program->build(in, std::move(args));
  } catch (Error& e) {
    e.first().notes.push_back("this is the program for " + text(all));
    throw;
  }
  check_streams(*exemplar.ir, *member->ir, all);
  share_variables(exemplar, *member->ir, family, all);
  return member;
}

Sizes sizes_of(const IrObject& exemplar, const std::vector<std::pair<const Stream*, Shape>>& given,
               const std::function<int64_t(const Stream&)>& transfers) {
  const Family& family = *exemplar.family;
  Sizes found;
  std::vector<std::string> by(family.exemplar.size());
  for (const auto& [name, value] : family.exemplar) found.emplace_back(name, -1);
  for (const Family::Extent& extent : family.extents)
    for (const auto& [stream, shape] : given) {
      if (stream->name() != extent.stream || shape.size() < stream->spec().shape.size()) continue;
      const size_t more = shape.size() - stream->spec().shape.size();
      int64_t size = shape[extent.axis + more];
      const int64_t parts = transfers(*stream) * exemplar.ir->replication_factor;
      if (more == 0 && extent.axis == 0 && parts > 1) {
        if (size % parts != 0)
          throw run_error(
              fmt::format("session.run: the first extent of `{}` is {}, which {} samples of a run do not divide",
                          stream->name(), size, parts))
              .as(codes::stream);
        size /= parts;
      }
      auto& [name, known] = found[extent.size];
      if (known >= 0 && known != size)
        throw run_error(fmt::format("session.run: `{}` is {} by `{}` and {} by `{}`", name, known, by[extent.size],
                                    size, stream->name()))
            .as(codes::stream);
      known = size;
      by[extent.size] = stream->name();
    }
  for (size_t i = 0; i < found.size(); ++i)
    if (found[i].second < 0) found[i].second = family.exemplar[i].second;  // the run misses the stream, and says so
  return found;
}

}  // namespace pxl
