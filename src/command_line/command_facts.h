// CommandFacts: the commands and options of a CLI::App as plain data, for manual pages and shells.
// Thread safety: plain data and pure functions. Ownership: results own their texts.
#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace halyard::command_line {

// The values that a shell completes.
enum class ValueKind : uint8_t {
  NONE,   // the option takes no value
  OTHER,  // a number, a name
  FILE,   // also folders
  FOLDER,
  CHOICE,  // one of `choices`
};

struct OptionFacts {
  std::vector<std::string> names;  // "-j", "--jobs"; of an argument without dashes: its label
  std::string value;               // as --help shows it, such as FILE or N
  std::string description;
  ValueKind kind = ValueKind::NONE;
  std::vector<std::string> choices;
  bool repeats = false;
  bool required = false;
};

struct CommandFacts {
  std::vector<std::string> words;  // "halyard", "cache", "prune"
  std::string description;
  std::string footer;
  std::vector<OptionFacts> arguments;
  std::vector<OptionFacts> options;
  std::vector<CommandFacts> commands;
  // The words of a command line of another program that has the arguments, such as "halyard-serve".
  // Empty if this program has them.
  std::vector<std::string> otherProgram;

  // "halyard-cache-prune"
  std::string joined(char separator = '-') const;
};

// The other program's words by the name of a command of this program:
// "validate" -> "halyard-kit", "validate".
using OtherPrograms = std::map<std::string, std::vector<std::string>>;

// The visible commands and options of `app`. The words of its name are separated by blanks.
CommandFacts commandFacts(const CLI::App& app, const OtherPrograms& otherPrograms = {});

}  // namespace halyard::command_line
