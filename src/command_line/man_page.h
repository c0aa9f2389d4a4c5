// Manual pages from the facts of commands, in the macros of man(7).
// Thread safety: pure functions. Ownership: results own their texts.
#pragma once

#include <map>
#include <string>

#include "command_line/command_facts.h"

namespace halyard::command_line {

// The page of a program and one page for each of its commands, by file name, such as
// "halyard-run.1". A command of a command is a section of its parent's page. A command of another
// program has no page here. `version`: "Halyard 0.3.0". `date`: "2026-01-31".
std::map<std::string, std::string> manPages(const CommandFacts& program, const std::string& version,
                                            const std::string& date);

}  // namespace halyard::command_line
