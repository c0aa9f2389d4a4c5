#include "command_line/man_page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

namespace halyard::command_line {
namespace {

// Text for the middle of a line. `hyphens`: keeps each '-' as the sign that a user types.
std::string escaped(const std::string& text, bool hyphens = false) {
  std::string result;
  for (const char letter : text) {
    if (letter == '\\') {
      result += "\\e";
    } else if (letter == '-' && hyphens) {
      result += "\\-";
    } else {
      result += letter;
    }
  }
  return result;
}

// Lines of text. A line must not begin as a request does.
std::string lines(const std::string& text) {
  std::string result;
  size_t from = 0;
  while (from <= text.size()) {
    const size_t end = std::min(text.find('\n', from), text.size());
    const std::string line = text.substr(from, end - from);
    if (!line.empty() && (line[0] == '.' || line[0] == '\'')) result += "\\&";
    result += escaped(line) + "\n";
    from = end + 1;
  }
  return result;
}

// A footer has tables and examples, so it keeps its lines.
std::string verbatim(const std::string& text) { return ".nf\n" + lines(text) + ".fi\n"; }

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::toupper(letter)); });
  return text;
}

std::string italicValue(const OptionFacts& option) {
  return option.value.empty() ? "" : " \\fI" + escaped(option.value, true) + "\\fR";
}

std::string entry(const OptionFacts& option, bool isArgument) {
  std::string names;
  for (const std::string& name : option.names) {
    if (!names.empty()) names += ", ";
    names += (isArgument ? "\\fI" : "\\fB") + escaped(name, true) + "\\fR";
  }
  const std::string text =
      option.description.empty() ? "Not described.\n" : lines(option.description);
  return ".TP\n" + names + (isArgument ? "" : italicValue(option)) + "\n" + text;
}

std::string list(const std::vector<OptionFacts>& options, bool areArguments) {
  std::string result;
  for (const OptionFacts& option : options) result += entry(option, areArguments);
  return result;
}

std::string synopsis(const CommandFacts& command) {
  std::string line = "\\fB" + escaped(command.joined(' '), true) + "\\fR";
  if (!command.options.empty()) line += " [\\fIOPTION\\fR]...";
  for (const OptionFacts& argument : command.arguments) {
    const std::string label =
        "\\fI" + escaped(argument.names.front(), true) + "\\fR" + (argument.repeats ? "..." : "");
    line += argument.required ? " " + label : " [" + label + "]";
  }
  if (!command.commands.empty()) line += " \\fICOMMAND\\fR ...";
  return line + "\n";
}

// The commands of a command, each with its options.
std::string innerCommands(const CommandFacts& command) {
  std::string result;
  for (const CommandFacts& inner : command.commands) {
    result += ".SS " + escaped(inner.joined(' '), true) + "\n" + lines(inner.description) +
              ".PP\n" + synopsis(inner) + list(inner.arguments, true) + list(inner.options, false);
  }
  return result;
}

std::string programCommands(const CommandFacts& program) {
  std::string result;
  for (const CommandFacts& command : program.commands) {
    const auto& words = command.otherProgram.empty() ? command.words : command.otherProgram;
    const std::string name = fmt::format("{}", fmt::join(words, "-"));
    result += ".TP\n\\fB" + escaped(name, true) + "\\fR(1)\n" + lines(command.description);
  }
  return result;
}

std::string page(const CommandFacts& command, bool isProgram, const std::string& seeAlso,
                 const std::string& version, const std::string& date) {
  const std::string name = command.joined();
  std::string text = ".\\\" This page is made from the program's own help.\n";
  text +=
      fmt::format(".TH {} 1 {} \"{}\" \"Halyard\"\n", escaped(upper(name), true), date, version);
  text += fmt::format(".SH NAME\n{} \\- {}\n", escaped(name, true), escaped(command.description));
  text += ".SH SYNOPSIS\n" + synopsis(command);
  if (!command.arguments.empty()) text += ".SH ARGUMENTS\n" + list(command.arguments, true);
  if (!command.options.empty()) text += ".SH OPTIONS\n" + list(command.options, false);
  if (!command.commands.empty()) {
    text += ".SH COMMANDS\n" + (isProgram ? programCommands(command) : innerCommands(command));
  }
  if (!command.footer.empty()) text += ".SH NOTES\n" + verbatim(command.footer);
  if (!seeAlso.empty()) text += ".SH SEE ALSO\n" + seeAlso;
  return text;
}

}  // namespace

std::map<std::string, std::string> manPages(const CommandFacts& program, const std::string& version,
                                            const std::string& date) {
  std::map<std::string, std::string> pages;
  const std::string home = "\\fB" + escaped(program.words.front(), true) + "\\fR(1)\n";
  const bool hasCommands = !program.commands.empty();
  pages[program.joined() + ".1"] =
      page(program, hasCommands, hasCommands ? "" : home, version, date);
  for (const CommandFacts& command : program.commands) {
    if (!command.otherProgram.empty()) continue;
    pages[command.joined() + ".1"] = page(command, false, home, version, date);
  }
  return pages;
}

}  // namespace halyard::command_line
