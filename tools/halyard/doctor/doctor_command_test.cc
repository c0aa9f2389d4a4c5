// Tests of `halyard doctor` as a program. Where a repair is a command for this machine's files, the
// test runs it and looks again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/testing/command_for_test.h"
#include "cache/testing/cache_folder.h"
#include "hal/manifest/sandbox_settings.h"
#include "halyard/driver/compile_cache.h"

namespace halyard::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class DoctorTest : public CommandTest {
 protected:
  void SetUp() override {
    // The drivers' stores of the test, not those of the user.
    state_ = "XDG_STATE_HOME='" + folder_ + "/state' ";
  }

  // Writes a manifest with `fields` and returns its path.
  std::string manifest(const std::string& name, const std::string& fields) const {
    const std::string path = folder_ + "/" + name + ".json";
    std::ofstream(path) << R"({"name": "acme-)" << name
                        << R"(", "version": "1", "hal_version": "1.3", )" << fields << "}";
    return path;
  }
  // With the reference driver and `path`.
  std::string with(const std::string& path) const {
    return state_ + "HALYARD_ADD_DRIVER_FILES='" + path + "' HALYARD_DRIVER_FILES= ";
  }

  Json doctor(const std::string& environment, int exitStatus) const {
    const CommandOutcome outcome = halyard("doctor --json", environment);
    EXPECT_EQ(outcome.exitStatus, exitStatus) << outcome.output << outcome.errors;
    return Json::parse(outcome.output, nullptr, false);
  }
  // The first finding of this status about `subject`; null if there is no such finding.
  static Json findingOf(const Json& report, const std::string& status, const std::string& subject) {
    for (const Json& finding : report["findings"]) {
      if (finding["status"] == status && finding["subject"] == subject) return finding;
    }
    return {};
  }
  static void repair(const Json& finding) {
    ASSERT_TRUE(finding.is_object());
    const std::string command = finding["command"];
    ASSERT_EQ(std::system(command.c_str()), 0) << command;
  }

  std::string state_;
};

TEST_F(DoctorTest, FindsNoProblemHere) {
  const CommandOutcome outcome = halyard("doctor", state_);
  EXPECT_EQ(outcome.exitStatus, 0) << outcome.output;
  EXPECT_THAT(outcome.output, StartsWith("kernel\n"));
  EXPECT_THAT(outcome.output, HasSubstr("\nproblems: 0, "));
  const Json report = doctor(state_, 0);
  EXPECT_EQ(report["problems"], 0);
  const std::string version = findingOf(report, "ok", "halyard")["text"];
  EXPECT_THAT(version, StartsWith("version "));
  EXPECT_THAT(findingOf(report, "ok", "libneuralnetworks.so")["text"].get<std::string>(),
              HasSubstr("/libneuralnetworks.so."));
  EXPECT_TRUE(findingOf(report, "ok", "library for drivers of vendors").is_object());
  const Json driver = findingOf(report, "ok", "halyard-reference");
  EXPECT_THAT(driver["text"].get<std::string>(), HasSubstr("HAL 1.3"));
  EXPECT_THAT(driver["text"].get<std::string>(), HasSubstr("reference.json"));
}

TEST_F(DoctorTest, TriesEachMeasureOfTheSandbox) {
  const Json report = doctor(state_, 0);
  for (const std::string_view measure : hal::kMeasures) {
    const std::string subject = fmt::format("sandbox, {}", measure);
    EXPECT_TRUE(findingOf(report, "ok", subject).is_object() ||
                findingOf(report, "warning", subject).is_object())
        << subject;
  }
}

TEST_F(DoctorTest, RepairsAManifestWithoutProgram) {
  const std::string path = manifest("gone", R"("executable": "not/here")");
  const Json report = doctor(with(path), 1);
  const Json problem = findingOf(report, "problem", path);
  EXPECT_EQ(problem["section"], "drivers");
  EXPECT_EQ(problem["text"], "its program " + folder_ + "/not/here is missing");
  EXPECT_EQ(problem["command"], "mv " + path + " " + path + ".off");
  EXPECT_THAT(halyard("doctor", with(path)).errors,
              HasSubstr("halyard doctor: OP_FAILED: problems found: 1"));
  // The folder is searched, so that the manifest is not named any more after the repair.
  fs::create_directories(folder_ + "/config/halyard/drivers.d");
  const std::string searched = folder_ + "/config/halyard/drivers.d/gone.json";
  fs::rename(path, searched);
  const std::string environment =
      state_ + "HALYARD_DRIVER_FILES= XDG_CONFIG_HOME='" + folder_ + "/config' ";
  repair(findingOf(doctor("env -u HALYARD_DRIVER_FILES " + environment, 1), "problem", searched));
  EXPECT_EQ(doctor("env -u HALYARD_DRIVER_FILES " + environment, 0)["problems"], 0);
}

TEST_F(DoctorTest, RepairsAProgramThatMayNotBeExecuted) {
  const std::string program = folder_ + "/driver";
  fs::copy_file(HALYARD_REFERENCE_DRIVER, program);
  ASSERT_EQ(::chmod(program.c_str(), 0644), 0);
  const std::string path = manifest("locked", R"("executable": "driver")");
  const Json problem = findingOf(doctor(with(path), 1), "problem", path);
  EXPECT_EQ(problem["command"], "chmod a+rx " + program);
  repair(problem);
  EXPECT_TRUE(findingOf(doctor(with(path), 0), "ok", "acme-locked").is_object());
}

TEST_F(DoctorTest, SaysWhyAManifestIsRefused) {
  const std::string path = manifest("wrong", R"("executable": "x", "colour": "red")");
  const Json problem = findingOf(doctor(with(path), 1), "problem", path);
  EXPECT_THAT(problem["text"].get<std::string>(), HasSubstr("field 'colour' is unknown"));
  EXPECT_THAT(problem["command"].get<std::string>(), StartsWith("mv "));
}

TEST_F(DoctorTest, SaysWhyADriverDoesNotStart) {
  const std::string path = manifest("ends", R"("executable": "/bin/false")");
  const Json problem = findingOf(doctor(with(path), 1), "problem", path);
  EXPECT_THAT(problem["text"].get<std::string>(), HasSubstr("exit status 1"));
  EXPECT_EQ(problem["command"],
            "HALYARD_LOG=info HALYARD_DRIVER_FILES=" + path + " halyard devices");
}

TEST_F(DoctorTest, NamesTheUnitOfAServiceThatDoesNotRun) {
  const std::string path = manifest("npu", R"("socket": "/run/halyard/acme_doctor.sock")");
  const std::string command = findingOf(doctor(with(path), 1), "problem", path)["command"];
  EXPECT_THAT(command,
              testing::EndsWith("systemctl enable --now halyard-driver@acme_doctor.socket"));
}

TEST_F(DoctorTest, ReportsFilesOfManifests) {
  const std::string node = folder_ + "/node";
  std::ofstream(node) << "x";
  ASSERT_EQ(::chmod(node.c_str(), 0600), 0);
  const std::string path =
      manifest("nodes", R"("executable": ")" HALYARD_REFERENCE_DRIVER
                        R"(", "sandbox": {"writable": ["node", "/dev/halyard-missing0"]})");
  const Json report = doctor(with(path), 0);
  EXPECT_EQ(findingOf(report, "ok", node)["text"], "this user may use it, for acme-nodes");
  const Json missing = findingOf(report, "warning", "/dev/halyard-missing0");
  EXPECT_EQ(missing["text"], "No such file or directory, for acme-nodes");
  EXPECT_EQ(missing["command"], "ls -ld /dev");
}

TEST_F(DoctorTest, ReportsANodeThatThisUserMayNotOpen) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  const std::string node = folder_ + "/node";
  std::ofstream(node) << "x";
  ASSERT_EQ(::chown(node.c_str(), 0, 44), 0);
  ASSERT_EQ(::chmod(node.c_str(), 0660), 0);
  ASSERT_EQ(::chmod(folder_.c_str(), 0777), 0);
  const std::string path = manifest("nodes", R"("executable": ")" HALYARD_REFERENCE_DRIVER
                                             R"(", "sandbox": {"writable": ["node"]})");
  const Json report =
      doctor("env " + with(path) + "setpriv --reuid=12345 --regid=12345 --clear-groups", 1);
  const Json problem = findingOf(report, "problem", node);
  EXPECT_EQ(problem["section"], "permissions");
  EXPECT_EQ(problem["text"],
            "this user may not read and write it (owner 0, group 44, mode 660), for acme-nodes");
  EXPECT_THAT(problem["command"].get<std::string>(),
              ::testing::MatchesRegex("sudo (usermod -aG video 12345|setfacl -m u:12345:rw .*)"));
}

TEST_F(DoctorTest, RepairsACacheFolderThatOthersMayChange) {
  const std::string cache = folder_ + "/cache/halyard/compilations";
  fs::create_directories(cache);
  ASSERT_EQ(::chmod(cache.c_str(), 0777), 0);
  const Json problem = findingOf(doctor(state_, 1), "problem", cache);
  EXPECT_EQ(problem["section"], "caches");
  EXPECT_THAT(problem["text"].get<std::string>(),
              HasSubstr("others may write to " + cache + " (mode 777)"));
  EXPECT_EQ(problem["command"], "chmod 700 " + cache);
  repair(problem);
  EXPECT_THAT(findingOf(doctor(state_, 0), "ok", cache)["text"].get<std::string>(),
              StartsWith("0 entries, 0 bytes, at most 1024 compilations"));
}

TEST_F(DoctorTest, RepairsDamagedEntries) {
  const std::string cache = folder_ + "/cache/halyard/compilations";
  fs::create_directories(cache);
  ASSERT_EQ(::chmod(cache.c_str(), 0700), 0);
  {
    cache::testing::CacheFolder files;
    auto store = hal::CompileCache::open({"acme-npu", "1"}, files.store());
    ASSERT_TRUE(store.ok()) << store.status().toString();
    const std::string name = "BA" + std::string(62, 'A');
    hal::Token token = {};
    token[0] = 1;
    ASSERT_TRUE((*store)->save(files.open(name, 1, 0, token), {{{1, 2, 3}}, {}}, 1).ok());
    auto bytes = cache::testing::CacheFolder::read(files.path() / (name + "10"));
    ++bytes.back();
    cache::testing::CacheFolder::write(cache + "/" + name + "10", bytes);
  }
  const Json warning = findingOf(doctor(state_, 0), "warning", cache);
  EXPECT_THAT(warning["text"].get<std::string>(), StartsWith("1 of 1 do not verify, the first: "));
  EXPECT_EQ(warning["command"], "halyard cache prune --damaged " + cache);
  EXPECT_EQ(halyard("cache prune --damaged " + cache).exitStatus, 0);
  EXPECT_FALSE(findingOf(doctor(state_, 0), "warning", cache).is_object());
}

}  // namespace
}  // namespace halyard::cli
