// Samples of ops that take or make indices.
#include "samples.hpp"

namespace pxl::test {

Samples::Rows Samples::indices() const {
  return {
      {"topk",
       [&] {
         return Sample{{x({2, 4})}, {{"k", int64_t{2}}}};
       }},
      {"histogram",
       [&] {
         return Sample{{x(m)}, {{"levels", std::vector<double>{0.5, 1.0}}}};
       }},
      {"gather",
       [&] {
         return Sample{{x({4, 3}), whole({2, 2}, 4)}, {{"axis", int64_t{0}}}};
       }},
      {"tied_gather",
       [&] {
         return Sample{{x({4, 3}), whole({2, 2}, 3)}, {{"axis", int64_t{1}}}};
       }},
      {"groupedgather",
       [&] {
         return Sample{{x({2, 3}), whole({2, 2}, 3)}, {{"group_size", int64_t{2}}}};
       }},
      {"gather_grad",
       [&] {
         return Sample{{x({2, 3}), whole({2}, 4)},
                       {{"shape", Ints{4, 3}}, {"axis", int64_t{0}}, {"zero_OOR", false}, {"batch", int64_t{0}}}};
       }},
      {"scatter",
       [&] {
         return Sample{{x({3, 2}), ints({2, 2}, {0, 2, 1, 0}), x({2, 2}, 1)}};
       }},
      {"scatter_zero",
       [&] {
         return Sample{{x({3, 2}), ints({2, 2}, {0, 2, 1, 0})}};
       }},
      {"take_along",
       [&] {
         return Sample{{x({3, 2}), ints({2, 2}, {0, 2, 1, 0})}};
       }},
      {"scatter_reduce",
       [&] {
         return Sample{{x({3, 2}), ints({3}, {1, 0, 1})}, {{"reduction", "sum"}, {"axis_size", int64_t{4}}}};
       }},
      {"scatter_reduce_grad",
       [&] {
         return Sample{{x({4, 2}), ints({3}, {1, 0, 1})}, {{"shape", Ints{3, 2}}, {"axis", int64_t{0}}}};
       }},
      {"gather_nd",
       [&] {
         return Sample{{x({2, 3, 4}), ints({2, 2, 2}, {0, 1, 2, 3, 1, 0, 2, -1})}, {{"batch_dims", int64_t{1}}}};
       }},
      {"scatter_nd",
       [&] {
         return Sample{{x({3, 2, 2}), ints({2, 2}, {2, 0, 0, 1}), x({2, 2}, 1)}};
       }},
      {"hardmax",
       [&] {
         return Sample{{x(m)}, {{"axis", int64_t{0}}}};
       }},
      {"dynamic_slice",
       [&] {
         return Sample{{x({4, 3}), ints({1}, {2})}, {{"axes", Ints{0}}, {"sizes", Ints{2}}}};
       }},
      {"dynamic_slice_grad",
       [&] {
         return Sample{{x({2, 3}), ints({1}, {2})}, {{"axes", Ints{0}}, {"shape", Ints{4, 3}}}};
       }},
      {"dynamic_update",
       [&] {
         return Sample{{x({4, 3}), ints({1}, {1}), x({2, 3}, 1)}, {{"axes", Ints{0}}, {"sizes", Ints{2}}}};
       }},
      {"dynamic_update_",
       [&] {
         return Sample{{x({4, 3}), ints({1}, {1}), x({2, 3}, 1)}, {{"axes", Ints{0}}, {"sizes", Ints{2}}}};
       }},
      {"onehot",
       [&] {
         return Sample{{whole({3}, 4), {}, x({2})}, {{"num_classes", int64_t{4}}}};
       }},
      {"onehot_grad",
       [&] {
         return Sample{{x({3, 4}), whole({3}, 4)}, {{"num_classes", int64_t{4}}, {"axis", int64_t{1}}}};
       }},
      {"scatter_update_grad",
       [&] {
         return Sample{{x({3, 2}), ints({2, 2}, {0, 2, 1, 0})}};
       }},
      {"sum_duplicates",
       [&] {
         return Sample{{ints({4}, {2, 0, 2, 3}), x({4, 2})}, {{"extent", int64_t{5}}}};
       }},
      {"index_copy_",
       [&] {
         return Sample{{x({4, 3}), ints({2}, {3, 1}), x({2, 3}, 1)}};
       }},
      {"sparse_accumulate_",
       [&] {
         return Sample{{x({4, 3}), x({2, 3}, 1), ints({2}, {1, 1})}};
       }},
  };
}

}  // namespace pxl::test
