// Samples of ops that take or make indices.
#include "samples.hpp"

namespace pxl::test {

Samples::Rows Samples::indices() const {
  return {
      PXL_SAMPLE("topk", Sample{{x({2, 4})}, {{"k", int64_t{2}}}}),
      PXL_SAMPLE("histogram", Sample{{x(m)}, {{"levels", std::vector<double>{0.5, 1.0}}}}),
      PXL_SAMPLE("gather", Sample{{x({4, 3}), whole({2, 2}, 4)}, {{"axis", int64_t{0}}}}),
      PXL_SAMPLE("tied_gather", Sample{{x({4, 3}), whole({2, 2}, 3)}, {{"axis", int64_t{1}}}}),
      PXL_SAMPLE("groupedgather", Sample{{x({2, 3}), whole({2, 2}, 3)}, {{"group_size", int64_t{2}}}}),
      PXL_SAMPLE("gather_grad",
                 Sample{{x({2, 3}), whole({2}, 4)},
                        {{"shape", Ints{4, 3}}, {"axis", int64_t{0}}, {"zero_OOR", false}, {"batch", int64_t{0}}}}),
      PXL_SAMPLE("scatter", Sample{{x({3, 2}), ints({2, 2}, {0, 2, 1, 0}), x({2, 2}, 1)}}),
      PXL_SAMPLE("scatter_zero take_along scatter_update_grad", Sample{{x({3, 2}), ints({2, 2}, {0, 2, 1, 0})}}),
      PXL_SAMPLE("scatter_reduce",
                 Sample{{x({3, 2}), ints({3}, {1, 0, 1})}, {{"reduction", "sum"}, {"axis_size", int64_t{4}}}}),
      PXL_SAMPLE("scatter_reduce_grad",
                 Sample{{x({4, 2}), ints({3}, {1, 0, 1})}, {{"shape", Ints{3, 2}}, {"axis", int64_t{0}}}}),
      PXL_SAMPLE("gather_nd",
                 Sample{{x({2, 3, 4}), ints({2, 2, 2}, {0, 1, 2, 3, 1, 0, 2, -1})}, {{"batch_dims", int64_t{1}}}}),
      PXL_SAMPLE("scatter_nd", Sample{{x({3, 2, 2}), ints({2, 2}, {2, 0, 0, 1}), x({2, 2}, 1)}}),
      PXL_SAMPLE("hardmax", Sample{{x(m)}, {{"axis", int64_t{0}}}}),
      PXL_SAMPLE("dynamic_slice", Sample{{x({4, 3}), ints({1}, {2})}, {{"axes", Ints{0}}, {"sizes", Ints{2}}}}),
      PXL_SAMPLE("dynamic_slice_grad", Sample{{x({2, 3}), ints({1}, {2})}, {{"axes", Ints{0}}, {"shape", Ints{4, 3}}}}),
      PXL_SAMPLE("dynamic_update dynamic_update_",
                 Sample{{x({4, 3}), ints({1}, {1}), x({2, 3}, 1)}, {{"axes", Ints{0}}, {"sizes", Ints{2}}}}),
      PXL_SAMPLE("onehot", Sample{{whole({3}, 4), {}, x({2})}, {{"num_classes", int64_t{4}}}}),
      PXL_SAMPLE("onehot_grad",
                 Sample{{x({3, 4}), whole({3}, 4)}, {{"num_classes", int64_t{4}}, {"axis", int64_t{1}}}}),
      PXL_SAMPLE("sum_duplicates", Sample{{ints({4}, {2, 0, 2, 3}), x({4, 2})}, {{"extent", int64_t{5}}}}),
      PXL_SAMPLE("index_copy_", Sample{{x({4, 3}), ints({2}, {3, 1}), x({2, 3}, 1)}}),
      PXL_SAMPLE("sparse_accumulate_", Sample{{x({4, 3}), x({2, 3}, 1), ints({2}, {1, 1})}}),
  };
}

}  // namespace pxl::test
