#include "tools/halyard/kit_commands.h"

#include "tools/halyard/kit/commands.h"

namespace halyard::cli {

std::vector<Command> addKitCommands(CLI::App& parent) {
  return {addConformanceCommand(parent),  addBisectCommand(parent),    addValidateCommand(parent),
          addRandomGraphsCommand(parent), addCrashTestCommand(parent), addFuzzCommand(parent),
          addStressClientCommand(parent)};
}

}  // namespace halyard::cli
