#include "conformance/case_source.h"

#include <fnmatch.h>

#include <algorithm>
#include <filesystem>

namespace halyard::conformance {
namespace {

namespace fs = std::filesystem;

Status addFolder(const std::string& path, std::vector<std::string>* files) {
  std::error_code error;
  fs::recursive_directory_iterator it(path, error);
  for (; !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
    const std::string name = it->path().string();
    std::error_code ignored;
    if ((name.ends_with(".jsonl.gz") || name.ends_with(".jsonl")) && it->is_regular_file(ignored)) {
      files->push_back(name);
    }
  }
  if (error) return badData("reading the folder {}: {}", path, error.message());
  return okStatus();
}

}  // namespace

Result<std::vector<std::string>> findVectorFiles(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (!fs::exists(status)) {
      return badData("{}: {}", path, error ? error.message() : "no such file or folder");
    }
    if (fs::is_directory(status)) {
      HALYARD_RETURN_IF_ERROR(addFolder(path, &files));
    } else {
      files.push_back(path);
    }
  }
  std::sort(files.begin(), files.end());
  files.erase(std::unique(files.begin(), files.end()), files.end());
  return files;
}

bool CaseFilter::accepts(const std::string& name) const {
  if (isEmpty() || std::find(names.begin(), names.end(), name) != names.end()) return true;
  return std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
    return ::fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
  });
}

CaseSource::CaseSource(std::vector<std::string> files, CaseFilter filter)
    : files_(std::move(files)), filter_(std::move(filter)) {}

std::optional<SourceCase> CaseSource::next() {
  for (;;) {
    if (!file_) {
      if (nextFile_ == files_.size()) return std::nullopt;
      auto opened = VectorFile::open(files_[nextFile_++]);
      if (!opened.ok()) return SourceCase{files_[nextFile_ - 1], 0, {}, {}, opened.takeStatus()};
      file_ = std::move(opened).value();
    }
    const std::string& path = files_[nextFile_ - 1];
    auto line = file_->nextLine();
    if (!line.ok() || !line->has_value()) {
      file_.reset();
      if (!line.ok()) return SourceCase{path, 0, {}, {}, line.takeStatus()};
      continue;
    }
    SourceCase found{path, (*line)->number, {}, std::move((*line)->text), {}};
    const auto parsed = parseVectorCase(found.text);
    if (parsed.ok()) {
      if (!filter_.accepts(parsed->name)) continue;
      found.name = parsed->name;
    } else {
      found.error = Status(parsed.status().code(), fmt::format("{} line {}: {}", path, found.line,
                                                               parsed.status().message()));
    }
    return found;
  }
}

}  // namespace halyard::conformance
