// Draws for ops that take or make indices.
#include "draw.hpp"

namespace pxl::test {

namespace {

Sample dynamic(Draw& d, bool update, bool gradient) {
  const Shape whole = d.shape(1);
  Shape part = whole;
  Ints axes, sizes;
  Array index(DType::int64, {0});
  std::vector<int64_t> starts;
  for (size_t i = 0; i < whole.size(); ++i) {
    if (d.coin()) continue;
    part[i] = d.below(whole[i] + 1);
    axes.push_back(static_cast<int64_t>(i) - (d.coin() && !gradient ? static_cast<int64_t>(whole.size()) : 0));
    sizes.push_back(part[i]);
    starts.push_back(d.below(20) == 0 ? d.between(-1, whole[i] + 1) : d.below(whole[i] - part[i] + 1));
  }
  index = Array::from<int64_t>({static_cast<int64_t>(starts.size())}, starts)
              .cast(d.one_of<DType>({DType::int32, DType::int64, DType::uint32}));
  if (gradient) return {{d.values(part), index}, {{"axes", axes}, {"shape", whole}}};
  Sample s{{d.values(whole), index}, {{"axes", axes}, {"sizes", sizes}}};
  if (update) s.operands.emplace_back(d.values(part));
  return s;
}

// Positions on some leading axes, after shared ones.
Sample at_positions(Draw& d, bool scattered) {
  const Shape t = d.shape(1, 4);
  const int64_t rank = std::ssize(t), batch = d.below(rank), depth = d.between(1, rank - batch);
  Shape positions(t.begin(), t.begin() + batch);
  for (int64_t n = d.below(3); n > 0; --n) positions.push_back(d.below(4));
  Shape of_updates = positions;
  of_updates.insert(of_updates.end(), t.begin() + batch + depth, t.end());
  positions.push_back(depth);
  Array indices(DType::int64, positions);
  for (int64_t i = 0; i < indices.size(); ++i) {
    const int64_t extent = t[static_cast<size_t>(batch + i % depth)];
    indices.mutable_data<int64_t>()[i] = extent == 0 ? 0 : d.between(-extent, extent - 1);
  }
  if (indices.size() > 0 && d.below(15) == 0) indices.mutable_data<int64_t>()[0] = 1000;
  Sample s{{d.values(t), indices.cast(d.one_of<DType>({DType::int32, DType::int64, DType::int16}))},
           {{"batch_dims", batch}}};
  if (scattered) {
    s.operands.emplace_back(d.values(of_updates));
    s.attrs["reduction"] = d.one_of<std::string>({"none", "none", "add", "mul", "max", "min"});
  }
  return s;
}

Sample gathered(Draw& d, bool grouped) {
  const Shape t = d.shape(grouped ? 2 : 1, 3), own = d.shape(0, 2);
  const int64_t axis = d.axis(t.size() - (grouped ? 1 : 0));
  const auto real = static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(t.size()) : axis + (grouped ? 1 : 0));
  Sample s{{d.values(t), d.indices(grouped ? concatenated({t[0]}, own) : own, t[real])},
           {{"axis", axis}, {"zero_OOR", d.coin()}}};
  if (grouped) s.attrs["group_size"] = t[0];
  return s;
}

Sample gather_gradient(Draw& d) {
  const bool grouped = d.coin();
  Sample forward = gathered(d, grouped);
  const Shape t = forward.operands[0]->shape();
  int64_t axis = std::get<int64_t>(forward.attrs.at("axis"));
  axis = axis < 0 ? axis + static_cast<int64_t>(t.size()) : axis + (grouped ? 1 : 0);
  const Shape& of_indices = forward.operands[1]->shape();
  Shape g(t.begin(), t.begin() + axis);
  g.insert(g.end(), of_indices.begin() + (grouped ? 1 : 0), of_indices.end());
  g.insert(g.end(), t.begin() + axis + 1, t.end());
  return {{d.values(g), forward.operands[1]},
          {{"shape", t}, {"axis", axis}, {"zero_OOR", forward.attrs.at("zero_OOR")}, {"batch", int64_t{grouped}}}};
}

Sample elements_along(Draw& d, bool with_values) {
  const Shape t = d.shape(1, 3);
  const int64_t axis = d.axis(t.size());
  Shape of_indices = t;
  for (size_t i = 0; i < t.size(); ++i) of_indices[i] = d.below(t[i] + 1);
  of_indices[static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(t.size()) : axis)] = d.extent();
  Sample s{{d.values(t), d.indices(of_indices, d.at(t, axis))}, {{"axis", axis}}};
  if (with_values) s.operands.emplace_back(d.values(of_indices));
  return s;
}

Sample scatter_reduced(Draw& d, bool gradient) {
  const Shape data = d.shape(1, 3);
  const int64_t axis = gradient ? d.below(static_cast<int64_t>(data.size())) : d.axis(data.size()),
                size = d.between(1, 6);
  const bool by_slice = d.coin();
  Shape reduced = data;
  reduced[static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(data.size()) : axis)] = size;
  const Array indices = d.indices(by_slice ? Shape{d.at(data, axis)} : data, size);
  if (gradient) return {{d.values(reduced), indices}, {{"shape", data}, {"axis", axis}}};
  Sample s{{d.values(data), indices},
           {{"axis", axis}, {"reduction", d.one_of<std::string>({"sum", "min", "max", "none"})}}};
  if (!by_slice) s.attrs["enable_index_broadcast"] = d.coin();
  if (d.coin()) d.operand(s, "initial_values") = d.values(reduced);
  if (!d.operand(s, "initial_values") || d.coin()) s.attrs["axis_size"] = size;
  return s;
}

}  // namespace

void add_index_draws(Families& m) {
  m["topk"] = [](Draw& d) {
    const Shape s = d.shape(1);
    const int64_t axis = d.axis(s.size());
    return Sample{{d.values(s)}, {{"axis", axis}, {"k", d.below(d.at(s, axis) + 1)}, {"largest", d.coin()}}};
  };
  m["histogram"] = [](Draw& d) {
    return Sample{{d.values(d.shape())},
                  {{"levels", d.coin() ? std::vector<double>{-1, 0, 2.5} : std::vector<double>{1}},
                   {"absolute_of_input", d.coin()}}};
  };
  m["gather"] = m["tied_gather"] = [](Draw& d) { return gathered(d, false); };
  m["groupedgather"] = [](Draw& d) { return gathered(d, true); };
  m["gather_grad"] = gather_gradient;
  m["onehot"] = [](Draw& d) {
    const Shape s = d.shape(0, 3);
    const int64_t classes = d.between(1, 5);
    return Sample{{d.indices(s, classes), {}, d.values({2})},
                  {{"num_classes", classes}, {"axis", d.axis(s.size() + 1)}}};
  };
  m["onehot_grad"] = [](Draw& d) {
    const Shape s = d.shape(0, 3);
    const int64_t classes = d.between(1, 5), axis = d.below(static_cast<int64_t>(s.size()) + 1);
    Shape g = s;
    g.insert(g.begin() + axis, classes);
    return Sample{{d.values(g), d.indices(s, classes)}, {{"num_classes", classes}, {"axis", axis}}};
  };
  m["scatter"] = [](Draw& d) { return elements_along(d, true); };
  m["scatter_zero"] = m["take_along"] = m["scatter_update_grad"] = [](Draw& d) { return elements_along(d, false); };
  m["scatter_reduce"] = [](Draw& d) { return scatter_reduced(d, false); };
  m["scatter_reduce_grad"] = [](Draw& d) { return scatter_reduced(d, true); };
  m["gather_nd"] = [](Draw& d) { return at_positions(d, false); };
  m["scatter_nd"] = [](Draw& d) { return at_positions(d, true); };
  m["dynamic_slice"] = [](Draw& d) { return dynamic(d, false, false); };
  m["dynamic_slice_grad"] = [](Draw& d) { return dynamic(d, false, true); };
  m["dynamic_update"] = m["dynamic_update_"] = [](Draw& d) { return dynamic(d, true, false); };
  m["sparse_accumulate_"] = [](Draw& d) {
    const Shape t = d.shape(1, 3), own = d.shape(0, 2);
    const int64_t axis = d.below(static_cast<int64_t>(t.size()));
    Shape x(t.begin(), t.begin() + axis);
    x.insert(x.end(), own.begin(), own.end());
    x.insert(x.end(), t.begin() + axis + 1, t.end());
    Sample s{{d.values(t), d.values(is_floating(d.dtype) ? d.floating() : d.dtype, x),
              d.indices(own, t[static_cast<size_t>(axis)])},
             {{"axis", axis}}};
    if (d.coin()) d.factor(s, "f", d.one_of<double>({1.0, 0.5}));
    return s;
  };
  m["dot_product_attention"] = [](Draw& d) {
    const int64_t t = d.between(1, 6), s = d.one_of<int64_t>({0, 1, 2, 5, 130, 300}),
                  width = d.one_of<int64_t>({1, 3, 8});
    const int64_t heads = d.between(1, 3), group = d.between(1, 3);
    Shape lead = d.shape(0, 1), q = lead, k = lead;
    if (lead.size() == 1 && lead[0] > 8) lead = q = k = {2};
    if (d.coin()) {
      q.push_back(heads * group);
      k.push_back(heads);
    }
    Shape v = k;
    q.insert(q.end(), {t, width});
    k.insert(k.end(), {s, width});
    v.insert(v.end(), {s, d.between(1, 4)});
    const DType of_keys = is_floating(d.dtype) && d.coin() ? d.floating() : d.dtype;
    Sample made{{d.values(q), d.values(of_keys, k), d.values(of_keys, v), {}}};
    if (d.coin()) made.operands[3] = array<int32_t>({1}, {static_cast<int32_t>(d.below(s + 1 + (d.special ? 1 : 0)))});
    if (d.coin()) made.attrs["scale"] = d.uniform(0.1, 1);
    return made;
  };
  m["sum_duplicates"] = [](Draw& d) {
    const Shape rows = d.shape(1, 3);
    const int64_t extent = d.between(1, 6);
    return Sample{{d.indices({rows[0]}, extent), d.values(rows)}, {{"extent", extent}, {"ignore_OOR", d.coin()}}};
  };
  m["index_copy_"] = [](Draw& d) {
    const Shape t = d.shape(1, 3);
    Shape values = t;
    values[0] = d.below(6);
    return Sample{{d.values(t), d.indices({values[0]}, t[0]), d.values(values)}, {{"ignore_OOR", d.coin()}}};
  };
}

}  // namespace pxl::test
