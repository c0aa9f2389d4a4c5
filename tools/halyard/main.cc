// halyard: the command line.
#include <utility>
#include <vector>

#include "tools/halyard/kit_commands.h"
#include "tools/halyard/other_program.h"
#include "tools/halyard/program.h"

namespace halyard::cli {
namespace {

std::vector<Command> addCommands(CLI::App& app) {
  std::vector<Command> commands = {
      // clang-format off
      addDevicesCommand(app),
      addDoctorCommand(app),
      addRunCommand(app),
      addExplainCommand(app),
      addProfileCommand(app),
      addGraphCommand(app),
      addCacheCommand(app),
      addBenchCommand(app),
      // clang-format on
  };
  for (Command& command : addKitCommands(app)) commands.push_back(std::move(command));
  commands.push_back(addOtherProgram(
      app, {"serve", "Serve models over HTTP and gRPC", {"halyard-serve"}, "halyard-serve"}));
  return commands;
}

}  // namespace
}  // namespace halyard::cli

int main(int argc, char** argv) {
  CLI::App app("Halyard: the Neural Networks API and its drivers", "halyard");
  return halyard::cli::runProgram(app, halyard::cli::addCommands(app), argc, argv);
}
