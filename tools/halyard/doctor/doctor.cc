// halyard doctor: shows whether this installation works, and the commands that repair it.
#include <memory>
#include <string>
#include <vector>

#include "client/status.h"
#include "tools/halyard/command.h"
#include "tools/halyard/doctor/checks.h"
#include "tools/halyard/terminal.h"

namespace halyard::cli {
namespace {

CommandResult runDoctor(bool json) {
  std::vector<FindingSection> sections;
  // The check of the kernel comes before the first thread.
  sections.push_back(checkKernel());
  sections.push_back(checkInstallation());
  const Result<std::string> devices = client::devicesJson();
  if (devices.ok()) {
    sections.push_back(checkDrivers(*devices));
    sections.push_back(checkPermissions(*devices));
  } else {
    sections.push_back({"drivers",
                        {{FindingLevel::PROBLEM, "the runtime", devices.status().toString(),
                          asRoot("apt-get install --reinstall libneuralnetworks0")}}});
  }
  sections.push_back(checkCaches());
  if (json) {
    print("{}\n", findingsJson(sections));
  } else {
    writeOutput(findingsText(sections));
  }
  const size_t problems = countOf(sections, FindingLevel::PROBLEM);
  if (problems == 0) return {};
  return {opFailed("problems found: {}", problems), false};
}

}  // namespace

Command addDoctorCommand(CLI::App& parent) {
  auto json = std::make_shared<bool>(false);
  CLI::App* app = parent.add_subcommand("doctor", "Check this installation, and show repairs");
  app->footer(
      "It checks the kernel, the libraries and their versions, the manifests and drivers, the\n"
      "permissions of files and device nodes, and the caches. It changes nothing.\n"
      "Each warning and each problem comes with the command that repairs it.\n"
      "\n"
      "Exit status: 0 no problem, 1 a problem, 2 misuse.");
  app->add_flag("--json", *json, "The same as JSON");
  return {app, [json] { return runDoctor(*json); }};
}

}  // namespace halyard::cli
