// halyard-kit: the commands that check drivers.
#include <errno.h>

#include <string>

#include "tools/halyard/kit_commands.h"
#include "tools/halyard/program.h"

int main(int argc, char** argv) {
  // `halyard` starts this program under its own name.
  const std::string name = program_invocation_short_name;
  CLI::App app("Checks of drivers and devices",
               name == halyard::cli::kKitProgram ? name : "halyard");
  return halyard::cli::runProgram(app, halyard::cli::addKitCommands(app), argc, argv);
}
