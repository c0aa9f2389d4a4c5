// Servers with answers that the HAL forbids.
#include <fcntl.h>
#include <unistd.h>

#include "hal/wire/wire_memory.h"
#include "halyard/driver/unique_fd.h"
#include "validation/defects/defect.h"

namespace halyard::defects {
namespace {

using Code = wire::ErrorStatus;
constexpr uint64_t kUnknown = ~uint64_t{0};

template <typename Interface, typename Results>
void onResult(WireMessage& m, uint16_t method, void (*change)(typename Results::Builder)) {
  if (!m.isResult) return;
  KJ_IF_MAYBE (results, (m.as<Interface, Results>(method))) change(*results);
}

using V12 = wire::v1_2::IDevice;
using V13 = wire::v1_3::IDevice;
using Prepared13 = wire::v1_3::IPreparedModel;
using Fenced = wire::v1_3::IFencedExecutionCallback;

// Changes the answers of executions that have succeeded, or of those that have failed.
void onExecution(WireMessage& m, bool succeeded, void (*change)(ExecutionFields::Builder)) {
  KJ_IF_MAYBE (fields, executionOf(m)) {
    if ((fields->getStatus() == Code::NONE) == succeeded) change(*fields);
  }
}

void dropPrepared(WireMessage& m) {
  if (m.interface == capnp::typeId<wire::v1_3::IPreparedModelCallback>()) {
    m.content.getAs<wire::v1_3::IPreparedModelCallback::Notify13Params>().disownPreparedModel();
  }
}

using Configure = wire::v1_2::IPreparedModel::ConfigureExecutionBurstResults;

// The doorbell is a pipe without a reader: a writer gets SIGPIPE.
void giveBrokenPipe(WireMessage& m) {
  onResult<wire::v1_2::IPreparedModel, Configure>(m, 2, [](auto results) {
    int ends[2];
    if (results.getStatus() != Code::NONE || ::pipe2(ends, O_CLOEXEC) != 0) return;
    const UniqueFd pipes[] = {UniqueFd(ends[0]), UniqueFd(ends[1])};
    results.setTakesDoorbell(false);
    KJ_IF_MAYBE (file, hal::encodeFile(ends[1])) results.setDoorbell(kj::mv(*file));
  });
}

const Defect kWireAnswerDefects[] = {
    {.name = "wrong-status",
     .what = "answers GENERAL_FAILURE where a model is wrong",
     .check = "hal/model/V1_no_operation@1.0",
     .answer =
         [](WireMessage& m) {
           KJ_IF_MAYBE (fields, statusOf(m)) {
             if (fields->isPreparation && fields->status == Code::INVALID_ARGUMENT) {
               setStatus(m, Code::GENERAL_FAILURE);
             }
           }
         }},
    {.name = "launches-everything",
     .what = "launches the preparation of wrong models, and tells of the error later",
     .check = "hal/model/V1_no_operation@1.0",
     .answer =
         [](WireMessage& m) {
           KJ_IF_MAYBE (fields, statusOf(m)) {
             const bool isCallback =
                 m.interface == capnp::typeId<wire::v1_3::IPreparedModelCallback>();
             if (fields->isPreparation && !isCallback) setStatus(m, Code::NONE);
           }
         }},
    {.name = "launch-and-callback-differ",
     .what = "has another error in the callback than at the launch",
     .check = "hal/model/V1_no_operation@1.3",
     .answer =
         [](WireMessage& m) {
           if (m.interface != capnp::typeId<wire::v1_3::IPreparedModelCallback>()) return;
           KJ_IF_MAYBE (fields, statusOf(m)) {
             if (fields->status == Code::INVALID_ARGUMENT) setStatus(m, Code::DEVICE_UNAVAILABLE);
           }
         }},
    {.name = "success-without-model",
     .what = "reports success without a prepared model",
     .check = "hal/prepare/deadlines",
     .answer = dropPrepared},
    {.name = "error-with-values",
     .what = "answers getSupportedOperations with values beside an error",
     .check = "hal/model/V1_no_operation@1.3",
     .answer =
         [](WireMessage& m) {
           onResult<V13, V13::GetSupportedOperations13Results>(m, 1, [](auto results) {
             if (results.getStatus() != Code::NONE) results.initSupported(1).set(0, true);
           });
         }},
    {.name = "details-of-too-few",
     .what = "gives reasons and costs of no operation but the first",
     .check = "hal/model/V13_chain@1.3",
     .answer =
         [](WireMessage& m) {
           onResult<V13, V13::GetSupportedOperations13Results>(m, 1, [](auto results) {
             if (results.getSupported().size() > 1) results.initDetails(1);
           });
         }},
    {.name = "cost-below-zero",
     .what = "predicts a cost of less than nothing",
     .check = "hal/model/V1_unchanged@1.3",
     .answer =
         [](WireMessage& m) {
           onResult<V13, V13::GetSupportedOperations13Results>(m, 1, [](auto results) {
             for (auto each : results.initDetails(results.getSupported().size())) {
               each.setCost(-1);
             }
           });
         }},
    {.name = "error-without-text",
     .what = "does not say why it fails",
     .check = "hal/model/V1_no_operation@1.0",
     .answer =
         [](WireMessage& m) {
           KJ_IF_MAYBE (fields, statusOf(m)) {
             if (fields->status != Code::NONE) clearText(m);
           }
         }},
    {.name = "times-unasked",
     .what = "reports times without a request for them",
     .check = "hal/prepare/priorities_and_preferences",
     .answer =
         [](WireMessage& m) {
           onExecution(m, true, [](ExecutionFields::Builder fields) {
             fields.getTiming().setTimeOnDevice(1);
             fields.getTiming().setTimeInDriver(2);
           });
         }},
    {.name = "device-slower-than-driver",
     .what = "reports more time on the device than in the driver",
     .check = "hal/prepare/priorities_and_preferences",
     .answer =
         [](WireMessage& m) {
           onExecution(m, true, [](ExecutionFields::Builder fields) {
             const uint64_t inDriver = fields.getTiming().getTimeInDriver();
             if (inDriver != kUnknown) fields.getTiming().setTimeOnDevice(inDriver + 1000);
           });
         }},
    {.name = "shapes-with-an-error",
     .what = "reports shapes of an execution that failed",
     .check = "hal/execute/R1_input_missing@1.2",
     .answer =
         [](WireMessage& m) {
           onExecution(m, false, [](ExecutionFields::Builder fields) {
             if (fields.getStatus() != Code::OUTPUT_INSUFFICIENT_SIZE) fields.initOutputShapes(1);
           });
         }},
    {.name = "no-shapes",
     .what = "does not report the shapes that a model leaves open",
     .check = "hal/prepare/unknown_dimensions@1.2",
     .answer =
         [](WireMessage& m) {
           onExecution(m, true,
                       [](ExecutionFields::Builder fields) { fields.initOutputShapes(0); });
         }},
    {.name = "wrong-shapes",
     .what = "reports a larger first dimension than a result has",
     .check = "hal/prepare/priorities_and_preferences",
     .answer =
         [](WireMessage& m) {
           onExecution(m, true, [](ExecutionFields::Builder fields) {
             for (auto shape : fields.getOutputShapes()) {
               if (shape.getDimensions().size() == 0) continue;
               shape.getDimensions().set(0, shape.getDimensions()[0] + 1);
             }
           });
         }},
    {.name = "broken-doorbell",
     .what = "does not watch its client's doorbell, and gives a broken pipe for one",
     .check = "hal/burst/runs@1.2",
     .answer = giveBrokenPipe},
    {.name = "insufficient-is-failure",
     .what = "answers GENERAL_FAILURE when an output does not fit",
     .check = "hal/execute/too_small@1.3",
     .answer =
         [](WireMessage& m) {
           KJ_IF_MAYBE (fields, statusOf(m)) {
             if (fields->status == Code::OUTPUT_INSUFFICIENT_SIZE) {
               setStatus(m, Code::GENERAL_FAILURE);
             }
           }
         }},
    {.name = "insufficient-said-to-fit",
     .what = "says of an output that does not fit that it does",
     .check = "hal/execute/too_small@1.3",
     .answer =
         [](WireMessage& m) {
           onExecution(m, false, [](ExecutionFields::Builder fields) {
             for (auto shape : fields.getOutputShapes()) shape.setIsSufficient(true);
           });
         }},
    {.name = "figure-of-zero",
     .what = "has a power usage of 0",
     .check = "hal/info/capabilities@1.3",
     .answer =
         [](WireMessage& m) {
           onResult<V13, V13::GetCapabilities13Results>(m, 0, [](auto results) {
             results.getCapabilities().getWhilePerformance().setPowerUsage(0);
           });
         }},
    {.name = "unsorted-figures",
     .what = "has a table of operand types that does not ascend",
     .check = "hal/info/capabilities@1.2",
     .answer =
         [](WireMessage& m) {
           onResult<V12, V12::GetCapabilities12Results>(m, 2, [](auto results) {
             auto table = results.getCapabilities().getOperandPerformance();
             if (table.size() > 1) table[1].setType(table[0].getType());
           });
         }},
    {.name = "unknown-type",
     .what = "has the type UNKNOWN",
     .check = "hal/info/type@1.2",
     .answer =
         [](WireMessage& m) {
           onResult<V12, V12::GetTypeResults>(
               m, 1, [](auto results) { results.setType(wire::DeviceType::UNKNOWN); });
         }},
    {.name = "empty-version",
     .what = "has an empty version string",
     .check = "hal/info/version_string@1.2",
     .answer =
         [](WireMessage& m) {
           onResult<V12, V12::GetVersionStringResults>(
               m, 0, [](auto results) { results.setVersion(""); });
         }},
    {.name = "many-cache-files",
     .what = "wants 33 cache files",
     .check = "hal/info/cache_files@1.3",
     .answer =
         [](WireMessage& m) {
           onResult<V12, V12::GetNumberOfCacheFilesNeededResults>(
               m, 5, [](auto results) { results.setNumModelCache(33); });
         }},
    {.name = "bad-extension-name",
     .what = "has an extension called Fast Maths",
     .check = "hal/info/extensions@1.3",
     .answer =
         [](WireMessage& m) {
           onResult<V12, V12::GetSupportedExtensionsResults>(
               m, 3, [](auto results) { results.initExtensions(1)[0].setName("Fast Maths"); });
         }},
    {.name = "early-fence",
     .what = "says that a fenced execution is complete when it begins",
     .check = "hal/fenced/waits_for_fences",
     .answer =
         [](WireMessage& m) {
           onResult<Prepared13, Prepared13::ExecuteFencedResults>(
               m, 2, [](auto results) { results.disownSyncFence(); });
         }},
    {.name = "early-info",
     .what = "reports success of fenced executions that have not begun",
     .check = "hal/fenced/failing_fence",
     .answer =
         [](WireMessage& m) {
           onResult<Fenced, Fenced::GetExecutionInfoResults>(
               m, 0, [](auto results) { results.setStatus(Code::NONE); });
         }},
    {.name = "token-of-zero",
     .what = "gives buffers the token 0",
     .check = "hal/memory/refused_orders",
     .answer =
         [](WireMessage& m) {
           onResult<V13, V13::AllocateResults>(m, 4, [](auto results) { results.setToken(0); });
         }},
    {.name = "same-token",
     .what = "gives all buffers the same token",
     .check = "hal/memory/tokens",
     .answer =
         [](WireMessage& m) {
           onResult<V13, V13::AllocateResults>(m, 4, [](auto results) {
             if (results.getToken() != 0) results.setToken(4711);
           });
         }},
    {.name = "copies-nothing",
     .what = "says that it has copied a buffer without content",
     .check = "hal/memory/copies",
     .answer =
         [](WireMessage& m) {
           if (m.interface == capnp::typeId<wire::v1_3::IBuffer>()) setStatus(m, Code::NONE);
         }},
};

}  // namespace

std::span<const Defect> wireAnswerDefects() { return kWireAnswerDefects; }

}  // namespace halyard::defects
