# Toolchain for aarch64 on another machine: Debian's cross compiler, libraries from
# tools/cross/aarch64_packages.sh, tests under qemu-user. See CONTRIBUTING.md.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)

get_filename_component(packages ${CMAKE_CURRENT_LIST_DIR}/../build/aarch64-packages ABSOLUTE)
if(NOT EXISTS ${packages}/.packages)
  message(FATAL_ERROR "${packages} has no libraries: "
    "tools/cross/aarch64_packages.sh build/aarch64-packages gets them")
endif()
set(CMAKE_FIND_ROOT_PATH ${packages})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
# Debian's folder for headers that differ between architectures.
set(CMAKE_CXX_STANDARD_INCLUDE_DIRECTORIES ${packages}/usr/include/aarch64-linux-gnu)
set(libraries ${packages}/usr/lib/aarch64-linux-gnu)
foreach(kind EXE SHARED MODULE)
  set(CMAKE_${kind}_LINKER_FLAGS_INIT "-Wl,-rpath-link,${libraries}")
endforeach()

set(CMAKE_CROSSCOMPILING_EMULATOR ${CMAKE_CURRENT_LIST_DIR}/../tools/cross/qemu_aarch64.sh)
