// halyard-kit: the commands that check drivers.
#include <errno.h>

#include <string>

#include "tools/halyard/kit_commands.h"
#include "tools/halyard/program.h"

int main(int argc, char** argv) {
  using namespace halyard::cli;
  // `halyard` starts this program under its own name.
  const std::string name = program_invocation_short_name;
  CLI::App app("Checks of drivers and devices", name == kKitProgram ? name : "halyard");
  return runProgram(app, addKitCommands(app), argc, argv);
}
