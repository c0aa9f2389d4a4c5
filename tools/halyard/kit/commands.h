// The commands of the program halyard-kit.
// Thread safety: one thread parses and runs. Ownership: CLI::App objects belong to their parent.
#pragma once

#include "tools/halyard/command.h"
#include "tools/halyard/kit_commands.h"

namespace halyard::cli {

// Each adds its subcommand and options to `parent`; addKitCommands lists them.
Command addBisectCommand(CLI::App& parent);
Command addConformanceCommand(CLI::App& parent);
Command addCrashTestCommand(CLI::App& parent);
Command addFuzzCommand(CLI::App& parent);
Command addRandomGraphsCommand(CLI::App& parent);
Command addValidateCommand(CLI::App& parent);
// Runs a client process of crash-test; it is not meant for users.
Command addStressClientCommand(CLI::App& parent);

}  // namespace halyard::cli
