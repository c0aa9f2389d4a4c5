// Misuses of the functions of devices.
#include "validation/misuse/table.h"

namespace halyard::misuse {
namespace {

// The null checks of a function (device, result), and the check of a device that does not exist.
template <typename Function, typename T>
void addQuery(std::vector<Misuse>& rows, const std::string& name, const std::string& argument,
              Function function, T World::*result) {
  rows.push_back({name + "_NullDevice", kUnexpectedNull, "device is null",
                  [=](World& w) { return function(nullptr, &(w.*result)); }});
  rows.push_back({name + "_NullResult", kUnexpectedNull, argument + " is null",
                  [=](World& w) { return function(w.device(), nullptr); }});
  rows.push_back({name + "_UnknownDevice", kBadData, "no device of this process",
                  [=](World& w) { return function(stranger(w), &(w.*result)); }});
}

int getType(const ANeuralNetworksDevice* device, int* type) {
  static_assert(sizeof(int) == sizeof(int32_t));
  return ANeuralNetworksDevice_getType(device, type);
}
int getLevel(const ANeuralNetworksDevice* device, uint64_t* level) {
  return ANeuralNetworksDevice_getFeatureLevel(device, reinterpret_cast<int64_t*>(level));
}

std::vector<Misuse> deviceRows() {
  std::vector<Misuse> rows = {
      {"_getDeviceCount_NullResult", kUnexpectedNull, "numDevices is null",
       [](World&) { return ANeuralNetworks_getDeviceCount(nullptr); }},
      {"_getDevice_NullResult", kUnexpectedNull, "device is null",
       [](World&) { return ANeuralNetworks_getDevice(0, nullptr); }},
      {"_getDevice_IndexTooLarge", kBadData, " of ",
       [](World& w) {
         ROW_OK(ANeuralNetworks_getDeviceCount(&w.number));
         return ANeuralNetworks_getDevice(w.number, w.out<ANeuralNetworksDevice>());
       },
       [](World& w) { w.expectOutIsNull(); }},
      {"Device_wait_NullDevice", kUnexpectedNull, "device is null",
       [](World&) { return ANeuralNetworksDevice_wait(nullptr); }},
      {"Device_wait_UnknownDevice", kBadData, "no device of this process",
       [](World& w) { return ANeuralNetworksDevice_wait(stranger(w)); }},
  };
  addQuery(rows, "Device_getName", "name", ANeuralNetworksDevice_getName, &World::name);
  addQuery(rows, "Device_getVersion", "version", ANeuralNetworksDevice_getVersion, &World::name);
  addQuery(rows, "Device_getType", "type", getType, &World::signedNumber);
  addQuery(rows, "Device_getFeatureLevel", "featureLevel", getLevel, &World::time);
  return rows;
}

}  // namespace

std::vector<Misuse> deviceMisuses() { return deviceRows(); }

}  // namespace halyard::misuse
