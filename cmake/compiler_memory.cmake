# What a build without ccache takes memory for: larger batches, and a GCC that does not look for garbage before it has a
# gigabyte of it, which is up to a seventh of its time. A batch of 32 files takes up to 1.4 GiB, a whole layer up to 2.1 GiB,
# so that each of ninja's processes needs 1.5 or 2.2 GiB. With ccache neither depends on the machine, since other options are other entries
# of the cache.
cmake_host_system_information(RESULT memory_mib QUERY TOTAL_PHYSICAL_MEMORY)
cmake_host_system_information(RESULT cores QUERY NUMBER_OF_LOGICAL_CORES)
math(EXPR compiler_mib "${memory_mib} / (${cores} + 2)")
if(compiler_mib LESS 1536)
  set(files_in_a_batch 21)
elseif(compiler_mib LESS 2253)
  set(files_in_a_batch 32)
else()
  set(files_in_a_batch 128)
endif()
if(compiler_mib GREATER_EQUAL 1536 AND CMAKE_CXX_COMPILER_ID STREQUAL GNU AND NOT PXL_SANITIZE)
  add_compile_options(--param=ggc-min-heapsize=1048576)
endif()
# What GCC warns of depends on what it sees in one batch, so that no test has seen the warnings of these. They are no errors, and
# without the false one of inlined strings: an append of too many bytes.
set(batches_differ ON)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  add_compile_options(-Wno-stringop-overflow)
endif()
