# halyard_install_driver(TARGET NAME vendor-name
#   [VERSION V] [HAL_VERSION 1.3] [MANIFEST FILE.json] [ARGUMENTS A...] [FIELDS "JSON members"])
#
# Makes the executable TARGET a driver that Halyard finds:
#   in the build tree   FILE.json in the current binary folder, a manifest that names the built
#                       executable: for HALYARD_DRIVER_FILES and HALYARD_ADD_DRIVER_FILES
#   cmake --install     the executable into libexec/halyard/drivers, a manifest with a relative path
#                       to it into share/halyard/drivers.d
# A TARGET that is a MODULE library becomes a driver for the application's own process in the same
# way (halyard/driver/driver_library.h); it has no ARGUMENTS.
# FILE is NAME by default, VERSION the project's version. Halyard passes ARGUMENTS to the driver at
# each start. FIELDS is text for further fields of the manifest, such as "\"x\": 1". The
# variables HALYARD_BUILD_MANIFEST_DIR and HALYARD_INSTALL_MANIFEST_DIR set the manifests' folders.
include(GNUInstallDirs)

function(halyard_json_string output text)
  string(REPLACE "\\" "\\\\" text "${text}")
  string(REPLACE "\"" "\\\"" text "${text}")
  set(${output} "\"${text}\"" PARENT_SCOPE)
endfunction()

function(halyard_install_driver target)
  cmake_parse_arguments(ARG "" "NAME;VERSION;HAL_VERSION;MANIFEST;FIELDS" "ARGUMENTS" ${ARGN})
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "halyard_install_driver: unknown arguments ${ARG_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT ARG_NAME MATCHES "^[A-Za-z0-9_.]+-[A-Za-z0-9_.]+$")
    message(FATAL_ERROR
      "halyard_install_driver: NAME '${ARG_NAME}' is not of the form vendor-name, with one '-'")
  endif()
  if(NOT ARG_VERSION)
    set(ARG_VERSION "${PROJECT_VERSION}")
  endif()
  if(NOT ARG_HAL_VERSION)
    set(ARG_HAL_VERSION 1.3)
  endif()
  if(NOT ARG_MANIFEST)
    set(ARG_MANIFEST ${ARG_NAME}.json)
  endif()
  set(build_folder ${CMAKE_CURRENT_BINARY_DIR})
  if(HALYARD_BUILD_MANIFEST_DIR)
    set(build_folder ${HALYARD_BUILD_MANIFEST_DIR})
  endif()
  set(manifest_folder ${CMAKE_INSTALL_DATADIR}/halyard/drivers.d)
  if(HALYARD_INSTALL_MANIFEST_DIR)
    set(manifest_folder ${HALYARD_INSTALL_MANIFEST_DIR})
  endif()
  set(driver_folder ${CMAKE_INSTALL_LIBEXECDIR}/halyard/drivers)

  foreach(field NAME VERSION HAL_VERSION)
    halyard_json_string(json_${field} "${ARG_${field}}")
  endforeach()
  set(head "{\n  \"name\": ${json_NAME},\n  \"version\": ${json_VERSION},\n")
  string(APPEND head "  \"hal_version\": ${json_HAL_VERSION},\n")
  get_target_property(type ${target} TYPE)
  set(kind executable)
  if(type STREQUAL "MODULE_LIBRARY")
    set(kind library)
    # Its threads run until the process ends, even after dlclose().
    target_link_options(${target} PRIVATE -Wl,-z,nodelete)
    if(ARG_ARGUMENTS)
      message(FATAL_ERROR "halyard_install_driver: ARGUMENTS are for executables")
    endif()
  endif()
  set(tail "")
  if(ARG_ARGUMENTS)
    set(texts "")
    foreach(argument IN LISTS ARG_ARGUMENTS)
      halyard_json_string(text "${argument}")
      list(APPEND texts "${text}")
    endforeach()
    list(JOIN texts ", " texts)
    string(APPEND tail ",\n  \"arguments\": [${texts}]")
  endif()
  if(ARG_FIELDS)
    string(APPEND tail ",\n  ${ARG_FIELDS}")
  endif()
  string(APPEND tail "\n}\n")

  file(GENERATE OUTPUT ${build_folder}/${ARG_MANIFEST}
    CONTENT "${head}  \"${kind}\": \"$<TARGET_FILE:${target}>\"${tail}")
  # A relative path, so that an installation can be moved.
  file(RELATIVE_PATH up /p/${manifest_folder} /p/${driver_folder})
  set(installed ${CMAKE_CURRENT_BINARY_DIR}/installed/${ARG_MANIFEST})
  file(GENERATE OUTPUT ${installed}
    CONTENT "${head}  \"${kind}\": \"${up}/$<TARGET_FILE_NAME:${target}>\"${tail}")

  file(RELATIVE_PATH libraries /p/${driver_folder} /p/${CMAKE_INSTALL_LIBDIR})
  set_target_properties(${target} PROPERTIES INSTALL_RPATH "$ORIGIN/${libraries}"
    INSTALL_RPATH_USE_LINK_PATH ON)
  # One executable may have several manifests.
  get_target_property(installed_already ${target} HALYARD_DRIVER_INSTALLED)
  if(NOT installed_already)
    install(TARGETS ${target} RUNTIME DESTINATION ${driver_folder}
      LIBRARY DESTINATION ${driver_folder})
    set_target_properties(${target} PROPERTIES HALYARD_DRIVER_INSTALLED ON)
  endif()
  install(FILES ${installed} DESTINATION ${manifest_folder})
endfunction()
