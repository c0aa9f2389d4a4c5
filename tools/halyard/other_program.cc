#include "tools/halyard/other_program.h"

#include <unistd.h>

#include <cerrno>
#include <filesystem>

namespace halyard::cli {
namespace {

// Replaces this process. Returns only after a failure. `words`: its arguments from argv[0] on.
Status become(const std::string& program, std::vector<std::string> words) {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return opFailed("the path of this program is not known: {}", error.message());
  const std::string path = (self.parent_path() / program).string();
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  ::execv(path.c_str(), pointers.data());
  if (errno == ENOENT) {
    return opFailed(
        "{} is missing: it is a program of its own, in Debian's package {}. A build leaves it out "
        "if its libraries are missing",
        path, program);
  }
  return errnoStatus(ResultCode::OP_FAILED, errno, path + " cannot be started");
}

}  // namespace

Command addOtherProgram(CLI::App& parent, const OtherProgram& other) {
  CLI::App* app = parent.add_subcommand(other.command, other.description);
  // All arguments, also --help, are for the other program.
  app->set_help_flag();
  app->allow_extras();
  app->prefix_command();
  return {app,
          [app, other] {
            std::vector<std::string> words = app->remaining();
            words.insert(words.begin(), other.words.begin() + 1, other.words.end());
            words.insert(words.begin(), other.name);
            return CommandResult{become(other.words.front(), std::move(words))};
          },
          other.words};
}

}  // namespace halyard::cli
