#include "hal/testing/fuzz/hostile_messages.h"

#include <fcntl.h>
#include <kj/debug.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

namespace halyard::hal::fuzz {
namespace {

constexpr size_t kFileBytes = 4096;

class File final : public wire::FileDescriptor::Server {
 public:
  explicit File(UniqueFd fd) : fd_(std::move(fd)) {}
  kj::Maybe<int> getFd() override {
    if (!fd_.valid()) return nullptr;
    return fd_.get();
  }

 private:
  UniqueFd fd_;
};

UniqueFd memfd(off_t size, int seals) {
  UniqueFd fd(::memfd_create("fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (::ftruncate(fd.get(), size) != 0) return UniqueFd();
  ::fcntl(fd.get(), F_ADD_SEALS, seals);
  return fd;
}

UniqueFd reopened(int flags) {
  const UniqueFd fd = memfd(kFileBytes, F_SEAL_SHRINK);
  return UniqueFd(::open(("/proc/self/fd/" + std::to_string(fd.get())).c_str(), flags | O_CLOEXEC));
}

UniqueFd oneEnd(int (*make)(int[2]), bool second) {
  int ends[2];
  if (make(ends) != 0) return UniqueFd();
  const UniqueFd other(ends[second ? 0 : 1]);
  return UniqueFd(ends[second ? 1 : 0]);
}

template <typename List>
void spoilNumber(ByteSource& bytes, List list) {
  if (list.size() != 0) list.set(bytes.below(list.size()), bytes.number32());
}

void spoilLocation(ByteSource& bytes, wire::DataLocation::Builder location) {
  switch (bytes.below(3)) {
    case 0:
      return location.setPoolIndex(bytes.number32());
    case 1:
      return location.setOffset(bytes.number32());
    default:
      return location.setLength(bytes.number32());
  }
}

void spoilOperand(ByteSource& bytes, wire::Operand::Builder operand) {
  switch (bytes.below(10)) {
    case 0:
      return operand.setType(static_cast<int32_t>(bytes.number32()));
    case 1:
      return spoilNumber(bytes, operand.getDimensions());
    case 2: {
      auto dimensions = operand.initDimensions(bytes.below(9));
      for (unsigned i = 0; i < dimensions.size(); ++i) dimensions.set(i, bytes.number32());
      return;
    }
    case 3:
      return operand.setNumberOfConsumers(bytes.number32());
    case 4: {
      const uint32_t bits = bytes.number32();
      float scale = 0;
      std::memcpy(&scale, &bits, sizeof scale);
      return operand.setScale(scale);
    }
    case 5:
      return operand.setZeroPoint(static_cast<int32_t>(bytes.number32()));
    case 6:
      return operand.setLifetime(static_cast<wire::OperandLifeTime>(bytes.below(9)));
    case 7: {
      auto params = operand.getExtraParams().initChannelQuant();
      params.initScales(bytes.below(20));
      return params.setChannelDim(bytes.number32());
    }
    case 8:
      operand.getExtraParams().initExtension(bytes.below(20));
      return;
    default:
      return spoilLocation(bytes, operand.getLocation());
  }
}

void spoilOperation(ByteSource& bytes, wire::Operation::Builder operation) {
  switch (bytes.below(4)) {
    case 0:
      return operation.setType(
          static_cast<int32_t>(bytes.oneIn(2) ? bytes.below(110) : bytes.number32()));
    case 1:
      return spoilNumber(bytes, operation.getInputs());
    case 2:
      return spoilNumber(bytes, operation.getOutputs());
    default: {
      auto list = bytes.oneIn(2) ? operation.initInputs(bytes.below(12))
                                 : operation.initOutputs(bytes.below(4));
      for (unsigned i = 0; i < list.size(); ++i) list.set(i, bytes.below(8));
      return;
    }
  }
}

void spoilSubgraph(ByteSource& bytes, wire::Subgraph::Builder graph) {
  switch (bytes.below(8)) {
    case 0:
    case 1:
    case 2:
      if (graph.getOperands().size() != 0) {
        spoilOperand(bytes, graph.getOperands()[bytes.below(graph.getOperands().size())]);
      }
      return;
    case 3:
    case 4:
      if (graph.getOperations().size() != 0) {
        spoilOperation(bytes, graph.getOperations()[bytes.below(graph.getOperations().size())]);
      }
      return;
    case 5:
      return spoilNumber(bytes, graph.getInputIndexes());
    case 6:
      return spoilNumber(bytes, graph.getOutputIndexes());
    default: {
      auto list = bytes.oneIn(2) ? graph.initInputIndexes(bytes.below(5))
                                 : graph.initOutputIndexes(bytes.below(5));
      for (unsigned i = 0; i < list.size(); ++i) list.set(i, bytes.below(8));
      return;
    }
  }
}

void spoilHardwareBuffer(ByteSource& bytes, wire::HardwareBufferDesc::Builder buffer) {
  buffer.setWidth(bytes.oneIn(2) ? 32 : bytes.number32());
  buffer.setHeight(bytes.oneIn(2) ? 1 : bytes.number32());
  buffer.setLayers(bytes.oneIn(4) ? bytes.number32() : 1);
  buffer.setFormat(bytes.oneIn(2) ? 0x21 : bytes.below(0x40));
  buffer.setUsage(bytes.oneIn(4) ? bytes.number64() : 0x33);
  buffer.setStride(bytes.oneIn(4) ? bytes.number32() : buffer.getWidth());
}

void spoilMemory(ByteSource& bytes, wire::Memory::Builder memory,
                 capnp::Capability::Client& other) {
  switch (bytes.below(8)) {
    case 0:
      return memory.setKind(static_cast<wire::MemoryKind>(bytes.below(5)));
    case 1:
      return memory.setSize(bytes.number64());
    case 2:
      return memory.setProt(bytes.below(5));
    case 3:
      return memory.setOffset(bytes.oneIn(2) ? bytes.below(4) * kFileBytes : bytes.number64());
    case 4:
      return memory.getFile().setSameAs(bytes.number32());
    case 5:
      return spoilHardwareBuffer(bytes, memory.initHardwareBuffer());
    case 6:
      memory.setKind(wire::MemoryKind::HARDWARE_BUFFER);
      memory.setSize(0);
      return spoilHardwareBuffer(bytes, memory.initHardwareBuffer());
    default:
      KJ_IF_MAYBE (file, chooseFile(bytes, other)) {
        memory.getFile().setFd(kj::mv(*file));
      } else {
        memory.getFile().disownFd();
      }
  }
}

Operand tensor(OperandType type, uint32_t count, Lifetime lifetime) {
  Operand operand;
  operand.type = type;
  operand.dimensions = {count};
  operand.lifetime = lifetime;
  return operand;
}

Operand integer(Model& model, int32_t value) {
  Operand operand;
  operand.type = OperandType::INT32;
  operand.lifetime = Lifetime::CONSTANT_COPY;
  operand.location = appendConstant(model, &value, sizeof value);
  return operand;
}

// out[n] = in[n] + other[n]. `other` is an input or a constant.
Subgraph addition(Model& model, uint32_t count, Lifetime other) {
  Subgraph graph;
  constexpr OperandType kFloat = OperandType::TENSOR_FLOAT32;
  graph.operands = {tensor(kFloat, count, Lifetime::SUBGRAPH_INPUT), tensor(kFloat, count, other),
                    integer(model, 0), tensor(kFloat, count, Lifetime::SUBGRAPH_OUTPUT)};
  graph.operations = {{OperationType::ADD, {0, 1, 2}, {3}}};
  graph.inputIndexes = {0};
  if (other == Lifetime::SUBGRAPH_INPUT) graph.inputIndexes.push_back(1);
  graph.outputIndexes = {3};
  return graph;
}

// An IF of two additions: a condition, two subgraphs, and their inputs.
void makeChoice(Model& model) {
  for (int i = 0; i < 2; ++i) {
    model.referenced.push_back(addition(model, 16, Lifetime::SUBGRAPH_INPUT));
  }
  constexpr OperandType kFloat = OperandType::TENSOR_FLOAT32;
  Operand branch;
  branch.type = OperandType::MODEL;
  branch.lifetime = Lifetime::SUBGRAPH;
  Operand other = branch;
  other.location.offset = 1;
  model.main.operands = {tensor(OperandType::TENSOR_BOOL8, 1, Lifetime::SUBGRAPH_INPUT),
                         branch,
                         other,
                         tensor(kFloat, 16, Lifetime::SUBGRAPH_INPUT),
                         tensor(kFloat, 16, Lifetime::SUBGRAPH_INPUT),
                         tensor(kFloat, 16, Lifetime::SUBGRAPH_OUTPUT)};
  model.main.operations = {{OperationType::IF, {0, 1, 2, 3, 4}, {5}}};
  model.main.inputIndexes = {0, 3, 4};
  model.main.outputIndexes = {5};
}

}  // namespace

UniqueFd chooseDescriptor(ByteSource& bytes) {
  switch (bytes.below(20)) {
    case 0:
    case 1:
      return memfd(kFileBytes, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
    case 2:
      return memfd(kFileBytes, 0);
    case 3:
      return memfd(10, 0);
    case 4:
      return memfd(0, F_SEAL_SHRINK);
    case 5:
      return memfd(16 * kFileBytes, F_SEAL_SHRINK);
    case 6:
      return memfd(1 << 20, 0);
    case 7:
      return memfd(kFileBytes, F_SEAL_SHRINK | F_SEAL_WRITE);
    case 8:
      return memfd(kFileBytes, F_SEAL_SHRINK | F_SEAL_FUTURE_WRITE);
    case 9:
      return reopened(O_RDONLY);
    case 10:
      return reopened(O_WRONLY);
    case 11:
      return reopened(O_PATH);
    case 12:
      return UniqueFd(::open("/dev/null", O_RDWR | O_CLOEXEC));
    case 13:
      return UniqueFd(::open("/dev/zero", O_RDWR | O_CLOEXEC));
    case 14:
      return UniqueFd(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    case 15:
      return UniqueFd(::eventfd(bytes.below(2), EFD_CLOEXEC));
    case 16:
      return oneEnd([](int ends[2]) { return ::pipe2(ends, O_CLOEXEC); }, bytes.oneIn(2));
    case 17:
      return oneEnd(
          [](int ends[2]) { return ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends); },
          false);
    case 18:
      return UniqueFd(::open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC));
    default:
      return UniqueFd();
  }
}

kj::Maybe<wire::FileDescriptor::Client> chooseFile(ByteSource& bytes,
                                                   capnp::Capability::Client& other) {
  switch (bytes.below(16)) {
    case 0:
      return nullptr;
    case 1:
      return other.castAs<wire::FileDescriptor>();
    case 2:
      return wire::FileDescriptor::Client(KJ_EXCEPTION(FAILED, "a broken capability"));
    default:
      return wire::FileDescriptor::Client(kj::heap<File>(chooseDescriptor(bytes)));
  }
}

void fillMemory(ByteSource& bytes, wire::Memory::Builder to, capnp::Capability::Client& other) {
  to.setKind(wire::MemoryKind::MMAP_FD);
  to.setSize(kFileBytes);
  to.setProt(3);
  KJ_IF_MAYBE (file, chooseFile(bytes, other)) to.getFile().setFd(kj::mv(*file));
  while (bytes.oneIn(3) && !bytes.empty()) spoilMemory(bytes, to, other);
}

void spoilModel(ByteSource& bytes, wire::Model::Builder model, capnp::Capability::Client& other) {
  for (unsigned count = bytes.below(5); count > 0; --count) {
    switch (bytes.below(9)) {
      case 0:
        model.initOperandValues(bytes.oneIn(2) ? bytes.below(64) : bytes.below(100'000));
        break;
      case 1: {
        auto pools = model.initPools(bytes.oneIn(10) ? 600 : bytes.below(4));
        for (unsigned i = 0; i < pools.size() && i < 8; ++i) fillMemory(bytes, pools[i], other);
        break;
      }
      case 2:
        if (model.getPools().size() != 0) {
          spoilMemory(bytes, model.getPools()[bytes.below(model.getPools().size())], other);
        }
        break;
      case 3: {
        auto names = model.initExtensionNameToPrefix(bytes.below(4));
        for (unsigned i = 0; i < names.size(); ++i) {
          names[i].setName(bytes.oneIn(2) ? "com.vendor" : "x");
          names[i].setPrefix(static_cast<uint16_t>(bytes.number32()));
        }
        break;
      }
      case 4:
        if (model.getReferenced().size() != 0) {
          spoilSubgraph(bytes, model.getReferenced()[bytes.below(model.getReferenced().size())]);
        }
        break;
      default:
        spoilSubgraph(bytes, model.getMain());
    }
  }
}

void spoilRequest(ByteSource& bytes, wire::Request::Builder request,
                  capnp::Capability::Client& other) {
  for (unsigned count = bytes.below(5); count > 0; --count) {
    auto arguments = bytes.oneIn(2) ? request.getInputs() : request.getOutputs();
    auto pools = request.getPools();
    switch (bytes.below(8)) {
      case 0:
        request.initInputs(bytes.below(5));
        break;
      case 1:
        request.initOutputs(bytes.below(5));
        break;
      case 2:
        if (pools.size() != 0) pools[bytes.below(pools.size())].setToken(bytes.number32());
        break;
      case 3:
        if (pools.size() != 0) {
          auto pool = pools[bytes.below(pools.size())];
          if (pool.isMemory()) spoilMemory(bytes, pool.getMemory(), other);
        }
        break;
      case 4: {
        if (arguments.size() == 0) break;
        auto dimensions = arguments[bytes.below(arguments.size())].initDimensions(bytes.below(5));
        for (unsigned i = 0; i < dimensions.size(); ++i) dimensions.set(i, bytes.number32());
        break;
      }
      case 5:
        if (arguments.size() != 0) arguments[bytes.below(arguments.size())].setHasNoValue(true);
        break;
      default:
        if (arguments.size() != 0) {
          spoilLocation(bytes, arguments[bytes.below(arguments.size())].getLocation());
        }
    }
  }
}

void fillAttributes(ByteSource& bytes, wire::ExtensionAttributes::Builder to) {
  auto attributes = to.initAttributes(bytes.below(4));
  for (auto attribute : attributes) {
    const uint32_t token = uint32_t{1 + bytes.below(2)} << 16 | bytes.below(3);
    attribute.setToken(bytes.oneIn(4) ? bytes.number32() : token);
    const auto value = bytes.take(bytes.below(64));
    attribute.setValue(kj::arrayPtr(value.data(), value.size()));
  }
  auto names = to.initExtensionNameToPrefix(bytes.below(3));
  for (unsigned i = 0; i < names.size(); ++i) {
    const auto raw = bytes.take(bytes.oneIn(4) ? bytes.below(40) : 0);
    const std::string name =
        raw.empty() ? "com.example." + std::to_string(i) : std::string(raw.begin(), raw.end());
    names[i].setName(name.c_str());
    names[i].setPrefix(static_cast<uint16_t>(bytes.oneIn(4) ? bytes.number32() : i + 1));
  }
}

kj::Promise<void> askToTrace(ByteSource& bytes, capnp::Capability::Client driver,
                             capnp::Capability::Client other) {
  if (bytes.oneIn(3)) {
    auto call = driver.castAs<wire::IDriver>().traceModelRequest();
    if (!bytes.oneIn(8)) call.setPreparedModel(other.castAs<wire::v1_0::IPreparedModel>());
    call.setContext(bytes.number32());
    return call.send().ignoreResult();
  }
  auto call = driver.castAs<wire::IDriver>().traceRequest();
  if (!bytes.oneIn(8)) fillMemory(bytes, call.initMemory(), other);
  return call.send().ignoreResult();
}

Model chooseModel(ByteSource& bytes) {
  Model model;
  switch (bytes.below(4)) {
    case 0:
      model.main = addition(model, 16, Lifetime::SUBGRAPH_INPUT);
      break;
    case 1: {
      model.main = addition(model, 16, Lifetime::CONSTANT_COPY);
      const std::vector<float> values(16, 1);
      model.main.operands[1].location = appendConstant(model, values.data(), 64);
      break;
    }
    case 2:
      model.main = addition(model, 256, Lifetime::CONSTANT_REFERENCE);
      model.main.operands[1].location = {0, 1024, 1024};
      break;
    default:
      makeChoice(model);
  }
  return model;
}

}  // namespace halyard::hal::fuzz
