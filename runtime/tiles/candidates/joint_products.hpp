// Products that share a variable: a product and its gradients' products. These products may use one layout of the
// variable.
#pragma once

#include <vector>

#include "runtime/tiles/mapped_program.hpp"

namespace pxl::tiles {

/// y = x w, dx = dy w^T and dw = x^T dy.
struct JointProducts {
  const Op* forward = nullptr;
  const Op *data = nullptr, *weights = nullptr;  ///< null: the gradient does not exist
};

/// Finds the products of each variable that has two axes and a gradient. Calls and transpositions may be between these
/// products.
std::vector<JointProducts> find_joint_products(const std::vector<GraphInstance>& graphs);

}  // namespace pxl::tiles
