# Manual pages and completion scripts. The built programs write them from their own options
# (src/command_line). A build for another machine, or with a sanitizer, leaves them out.
set(HALYARD_ZSH_DIR ${CMAKE_INSTALL_DATADIR}/zsh/site-functions CACHE STRING
  "Folder for completion scripts of zsh")
if(CMAKE_CROSSCOMPILING OR HALYARD_SANITIZE)
  return()
endif()
set(programs halyard halyard-kit)
if(TARGET halyard-serve)
  list(APPEND programs halyard-serve)
endif()
set(folder ${PROJECT_BINARY_DIR}/help)
set(commands)
foreach(program IN LISTS programs)
  foreach(kind man bash zsh fish)
    list(APPEND commands COMMAND ${program} --help-pages ${kind} ${folder}/${kind})
  endforeach()
endforeach()
add_custom_command(OUTPUT ${folder}/written
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${folder}
  ${commands}
  COMMAND ${CMAKE_COMMAND} -E touch ${folder}/written
  DEPENDS ${programs}
  COMMENT "Writing manual pages and completion scripts"
  VERBATIM)
add_custom_target(halyard_help_pages ALL DEPENDS ${folder}/written)

install(DIRECTORY ${folder}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(DIRECTORY ${folder}/bash/ DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(DIRECTORY ${folder}/zsh/ DESTINATION ${HALYARD_ZSH_DIR})
install(DIRECTORY ${folder}/fish/ DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
