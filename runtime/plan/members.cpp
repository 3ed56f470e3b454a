// Nodes of members: their operands, results, names and costs.
#include <algorithm>

#include "runtime/plan/node.hpp"
#include "runtime/transform/flops.hpp"

namespace pxl {

namespace {

constexpr std::string_view form_names[] = {
    "op",    "product",  "prepared_operand", "with_derivative", "by_derivative", "view_write",
    "fused", "prologue", "one_pass",         "side_by_side",    "sparse"};

void append(std::vector<const Tensor*>& to, const std::vector<const Tensor*>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

/// Appends operands, results and changes of another node.
void append(Node& n, const Node& other) {
  for (int slot : other.modified) n.modified.push_back(static_cast<int>(n.in.size()) + slot);
  append(n.in, other.in);
  append(n.out, other.out);
}

/// Operands that no member makes, each once; results that are wanted; changes of operands.
void join(Node& n, const std::function<bool(const Tensor*)>& wanted) {
  std::unordered_map<const Tensor*, const Tensor*> made;  // by name; of an alias the memory, of others themselves
  const auto memory = [&](const Tensor* t) {
    const auto found = made.find(t);
    return found == made.end() ? t : found->second;
  };
  for (const Node& m : n.members) {
    for (const Tensor* t : m.in)
      if (t && made.count(t) == 0 && std::ranges::count(n.in, t) == 0) n.in.push_back(t);
    for (size_t j = 0; j < m.out.size(); ++j) {
      const bool is_alias = j == 0 && m.alias >= 0;
      made[m.out[j]] = is_alias ? memory(m.in[static_cast<size_t>(m.alias)]) : m.out[j];
      if (!is_alias && wanted(m.out[j])) n.out.push_back(m.out[j]);
    }
    for (int slot : m.modified) {
      const auto at = std::ranges::find(n.in, memory(m.in[static_cast<size_t>(slot)]));
      const auto changed = static_cast<int>(at - n.in.begin());
      if (at != n.in.end() && std::ranges::count(n.modified, changed) == 0) n.modified.push_back(changed);
    }
  }
}

}  // namespace

std::string_view name(Form form) { return form_names[static_cast<size_t>(form)]; }

Node compose(Form form, std::vector<Node> members, const std::function<bool(const Tensor*)>& wanted) {
  Node n;
  n.form = form;
  n.members = std::move(members);
  const Node &first = n.members.front(), &last = n.members.back();
  n.op = last.op;
  n.site = last.site;
  switch (form) {
    case Form::fused: join(n, wanted); break;
    case Form::one_pass:
      append(n, first);
      append(n, last);
      break;
    case Form::side_by_side:
      append(n, last);
      append(n, first);
      break;
    case Form::prologue:
      append(n, last);
      std::ranges::replace(n.in, first.out[0], static_cast<const Tensor*>(nullptr));
      append(n.in, first.in);
      break;
    case Form::sparse:
      append(n, last);
      n.alias = last.alias;
      n.in[1] = nullptr;  // the sum of the rows
      for (const Node& m : n.members)
        if (m.op->row->scatter_add) append(n.in, m.in);
      break;
    default: throw Error("a form without members", {}, Fault::internal);
  }
  for (const Node& m : n.members) n.parts.insert(n.parts.end(), m.parts.begin(), m.parts.end());
  return n;
}

const Node* product_in_blocks(const Node& node) {
  const Node& head = node.form == Form::fused ? node.members.front() : node;
  return head.form == Form::product && head.product->in_blocks ? &head : nullptr;
}

void for_each_leaf(const Node& node, const std::function<void(const Node&)>& f) {
  if (!has_members(node.form)) return f(node);
  for (const Node& m : node.members) for_each_leaf(m, f);
}

int64_t flops_of(const Node& node) {
  if (!has_members(node.form)) return flops_of(*node.op);
  int64_t sum = 0;
  for (const Node& m : node.members) {
    if (node.form != Form::sparse)
      sum += flops_of(m);
    else if (m.op->row->scatter_add)
      sum += 2 * m.in[0]->spec.size();  // a product and a sum for each element of the rows
  }
  return sum;
}

std::vector<IndexRead> checked_by_members(const Node& node) {
  std::vector<IndexRead> reads;
  if (node.form != Form::sparse) return reads;
  for (const Node& m : node.members)
    if (m.op->row->scatter_add && may_fail(*m.op)) reads.push_back({m.op, m.in[1]});
  return reads;
}

namespace {

/// "matmul[lhs transposed]", or what a node of members is called.
std::string called(const Node& n) {
  const std::string note = note_of(n), row(n.op->row->name);
  if (has_members(n.form)) return note.substr(1);
  return note.empty() ? row : row + "[" + note.substr(1) + "]";
}

std::string note_of(const Product& p) {
  std::string note;
  if (p.strided)
    note = " strided operands";
  else
    for (size_t slot : {0, 1})
      if (p.transposed[slot]) note += slot == 0 ? " lhs transposed" : " rhs transposed";
  if (!p.shape.c_strides.empty()) note += note.empty() ? " strided result" : " and result";
  return note;
}

}  // namespace

std::string note_of(const Node& n) {
  const std::string prepared = n.prepared >= 0 ? " " + n.layout : "";
  switch (n.form) {
    case Form::op: return prepared;
    case Form::product: return note_of(*n.product) + prepared;
    case Form::prepared_operand: return prepared + " once";
    case Form::with_derivative: return " with derivative";
    case Form::by_derivative: return " by derivative";
    case Form::fused: {
      std::string note;
      for (const Node& m : n.members) {
        const std::string of_member = note_of(m);
        note += (note.empty() ? " " : "+") + std::string(m.op->row->name);
        if (!of_member.empty()) note += "[" + of_member.substr(1) + "]";
      }
      return note;
    }
    case Form::prologue: {
      const std::string inside = note_of(n.members[0]), outside = note_of(n.members[1]);
      return (inside.empty() ? " " + std::string(n.members[0].op->row->name) : inside) + " in" +
             (outside.empty() ? " " + std::string(n.op->row->name) : outside);
    }
    case Form::one_pass: return " " + called(n.members[0]) + ", " + called(n.members[1]);
    case Form::side_by_side: {
      const std::string large = note_of(n.members[1]);
      return " " + called(n.members[0]) + ", " + (large.empty() ? std::string(n.op->row->name) : large.substr(1));
    }
    case Form::sparse: {
      std::string note;
      for (const Node& m : n.members)
        if (m.op->row->scatter_add) note += " " + std::string(m.op->row->name);
      return note + "+" + std::string(n.op->row->name);
    }
    default: return {};
  }
}

}  // namespace pxl
