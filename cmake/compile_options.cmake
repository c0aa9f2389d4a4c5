# Language, warnings and sanitizers for every target of the project.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 99)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
set(CMAKE_INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
# -O3 makes copies of loops and functions. Only kernels gain from them (halyard_library's KERNELS).
# With traps, GCC does not vectorise loops that choose between two floats. No kernel reads exception
# flags. Packagers build the configuration None with flags of their own.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
set(halyard_kernel_options -fno-trapping-math $<$<CONFIG:Release,None>:-O3>)
# For the kit and the command line, which mostly call other code. They compile a third faster with it.
set(halyard_quick_options $<$<CONFIG:Release,None>:-O1>)

find_program(HALYARD_CCACHE ccache)
if(HALYARD_CCACHE)
  # An object compiled in one checkout is found from another. ccache requires this sloppiness for
  # precompiled headers.
  set(launcher ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
    CCACHE_SLOPPINESS=pch_defines,time_macros ${HALYARD_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
endif()

# Keeps the code of a library in memory until the process ends, even after dlclose(): its threads
# still run, and calls may be in progress. halyard_install_driver does the same for out-of-tree
# drivers.
foreach(kind SHARED MODULE)
  string(APPEND CMAKE_${kind}_LINKER_FLAGS " -Wl,-z,nodelete")
endforeach()

# ccache reads from the compiler's output which precompiled header a file used.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)
else()
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>")
endif()

find_package(Threads REQUIRED)

add_library(halyard_options INTERFACE)
target_compile_options(halyard_options INTERFACE -Wall -Wextra)
# GCC 12 warns of overlapping copies (GCC bug 105651) and of endless comparisons inside std::string
# that cannot happen.
target_compile_options(halyard_options INTERFACE
  $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-restrict;-Wno-stringop-overread>)
# Files of a batch see each other's names, and GCC takes them for files that others include.
if(HALYARD_UNITY)
  target_compile_options(halyard_options INTERFACE
    $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>)
else()
  target_compile_options(halyard_options INTERFACE -Wshadow)
endif()
target_include_directories(halyard_options INTERFACE ${PROJECT_SOURCE_DIR}/src
  ${PROJECT_SOURCE_DIR}/include)
target_link_libraries(halyard_options INTERFACE Threads::Threads)

if(HALYARD_SANITIZE)
  # Line numbers and moderate speed, for a third of the build time.
  set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O1 -g1")
  set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O1 -g1")
  add_compile_options(-fsanitize=${HALYARD_SANITIZE} -fno-omit-frame-pointer
    -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${HALYARD_SANITIZE})
  # A program in C links the sanitizer's runtime for the C++ in the project's libraries.
  add_link_options($<$<LINK_LANG_AND_ID:C,Clang>:-fsanitize-link-c++-runtime>
    $<$<LINK_LANG_AND_ID:C,Clang>:-lstdc++>)
endif()
if(HALYARD_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
