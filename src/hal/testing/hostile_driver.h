// HostileDriver: a driver whose answers a test controls, on a connection without Halyard's server.
// It tests that a client can handle incorrect answers.
// Thread safety: the thread of the test makes and destroys it. Hooks run on the thread of the loop.
// Ownership: owns its loop, its socket and the connections, which end with it.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "hal/core/completion.h"
#include "hal/driver.capnp.h"
#include "hal/manifest/manifest.h"
#include "hal/v1_3.capnp.h"
#include "hal/wire/rpc_loop_context.h"
#include "hal/wire/wire_connection.h"
#include "hal/wire/wire_memory.h"
#include "hal/wire/wire_request.h"

namespace halyard::hal::testing {

class HostileDriver {
 public:
  using Configure = capnp::CallContext<wire::v1_2::IPreparedModel::ConfigureExecutionBurstParams,
                                       wire::v1_2::IPreparedModel::ConfigureExecutionBurstResults>;
  using Execute = capnp::CallContext<wire::v1_3::IPreparedModel::ExecuteSynchronously13Params,
                                     wire::v1_3::IPreparedModel::ExecuteSynchronously13Results>;
  using ExecuteFenced = capnp::CallContext<wire::v1_3::IPreparedModel::ExecuteFencedParams,
                                           wire::v1_3::IPreparedModel::ExecuteFencedResults>;
  using Supported = capnp::CallContext<wire::v1_3::IDevice::GetSupportedOperations13Params,
                                       wire::v1_3::IDevice::GetSupportedOperations13Results>;
  // The behaviour of each call. A call without a hook counts as not implemented.
  struct Hooks {
    std::function<kj::Promise<void>(Configure)> configureBurst = {};
    std::function<kj::Promise<void>(Execute)> execute = {};
    std::function<kj::Promise<void>(Supported)> supported = {};
    std::function<kj::Promise<void>(ExecuteFenced)> executeFenced = {};
  };

  explicit HostileDriver(Hooks hooks) : hooks_(std::make_shared<const Hooks>(std::move(hooks))) {
    static std::atomic<int> number = 0;
    path_ = std::filesystem::path(::testing::TempDir()) /
            fmt::format("halyard-hostile-{}-{}.sock", ::getpid(), ++number);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path_.string().copy(address.sun_path, sizeof address.sun_path - 1);
    std::filesystem::remove(path_);
    listening_.reset(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::bind(listening_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(listening_.get(), 16), 0);
    acceptor_ = std::thread([this] { accept(); });
  }
  ~HostileDriver() {
    ::shutdown(listening_.get(), SHUT_RDWR);
    acceptor_.join();
    Completion<bool> done;
    loop_->post([&](RpcLoop::Context&) {
      connections_.clear();
      done.set(true);
    });
    done.wait();
    std::filesystem::remove(path_);
  }
  HostileDriver(const HostileDriver&) = delete;
  HostileDriver& operator=(const HostileDriver&) = delete;

  // The manifest of a driver of HAL 1.3 that is a service.
  Manifest manifest() const {
    Manifest manifest;
    manifest.name = "test-hostile";
    manifest.version = "1";
    manifest.kind = Manifest::Kind::SOCKET;
    manifest.target = path_.string();
    return manifest;
  }

 private:
  using Prepared = wire::v1_3::IPreparedModel::Server;
  class PreparedModel final : public Prepared {
   public:
    explicit PreparedModel(std::shared_ptr<const Hooks> hooks) : hooks_(std::move(hooks)) {}
    kj::Promise<void> configureExecutionBurst(ConfigureExecutionBurstContext context) override {
      if (!hooks_->configureBurst) return Prepared::configureExecutionBurst(context);
      return hooks_->configureBurst(context);
    }
    kj::Promise<void> executeSynchronously13(ExecuteSynchronously13Context context) override {
      if (!hooks_->execute) return Prepared::executeSynchronously13(context);
      return hooks_->execute(context);
    }
    kj::Promise<void> executeFenced(ExecuteFencedContext context) override {
      if (!hooks_->executeFenced) return Prepared::executeFenced(context);
      return hooks_->executeFenced(context);
    }

   private:
    const std::shared_ptr<const Hooks> hooks_;
  };

  class Device final : public wire::v1_3::IDevice::Server {
   public:
    explicit Device(std::shared_ptr<const Hooks> hooks) : hooks_(std::move(hooks)) {}
    kj::Promise<void> getCapabilities13(GetCapabilities13Context context) override {
      auto capabilities = context.getResults().initCapabilities();
      const auto set = [](wire::PerformanceInfo::Builder info) {
        info.setExecTime(0.5f);
        info.setPowerUsage(0.5f);
      };
      set(capabilities.initRelaxedFloat32toFloat16PerformanceScalar());
      set(capabilities.initRelaxedFloat32toFloat16PerformanceTensor());
      set(capabilities.initIfPerformance());
      set(capabilities.initWhilePerformance());
      auto entry = capabilities.initOperandPerformance(1)[0];
      entry.setType(3);  // TENSOR_FLOAT32
      set(entry.initInfo());
      return kj::READY_NOW;
    }
    kj::Promise<void> getVersionString(GetVersionStringContext context) override {
      context.getResults().setVersion("hostile 1");
      return kj::READY_NOW;
    }
    kj::Promise<void> getType(GetTypeContext context) override {
      context.getResults().setType(wire::DeviceType::ACCELERATOR);
      return kj::READY_NOW;
    }
    kj::Promise<void> getSupportedExtensions(GetSupportedExtensionsContext) override {
      return kj::READY_NOW;
    }
    kj::Promise<void> getNumberOfCacheFilesNeeded(GetNumberOfCacheFilesNeededContext) override {
      return kj::READY_NOW;
    }
    kj::Promise<void> getStatus(GetStatusContext) override { return kj::READY_NOW; }
    kj::Promise<void> getSupportedOperations13(GetSupportedOperations13Context context) override {
      if (!hooks_->supported) return wire::v1_3::IDevice::Server::getSupportedOperations13(context);
      return hooks_->supported(context);
    }
    kj::Promise<void> prepareModel13(PrepareModel13Context context) override {
      auto notify = context.getParams().getCallback().notify13Request();
      notify.setPreparedModel(kj::heap<PreparedModel>(hooks_));
      return notify.send().ignoreResult();
    }

   private:
    const std::shared_ptr<const Hooks> hooks_;
  };

  class Driver final : public wire::IDriver::Server {
   public:
    explicit Driver(std::shared_ptr<const Hooks> hooks) : hooks_(std::move(hooks)) {}
    kj::Promise<void> hello(HelloContext context) override {
      auto results = context.getResults();
      results.setProtocolVersion(wire::PROTOCOL_VERSION);
      results.setHalVersion(13);
      results.setDevice(kj::heap<Device>(hooks_));
      return kj::READY_NOW;
    }
    kj::Promise<void> ping(PingContext) override { return kj::READY_NOW; }

   private:
    const std::shared_ptr<const Hooks> hooks_;
  };

  void accept() {
    for (;;) {
      const auto fd =
          std::make_shared<UniqueFd>(::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!fd->valid()) return;
      loop_->post([this, fd](RpcLoop::Context& context) {
        connections_.push_back(
            kj::heap<WireConnection>(context, std::move(*fd), capnp::rpc::twoparty::Side::SERVER,
                                     capnp::Capability::Client(kj::heap<Driver>(hooks_))));
      });
    }
  }

  const std::shared_ptr<const Hooks> hooks_;
  const std::shared_ptr<RpcLoop> loop_ = RpcLoop::start().value();
  std::filesystem::path path_;
  UniqueFd listening_;
  std::thread acceptor_;
  std::vector<kj::Own<WireConnection>> connections_;  // used only on the loop thread
};

}  // namespace halyard::hal::testing
