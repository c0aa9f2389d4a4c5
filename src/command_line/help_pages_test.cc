// Tests of manual pages and completion scripts. The shells themselves complete, where they are
// installed, and mandoc examines the pages.
#include "command_line/help_pages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/temporary_folder_for_test.h"

namespace halyard::command_line {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

std::string outputOf(const std::string& command) {
  std::string text;
  std::FILE* const pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return "popen failed";
  std::array<char, 4096> part{};
  while (const size_t count = std::fread(part.data(), 1, part.size(), pipe)) {
    text.append(part.data(), count);
  }
  ::pclose(pipe);
  return text;
}

std::vector<std::string> linesOf(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

bool hasProgram(const std::string& name) {
  return !outputOf("command -v " + name + " 2>/dev/null").empty();
}

class HelpPages : public ::testing::Test {
 protected:
  void SetUp() override {
    app_.require_subcommand(1);
    app_.footer("Exit status: 0 success.");
    CLI::App* run = app_.add_subcommand("run", "Run a model; it's -fast- & .fine");
    run->add_option("MODEL", text_, "A model, .tflite")->required();
    run->add_option("-j,--jobs", number_, ".at once \\ [default: 1]")->option_text("N");
    run->add_option("--image", text_, "A picture: any")->option_text("FILE");
    run->add_option("--output", text_, "A folder")->option_text("DIR");
    run->add_option("--via", text_, "The way")
        ->check(CLI::IsMember(std::vector<std::string>{"api", "hal"}))
        ->option_text("WAY");
    run->footer("  .first line\n\n  'second' \\ line");
    CLI::App* cache = app_.add_subcommand("cache", "Caches");
    cache->require_subcommand(1);
    cache->add_subcommand("ls", "List them")->add_flag("--json", flag_, "As JSON");
    cache->add_subcommand("prune", "Remove some")->add_flag("--damaged", flag_, "The damaged ones");
    CLI::App* serve = app_.add_subcommand("serve", "Serve models");
    serve->set_help_flag();
    serve->allow_extras();
    serve->prefix_command();
    CLI::App* check = app_.add_subcommand("check", "Check a driver");
    check->set_help_flag();
    check->allow_extras();
    check->prefix_command();
    app_.add_subcommand("secret", "Not for users")->group("");
    addHelpPages(app_, "0.3.0",
                 {{"serve", {"halyard-serve"}}, {"check", {"halyard-kit", "check"}}});
    kit_.add_subcommand("check", "Check a driver")->add_flag("--full", flag_, "Everything");
    addHelpPages(kit_, "0.3.0");
    server_.add_option("DIR", text_, "The models")->required();
    server_.add_option("--host", text_, "An address")->option_text("ADDRESS");
    addHelpPages(server_, "0.3.0");
    for (const char* kind : {"man", "bash", "zsh", "fish"}) {
      write(app_, kind);
      write(server_, kind);
      write(kit_, kind);
    }
  }

  void write(CLI::App& app, const std::string& kind) {
    EXPECT_THROW(app.parse("--help-pages " + kind + " " + folder_ + "/" + kind), CLI::Success);
  }
  std::string contentOf(const std::string& name) const {
    std::stringstream text;
    text << std::ifstream(folder_ + "/" + name).rdbuf();
    return text.str();
  }
  std::vector<std::string> filesOf(const std::string& kind) const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_ + "/" + kind)) {
      names.push_back(entry.path().filename().string());
    }
    return names;
  }

  // The words that bash offers for a line, whose last word is incomplete.
  std::vector<std::string> bash(const std::string& line) const {
    const std::string script = folder_ + "/ask.bash";
    std::ofstream(script) << "cd " << folder_ << "/files\n"
                          << "source " << folder_ << "/bash/halyard\n"
                          << "source " << folder_ << "/bash/halyard-serve\n"
                          << "source " << folder_ << "/bash/halyard-kit\n"
                          << "COMP_WORDS=(" << line << ")\n"
                          << "COMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n"
                          << "_halyard\nprintf '%s\\n' \"${COMPREPLY[@]}\"\n";
    return linesOf(outputOf("bash " + script + " 2>&1"));
  }

  CLI::App app_{"Tools", "halyard"};
  CLI::App server_{"Serve models", "halyard serve"};
  CLI::App kit_{"Checks", "halyard-kit"};
  std::string text_;
  int number_ = 0;
  bool flag_ = false;
  TemporaryFolder owner_{"help_pages"};
  std::string folder_ = owner_.path();
};

TEST_F(HelpPages, WritesAPageForEachCommand) {
  EXPECT_THAT(filesOf("man"),
              UnorderedElementsAre("halyard.1", "halyard-run.1", "halyard-cache.1",
                                   "halyard-serve.1", "halyard-kit.1", "halyard-kit-check.1"));
  EXPECT_THAT(contentOf("man/halyard.1"), HasSubstr("\\fBhalyard\\-kit\\-check\\fR(1)\nCheck"));
  const std::string page = contentOf("man/halyard-run.1");
  EXPECT_THAT(page, HasSubstr("\\fB\\-j\\fR, \\fB\\-\\-jobs\\fR \\fIN\\fR\n"));
  EXPECT_THAT(page, HasSubstr("\n\\&.at once \\e [default: 1]\n"));
  EXPECT_THAT(page, HasSubstr("\\fBhalyard run\\fR [\\fIOPTION\\fR]... \\fIMODEL\\fR\n"));
  EXPECT_THAT(contentOf("man/halyard.1"), Not(HasSubstr("secret")));
  EXPECT_THAT(contentOf("man/halyard-cache.1"), HasSubstr("\\fB\\-\\-damaged\\fR\n"));
  EXPECT_THAT(contentOf("man/halyard-serve.1"), HasSubstr("\\fB\\-\\-host\\fR \\fIADDRESS\\fR\n"));
}

TEST_F(HelpPages, HaveTheDateOfTheSource) {
  ::setenv("SOURCE_DATE_EPOCH", "1767225600", 1);
  write(app_, "man");
  ::unsetenv("SOURCE_DATE_EPOCH");
  EXPECT_THAT(contentOf("man/halyard.1"),
              HasSubstr(".TH HALYARD 1 2026-01-01 \"Halyard 0.3.0\" \"Halyard\"\n"));
}

TEST_F(HelpPages, MandocAndManHaveNoWarning) {
  if (!hasProgram("mandoc") && !hasProgram("man")) GTEST_SKIP() << "neither mandoc nor man";
  for (const std::string& name : filesOf("man")) {
    const std::string file = folder_ + "/man/" + name;
    if (hasProgram("mandoc")) {
      EXPECT_EQ(outputOf("mandoc -T lint -W warning " + file + " 2>&1"), "")
          << contentOf("man/" + name);
    }
    if (hasProgram("man")) {
      EXPECT_EQ(
          outputOf("LC_ALL=C.UTF-8 MANROFFSEQ= man --warnings -l " + file + " 2>&1 >/dev/null"),
          "");
    }
  }
}

TEST_F(HelpPages, RefusesAnotherKindAndAFolderThatCannotBeWritten) {
  EXPECT_THROW(app_.parse("--help-pages csh " + folder_), CLI::ValidationError);
  std::ofstream(folder_ + "/file") << "x";
  EXPECT_THROW(app_.parse("--help-pages man " + folder_ + "/file"), CLI::FileError);
}

TEST_F(HelpPages, BashCompletes) {
  fs::create_directories(folder_ + "/files/pictures of cats");
  std::ofstream(folder_ + "/files/picture.png") << "x";
  EXPECT_THAT(bash("halyard ''"),
              UnorderedElementsAre("run", "cache", "serve", "check", "--help", "-h"));
  EXPECT_THAT(bash("halyard ca"), ElementsAre("cache"));
  EXPECT_THAT(bash("halyard cache pr"), ElementsAre("prune"));
  EXPECT_THAT(bash("halyard cache prune --d"), ElementsAre("--damaged"));
  EXPECT_THAT(bash("halyard cache ls --d"), ElementsAre(""));
  EXPECT_THAT(bash("halyard run --o"), ElementsAre("--output"));
  EXPECT_THAT(bash("halyard run --via ''"), UnorderedElementsAre("api", "hal"));
  EXPECT_THAT(bash("halyard run --via = h"), ElementsAre("hal"));
  EXPECT_THAT(bash("halyard run --via ="), UnorderedElementsAre("api", "hal"));
  EXPECT_THAT(bash("halyard run --image pic"),
              UnorderedElementsAre("picture.png", "pictures of cats"));
  EXPECT_THAT(bash("halyard run --output pic"), ElementsAre("pictures of cats"));
  EXPECT_THAT(bash("halyard run pic"), UnorderedElementsAre("picture.png", "pictures of cats"));
  EXPECT_THAT(bash("halyard run --jobs ''"), ElementsAre(""));
  EXPECT_THAT(bash("halyard serve --ho"), ElementsAre("--host"));
  EXPECT_THAT(bash("halyard check --fu"), ElementsAre("--full"));
}

TEST_F(HelpPages, FishCompletes) {
  if (!hasProgram("fish")) GTEST_SKIP() << "no fish";
  const auto fish = [&](const std::string& line) {
    return linesOf(outputOf("HOME=" + folder_ + " fish --no-config -c 'source " + folder_ +
                            "/fish/halyard.fish; source " + folder_ +
                            "/fish/halyard-serve.fish; source " + folder_ +
                            "/fish/halyard-kit.fish; complete -C \"" + line + "\"' 2>&1"));
  };
  EXPECT_THAT(fish("halyard ca"), ElementsAre("cache\tCaches"));
  EXPECT_THAT(fish("halyard cache p"), ElementsAre("prune\tRemove some"));
  EXPECT_THAT(fish("halyard cache prune --da"), ElementsAre("--damaged\tThe damaged ones"));
  EXPECT_THAT(fish("halyard run --via h"), ElementsAre("hal\tThe way"));
  EXPECT_THAT(fish("halyard serve --ho"), ElementsAre("--host\tAn address"));
  EXPECT_THAT(fish("halyard check --fu"), ElementsAre("--full\tEverything"));
}

TEST_F(HelpPages, ZshCompletes) {
  if (!hasProgram("zsh")) GTEST_SKIP() << "no zsh";
  // A zsh in a pseudo terminal gets the line and a tab. Returns whether it then shows `expected`.
  const auto completes = [&](const std::string& line, const std::string& expected) {
    const std::string script = folder_ + "/ask.zsh";
    std::ofstream(script) << "zmodload zsh/zpty\n"
                          << "zpty shell 'zsh -f -i'\n"
                          << "say() { zpty -w shell \"$1\"; }\n"
                          << "say 'PS1=\"\"; TERM=dumb; fpath=(" << folder_ << "/zsh $fpath)'\n"
                          << "say 'autoload -Uz compinit; compinit -u -d " << folder_ << "/dump'\n"
                          << "say 'print READY'\n"
                          << "zpty -r shell text '*READY*READY*'\n"
                          << "zpty -n -w shell $'" << line << "\\t'\n"
                          << "zpty -r shell text '*" << expected << "*' && print FOUND\n";
    return outputOf("timeout 60 zsh -f " + script + " 2>&1 </dev/null") == "FOUND\n";
  };
  EXPECT_TRUE(completes("halyard cac", "halyard cache "));
  EXPECT_TRUE(completes("halyard run --outp", "halyard run --output"));
  EXPECT_TRUE(completes("halyard cache prune --dam", "halyard cache prune --damaged"));
  EXPECT_TRUE(completes("halyard serve --ho", "halyard serve --host"));
  EXPECT_TRUE(completes("halyard check --fu", "halyard check --full"));
}

}  // namespace
}  // namespace halyard::command_line
