// Tests of the command line as a program: exit statuses, streams, files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "base/testing/command_for_test.h"
#include "media/image.h"
#include "media/npy.h"
#include "test_definitions.h"

namespace halyard::cli {
namespace {

using testing::AllOf;
using testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

const std::string kModels = HALYARD_SOURCE_DIR "/models/";

TEST_F(CommandTest, HelpAndVersion) {
  const CommandOutcome version = halyard("--version");
  EXPECT_EQ(version.exitStatus, 0);
  EXPECT_THAT(version.output, ::testing::MatchesRegex("halyard [0-9]+\\.[0-9]+\\.[0-9]+\n"));
  const CommandOutcome help = halyard("--help");
  EXPECT_EQ(help.exitStatus, 0);
  for (const char* command :
       {"devices", "explain", "profile", "run", "graph", "conformance", "cache"}) {
    EXPECT_THAT(help.output, HasSubstr(command));
    EXPECT_EQ(halyard(std::string(command) + " --help").exitStatus, 0);
  }
  EXPECT_THAT(halyard("run --help").output, HasSubstr("--input-range"));
}

TEST_F(CommandTest, WritesAManualPageForEachCommandOfTheHelp) {
  ASSERT_EQ(halyard("--help-pages man " + folder_ + "/man").exitStatus, 0);
  const std::string kit = "'" HALYARD_COMMAND "-kit' --help-pages man " + folder_ + "/man";
  ASSERT_EQ(std::system(kit.c_str()), 0);
  std::istringstream help(halyard("--help").output);
  size_t commands = 0;
  bool listed = false;
  for (std::string line; std::getline(help, line);) {
    if (listed && line.starts_with("  ") && line[2] != ' ') {
      const std::string name = line.substr(2, line.find(' ', 2) - 2);
      ++commands;
      // The page of `halyard serve` comes from halyard-serve.
      EXPECT_EQ(std::filesystem::exists(folder_ + "/man/halyard-" + name + ".1") ||
                    std::filesystem::exists(folder_ + "/man/halyard-kit-" + name + ".1"),
                name != "serve")
          << name;
      EXPECT_THAT(contentOf(folder_ + "/man/halyard.1"), HasSubstr("\n\\fBhalyard\\-"));
    }
    listed = listed || line == "Subcommands:";
  }
  EXPECT_GE(commands, 15u);
  EXPECT_THAT(contentOf(folder_ + "/man/halyard-run.1"), HasSubstr("\\fB\\-\\-random\\-inputs"));
  // A page without warnings prints nothing.
  const std::string lint =
      "if command -v mandoc >/dev/null; then mandoc -T lint -W warning " + folder_ + "/man/*.1; fi";
  EXPECT_EQ(std::system(lint.c_str()), 0);
}

TEST_F(CommandTest, RefusesAnotherKindOfHelpPages) {
  const CommandOutcome outcome = halyard("--help-pages csh " + folder_);
  EXPECT_EQ(outcome.exitStatus, 2);
  EXPECT_THAT(outcome.errors, HasSubstr("'csh', expected man, bash, zsh or fish"));
  EXPECT_THAT(halyard("--help-pages man").errors,
              HasSubstr("--help-pages: expected are two words, KIND and FOLDER"));
}

TEST_F(CommandTest, StartsTheKitUnderItsOwnName) {
  const CommandOutcome help = halyard("fuzz --help");
  EXPECT_EQ(help.exitStatus, 0);
  EXPECT_THAT(help.output, HasSubstr("Usage: halyard fuzz "));
  const CommandOutcome misuse = halyard("validate --no-such");
  EXPECT_EQ(misuse.exitStatus, 2);
  EXPECT_THAT(misuse.errors, StartsWith("halyard validate: BAD_DATA: "));
  EXPECT_THAT(halyard("validate -- --no-such").errors, HasSubstr("--no-such"));
}

TEST_F(CommandTest, NamesTheKitThatIsNotInstalled) {
  std::filesystem::copy_file(HALYARD_COMMAND, folder_ + "/halyard");
  const std::string line = folder_ + "/halyard validate x 2>" + folder_ + "/errors";
  EXPECT_EQ(WEXITSTATUS(std::system(line.c_str())), 1);
  EXPECT_THAT(contentOf(folder_ + "/errors"),
              AllOf(StartsWith("halyard validate: OP_FAILED: "),
                    HasSubstr("halyard-kit is missing: it is a program of its own, in Debian's "
                              "package halyard-kit")));
}

TEST_F(CommandTest, MisuseIsStatus2) {
  for (const char* arguments : {"",
                                "fly",
                                "run",
                                "run --flags",
                                "graph a b",
                                "devices extra",
                                "run m --mean 1",
                                "run m --input x",
                                "run m --input-range 1,2,3",
                                "run m --top many",
                                "run m --input-range 0,1 --mean 1 --std 1",
                                "run m --save-inputs",
                                "run m --preference fast",
                                "run ''",
                                "run m --device ''",
                                "run m --output ''",
                                "run m --cache ''",
                                "profile m --trace ''",
                                "cache ls ''",
                                "run m --random-inputs -1",
                                "run m --random-inputs 99999999999999999999999"}) {
    const CommandOutcome outcome = halyard(arguments);
    EXPECT_EQ(outcome.exitStatus, 2) << arguments;
    EXPECT_THAT(outcome.errors, StartsWith("halyard")) << arguments;
    EXPECT_THAT(outcome.errors, HasSubstr(": BAD_DATA: ")) << arguments;
    EXPECT_THAT(outcome.errors, EndsWith(" --help'.\n")) << arguments;
    EXPECT_THAT(outcome.output, IsEmpty()) << arguments;
  }
  EXPECT_THAT(halyard("run m --top many").errors, StartsWith("halyard run: BAD_DATA: "));
  EXPECT_THAT(halyard("run m --device ''").errors, HasSubstr("--device: the value is empty"));
}

TEST_F(CommandTest, AnUnknownCommandIsNamed) {
  for (const char* word : {"fly", "help", "-v"}) {
    EXPECT_THAT(halyard(word).errors,
                AllOf(StartsWith("halyard: BAD_DATA: no command or option '" + std::string(word)),
                      HasSubstr("; the commands are: devices, doctor, run, ")));
  }
  EXPECT_THAT(halyard("").errors, HasSubstr("a command is missing; the commands are: devices, "));
  EXPECT_THAT(halyard("cache fly").errors,
              StartsWith("halyard cache: BAD_DATA: no command or option 'fly'; the commands are: "
                         "ls, verify, prune\n"));
}

// Every command that takes a device.
TEST_F(CommandTest, AnUnknownDeviceIsMisuse) {
  const std::string model = kModels + "fashion_mnist_float.tflite";
  for (const std::string& arguments :
       {"run " + model + " --random-inputs 1", "explain " + model, "profile " + model,
        "bench " + model, "bisect " + model, "conformance " + kModels + "../tests/vectors",
        std::string("random-graphs"), std::string("crash-test"), std::string("fuzz driver")}) {
    const CommandOutcome outcome = halyard(arguments + " --device nosuch");
    EXPECT_EQ(outcome.exitStatus, 2) << arguments;
    EXPECT_THAT(outcome.errors, HasSubstr("no device 'nosuch'")) << arguments;
  }
  EXPECT_EQ(halyard("bisect " + model + " --device cpu --input x").exitStatus, 2);
}

TEST_F(CommandTest, ADeviceIsNamedOnce) {
  const std::string model = kModels + "fashion_mnist_float.tflite";
  for (const char* command : {"explain ", "profile "}) {
    EXPECT_THAT(halyard(command + model + " --device cpu --device nnapi-reference").errors,
                HasSubstr("devices[0] and devices[1] are the same"));
  }
  const CommandOutcome bench = halyard("bench " + model + " --device cpu --device nnapi-reference");
  EXPECT_EQ(bench.exitStatus, 2);
  EXPECT_THAT(bench.errors, HasSubstr("--device names nnapi-reference twice"));
}

TEST_F(CommandTest, AClosedOutputIsAnError) {
  const std::string model = kModels + "fashion_mnist_float.tflite";
  for (const std::string& arguments :
       {std::string("devices"), "run " + model + " --random-inputs 1 --device reference",
        std::string("random-graphs --device cpu --count 1")}) {
    const std::string line =
        "'" HALYARD_COMMAND "' " + arguments + " >&- 2>" + folder_ + "/err </dev/null";
    const int status = std::system(line.c_str());
    ASSERT_TRUE(WIFEXITED(status)) << arguments;
    EXPECT_EQ(WEXITSTATUS(status), 1) << arguments;
    EXPECT_THAT(contentOf(folder_ + "/err"),
                HasSubstr("cannot write the output: Bad file descriptor"))
        << arguments;
  }
}

TEST_F(CommandTest, WrongValuesOfVariablesAreReportedOnce) {
  const std::pair<std::string, std::string> variables[] = {
      {"HALYARD_PARTITION", "foo"},
      {"HALYARD_PARTITION_OVERHEAD", "bogus"},
      {"HALYARD_SHADOW", "often"},
      {"HALYARD_LOG", "bogus"},
      {"HALYARD_INSTRUCTIONS", "x87"},
      {"HALYARD_DRIVER_START_TIMEOUT_MS", "x"},
      {"HALYARD_DRIVER_ANSWER_TIMEOUT_MS", "0"},
      {"HALYARD_DRIVER_EXECUTION_TIMEOUT_MS", "-5"},
  };
  std::string environment = "HALYARD_VLOG=drivers";
  for (const auto& [name, value] : variables) environment += " " + name + "=" + value;
  const CommandOutcome outcome =
      halyard("run " + kModels + "fashion_mnist_float.tflite --random-inputs 1", environment);
  EXPECT_EQ(outcome.exitStatus, 0) << outcome.errors;
  const auto count = [&](const std::string& text) {
    size_t found = 0;
    for (size_t at = outcome.errors.find(text); at != std::string::npos;
         at = outcome.errors.find(text, at + 1)) {
      ++found;
    }
    return found;
  };
  for (const auto& [name, value] : variables) {
    EXPECT_EQ(count("warning: " + name + " is \"" + value + "\", but must be "), 1u)
        << name << "\n"
        << outcome.errors;
  }
  EXPECT_EQ(count("HALYARD_VLOG: unknown tag 'drivers'"), 1u) << outcome.errors;
}

TEST_F(CommandTest, FilesOfResultsAreCheckedFirst) {
  const std::string model = kModels + "fashion_mnist_float.tflite";
  const CommandOutcome run =
      halyard("run " + model + " --random-inputs 1 --output " + model + "/x");
  EXPECT_EQ(run.exitStatus, 1);
  EXPECT_THAT(run.errors, HasSubstr("cannot create the folder " + model + "/x: Not a directory"));
  EXPECT_THAT(run.output, IsEmpty());
  const CommandOutcome profile = halyard("profile " + model + " --trace /none/x");
  EXPECT_EQ(profile.exitStatus, 2);
  EXPECT_THAT(profile.errors, HasSubstr("/none/x: No such file"));
}

TEST_F(CommandTest, FailureIsStatus1) {
  const CommandOutcome missing = halyard("run /none/m.tflite --random-inputs 1");
  EXPECT_EQ(missing.exitStatus, 1);
  EXPECT_THAT(missing.errors, StartsWith("halyard run: BAD_DATA: /none/m.tflite"));
  const CommandOutcome graph = halyard("graph " + kModels + "README.md");
  EXPECT_EQ(graph.exitStatus, 1);
  EXPECT_THAT(graph.errors, StartsWith("halyard graph: BAD_DATA: "));
  EXPECT_THAT(graph.output, IsEmpty());
}

TEST_F(CommandTest, FullDiskIsNoticed) {
  const std::string line = "'" HALYARD_COMMAND "' graph " + kModels +
                           "fashion_mnist_int8.tflite >/dev/full 2>" + folder_ + "/err";
  const int status = std::system(line.c_str());
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 1);
  EXPECT_THAT(contentOf(folder_ + "/err"), HasSubstr("halyard graph: OP_FAILED: cannot write"));
}

TEST_F(CommandTest, Devices) {
  const CommandOutcome table = halyard("devices");
  EXPECT_EQ(table.exitStatus, 0) << table.errors;
  EXPECT_THAT(table.output, HasSubstr("\nnnapi-reference "));
  const CommandOutcome json = halyard("devices --json");
  EXPECT_EQ(json.exitStatus, 0) << json.errors;
  EXPECT_THAT(json.output, HasSubstr("\"nnapi-reference\""));
}

TEST_F(CommandTest, DevicesSaysWhyADriverIsNotUsed) {
  std::ofstream(folder_ + "/bad.json") << "{\"name\": 7}";
  const CommandOutcome outcome =
      halyard("devices", "HALYARD_DRIVER_FILES='" + folder_ + "/bad.json'");
  EXPECT_EQ(outcome.exitStatus, 0) << outcome.errors;
  EXPECT_THAT(outcome.output, HasSubstr("manifests that could not be used:\n  " + folder_));
}

TEST_F(CommandTest, GraphAsTextAndDrawing) {
  const std::string model = "graph " + kModels + "fashion_mnist_int8.tflite";
  const CommandOutcome text = halyard(model + " --text");
  EXPECT_EQ(text.exitStatus, 0) << text.errors;
  EXPECT_THAT(text.output, HasSubstr("operation #0 "));
  const std::string file = folder_ + "/g.dot";
  const CommandOutcome drawing = halyard(model + " --output " + file);
  EXPECT_EQ(drawing.exitStatus, 0) << drawing.errors;
  EXPECT_THAT(drawing.output, IsEmpty());
  EXPECT_THAT(contentOf(file), StartsWith("digraph"));
}

TEST_F(CommandTest, ClassifiesAPicture) {
  for (const char* model : {"fashion_mnist_int8.tflite", "fashion_mnist_float.tflite"}) {
    const CommandOutcome outcome =
        halyard("run " + kModels + model + " --image " + kModels + "images/13_dress.png --labels " +
                kModels + "fashion_mnist_labels.txt --device cpu --output " + folder_ +
                "/results --save-inputs");
    ASSERT_EQ(outcome.exitStatus, 0) << outcome.errors;
    EXPECT_THAT(outcome.output, HasSubstr("device  nnapi-reference (in the application's own"));
    EXPECT_THAT(outcome.output, HasSubstr("the 5 best of 10 classes\n  "));
    const size_t best = outcome.output.find("classes\n") + 8;
    const std::string line = outcome.output.substr(best, outcome.output.find('\n', best) - best);
    EXPECT_THAT(line, EndsWith("3  Dress"));
    size_t arrays = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder_ + "/results")) {
      const auto array = media::loadNpy(entry.path().string());
      ASSERT_TRUE(array.ok()) << array.status().toString();
      arrays += array->shape.back() == 10 || array->data.size() % 784 == 0 ? 1 : 0;
    }
    EXPECT_EQ(arrays, 2u);
    std::filesystem::remove_all(folder_ + "/results");
  }
}

TEST_F(CommandTest, RepeatsARunFromItsFiles) {
  const std::string model = "run " + kModels + "fashion_mnist_float.tflite --device cpu";
  const CommandOutcome first =
      halyard(model + " --random-inputs 3 --save-inputs --output " + folder_ + "/a");
  ASSERT_EQ(first.exitStatus, 0) << first.errors;
  std::string input;
  std::string output;
  for (const auto& entry : std::filesystem::directory_iterator(folder_ + "/a")) {
    const std::string name = entry.path().filename().string();
    (name.starts_with("input_") ? input : output) = name;
  }
  const CommandOutcome second =
      halyard(model + " --input 0=" + folder_ + "/a/" + input + " --output " + folder_ + "/b");
  ASSERT_EQ(second.exitStatus, 0) << second.errors;
  ASSERT_THAT(contentOf(folder_ + "/a/" + output), ::testing::Not(IsEmpty()));
  EXPECT_EQ(contentOf(folder_ + "/a/" + output), contentOf(folder_ + "/b/" + output));
}

TEST_F(CommandTest, RunSaysWhatIsMissing) {
  const std::string model = "run " + kModels + "fashion_mnist_float.tflite ";
  const CommandOutcome none = halyard(model);
  EXPECT_EQ(none.exitStatus, 1);
  EXPECT_THAT(none.errors, HasSubstr("no value for input "));
  const CommandOutcome device = halyard(model + "--random-inputs 1 --device tpu");
  EXPECT_EQ(device.exitStatus, 2);
  EXPECT_THAT(device.errors, HasSubstr("no device 'tpu'; the devices are: "));
  EXPECT_THAT(device.errors, HasSubstr("nnapi-reference"));
}

TEST_F(CommandTest, ReferenceDriverRunsInItsOwnProcess) {
  const CommandOutcome outcome = halyard("run " + kModels + "fashion_mnist_float.tflite --image " +
                                         kModels + "images/18_bag.png --device reference");
  ASSERT_EQ(outcome.exitStatus, 0) << outcome.errors;
  int driver = 0;
  int application = 0;
  const size_t at = outcome.output.find("device ");
  ASSERT_NE(at, std::string::npos);
  ASSERT_EQ(std::sscanf(outcome.output.c_str() + at,
                        "device halyard-reference (driver process %d), application process %d",
                        &driver, &application),
            2)
      << outcome.output;
  EXPECT_GT(driver, 0);
  EXPECT_NE(driver, application);
  EXPECT_THAT(outcome.output, HasSubstr("classes\n   0.9591     8  class 8\n"));
}

// Models of other projects, in a folder beside the source folder where it exists.
class SharedModelsTest : public CommandTest {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(kShared)) GTEST_SKIP() << kShared << " is absent";
    CommandTest::SetUp();
  }
  CommandOutcome run(const std::string& model, const std::string& image,
                     const std::string& options) {
    return halyard("run " + kShared + model + " --image " + kShared + image + " " + options +
                   " --device reference --output " + folder_);
  }
  const std::string kShared = HALYARD_SOURCE_DIR "/../shared/models/";
};

TEST_F(SharedModelsTest, ClassifiesTheUniform) {
  for (const char* model :
       {"mobilenet_v2_1.0_224_quant.tflite", "tf2_mobilenet_v2_1.0_224_ptq.tflite"}) {
    const CommandOutcome outcome =
        run(model, "grace_hopper.bmp", "--labels " + kShared + "imagenet_labels.txt --top 1");
    ASSERT_EQ(outcome.exitStatus, 0) << outcome.errors;
    EXPECT_THAT(outcome.output, HasSubstr("the 1 best of 1001 classes\n")) << model;
    EXPECT_THAT(outcome.output, HasSubstr("  653  military uniform\n")) << model;
  }
  for (const char* model :
       {"mobilenet_v1_0.25_224_float.tflite", "mobilenet_v1_0.25_128_quant.tflite"}) {
    const CommandOutcome outcome =
        run(model, "grace_hopper.bmp", "--labels " + kShared + "imagenet_labels.txt");
    EXPECT_THAT(outcome.output, HasSubstr("  653  military uniform\n")) << model;
  }
}

TEST_F(SharedModelsTest, FindsThePerson) {
  const CommandOutcome outcome = run("coco_ssd_mobilenet_v1_quant.tflite", "grace_hopper.bmp",
                                     "--labels " + kShared + "coco_labels.txt");
  ASSERT_EQ(outcome.exitStatus, 0) << outcome.errors;
  EXPECT_THAT(outcome.output, testing::ContainsRegex("\n  0\\.[0-9]+  person  +left "));
  const auto drawn = media::loadImage(folder_ + "/detections.png", 3);
  const auto original = media::loadImage(kShared + "grace_hopper.bmp", 3);
  ASSERT_TRUE(drawn.ok() && original.ok());
  EXPECT_EQ(drawn->width, original->width);
  EXPECT_NE(drawn->pixels, original->pixels);
}

TEST_F(SharedModelsTest, FindsTheCat) {
  const CommandOutcome outcome = run("deeplabv3_float.tflite", "cat.bmp", "");
  ASSERT_EQ(outcome.exitStatus, 0) << outcome.errors;
  // 8 is the cat of Pascal VOC; it fills about a third of the picture.
  float share = 0;
  const size_t line = outcome.output.rfind('\n', outcome.output.find("class 8"));
  ASSERT_EQ(std::sscanf(outcome.output.c_str() + line, " %f %%", &share), 1) << outcome.output;
  EXPECT_GT(share, 25);
  EXPECT_LT(share, 50);
  EXPECT_TRUE(media::loadImage(folder_ + "/segmentation.png", 3).ok());
}

TEST_F(SharedModelsTest, RefusesTheInvalidModel) {
  const CommandOutcome outcome =
      halyard("run " + kShared + "invalid_model_invoking_error.tflite --random-inputs 1");
  EXPECT_EQ(outcome.exitStatus, 1);
  EXPECT_THAT(outcome.errors, StartsWith("halyard run: BAD_DATA: "));
}

}  // namespace
}  // namespace halyard::cli
