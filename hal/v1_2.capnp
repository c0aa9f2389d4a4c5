# Interfaces of NN HAL 1.2: extensions, dynamic output shapes, timing, synchronous execution, bursts,
# compilation caches.
@0xa958e01d6f88a122;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("halyard::wire::v1_2");
using T = import "types.capnp";
using V10 = import "v1_0.capnp";
using V11 = import "v1_1.capnp";

interface IDevice extends(V11.IDevice) {
  getVersionString @0 () -> (status :T.ErrorStatus, message :Text, version :Text);
  # Not empty; changes with every change of the driver's behaviour.
  getType @1 () -> (status :T.ErrorStatus, message :Text, type :T.DeviceType);
  getCapabilities12 @2 () -> (status :T.ErrorStatus, message :Text, capabilities :T.Capabilities);
  getSupportedExtensions @3 ()
      -> (status :T.ErrorStatus, message :Text, extensions :List(T.Extension));
  getSupportedOperations12 @4 (model :T.Model)
      -> (status :T.ErrorStatus, message :Text, supported :List(Bool),
          details :List(T.OperationSupport));
  getNumberOfCacheFilesNeeded @5 ()
      -> (status :T.ErrorStatus, message :Text, numModelCache :UInt32, numDataCache :UInt32,
          preferences :UInt32 = 7);
  # `preferences`: for which of T.ExecutionPreference the device may save anything, 1 << preference
  # each.
  prepareModel12 @6 (model :T.Model, preference :T.ExecutionPreference,
                     modelCache :List(T.Handle), dataCache :List(T.Handle), token :Data,
                     callback :IPreparedModelCallback)
      -> (status :T.ErrorStatus, message :Text);
  prepareModelFromCache @7 (modelCache :List(T.Handle), dataCache :List(T.Handle), token :Data,
                            callback :IPreparedModelCallback)
      -> (status :T.ErrorStatus, message :Text);
  isCachingSupported @8 () -> (status :T.ErrorStatus, message :Text, supported :Bool);
  # The early form of getNumberOfCacheFilesNeeded: one file of each kind. Its counterparts are
  # prepareModelFromCache with lists of one handle, and IPreparedModel.saveToCache.
}

interface IPreparedModel extends(V10.IPreparedModel) {
  execute12 @0 (request :T.Request, measure :T.MeasureTiming, callback :IExecutionCallback)
      -> (status :T.ErrorStatus, message :Text);
  executeSynchronously @1 (request :T.Request, measure :T.MeasureTiming)
      -> (status :T.ErrorStatus, message :Text, outputShapes :List(T.OutputShape),
          timing :T.Timing, copiedBytes :UInt64);
  # `copiedBytes`: how many bytes of arguments the driver's process has copied.
  configureExecutionBurst @2 (callback :IBurstCallback, requestChannel :T.QueueDescriptor,
                              resultChannel :T.QueueDescriptor, extended :Bool,
                              doorbell :T.FileDescriptor, takesCopied :Bool)
      -> (status :T.ErrorStatus, message :Text, burstContext :IBurstContext,
          doorbell :T.FileDescriptor, extended :Bool, memoryChannel :T.FileDescriptor,
          takesDoorbell :Bool, recordings :UInt32, takesTokens :Bool);
  # See docs/burst_format.md. `doorbell`, the client's: a socket that the driver watches, and by which
  # the client wakes it when the event word says that it sleeps. A driver that watches it says so with
  # `takesDoorbell`. A client of an earlier schema has none; it gets a `doorbell` of the driver's, an
  # eventfd, and writes that. `extended`: the sender knows the datums that are Halyard's own; they are
  # used when both do. `memoryChannel`: a socket on which the client may hand memories over before it
  # is asked for them; null when the driver takes none. `recordings`: how many requests the driver
  # keeps for the burst, so that a fixed packet runs each; a driver of an earlier schema keeps none.
  # `takesCopied`, `takesTokens`: the sender knows the datums of that name, beside `extended`.
  saveToCache @3 (modelCache :T.Handle, dataCache :T.Handle, token :Data)
      -> (status :T.ErrorStatus, message :Text);
  # The early form of caching: both files are empty, and stay the caller's.
}

interface IPreparedModelCallback extends(V10.IPreparedModelCallback) {
  notify12 @0 (status :T.ErrorStatus, message :Text, preparedModel :IPreparedModel);
}

interface IExecutionCallback extends(V10.IExecutionCallback) {
  notify12 @0 (status :T.ErrorStatus, message :Text, outputShapes :List(T.OutputShape),
               timing :T.Timing, copiedBytes :UInt64);
}

interface IBurstContext {
  # The burst as its driver holds it; dropped, the burst ends.
  freeMemory @0 (slot :Int32);
  freeRecording @1 (number :UInt32);
  # The client will not run the recording again. It uses the number only after the answer.
}

interface IBurstCallback {
  # The burst as its client holds it: knows which memory is in which slot.
  getMemories @0 (slots :List(Int32))
      -> (status :T.ErrorStatus, message :Text, memories :List(T.Memory));
}
