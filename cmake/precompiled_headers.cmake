# Precompiled headers: the compiler parses external headers that most files of one kind include
# once. A file still includes every header that it uses. Files are compiled without precompiled
# headers when HALYARD_PRECOMPILED_HEADERS is off, and in the preset aarch64.
option(HALYARD_PRECOMPILED_HEADERS "Parse the headers that most files include once" ON)

set(halyard_standard_headers <algorithm> <array> <atomic> <chrono> <cstddef> <cstdint> <cstring>
  <functional> <map> <memory> <mutex> <optional> <set> <span> <string> <string_view> <utility>
  <variant> <vector> <fmt/format.h> <fmt/ranges.h>)
# library: for shared libraries too.  kernels, quick: with their optimisation.  test: with GoogleTest.
# rpc: a library with Cap'n Proto's RPC.
foreach(kind library kernels quick)
  set(halyard_headers_${kind} ${halyard_standard_headers})
endforeach()
set(halyard_headers_test ${halyard_standard_headers} <gmock/gmock.h> <gtest/gtest.h>)
set(halyard_headers_rpc ${halyard_standard_headers} <capnp/rpc-twoparty.h> <kj/async-io.h>)
set(halyard_flags_kernels ${halyard_kernel_options})
set(halyard_flags_quick ${halyard_quick_options})
set(halyard_libraries_test GTest::gtest GTest::gmock)
set(halyard_libraries_rpc CapnProto::capnp-rpc)

# halyard_precompile(TARGET KIND): TARGET uses the precompiled header of KIND. Its flags for code
# generation must equal those of the header's own target. GCC 12 compiles functions for certain
# instructions (the attribute target) with the optimisation of the header, not of the file.
# tools/checks/binaries.py compares the flags.
function(halyard_precompile target kind)
  if(NOT HALYARD_PRECOMPILED_HEADERS)
    return()
  endif()
  set(holder halyard_precompiled_${kind})
  if(NOT TARGET ${holder})
    set(source ${PROJECT_BINARY_DIR}/${holder}.cc)
    file(CONFIGURE OUTPUT ${source} CONTENT "// Compiled for its precompiled header.\n")
    add_library(${holder} OBJECT ${source})
    target_link_libraries(${holder} PRIVATE halyard_options fmt::fmt ${halyard_libraries_${kind}})
    target_precompile_headers(${holder} PRIVATE ${halyard_headers_${kind}})
    target_compile_options(${holder} PRIVATE ${halyard_flags_${kind}})
    if(kind STREQUAL "test")
      # The same flags as for programs.
      set_target_properties(${holder} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
      target_compile_options(${holder} PRIVATE -fPIE ${halyard_test_options})
    endif()
  endif()
  target_precompile_headers(${target} REUSE_FROM ${holder})
  if(kind STREQUAL "test")
    # The header was compiled with the definitions of fmt.
    target_link_libraries(${target} PRIVATE fmt::fmt)
  elseif(kind STREQUAL "rpc")
    # GCC 12 warns of KJ's own code when it comes from a precompiled header.
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds>)
  endif()
endfunction()
