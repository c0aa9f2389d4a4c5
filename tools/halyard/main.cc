// halyard: the command line.
#include <vector>

#include "tools/halyard/kit_commands.h"
#include "tools/halyard/other_program.h"
#include "tools/halyard/program.h"

int main(int argc, char** argv) {
  using namespace halyard::cli;
  CLI::App app("Halyard: the Neural Networks API and its drivers", "halyard");
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
  return runProgram(app, commands, argc, argv);
}
