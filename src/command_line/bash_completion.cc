#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "command_line/completion.h"

namespace halyard::command_line {
namespace {

// The name of a shell's function for a program, such as "halyard-serve".
std::string bashFunction(std::string program) {
  std::replace(program.begin(), program.end(), '-', '_');
  return "_" + program;
}

std::string bashAction(const OptionFacts& option) {
  switch (option.kind) {
    case ValueKind::FILE:
      return "_files";
    case ValueKind::FOLDER:
      return "_folders";
    case ValueKind::CHOICE:
      return fmt::format("_words '{}'", fmt::join(option.choices, " "));
    default:
      return "";
  }
}

// The lines of `case` for one command and those below it: its words, and the values of its options.
// `path`: "/cache/prune".
void addCases(const CommandFacts& command, const std::string& path, const std::string& prefix,
              std::string& words, std::string& values) {
  std::vector<std::string> offered;
  for (const CommandFacts& inner : command.commands) offered.push_back(inner.words.back());
  for (const OptionFacts& option : command.options) {
    offered.insert(offered.end(), option.names.begin(), option.names.end());
    if (option.value.empty()) continue;
    const std::string action = bashAction(option);
    for (const std::string& name : option.names) {
      values += fmt::format("    '{} {}') {}return ;;\n", path, name,
                            action.empty() ? "" : prefix + action + "; ");
    }
  }
  // The first argument that names a file or a folder.
  std::string argument;
  for (const OptionFacts& each : command.arguments) {
    const bool isPath = each.kind == ValueKind::FILE || each.kind == ValueKind::FOLDER;
    if (argument.empty() && isPath) argument = bashAction(each);
  }
  words += fmt::format("    '{}') words='{}' argument={} ;;\n", path, fmt::join(offered, " "),
                       argument.empty() ? "" : prefix + argument);
  for (const CommandFacts& inner : command.commands) {
    addCases(inner, path + "/" + inner.words.back(), prefix, words, values);
  }
}

void addPaths(const CommandFacts& command, const std::string& path,
              std::vector<std::string>& paths) {
  for (const CommandFacts& inner : command.commands) {
    const std::string longer = path + "/" + inner.words.back();
    paths.push_back(longer);
    addPaths(inner, longer, paths);
  }
}

// {0}: the function. {1}: the known paths. {2}, {3}: the cases of words and of values. {4}: the
// cases of other programs. {5}: the program.
constexpr const char* kScript =
    R"(# Completion of {5} for bash, made from the program's own options.
{0}_words() {{ mapfile -t COMPREPLY < <(compgen -W "$1" -- "$current"); }}
{0}_files() {{ compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- "$current"); }}
{0}_folders() {{ compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -d -- "$current"); }}
{0}() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}}
  local path='' words='' argument='' at
  COMPREPLY=()
  # bash makes three words of --option=value.
  if [ "$current" = = ]; then
    current=''
  elif [ "$previous" = = ]; then
    previous=${{COMP_WORDS[COMP_CWORD-2]}}
  fi
  for ((at = 1; at < COMP_CWORD; ++at)); do
    case "$path/${{COMP_WORDS[at]}}" in
    {1}) path=$path/${{COMP_WORDS[at]}} ;;
    esac
{4}  done
  case "$path $previous" in
{3}  esac
  case "$path" in
{2}  esac
  if [ -n "$argument" ] && [ "${{current:0:1}}" != - ]; then
    "$argument"
  else
    {0}_words "$words"
  fi
}}
complete -F {0} {5}
)";

}  // namespace

std::string bashCompletion(const CommandFacts& program) {
  const std::string function = bashFunction(program.joined());
  std::vector<std::string> paths;
  addPaths(program, "", paths);
  std::string words;
  std::string values;
  addCases(program, "", function, words, values);
  std::string others;
  for (const CommandFacts& command : program.commands) {
    const std::vector<std::string>& other = command.otherProgram;
    if (other.empty()) continue;
    others += fmt::format(R"(    if [ "$path" = /{0} ]; then
      declare -F {1} >/dev/null || _completion_loader {2} 2>/dev/null
      COMP_WORDS=({3} "${{COMP_WORDS[@]:at+1}}")
      COMP_CWORD=$((COMP_CWORD - at + {4}))
      if declare -F {1} >/dev/null; then {1}; fi
      return
    fi
)",
                          command.words.back(), bashFunction(other.front()), other.front(),
                          fmt::join(other, " "), other.size() - 1);
  }
  if (paths.empty()) paths.emplace_back("/");
  return fmt::format(kScript, function, fmt::join(paths, "|"), words, values, others,
                     program.joined());
}

}  // namespace halyard::command_line
