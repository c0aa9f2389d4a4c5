// The user's limit of descriptors in flight causes an error of the affected call only.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <vector>

#include "base/testing/descriptors_in_flight.h"
#include "hal/client/remote_device.h"
#include "hal/core/completion.h"
#include "hal/testing/test_device.h"
#include "hal/testing/test_driver_manifest.h"
#include "halyard/driver/sync_fence.h"

namespace halyard::hal {
namespace {

using namespace hal::testing;  // NOLINT: the test driver's vocabulary
using halyard::testing::giveUpRights;
using halyard::testing::InFlight;
using std::chrono::seconds;
using ::testing::HasSubstr;

constexpr rlim_t kLimit = 400;
constexpr size_t kTooMany = 600;

// Lowers the limit of the process for its lifetime.
class Limited {
 public:
  explicit Limited(pid_t process) : process_(process) {
    EXPECT_EQ(::prlimit(process_, RLIMIT_NOFILE, nullptr, &before_), 0);
    const rlimit limit{kLimit, before_.rlim_max};
    EXPECT_EQ(::prlimit(process_, RLIMIT_NOFILE, &limit, nullptr), 0);
  }
  ~Limited() { EXPECT_EQ(::prlimit(process_, RLIMIT_NOFILE, &before_, nullptr), 0); }
  Limited(const Limited&) = delete;
  Limited& operator=(const Limited&) = delete;

 private:
  const pid_t process_;
  rlimit before_{};
};

class DescriptorsInFlight : public ::testing::Test {
 protected:
  void open() {
    auto device = RemoteDevice::open(loop_, testing::testManifest(), std::nullopt);
    ASSERT_TRUE(device.ok()) << device.status().toString();
    device_ = *device;
  }
  Result<std::shared_ptr<PreparedModel>> prepare() {
    Model model = addModel(4);
    model.pools = {SharedMemory::create(64, "test").value()};
    return device_->prepareModel(validated(std::move(model)).value(), {});
  }
  void expectRefused(const Status& status) const {
    EXPECT_EQ(status.code(), ResultCode::RESOURCE_EXHAUSTED_TRANSIENT) << status.toString();
    EXPECT_THAT(status.message(), HasSubstr("descriptors on their way"));
    EXPECT_THAT(status.message(), HasSubstr("test-driver"));
  }

  const std::shared_ptr<RpcLoop> loop_ = RpcLoop::start().value();
  std::shared_ptr<RemoteDevice> device_;
};

TEST_F(DescriptorsInFlight, ToTheDriver) {
  open();
  Completion<bool> done;
  loop_->post([&done](RpcLoop::Context&) { done.set(giveUpRights()); });
  ASSERT_TRUE(done.wait());
  const pid_t driver = device_->processId();
  for (int i = 0; i < 3; ++i) {
    {
      const Limited limited(::getpid());
      const InFlight many(kTooMany);
      expectRefused(prepare().status());
      // Calls without descriptors still work.
      EXPECT_EQ(device_->status(), DeviceStatus::AVAILABLE);
    }
    const auto prepared = prepare();
    EXPECT_TRUE(prepared.ok()) << prepared.status().toString();
  }
  EXPECT_EQ(device_->processId(), driver);
}

TEST_F(DescriptorsInFlight, FromTheDriver) {
  open();
  const pid_t driver = device_->processId();
  const auto prepared = prepare();
  ASSERT_TRUE(prepared.ok()) << prepared.status().toString();
  Request request;
  for (uint32_t pool = 0; pool < 3; ++pool) {
    RequestArgument argument;
    argument.kind = RequestArgument::Kind::POOL;
    argument.location = {pool, 0, 4 * sizeof(float)};
    (pool < 2 ? request.inputs : request.outputs).push_back(argument);
    request.pools.emplace_back(SharedMemory::create(4 * sizeof(float), "test").value());
  }
  for (int i = 0; i < 3; ++i) {
    {
      const Limited limited(driver);
      const InFlight many(kTooMany);
      expectRefused((*prepared)->executeFenced(request, {}, {}, std::nullopt).status);
      EXPECT_EQ(device_->status(), DeviceStatus::AVAILABLE);
    }
    const FencedResult good = (*prepared)->executeFenced(request, {}, {}, std::nullopt);
    ASSERT_TRUE(good.status.ok()) << good.status.toString();
    EXPECT_EQ(waitFence(good.fence.get(), Clock::now() + seconds(60)).value(),
              FenceState::SIGNALLED);
  }
  EXPECT_EQ(device_->processId(), driver);
}

}  // namespace
}  // namespace halyard::hal
