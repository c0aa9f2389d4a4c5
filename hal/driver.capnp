# Halyard's own addition to the NN HAL: the first object of a connection to a driver's process.
@0xf9455f414b199165;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("halyard::wire");
using T = import "types.capnp";
using V10 = import "v1_0.capnp";

struct IsolationMeasure {
  # The result of one measure by which the driver's process gives up rights before it serves.
  name @0 :Text;
  state @1 :State;
  detail @2 :Text;
  enum State { applied @0; unavailable @1; off @2; }
}

interface IDriver {
  # On Android the service manager hands out devices; here the connection does.
  hello @0 (protocolVersion :UInt32) -> (status :T.ErrorStatus, message :Text,
                                         protocolVersion :UInt32, processId :Int64,
                                         halVersion :UInt16, device :V10.IDevice,
                                         isolation :List(IsolationMeasure));
  # `halVersion`: 10 to 13 for HAL 1.0 to 1.3, the newest interface to which `device` may be cast.
  # A caller with another protocol version is answered `generalFailure` and no device.
  ping @1 () -> ();
  # Answered at once, beside any computation. A driver that does not answer is stopped or stuck.
  trace @2 (memory :T.Memory) -> (status :T.ErrorStatus, message :Text);
  # From now on the driver records its work for this client in `memory`, which is sealed against
  # shrinking. The first 128 bytes have a counter of 64 bits, the next slot. Slots of 128 bytes
  # follow. A slot has 32 bits that are 1 when it is complete, 32 reserved bits, and a Record of
  # src/trace/recorder.h. A slot is taken by adding 1 to the counter; one beyond the last is lost. A
  # memory of size 0 ends the recording.
  traceModel @3 (preparedModel :V10.IPreparedModel, context :UInt64)
      -> (status :T.ErrorStatus, message :Text);
  # The number of the model's executions in the records.
}
