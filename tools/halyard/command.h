// The contract between main and the subcommands of the command line.
// Thread safety: one thread parses and runs. Ownership: CLI::App objects belong to their parent.
#pragma once

#include <CLI/CLI.hpp>

#include <functional>

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

// One subcommand: its parser, and the function that runs after its options are parsed.
struct Command {
  CLI::App* app = nullptr;
  std::function<CommandResult()> run;
};

// Each adds its subcommand and options to `parent`; main lists them.
Command addDevicesCommand(CLI::App& parent);
Command addDoctorCommand(CLI::App& parent);
Command addRunCommand(CLI::App& parent);
Command addExplainCommand(CLI::App& parent);
Command addProfileCommand(CLI::App& parent);
Command addGraphCommand(CLI::App& parent);
Command addConformanceCommand(CLI::App& parent);
Command addRandomGraphsCommand(CLI::App& parent);
Command addBisectCommand(CLI::App& parent);
Command addCacheCommand(CLI::App& parent);
Command addFuzzCommand(CLI::App& parent);
Command addCrashTestCommand(CLI::App& parent);
// Runs a client process of crash-test; it is not meant for users.
Command addStressClientCommand(CLI::App& parent);
Command addBenchCommand(CLI::App& parent);
Command addValidateCommand(CLI::App& parent);
// Its arguments are those of halyard-serve (src/serve).
Command addServeCommand(CLI::App& parent);

}  // namespace halyard::cli
