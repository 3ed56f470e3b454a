// The tables of members, in the order of the reference page. Each table is defined beside its class.
#include "interpreter/values/members.hpp"

#include "runtime/base/never_destroyed.hpp"

namespace pxl {

MemberTable str_members();
MemberTable list_members();
MemberTable dict_members();
MemberTable dtype_members();
MemberTable spec_members();
MemberTable array_members();
MemberTable tensor_members();
MemberTable stream_members();
MemberTable graph_members();
MemberTable bound_graph_members();
MemberTable call_info_members();
MemberTable gradients_members();
MemberTable gradient_graph_members();
MemberTable op_members();
MemberTable tree_members();
MemberTable factories_members();
MemberTable variable_factory_members();
MemberTable module_instance_members();
MemberTable record_members();
MemberTable program_ir_members();
MemberTable replica_grouping_members();
MemberTable remote_buffer_members();
MemberTable pipeline_members();
MemberTable error_members();
MemberTable dataset_members();
MemberTable batches_members();
MemberTable replay_members();
MemberTable session_members();
MemberTable run_result_members();

const std::vector<MemberTable>& member_tables() {
  static const auto& tables = never_destroyed(std::vector<MemberTable>{
      str_members(),
      list_members(),
      dict_members(),
      dtype_members(),
      spec_members(),
      array_members(),
      tensor_members(),
      stream_members(),
      graph_members(),
      bound_graph_members(),
      call_info_members(),
      gradients_members(),
      gradient_graph_members(),
      op_members(),
      tree_members(),
      factories_members(),
      variable_factory_members(),
      module_instance_members(),
      record_members(),
      program_ir_members(),
      replica_grouping_members(),
      remote_buffer_members(),
      pipeline_members(),
      error_members(),
      dataset_members(),
      batches_members(),
      replay_members(),
      session_members(),
      run_result_members(),
  });
  return tables;
}

}  // namespace pxl
