#include <fmt/format.h>
#include <fmt/ranges.h>

#include "command_line/completion.h"

namespace halyard::command_line {
namespace {

std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char letter : text) {
    if (letter == '\'' || letter == '\\') result += '\\';
    result += letter == '\n' ? ' ' : letter;
  }
  return result + "'";
}

std::string fishValue(const OptionFacts& option) {
  switch (option.kind) {
    case ValueKind::NONE:
      return "";
    case ValueKind::FILE:
      return " -r -F";
    case ValueKind::FOLDER:
      return " -x -a '(__fish_complete_directories)'";
    case ValueKind::CHOICE:
      return " -x -a " + quoted(fmt::format("{}", fmt::join(option.choices, " ")));
    case ValueKind::OTHER:
      return " -x";
  }
  return "";
}

class Writer {
 public:
  explicit Writer(const CommandFacts& program) : program_(program.joined()) {}

  // `seen`: the condition that the command line has the words of `command`; empty for the program.
  void add(const CommandFacts& command, const std::string& seen) {
    if (!command.otherProgram.empty()) {
      addOther(command, seen);
      return;
    }
    std::vector<std::string> names;
    for (const CommandFacts& inner : command.commands) names.push_back(inner.words.back());
    const std::string none =
        names.empty()
            ? seen
            : both(seen, fmt::format("not __fish_seen_subcommand_from {}", fmt::join(names, " ")));
    for (const CommandFacts& inner : command.commands) {
      line(none, fmt::format("-a {} -d {}", inner.words.back(), quoted(inner.description)));
    }
    for (const OptionFacts& option : command.options) addOption(option, none);
    for (const OptionFacts& argument : command.arguments) {
      if (argument.kind == ValueKind::FILE || argument.kind == ValueKind::FOLDER) line(none, "-F");
    }
    for (const CommandFacts& inner : command.commands) {
      add(inner, both(seen, "__fish_seen_subcommand_from " + inner.words.back()));
    }
  }

  std::string text() const { return text_; }

 private:
  static std::string both(const std::string& first, const std::string& second) {
    return first.empty() ? second : first + "; and " + second;
  }
  void line(const std::string& condition, const std::string& rest) {
    text_ += "complete -c " + program_;
    if (!condition.empty()) text_ += " -n " + quoted(condition);
    text_ += " " + rest + "\n";
  }
  void addOption(const OptionFacts& option, const std::string& condition) {
    std::string names;
    for (const std::string& name : option.names) {
      names += name.starts_with("--") ? "-l " + name.substr(2) + " " : "-s " + name.substr(1) + " ";
    }
    line(condition, fmt::format("{}-d {}{}", names, quoted(option.description), fishValue(option)));
  }
  void addOther(const CommandFacts& command, const std::string& seen) {
    const std::string ask = fmt::format(
        "(complete -C \"{} \"(string join ' ' -- (commandline -opc)[{}..-1] (commandline -ct)))",
        fmt::join(command.otherProgram, " "), command.words.size() + 1);
    line(seen, "-a " + quoted(ask));
  }

  std::string program_;
  std::string text_;
};

}  // namespace

std::string fishCompletion(const CommandFacts& program) {
  Writer writer(program);
  writer.add(program, "");
  return fmt::format(
      "# Completion of {0} for fish, made from the program's own options.\n"
      "complete -c {0} -f\n{1}",
      program.joined(), writer.text());
}

}  // namespace halyard::command_line
