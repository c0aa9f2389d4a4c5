// The hidden option --help-pages of Halyard's programs. It writes manual pages and completion
// scripts from the program's own commands and options, so they never differ from --help. Thread
// safety: one thread. Ownership: the option belongs to its CLI::App.
#pragma once

#include <CLI/CLI.hpp>

#include <string>

#include "command_line/command_facts.h"

namespace halyard::command_line {

// Adds "--help-pages KIND DIR" to a program. KIND is man, bash, zsh or fish. The option writes into
// the folder DIR, which it creates, and ends the parse with CLI::Success. A file that cannot be
// written ends it with CLI::FileError. The pages have the date of SOURCE_DATE_EPOCH, or today.
// `version`: "0.3.0". `otherPrograms`: the commands of `app` whose arguments another program has.
void addHelpPages(CLI::App& app, const std::string& version,
                  const OtherPrograms& otherPrograms = {});

// The text of an error of the parser. In those about the hidden option --help-pages, CLI11 leaves
// out its name.
std::string errorText(const CLI::ParseError& error);

}  // namespace halyard::command_line
