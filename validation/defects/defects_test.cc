// The mutation test of the validation kit. `halyard validate`, restricted to the checks that a
// defect names, must find every seeded defect.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "test_definitions.h"

namespace halyard {
namespace {

struct Listed {
  std::string name;
  std::string check;  // AREA/NAME, with * and ?
  std::string what;
};

std::vector<Listed> listDefects() {
  std::vector<Listed> defects;
  FILE* const pipe = ::popen("'" HALYARD_DEFECTIVE_DRIVER "' --list", "r");
  if (pipe == nullptr) return defects;
  char line[1024];
  while (std::fgets(line, sizeof line, pipe) != nullptr) {
    std::istringstream words(line);
    Listed one;
    std::getline(words, one.name, '\t');
    std::getline(words, one.check, '\t');
    std::getline(words, one.what);
    defects.push_back(std::move(one));
  }
  ::pclose(pipe);
  return defects;
}

class Folder {
 public:
  Folder() {
    std::string path = std::filesystem::temp_directory_path() / "halyard-defects-XXXXXX";
    if (::mkdtemp(path.data()) != nullptr) path_ = path;
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

void writeManifest(const std::string& path, const std::string& defect) {
  std::ofstream(path) << nlohmann::json{{"name", "test-defect"},
                                        {"version", "1"},
                                        {"hal_version", "1.3"},
                                        {"executable", HALYARD_DEFECTIVE_DRIVER},
                                        {"arguments", {"--defect", defect}}};
}

// Returns the report of the checks that `options` choose, up to the first bad check.
nlohmann::json validate(const Folder& folder, const std::string& defect, const std::string& options,
                        int* status) {
  const std::string manifest = folder / (defect + ".json");
  const std::string report = folder / (defect + ".report.json");
  writeManifest(manifest, defect);
  const std::string command = "'" HALYARD_COMMAND "' validate '" + manifest +
                              "' --max-failures 1 " + options + " --json '" + report + "' >'" +
                              (folder / "out") + "' 2>&1 </dev/null";
  const int ended = std::system(command.c_str());
  *status = WIFEXITED(ended) ? WEXITSTATUS(ended) : -1;
  return nlohmann::json::parse(std::ifstream(report), nullptr, /*allow_exceptions=*/false);
}

bool isBad(const std::string& outcome) {
  return outcome == "failed" || outcome == "hang" || outcome == "crash";
}

class Defects : public ::testing::TestWithParam<Listed> {};

TEST_P(Defects, IsFound) {
  const Folder folder;
  int status = -1;
  // The checks of the area crash have limits of their own, beyond 20 s.
  const std::string limit = GetParam().check.starts_with("crash/") ? "40" : "15";
  const nlohmann::json report = validate(
      folder, GetParam().name, "--check '" + GetParam().check + "' --timeout " + limit, &status);
  ASSERT_TRUE(report.is_object()) << GetParam().name << ": no report, status " << status << "\n"
                                  << std::ifstream(folder / "out").rdbuf();
  EXPECT_EQ(status, 1) << "the kit finds nothing wrong with a driver that " << GetParam().what;
  size_t found = 0;
  for (const auto& check : report["checks"]) {
    if (!isBad(check["outcome"])) continue;
    ++found;
    EXPECT_NE(check["repeat"], "");
    // A row for the table of docs/validation.md.
    std::printf("FOUND\t%s\t%s\t%s/%s\t%s\n", GetParam().name.c_str(), GetParam().what.c_str(),
                check["area"].get<std::string>().c_str(), check["check"].get<std::string>().c_str(),
                check["outcome"].get<std::string>().c_str());
  }
  EXPECT_GT(found, 0u);
}

INSTANTIATE_TEST_SUITE_P(Seeded, Defects, ::testing::ValuesIn(listDefects()),
                         [](const ::testing::TestParamInfo<Listed>& tested) {
                           std::string name = tested.param.name;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(DefectList, IsLongEnoughAndHasEachNameOnce) {
  std::map<std::string, int> names;
  for (const Listed& defect : listDefects()) ++names[defect.name];
  EXPECT_GE(names.size(), 120u);
  for (const auto& [name, count] : names) EXPECT_EQ(count, 1) << name;
}

// Without a defect the same checks find no error in the driver. The checks that compare durations
// need a machine without other work.
TEST(WithoutADefect, NothingIsFound) {
  const Folder folder;
  std::set<std::string> checks;
  for (const Listed& defect : listDefects()) checks.insert(defect.check);
  std::string options =
      "--except crash/performance-degradation-stress --except crash/slowdown-stress";
  for (const std::string& check : checks) options += " --check '" + check + "'";
  int status = -1;
  const nlohmann::json report = validate(folder, "none", options, &status);
  ASSERT_TRUE(report.is_object()) << std::ifstream(folder / "out").rdbuf();
  EXPECT_EQ(status, 0);
  EXPECT_GE(report["checks"].size(), checks.size() - 2);
  for (const auto& check : report["checks"]) {
    EXPECT_FALSE(isBad(check["outcome"])) << check.dump(1);
  }
}

}  // namespace
}  // namespace halyard
