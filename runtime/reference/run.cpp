// Running definitions.
#include <memory>

#include "runtime/op/definitions.hpp"
#include "runtime/reference/context.hpp"

namespace pxl {

namespace {

/// A site that owns its specs.
struct OwnedSite {
  std::vector<TensorSpec> in, out;
  std::vector<const TensorSpec*> slots;
  Attributes attrs;
  OpContext site;

  explicit OwnedSite(const OpContext& s) : out(s.out.begin(), s.out.end()), attrs(s.attrs), site{s.row, {}, attrs} {
    for (const TensorSpec* spec : s.in) in.push_back(spec ? *spec : TensorSpec{});
    for (size_t i = 0; i < in.size(); ++i) slots.push_back(s.in[i] ? &in[i] : nullptr);
    site.in = slots;
    site.out = out;
  }
};

}  // namespace

Kernel definition_kernel(const OpContext& site) {
  return [own = std::make_shared<const OwnedSite>(site)](const Buffers& buffers) {
    ReferenceContext context(own->site, buffers);
    own->site.row.definition(context);
  };
}

Kernel kernel_of(const OpContext& site) { return site.row.kernel ? site.row.kernel(site) : definition_kernel(site); }

}  // namespace pxl
