// The fields of a plan's parts, each once: the writer and the reader of plans go through these functions. `io(name,
// field, blank)` writes a field unless it is the blank one's, or reads it if it is there.
#pragma once

#include "runtime/plan/node.hpp"

namespace pxl::plan_text {

template <class IO>
void fields(IO& io, TensorSpec& s, const TensorSpec& blank) {
  io("dtype", s.dtype, blank.dtype);
  io("shape", s.shape, blank.shape);
  io("meta_shape", s.meta_shape, blank.meta_shape);
  io("shard_groups", s.shard_groups, blank.shard_groups);
}

/// The `id` names a tensor of the program; the other fields of such a tensor inform readers of the text.
template <class IO>
void fields(IO& io, Tensor& t, const Tensor& blank) {
  io("kind", t.kind, blank.kind);
  io("graph", t.graph, blank.graph);
  io("id", t.id, blank.id);
  io("name", t.name, blank.name);
  io("key", t.key, blank.key);
  io("spec", t.spec, blank.spec);
  io("by_ref", t.by_ref, blank.by_ref);
}

template <class IO>
void fields(IO& io, Op& op, const Op& blank) {
  io("row", op.row, blank.row);
  io("id", op.id, blank.id);
  io("graph", op.graph, blank.graph);
  io("inputs", op.inputs, blank.inputs);
  io("outputs", op.outputs, blank.outputs);
  io("attrs", op.attrs, blank.attrs);
  io("called", op.called, blank.called);
  io("stream", op.stream, blank.stream);
  io("input_modified", op.input_modified, blank.input_modified);
}

template <class IO>
void fields(IO& io, OutputAlias& a, const OutputAlias& blank) {
  io("out", a.out, blank.out);
  io("of_output", a.of_output, blank.of_output);
  io("index", a.index, blank.index);
}

template <class IO>
void fields(IO& io, InPlaceCandidate& c, const InPlaceCandidate& blank) {
  io("out", c.out, blank.out);
  io("slot", c.slot, blank.slot);
}

template <class IO>
void fields(IO& io, StridedLayout& l, const StridedLayout& blank) {
  io("shape", l.shape, blank.shape);
  io("strides", l.strides, blank.strides);
  io("offset", l.offset, blank.offset);
}

template <class IO>
void fields(IO& io, ViewPart& p, const ViewPart& blank) {
  io("slot", p.slot, blank.slot);
  io("operand", p.operand, blank.operand);
  io("result", p.result, blank.result);
}

template <class IO>
void fields(IO& io, GemmShape& g, const GemmShape& blank) {
  io("m", g.m, blank.m);
  io("n", g.n, blank.n);
  io("k", g.k, blank.k);
  io("ta", g.ta, blank.ta);
  io("tb", g.tb, blank.tb);
  io("batch", g.batch, blank.batch);
  io("a_strides", g.a_strides, blank.a_strides);
  io("b_strides", g.b_strides, blank.b_strides);
  io("out", g.out, blank.out);
  io("lda", g.lda, blank.lda);
  io("ldb", g.ldb, blank.ldb);
  io("ldc", g.ldc, blank.ldc);
  io("a_offset", g.a_offset, blank.a_offset);
  io("b_offset", g.b_offset, blank.b_offset);
  io("c_strides", g.c_strides, blank.c_strides);
}

template <class IO>
void fields(IO& io, Product& p, const Product& blank) {
  io("shape", p.shape, blank.shape);
  io("left_transposed", p.transposed[0], blank.transposed[0]);
  io("right_transposed", p.transposed[1], blank.transposed[1]);
  io("strided", p.strided, blank.strided);
  io("exchanged", p.exchanged, blank.exchanged);
  io("in_blocks", p.in_blocks, blank.in_blocks);
}

/// All but `parts`, which only the verifier of a pass has.
template <class IO>
void fields(IO& io, Node& n, const Node& blank) {
  io("op", n.op, blank.op);
  io("form", n.form, blank.form);
  io("in", n.in, blank.in);
  io("out", n.out, blank.out);
  io("modified", n.modified, blank.modified);
  io("alias", n.alias, blank.alias);
  io("overwritten_by", n.overwritten_by, blank.overwritten_by);
  io("strided_view", n.strided_view, blank.strided_view);
  io("output_aliases", n.output_aliases, blank.output_aliases);
  io("in_place_candidates", n.in_place_candidates, blank.in_place_candidates);
  io("callees", n.callees, blank.callees);
  io("once", n.once, blank.once);
  io("prepared", n.prepared, blank.prepared);
  io("layout", n.layout, blank.layout);
  io("effect", n.effect, blank.effect);
  io("product", n.product, blank.product);
  io("gradient", n.gradient, blank.gradient);
  io("part", n.part, blank.part);
  io("members", n.members, blank.members);
}

}  // namespace pxl::plan_text
