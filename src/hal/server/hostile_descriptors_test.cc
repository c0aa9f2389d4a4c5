// Tests of a service against clients whose descriptors and incomplete messages try to block or
// exhaust it.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "base/testing/slow_descriptors.h"
#include "hal/client/remote_device.h"
#include "hal/testing/raw_client.h"
#include "hal/testing/test_device.h"
#include "test_definitions.h"

namespace halyard::hal {
namespace {

using namespace hal::testing;  // NOLINT: the test device's vocabulary
using halyard::testing::becomes;
using halyard::testing::LingeringSocket;
using halyard::testing::sendDescriptors;
using halyard::testing::SlowFile;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kLinger{100};
constexpr seconds kPatience{30};  // far below the linger time

class HostileDescriptors : public ::testing::Test {
 protected:
  void SetUp() override {
    char folder[] = "/tmp/halyard_descriptors_XXXXXX";
    ASSERT_NE(::mkdtemp(folder), nullptr);
    folder_ = folder;
    path_ = folder_ + "/driver.sock";
  }
  void TearDown() override {
    if (service_ > 0) {
      ::kill(service_, SIGKILL);
      ::waitpid(service_, nullptr, 0);
    }
    std::filesystem::remove_all(folder_);
  }

  void start(const std::string& limits = "{}") {
    const std::string file = folder_ + "/m.json";
    std::ofstream(file) << R"({"name": "test-service", "version": "1", "hal_version": "1.3",
        "socket": "driver.sock", "service": )"
                        << limits << "}";
    service_ = ::fork();
    if (service_ == 0) {
      ::execl(HALYARD_TEST_DRIVER_PATH, HALYARD_TEST_DRIVER_PATH, "--service", file.c_str(),
              nullptr);
      ::_exit(99);
    }
    ASSERT_TRUE(becomes([&] { return RawClient(path_).connected(); }, kPatience));
  }
  Status serveOnce() {
    Manifest manifest;
    manifest.name = "test-service";
    manifest.kind = Manifest::Kind::SOCKET;
    manifest.target = path_;
    const auto device = RemoteDevice::open(loop_, manifest, milliseconds(kPatience));
    if (!device.ok()) return device.status();
    const auto prepared = (*device)->prepareModel(validated(addModel(2)).value(), {});
    if (!prepared.ok()) return prepared.status();
    const float in[2] = {1, 2};
    float out[2] = {};
    return (*prepared)->executeSynchronously(pointerRequest(in, in, out, 2), {}).status;
  }
  void expectServes() {
    const Status status = serveOnce();
    EXPECT_TRUE(status.ok()) << status.toString();
  }
  // Checks that the service ends on SIGTERM.
  void expectEnds() {
    ASSERT_EQ(::kill(service_, SIGTERM), 0);
    int status = 0;
    EXPECT_TRUE(
        becomes([&] { return ::waitpid(service_, &status, WNOHANG) == service_; }, seconds(10)));
    EXPECT_TRUE(WIFEXITED(status)) << status;
    service_ = 0;
  }
  // The address space of the service, in KiB.
  long addressSpace() const {
    std::ifstream file("/proc/" + std::to_string(service_) + "/status");
    for (std::string line; std::getline(file, line);) {
      if (line.starts_with("VmSize:")) return std::atol(line.c_str() + 7);
    }
    return 0;
  }
  static std::string header(uint32_t words) {
    const uint32_t table[] = {0, words};
    return {reinterpret_cast<const char*>(table), sizeof table};
  }

  // Sends the descriptors in each position where the service does not use them.
  void sendEverywhere(const std::vector<int>& fds) {
    for (int way = 0; way < 4; ++way) {
      RawClient raw(path_);
      ASSERT_TRUE(raw.connected());
      const std::string message = raw.bootstrap(true);
      std::vector<int> sent = fds;
      size_t first = 0;
      switch (way) {
        case 0:  // with a message
          break;
        case 1:  // more than a message may have
          while (sent.size() < 140) sent.push_back(memory_.get());
          std::rotate(sent.begin(), sent.begin() + static_cast<ptrdiff_t>(fds.size()), sent.end());
          break;
        case 2:  // in the middle of a message
          first = 4;
          break;
        default:  // with an incomplete message
          ASSERT_TRUE(raw.write(header(1000).substr(0, 7), kPatience));
          first = SIZE_MAX;
      }
      if (first == SIZE_MAX) {
        ASSERT_TRUE(sendDescriptors(raw.fd(), sent, 0));
        continue;
      }
      if (first > 0) {
        ASSERT_TRUE(raw.write(message.substr(0, first), kPatience));
      }
      ASSERT_TRUE(sendDescriptors(raw.fd(), sent, message[first]));
      ASSERT_TRUE(raw.write(message.substr(first + 1), kPatience));
      raws_.push_back(std::move(raw));
    }
  }

  const std::shared_ptr<RpcLoop> loop_ = RpcLoop::start().value();
  const UniqueFd memory_{::memfd_create("test", MFD_CLOEXEC)};
  std::vector<RawClient> raws_;
  std::string folder_;
  std::string path_;
  pid_t service_ = 0;
};

TEST_F(HostileDescriptors, SocketsThatLingerHoldUpNobody) {
  start();
  LingeringSocket socket(kLinger);
  ASSERT_GE(socket.get(), 0);
  sendEverywhere({socket.get()});
  socket.close();
  expectServes();
  raws_.clear();
  expectServes();
  expectEnds();
}

// These sockets cannot be set not to linger.
TEST_F(HostileDescriptors, SocketsWithinSocketsHoldUpNobody) {
  start();
  std::vector<LingeringSocket> lingering;  // until the end: a socket lingers only with its peer
  for (int i = 0; i < 8; ++i) {
    LingeringSocket& socket = lingering.emplace_back(kLinger);
    ASSERT_GE(socket.get(), 0);
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    const UniqueFd inner(ends[0]);
    const UniqueFd other(ends[1]);
    ASSERT_TRUE(sendDescriptors(ends[1], {socket.get()}));
    socket.close();
    sendEverywhere({ends[0]});
  }
  expectServes();
  raws_.clear();
  expectServes();
  expectEnds();
}

TEST_F(HostileDescriptors, FilesOfAUsersFileSystemHoldUpNobody) {
  const auto file = SlowFile::make(SlowFile::Stuck::CLOSE);
  if (file == nullptr) GTEST_SKIP() << "file systems of users cannot be mounted here";
  start();
  {
    const ForeignFd fd(file->open());
    ASSERT_TRUE(fd.valid());
    sendEverywhere({fd.get()});
    expectServes();
    raws_.clear();
    expectServes();
    file->end();
  }
  expectEnds();
}

TEST_F(HostileDescriptors, AnnouncedBytesTakeNoMemory) {
  start();
  expectServes();
  const long before = addressSpace();
  ASSERT_GT(before, 0);
  std::vector<RawClient> clients;
  for (int i = 0; i < 60; ++i) {
    clients.emplace_back(path_);
    ASSERT_TRUE(clients.back().write(header(60'000'000 / 8) + "12345678", kPatience));
  }
  expectServes();
  std::this_thread::sleep_for(milliseconds(200));
  EXPECT_LT(addressSpace() - before, 200 * 1024);
}

TEST_F(HostileDescriptors, WhatHasComeOfMessagesCountsForTheUser) {
  start(R"({"user": {"memory_bytes": 16777216}})");
  const std::string part(size_t{6} << 20, 'x');
  std::vector<RawClient> clients;
  unsigned cutOff = 0;
  for (int i = 0; i < 4; ++i) {
    RawClient raw(path_);
    ASSERT_TRUE(raw.connected());
    const bool taken = raw.write(header(20'000'000 / 8) + part, kPatience);
    if (taken) {
      clients.push_back(std::move(raw));
    } else {
      ++cutOff;
    }
  }
  // Some clients have sent 6 MiB. All together may send at most 16 MiB.
  EXPECT_GE(clients.size(), 1u);
  EXPECT_TRUE(becomes(
      [&] {
        std::erase_if(clients, [&](RawClient& raw) { return !raw.discard() && ++cutOff > 0; });
        return cutOff >= 2;
      },
      kPatience))
      << cutOff;
  clients.clear();
  EXPECT_TRUE(becomes([&] { return serveOnce().ok(); }, kPatience));
}

TEST_F(HostileDescriptors, AMessageThatIsLargerThanDocumentedIsRefused) {
  start();
  RawClient largest(path_);
  ASSERT_TRUE(largest.write(header((64 << 20) / 8), kPatience));
  RawClient tooLarge(path_);
  ASSERT_TRUE(tooLarge.write(header((66 << 20) / 8), kPatience));
  EXPECT_TRUE(becomes([&] { return !tooLarge.discard(); }, kPatience));
  EXPECT_TRUE(largest.discard());
}

}  // namespace
}  // namespace halyard::hal
