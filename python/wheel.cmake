# The contents of a wheel: a component of the installation, with its prefix in halyard/_runtime.
set(runtime halyard/_runtime)
set(drivers halyard-driver-cpu halyard-driver-reference)
set(libraries neuralnetworks halyard_c android_memory)

# A wheel keeps no symbolic links, so each library is one file with the name of its SONAME.
set_target_properties(${libraries} PROPERTIES VERSION ${PROJECT_VERSION_MAJOR})
set_target_properties(halyard_python PROPERTIES INSTALL_RPATH "$ORIGIN/_runtime/lib")
if(TARGET halyard_tflite_delegate)
  # Programs name a delegate by its file, so that file has the plain name.
  set_property(TARGET halyard_tflite_delegate PROPERTY VERSION)
  set_property(TARGET halyard_tflite_delegate PROPERTY SOVERSION)
  list(APPEND libraries halyard_tflite_delegate)
endif()
# A wheel has a limit of size. The time of this code does not matter: the command line, the kit, and
# the work before an execution.
foreach(target
    halyard_cli
    halyard_cli_kit
    halyard_cli_program
    halyard_cli_texts
    halyard_client_session
    halyard_command_line
    halyard_conformance
    halyard_hal_fuzz
    halyard_hal_manifest
    halyard_hal_sandbox
    halyard_hal_wire
    halyard_import
    halyard_measure
    halyard_misuse
    halyard_model_validation
    halyard_random_graphs
    halyard_report
    halyard_tflite_delegate_core
    halyard_validation
    halyard_validation_conformance
    halyard_validation_crash
    halyard_validation_cts
    halyard_validation_hostile
    halyard_validation_kit
    halyard_validation_models
    halyard_validation_random_graphs
    halyard_validation_vts
    halyard_workloads)
  target_compile_options(${target} PRIVATE -Os)
endforeach()
# Five files contain the reference kernels. Without the copies of loops and functions that -O3 makes,
# models take at most a tenth more time on the runtime's own CPU device.
target_compile_options(halyard_ops PRIVATE -O2 -ftree-vectorize -fvect-cost-model=dynamic)
add_custom_target(halyard_wheel
  DEPENDS halyard_python halyard_python_stub halyard ${drivers} ${libraries})

install(TARGETS halyard_python DESTINATION halyard COMPONENT python)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/halyard/_core.pyi DESTINATION halyard COMPONENT python)
install(TARGETS ${libraries} LIBRARY DESTINATION ${runtime}/lib COMPONENT python NAMELINK_SKIP)
install(TARGETS halyard RUNTIME DESTINATION ${runtime}/bin COMPONENT python)
install(TARGETS ${drivers} RUNTIME DESTINATION ${runtime}/libexec/halyard/drivers COMPONENT python)
foreach(manifest cpu/installed/cpu.json reference/installed/reference.json)
  install(FILES ${PROJECT_BINARY_DIR}/drivers/${manifest}
    DESTINATION ${runtime}/share/halyard/drivers.d COMPONENT python)
endforeach()
foreach(sample device_memory float_fast float_slow minimal quant)
  install(FILES ${PROJECT_BINARY_DIR}/drivers/reference/installed/${sample}.json
    DESTINATION ${runtime}/share/halyard/samples COMPONENT python)
endforeach()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/drivers/reference/personalities/
  DESTINATION ${runtime}/share/halyard/samples/personalities COMPONENT python)
