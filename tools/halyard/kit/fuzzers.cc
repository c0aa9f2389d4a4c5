#include "tools/halyard/kit/fuzzers.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <deque>
#include <fstream>
#include <sstream>

#include "halyard/driver/unique_fd.h"

extern char** environ;

namespace halyard::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEnding = "_fuzz";
constexpr size_t kLinesKept = 60;
constexpr unsigned kSecondsOfAnInput = 20;
constexpr unsigned kMegabytes = 2048;

Status readSeeds(const fs::path& file, Fuzzer* to) {
  std::ifstream in(file);
  std::string kind;
  std::string path;
  while (in >> kind && std::getline(in >> std::ws, path)) {
    const fs::path full = (file.parent_path() / path).lexically_normal();
    if (kind == "seeds") {
      to->seeds.push_back(full);
    } else if (kind == "dictionary") {
      to->dictionaries.push_back(full);
    } else {
      return badData("{}: '{}' is neither seeds nor dictionary", file.string(), kind);
    }
  }
  return okStatus();
}

std::vector<std::string> argumentsOf(const Fuzzer& fuzzer, const FuzzSettings& settings) {
  std::vector<std::string> arguments = {
      fuzzer.program.string(),
      settings.corpus.string(),
  };
  std::error_code error;
  for (const fs::path& folder : fuzzer.seeds) {
    if (fs::is_directory(folder, error)) arguments.push_back(folder.string());
  }
  for (const fs::path& file : fuzzer.dictionaries) {
    if (fs::exists(file, error)) arguments.push_back("-dict=" + file.string());
  }
  arguments.push_back(fmt::format("-artifact_prefix={}/", settings.crashes.string()));
  arguments.push_back(fmt::format("-max_total_time={}", settings.duration.count()));
  arguments.push_back(fmt::format("-timeout={}", kSecondsOfAnInput));
  arguments.push_back(fmt::format("-rss_limit_mb={}", kMegabytes));
  arguments.emplace_back("-print_final_stats=1");
  return arguments;
}

// Reads the number after `word` in a line; unchanged when the word is absent.
void readNumber(const std::string& line, std::string_view word, uint64_t* to) {
  const size_t at = line.find(word);
  if (at == std::string::npos) return;
  const size_t begin = line.find_first_not_of(' ', at + word.size());
  if (begin == std::string::npos) return;
  uint64_t value = 0;
  const auto read = std::from_chars(line.data() + begin, line.data() + line.size(), value);
  if (read.ec == std::errc()) *to = value;
}

void readLine(const std::string& line, const FuzzSettings& settings, FuzzResult* result) {
  if (line.starts_with("#")) {
    readNumber(line, "#", &result->runs);
    readNumber(line, " cov:", &result->coverage);
    if (settings.progress) settings.progress(result->runs, result->coverage);
  }
  readNumber(line, "stat::number_of_executed_units:", &result->runs);
  if (line.find("SUMMARY: ") != std::string::npos && result->problem.empty()) {
    result->problem = line.substr(line.find("SUMMARY: ") + 9);
  }
  constexpr std::string_view kWritten = "Test unit written to ";
  if (const size_t at = line.find(kWritten); at != std::string::npos) {
    result->found.emplace_back(line.substr(at + kWritten.size()));
  }
}

}  // namespace

Result<std::vector<Fuzzer>> findFuzzers(const fs::path& folder) {
  std::vector<Fuzzer> fuzzers;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.ends_with(kEnding) || ::access(entry.path().c_str(), X_OK) != 0) continue;
    Fuzzer fuzzer;
    fuzzer.name = name.substr(0, name.size() - kEnding.size());
    fuzzer.program = entry.path();
    HALYARD_RETURN_IF_ERROR(readSeeds(entry.path().string() + ".seeds", &fuzzer));
    fuzzers.push_back(std::move(fuzzer));
  }
  std::sort(fuzzers.begin(), fuzzers.end(),
            [](const Fuzzer& a, const Fuzzer& b) { return a.name < b.name; });
  return fuzzers;
}

Result<FuzzResult> runFuzzer(const Fuzzer& fuzzer, const FuzzSettings& settings) {
  for (const fs::path& folder : {settings.corpus, settings.crashes}) {
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) {
      return errnoStatus(ResultCode::OP_FAILED, error.value(),
                         fmt::format("making the folder {}", folder.string()));
    }
  }
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return errnoStatus(ResultCode::OP_FAILED, errno, "pipe");
  const UniqueFd reading(ends[0]);
  UniqueFd writing(ends[1]);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, writing.get(), STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, writing.get(), STDERR_FILENO);
  std::vector<std::string> arguments = argumentsOf(fuzzer, settings);
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  pid_t pid = 0;
  const int failed =
      ::posix_spawn(&pid, fuzzer.program.c_str(), &actions, nullptr, pointers.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  writing.reset();
  if (failed != 0) {
    return errnoStatus(ResultCode::OP_FAILED, failed,
                       fmt::format("starting {}", fuzzer.program.string()));
  }

  FuzzResult result;
  std::deque<std::string> last;
  std::string line;
  char buffer[4096];
  for (;;) {
    const ssize_t count = ::read(reading.get(), buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    for (const char c : std::string_view(buffer, static_cast<size_t>(count))) {
      if (c != '\n') {
        line += c;
        continue;
      }
      readLine(line, settings, &result);
      last.push_back(std::move(line));
      if (last.size() > kLinesKept) last.pop_front();
      line.clear();
    }
  }
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (status != 0 && result.problem.empty()) {
    result.problem = WIFSIGNALED(status) ? fmt::format("killed by signal {}", WTERMSIG(status))
                                         : fmt::format("exit status {}", WEXITSTATUS(status));
  }
  if (status == 0) result.problem.clear();
  result.log = fmt::format("{}", fmt::join(last, "\n"));
  return result;
}

}  // namespace halyard::cli
