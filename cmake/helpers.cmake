include(GoogleTest)

include(cmake/precompiled_headers.cmake)

# Most of a file's compilation is code of the templates and headers that it includes. Together, files
# of a batch take a half to two thirds of that time. Names in unnamed namespaces are unique in their
# target for that. The presets debug and aarch64 compile each file alone (HALYARD_UNITY is OFF).
function(halyard_batches target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${HALYARD_UNITY} UNITY_BUILD_BATCH_SIZE 8)
endfunction()

# halyard_library(NAME SOURCES... [LIBRARIES...] [HEADERS kind] [KERNELS]): a static library inside
# the project. HEADERS: the precompiled header of its sources, by default that of its folder. KERNELS:
# it is optimised most, and each operation's file is compiled alone.
set(halyard_folder_headers library)
function(halyard_library name)
  cmake_parse_arguments(ARG "KERNELS" "HEADERS" "SOURCES;LIBRARIES" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  if(ARG_KERNELS)
    set(ARG_HEADERS kernels)
    target_compile_options(${name} PRIVATE ${halyard_kernel_options})
  else()
    halyard_batches(${name})
    if(NOT ARG_HEADERS)
      set(ARG_HEADERS ${halyard_folder_headers})
    endif()
  endif()
  target_link_libraries(${name} PUBLIC halyard_options fmt::fmt ${ARG_LIBRARIES})
  halyard_precompile(${name} ${ARG_HEADERS})
endfunction()

# A test runs once. Optimising it takes longer than that run, so it is not optimised.
set(halyard_test_options $<$<CONFIG:Release>:-O0>)

# halyard_test(NAME SOURCES... [LIBRARIES...] [DEFINITIONS...] [PATHS NAME=path...] [LABELS...]
#   [ENVIRONMENT...] [FORBIDDEN expression]): a GoogleTest program that ctest runs from the source
# folder. The header test_definitions.h defines HALYARD_SOURCE_DIR, HALYARD_BINARY_DIR and the PATHS
# as strings. On the command line they would prevent hits of ccache in another checkout. LABELS:
# "threads" marks tests for ThreadSanitizer, "slow" marks tests that sanitizers leave out. FORBIDDEN:
# output that fails a test.
function(halyard_test name)
  if(NOT HALYARD_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "FORBIDDEN" "SOURCES;LIBRARIES;DEFINITIONS;PATHS;LABELS;ENVIRONMENT"
    ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LIBRARIES} halyard_options GTest::gtest GTest::gmock
    GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE ${ARG_DEFINITIONS})
  target_compile_options(${name} PRIVATE ${halyard_test_options})
  halyard_precompile(${name} test)
  halyard_batches(${name})
  set(header "#pragma once\n")
  foreach(path HALYARD_SOURCE_DIR=${PROJECT_SOURCE_DIR} HALYARD_BINARY_DIR=${PROJECT_BINARY_DIR}
      ${ARG_PATHS})
    string(REGEX REPLACE "^([A-Z_]+)=(.*)$" "#define \\1 \"\\2\"\n" line "${path}")
    string(APPEND header "${line}")
  endforeach()
  set(header_folder ${CMAKE_CURRENT_BINARY_DIR}/${name}_definitions)
  file(GENERATE OUTPUT ${header_folder}/test_definitions.h CONTENT "${header}")
  target_include_directories(${name} PRIVATE ${header_folder})
  set(properties)
  if(ARG_LABELS)
    list(APPEND properties LABELS ${ARG_LABELS})
  endif()
  if(ARG_ENVIRONMENT)
    # The variables stay one element of three lists: this one, that of the call below, and that of the
    # script that it writes.
    string(REPEAT "\\" 8 escapes)
    string(REPLACE ";" "${escapes};" environment "${ARG_ENVIRONMENT}")
    list(APPEND properties ENVIRONMENT "${environment}")
  endif()
  if(ARG_FORBIDDEN)
    list(APPEND properties FAIL_REGULAR_EXPRESSION ${ARG_FORBIDDEN})
  endif()
  if(properties)
    list(PREPEND properties PROPERTIES)
  endif()
  gtest_discover_tests(${name} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
    DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60 ${properties})
endfunction()

# halyard_fuzzer(NAME SOURCES... [LIBRARIES...] [SEEDS folder] [DICTIONARY file]): a libFuzzer
# program, in the asan preset only, part of the target `fuzzers`. The file NAME.seeds beside it
# lists its seeds and its dictionary for `halyard fuzz`. Paths in it are relative to the file, in
# the build tree and in an installation.
function(halyard_fuzzer name)
  if(NOT HALYARD_FUZZ)
    return()
  endif()
  cmake_parse_arguments(ARG "" "SEEDS;DICTIONARY" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LIBRARIES} halyard_options)
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  if(NOT TARGET fuzzers)
    add_custom_target(fuzzers)
  endif()
  add_dependencies(fuzzers ${name})
  set(list)
  set(installed)
  set(share ../../../${CMAKE_INSTALL_DATADIR}/halyard/fuzz/${name})
  foreach(kind SEEDS DICTIONARY)
    if(ARG_${kind})
      string(TOLOWER ${kind} word)
      file(RELATIVE_PATH path ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}
        ${CMAKE_CURRENT_SOURCE_DIR}/${ARG_${kind}})
      string(APPEND list "${word} ${path}\n")
      string(APPEND installed "${word} ${share}/${word}\n")
    endif()
  endforeach()
  file(GENERATE OUTPUT ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/${name}.seeds CONTENT "${list}")
  file(GENERATE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${name}.seeds CONTENT "${installed}")
  set(libexec ${CMAKE_INSTALL_LIBEXECDIR}/halyard/fuzz)
  install(TARGETS ${name} RUNTIME DESTINATION ${libexec} COMPONENT fuzz EXCLUDE_FROM_ALL)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${name}.seeds DESTINATION ${libexec} COMPONENT fuzz
    EXCLUDE_FROM_ALL)
  if(ARG_SEEDS)
    install(DIRECTORY ${ARG_SEEDS}/ COMPONENT fuzz EXCLUDE_FROM_ALL
      DESTINATION ${CMAKE_INSTALL_DATADIR}/halyard/fuzz/${name}/seeds)
  endif()
  if(ARG_DICTIONARY)
    install(FILES ${ARG_DICTIONARY} COMPONENT fuzz EXCLUDE_FROM_ALL RENAME dictionary
      DESTINATION ${CMAKE_INSTALL_DATADIR}/halyard/fuzz/${name})
  endif()
endfunction()

# halyard_shared_library(TARGET OUTPUT MAP): makes TARGET libOUTPUT.so with a SONAME. It exports
# only the names in the version script MAP.
function(halyard_shared_library target output map)
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${output} VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR} LINK_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${map})
  target_link_options(${target} PRIVATE
    -Wl,--version-script=${CMAKE_CURRENT_SOURCE_DIR}/${map} -Wl,-z,relro,-z,now)
  # The sanitizers' functions come from the executable.
  if(NOT HALYARD_SANITIZE)
    target_link_options(${target} PRIVATE -Wl,-z,defs)
  endif()
endfunction()
