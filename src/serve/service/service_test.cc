// Tests of the service: inputs and outputs in shared memory, and the count of requests in flight.
#include "serve/service/service.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/temporary_folder_for_test.h"
#include "serve/models_for_test.h"
#include "serve/protocol/waiter.h"

namespace halyard::serve {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr uint64_t kTebibyte = uint64_t{1} << 40;

class ServiceTest : public ::testing::Test {
 protected:
  ServiceTest() : key_("/halyard_service_test_" + std::to_string(::getpid())) {
    writeFile(folder_.path() + "/add.tflite", additionModel().bytes());
    EXPECT_TRUE(service_.repository().loadAll().ok());
    fd_ = ::shm_open(key_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    EXPECT_EQ(::ftruncate(fd_, kTebibyte), 0);  // sparse
    EXPECT_TRUE(service_.regions().add({"r", key_, 0, kTebibyte}).ok());
  }
  ~ServiceTest() override {
    ::close(fd_);
    ::shm_unlink(key_.c_str());
  }

  // A request whose input has `size` bytes of the region.
  static InferRequest requestInRegion(uint64_t size) {
    InferRequest request = requestFor("add", {0, 0, 0});
    request.inputs[0].own.clear();
    request.inputs[0].bytes = {};
    request.inputs[0].region = RegionPart{"r", 0, size};
    return request;
  }
  InferAnswer infer(InferRequest& request) {
    Waiter waiter;
    service_.infer(request, Clock::now(),
                   [&](InferAnswer answer) { waiter.give(std::move(answer)); });
    return waiter.wait();
  }

  const TemporaryFolder folder_{"service"};
  const std::string key_;
  int fd_ = -1;
  Service service_{ModelFolder(folder_.path()), {{}, "", false}, true};
};

TEST_F(ServiceTest, TensorsInRegions) {
  const std::vector<uint8_t> values = import::bytesOf<float>({1, 2, 3});
  ASSERT_EQ(::pwrite(fd_, values.data(), values.size(), 0), 12);
  InferRequest request = requestInRegion(12);
  request.outputs.push_back({"y", {}, 0, RegionPart{"r", 100, 12}});
  const InferAnswer answer = infer(request);
  ASSERT_TRUE(answer.outcome.ok()) << answer.outcome.text();
  float results[3];
  ASSERT_EQ(::pread(fd_, results, 12, 100), 12);
  EXPECT_THAT(results, ElementsAre(11, 22, 33));
}

// The size of a part is the client's. No request may make the server allocate so much.
TEST_F(ServiceTest, OnlyTheBytesOfTheModelAreRead) {
  InferRequest large = requestInRegion(kTebibyte);
  EXPECT_THAT(infer(large).outcome.text(),
              HasSubstr("model 'add' version 1: input 'x': 1099511627776 bytes, expected 12"));
  InferRequest unknown = requestInRegion(kTebibyte);
  unknown.inputs[0].name = "z";
  EXPECT_THAT(infer(unknown).outcome.text(), HasSubstr("input 'x' is missing"));
  InferRequest twice = requestInRegion(12);
  twice.inputs.push_back(std::move(requestInRegion(kTebibyte).inputs[0]));
  EXPECT_THAT(infer(twice).outcome.text(), HasSubstr("an input is given twice"));
  EXPECT_EQ(service_.inFlight(), 0u);
  EXPECT_EQ(service_.repository().find("add", "").model->statistics().fail.count, 3u);
  service_.stop();
}

TEST_F(ServiceTest, FaultsOfRegionsAreExplained) {
  InferRequest absent = requestInRegion(12);
  absent.inputs[0].region->region = "s";
  EXPECT_THAT(infer(absent).outcome.text(), HasSubstr("there is no region 's'"));
  ASSERT_EQ(::ftruncate(fd_, 4), 0);
  InferRequest shorter = requestInRegion(12);
  EXPECT_THAT(infer(shorter).outcome.text(), HasSubstr("region 'r' has become shorter"));
  Service closed{ModelFolder(folder_.path()), {{}, "", false}, false};
  ASSERT_TRUE(closed.repository().loadAll().ok());
  InferRequest request = requestInRegion(kTebibyte);
  Waiter waiter;
  closed.infer(request, Clock::now(), [&](InferAnswer answer) { waiter.give(std::move(answer)); });
  EXPECT_EQ(waiter.wait().outcome.fault(), Fault::UNSUPPORTED);
  EXPECT_EQ(service_.inFlight(), 0u);
}

}  // namespace
}  // namespace halyard::serve
