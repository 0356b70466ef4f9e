package inbox

import "engang/shared/object"

// A Notice tells the dead-letter queue why an event, or an operation that it asked for, was set aside.
// It is only a signal: what is parked stands in the table, so a notice may come twice or be lost
// without harm. It holds no payload and no output.
type Notice struct {
	Event      EventID
	Generation int // of the event, as the worker read it
	Scope      object.Scope
	Operation  string // its key; empty when the event could not become an operation
	Token      int64  // fencing token that the operation failed with: a redrive by this notice is for that failure alone
	Reason     string // one sentence of ours
	Category   string
}
