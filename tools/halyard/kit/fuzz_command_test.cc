// Tests of `halyard fuzz`, with programs that print the output of libFuzzer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing/command_for_test.h"

namespace halyard::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

class FuzzCommand : public CommandTest {
 protected:
  void program(const std::string& name, const std::string& body, const std::string& seeds = "") {
    const std::string file = folder_ + "/bin/" + name;
    fs::create_directories(folder_ + "/bin");
    std::ofstream(file) << "#!/bin/sh\n" << body << "\n";
    fs::permissions(file, fs::perms::owner_all);
    std::ofstream(file + ".seeds") << seeds;
  }
  CommandOutcome fuzz(const std::string& arguments) const {
    return halyard("fuzz --fuzzers '" + folder_ + "/bin' --crashes '" + folder_ + "/crashes' " +
                   arguments);
  }
};

TEST_F(FuzzCommand, ListsWhatThereIs) {
  program("ring_fuzz", "exit 0");
  std::ofstream(folder_ + "/bin/notes_fuzz.txt") << "no program";
  const CommandOutcome outcome = fuzz("");
  EXPECT_EQ(outcome.exitStatus, 0) << outcome.errors;
  EXPECT_THAT(outcome.output,
              AllOf(HasSubstr("driver "), HasSubstr("ring "), Not(HasSubstr("notes"))));
}

TEST_F(FuzzCommand, GivesSeedsTimeAndFolders) {
  fs::create_directories(folder_ + "/seeds");
  std::ofstream(folder_ + "/words") << "\"a\"\n";
  program("ring_fuzz",
          "echo \"$@\" > '" + folder_ +
              "/arguments'\n"
              "echo '#7 NEW cov: 12 ft: 3' >&2\n"
              "echo 'stat::number_of_executed_units: 4711' >&2",
          "seeds ../seeds\ndictionary ../words\n");
  const CommandOutcome outcome = fuzz("ring --minutes 0.1 --corpus '" + folder_ + "/corpus'");
  EXPECT_EQ(outcome.exitStatus, 0) << outcome.errors;
  EXPECT_THAT(outcome.output, HasSubstr("ring: 4711 inputs in 0 s, 12 edges reached, nothing"));
  const std::string arguments = contentOf(folder_ + "/arguments");
  EXPECT_THAT(arguments, AllOf(HasSubstr("corpus/ring "), HasSubstr("/seeds "), HasSubstr("-dict="),
                               HasSubstr("-max_total_time=6")));
  EXPECT_TRUE(fs::is_directory(folder_ + "/corpus/ring"));
}

TEST_F(FuzzCommand, ACrashIsAFailureWithItsRepetition) {
  program("ring_fuzz",
          "echo 'SUMMARY: AddressSanitizer: heap-buffer-overflow ring.cc:1' >&2\n"
          "echo \"artifact_prefix='x/'; Test unit written to x/crash-1\" >&2\n"
          "exit 77");
  program("api_fuzz", "exit 0");
  const CommandOutcome outcome = fuzz("--all");
  EXPECT_EQ(outcome.exitStatus, 1);
  EXPECT_THAT(outcome.output,
              AllOf(HasSubstr("api: 0 inputs"), HasSubstr("ring: FAILED after 0 inputs"),
                    HasSubstr("heap-buffer-overflow ring.cc:1"), HasSubstr("ring_fuzz x/crash-1")));
}

TEST_F(FuzzCommand, ADeathWithoutASummaryIsAFailure) {
  program("ring_fuzz", "kill -9 $$");
  const CommandOutcome outcome = fuzz("ring");
  EXPECT_EQ(outcome.exitStatus, 1);
  EXPECT_THAT(outcome.output, HasSubstr("killed by signal 9"));
}

TEST_F(FuzzCommand, Misuse) {
  CommandOutcome outcome = fuzz("ring");
  EXPECT_EQ(outcome.exitStatus, 2);
  EXPECT_THAT(outcome.errors, AllOf(HasSubstr("no target 'ring'"), HasSubstr("cmake --preset")));
  EXPECT_EQ(fuzz("--all").exitStatus, 2);
  outcome = fuzz("driver");
  EXPECT_EQ(outcome.exitStatus, 2);
  EXPECT_THAT(outcome.errors, HasSubstr("needs --device"));
  outcome = fuzz("driver --device nnapi-reference");
  EXPECT_EQ(outcome.exitStatus, 2);
  EXPECT_THAT(outcome.errors, HasSubstr("is not in a process of its own"));
  program("ring_fuzz", "exit 0", "corpus x\n");
  outcome = fuzz("ring");
  EXPECT_EQ(outcome.exitStatus, 2);
  EXPECT_THAT(outcome.errors, HasSubstr("'corpus' is neither seeds nor dictionary"));
}

TEST_F(FuzzCommand, ADriverThatSurvives) {
  const CommandOutcome outcome = fuzz("driver --device reference --minutes 0.01");
  EXPECT_EQ(outcome.exitStatus, 0) << outcome.output << outcome.errors;
  EXPECT_THAT(outcome.output, HasSubstr("halyard-reference survived 1000 hostile clients"));
}

TEST_F(FuzzCommand, ADriverThatCrashes) {
  std::ofstream(folder_ + "/crashing.personality")
      << R"({"faults": [{"at": "prepare", "do": "crash"}]})";
  std::ofstream(folder_ + "/crashing.json")
      << R"({"name": "test-crashing", "version": "1", "hal_version": "1.3", "executable": ")"
      << HALYARD_REFERENCE_DRIVER
      << R"(", "arguments": ["--personality", "${manifest_dir}/crashing.personality"]})";
  const CommandOutcome outcome =
      fuzz("driver --device '" + folder_ + "/crashing.json' --minutes 0.01 --first 50");
  EXPECT_EQ(outcome.exitStatus, 1) << outcome.errors;
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("was killed by signal 11"), HasSubstr("session "),
                                    HasSubstr("fuzz driver --device")));
}

}  // namespace
}  // namespace halyard::cli
