// A command of `halyard` whose code is in another program of the same folder.
// Thread safety: one thread parses and runs. Ownership: CLI::App objects belong to their parent.
#pragma once

#include <string>
#include <vector>

#include "tools/halyard/command.h"

namespace halyard::cli {

struct OtherProgram {
  std::string command;  // "validate"
  std::string description;
  // The command line that does the same, without arguments: {"halyard-kit", "validate"}.
  std::vector<std::string> words;
  // The program's argv[0].
  std::string name;
};

// The command replaces this process by the other program, with all arguments that follow it.
// OP_FAILED if that program is not installed.
Command addOtherProgram(CLI::App& parent, const OtherProgram& other);

}  // namespace halyard::cli
