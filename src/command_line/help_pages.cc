#include "command_line/help_pages.h"

#include <fmt/chrono.h>

#include <ctime>
#include <filesystem>
#include <fstream>

#include "base/environment.h"
#include "command_line/completion.h"
#include "command_line/man_page.h"

namespace halyard::command_line {
namespace {

namespace fs = std::filesystem;

std::string dateOfPages() {
  const char* const epoch = environmentVariable("SOURCE_DATE_EPOCH");
  const std::time_t time = epoch != nullptr ? std::atoll(epoch) : std::time(nullptr);
  return fmt::format("{:%Y-%m-%d}", fmt::gmtime(time));
}

std::map<std::string, std::string> filesOf(const CommandFacts& program, const std::string& kind,
                                           const std::string& version) {
  if (kind == "man") return manPages(program, "Halyard " + version, dateOfPages());
  const std::string name = program.joined();
  if (kind == "bash") return {{name, bashCompletion(program)}};
  if (kind == "zsh") return {{"_" + name, zshCompletion(program)}};
  if (kind == "fish") return {{name + ".fish", fishCompletion(program)}};
  throw CLI::ValidationError("--help-pages", "'" + kind + "', expected man, bash, zsh or fish");
}

void write(const fs::path& file, const std::string& text) {
  std::ofstream stream(file, std::ios::binary | std::ios::trunc);
  stream << text;
  stream.close();
  if (!stream) throw CLI::FileError("--help-pages: " + file.string() + " cannot be written");
}

}  // namespace

void addHelpPages(CLI::App& app, const std::string& version, const OtherPrograms& otherPrograms) {
  app.add_option_function<std::vector<std::string>>(
         "--help-pages",
         [&app, version, otherPrograms](const std::vector<std::string>& words) {
           const auto files = filesOf(commandFacts(app, otherPrograms), words[0], version);
           std::error_code error;
           fs::create_directories(words[1], error);
           for (const auto& [name, text] : files) write(fs::path(words[1]) / name, text);
           throw CLI::Success();
         },
         "Write manual pages or completion scripts")
      ->type_size(2)  // also where the program requires an argument
      ->group("");
}

std::string errorText(const CLI::ParseError& error) {
  const std::string text = error.what();
  return text.starts_with(": ") ? "--help-pages: expected are two words, KIND and FOLDER" : text;
}

}  // namespace halyard::command_line
