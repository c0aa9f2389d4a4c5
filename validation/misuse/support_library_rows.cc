// Misuses of the functions that clients of the support library call.
#include <android/NeuralNetworksSupportLibraryImpl.h>

#include "validation/misuse/table.h"

namespace halyard::misuse {
namespace {

using Token = uint8_t[ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN];
constexpr Token kToken = {};

uint32_t extensionCount(World& w) {
  uint32_t count = 0;
  ROW_OK(SL_ANeuralNetworksDevice_getVendorExtensionCount(w.device(), &count));
  return count;
}

void ignoreFigures(SL_ANeuralNetworksOperandPerformanceInfo, void*) {}
void ignoreType(SL_ANeuralNetworksExtensionOperandTypeInformation, void*) {}

// A null device, and a device that does not exist.
void addDevices(std::vector<Misuse>& rows, const std::string& name,
                const std::function<int(World&, const ANeuralNetworksDevice*)>& call) {
  rows.push_back({name + "_NullDevice", kUnexpectedNull, "device is null",
                  [=](World& w) { return call(w, nullptr); }});
  rows.push_back({name + "_UnknownDevice", kBadData, "no device of this process",
                  [=](World& w) { return call(w, stranger(w)); }});
}

void addPerformance(std::vector<Misuse>& rows) {
  addDevices(rows, "SL_Device_getPerformanceInfo", [](World&, const ANeuralNetworksDevice* device) {
    SL_ANeuralNetworksPerformanceInfo info;
    return SL_ANeuralNetworksDevice_getPerformanceInfo(device, 0, &info);
  });
  rows.push_back({"SL_Device_getPerformanceInfo_NullResult", kUnexpectedNull,
                  "performanceInfo is null", [](World& w) {
                    return SL_ANeuralNetworksDevice_getPerformanceInfo(w.device(), 0, nullptr);
                  }});
  for (const int32_t kind : {-1, 4}) {
    rows.push_back({fmt::format("SL_Device_getPerformanceInfo_Kind{}", kind < 0 ? "Negative" : "4"),
                    kBadData, fmt::format("kind {}, expected 0 to 3", kind), [=](World& w) {
                      SL_ANeuralNetworksPerformanceInfo info;
                      return SL_ANeuralNetworksDevice_getPerformanceInfo(w.device(), kind, &info);
                    }});
  }
  addDevices(rows, "SL_Device_forEachOperandPerformanceInfo",
             [](World&, const ANeuralNetworksDevice* device) {
               return SL_ANeuralNetworksDevice_forEachOperandPerformanceInfo(device, nullptr,
                                                                             ignoreFigures);
             });
  rows.push_back({"SL_Device_forEachOperandPerformanceInfo_NullCallback", kUnexpectedNull,
                  "callback is null", [](World& w) {
                    return SL_ANeuralNetworksDevice_forEachOperandPerformanceInfo(w.device(),
                                                                                  nullptr, nullptr);
                  }});
}

void addExtensions(std::vector<Misuse>& rows) {
  addDevices(rows, "SL_Device_getVendorExtensionCount",
             [](World& w, const ANeuralNetworksDevice* device) {
               return SL_ANeuralNetworksDevice_getVendorExtensionCount(device, &w.number);
             });
  rows.push_back({"SL_Device_getVendorExtensionCount_NullResult", kUnexpectedNull,
                  "vendorExtensionCount is null", [](World& w) {
                    return SL_ANeuralNetworksDevice_getVendorExtensionCount(w.device(), nullptr);
                  }});
  addDevices(rows, "SL_Device_getVendorExtensionName",
             [](World& w, const ANeuralNetworksDevice* device) {
               return SL_ANeuralNetworksDevice_getVendorExtensionName(device, 0, &w.name);
             });
  rows.push_back({"SL_Device_getVendorExtensionName_NullResult", kUnexpectedNull,
                  "extensionName is null", [](World& w) {
                    return SL_ANeuralNetworksDevice_getVendorExtensionName(w.device(), 0, nullptr);
                  }});
  rows.push_back({"SL_Device_getVendorExtensionName_IndexTooLarge", kBadData, " of a device with ",
                  [](World& w) {
                    return SL_ANeuralNetworksDevice_getVendorExtensionName(
                        w.device(), extensionCount(w), &w.name);
                  }});
  const std::string types = "SL_Device_forEachVendorExtensionOperandTypeInformation";
  addDevices(rows, types, [](World&, const ANeuralNetworksDevice* device) {
    return SL_ANeuralNetworksDevice_forEachVendorExtensionOperandTypeInformation(device, 0, nullptr,
                                                                                 ignoreType);
  });
  rows.push_back({types + "_NullCallback", kUnexpectedNull, "callback is null", [](World& w) {
                    return SL_ANeuralNetworksDevice_forEachVendorExtensionOperandTypeInformation(
                        w.device(), 0, nullptr, nullptr);
                  }});
  rows.push_back({types + "_IndexTooLarge", kBadData, " of a device with ", [](World& w) {
                    return SL_ANeuralNetworksDevice_forEachVendorExtensionOperandTypeInformation(
                        w.device(), extensionCount(w), nullptr, ignoreType);
                  }});
}

void addCaching(std::vector<Misuse>& rows) {
  const std::string needed = "SL_Device_getNumberOfCacheFilesNeeded";
  addDevices(rows, needed, [](World& w, const ANeuralNetworksDevice* device) {
    uint32_t data = 0;
    return SL_ANeuralNetworksDevice_getNumberOfCacheFilesNeeded(device, &w.number, &data);
  });
  rows.push_back(
      {needed + "_NullModelCount", kUnexpectedNull, "numModelCacheFiles is null", [](World& w) {
         return SL_ANeuralNetworksDevice_getNumberOfCacheFilesNeeded(w.device(), nullptr,
                                                                     &w.number);
       }});
  rows.push_back(
      {needed + "_NullDataCount", kUnexpectedNull, "numDataCacheFiles is null", [](World& w) {
         return SL_ANeuralNetworksDevice_getNumberOfCacheFilesNeeded(w.device(), &w.number,
                                                                     nullptr);
       }});

  const auto setFiles = [](ANeuralNetworksCompilation* compilation, const int* files,
                           uint32_t count, const uint8_t* token) {
    return SL_ANeuralNetworksCompilation_setCachingFromFds(compilation, files, count, files, count,
                                                           token);
  };
  const std::string set = "SL_Compilation_setCachingFromFds";
  rows.push_back({set + "_NullCompilation", kUnexpectedNull, "compilation is null",
                  [=](World&) { return setFiles(nullptr, nullptr, 0, kToken); }});
  rows.push_back({set + "_NullToken", kUnexpectedNull, "token is null",
                  [=](World& w) { return setFiles(w.compilation(), nullptr, 0, nullptr); }});
  rows.push_back({set + "_NullFiles", kUnexpectedNull, "modelCache is null",
                  [=](World& w) { return setFiles(w.compilation(), nullptr, 1, kToken); }});
  rows.push_back({set + "_WrongCount", kBadData, "33 model and 33 data cache files", [=](World& w) {
                    const std::vector<int> files(33, 0);
                    return setFiles(w.compilation(), files.data(), 33, kToken);
                  }});
  rows.push_back({set + "_FreeDevices", kBadData, "exactly one device", [=](World& w) {
                    return setFiles(w.freeCompilation(w.finishedSum()), nullptr, 0, kToken);
                  }});
  rows.push_back({set + "_Finished", kBadState, "is finished",
                  [=](World& w) { return setFiles(w.compiled(), nullptr, 0, kToken); }});
}

}  // namespace

std::vector<Misuse> supportLibraryMisuses() {
  std::vector<Misuse> rows;
  addPerformance(rows);
  addExtensions(rows);
  addCaching(rows);
  return rows;
}

}  // namespace halyard::misuse
