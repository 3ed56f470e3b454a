// The graph functions of the prelude: calls, autodiff, contexts, streams, sessions, named trees.
#include "interpreter/elaborate/gradients.hpp"
#include "interpreter/elaborate/internal.hpp"
#include "interpreter/elaborate/programs.hpp"

namespace pxl {
namespace {

/// Splits `call(graph, ...)` into what is called and its arguments.
Value take_callee(Arguments& args, const char* where) {
  if (args.positional.empty()) throw Error(std::string(where) + " takes a graph, then its inputs");
  Value callee = args.positional.front();
  args.positional.erase(args.positional.begin());
  if (!args.spans.empty()) args.spans.erase(args.spans.begin());
  if (!callee.as<GraphObject>() && !callee.as<BoundGraphObject>() && !callee.as<GradGraphObject>())
    to_graph(callee, where);
  return callee;
}

Value call_member(Interpreter& in, const char* name, Arguments args) {
  Value callee = take_callee(args, name);
  return in.call(in.member(callee, name, args.span), std::move(args));
}

}  // namespace

void bind_graph_builtins(Interpreter&, Scope& prelude) {
  define(prelude, "call", "call(graph, *inputs, inputs = none)", "Calls a graph in the graph that is being built.",
         [](Interpreter& in, Arguments args) { return call_member(in, "call", std::move(args)); });
  define(prelude, "call_with_info", "call_with_info(graph, *inputs, inputs = none)",
         "Calls a graph and gives the call site: its inputs and outputs, and the maps between both graphs.",
         [](Interpreter& in, Arguments args) { return call_member(in, "call_with_info", std::move(args)); });
  define(prelude, "autodiff",
         "autodiff(graph, grads_provided = none, grads_required = none, called_graphs_grad_info = none)",
         "The graph of a graph's gradients: takes gradients of outputs and gives gradients of inputs.",
         [](Interpreter& in, Arguments args) -> Value {
           ArgReader a("autodiff", args, {"graph", "grads_provided", "grads_required", "called_graphs_grad_info"});
           return make_autodiff(in, a.value("graph"), args);
         });
  bind_declaration_builtins(prelude);
  bind_context_builtins(prelude);
  bind_session_builtins(prelude);
  bind_tree_builtins(prelude);
  bind_initialiser_builtins(prelude);
  bind_ir_builtin(prelude);
}

}  // namespace pxl
