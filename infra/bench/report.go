package bench

// A Report is what was measured. Times are in microseconds.
type Report struct {
	Kind     string   `json:"kind"` // "bench"
	Table    string   `json:"dynamodb"`
	Queue    string   `json:"sqs"`
	Model    string   `json:"model"`
	Go       string   `json:"go"`
	CPUs     int      `json:"cpus"`
	Events   int      `json:"events"`
	Parallel int      `json:"parallel"`
	Rounds   int      `json:"rounds"`
	Receiver Receiver `json:"receiver"`
	Costs    []Cost   `json:"costs"`
	Pipeline Pipeline `json:"pipeline"`
}

// Times are the half of a kind of times, and all but the slowest hundredth.
type Times struct {
	P50US float64 `json:"p50_us"`
	P99US float64 `json:"p99_us"`
}

// Usage is what one of something took of this process.
type Usage struct {
	WallUS float64 `json:"wall_us"`
	CPUUS  float64 `json:"cpu_us"`
	Allocs float64 `json:"allocs"`
	Bytes  float64 `json:"bytes"`
}

// A Part is deliveries, or what they are held against: the whole time, and what of it passed outside of the wire.
type Part struct {
	Whole Times `json:"whole"`
	Own   Times `json:"own"` // but for the wait for answers
	Usage Usage `json:"usage"`
}

// A Receiver is the receiver's handling of one delivery after the other, in turns with the two calls that it makes,
// made bare with the same clients and values of the same size.
type Receiver struct {
	BodyBytes  int    `json:"body_bytes"`
	ItemBytes  int    `json:"item_bytes"`
	Deliveries int    `json:"deliveries"`
	Calls      int    `json:"calls"` // of one delivery
	Handling   Part   `json:"handling"`
	Bare       Part   `json:"bare"`
	OwnUS      Spread `json:"own_us"`     // what the handling takes beside the two calls, by blocks: own time of the one less that of the other
	OwnCPUUS   Spread `json:"own_cpu_us"` // the same in processor time
	Ratio      Spread `json:"ratio"`      // of the whole times
}

// A Spread is a number that was measured again and again: its median, and what it is uncertain by.
type Spread struct {
	Median float64 `json:"median"`
	Noise  float64 `json:"noise"`
}

// A Cost is what ways through the pipeline cost over a table of so many events.
type Cost struct {
	Stored int    `json:"stored"`
	Flows  []Flow `json:"flows"`
}

// A Flow is what one way through the pipeline calls, exactly. What functions remember for seconds is not counted:
// configuration, pauses, the state of a breaker.
type Flow struct {
	Name       string  `json:"name"`
	Writes     int     `json:"writes"`
	WriteUnits float64 `json:"write_units"` // by the published rules, indexes counted
	Engine     float64 `json:"engine_units,omitempty"`
	Reads      int     `json:"reads"`
	ReadUnits  float64 `json:"read_units"`
	Sends      int     `json:"sends"`
	ModelCalls int     `json:"model_calls"`
}

// A Pipeline is events on their way from delivery to result, in rounds that go in turns over the two tables.
type Pipeline struct {
	Sides  []Side            `json:"sides"`
	Growth map[string]Spread `json:"growth_percent"` // of the larger table over the smaller, pair by pair
}

// A Side is what was measured over one table. The numbers of a round are medians or means over its events.
type Side struct {
	Stored       int    `json:"stored"`
	PerSecond    Spread `json:"events_per_second"`
	CPUMS        Spread `json:"cpu_ms_per_event"`
	Allocs       Spread `json:"allocs_per_event"`
	Bytes        Spread `json:"bytes_per_event"`
	ReceiveUS    Spread `json:"receive_us"` // one delivery after the other
	WorkUS       Spread `json:"work_us"`    // one message after the other
	DupPerSecond Spread `json:"duplicates_per_second"`
	DupCPUMS     Spread `json:"cpu_ms_per_duplicate"`
}
