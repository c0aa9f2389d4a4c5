#include "validation/models/litert.h"

#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/environment.h"
#include "measure/tensor_values.h"
#include "media/npy.h"
#include "report/statistics.h"

extern char** environ;

namespace halyard::validation {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kPatience{120};
constexpr size_t kMostAnswerBytes = size_t{1} << 26;
constexpr double kWarmUpSeconds = 0.1;

// The Python program of the environment, and the PYTHONPATH for the worker in `path`. Empty without
// an environment or a worker.
fs::path pythonOf(const fs::path& prefix, fs::path* path) {
  const char* const environment = environmentVariable("HALYARD_PEERS_VENV");
  if (environment == nullptr || *environment == '\0') return {};
  *path = prefix / "share/halyard/peers";
  const fs::path python = fs::path(environment) / "bin/python";
  std::error_code error;
  if (!fs::exists(python, error) || !fs::exists(*path / "peers/peer_worker.py", error)) return {};
  return python;
}

// Writes the model's inputs as files of NumPy.
Result<std::vector<std::string>> writeInputs(const fs::path& folder,
                                             const import::ImportedModel& imported,
                                             const std::vector<std::vector<uint8_t>>& inputs) {
  std::vector<std::string> files;
  for (size_t i = 0; i < inputs.size(); ++i) {
    Shape dims = imported.inputs[i].dims;
    for (uint32_t& extent : dims) extent = std::max(extent, 1u);
    HALYARD_ASSIGN_OR_RETURN(const media::NpyArray array,
                             measure::toNpy(imported.inputs[i].type, dims, inputs[i]));
    files.push_back(folder / fmt::format("{}.npy", i));
    HALYARD_RETURN_IF_ERROR(media::saveNpy(array, files.back()));
  }
  return files;
}

// The child's standard input and output are `socket`. Its standard error is dropped.
Result<pid_t> spawn(std::vector<std::string> arguments, const fs::path& pythonPath, int socket) {
  std::vector<std::string> variables = {"PYTHONPATH=" + pythonPath.string()};
  for (char** each = environ; *each != nullptr; ++each) {
    if (std::string_view(*each).substr(0, 11) != "PYTHONPATH=") variables.emplace_back(*each);
  }
  const auto pointersTo = [](std::vector<std::string>& texts) {
    std::vector<char*> pointers;
    for (std::string& each : texts) pointers.push_back(each.data());
    pointers.push_back(nullptr);
    return pointers;
  };
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, socket, STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, socket, STDOUT_FILENO);
  ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t pid = 0;
  const int failed = ::posix_spawn(&pid, arguments[0].c_str(), &actions, nullptr,
                                   pointersTo(arguments).data(), pointersTo(variables).data());
  ::posix_spawn_file_actions_destroy(&actions);
  if (failed == 0) return pid;
  return errnoStatus(ResultCode::OP_FAILED, failed, fmt::format("starting {}", arguments[0]));
}

}  // namespace

Result<std::unique_ptr<LiteRt>> LiteRt::start(const fs::path& prefix, const std::string& model,
                                              const import::ImportedModel& imported,
                                              const std::vector<std::vector<uint8_t>>& inputs) {
  fs::path pythonPath;
  const fs::path python = pythonOf(prefix, &pythonPath);
  std::error_code error;
  std::unique_ptr<LiteRt> none;
  if (python.empty() || !fs::is_regular_file(model, error)) return none;
  std::unique_ptr<LiteRt> made(new LiteRt());
  std::string pattern = (fs::temp_directory_path() / "halyard_litert_XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) {
    return errnoStatus(ResultCode::OP_FAILED, errno, "mkdtemp");
  }
  made->folder_ = pattern;
  HALYARD_ASSIGN_OR_RETURN(const std::vector<std::string> files,
                           writeInputs(made->folder_, imported, inputs));
  std::vector<std::string> arguments = {
      python.string(), "-m",  "peers.peer_worker",
      "litert",        model, std::to_string(std::max(1u, std::thread::hardware_concurrency()))};
  arguments.insert(arguments.end(), files.begin(), files.end());
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return errnoStatus(ResultCode::OP_FAILED, errno, "socketpair");
  }
  made->socket_ = UniqueFd(ends[0]);
  const UniqueFd theirs(ends[1]);
  HALYARD_ASSIGN_OR_RETURN(made->pid_, spawn(std::move(arguments), pythonPath, theirs.get()));
  HALYARD_RETURN_IF_ERROR(made->ask(R"({"do": "load"})").status(), "LiteRT");
  return made;
}

LiteRt::~LiteRt() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  std::error_code ignored;
  if (!folder_.empty()) fs::remove_all(folder_, ignored);
}

// Sends one line and returns the answer. Lines that are not a JSON object come from libraries that
// print, and are skipped.
Result<std::string> LiteRt::ask(const std::string& command) {
  const std::string line = command + "\n";
  if (::send(socket_.get(), line.data(), line.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(line.size())) {
    return errnoStatus(ResultCode::OP_FAILED, errno, "the process has gone");
  }
  const auto deadline = Clock::now() + kPatience;
  for (;;) {
    for (size_t end = received_.find('\n'); end != std::string::npos; end = received_.find('\n')) {
      const std::string answer = received_.substr(0, end);
      received_.erase(0, end + 1);
      if (!answer.starts_with("{")) continue;
      const Json json = Json::parse(answer, nullptr, /*allow_exceptions=*/false);
      if (!json.is_object()) return opFailed("no JSON: {}", answer.substr(0, 100));
      const auto error = json.find("error");
      if (error == json.end()) return answer;
      return opFailed("{}", error->is_string() ? error->get<std::string>() : error->dump());
    }
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd waiting{socket_.get(), POLLIN, 0};
    if (left <= 0 || received_.size() > kMostAnswerBytes) return opFailed("no answer in time");
    if (::poll(&waiting, 1, static_cast<int>(left)) <= 0) continue;
    char buffer[65536];
    const ssize_t count = ::recv(socket_.get(), buffer, sizeof buffer, 0);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return opFailed("the process has ended");
    received_.append(buffer, static_cast<size_t>(count));
  }
}

Result<double> LiteRt::medianMilliseconds(double seconds) {
  const Json command = {{"do", "run"}, {"seconds", seconds}, {"warm", kWarmUpSeconds}};
  HALYARD_ASSIGN_OR_RETURN(const std::string answer, ask(command.dump()), "LiteRT");
  const Json json = Json::parse(answer, nullptr, /*allow_exceptions=*/false);
  std::vector<double> times;
  for (const Json& each : json.value("us", Json::array())) {
    if (each.is_number()) times.push_back(each.get<double>() / 1e3);
  }
  if (times.empty()) return opFailed("LiteRT: no times");
  return report::medianOf(times);
}

Result<std::vector<size_t>> LiteRt::classes(const std::vector<uint8_t>& bytes) {
  const fs::path file = folder_ / "inputs.raw";
  std::ofstream out(file, std::ios::binary);
  out.write(reinterpret_cast<const char*>(bytes.data()),
            static_cast<std::streamsize>(bytes.size()));
  out.close();
  if (!out) return opFailed("cannot write {}", file.string());
  const Json command = {{"do", "classify"}, {"file", file.string()}};
  HALYARD_ASSIGN_OR_RETURN(const std::string answer, ask(command.dump()), "LiteRT");
  const Json json = Json::parse(answer, nullptr, /*allow_exceptions=*/false);
  std::vector<size_t> classes;
  for (const Json& each : json.value("classes", Json::array())) {
    if (!each.is_number_unsigned()) return opFailed("LiteRT: a class is no number");
    classes.push_back(each.get<size_t>());
  }
  return classes;
}

}  // namespace halyard::validation
