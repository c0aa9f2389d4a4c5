#include "hal/testing/fuzz/ring_fuzz_input.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "hal/ring/memory_channel.h"
#include "hal/ring/memory_slots.h"
#include "hal/ring/served_ring.h"

namespace halyard::hal::fuzz {
namespace {

constexpr uint32_t kRingCapacity = 64;
constexpr int kMaxActions = 200;

// out[4] = ADD(a[4], b[?]). The size of the second input is unknown.
Model fuzzedModel() {
  Model model;
  const auto tensor = [](uint32_t size, Lifetime lifetime) {
    Operand operand;
    operand.type = OperandType::TENSOR_FLOAT32;
    operand.dimensions = {size};
    operand.lifetime = lifetime;
    return operand;
  };
  model.main.operands = {tensor(4, Lifetime::SUBGRAPH_INPUT), tensor(0, Lifetime::SUBGRAPH_INPUT),
                         tensor(0, Lifetime::SUBGRAPH_OUTPUT)};
  model.main.inputIndexes = {0, 1};
  model.main.outputIndexes = {2};
  return model;
}

class TouchingModel final : public PreparedModel {
 public:
  ExecutionResult executeSynchronously(const Request& request, const ExecuteOptions&) override {
    for (const RequestArgument& input : request.inputs) touch(request, input, false);
    for (const RequestArgument& output : request.outputs) touch(request, output, true);
    ExecutionResult result;
    if (sum_ % 5 == 1) {
      result.status = makeStatus(ResultCode::OUTPUT_INSUFFICIENT_SIZE, "too small");
      result.outputShapes = {{Shape(sum_ % 80, 7), false}};
    } else if (sum_ % 5 == 2) {
      result.status = opFailed("{}", std::string(sum_ * 16, 'x'));
    }
    return result;
  }

 private:
  void touch(const Request& request, const RequestArgument& argument, bool write) {
    uint8_t* data = nullptr;
    size_t length = 0;
    if (argument.kind == RequestArgument::Kind::POINTER) {
      data = static_cast<uint8_t*>(argument.pointer);
      length = argument.length;
    } else if (argument.kind == RequestArgument::Kind::POOL) {
      const auto& pool = std::get<SharedMemoryPtr>(request.pools.at(argument.location.poolIndex));
      const auto mapping = pool->mapped();
      if (!mapping.ok()) std::abort();  // the driver relies on this check
      data = (*mapping)->data() + argument.location.offset;
      length = argument.location.length;
    }
    if (write && length != 0) std::memset(data, 1, length);
    for (size_t i = 0; i < length; ++i) sum_ += static_cast<volatile uint8_t*>(data)[i];
  }

  size_t sum_ = 0;
};

class Input {
 public:
  Input(const uint8_t* data, size_t size) : data_(data), size_(size) {}
  bool empty() const { return size_ == 0; }
  uint8_t byte() {
    if (size_ == 0) return 0;
    --size_;
    return *data_++;
  }
  uint32_t word() {
    uint32_t value = 0;
    fill(&value, sizeof value);
    return value;
  }
  void fill(void* to, size_t count) {
    const size_t taken = std::min(count, size_);
    std::memcpy(to, data_, taken);
    data_ += taken;
    size_ -= taken;
  }

 private:
  const uint8_t* data_;
  size_t size_;
};

class Fuzzed {
 public:
  Fuzzed()
      : requestMemory_(DatumQueue::create(kRingCapacity).value()),
        resultMemory_(DatumQueue::create(kRingCapacity).value()),
        sealed_(SharedMemory::create(8192 + 64, "sealed").value()),
        requests_(DatumQueue::map(*requestMemory_, {kRingCapacity, sizeof(Datum), true}).value()),
        results_(DatumQueue::map(*resultMemory_, {kRingCapacity, sizeof(Datum), true}).value()) {
    file_.reset(::memfd_create("not sealed", MFD_CLOEXEC));
    (void)!::ftruncate(file_.get(), 5000);
    ServedRing::Parts parts{
        DatumQueue::map(*requestMemory_, {kRingCapacity, sizeof(Datum), true}).value(),
        DatumQueue::map(*resultMemory_, {kRingCapacity, sizeof(Datum), true}).value(),
        std::make_shared<const Model>(fuzzedModel()),
        std::make_shared<TouchingModel>(),
        HalVersion::V1_3,
        true,
        [this](std::vector<int32_t> slots) { asked_ = std::move(slots); }};
    ring_ = ServedRing::create(std::move(parts)).value();
    channel_ = ring_->takeMemoryChannel();
  }

  void run(Input input) {
    for (int i = 0; i < kMaxActions && !input.empty() && !ring_->closed(); ++i) {
      act(input);
      serve(input);
    }
  }

 private:
  void act(Input& input) {
    switch (input.byte() % 8) {
      case 0:
        return send(raw(input));
      case 1:
        scribble(input);
        return;
      case 2:
        ring_->freeMemory(input.byte() % 4 == 0 ? static_cast<int32_t>(input.word())
                                                : input.byte() % 6);
        return;
      case 3:
        (void)::ftruncate(file_.get(), input.word() % 6000);
        return;
      case 4:
        return offer(input);
      case 7:
        return useRecording(input);
      default:
        return send(nearlyGood(input));
    }
  }

  static std::vector<Datum> raw(Input& input) {
    std::vector<Datum> packet(input.byte() % kRingCapacity);
    for (Datum& datum : packet) {
      input.fill(datum.words.data(), sizeof datum.words);
      if (datum.tag() > 12) datum.words[0] %= 10;
    }
    return packet;
  }

  // A valid packet, except for the changes that the input makes.
  std::vector<Datum> nearlyGood(Input& input) {
    Request request;
    const auto argument = [&] {
      RequestArgument made;
      const uint8_t choice = input.byte();
      if (choice % 16 == 0) return made;
      made.kind = RequestArgument::Kind::POOL;
      made.location = {choice % 2u, (choice & 0x10) != 0 ? input.word() % 9000 : choice & 0xe0u,
                       (choice & 0x08) != 0 ? input.word() % 9000 : 16};
      if ((choice & 0x04) != 0) made.dimensions = {input.byte() % 8u};
      return made;
    };
    request.inputs = {argument(), argument()};
    request.outputs = {argument()};
    const uint8_t choice = input.byte();
    const std::vector<int32_t> slots = {choice % 6, choice / 6 % 6};
    ExecuteOptions options;
    options.measureTiming = (choice & 0x40) != 0;
    if ((choice & 0x80) != 0) options.deadline = TimePoint(std::chrono::nanoseconds(input.word()));
    std::vector<Datum> packet;
    encodeRequestPacket(request, slots, options, true, &packet);
    const uint8_t rest = input.byte();
    if ((rest & 0x10) != 0) appendRecording(rest >> 5, &packet);
    change(input, rest % 4, packet);
    return packet;
  }

  // Runs or frees a recording.
  void useRecording(Input& input) {
    const uint8_t choice = input.byte();
    const uint32_t number = choice % 16 == 15 ? input.word() : choice % 8;
    if ((choice & 0x30) == 0) return ring_->freeRecording(number);
    ExecuteOptions options;
    options.measureTiming = (choice & 0x40) != 0;
    if ((choice & 0x80) != 0) options.deadline = TimePoint(std::chrono::nanoseconds(input.word()));
    std::vector<Datum> packet;
    encodeRunPacket(number, options, true, &packet);
    change(input, input.byte() % 4, packet);
    send(packet);
  }

  static void change(Input& input, int changes, std::vector<Datum>& packet) {
    for (; changes > 1; --changes) {
      Datum& datum = packet[input.byte() % packet.size()];
      datum.words[input.byte() % datum.words.size()] = input.word();
    }
  }

  void send(const std::vector<Datum>& packet) {
    QueueHeader& header = requests_.header();
    uint64_t at = header.written.load();
    for (const Datum& datum : packet) requests_.datums()[at++ % kRingCapacity] = datum;
    header.written.store(at);
  }

  // Sends any bytes, perhaps with descriptors.
  void offer(Input& input) {
    const uint8_t choice = input.byte();
    MemoryMessage message{
        choice % 6, choice / 6 % 2u, 3, 0, (choice & 0x40) != 0 ? 5000u : sealed_->size(), 0};
    for (int changes = input.byte() % 4; changes > 1; --changes) {
      const uint32_t value = input.word();
      std::memcpy(reinterpret_cast<uint8_t*>(&message) + input.byte() % (sizeof message - 3),
                  &value, sizeof value);
    }
    const size_t bytes =
        (choice & 0x80) != 0 ? input.byte() % (sizeof message + 1) : sizeof message;
    iovec data{&message, bytes};
    alignas(cmsghdr) char control[CMSG_SPACE(4 * sizeof(int))] = {};
    const size_t count = input.byte() % 8 == 0 ? input.byte() % 5 : 1;
    const int fds[4] = {(choice & 0x40) != 0 ? file_.get() : sealed_->fd(), file_.get(),
                        channel_.get(), sealed_->fd()};
    msghdr header{};
    header.msg_iov = &data;
    header.msg_iovlen = 1;
    if (count != 0) {
      header.msg_control = control;
      header.msg_controllen = CMSG_SPACE(count * sizeof(int));
      cmsghdr* const part = CMSG_FIRSTHDR(&header);
      part->cmsg_level = SOL_SOCKET;
      part->cmsg_type = SCM_RIGHTS;
      part->cmsg_len = CMSG_LEN(count * sizeof(int));
      std::memcpy(CMSG_DATA(part), fds, count * sizeof(int));
    }
    (void)!::sendmsg(channel_.get(), &header, MSG_NOSIGNAL | MSG_DONTWAIT);
  }

  void scribble(Input& input) {
    const DatumQueue& queue = input.byte() % 2 == 0 ? requests_ : results_;
    auto* const bytes = reinterpret_cast<uint8_t*>(&queue.header());
    const size_t reach = DatumQueue::bytesFor(kRingCapacity) - 4;
    const uint32_t value = input.byte() % 2 == 0 ? input.byte() : input.word();
    std::memcpy(bytes + input.word() % reach, &value, sizeof value);
  }

  void serve(Input& input) {
    // The client usually takes its answers.
    if (input.byte() % 8 != 0) results_.header().read.store(results_.header().written.load());
    for (int i = 0; i < 4; ++i) {
      const ServedRing::Step step = ring_->step();
      if (step == ServedRing::Step::WAITING) {
        ring_->memoriesArrived(answer(input));
        continue;
      }
      if (step != ServedRing::Step::SERVED) break;
    }
    ring_->announceSleep();
  }

  Result<std::vector<PoolDescription>> answer(Input& input) {
    const uint8_t choice = input.byte();
    if (choice == 1) return badData("no");
    std::vector<PoolDescription> pools(choice == 2 ? choice % 5 : asked_.size());
    for (PoolDescription& pool : pools) {
      const uint8_t kind = input.byte();
      const bool sealed = (kind & 1) == 0;
      pool.kind = kind >= 250 ? kind : (kind & 2) != 0 ? 1 : 0;
      pool.prot = (kind & 4) == 0 ? 3 : (kind >> 3) & 3;
      pool.size = sealed ? sealed_->size() : 5000u;
      if (kind % 32 == 31) pool.size = input.word();
      if (kind % 16 == 15) pool.offset = input.byte();
      const int fd = sealed ? sealed_->fd() : file_.get();
      if (kind != 77) pool.fd.reset(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
    }
    return pools;
  }

  const SharedMemoryPtr requestMemory_;
  const SharedMemoryPtr resultMemory_;
  const SharedMemoryPtr sealed_;
  const DatumQueue requests_;
  const DatumQueue results_;
  UniqueFd file_;
  std::shared_ptr<ServedRing> ring_;
  UniqueFd channel_;
  std::vector<int32_t> asked_;
};

}  // namespace

void runRingFuzzInput(std::span<const uint8_t> input) {
  Fuzzed fuzzed;
  fuzzed.run({input.data(), input.size()});
}

}  // namespace halyard::hal::fuzz
