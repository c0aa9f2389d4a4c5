#include "runtime/compile/prepared_before.h"

#include <sys/stat.h>

#include "hal/client/remote_device.h"
#include "runtime/cache/cache_key.h"

namespace halyard::runtime {

std::optional<PreparedBefore> PreparedBefore::of(const CachingRequest& request, const Model& model,
                                                 const Device& device,
                                                 const hal::PrepareOptions& options) {
  const auto* const remote = dynamic_cast<const hal::RemoteDevice*>(&device.hal());
  struct stat st {};
  if (remote == nullptr || ::stat(remote->manifest().target.c_str(), &st) != 0) return std::nullopt;
  CacheKeyParts parts;
  parts.application = request.token;
  parts.model = &model;
  parts.device = &device.info();
  parts.preference = options.preference;
  parts.priority = options.priority;
  parts.attributes = &options.attributes;
  parts.processor = processorText();
  Sha256 sha;
  sha.add(outlineKey(parts));
  sha.addText(remote->manifest().target).addNumber(st.st_dev).addNumber(st.st_ino);
  sha.addNumber(static_cast<uint64_t>(st.st_size));
  for (const timespec& time : {st.st_mtim, st.st_ctim}) {
    sha.addNumber(static_cast<uint64_t>(time.tv_sec))
        .addNumber(static_cast<uint64_t>(time.tv_nsec));
  }
  for (const std::string& argument : remote->manifest().arguments) sha.addText(argument);
  for (const SharedMemoryPtr& pool : model.pools) sha.addNumber(pool->size());
  return PreparedBefore(CacheNote(request.folder, "prepared", sha.finish()));
}

}  // namespace halyard::runtime
