#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "base/shell_word.h"
#include "hal/manifest/manifest.h"
#include "tools/halyard/doctor/checks.h"

namespace halyard::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

// Drivers for GPUs open these nodes by themselves.
constexpr std::string_view kRenderFolder = "/dev/dri";
constexpr std::string_view kRenderNode = "renderD";

std::string userName() {
  const passwd* const user = ::getpwuid(::geteuid());  // NOLINT(concurrency-mt-unsafe)
  return user != nullptr ? user->pw_name : std::to_string(::geteuid());
}

// The command that lets this user open the file. Members of its group may, if the mode says so.
std::string admit(const std::string& path, const struct stat& st, int access) {
  const mode_t group = ((access & R_OK) != 0 ? S_IRGRP : 0) | ((access & W_OK) != 0 ? S_IWGRP : 0);
  const struct group* const owner = ::getgrgid(st.st_gid);  // NOLINT(concurrency-mt-unsafe)
  if (owner != nullptr && st.st_gid != 0 && (st.st_mode & group) == group) {
    return asRoot(fmt::format("usermod -aG {} {}", owner->gr_name, userName()));
  }
  return asRoot(fmt::format("setfacl -m u:{}:{} {}", userName(), (access & W_OK) != 0 ? "rw" : "r",
                            shellWord(path)));
}

// `user`: the manifest or the kind of driver that uses the file.
Finding fileFinding(const std::string& path, int access, const std::string& user) {
  struct stat st {};
  if (::stat(path.c_str(), &st) != 0) {
    const int error = errno;
    return {FindingLevel::WARNING, path, fmt::format("{}, for {}", ::strerrordesc_np(error), user),
            "ls -ld " + shellWord(fs::path(path).parent_path().string())};
  }
  if (::faccessat(AT_FDCWD, path.c_str(), access, AT_EACCESS) != 0) {
    return {FindingLevel::PROBLEM, path,
            fmt::format("this user may not {} it (owner {}, group {}, mode {:o}), for {}",
                        (access & W_OK) != 0 ? "read and write" : "read", st.st_uid, st.st_gid,
                        st.st_mode & 07777U, user),
            admit(path, st, access)};
  }
  return {FindingLevel::OK, path, "this user may use it, for " + user};
}

// The manifests of the used and of the refused drivers.
std::vector<std::string> manifestsOf(const Json& document) {
  std::vector<std::string> paths;
  for (const char* kind : {"devices", "problems"}) {
    for (const Json& entry : document.value(kind, Json::array())) {
      const std::string path = entry.value("manifest", std::string());
      if (!path.empty()) paths.push_back(path);
    }
  }
  return paths;
}

void addFilesOf(std::vector<Finding>& findings, const std::string& path) {
  const Result<hal::Manifest> manifest = hal::loadManifest(path);
  // A service opens its files as another user.
  if (!manifest.ok() || manifest->kind == hal::Manifest::Kind::SOCKET) return;
  for (const std::string& file : manifest->sandbox.readable) {
    findings.push_back(fileFinding(file, R_OK, manifest->name));
  }
  for (const std::string& file : manifest->sandbox.writable) {
    findings.push_back(fileFinding(file, R_OK | W_OK, manifest->name));
  }
}

void addRenderNodes(std::vector<Finding>& findings) {
  std::set<std::string> nodes;
  std::error_code error;
  for (fs::directory_iterator entry(kRenderFolder, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->path().filename().string().starts_with(kRenderNode)) {
      nodes.insert(entry->path().string());
    }
  }
  for (const std::string& node : nodes) {
    Finding finding = fileFinding(node, R_OK | W_OK, "drivers for GPUs");
    // Without a driver for GPUs, the rights to a node do not matter.
    if (finding.level == FindingLevel::PROBLEM) finding.level = FindingLevel::WARNING;
    const bool named = std::any_of(findings.begin(), findings.end(),
                                   [&](const Finding& each) { return each.subject == node; });
    if (!named) findings.push_back(std::move(finding));
  }
}

}  // namespace

FindingSection checkPermissions(std::string_view devices) {
  FindingSection section{"permissions", {}};
  const Json document = Json::parse(devices, nullptr, /*allow_exceptions=*/false);
  if (document.is_object()) {
    for (const std::string& path : manifestsOf(document)) addFilesOf(section.findings, path);
  }
  addRenderNodes(section.findings);
  if (section.findings.empty()) {
    section.findings.push_back(
        {FindingLevel::OK, "device nodes", "no manifest names a file, and no GPU has a node"});
  }
  return section;
}

}  // namespace halyard::cli
