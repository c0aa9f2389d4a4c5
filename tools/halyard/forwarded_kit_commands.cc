#include <errno.h>

#include "tools/halyard/kit_commands.h"
#include "tools/halyard/other_program.h"

namespace halyard::cli {

std::vector<Command> addKitCommands(CLI::App& parent) {
  std::vector<Command> commands;
  for (const KitCommand& command : kKitCommands) {
    // The kit speaks in the name of this program, and repeats it in commands for the user.
    commands.push_back(addOtherProgram(
        parent,
        {command.name, command.description, {kKitProgram, command.name}, program_invocation_name}));
  }
  return commands;
}

}  // namespace halyard::cli
