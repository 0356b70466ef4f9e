package integration_test

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"engang/infra/local"
	"engang/infra/local/wire"
)

// A bill is what one flow costs: calls and units of the functions, not of the event source.
type bill struct {
	writes, reads, sends, calls int
	units                       float64 // write units, indexes counted
}

// String is the bill as the table of infra/protocol.md section 8 writes it.
func (b bill) String() string {
	return fmt.Sprintf("%d writes, %v units, %d reads, %d sends, %d model calls", b.writes, b.units, b.reads, b.sends, b.calls)
}

// remembered is what the functions read once in five seconds, however many events there are.
var remembered = []string{"read config", "read pauses", "read breaker"}

// configuration is how long the functions believe the configuration that they have read.
const configuration = 4 * time.Second

// cost runs a flow and sums up what it called. The reference engine says for each write that took effect
// what it consumed, which must be what we have computed from the published rules.
func (s *system) cost(warm time.Time, flow func()) (b bill) {
	s.t.Helper()
	s.Record().Reset()
	flow()
	reference := filepath.Base(s.t.Name()) == "reference"
	for _, c := range s.Record().Calls() {
		if c.Function == "" {
			continue
		}
		_, action, _ := strings.Cut(c.Operation, ".")
		switch {
		case c.Service == "model":
			b.calls++
		case c.Service == "sqs" && action == "SendMessage":
			b.sends++
		case c.Service != "dynamodb":
			s.t.Errorf("%s calls %s", c.Function, c.Name)
		case slices.Contains(remembered, c.Name) && time.Since(warm) > configuration: // once in five seconds, however many events
		case action == "GetItem" || action == "Query":
			b.reads++
		default:
			b.writes++
			b.units += c.WriteUnits
			s.checkUnits(c, reference)
		}
	}
	return b
}

func (s *system) checkUnits(c wire.Done, reference bool) {
	s.t.Helper()
	if c.WriteUnits == 0 || c.ItemBytes == 0 || c.Status != 200 && c.Status != 400 {
		s.t.Errorf("%s is not metered: %+v", c.Name, c)
	}
	if reference && c.Status == 200 && c.Capacity != c.WriteUnits {
		s.t.Errorf("%s: the engine consumed %v units, computed are %v", c.Name, c.Capacity, c.WriteUnits)
	}
}

// refusedReads are the reads after so many refused conditions: an engine that returns what is stored
// with the refusal, as DynamoDB does, needs none.
func (s *system) refusedReads(n int) int {
	if filepath.Base(s.t.Name()) == "embedded" {
		return n
	}
	return 0
}

// budgetCard makes outputs that hold the description too, so that operation and result are as large as in
// the table of infra/protocol.md section 8: above 1 KB, and up to 2.
func budgetCard(t testing.TB, policy string) string {
	t.Helper()
	return edited(t,
		"required: [summary, tags, attributes, missing]", "required: [summary, tags, attributes, missing, description]",
		"          missing: {type: array, items: {type: string}}\n", "          missing: {type: array, items: {type: string}}\n          description: {type: string}\n",
		"    policy: auto                      # draft", "    policy: "+policy+"                      # draft")
}

// An eventSize is how large an event is, as DynamoDB counts it.
type eventSize struct {
	name            string
	noise           int // bytes in the body that cannot be packed
	least, most     int // bytes of the stored event
	fresh, echo     float64
	superseded, dup float64
	draft           float64
}

var eventSizes = []eventSize{
	{"event up to 1 KB", 0, 512, 1024, 10, 9, 7, 2, 9},
	{"event of 3 KB", 1800, 2049, 3072, 14, 13, 11, 4, 13},
}

// sized is a product whose event is of that size. Its description is long and packs well.
func (e eventSize) sized(name, modified string) product {
	noise := make([]byte, e.noise)
	random := rand.NewChaCha8([32]byte{7})
	_, _ = random.Read(noise) // never fails
	extra := fmt.Sprintf(`,"short_description":%q,"noise":%q`, name, base64.StdEncoding.EncodeToString(noise))
	return product{ID: 794, Name: strings.Repeat(name+" of oak ", 28), Modified: modified, Extra: extra}
}

// The budgets of infra/design.md section 11, with the numbers of infra/protocol.md section 8.
func TestCallsAndWriteUnits(t *testing.T) {
	auto, draft := budgetCard(t, "auto"), budgetCard(t, "draft")
	for _, e := range eventSizes {
		t.Run(e.name, func(t *testing.T) {
			each(t, local.Options{ConfigFiles: []string{auto}, Meter: true, Speed: calm}, e.published)
		})
		t.Run(e.name+", draft", func(t *testing.T) {
			each(t, local.Options{ConfigFiles: []string{draft}, Meter: true, Speed: calm}, e.drafted)
		})
	}
}

// warmUp has every function read configuration and secrets.
func (s *system) warmUp() time.Time {
	s.t.Helper()
	at := time.Now()
	s.accept(s.product(product{ID: 1, Name: "Warm"}))
	s.settle()
	return at
}

// flow delivers a product and has it worked on.
func (s *system) flow(p product) func() {
	return func() {
		s.t.Helper()
		s.accept(s.product(p))
		s.step()
	}
}

func (s *system) owes(what string, got, want bill) {
	s.t.Helper()
	if got != want {
		s.t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func (e eventSize) published(t *testing.T, s *system) {
	warm := s.warmUp()
	chair, newer, older := e.sized("Chair", "2026-11-29T11:00:00"), e.sized("Chair", "2026-11-29T12:00:00"), e.sized("Table", "2026-11-29T10:00:00")

	fresh := s.cost(warm, s.flow(chair))
	s.owes("new event", fresh, bill{writes: 5, units: e.fresh, reads: 2, sends: 1, calls: 1})
	e.checkSizes(s)
	settled := s.cost(warm, func() { s.repeat(chair) })
	s.owes("duplicate of a settled event", settled, bill{writes: 2, units: e.dup, reads: s.refusedReads(1)})
	echo := s.cost(warm, s.flow(newer))
	s.owes("echo", echo, bill{writes: 4, units: e.echo, reads: 1 + s.refusedReads(1), sends: 1})
	superseded := s.cost(warm, s.flow(older))
	s.owes("superseded", superseded, bill{writes: 4, units: e.superseded, reads: 2, sends: 1})
	last := e.sized("Bench", "2026-11-29T13:00:00")
	s.accept(s.product(last))
	open := s.cost(warm, func() { s.repeat(last) })
	s.owes("duplicate of an open event", open, bill{writes: 2, units: e.dup, reads: s.refusedReads(1), sends: 1})
	s.rest()
	t.Logf("%s: new event %v | echo %v | superseded %v | duplicate of an open event %v | of a settled one %v", e.name, fresh, echo, superseded, open, settled)
}

func (e eventSize) drafted(t *testing.T, s *system) {
	warm := s.warmUp()
	draft := s.cost(warm, s.flow(e.sized("Chair", "2026-11-29T11:00:00")))
	s.owes("draft", draft, bill{writes: 4, units: e.draft, reads: 2, sends: 1, calls: 1})
	e.checkSizes(s)
	s.rest()
	if o := s.object("product:794"); o.Operations[0].State != "review" || o.Events[0].Outcome != "review" || len(o.Results) != 0 {
		t.Errorf("object %+v", o)
	}
	t.Logf("%s: draft %v", e.name, draft)
}

// repeat delivers a product that is stored already.
func (s *system) repeat(p product) {
	s.t.Helper()
	if a := s.product(p); a.Status != "duplicate" {
		s.t.Fatalf("answered %d %s, want duplicate", a.Code, a.Body)
	}
}

// checkSizes holds that the items are of the sizes that the numbers are meant for: the event's own, and
// up to 2 KB for operation and result.
func (e eventSize) checkSizes(s *system) {
	s.t.Helper()
	bounds := map[string][2]int{"W1 put event": {e.least, e.most}, "W6 settle": {e.least, e.most}, "W4 complete": {1025, 2048}, "W16 draft": {1025, 2048}, "W5 result": {1025, 2048}}
	for _, c := range s.Record().Calls() {
		if b, ok := bounds[c.Name]; ok && (c.ItemBytes < b[0] || c.ItemBytes > b[1]) {
			s.t.Errorf("the item of %s has %d bytes, the numbers are for %d to %d", c.Name, c.ItemBytes, b[0], b[1])
		}
	}
}
