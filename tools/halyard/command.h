// The contract between main and the subcommands of the command line.
// Thread safety: one thread parses and runs. Ownership: CLI::App objects belong to their parent.
#pragma once

#include <CLI/CLI.hpp>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "halyard/driver/status.h"

namespace halyard::cli {

// Exit statuses of the program.
inline constexpr int kSuccess = 0;
inline constexpr int kFailure = 1;
inline constexpr int kMisuse = 2;

struct CommandResult {
  Status status;
  bool misuse = false;    // the command was called with wrong arguments
  bool reported = false;  // the command has already printed the error
};

// The result of an option that does not name one of the existing things, such as a device. BAD_DATA
// is misuse. Any other error prevents the list of these things.
inline CommandResult refusedChoice(Status status) {
  const bool misuse = status.code() == ResultCode::BAD_DATA;
  return {std::move(status), misuse};
}

// One subcommand: its parser, and the function that runs after its options are parsed.
struct Command {
  CLI::App* app = nullptr;
  std::function<CommandResult()> run;
  // The command line of another program that `run` starts; empty if this program has the code.
  std::vector<std::string> otherProgram = {};
};

// Each adds its subcommand and options to `parent`; main lists them.
Command addBenchCommand(CLI::App& parent);
Command addCacheCommand(CLI::App& parent);
Command addDevicesCommand(CLI::App& parent);
Command addDoctorCommand(CLI::App& parent);
Command addExplainCommand(CLI::App& parent);
Command addGraphCommand(CLI::App& parent);
Command addProfileCommand(CLI::App& parent);
Command addRunCommand(CLI::App& parent);

}  // namespace halyard::cli
