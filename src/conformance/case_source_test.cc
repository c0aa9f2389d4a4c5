// Tests of the search for files, and of the selection of cases.
#include "conformance/case_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "conformance/case_for_test.h"

namespace halyard::conformance {
namespace {

using testing::addLine;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::TemporaryFolder;

std::string line(std::string_view name) { return addLine(name, {1}, {1}, {2}); }

std::vector<SourceCase> all(const std::vector<std::string>& files, CaseFilter filter = {}) {
  CaseSource source(files, std::move(filter));
  std::vector<SourceCase> found;
  while (auto one = source.next()) found.push_back(*std::move(one));
  return found;
}

std::vector<std::string> namesOf(const std::vector<SourceCase>& cases) {
  std::vector<std::string> names;
  for (const SourceCase& one : cases) {
    names.push_back(one.error.ok() ? one.name : "error at " + std::to_string(one.line));
  }
  return names;
}

TEST(CaseSource, FindsFilesInFolders) {
  const TemporaryFolder folder("case_source_files");
  const std::string b = folder.write("deep/er/b.jsonl", {line("b")});
  const std::string a = folder.write("a.jsonl.gz", {line("a")});
  const std::string other = folder.write("notes.json", {"{}"});
  auto files = findVectorFiles({folder.path()});
  ASSERT_TRUE(files.ok()) << files.status().toString();
  EXPECT_THAT(*files, ElementsAre(a, b));
  // A file is accepted with any name. A repeated path counts once.
  files = findVectorFiles({other, a, a});
  ASSERT_TRUE(files.ok());
  EXPECT_THAT(*files, ElementsAre(a, other));
  const auto missing = findVectorFiles({folder.path() + "/none"});
  EXPECT_EQ(missing.status().code(), ResultCode::BAD_DATA);
  EXPECT_THAT(missing.status().message(), HasSubstr("/none: No such file"));
}

TEST(CaseSource, GivesCasesAndBadLinesInOrder) {
  const TemporaryFolder folder("case_source_lines");
  const std::string a =
      folder.write("a.jsonl.gz", {line("one"), "", "{\"name\":", line("two"), "[[[[[[["});
  const std::string b = folder.write("b.jsonl", {line("three")});
  const std::vector<SourceCase> found = all({a, b});
  EXPECT_THAT(namesOf(found), ElementsAre("one", "error at 3", "two", "error at 5", "three"));
  EXPECT_THAT(found[1].error.message(), HasSubstr(a + " line 3: not JSON"));
  EXPECT_EQ(found[2].line, 4u);
  EXPECT_EQ(found[2].text, line("two"));
  EXPECT_EQ(found[4].file, b);
}

TEST(CaseSource, GoesOnAfterADamagedFile) {
  const TemporaryFolder folder("case_source_damaged");
  std::vector<std::string> lines;
  for (int i = 0; i < 200; ++i) lines.push_back(line("case" + std::to_string(i * 7919)));
  const std::string a = folder.write("a.jsonl.gz", lines);
  std::filesystem::resize_file(a, std::filesystem::file_size(a) / 2);
  const std::string b = folder.write("b.jsonl", {line("last")});
  const std::vector<SourceCase> found = all({a, folder.path() + "/gone.jsonl", b});
  ASSERT_GE(found.size(), 3u);
  const SourceCase& damaged = found[found.size() - 3];
  EXPECT_EQ(damaged.line, 0u);
  EXPECT_THAT(damaged.error.message(), HasSubstr(a + ": decompression failed after line "));
  EXPECT_THAT(found[found.size() - 2].error.message(), HasSubstr("gone.jsonl"));
  EXPECT_EQ(found.back().name, "last");
}

TEST(CaseSource, Filters) {
  const TemporaryFolder folder("case_source_filter");
  const std::string file =
      folder.write("a.jsonl", {line("add"), line("add_relaxed"), line("sub_relaxed"), line("mul")});
  EXPECT_THAT(namesOf(all({file}, {{"add"}, {}})), ElementsAre("add"));
  EXPECT_THAT(namesOf(all({file}, {{}, {"*_relaxed"}})), ElementsAre("add_relaxed", "sub_relaxed"));
  EXPECT_THAT(namesOf(all({file}, {{"mul"}, {"add?relaxed"}})), ElementsAre("add_relaxed", "mul"));
  EXPECT_THAT(namesOf(all({file}, {{"*"}, {}})), IsEmpty());
}

}  // namespace
}  // namespace halyard::conformance
