// Samples of ops that move elements or change shapes, and of medians.
#include "samples.hpp"

namespace pxl::test {

Samples::Rows Samples::shapes() const {
  return {
      {"median",
       [&] {
         return Sample{{x({2, 3, 2})}, {{"axis", Ints{0, 2}}}};
       }},
      {"median_indices",
       [&] {
         return Sample{{x({2, 3, 2})}, {{"axis", Ints{0, 2}}}};
       }},
      {"reshape",
       [&] {
         return Sample{{x(m)}, {{"shape", Ints{3, -1}}}};
       }},
      {"reshape_",
       [&] {
         return Sample{{x(m)}, {{"shape", Ints{6}}}};
       }},
      {"broadcast_to",
       [&] {
         return Sample{{x({3})}, {{"shape", Ints{2, 3}}}};
       }},
      {"split",
       [&] {
         return Sample{{x({4, 2})}, {{"splits", int64_t{2}}}};
       }},
      {"slice",
       [&] {
         return Sample{{x({4, 3})}, {{"start", Ints{3, 0}}, {"stop", Ints{0, 2}}, {"step", Ints{-2, 1}}}};
       }},
      {"slice_",
       [&] {
         return Sample{{x({4})}, {{"start", int64_t{1}}}};
       }},
      {"slice_window",
       [&] {
         return Sample{{x({4})}, {{"starts", Ints{2}}, {"steps", Ints{-1}}, {"sizes", Ints{2}}}};
       }},
      {"slice_window_",
       [&] {
         return Sample{{x({4})}, {{"starts", Ints{2}}, {"steps", Ints{-1}}, {"sizes", Ints{2}}}};
       }},
      {"slice_grad",
       [&] {
         return Sample{{x({2})}, {{"starts", Ints{2}}, {"steps", Ints{-1}}, {"sizes", Ints{4}}}};
       }},
      {"subsample",
       [&] {
         return Sample{{x({5, 2})}, {{"strides", Ints{2}}}};
       }},
      {"subsample_",
       [&] {
         return Sample{{x({5, 2})}, {{"strides", Ints{2}}}};
       }},
      {"squeeze",
       [&] {
         return Sample{{x({1, 3, 1})}};
       }},
      {"pad",
       [&] {
         return Sample{{x(m)}, {{"padding", Ints{1, 0, 2, 1}}, {"value", element(0.5, 1)}}};
       }},
      {"roll",
       [&] {
         return Sample{{x({2, 5})}, {{"shift", int64_t{-2}}, {"axis", int64_t{1}}}};
       }},
      {"tile",
       [&] {
         return Sample{{x(m)}, {{"repeats", Ints{2, 3}}}};
       }},
  };
}

}  // namespace pxl::test
