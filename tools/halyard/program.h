// Runs a program of several commands: parses, runs one command, and turns its result into an exit
// status.
// Thread safety: one thread.
#pragma once

#include <span>

#include "tools/halyard/command.h"

namespace halyard::cli {

// Adds --version and the hidden --help-pages to `app`. Returns kSuccess, kFailure or kMisuse.
// Errors go to standard error, as "halyard run: BAD_DATA: ...". No exception leaves it.
int runProgram(CLI::App& app, std::span<const Command> commands, int argc, char** argv);

}  // namespace halyard::cli
