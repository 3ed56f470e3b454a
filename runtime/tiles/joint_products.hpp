// Products that share a variable: a product and those of its gradients, which may have one layout of the variable.
#pragma once

#include <vector>

#include "runtime/tiles/mapped_program.hpp"

namespace pxl::tiles {

/// y = x w, dx = dy w^T and dw = x^T dy.
struct JointProducts {
  const Op* forward = nullptr;
  const Op *data = nullptr, *weights = nullptr;  ///< null: there is none
};

/// The products of each variable of two axes that has a gradient, also where calls and transpositions lie between them.
std::vector<JointProducts> find_joint_products(const std::vector<GraphInstance>& graphs);

}  // namespace pxl::tiles
