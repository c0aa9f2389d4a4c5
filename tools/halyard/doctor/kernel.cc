#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>

#include "hal/sandbox/sandbox.h"
#include "halyard/driver/shared_memory.h"
#include "halyard/driver/unique_fd.h"
#include "tools/halyard/doctor/checks.h"

namespace halyard::cli {
namespace {

using Json = nlohmann::json;
using State = hal::IsolationMeasure::State;

// The kernel takes Landlock from this list of its command line. The list has other modules, too, so
// its user must write it.
constexpr const char* kShowModules = "cat /sys/kernel/security/lsm /proc/cmdline";
constexpr const char* kMoreFiles = "ulimit -n 4096";
constexpr const char* kShowSeccomp = "grep SECCOMP /boot/config-$(uname -r)";

Finding findingOf(const std::string& measure, const std::string& state, const std::string& detail) {
  const std::string subject = "sandbox, " + measure;
  if (state == hal::isolationStateName(State::APPLIED)) {
    return {FindingLevel::OK, subject, detail.empty() ? "works" : detail};
  }
  if (state == hal::isolationStateName(State::OFF)) return {FindingLevel::OK, subject, detail};
  std::string command = "man 7 capabilities";
  if (measure == "landlock") command = kShowModules;
  if (measure == "seccomp") command = kShowSeccomp;
  return {FindingLevel::WARNING, subject, "drivers run without it: " + detail, command};
}

// The whole of a pipe, until the last writer has closed it.
std::string readAll(int fd) {
  std::string text;
  char part[4096];
  for (;;) {
    const ssize_t count = ::read(fd, part, sizeof part);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return text;
    text.append(part, static_cast<size_t>(count));
  }
}

// The sandbox of a driver with the default settings, applied to a child that then ends.
std::vector<Finding> trySandbox() {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return {{FindingLevel::PROBLEM, "sandbox", "this process can open no pipe", kMoreFiles}};
  }
  const UniqueFd output(ends[0]);
  UniqueFd input(ends[1]);
  const pid_t child = ::fork();
  if (child == 0) {
    Json list = Json::array();
    for (const hal::IsolationMeasure& measure : hal::applySandbox({}, {})) {
      list.push_back({measure.name, hal::isolationStateName(measure.state), measure.detail});
    }
    const std::string text = list.dump();
    ::_exit(::write(input.get(), text.data(), text.size()) == ssize_t(text.size()) ? 0 : 1);
  }
  input.reset();
  const std::string text = readAll(output.get());
  if (child > 0) ::waitpid(child, nullptr, 0);
  const Json list = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  std::vector<Finding> findings;
  for (const Json& measure : list.is_array() ? list : Json::array()) {
    findings.push_back(findingOf(measure[0], measure[1], measure[2]));
  }
  if (findings.empty()) {
    findings.push_back({FindingLevel::PROBLEM, "sandbox",
                        "a process that tried it has ended without a report", "dmesg | tail"});
  }
  return findings;
}

Finding tryMemory() {
  const auto memory = SharedMemory::create(4096, "halyard-doctor");
  const std::string subject = "shared memory that cannot shrink (memfd with seals)";
  if (!memory.ok()) {
    return {FindingLevel::PROBLEM, subject, memory.status().toString(), kMoreFiles};
  }
  if ((*memory)->couldShrink()) {
    return {FindingLevel::WARNING, subject, "the kernel does not seal it, so it is copied",
            "uname -r"};
  }
  return {FindingLevel::OK, subject, "works"};
}

}  // namespace

FindingSection checkKernel() {
  FindingSection section{"kernel", {}};
  utsname names{};
  ::uname(&names);
  section.findings.push_back(
      {FindingLevel::OK, names.sysname, fmt::format("{}, {}", names.release, names.machine)});
  for (Finding& finding : trySandbox()) section.findings.push_back(std::move(finding));
  section.findings.push_back(tryMemory());
  return section;
}

}  // namespace halyard::cli
