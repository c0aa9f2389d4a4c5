// Completion scripts for shells from the facts of commands.
// Thread safety: pure functions. Ownership: results own their texts.
//
// A script completes commands, options, choices, files and folders. A command of another program,
// such as `halyard serve`, completes as that program, halyard-serve, does.
#pragma once

#include <string>

#include "command_line/command_facts.h"

namespace halyard::command_line {

std::string bashCompletion(const CommandFacts& program);
std::string zshCompletion(const CommandFacts& program);
std::string fishCompletion(const CommandFacts& program);

}  // namespace halyard::command_line
