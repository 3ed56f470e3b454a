// Convolutions and their gradients by oneDNN's primitives, which compute on blocks of channels, for one or two spatial
// axes in float32. Operands are copied to the primitives' layouts, and results are copied back.
#if defined(PXL_ONEDNN)

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "runtime/base/div_up.hpp"
#include "runtime/kernels/block/block.hpp"
#include "runtime/kernels/convolution/blocked_primitive.hpp"
#include "runtime/kernels/convolution/partial_sums.hpp"
#include "runtime/kernels/convolution/ways.hpp"
#include "runtime/kernels/gemm/gemm.hpp"
#include "runtime/kernels/gemm/packed.hpp"
#include "runtime/kernels/prepared.hpp"

namespace pxl {

namespace {

using namespace blocked_primitive;

// Windows per unit if the weights do not fit L1: each unit reads all weights once.
constexpr int64_t good_windows = 256;
// Number of units below which the channels are partitioned, and minimum channels per part.
constexpr int64_t enough_units = 8, min_channels = 64;

// The cost model counts AVX-512 vectors on every processor, as the models of the other algorithms do.
constexpr int64_t primitive_lanes = 16;
constexpr int64_t image_channels = 3;

/// Single-core times in ns: a vector multiply-add, the same for weight gradients of kernels with several taps, and for
/// image gradients; the layout change per data element and per weight, which is less for the taps of a single sample:
/// programs of one sample keep their weights; a number of a partial sum.
struct PrimitiveCost {
  double fma, weights_fma, image_fma, element, weight, kept_weight, partial;
  int64_t fewest_image_channels;  ///< minimum of the weight gradient's separate kernel
};
/// AVX-512: 16 to 512 channels of 14 x 14 to 112 x 112 elements, with strides of 1 and 2, beside the other ways, on
/// Sapphire Rapids. AVX2: 3 to 1,024 channels of 7 x 7 to 128 x 128 elements, kernels of 1 x 1 to 7 x 7, on AMD
/// EPYC (Zen 3), whose blocks of 8 channels are transposed in registers.
PrimitiveCost primitive_cost() {
  if (instruction_set() == "avx2") return {0.335, 0.43, 0.38, 0.27, 1.1, 1.1, 0.3, image_channels};
  return {0.26, 0.26, 0.26, 0.9, 0.9, 0.4, ns_per_partial_number, 1};
}

double ns_per_weight(const Convolution& c) {
  return c.batch == 1 && kernel_size(c.axes) > 1 ? primitive_cost().kept_weight : primitive_cost().weight;
}

double channel_vectors(int64_t channels) { return static_cast<double>(div_up(channels, primitive_lanes)); }

/// The channels of a sum with those that fill its blocks, but for images.
double summed_channels(int64_t channels) {
  const int64_t block = channels <= image_channels ? 1 : instruction_set() == "avx2" ? 8 : primitive_lanes;
  return static_cast<double>(div_up(channels, block) * block);
}

/// Whether the build and the settings let a primitive compute, but for what oneDNN refuses.
bool has_primitive(const Convolution& c) {
  return c.groups == 1 && has_windows_of_planes(c) && library_computes_products();
}

/// Time for one sample; infinite if there is no primitive. `vector_channels` is the number of channel vectors that are
/// computed for each of `channels`.
double primitive_ns(const Convolution& c, double channels, double vector_channels, double ns_per_fma, double weight) {
  if (!has_primitive(c)) return std::numeric_limits<double>::infinity();
  const double windows = static_cast<double>(output_size(c.axes)), taps = static_cast<double>(kernel_size(c.axes));
  const double elements = static_cast<double>(c.cin * input_size(c.axes) + c.cout * output_size(c.axes)),
               weights = static_cast<double>(c.cin * c.cout) * taps / static_cast<double>(c.batch);
  return windows * taps * channels * vector_channels * ns_per_fma + elements * primitive_cost().element +
         weights * weight;
}

/// Number of parts into which `channels` are divided, so that there are enough units.
int64_t channel_parts(int64_t channels, int64_t units) {
  int64_t parts = 1;
  while (units * parts < enough_units && channels % (2 * parts) == 0 && channels / (2 * parts) >= min_channels &&
         channels / (2 * parts) % primitive_lanes == 0)
    parts *= 2;
  return parts;
}

int64_t samples_of_unit(const Convolution& c) {
  return std::clamp<int64_t>(good_windows / output_size(c.axes), 1, std::max<int64_t>(1, c.batch / enough_units));
}

/// Outputs or data gradients: each unit computes some samples and `channels / parts` channels of the result.
struct Correlation {
  UnitPrimitives steps;
  int64_t parts = 1;
  int64_t from_sample, to_sample, to_part, weight_part;  ///< elements between samples and parts in the tensors
  int64_t plane;                                         ///< elements of a channel of the result
  bool bias;
  Convolution c = {};  ///< whose finish is that of the result

  Kernel kernel(double cost) const {
    WorkspaceLayout workspace;
    // The weights may have different layouts in a full unit and in the last unit.
    const int64_t size = floats_of(steps.full.second), last_size = floats_of(steps.last.second);
    const bool alike = steps.full.second == steps.last.second;
    const int64_t of_full = div_up(parts * size, primitive_lanes) * primitive_lanes,
                  all = of_full + (alike ? 0 : parts * last_size);
    const auto from = workspace.per_thread<float>(steps.most(&BlockedPrimitive::first)),
               to = workspace.per_thread<float>(steps.most(&BlockedPrimitive::result));
    const auto scratch = workspace.per_thread<float>(steps.most(&BlockedPrimitive::scratch));
    const Correlation k = *this;
    const double make_ns = static_cast<double>(all) * primitive_cost().weight;
    const Kernel make = Kernel::parallel(parts, 1, make_ns, [=](const Buffers& b, int64_t begin, int64_t end) {
      PrimitiveCalls calls;
      for (int64_t p = begin; p < end; ++p) {
        const auto bring = [&](const BlockedPrimitive& s, float* place) {
          calls.reorder(s.reorder_second, s.plain_second, b.input<float>(0) + p * k.weight_part, s.second, place);
        };
        bring(k.steps.full, b.output<float>(0) + p * size);
        if (!alike) bring(k.steps.last, b.output<float>(0) + of_full + p * last_size);
      }
    });
    const auto part_of_result = [=](const Buffers& b, int64_t begin, int64_t end) {
      PrimitiveCalls calls;
      const Finish finish = finish_of(b, k.c, k.bias);
      for (int64_t u = begin; u < end; ++u) {
        const int64_t unit = u / k.parts, part = u % k.parts, sample = k.steps.first(unit);
        const BlockedPrimitive& s = k.steps.of(unit);
        const bool own = !alike && &s == &k.steps.last;
        if (u == begin || part == 0)
          calls.reorder(s.reorder_first, s.plain_first, b.input<float>(0) + sample * k.from_sample, s.first,
                        b.workspace(from));
        const float* const w = b.input<float>(1) + (own ? of_full + part * last_size : part * size);
        calls.run(s.primitive, {{s.first_name, {s.first, cpu_engine(), b.workspace(from)}},
                                {s.second_name, {s.second, cpu_engine(), const_cast<float*>(w)}},  // read only
                                {s.result_name, {s.result, cpu_engine(), b.workspace(to)}},
                                {DNNL_ARG_SCRATCHPAD, {s.scratch, cpu_engine(), b.workspace(scratch)}}});
        const int64_t place = sample * k.to_sample + part * k.to_part, channels = k.to_part / k.plane;
        float* y = b.output<float>(0) + place;
        calls.reorder(s.reorder_result, s.result, b.workspace(to), s.plain_result, y);
        for (int64_t i = 0; is_needed(finish) && i < k.steps.count(unit); ++i, y += k.to_sample)
          packed().finish(finish.from(part * channels, place + i * k.to_sample), channels, k.plane, y, k.plane, y,
                          k.plane);
      }
    };
    const auto complete = [k](int64_t u, const ResultParts::Take& f) {
      const int64_t unit = u / k.parts, of_sample = k.to_sample / k.plane, channels = k.to_part / k.plane;
      for (int64_t i = 0; i < k.steps.count(unit); ++i)
        f((k.steps.first(unit) + i) * of_sample + u % k.parts * channels, channels, 0, k.plane);
    };
    Kernel rest = Kernel::parallel(steps.units * parts, 1, std::max(0.0, cost - make_ns), part_of_result)
                      .with_workspace(workspace)
                      .with_result_parts({plane, parts, complete});
    return preparing({"blocked weights", 1, all * static_cast<int64_t>(sizeof(float)), make, std::move(rest)},
                     operands_of(c, bias));
  }
};

/// How a weight gradient is divided: channels before samples, since each partial sum is as large as the result.
struct WeightUnits {
  int64_t size, parts, samples;

  explicit WeightUnits(const Convolution& c)
      : size(c.cout * c.cin * kernel_size(c.axes)), parts(channel_parts(c.cout, 1)) {
    samples = std::max(samples_of_unit(c), div_up(c.batch, div_up(max_partial_results(size), parts)));
  }
};

/// Returns f(), or nullopt if oneDNN refuses the shape.
template <class F>
std::optional<Kernel> unless_refused(F&& f) {
  try {
    return f();
  } catch (const dnnl::error&) {
    return {};
  }
}

}  // namespace

double primitive_outputs_ns(const Convolution& c) {
  return primitive_ns(c, summed_channels(c.cin), channel_vectors(c.cout), primitive_cost().fma, ns_per_weight(c));
}
double primitive_data_grad_ns(const Convolution& c) {
  return primitive_ns(c, summed_channels(c.cout), channel_vectors(c.cin), primitive_cost().fma, ns_per_weight(c));
}
double primitive_weights_grad_ns(const Convolution& c) {
  if (!has_primitive(c)) return std::numeric_limits<double>::infinity();
  // oneDNN has a kernel for images, which reads their channels in place; it fills vectors with other channels.
  const WeightUnits divided(c);
  const PrimitiveCost cost = primitive_cost();
  const bool image = c.cin <= image_channels && c.cin >= cost.fewest_image_channels;
  const double inputs = static_cast<double>(c.cin),
               filled = channel_vectors(c.cin) * static_cast<double>(primitive_lanes);
  const double fma = image ? cost.image_fma : kernel_size(c.axes) > 1 ? cost.weights_fma : cost.fma;
  return primitive_ns(c, image ? inputs : filled, channel_vectors(c.cout), fma, cost.weight) +
         static_cast<double>(divided.size) / static_cast<double>(divided.samples) * cost.partial;
}

std::optional<Kernel> primitive_convolution_kernel(const Convolution& c, bool bias) {
  return unless_refused([&]() -> std::optional<Kernel> {
    const int64_t samples = samples_of_unit(c), parts = channel_parts(c.cout, div_up(c.batch, samples));
    const auto steps = UnitPrimitives::make(c.batch, samples, [&](int64_t batch) {
      return outputs_step({c, batch, c.cin, c.cout / parts});
    });
    if (!steps) return {};
    const int64_t y = output_size(c.axes), channels = c.cout / parts;
    return Correlation{*steps,     parts,        c.cin * input_size(c.axes),
                       c.cout * y, channels * y, channels * c.cin * kernel_size(c.axes),
                       y,          bias,         c}
        .kernel(primitive_outputs_ns(c) * static_cast<double>(c.batch));
  });
}

std::optional<Kernel> primitive_data_grad_kernel(const Convolution& c, bool bias) {
  return unless_refused([&]() -> std::optional<Kernel> {
    const int64_t samples = samples_of_unit(c), parts = channel_parts(c.cin, div_up(c.batch, samples));
    const auto steps = UnitPrimitives::make(c.batch, samples, [&](int64_t batch) {
      return data_step({c, batch, c.cin / parts, c.cout});
    });
    if (!steps) return {};
    const int64_t x = input_size(c.axes), channels = c.cin / parts;
    return Correlation{
        *steps, parts, c.cout * output_size(c.axes), c.cin * x, channels * x, channels * kernel_size(c.axes), x, bias}
        .kernel(primitive_data_grad_ns(c) * static_cast<double>(c.batch));
  });
}

std::optional<Kernel> primitive_weights_grad_kernel(const Convolution& c) {
  const WeightUnits divided(c);
  const int64_t size = divided.size, parts = divided.parts, samples = divided.samples;
  return unless_refused([&]() -> std::optional<Kernel> {
    const int64_t channels = c.cout / parts;
    const auto made = UnitPrimitives::make(c.batch, samples, [&](int64_t batch) {
      return weights_step({c, batch, c.cin, channels});
    });
    // All units need one layout for their sums.
    if (!made || made->full.result != made->last.result) return {};
    const UnitPrimitives steps = *made;
    const int64_t units = steps.units, partial_size = floats_of(steps.full.result);
    const int64_t x = c.cin * input_size(c.axes), y = output_size(c.axes), cout = c.cout, per_part = size / parts;
    WorkspaceLayout workspace;
    const auto partial = workspace.per_call<float>(units * parts * partial_size);
    const auto dy = workspace.per_thread<float>(steps.most(&BlockedPrimitive::first)),
               data = workspace.per_thread<float>(steps.most(&BlockedPrimitive::second));
    const auto scratch = workspace.per_thread<float>(steps.most(&BlockedPrimitive::scratch));
    std::vector<Phase> phases;
    phases.push_back(
        {units * parts, 1, [=](const Buffers& b, int64_t begin, int64_t end) {
           PrimitiveCalls calls;
           for (int64_t u = begin; u < end; ++u) {
             const int64_t unit = u / parts, part = u % parts, sample = steps.first(unit);
             const BlockedPrimitive& s = steps.of(unit);
             calls.reorder(s.reorder_first, s.plain_first, b.input<float>(0) + (sample * cout + part * channels) * y,
                           s.first, b.workspace(dy));
             if (u == begin || part == 0)
               calls.reorder(s.reorder_second, s.plain_second, b.input<float>(1) + sample * x, s.second,
                             b.workspace(data));
             calls.run(s.primitive, {{s.first_name, {s.first, cpu_engine(), b.workspace(dy)}},
                                     {s.second_name, {s.second, cpu_engine(), b.workspace(data)}},
                                     {s.result_name, {s.result, cpu_engine(), b.workspace(partial) + u * partial_size}},
                                     {DNNL_ARG_SCRATCHPAD, {s.scratch, cpu_engine(), b.workspace(scratch)}}});
           }
         }});
    // The sums are added to the first unit's sum, in the order of the units.
    if (units > 1)
      phases.push_back({parts * partial_size, 1024, [=](const Buffers& b, int64_t begin, int64_t end) {
                          constexpr int64_t block = 4096;  // per sum, so that blocks stay in L1
                          for (int64_t i = begin; i < end; i += block) {
                            float* const to = b.workspace(partial) + i;
                            for (int64_t unit = 1; unit < units; ++unit)
                              add_numbers(to + unit * parts * partial_size, std::min(block, end - i), to);
                          }
                        }});
    phases.push_back({parts, 1, [=](const Buffers& b, int64_t begin, int64_t end) {
                        PrimitiveCalls calls;
                        for (int64_t p = begin; p < end; ++p)
                          calls.reorder(steps.full.reorder_result, steps.full.result,
                                        b.workspace(partial) + p * partial_size, steps.full.plain_result,
                                        b.output<float>(0) + p * per_part);
                      }});
    return Kernel::parallel(std::move(phases), primitive_weights_grad_ns(c) * static_cast<double>(c.batch))
        .with_workspace(workspace);
  });
}

}  // namespace pxl

#endif
