// The driver's description of itself, by the calls of one version.
#include <algorithm>

#include "hal/driver.capnp.h"
#include "hal/wire/wire_types.h"
#include "validation/vts/hal_client.h"

namespace halyard::validation {

using Side = hal::DriverConnection::Side;

namespace {

struct Facts {
  std::shared_ptr<DeviceFacts> facts = std::make_shared<DeviceFacts>();

  // Records a call that did not answer NONE.
  template <typename Response>
  bool isGood(const Response& response, const char* call) const {
    if (response.getStatus() == Code::NONE) return true;
    facts->problems.push_back(fmt::format("{} answers {} \"{}\"", call,
                                          codeName(response.getStatus()),
                                          response.getMessage().cStr()));
    return false;
  }
};

hal::PerformanceInfo decodeFigure(wire::PerformanceInfo::Reader from) {
  return {from.getExecTime(), from.getPowerUsage()};
}

template <typename Call>
kj::Promise<void> askCapabilities(Facts to, Call call, HalVersion method) {
  return call.send().then([to, method](auto&& response) {
    to.facts->capabilitiesStatus = response.getStatus();
    if (!to.isGood(response, "getCapabilities")) return;
    const auto from = response.getCapabilities();
    const auto isNewer = [&](bool isThere, HalVersion since, const char* what) {
      if (isThere && method < since) to.facts->newerFigures.emplace_back(what);
    };
    isNewer(from.hasRelaxedFloat32toFloat16Performance(), HalVersion::V1_1, "relaxed figures");
    isNewer(from.hasOperandPerformance(), HalVersion::V1_2, "a table of operand types");
    isNewer(from.hasIfPerformance(), HalVersion::V1_3, "figures of IF");
    isNewer(from.hasWhilePerformance(), HalVersion::V1_3, "figures of WHILE");
    if (method < HalVersion::V1_2) {
      to.facts->oldFigures = {decodeFigure(from.getFloat32Performance()),
                              decodeFigure(from.getQuantized8Performance())};
      if (method == HalVersion::V1_1) {
        to.facts->oldFigures.push_back(decodeFigure(from.getRelaxedFloat32toFloat16Performance()));
      }
      return;
    }
    hal::Capabilities& capabilities = to.facts->capabilities;
    capabilities.relaxedFloat32toFloat16PerformanceScalar =
        decodeFigure(from.getRelaxedFloat32toFloat16PerformanceScalar());
    capabilities.relaxedFloat32toFloat16PerformanceTensor =
        decodeFigure(from.getRelaxedFloat32toFloat16PerformanceTensor());
    for (const auto one : from.getOperandPerformance()) {
      capabilities.operandPerformance.push_back(
          {static_cast<OperandType>(one.getType()), decodeFigure(one.getInfo())});
    }
    // Versions before 1.3 do not report them. Valid figures stand in.
    const bool hasControlFlow = method >= HalVersion::V1_3;
    capabilities.ifPerformance =
        hasControlFlow ? decodeFigure(from.getIfPerformance()) : hal::PerformanceInfo{1, 1};
    capabilities.whilePerformance =
        hasControlFlow ? decodeFigure(from.getWhilePerformance()) : hal::PerformanceInfo{1, 1};
  });
}

kj::Promise<void> askSince12(Facts to, wire::v1_2::IDevice::Client device) {
  auto promises = kj::heapArrayBuilder<kj::Promise<void>>(4);
  promises.add(device.getVersionStringRequest().send().then([to](auto&& response) {
    if (to.isGood(response, "getVersionString")) {
      to.facts->versionString = response.getVersion().cStr();
    }
  }));
  promises.add(device.getTypeRequest().send().then([to](auto&& response) {
    if (to.isGood(response, "getType")) to.facts->type = static_cast<int>(response.getType());
  }));
  promises.add(device.getSupportedExtensionsRequest().send().then([to](auto&& response) {
    if (to.isGood(response, "getSupportedExtensions")) {
      to.facts->extensions = hal::decodeExtensions(response.getExtensions());
    }
  }));
  promises.add(device.getNumberOfCacheFilesNeededRequest().send().then([to](auto&& response) {
    if (!to.isGood(response, "getNumberOfCacheFilesNeeded")) return;
    to.facts->modelCacheFiles = response.getNumModelCache();
    to.facts->dataCacheFiles = response.getNumDataCache();
    to.facts->cachedPreferences = response.getPreferences();
  }));
  return kj::joinPromises(promises.finish());
}

}  // namespace

Result<DeviceFacts> HalClient::facts(HalVersion method) {
  return connection_->call<DeviceFacts>(
      "what the device says of itself", [&](Side& side) -> kj::Promise<Result<DeviceFacts>> {
        const Facts to;
        auto device = KJ_ASSERT_NONNULL(side.device);
        auto promises = kj::heapArrayBuilder<kj::Promise<void>>(4);
        promises.add(device.getStatusRequest().send().then([to](auto&& response) {
          to.facts->status = static_cast<hal::DeviceStatus>(response.getStatus());
        }));
        switch (method) {
          case HalVersion::V1_0:
            promises.add(askCapabilities(to, device.getCapabilitiesRequest(), method));
            break;
          case HalVersion::V1_1:
            promises.add(askCapabilities(
                to, device.castAs<wire::v1_1::IDevice>().getCapabilities11Request(), method));
            break;
          case HalVersion::V1_2:
            promises.add(askCapabilities(
                to, device.castAs<wire::v1_2::IDevice>().getCapabilities12Request(), method));
            break;
          default:
            promises.add(askCapabilities(
                to, device.castAs<wire::v1_3::IDevice>().getCapabilities13Request(), method));
        }
        promises.add(method < HalVersion::V1_2
                         ? kj::Promise<void>(kj::READY_NOW)
                         : askSince12(to, device.castAs<wire::v1_2::IDevice>()));
        promises.add(
            method < HalVersion::V1_3
                ? kj::Promise<void>(kj::READY_NOW)
                : device.castAs<wire::v1_3::IDevice>().getFeatureLevelRequest().send().then(
                      [to](auto&& response) {
                        if (to.isGood(response, "getFeatureLevel")) {
                          to.facts->featureLevel = response.getLevel();
                        }
                      }));
        return kj::joinPromises(promises.finish()).then([to]() -> Result<DeviceFacts> {
          return *to.facts;
        });
      });
}

Result<HalVersion> HalClient::driversVersion() {
  return connection_->call<HalVersion>("hello", [](Side& side) {
    auto call = KJ_ASSERT_NONNULL(side.driver).helloRequest();
    call.setProtocolVersion(wire::PROTOCOL_VERSION);
    return call.send().then([](auto&& response) -> Result<HalVersion> {
      return static_cast<HalVersion>(response.getHalVersion() - 9);
    });
  });
}

Result<std::vector<MethodAnswer>> HalClient::methods() {
  return connection_->call<std::vector<MethodAnswer>>(
      "every method", [](Side& side) -> kj::Promise<Result<std::vector<MethodAnswer>>> {
        const auto answers = std::make_shared<std::vector<MethodAnswer>>();
        auto device = KJ_ASSERT_NONNULL(side.device).castAs<wire::v1_3::IDevice>();
        auto promises = kj::Vector<kj::Promise<void>>();
        const auto add = [&](MethodAnswer method, auto call) {
          const size_t index = answers->size();
          answers->push_back(method);
          promises.add(call.send().then(
              [answers, index](auto&& response) {
                (*answers)[index].status = response.getStatus();
              },
              [](kj::Exception&& exception) {
                if (exception.getType() != kj::Exception::Type::UNIMPLEMENTED) {
                  kj::throwFatalException(kj::mv(exception));
                }
              }));
        };
        using enum HalVersion;
        add({"getCapabilities", V1_0}, device.getCapabilitiesRequest());
        add({"getCapabilities_1_1", V1_1}, device.getCapabilities11Request());
        add({"getCapabilities_1_2", V1_2}, device.getCapabilities12Request());
        add({"getVersionString", V1_2}, device.getVersionStringRequest());
        add({"getType", V1_2}, device.getTypeRequest());
        add({"getSupportedExtensions", V1_2}, device.getSupportedExtensionsRequest());
        add({"getNumberOfCacheFilesNeeded", V1_2}, device.getNumberOfCacheFilesNeededRequest());
        add({"isCachingSupported", V1_2}, device.isCachingSupportedRequest());
        add({"getCapabilities_1_3", V1_3}, device.getCapabilities13Request());
        add({"getFeatureLevel", V1_3}, device.getFeatureLevelRequest());
        add({"prepareSupported_1_3", V1_3, Code::INVALID_ARGUMENT},
            device.prepareSupported13Request());
        return kj::joinPromises(promises.releaseAsArray()).then([answers]() {
          return Result<std::vector<MethodAnswer>>(std::move(*answers));
        });
      });
}

}  // namespace halyard::validation
