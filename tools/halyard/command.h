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
  bool misuse = false;    // the error is in how the command was called
  bool reported = false;  // the command's output has told of the error already
};

// One subcommand: its parser, and what it does once the options are parsed.
struct Command {
  CLI::App* app = nullptr;
  std::function<CommandResult()> run;
};

// Each adds its subcommand and options to `parent`; main lists them.
Command addDevicesCommand(CLI::App& parent);
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
// A client of crash-test's, not for people.
Command addStressClientCommand(CLI::App& parent);
Command addBenchCommand(CLI::App& parent);
Command addValidateCommand(CLI::App& parent);

}  // namespace halyard::cli
