// Checks and converts the inputs of a run.
#include "runtime/execute/streams.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/tensor/exact.hpp"

namespace pxl {

Array convert_safely(const Array& data, DType dtype, const std::string& what) {
  if (data.dtype() == dtype) return data;
  if (is_floating(data.dtype()) && !is_floating(dtype) && !is_float8(data.dtype()) && !is_float8(dtype))
    throw Error(
        fmt::format("{}: expected {}, got {}, whose fractions would be lost", what, name(dtype), name(data.dtype())),
        {fmt::format("convert it first if that is meant: array(..., dtype = {})", name(dtype))})
        .as(codes::stream);
  return convert_exactly(data, dtype, what, codes::stream);
}

Shape host_shape(const Stream& stream, int64_t transfers, int64_t replicas) {
  Shape shape = stream.spec().shape;
  if (replicas != 1) shape.insert(shape.begin(), replicas);
  if (transfers != 1) shape.insert(shape.begin(), transfers);
  return shape;
}

Array prepare_input(const Stream& stream, int64_t transfers, int64_t replicas, const Array& data) {
  const Shape& sample = stream.spec().shape;
  if (transfers == 1 && replicas == 1 && data.shape() == sample && data.dtype() == stream.spec().dtype) return data;
  const int64_t samples = transfers * replicas;
  const Shape expected = host_shape(stream, transfers, replicas);
  const auto with = [&](std::initializer_list<int64_t> lead) {
    Shape shape(lead);
    shape.insert(shape.end(), sample.begin(), sample.end());
    return shape;
  };
  Shape folded = sample;
  if (!folded.empty()) folded[0] *= samples;
  const bool accepted = data.shape() == expected || (!sample.empty() && data.shape() == folded) ||
                        data.shape() == with({transfers, replicas}) ||
                        (replicas == 1 && data.shape() == with({transfers}));
  if (!accepted) {
    std::string takes = bracket_text(expected);
    if (samples != 1 && !sample.empty()) takes += " or " + bracket_text(folded);
    std::vector<std::string> notes;
    if (replicas != 1)
      notes.push_back(fmt::format("a sample of one replica is {}; a run takes {} of each of {} replicas",
                                  text(stream.spec()), transfers, replicas));
    else if (transfers != 1) {
      notes.push_back(fmt::format("a run loads the stream {} times, {} each time", transfers, text(stream.spec())));
      notes.emplace_back("to use a sample in several places, load it once: `t = host_load(" + stream.name() + ")`");
    }
    const Shape& got = data.shape();
    if (samples == 1 && got.size() == sample.size() && got.size() > 1 && got[0] != sample[0] &&
        std::equal(got.begin() + 1, got.end(), sample.begin() + 1))
      notes.emplace_back("a program has one batch size: pad the batch, or build the program for this size as well");
    throw Error(fmt::format("stream `{}`: expected {}{}, got {}{}", stream.name(), name(stream.spec().dtype), takes,
                            name(data.dtype()), bracket_text(data.shape())),
                std::move(notes))
        .as(codes::stream);
  }
  return convert_safely(data, stream.spec().dtype, fmt::format("stream `{}`", stream.name()));
}

}  // namespace pxl
