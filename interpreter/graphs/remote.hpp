// Remote buffers as values.
#pragma once

#include <memory>

#include "interpreter/graphs/modules/trees.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/graph/ir.hpp"

namespace pxl {

/// `remote_buffer(spec, entries)`.
struct RemoteBufferObject final : Object {
  std::shared_ptr<Ir> ir;
  int64_t index;  ///< index in Ir::remote_buffers
  RemoteBuffer buffer;
  RemoteBufferObject(std::shared_ptr<Ir> i, int64_t n)
      : ir(std::move(i)), index(n), buffer(ir->remote_buffers()[static_cast<size_t>(n)]) {}
  std::string type_name() const override { return "remote buffer"; }
  std::string repr(Interpreter&) override;  ///< RemoteBuffer[1 float32[5], 2 entries]
  std::optional<Value> member(Interpreter&, std::string_view) override;
  std::vector<std::string> member_names() const override;
  bool equals(Interpreter&, const Value&) override;
  bool is_handle() const override { return true; }
};

/// Throws unless `v` is a remote buffer that belongs to the program.
const RemoteBufferObject& to_remote_buffer(const Value& v, const std::shared_ptr<Ir>& ir, const char* where);

/// `factories.init_remote(buffers, entry = 0, prefix = "")`: makes a variable for each factory, at an entry of the
/// buffer with the same name.
Value init_remotely(Interpreter& in, TreeObject& factories, const Arguments& args);

}  // namespace pxl
