// Tests of driver manifests and their discovery.
#include "hal/manifest/manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>

namespace halyard::hal {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class ManifestTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/halyard_manifest_test_XXXXXX";
    ASSERT_NE(::mkdtemp(pattern), nullptr);
    root_ = pattern;
  }
  void TearDown() override { fs::remove_all(root_); }

  fs::path write(const fs::path& relative, const std::string& text) {
    const fs::path path = root_ / relative;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
    return path;
  }
  static std::string manifest(const std::string& name, const std::string& target = "bin/driver") {
    return fmt::format(R"({{"name":"{}","version":"1.2","hal_version":"1.3","executable":"{}"}})",
                       name, target);
  }
  // Returns the text of the error for a refused manifest.
  std::string errorOf(const std::string& text) {
    const auto loaded = loadManifest(write("m.json", text));
    EXPECT_EQ(loaded.status().code(), ResultCode::BAD_DATA);
    EXPECT_THAT(loaded.status().message(), HasSubstr("m.json"));
    return loaded.status().message();
  }

  fs::path root_;
};

TEST_F(ManifestTest, LoadsFieldsAndResolvesPaths) {
  const fs::path path = write("a/m.json", manifest("acme-npu", "../bin/driver"));
  const auto loaded = loadManifest(path);
  ASSERT_TRUE(loaded.ok()) << loaded.status().toString();
  EXPECT_EQ(loaded->name, "acme-npu");
  EXPECT_EQ(loaded->version, "1.2");
  EXPECT_EQ(loaded->halVersion, HalVersion::V1_3);
  EXPECT_EQ(loaded->kind, Manifest::Kind::EXECUTABLE);
  EXPECT_EQ(loaded->target, (root_ / "bin/driver").string());

  const auto socket = loadManifest(write(
      "s.json", R"({"name":"a-b","version":"1","hal_version":"1.0","socket":"/run/x.sock"})"));
  ASSERT_TRUE(socket.ok()) << socket.status().toString();
  EXPECT_EQ(socket->kind, Manifest::Kind::SOCKET);
  EXPECT_EQ(socket->target, "/run/x.sock");
  EXPECT_EQ(socket->halVersion, HalVersion::V1_0);
}

TEST_F(ManifestTest, ArgumentsOfAnExecutable) {
  const auto with = [](const std::string& arguments, const std::string& kind = "executable") {
    return R"({"name":"a-b","version":"1","hal_version":"1.3",")" + kind + R"(":"x","arguments":)" +
           arguments + "}";
  };
  const auto loaded =
      loadManifest(write("p/m.json", with(R"(["--slow", "--file=${manifest_dir}/a.json", ""])")));
  ASSERT_TRUE(loaded.ok()) << loaded.status().toString();
  EXPECT_THAT(loaded->arguments,
              ::testing::ElementsAre("--slow", "--file=" + (root_ / "p/a.json").string(), ""));
  EXPECT_THAT(errorOf(with("\"x\"")), HasSubstr("'arguments' is a string, not a list"));
  EXPECT_THAT(errorOf(with("[\"x\", 3]")), HasSubstr("arguments[1] is a number"));
  EXPECT_THAT(errorOf(with(R"(["a\u0000"])")), HasSubstr("arguments[0] has a zero byte"));
  EXPECT_THAT(errorOf(with(R"(["${dir}"])")), HasSubstr("other than ${manifest_dir}"));
  EXPECT_THAT(errorOf(with("[]", "socket")), HasSubstr("goes with 'executable' only"));
  std::string many = "[\"a\"";
  for (int i = 0; i < 64; ++i) many += ",\"a\"";
  EXPECT_THAT(errorOf(with(many + "]")), HasSubstr("65 entries, at most 64"));
}

TEST_F(ManifestTest, RefusesWrongFields) {
  EXPECT_THAT(errorOf("{"), HasSubstr("not valid JSON"));
  EXPECT_THAT(errorOf("[]"), HasSubstr("not an object"));
  EXPECT_THAT(errorOf("{}"), HasSubstr("'name' is missing"));
  EXPECT_THAT(errorOf(R"({"name":5})"), HasSubstr("is a number, not a string"));
  EXPECT_THAT(errorOf(manifest("nodash")), HasSubstr("vendor-name"));
  EXPECT_THAT(errorOf(manifest("two-dashes-here")), HasSubstr("vendor-name"));
  EXPECT_THAT(errorOf(manifest("-x")), HasSubstr("vendor-name"));
  EXPECT_THAT(errorOf(manifest("x-")), HasSubstr("vendor-name"));
  EXPECT_THAT(errorOf(manifest("a b-c")), HasSubstr("characters"));
  EXPECT_THAT(errorOf(R"({"name":"a-b","version":"1","hal_version":"1.4","socket":"s"})"),
              HasSubstr("hal_version '1.4'"));
  EXPECT_THAT(errorOf(R"({"name":"a-b","version":"1","hal_version":1.3,"socket":"s"})"),
              HasSubstr("'hal_version' is a number"));
  EXPECT_THAT(errorOf(R"({"name":"a-b","version":"1","hal_version":"1.3"})"),
              HasSubstr("none of executable, socket, library"));
  EXPECT_THAT(
      errorOf(R"({"name":"a-b","version":"1","hal_version":"1.3","socket":"s","library":"l"})"),
      HasSubstr("more than one"));
  EXPECT_THAT(
      errorOf(R"({"name":"a-b","version":"1","hal_version":"1.3","socket":"s","flags":"x"})"),
      HasSubstr("'flags' is unknown"));
  EXPECT_THAT(errorOf(std::string(70'000, ' ')), HasSubstr("larger than"));
  EXPECT_THAT(errorOf("{\"name\":\"\xff-x\"}"), HasSubstr("not valid JSON"));
  EXPECT_THAT(errorOf(std::string(60'000, '[')), HasSubstr("not valid JSON"));
}

TEST_F(ManifestTest, HasASandbox) {
  const auto loaded = loadManifest(write("a/m.json", R"({"name": "a-b", "version": "1",
      "hal_version": "1.3", "executable": "d",
      "sandbox": {"off": {"seccomp": "why"}, "readable": ["weights"]}})"));
  ASSERT_TRUE(loaded.ok()) << loaded.status().toString();
  EXPECT_EQ(loaded->sandbox.off.at("seccomp"), "why");
  EXPECT_EQ(loaded->sandbox.readable.at(0), (root_ / "a/weights").string());
  EXPECT_THAT(errorOf(R"({"name": "a-b", "version": "1", "hal_version": "1.3", "executable": "d",
                          "sandbox": {"off": {"seccomp": ""}}})"),
              HasSubstr("sandbox: field 'off.seccomp' is empty"));
  EXPECT_THAT(errorOf(R"({"name": "a-b", "version": "1", "hal_version": "1.3", "library": "d",
                          "sandbox": {}})"),
              HasSubstr("process of their own"));
}

TEST_F(ManifestTest, MaySayHowLongExecutionsTake) {
  const auto with = [](const std::string& value, const std::string& kind = "executable") {
    return R"({"name":"a-b","version":"1","hal_version":"1.3",")" + kind +
           R"(":"x","execution_timeout_ms":)" + value + "}";
  };
  const auto limitOf = [&](const std::string& text) {
    return loadManifest(write("a/m.json", text)).value().executionTimeout;
  };
  EXPECT_EQ(limitOf(manifest("a-b")), std::nullopt);
  EXPECT_EQ(limitOf(with("1")), std::chrono::milliseconds(1));
  EXPECT_EQ(limitOf(with("4294967295", "socket")), std::chrono::milliseconds(4294967295));
  for (const char* wrong : {"0", "-1", "1.5", "4294967296", "\"300\"", "null"}) {
    EXPECT_THAT(errorOf(with(wrong)),
                HasSubstr(std::string("field 'execution_timeout_ms' is ") + wrong +
                          ", expected a number from 1 to 4294967295"));
  }
  EXPECT_THAT(errorOf(with("300", "library")), HasSubstr("process of their own"));
}

TEST_F(ManifestTest, RefusesWhatIsNoFile) {
  EXPECT_THAT(loadManifest(root_ / "absent.json").status().message(), HasSubstr("No such file"));
  EXPECT_THAT(loadManifest(root_).status().message(), HasSubstr("regular file"));
  const fs::path fifo = root_ / "fifo.json";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_THAT(loadManifest(fifo).status().message(), HasSubstr("regular file"));
}

TEST_F(ManifestTest, DiscoversInOrderAndListsProblems) {
  write("one/halyard/drivers.d/b.json", manifest("vendor-b"));
  write("one/halyard/drivers.d/a.json", manifest("vendor-a"));
  write("one/halyard/drivers.d/readme.txt", "not a manifest");
  write("two/halyard/drivers.d/x.json", manifest("vendor-b", "other"));
  write("two/halyard/drivers.d/y.json", "nonsense");
  const fs::path extra = write("extra.json", manifest("vendor-extra"));
  const auto list = discoverManifestsIn(
      {"", extra.string() + "::" + extra.string(), {root_ / "one", root_ / "none", root_ / "two"}});
  ASSERT_EQ(list.manifests.size(), 3u);
  EXPECT_EQ(list.manifests[0].name, "vendor-extra");
  EXPECT_EQ(list.manifests[1].name, "vendor-a");
  EXPECT_EQ(list.manifests[2].name, "vendor-b");
  EXPECT_THAT(list.manifests[2].target, HasSubstr("/one/"));
  ASSERT_EQ(list.problems.size(), 2u);
  EXPECT_THAT(list.problems[0].status.message(), HasSubstr("'vendor-b' is there already"));
  EXPECT_THAT(list.problems[1].status.message(), HasSubstr("not valid JSON"));
}

TEST_F(ManifestTest, DriverFilesReplaceEverything) {
  write("one/halyard/drivers.d/a.json", manifest("vendor-a"));
  const fs::path only = write("only.json", manifest("vendor-only"));
  const auto list = discoverManifestsIn(
      {only.string() + ":" + (root_ / "absent.json").string(), only.string(), {root_ / "one"}});
  ASSERT_EQ(list.manifests.size(), 1u);
  EXPECT_EQ(list.manifests[0].name, "vendor-only");
  ASSERT_EQ(list.problems.size(), 1u);
  EXPECT_EQ(list.problems[0].path, root_ / "absent.json");
}

TEST_F(ManifestTest, ReadsTheEnvironment) {
  write("config/halyard/drivers.d/c.json", manifest("vendor-config"));
  write("data/halyard/drivers.d/d.json", manifest("vendor-data"));
  write("prefix/share/halyard/drivers.d/p.json", manifest("vendor-prefix"));
  write("home/.config/halyard/drivers.d/h.json", manifest("vendor-home"));
  ::unsetenv("HALYARD_DRIVER_FILES");
  ::unsetenv("HALYARD_ADD_DRIVER_FILES");
  ::setenv("XDG_CONFIG_HOME", (root_ / "config").c_str(), 1);
  ::setenv("XDG_DATA_HOME", (root_ / "data").c_str(), 1);
  const auto names = [this] {
    std::vector<std::string> result;
    for (const Manifest& m : discoverManifests(root_ / "prefix").manifests) {
      if (m.path.string().starts_with(root_.string())) result.push_back(m.name);
    }
    return result;
  };
  EXPECT_THAT(names(), ::testing::ElementsAre("vendor-config", "vendor-data", "vendor-prefix"));
  ::setenv("HOME", (root_ / "home").c_str(), 1);
  ::unsetenv("XDG_CONFIG_HOME");
  EXPECT_THAT(names(), ::testing::ElementsAre("vendor-home", "vendor-data", "vendor-prefix"));
  ::setenv("HALYARD_DRIVER_FILES", (root_ / "data/halyard/drivers.d/d.json").c_str(), 1);
  EXPECT_THAT(names(), ::testing::ElementsAre("vendor-data"));
  ::unsetenv("HALYARD_DRIVER_FILES");
  ::unsetenv("XDG_DATA_HOME");
}

}  // namespace
}  // namespace halyard::hal
