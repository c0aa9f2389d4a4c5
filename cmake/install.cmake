# cmake --install BUILD --prefix P: libraries, headers, pkg-config and CMake packages, drivers with
# their manifests (drivers/CMakeLists.txt), the command line. Everything is found relative to P.
include(CMakePackageConfigHelpers)

set_target_properties(halyard_c PROPERTIES EXPORT_NAME halyard)
set_target_properties(android_memory PROPERTIES EXPORT_NAME android)
target_include_directories(halyard_c INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_include_directories(neuralnetworks INTERFACE
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_include_directories(android_memory INTERFACE
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)

install(TARGETS neuralnetworks halyard_c android_memory EXPORT halyardTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS halyard RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY include/android include/halyard DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

install(EXPORT halyardTargets NAMESPACE halyard::
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/halyard)
configure_package_config_file(packaging/halyardConfig.cmake.in
  ${PROJECT_BINARY_DIR}/halyardConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/halyard)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/halyardConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/halyardConfig.cmake
  ${PROJECT_BINARY_DIR}/halyardConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/halyard)

# From P/lib/pkgconfig back to P, so that an installation can be moved.
file(RELATIVE_PATH HALYARD_PC_TO_PREFIX /p/${CMAKE_INSTALL_LIBDIR}/pkgconfig /p)
string(REGEX REPLACE "/$" "" HALYARD_PC_TO_PREFIX "${HALYARD_PC_TO_PREFIX}")
configure_file(packaging/halyard.pc.in ${PROJECT_BINARY_DIR}/halyard.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/halyard.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(FILES LICENSE README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
