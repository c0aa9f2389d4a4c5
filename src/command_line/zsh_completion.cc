#include <fmt/format.h>
#include <fmt/ranges.h>

#include "command_line/completion.h"

namespace halyard::command_line {
namespace {

std::string zshFunction(const CommandFacts& command) { return "_" + command.joined(); }

// Completes a command below the program. The words before its arguments become those that the other
// program expects.
std::string zshCall(const CommandFacts& command) {
  const std::vector<std::string>& other = command.otherProgram;
  if (other.empty()) return zshFunction(command);
  return fmt::format("words=({} $words[2,-1]); (( CURRENT += {} )); _{}", fmt::join(other, " "),
                     other.size() - 1, other.front());
}

// `text` within single quotes, with a backslash before the letters that _arguments interprets.
std::string specText(const std::string& text) {
  std::string result;
  for (const char letter : text) {
    if (letter == '\'') {
      result += "'\\''";
    } else if (letter == '\n') {
      result += ' ';
    } else {
      if (letter == '[' || letter == ']' || letter == ':' || letter == '\\') result += '\\';
      result += letter;
    }
  }
  return result;
}

std::string zshAction(const OptionFacts& option) {
  switch (option.kind) {
    case ValueKind::FILE:
      return "_files";
    case ValueKind::FOLDER:
      return "_files -/";
    case ValueKind::CHOICE:
      return fmt::format("({})", fmt::join(option.choices, " "));
    default:
      return " ";
  }
}

std::string optionSpecs(const OptionFacts& option) {
  std::string result;
  for (const std::string& name : option.names) {
    const bool isLong = name.starts_with("--");
    const std::string value =
        option.value.empty() ? ""
                             : fmt::format(":{}:{}", specText(option.value), zshAction(option));
    result += fmt::format(" \\\n    '{}{}{}[{}]{}'", option.repeats ? "*" : "", name,
                          option.value.empty() ? "" : (isLong ? "=" : "+"),
                          specText(option.description), value);
  }
  return result;
}

std::string argumentSpecs(const CommandFacts& command) {
  std::string result;
  for (const OptionFacts& argument : command.arguments) {
    result += fmt::format(" \\\n    '{}:{}:{}'", argument.repeats ? "*" : "",
                          specText(argument.names.front()), zshAction(argument));
  }
  return result;
}

// The functions of the commands below come first.
void addFunctions(const CommandFacts& command, std::string& text) {
  std::string names;
  std::string cases;
  for (const CommandFacts& inner : command.commands) {
    if (inner.otherProgram.empty()) addFunctions(inner, text);
    names += fmt::format("      '{}:{}'\n", inner.words.back(), specText(inner.description));
    cases += fmt::format("      {}) {} ;;\n", inner.words.back(), zshCall(inner));
  }
  std::string options;
  for (const OptionFacts& option : command.options) options += optionSpecs(option);
  if (command.commands.empty()) {
    text += fmt::format("{}() {{\n  _arguments{}{}\n}}\n", zshFunction(command), options,
                        argumentSpecs(command));
    return;
  }
  text += fmt::format(
      "{}() {{\n  local context state line\n  typeset -A opt_args\n"
      "  _arguments -C{} \\\n    '1:command:->command' '*::argument:->argument'\n"
      "  case $state in\n  command)\n    local -a commands=(\n{}    )\n"
      "    _describe command commands ;;\n"
      "  argument)\n    case $words[1] in\n{}    esac ;;\n  esac\n}}\n",
      zshFunction(command), options, names, cases);
}

}  // namespace

std::string zshCompletion(const CommandFacts& program) {
  std::string text = fmt::format(
      "#compdef {0}\n# Completion of {0} for zsh, made from the program's own options.\n",
      program.joined());
  addFunctions(program, text);
  // zsh loads the file as the body of a function of the same name, for its first use.
  return text + fmt::format("{} \"$@\"\n", zshFunction(program));
}

}  // namespace halyard::command_line
