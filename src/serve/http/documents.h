// The JSON documents of the protocol, except inference.
// Thread safety: pure functions. Ownership: results own their data.
#pragma once

#include <string>
#include <vector>

#include "serve/repository/repository.h"
#include "serve/service/service.h"

namespace halyard::serve {

std::string serverMetadataJson(const Service& service);
std::string modelMetadataJson(const ServedModel& model, const std::vector<std::string>& versions);
std::string modelReadyJson(const std::string& name);
// The configuration as Triton's clients expect it.
std::string modelConfigJson(const ServedModel& model);
std::string statisticsJson(const std::vector<std::shared_ptr<ServedModel>>& models);
std::string indexJson(const std::vector<IndexEntry>& index);
std::string regionsJson(const std::vector<RegionInfo>& regions);

// {"ready": bool} of the body of a repository index; an empty body is false. BAD_DATA for other
// bodies.
Result<bool> readyOnlyOf(const std::string& body);
// The body of a registration of shared memory. BAD_DATA names the faulty field.
Result<RegionInfo> regionOf(const std::string& name, const std::string& body);
// BAD_DATA if the body of a load asks for a configuration or files of its own, which this server
// does not take.
Status checkLoadBody(const std::string& body);

}  // namespace halyard::serve
