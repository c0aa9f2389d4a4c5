// CaseSource: iterates over the cases of files and folders, ordered by file name.
// Thread safety: none; one object belongs to one thread.
// Ownership: owns the open file.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "conformance/vectors.h"
#include "halyard/driver/status.h"

namespace halyard::conformance {

// Returns the files of `paths`, sorted and each once. A folder stands for every *.jsonl.gz and
// *.jsonl below it, any other path for itself. Returns BAD_DATA for a path that does not exist and
// for an unreadable folder.
Result<std::vector<std::string>> findVectorFiles(const std::vector<std::string>& paths);

// Selects the cases whose name is in `names` or matches one of `patterns` (with * and ?, as in a
// shell). Selects all cases when both are empty.
struct CaseFilter {
  std::vector<std::string> names;
  std::vector<std::string> patterns;

  bool isEmpty() const { return names.empty() && patterns.empty(); }
  bool accepts(const std::string& name) const;
};

struct SourceCase {
  std::string file;
  size_t line = 0;   // 0: the whole file
  std::string name;  // empty if it could not be read
  std::string text;  // the line of the file
  Status error;      // the reason why the line, or the rest of the file, is no case
};

class CaseSource {
 public:
  CaseSource(std::vector<std::string> files, CaseFilter filter);

  // Returns the next case that the filter accepts, or the next unreadable line or file; nullopt
  // after the last.
  std::optional<SourceCase> next();

 private:
  std::vector<std::string> files_;
  size_t nextFile_ = 0;
  std::optional<VectorFile> file_;
  CaseFilter filter_;
};

}  // namespace halyard::conformance
