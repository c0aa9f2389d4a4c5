// CaseSource: the cases of files and folders, one after the other, by name.
// Thread safety: none; one object belongs to one thread. Ownership: owns the open file.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "conformance/vectors.h"
#include "halyard/driver/status.h"

namespace halyard::conformance {

// The files that `paths` stand for: a folder for every *.jsonl.gz and *.jsonl below it, anything
// else for itself; sorted, each once. BAD_DATA for a path that does not exist and for a folder that
// cannot be read.
Result<std::vector<std::string>> findVectorFiles(const std::vector<std::string>& paths);

// Which cases are wanted: those whose name is in `names` or matches one of `patterns` (with * and
// ?, as the shell's); all when there are neither.
struct CaseFilter {
  std::vector<std::string> names;
  std::vector<std::string> patterns;

  bool isEmpty() const { return names.empty() && patterns.empty(); }
  bool accepts(const std::string& name) const;
};

struct SourceCase {
  std::string file;
  size_t line = 0;   // 0: the file as a whole
  std::string name;  // empty when it could not be read
  std::string text;  // the line
  Status error;      // why the line, or the rest of the file, is no case
};

class CaseSource {
 public:
  CaseSource(std::vector<std::string> files, CaseFilter filter);

  // The next case that the filter accepts, or the next line or file that cannot be read; nullopt
  // after the last.
  std::optional<SourceCase> next();

 private:
  std::vector<std::string> files_;
  size_t nextFile_ = 0;
  std::optional<VectorFile> file_;
  CaseFilter filter_;
};

}  // namespace halyard::conformance
