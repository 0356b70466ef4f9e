package simulation

// Counts says what histories were made of.
type Counts struct {
	Histories  int `json:"histories"`
	Steps      int `json:"steps"`
	Deliveries int `json:"deliveries"`
	Events     int `json:"events"`  // stored
	Batches    int `json:"batches"` // of many events, that were taken apart
	Bodies     int `json:"bodies"`  // put into the bucket
	Repeats    int `json:"repeats"` // messages that the queue gave twice
	Sweeps     int `json:"sweeps"`
	Acts       int `json:"acts"`      // of people
	Decisions  int `json:"decisions"` // on drafts, that took effect
	Erasures   int `json:"erasures"`  // calls of them
	Erased     int `json:"erased"`    // events
	Expired    int `json:"expired"`   // items that left by TTL

	Crashes      int `json:"crashes"`
	TimesOver    int `json:"times_over"` // runs that were stopped at the end of their time
	LostRequests int `json:"lost_requests"`
	LostAnswers  int `json:"lost_answers"`
	Throttled    int `json:"throttled"`
	Stalls       int `json:"stalls"`
	ModelFaults  int `json:"model_faults"`

	Takeovers  int `json:"takeovers"`
	PaidCalls  int `json:"paid_calls"`
	Operations int `json:"operations"` // that were paid for
	Outputs    int `json:"outputs"`    // of those, committed or a draft
	Unusable   int `json:"unusable"`   // calls of which it is recorded that they brought no output
	Unrecorded int `json:"unrecorded"` // calls that were cut off before an outcome was recorded
	Renewed    int `json:"renewed"`    // operations that were opened again after a person rejected the output
	Results    int `json:"results"`
}

// count counts a fault.
func (c *Counts) count(kind string) {
	switch kind {
	case dieBefore, dieAfter:
		c.Crashes++
	case loseRequest:
		c.LostRequests++
	case loseAnswer:
		c.LostAnswers++
	case throttle:
		c.Throttled++
	case stallBefore, stallAfter:
		c.Stalls++
	default:
		c.ModelFaults++
	}
}

// Add adds those of another history.
func (c *Counts) Add(o Counts) {
	for _, f := range []struct{ to, from *int }{
		{&c.Histories, &o.Histories},
		{&c.Steps, &o.Steps},
		{&c.Deliveries, &o.Deliveries},
		{&c.Events, &o.Events},
		{&c.Batches, &o.Batches},
		{&c.Bodies, &o.Bodies},
		{&c.Repeats, &o.Repeats},
		{&c.Sweeps, &o.Sweeps},
		{&c.Acts, &o.Acts},
		{&c.Decisions, &o.Decisions},
		{&c.Erasures, &o.Erasures},
		{&c.Erased, &o.Erased},
		{&c.Expired, &o.Expired},
		{&c.Crashes, &o.Crashes},
		{&c.TimesOver, &o.TimesOver},
		{&c.LostRequests, &o.LostRequests},
		{&c.LostAnswers, &o.LostAnswers},
		{&c.Throttled, &o.Throttled},
		{&c.Stalls, &o.Stalls},
		{&c.ModelFaults, &o.ModelFaults},
		{&c.Takeovers, &o.Takeovers},
		{&c.PaidCalls, &o.PaidCalls},
		{&c.Operations, &o.Operations},
		{&c.Outputs, &o.Outputs},
		{&c.Unusable, &o.Unusable},
		{&c.Unrecorded, &o.Unrecorded},
		{&c.Renewed, &o.Renewed},
		{&c.Results, &o.Results},
	} {
		*f.to += *f.from
	}
}
