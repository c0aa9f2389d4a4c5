// halyard: the command line. Parses, runs one subcommand, and turns its result into an exit status.
#include <halyard/halyard.h>

#include <cstdio>
#include <string>
#include <vector>

#include "command_line/help_pages.h"
#include "tools/halyard/command.h"
#include "tools/halyard/terminal.h"

namespace {

using halyard::Status;
using halyard::cli::Command;
using halyard::cli::CommandResult;

// "halyard run: BAD_DATA: ..." on standard error.
void reportError(const std::string& who, const Status& status) {
  const std::string line = fmt::format("{}: {}\n", who, halyard::cli::printable(status.toString()));
  std::fwrite(line.data(), 1, line.size(), stderr);
}

int reportMisuse(const std::string& who, const Status& status) {
  reportError(who, status);
  const std::string hint = fmt::format("Try '{} --help'.\n", who);
  std::fwrite(hint.data(), 1, hint.size(), stderr);
  return halyard::cli::kMisuse;
}

int finish(const std::string& who, const CommandResult& result) {
  if (!result.status.ok() && result.misuse) return reportMisuse(who, result.status);
  const Status flushed = halyard::cli::flushOutput();
  if (!result.status.ok() && !result.reported) reportError(who, result.status);
  if (!flushed.ok()) reportError(who, flushed);
  return result.status.ok() && flushed.ok() ? halyard::cli::kSuccess : halyard::cli::kFailure;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Halyard: the Neural Networks API and its drivers", "halyard");
  app.footer("Exit status: 0 success, 1 failure, 2 misuse.");
  app.set_version_flag("--version", std::string("halyard ") + halyard_version());
  halyard::command_line::addHelpPages(app, halyard_version());
  app.require_subcommand(1);
  const std::vector<Command> commands = {
      // clang-format off
      halyard::cli::addDevicesCommand(app),
      halyard::cli::addDoctorCommand(app),
      halyard::cli::addRunCommand(app),
      halyard::cli::addExplainCommand(app),
      halyard::cli::addProfileCommand(app),
      halyard::cli::addGraphCommand(app),
      halyard::cli::addConformanceCommand(app),
      halyard::cli::addCacheCommand(app),
      halyard::cli::addBenchCommand(app),
      halyard::cli::addBisectCommand(app),
      halyard::cli::addValidateCommand(app),
      halyard::cli::addRandomGraphsCommand(app),
      halyard::cli::addCrashTestCommand(app),
      halyard::cli::addFuzzCommand(app),
      halyard::cli::addStressClientCommand(app),
      halyard::cli::addServeCommand(app),
      // clang-format on
  };
  const auto nameOf = [&] {
    for (const Command& command : commands) {
      if (command.app->parsed()) return "halyard " + command.app->get_name();
    }
    return std::string("halyard");
  };
  // The parser throws exceptions. No exception leaves this function.
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) {
      app.exit(error);  // prints help or version
      return finish("halyard", {});
    }
    return reportMisuse(nameOf(), halyard::badData("{}", error.what()));
  }
  for (const Command& command : commands) {
    if (command.app->parsed()) return finish(nameOf(), command.run());
  }
  return reportMisuse("halyard", halyard::badData("no subcommand"));
}
