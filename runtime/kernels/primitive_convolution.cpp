#include "runtime/kernels/primitive_convolution.hpp"

#if defined(PXL_ONEDNN)

#include <algorithm>
#include <oneapi/dnnl/dnnl.hpp>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/base/div_up.hpp"
#include "runtime/kernels/channel_bias.hpp"
#include "runtime/kernels/direct_convolution.hpp"
#include "runtime/kernels/gemm.hpp"
#include "runtime/kernels/one_openmp_thread.hpp"
#include "runtime/kernels/partial_sums.hpp"

namespace pxl {

namespace {

using dnnl::memory;

// Windows of a unit of work at which a primitive reaches its full rate, if the weights do not fit L1. Not measured.
constexpr int64_t good_windows = 256;
// Number of units of work that are worth a partition of the channels; and channels of a part at least.
constexpr int64_t enough_units = 8, min_channels = 64;

// The cost model, in ns of one core: a vector multiply-add, and the change of layout of an element. Measured with 16 to
// 256 channels of 8 x 8 to 32 x 32 elements on AMD EPYC with AVX-512.
// Vectors are those of AVX-512 on every processor, as of the other ways.
constexpr int64_t primitive_lanes = 16;
constexpr int64_t image_channels = 3;
constexpr double ns_per_primitive_fma = 0.3, ns_per_reordered_element = 0.9;

double channel_vectors(int64_t channels) { return static_cast<double>(div_up(channels, primitive_lanes)); }

/// Of one sample: `vector_channels` are computed in vectors, for each of `channels`.
double primitive_ns(const Convolution& c, double channels, double vector_channels) {
  const double windows = static_cast<double>(output_size(c.axes)), taps = static_cast<double>(kernel_size(c.axes));
  const double moved = static_cast<double>(c.cin * input_size(c.axes) + c.cout * output_size(c.axes)) +
                       static_cast<double>(c.cin * c.cout) * taps / static_cast<double>(c.batch);
  return windows * taps * channels * vector_channels * ns_per_primitive_fma + moved * ns_per_reordered_element;
}

const dnnl::engine& cpu_engine() {
  static const dnnl::engine& engine = *new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

/// A convolution of `batch` samples and parts of the channels.
struct ConvolutionPart {
  const Convolution& c;
  int64_t batch, cin, cout;

  memory::dims x() const { return {batch, cin, c.axes[1].in, c.axes[2].in}; }
  memory::dims w() const { return {cout, cin, c.axes[1].kernel, c.axes[2].kernel}; }
  memory::dims y() const { return {batch, cout, c.axes[1].out, c.axes[2].out}; }
  /// Row-major, as parts of tensors with all channels.
  memory::desc plain_x() const { return planes(x(), c.cin); }
  memory::desc plain_y() const { return planes(y(), c.cout); }
  memory::desc plain_w() const {
    const memory::dims d = w();
    return {d, memory::data_type::f32, memory::dims{c.cin * d[2] * d[3], d[2] * d[3], d[3], 1}};
  }

  template <class F>
  auto axes(F&& f) const {
    return memory::dims{f(c.axes[1]), f(c.axes[2])};
  }
  memory::dims strides() const {
    return axes([](const WindowAxis& a) { return a.stride; });
  }
  memory::dims dilations() const {
    return axes([](const WindowAxis& a) { return a.dilation - 1; });
  }
  memory::dims before() const {
    return axes([](const WindowAxis& a) { return a.padding_before; });
  }
  memory::dims after() const {
    return axes([](const WindowAxis& a) {
      return (a.out - 1) * a.stride + (a.kernel - 1) * a.dilation + 1 - a.in - a.padding_before;
    });
  }

 private:
  static memory::desc planes(const memory::dims& d, int64_t channels) {
    const int64_t plane = d[2] * d[3];
    return {d, memory::data_type::f32, memory::dims{channels * plane, plane, d[3], 1}};
  }
};

memory::desc any_layout(const memory::dims& dims) { return {dims, memory::data_type::f32, memory::format_tag::any}; }

/// A primitive with two operands, and the changes of layout around it.
struct BlockedPrimitive {
  dnnl::primitive primitive;
  int first_name = 0, second_name = 0, result_name = 0;  ///< DNNL_ARG_
  memory::desc first, second, result;                    ///< as the primitive wants them
  memory::desc plain_first, plain_second, plain_result;  ///< as tensors store them
  dnnl::reorder reorder_first, reorder_second, reorder_result;
  memory::desc scratch;
  bool usable = false;

  template <class Descriptor>
  void take(const Descriptor& d, const dnnl::primitive& p) {
    primitive = p;
    scratch = d.scratchpad_desc();
    const std::string_view name = d.impl_info_str();
    // Only vector code for this shape: neither loops for reference, nor another im2col.
    usable = name.find("ref") == name.npos && name.find("gemm") == name.npos && name.find("sse") == name.npos;
    const auto between = [](const memory::desc& from, const memory::desc& to) {
      return dnnl::reorder(dnnl::reorder::primitive_desc(cpu_engine(), from, cpu_engine(), to));
    };
    reorder_first = between(plain_first, first);
    reorder_second = between(plain_second, second);
    reorder_result = between(result, plain_result);
  }
};

dnnl::primitive_attr own_scratchpad() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

dnnl::convolution_forward::primitive_desc forward_of(const ConvolutionPart& p, dnnl::prop_kind kind) {
  return {{kind, dnnl::algorithm::convolution_direct, any_layout(p.x()), any_layout(p.w()), any_layout(p.y()),
           p.strides(), p.dilations(), p.before(), p.after()},
          own_scratchpad(),
          cpu_engine()};
}

BlockedPrimitive outputs_step(const ConvolutionPart& p) {
  const auto d = forward_of(p, dnnl::prop_kind::forward_inference);
  BlockedPrimitive s;
  s.first_name = DNNL_ARG_SRC, s.second_name = DNNL_ARG_WEIGHTS, s.result_name = DNNL_ARG_DST;
  s.first = d.src_desc(), s.second = d.weights_desc(), s.result = d.dst_desc();
  s.plain_first = p.plain_x(), s.plain_second = p.plain_w(), s.plain_result = p.plain_y();
  s.take(d, dnnl::convolution_forward(d));
  return s;
}

BlockedPrimitive data_step(const ConvolutionPart& p) {
  const dnnl::convolution_backward_data::primitive_desc d(
      {dnnl::algorithm::convolution_direct, any_layout(p.x()), any_layout(p.w()), any_layout(p.y()), p.strides(),
       p.dilations(), p.before(), p.after()},
      own_scratchpad(), cpu_engine(), forward_of(p, dnnl::prop_kind::forward_training));
  BlockedPrimitive s;
  s.first_name = DNNL_ARG_DIFF_DST, s.second_name = DNNL_ARG_WEIGHTS, s.result_name = DNNL_ARG_DIFF_SRC;
  s.first = d.diff_dst_desc(), s.second = d.weights_desc(), s.result = d.diff_src_desc();
  s.plain_first = p.plain_y(), s.plain_second = p.plain_w(), s.plain_result = p.plain_x();
  s.take(d, dnnl::convolution_backward_data(d));
  return s;
}

BlockedPrimitive weights_step(const ConvolutionPart& p) {
  const dnnl::convolution_backward_weights::primitive_desc d(
      {dnnl::algorithm::convolution_direct, any_layout(p.x()), any_layout(p.w()), any_layout(p.y()), p.strides(),
       p.dilations(), p.before(), p.after()},
      own_scratchpad(), cpu_engine(), forward_of(p, dnnl::prop_kind::forward_training));
  BlockedPrimitive s;
  s.first_name = DNNL_ARG_DIFF_DST, s.second_name = DNNL_ARG_SRC, s.result_name = DNNL_ARG_DIFF_WEIGHTS;
  s.first = d.diff_dst_desc(), s.second = d.src_desc(), s.result = d.diff_weights_desc();
  s.plain_first = p.plain_y(), s.plain_second = p.plain_x(), s.plain_result = p.plain_w();
  s.take(d, dnnl::convolution_backward_weights(d));
  return s;
}

int64_t floats_of(const memory::desc& d) {
  return static_cast<int64_t>((d.get_size() + sizeof(float) - 1) / sizeof(float));
}

/// PrimitiveCalls of primitives on this thread.
class PrimitiveCalls {
 public:
  void reorder(const dnnl::reorder& how, const memory::desc& from, const float* source, const memory::desc& to,
               float* target) {
    run(how,
        {{DNNL_ARG_FROM, {from, cpu_engine(), const_cast<float*>(source)}}, {DNNL_ARG_TO, {to, cpu_engine(), target}}});
  }
  void run(const dnnl::primitive& primitive, const std::unordered_map<int, memory>& operands) {
    primitive.execute(stream_, operands);
  }

 private:
  OneOpenMpThread one_thread_;
  dnnl::stream stream_{cpu_engine()};
};

/// The steps of a partition: of full units of samples, and of the last one, which may have fewer.
struct UnitPrimitives {
  BlockedPrimitive full, last;
  int64_t samples = 1, units = 1;  ///< samples of a full unit
  int64_t batch = 1;

  const BlockedPrimitive& of(int64_t unit) const { return unit + 1 == units ? last : full; }
  int64_t first(int64_t unit) const { return unit * samples; }
  int64_t count(int64_t unit) const { return std::min(samples, batch - first(unit)); }
  int64_t most(memory::desc BlockedPrimitive::*operand) const {
    return std::max(floats_of(full.*operand), floats_of(last.*operand));
  }

  template <class Make>
  static std::optional<UnitPrimitives> make(int64_t batch, int64_t samples, Make&& step) {
    UnitPrimitives s;
    s.batch = batch;
    s.samples = samples;
    s.units = div_up(batch, samples);
    const OneOpenMpThread one_thread;  // a primitive keeps the number of threads of its making
    s.full = step(samples);
    s.last = step(batch - (s.units - 1) * samples);
    if (!s.full.usable || !s.last.usable) return {};
    return s;
  }
};

/// Parts of `channels` for units to be enough.
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

/// Outputs or data gradients: each unit makes some samples and `channels / parts` channels of the result.
struct Correlation {
  UnitPrimitives steps;
  int64_t parts = 1;
  int64_t from_sample, to_sample, to_part, weight_part;  ///< elements between samples and parts in the tensors
  int64_t plane;                                         ///< elements of a channel of the result
  bool bias;

  Kernel kernel(double cost) const {
    WorkspaceLayout workspace;
    // Weights of a full unit and of the last one may have different layouts.
    const int64_t size = floats_of(steps.full.second), last_size = floats_of(steps.last.second);
    const bool alike = steps.full.second == steps.last.second;
    const auto weights = workspace.per_call<float>(parts * size),
               last_weights = workspace.per_call<float>(alike ? 0 : parts * last_size);
    const auto from = workspace.per_thread<float>(steps.most(&BlockedPrimitive::first)),
               to = workspace.per_thread<float>(steps.most(&BlockedPrimitive::result));
    const auto scratch = workspace.per_thread<float>(steps.most(&BlockedPrimitive::scratch));
    const Correlation k = *this;
    std::vector<Phase> phases;
    phases.push_back({parts, 1, [=](const Buffers& b, int64_t begin, int64_t end) {
                        PrimitiveCalls calls;
                        for (int64_t p = begin; p < end; ++p) {
                          const float* w = b.input<float>(1) + p * k.weight_part;
                          const auto bring = [&](const BlockedPrimitive& s, float* place) {
                            calls.reorder(s.reorder_second, s.plain_second, w, s.second, place);
                          };
                          bring(k.steps.full, b.workspace(weights) + p * size);
                          if (!alike) bring(k.steps.last, b.workspace(last_weights) + p * last_size);
                        }
                      }});
    phases.push_back(
        {steps.units * parts, 1, [=](const Buffers& b, int64_t begin, int64_t end) {
           PrimitiveCalls calls;
           for (int64_t u = begin; u < end; ++u) {
             const int64_t unit = u / k.parts, part = u % k.parts, sample = k.steps.first(unit);
             const BlockedPrimitive& s = k.steps.of(unit);
             const bool own = !alike && &s == &k.steps.last;
             if (u == begin || part == 0)
               calls.reorder(s.reorder_first, s.plain_first, b.input<float>(0) + sample * k.from_sample, s.first,
                             b.workspace(from));
             float* w = own ? b.workspace(last_weights) + part * last_size : b.workspace(weights) + part * size;
             calls.run(s.primitive, {{s.first_name, {s.first, cpu_engine(), b.workspace(from)}},
                                     {s.second_name, {s.second, cpu_engine(), w}},
                                     {s.result_name, {s.result, cpu_engine(), b.workspace(to)}},
                                     {DNNL_ARG_SCRATCHPAD, {s.scratch, cpu_engine(), b.workspace(scratch)}}});
             float* y = b.output<float>(0) + sample * k.to_sample + part * k.to_part;
             calls.reorder(s.reorder_result, s.result, b.workspace(to), s.plain_result, y);
             const int64_t channels = k.to_part / k.plane;
             for (int64_t i = 0; k.bias && i < k.steps.count(unit); ++i)
               add_channel_bias(b.input<float>(2) + part * channels, channels, k.plane, k.plane, y + i * k.to_sample);
           }
         }});
    return Kernel::parallel(std::move(phases), cost).with_workspace(workspace);
  }
};

/// f(), or none where oneDNN refuses the shape.
template <class F>
std::optional<Kernel> unless_refused(F&& f) {
  try {
    return f();
  } catch (const dnnl::error&) {
    return {};
  }
}

}  // namespace

bool has_convolution_primitives() { return library_computes_products(); }

std::optional<Kernel> primitive_convolution_kernel(const Convolution& c, double ns, bool bias) {
  if (c.groups != 1 || !is_planar(c) || !has_convolution_primitives()) return {};
  const double own = primitive_ns(c, static_cast<double>(c.cin), channel_vectors(c.cout));
  if (own >= ns) return {};
  return unless_refused([&]() -> std::optional<Kernel> {
    const int64_t samples = samples_of_unit(c), parts = channel_parts(c.cout, div_up(c.batch, samples));
    const auto steps = UnitPrimitives::make(c.batch, samples, [&](int64_t batch) {
      return outputs_step({c, batch, c.cin, c.cout / parts});
    });
    if (!steps) return {};
    const int64_t y = output_size(c.axes), channels = c.cout / parts;
    return Correlation{*steps,     parts,        c.cin * input_size(c.axes),
                       c.cout * y, channels * y, channels * c.cin * kernel_size(c.axes),
                       y,          bias}
        .kernel(own * static_cast<double>(c.batch));
  });
}

std::optional<Kernel> primitive_data_grad_kernel(const Convolution& c, double ns, bool bias) {
  if (c.groups != 1 || !is_planar(c) || !has_convolution_primitives()) return {};
  const double own = primitive_ns(c, static_cast<double>(c.cout), channel_vectors(c.cin));
  if (own >= ns) return {};
  return unless_refused([&]() -> std::optional<Kernel> {
    const int64_t samples = samples_of_unit(c), parts = channel_parts(c.cin, div_up(c.batch, samples));
    const auto steps = UnitPrimitives::make(c.batch, samples, [&](int64_t batch) {
      return data_step({c, batch, c.cin / parts, c.cout});
    });
    if (!steps) return {};
    const int64_t x = input_size(c.axes), channels = c.cin / parts;
    return Correlation{
        *steps, parts, c.cout * output_size(c.axes), c.cin * x, channels * x, channels * kernel_size(c.axes), x, bias}
        .kernel(own * static_cast<double>(c.batch));
  });
}

std::optional<Kernel> primitive_weights_grad_kernel(const Convolution& c, double ns) {
  if (c.groups != 1 || !is_planar(c) || !has_convolution_primitives()) return {};
  const int64_t size = c.cout * c.cin * kernel_size(c.axes);
  // Parts of the channels rather than more partial sums, of which each is as large as the result.
  const int64_t parts = channel_parts(c.cout, 1), sums = div_up(max_partial_results(size), parts);
  const int64_t samples = std::max(samples_of_unit(c), div_up(c.batch, sums));
  // oneDNN has a kernel for the channels of images in place; it fills vectors with other ones.
  const double inputs = c.cin <= image_channels ? static_cast<double>(c.cin)
                                                : channel_vectors(c.cin) * static_cast<double>(primitive_lanes);
  const double own = primitive_ns(c, inputs, channel_vectors(c.cout)) +
                     static_cast<double>(size) / static_cast<double>(samples) * ns_per_partial_number;
  if (own >= ns) return {};
  return unless_refused([&]() -> std::optional<Kernel> {
    const int64_t channels = c.cout / parts;
    const auto made = UnitPrimitives::make(c.batch, samples, [&](int64_t batch) {
      return weights_step({c, batch, c.cin, channels});
    });
    // The sums of all units need one layout.
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
    // Into the first unit's, in the order of the units.
    if (units > 1)
      phases.push_back({parts * partial_size, 1024, [=](const Buffers& b, int64_t begin, int64_t end) {
                          float* to = b.workspace(partial);
                          for (int64_t unit = 1; unit < units; ++unit) {
                            const float* from = to + unit * parts * partial_size;
                            for (int64_t i = begin; i < end; ++i) to[i] += from[i];
                          }
                        }});
    phases.push_back({parts, 1, [=](const Buffers& b, int64_t begin, int64_t end) {
                        PrimitiveCalls calls;
                        for (int64_t p = begin; p < end; ++p)
                          calls.reorder(steps.full.reorder_result, steps.full.result,
                                        b.workspace(partial) + p * partial_size, steps.full.plain_result,
                                        b.output<float>(0) + p * per_part);
                      }});
    return Kernel::parallel(std::move(phases), own * static_cast<double>(c.batch)).with_workspace(workspace);
  });
}

}  // namespace pxl

#else

namespace pxl {

bool has_convolution_primitives() { return false; }
std::optional<Kernel> primitive_convolution_kernel(const Convolution&, double, bool) { return {}; }
std::optional<Kernel> primitive_data_grad_kernel(const Convolution&, double, bool) { return {}; }
std::optional<Kernel> primitive_weights_grad_kernel(const Convolution&, double) { return {}; }

}  // namespace pxl

#endif
