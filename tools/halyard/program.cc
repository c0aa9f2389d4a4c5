#include "tools/halyard/program.h"

#include <halyard/halyard.h>

#include <cstdio>
#include <string>
#include <vector>

#include "base/standard_streams.h"
#include "command_line/help_pages.h"
#include "command_line/shared_options.h"
#include "tools/halyard/terminal.h"

namespace halyard::cli {
namespace {

// "halyard run: BAD_DATA: ..." on standard error.
void reportError(const std::string& who, const Status& status) {
  const std::string line = fmt::format("{}: {}\n", who, printable(status.toString()));
  std::fwrite(line.data(), 1, line.size(), stderr);
}

int reportMisuse(const std::string& who, const Status& status) {
  reportError(who, status);
  const std::string hint = fmt::format("Try '{} --help'.\n", who);
  std::fwrite(hint.data(), 1, hint.size(), stderr);
  return kMisuse;
}

int finish(const std::string& who, const CommandResult& result) {
  if (!result.status.ok() && result.misuse) return reportMisuse(who, result.status);
  const Status flushed = flushOutput();
  if (!result.status.ok() && !result.reported) reportError(who, result.status);
  if (!flushed.ok()) reportError(who, flushed);
  return result.status.ok() && flushed.ok() ? kSuccess : kFailure;
}

void addProgramOptions(CLI::App& app, std::span<const Command> commands) {
  app.footer("Exit status: 0 success, 1 failure, 2 misuse.");
  app.set_version_flag("--version", app.get_name() + " " + halyard_version());
  command_line::OtherPrograms others;
  for (const Command& command : commands) {
    if (!command.otherProgram.empty()) others[command.app->get_name()] = command.otherProgram;
  }
  command_line::addHelpPages(app, halyard_version(), others);
  app.require_subcommand(1);
}

// CLI11 does not name a word that is no command.
Status misuseOf(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App* last = &app;
  while (!last->get_subcommands().empty()) last = last->get_subcommands().front();
  if (last->get_require_subcommand_min() == 0 || error.get_name() != "RequiredError") {
    return badData("{}", command_line::errorText(error));
  }
  std::vector<std::string> commands;
  for (const CLI::App* command : last->get_subcommands({})) {
    if (!command->get_group().empty()) commands.push_back(command->get_name());
  }
  const std::vector<std::string> words = last->remaining();
  return badData("{}; the commands are: {}",
                 words.empty() ? "a command is missing"
                               : fmt::format("no command or option '{}'", printable(words.front())),
                 fmt::join(commands, ", "));
}

}  // namespace

int runProgram(CLI::App& app, std::span<const Command> commands, int argc, char** argv) {
  openStandardStreams();
  const auto parsed = [&]() -> const Command* {
    for (const Command& command : commands) {
      if (command.app->parsed()) return &command;
    }
    return nullptr;
  };
  const auto who = [&] {
    const Command* const command = parsed();
    return command == nullptr ? app.get_name() : app.get_name() + " " + command->app->get_name();
  };
  addProgramOptions(app, commands);
  command_line::refuseEmptyValues(app);
  // The parser throws exceptions.
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) {
      app.exit(error);  // prints help or version
      return finish(app.get_name(), {});
    }
    return reportMisuse(who(), misuseOf(app, error));
  }
  const Command* const command = parsed();
  if (command == nullptr) return reportMisuse(who(), badData("no subcommand"));
  return finish(who(), command->run());
}

}  // namespace halyard::cli
