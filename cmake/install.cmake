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
# The plug-in for TensorFlow Lite's interpreters. Nothing links it.
install(TARGETS halyard_tflite_delegate LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
# A separate component: applications need no C++ library for formatting.
install(TARGETS halyard_driver EXPORT halyardDriverTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS halyard halyard-kit RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY include/android include/halyard DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

install(EXPORT halyardTargets NAMESPACE halyard::
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/halyard)
install(EXPORT halyardDriverTargets NAMESPACE halyard::
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/halyard)
configure_package_config_file(packaging/halyardConfig.cmake.in
  ${PROJECT_BINARY_DIR}/halyardConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/halyard)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/halyardConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/halyardConfig.cmake
  ${PROJECT_BINARY_DIR}/halyardConfigVersion.cmake cmake/halyardDriver.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/halyard)

# The path from P/lib/pkgconfig back to P, so that an installation can be moved.
file(RELATIVE_PATH HALYARD_PC_TO_PREFIX /p/${CMAKE_INSTALL_LIBDIR}/pkgconfig /p)
string(REGEX REPLACE "/$" "" HALYARD_PC_TO_PREFIX "${HALYARD_PC_TO_PREFIX}")
foreach(package halyard halyard-driver)
  configure_file(packaging/${package}.pc.in ${PROJECT_BINARY_DIR}/${package}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${package}.pc
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()
install(FILES LICENSE README.md docs/write_a_driver.md docs/driver_requirements.md docs/caching.md
  docs/benchmark.md docs/cache_format.md
  docs/conformance.md docs/doctor.md docs/environment.md docs/extensions.md docs/isolation.md docs/litert.md docs/partitioning.md
  docs/quality_of_service.md docs/reference_driver.md docs/serve.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs/pictures DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY tests/vectors/ DESTINATION ${CMAKE_INSTALL_DATADIR}/halyard/vectors
  FILES_MATCHING PATTERN *.jsonl.gz PATTERN cases EXCLUDE)
# The models and scripts that the area "models" of `halyard validate` runs, with the bridge to
# LiteRT.
install(DIRECTORY models/ DESTINATION ${CMAKE_INSTALL_DATADIR}/halyard/models
  FILES_MATCHING PATTERN *.tflite PATTERN *_labels.txt PATTERN images/*)
install(FILES bench/peers/peers/__init__.py bench/peers/peers/peer_worker.py
  DESTINATION ${CMAKE_INSTALL_DATADIR}/halyard/peers/peers)
# The skeleton of a driver, for copies.
install(DIRECTORY drivers/null DESTINATION ${CMAKE_INSTALL_DOCDIR}/drivers
  PATTERN *_test.cc EXCLUDE)

# Units for drivers as services, and for the server of models. systemd finds them when the prefix is
# /usr or /usr/local.
set(HALYARD_SYSTEMD_DIR lib/systemd/system CACHE STRING "Folder for systemd's units")
set(HALYARD_FULL_DRIVER_DIR ${CMAKE_INSTALL_FULL_LIBEXECDIR}/halyard/drivers)
configure_file(packaging/systemd/halyard-driver@.service.in
  ${PROJECT_BINARY_DIR}/systemd/halyard-driver@.service @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/systemd/halyard-driver@.service
  packaging/systemd/halyard-driver@.socket DESTINATION ${HALYARD_SYSTEMD_DIR})
if(TARGET halyard-serve)
  configure_file(packaging/systemd/halyard-serve.service.in
    ${PROJECT_BINARY_DIR}/systemd/halyard-serve.service @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/systemd/halyard-serve.service
    DESTINATION ${HALYARD_SYSTEMD_DIR})
  install(FILES packaging/systemd/halyard-serve.sysusers DESTINATION lib/sysusers.d
    RENAME halyard-serve.conf)
endif()
