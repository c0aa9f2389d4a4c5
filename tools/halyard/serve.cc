// halyard serve: starts halyard-serve, which has the libraries of the network.
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <vector>

#include "tools/halyard/command.h"

namespace halyard::cli {
namespace {

// Replaces this process. Returns only after a failure.
Status becomeServer(std::vector<std::string> arguments) {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return opFailed("the path of this program is not known: {}", error.message());
  const std::string program = (self.parent_path() / "halyard-serve").string();
  arguments.insert(arguments.begin(), program);
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  ::execv(program.c_str(), pointers.data());
  if (errno == ENOENT) {
    return opFailed("{} is missing: this build was made without the libraries of the server",
                    program);
  }
  return errnoStatus(ResultCode::OP_FAILED, errno, program + " cannot be started");
}

}  // namespace

Command addServeCommand(CLI::App& parent) {
  CLI::App* app = parent.add_subcommand("serve", "Serve models over HTTP and gRPC");
  // All arguments, also --help, are for the other program.
  app->set_help_flag();
  app->allow_extras();
  app->prefix_command();
  return {app, [app] { return CommandResult{becomeServer(app->remaining()), false}; }};
}

}  // namespace halyard::cli
