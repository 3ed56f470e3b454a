// Rows of the ops that graphs create by themselves: calls, loops, branches, host streams, and Init.
#pragma once

#include <span>

#include "runtime/op/op.hpp"

namespace pxl {

std::span<const OpRow> structural_rows();
const OpRow& call_row();
const OpRow& init_row();
const OpRow& host_load_row();
const OpRow& host_store_row();
const OpRow& remote_load_row();
const OpRow& remote_load_inplace_row();
const OpRow& remote_store_row();

}  // namespace pxl
