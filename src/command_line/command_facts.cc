#include "command_line/command_facts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace halyard::command_line {
namespace {

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  size_t from = 0;
  for (size_t at = text.find(separator); at != std::string::npos; at = text.find(separator, from)) {
    parts.push_back(text.substr(from, at - from));
    from = at + 1;
  }
  parts.push_back(text.substr(from));
  return parts;
}

// CLI::IsMember describes itself as {a,b,c} behind the type.
std::vector<std::string> choicesOf(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const size_t begin = type.find('{');
  const size_t end = type.find('}', begin);
  if (begin == std::string::npos || end == std::string::npos) return {};
  return split(type.substr(begin + 1, end - begin - 1), ',');
}

ValueKind kindOf(const std::string& value) {
  for (const char* word : {"FILE", "PATH", "MODEL", "MANIFEST"}) {
    if (value.find(word) != std::string::npos) return ValueKind::FILE;
  }
  return value.find("DIR") != std::string::npos ? ValueKind::FOLDER : ValueKind::OTHER;
}

OptionFacts factsOf(const CLI::Option& option, const CLI::Formatter& formatter) {
  OptionFacts facts;
  for (const std::string& name : option.get_snames()) facts.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) facts.names.push_back("--" + name);
  if (facts.names.empty()) facts.names.push_back(option.get_name(true));
  facts.description = option.get_description();
  facts.repeats = option.get_expected_max() > 1;
  facts.required = option.get_required();
  if (option.get_type_size() == 0) return facts;
  facts.value = formatter.make_option_opts(&option);
  facts.value.erase(0, facts.value.find_first_not_of(' '));
  facts.choices = choicesOf(option);
  // An argument's label says its kind, as the value of an option does.
  const std::string& label = option.get_positional() ? facts.names.front() : facts.value;
  facts.kind = facts.choices.empty() ? kindOf(label) : ValueKind::CHOICE;
  return facts;
}

CommandFacts factsOf(const CLI::App& app, std::vector<std::string> words) {
  CommandFacts facts;
  facts.words = std::move(words);
  facts.description = app.get_description();
  facts.footer = app.get_footer();
  const CLI::Formatter formatter;
  for (const CLI::Option* option : app.get_options({})) {
    if (option->get_group().empty()) continue;  // hidden
    auto& list = option->get_positional() ? facts.arguments : facts.options;
    list.push_back(factsOf(*option, formatter));
  }
  for (const CLI::App* command : app.get_subcommands({})) {
    if (command->get_group().empty()) continue;
    std::vector<std::string> longer = facts.words;
    longer.push_back(command->get_name());
    facts.commands.push_back(factsOf(*command, std::move(longer)));
  }
  return facts;
}

}  // namespace

std::string CommandFacts::joined(char separator) const {
  return fmt::format("{}", fmt::join(words, std::string(1, separator)));
}

CommandFacts commandFacts(const CLI::App& app, const OtherPrograms& otherPrograms) {
  CommandFacts facts = factsOf(app, split(app.get_name(), ' '));
  for (CommandFacts& command : facts.commands) {
    const auto other = otherPrograms.find(command.words.back());
    if (other != otherPrograms.end()) command.otherProgram = other->second;
  }
  return facts;
}

}  // namespace halyard::command_line
