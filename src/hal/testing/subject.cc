#include "hal/testing/subject.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include "hal/core/completion.h"
#include "hal/driver.capnp.h"
#include "hal/client/remote_callbacks.h"
#include "hal/client/remote_device.h"
#include "hal/wire/rpc_loop_context.h"
#include "hal/server/server.h"
#include "hal/session/client_session.h"
#include "hal/session/session_services.h"
#include "hal/testing/test_device.h"
#include "hal/wire/wire_connection.h"
#include "hal/wire/wire_model.h"
#include "hal/wire/wire_request.h"
#include "test_definitions.h"

namespace halyard::hal::testing {
namespace {

Code codeOf(const Status& status, HalVersion version) { return toWireStatus(status, version); }

// Any hal::Device.
class DeviceSubject : public Subject {
 public:
  DeviceSubject(std::string name, HalVersion version, std::shared_ptr<Device> device, bool adapts)
      : name_(std::move(name)), version_(version), device_(std::move(device)), adapts_(adapts) {}

  std::string name() const override { return name_; }
  HalVersion version() const override { return version_; }
  bool onTheWire() const override { return false; }
  bool adapts() const override { return adapts_; }
  std::vector<Path> paths() const override { return {Path::SYNCHRONOUS}; }

  SupportedAnswer supported(const Model& model, const ModelEdit&) override {
    const auto answer = device_->getSupportedOperations(model);
    return {codeOf(answer.status(), version_), answer.ok() ? answer->size() : 0,
            answer.status().message()};
  }
  Preparation prepare(const Model& model, int preference, int priority,
                      std::optional<TimePoint> deadline, const ModelEdit&) override {
    const PrepareOptions options{static_cast<ExecutionPreference>(preference),
                                 static_cast<Priority>(priority), deadline};
    auto prepared = device_->prepareModel(validated(model).value(), options);
    const Code code = codeOf(prepared.status(), version_);
    prepared_ = prepared.ok() ? std::move(*prepared) : nullptr;
    return {code, code, prepared_ != nullptr, prepared.status().message()};
  }
  ExecutionAnswer execute(Path, const Request& request, const ExecuteOptions& options,
                          const RequestEdit&) override {
    ExecutionResult result = prepared_->executeSynchronously(request, options);
    const Code code = codeOf(result.status, version_);
    return {code, code, std::move(result.outputShapes), result.timing, result.status.message()};
  }

 private:
  const std::string name_;
  const HalVersion version_;
  const std::shared_ptr<Device> device_;
  const bool adapts_;
  std::shared_ptr<PreparedModel> prepared_;
};

// A Server, and calls that are made by hand.
class WireSubject final : public Subject {
 public:
  WireSubject(HalVersion method, HalVersion driver)
      : method_(method),
        driver_(driver),
        loop_(RpcLoop::start().value()),
        server_(Server::start(loop_, std::make_shared<TestDevice>(driver)).value()) {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    server_->serve(UniqueFd(ends[0]), [] {});
    onLoop<bool>([fd = ends[1], this](RpcLoop::Context& context) -> kj::Promise<bool> {
      side_ = new Side(context, UniqueFd(fd));
      auto hello = side_->wire.peer().castAs<wire::IDriver>().helloRequest();
      hello.setProtocolVersion(wire::PROTOCOL_VERSION);
      return hello.send().then([this](auto&& response) {
        side_->device = response.getDevice();
        return true;
      });
    });
  }
  ~WireSubject() override {
    onLoop<bool>([this](RpcLoop::Context&) -> kj::Promise<bool> {
      delete std::exchange(side_, nullptr);
      return true;
    });
  }
  WireSubject(const WireSubject&) = delete;
  WireSubject& operator=(const WireSubject&) = delete;

  std::string name() const override {
    return fmt::format("HAL {} method of a HAL {} driver over RPC", halVersionName(method_),
                       halVersionName(driver_));
  }
  HalVersion version() const override { return method_; }
  bool onTheWire() const override { return true; }
  bool adapts() const override { return false; }
  std::vector<Path> paths() const override {
    if (method_ < HalVersion::V1_2) return {Path::ASYNCHRONOUS};
    return {Path::ASYNCHRONOUS, Path::SYNCHRONOUS};
  }

  SupportedAnswer supported(const Model& model, const ModelEdit& edit) override {
    return onLoop<SupportedAnswer>([&](RpcLoop::Context&) -> kj::Promise<SupportedAnswer> {
      const auto ask = [&](auto call) -> kj::Promise<SupportedAnswer> {
        encodeModel(model, nullptr, call.initModel());
        if (edit) edit(call.getModel());
        return call.send().then([](auto&& response) -> SupportedAnswer {
          return {response.getStatus(), response.getSupported().size(),
                  response.getMessage().cStr()};
        });
      };
      switch (method_) {
        case HalVersion::V1_0:
          return ask(device<wire::v1_0::IDevice>().getSupportedOperationsRequest());
        case HalVersion::V1_1:
          return ask(device<wire::v1_1::IDevice>().getSupportedOperations11Request());
        case HalVersion::V1_2:
          return ask(device<wire::v1_2::IDevice>().getSupportedOperations12Request());
        default:
          return ask(device<wire::v1_3::IDevice>().getSupportedOperations13Request());
      }
    });
  }

  Preparation prepare(const Model& model, int preference, int priority,
                      std::optional<TimePoint> deadline, const ModelEdit& edit) override {
    return onLoop<Preparation>([&](RpcLoop::Context&) -> kj::Promise<Preparation> {
      const auto wanted = static_cast<wire::ExecutionPreference>(preference);
      switch (method_) {
        case HalVersion::V1_0:
          return sendPrepare(device<wire::v1_0::IDevice>().prepareModelRequest(), model, edit);
        case HalVersion::V1_1: {
          auto call = device<wire::v1_1::IDevice>().prepareModel11Request();
          call.setPreference(wanted);
          return sendPrepare(kj::mv(call), model, edit);
        }
        case HalVersion::V1_2: {
          auto call = device<wire::v1_2::IDevice>().prepareModel12Request();
          call.setPreference(wanted);
          return sendPrepare(kj::mv(call), model, edit);
        }
        default: {
          auto call = device<wire::v1_3::IDevice>().prepareModel13Request();
          call.setPreference(wanted);
          call.setPriority(static_cast<wire::Priority>(priority));
          encodeDeadline(deadline, call.initDeadline());
          return sendPrepare(kj::mv(call), model, edit);
        }
      }
    });
  }

  ExecutionAnswer execute(Path path, const Request& request, const ExecuteOptions& options,
                          const RequestEdit& edit) override {
    return onLoop<ExecutionAnswer>([&](RpcLoop::Context&) -> kj::Promise<ExecutionAnswer> {
      const auto measure =
          options.measureTiming ? wire::MeasureTiming::YES : wire::MeasureTiming::NO;
      if (method_ < HalVersion::V1_2) {
        return launch(prepared<wire::v1_0::IPreparedModel>().executeRequest(), request, edit);
      }
      if (method_ == HalVersion::V1_2) {
        auto client = prepared<wire::v1_2::IPreparedModel>();
        if (path == Path::ASYNCHRONOUS) {
          auto call = client.execute12Request();
          call.setMeasure(measure);
          return launch(kj::mv(call), request, edit);
        }
        auto call = client.executeSynchronouslyRequest();
        call.setMeasure(measure);
        return runNow(kj::mv(call), request, edit);
      }
      auto client = prepared<wire::v1_3::IPreparedModel>();
      if (path == Path::ASYNCHRONOUS) {
        auto call = client.execute13Request();
        call.setMeasure(measure);
        encodeDeadline(options.deadline, call.initDeadline());
        return launch(kj::mv(call), request, edit);
      }
      auto call = client.executeSynchronously13Request();
      call.setMeasure(measure);
      encodeDeadline(options.deadline, call.initDeadline());
      return runNow(kj::mv(call), request, edit);
    });
  }

 private:
  struct Side {  // loop thread only
    Side(RpcLoop::Context& context, UniqueFd fd)
        : wire(context, std::move(fd), capnp::rpc::twoparty::Side::CLIENT, nullptr) {}
    WireConnection wire;
    kj::Maybe<wire::v1_0::IDevice::Client> device;
    kj::Maybe<wire::v1_0::IPreparedModel::Client> prepared;
  };

  template <typename T>
  T onLoop(std::function<kj::Promise<T>(RpcLoop::Context&)> start) {
    Completion<T> completion;
    loop_->post([&](RpcLoop::Context& context) {
      context.tasks.add(kj::evalNow([&] { return start(context); })
                            .then([&](T value) { completion.set(std::move(value)); },
                                  [&](kj::Exception&& exception) {
                                    ADD_FAILURE() << exception.getDescription().cStr();
                                    completion.set(T());
                                  }));
    });
    return completion.wait();
  }
  template <typename Interface>
  typename Interface::Client device() {
    return KJ_ASSERT_NONNULL(side_->device).template castAs<Interface>();
  }
  template <typename Interface>
  typename Interface::Client prepared() {
    return KJ_ASSERT_NONNULL(side_->prepared).template castAs<Interface>();
  }

  template <typename Call>
  kj::Promise<Preparation> sendPrepare(Call call, const Model& model, const ModelEdit& edit) {
    encodeModel(model, nullptr, call.initModel());
    if (edit) edit(call.getModel());
    auto answer = kj::newPromiseAndFulfiller<PreparedAnswer>();
    call.setCallback(kj::heap<PreparedModelCallback>(kj::mv(answer.fulfiller)));
    side_->prepared = nullptr;
    return call.send().then([this, promise = kj::mv(answer.promise)](
                                auto&& response) mutable -> kj::Promise<Preparation> {
      Preparation launched{response.getStatus(), std::nullopt, false, response.getMessage().cStr()};
      return promise.then(
          [this, launched](PreparedAnswer answered) mutable -> Preparation {
            launched.callback = codeOf(answered.status, HalVersion::V1_3);
            KJ_IF_MAYBE (client, answered.preparedModel) {
              launched.hasModel = true;
              side_->prepared = *client;
            }
            return launched;
          },
          [launched](kj::Exception&&) { return launched; });
    });
  }

  template <typename Call>
  kj::Promise<ExecutionAnswer> runNow(Call call, const Request& request, const RequestEdit& edit) {
    encodeRequest(request, call.initRequest());
    if (edit) edit(call.getRequest());
    return call.send().then([](auto&& response) -> ExecutionAnswer {
      return {response.getStatus(), response.getStatus(),
              decodeOutputShapes(response.getOutputShapes()), decodeTiming(response.getTiming()),
              response.getMessage().cStr()};
    });
  }

  // Takes what an execution notifies as it comes, unlike the client's own.
  class RawCallback final : public wire::v1_3::IExecutionCallback::Server {
   public:
    explicit RawCallback(kj::Own<kj::PromiseFulfiller<ExecutionAnswer>> answer)
        : answer_(kj::mv(answer)) {}
    kj::Promise<void> notify(NotifyContext context) override {
      const auto params = context.getParams();
      answer_->fulfill({Code::NONE, params.getStatus(), {}, {}, params.getMessage().cStr()});
      return kj::READY_NOW;
    }
    kj::Promise<void> notify12(Notify12Context context) override { return take(context); }
    kj::Promise<void> notify13(Notify13Context context) override { return take(context); }

   private:
    template <typename Context>
    kj::Promise<void> take(Context context) {
      const auto params = context.getParams();
      answer_->fulfill({Code::NONE, params.getStatus(),
                        decodeOutputShapes(params.getOutputShapes()),
                        decodeTiming(params.getTiming()), params.getMessage().cStr()});
      return kj::READY_NOW;
    }
    kj::Own<kj::PromiseFulfiller<ExecutionAnswer>> answer_;
  };

  template <typename Call>
  kj::Promise<ExecutionAnswer> launch(Call call, const Request& request, const RequestEdit& edit) {
    encodeRequest(request, call.initRequest());
    if (edit) edit(call.getRequest());
    auto answer = kj::newPromiseAndFulfiller<ExecutionAnswer>();
    call.setCallback(kj::heap<RawCallback>(kj::mv(answer.fulfiller)));
    return call.send().then([promise = kj::mv(answer.promise)](
                                auto&& response) mutable -> kj::Promise<ExecutionAnswer> {
      const Code launched = response.getStatus();
      return promise.then([launched](ExecutionAnswer answered) {
        answered.launch = launched;
        return answered;
      });
    });
  }

  const HalVersion method_;
  const HalVersion driver_;
  const std::shared_ptr<RpcLoop> loop_;
  const std::unique_ptr<Server> server_;
  Side* side_ = nullptr;
};

std::vector<std::unique_ptr<Subject>> makeSubjects() {
  std::vector<std::unique_ptr<Subject>> subjects;
  for (const HalVersion version :
       {HalVersion::V1_0, HalVersion::V1_1, HalVersion::V1_2, HalVersion::V1_3}) {
    subjects.push_back(std::make_unique<DeviceSubject>(
        fmt::format("HAL {} in this process", halVersionName(version)), version,
        std::make_shared<ClientSession>(std::make_shared<TestDevice>(version),
                                        std::make_shared<SessionServices>()),
        false));
    subjects.push_back(std::make_unique<WireSubject>(version, version));
    if (version < HalVersion::V1_3) {
      subjects.push_back(std::make_unique<WireSubject>(version, HalVersion::V1_3));
    }
    Manifest manifest;
    manifest.name = "test-driver";
    manifest.version = "1";
    manifest.halVersion = version;
    manifest.target = HALYARD_TEST_DRIVER_PATH;
    auto remote = RemoteDevice::open(RpcLoop::start().value(), manifest);
    if (!remote.ok()) {
      ADD_FAILURE() << remote.status().toString();
      continue;
    }
    subjects.push_back(std::make_unique<DeviceSubject>(
        fmt::format("HAL {} in a driver's process", halVersionName(version)), version, *remote,
        true));
  }
  return subjects;
}

}  // namespace

const std::vector<std::unique_ptr<Subject>>& allSubjects() {
  static const std::vector<std::unique_ptr<Subject>> kSubjects = makeSubjects();
  return kSubjects;
}

}  // namespace halyard::hal::testing
