// oneDNN's convolutions on chunks of samples and channels, and the layout changes around them. Included only by
// primitive_convolution.cpp, and only if the build has oneDNN.
#pragma once

#include <algorithm>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "runtime/base/div_up.hpp"
#include "runtime/kernels/convolution/convolution.hpp"
#include "runtime/kernels/one_openmp_thread.hpp"

namespace pxl::blocked_primitive {

using dnnl::memory;

inline const dnnl::engine& cpu_engine() {
  static const dnnl::engine& engine = *new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

/// A convolution on `batch` samples and some of the channels.
struct ConvolutionPart {
  const Convolution& c;
  int64_t batch, cin, cout;

  memory::dims x() const { return {batch, cin, c.axes[1].in, c.axes[2].in}; }
  memory::dims w() const { return {cout, cin, c.axes[1].kernel, c.axes[2].kernel}; }
  memory::dims y() const { return {batch, cout, c.axes[1].out, c.axes[2].out}; }
  /// Row-major slices of tensors that have all channels.
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

inline memory::desc any_layout(const memory::dims& dims) {
  return {dims, memory::data_type::f32, memory::format_tag::any};
}

/// A primitive with two operands, and the layout changes around it.
struct BlockedPrimitive {
  dnnl::primitive primitive;
  int first_name = 0, second_name = 0, result_name = 0;  ///< DNNL_ARG_
  memory::desc first, second, result;                    ///< the primitive's layouts
  memory::desc plain_first, plain_second, plain_result;  ///< the tensors' layouts
  dnnl::reorder reorder_first, reorder_second, reorder_result;
  memory::desc scratch;
  bool usable = false;

  template <class Descriptor>
  void take(const Descriptor& d, const dnnl::primitive& p) {
    primitive = p;
    scratch = d.scratchpad_desc();
    const std::string_view name = d.impl_info_str();
    // Accepts only vector code for this shape: no reference loops, and no second im2col.
    usable = name.find("ref") == name.npos && name.find("gemm") == name.npos && name.find("sse") == name.npos;
    const auto between = [](const memory::desc& from, const memory::desc& to) {
      // The attributes that oneDNN 3 takes by default are a static with a destructor.
      return dnnl::reorder(dnnl::reorder::primitive_desc(cpu_engine(), from, cpu_engine(), to, dnnl::primitive_attr()));
    };
    reorder_first = between(plain_first, first);
    reorder_second = between(plain_second, second);
    reorder_result = between(result, plain_result);
  }
};

inline dnnl::primitive_attr own_scratchpad() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

/// The primitive's description, from its arguments and, for a gradient, from the forward primitive's description.
/// oneDNN 2 wraps the arguments in an object; oneDNN 3 takes them directly.
template <class Primitive, class... Forward>
auto describe(const Forward&... forward) {
  return [&](const auto&... arguments) -> typename Primitive::primitive_desc {
#if DNNL_VERSION_MAJOR >= 3
    return {cpu_engine(), arguments..., forward..., own_scratchpad()};
#else
    return {{arguments...}, own_scratchpad(), cpu_engine(), forward...};
#endif
  };
}

inline dnnl::convolution_forward::primitive_desc forward_of(const ConvolutionPart& p, dnnl::prop_kind kind) {
  return describe<dnnl::convolution_forward>()(kind, dnnl::algorithm::convolution_direct, any_layout(p.x()),
                                               any_layout(p.w()), any_layout(p.y()), p.strides(), p.dilations(),
                                               p.before(), p.after());
}

/// The description of the data or weight gradient.
template <class Primitive>
typename Primitive::primitive_desc gradient_of(const ConvolutionPart& p) {
  const auto forward = forward_of(p, dnnl::prop_kind::forward_training);
  return describe<Primitive>(forward)(dnnl::algorithm::convolution_direct, any_layout(p.x()), any_layout(p.w()),
                                      any_layout(p.y()), p.strides(), p.dilations(), p.before(), p.after());
}

inline BlockedPrimitive outputs_step(const ConvolutionPart& p) {
  const auto d = forward_of(p, dnnl::prop_kind::forward_inference);
  BlockedPrimitive s;
  s.first_name = DNNL_ARG_SRC, s.second_name = DNNL_ARG_WEIGHTS, s.result_name = DNNL_ARG_DST;
  s.first = d.src_desc(), s.second = d.weights_desc(), s.result = d.dst_desc();
  s.plain_first = p.plain_x(), s.plain_second = p.plain_w(), s.plain_result = p.plain_y();
  s.take(d, dnnl::convolution_forward(d));
  return s;
}

inline BlockedPrimitive data_step(const ConvolutionPart& p) {
  const auto d = gradient_of<dnnl::convolution_backward_data>(p);
  BlockedPrimitive s;
  s.first_name = DNNL_ARG_DIFF_DST, s.second_name = DNNL_ARG_WEIGHTS, s.result_name = DNNL_ARG_DIFF_SRC;
  s.first = d.diff_dst_desc(), s.second = d.weights_desc(), s.result = d.diff_src_desc();
  s.plain_first = p.plain_y(), s.plain_second = p.plain_w(), s.plain_result = p.plain_x();
  s.take(d, dnnl::convolution_backward_data(d));
  return s;
}

inline BlockedPrimitive weights_step(const ConvolutionPart& p) {
  const auto d = gradient_of<dnnl::convolution_backward_weights>(p);
  BlockedPrimitive s;
  s.first_name = DNNL_ARG_DIFF_DST, s.second_name = DNNL_ARG_SRC, s.result_name = DNNL_ARG_DIFF_WEIGHTS;
  s.first = d.diff_dst_desc(), s.second = d.src_desc(), s.result = d.diff_weights_desc();
  s.plain_first = p.plain_y(), s.plain_second = p.plain_x(), s.plain_result = p.plain_w();
  s.take(d, dnnl::convolution_backward_weights(d));
  return s;
}

inline int64_t floats_of(const memory::desc& d) {
  return static_cast<int64_t>((d.get_size() + sizeof(float) - 1) / sizeof(float));
}

/// Runs primitives on this thread.
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

/// The steps of a partition: for full chunks of samples, and for the last chunk, which may have fewer samples.
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

}  // namespace pxl::blocked_primitive
