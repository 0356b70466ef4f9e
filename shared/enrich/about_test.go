package enrich_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"engang/shared/inbox"
	"engang/shared/telemetry"
)

// said are the lines that are written while an event is worked on, but for metrics: level, text and operation. Each
// names the event.
func (w *world) said(id inbox.EventID) (lines []string) {
	w.t.Helper()
	var b bytes.Buffer
	worker := w.worker(nil)
	worker.Log = telemetry.NewLogger(&b, telemetry.Process{Function: "enrichment"})
	if err := worker.Run(w.t.Context(), id); err != nil {
		w.t.Fatal(err)
	}
	for text := range strings.Lines(b.String()) {
		var line struct{ Level, Msg, Operation, EventID string }
		if err := json.Unmarshal([]byte(strings.Replace(text, `"event_id"`, `"EventID"`, 1)), &line); err != nil {
			w.t.Fatal(err)
		}
		switch {
		case line.Msg == "metrics":
			continue
		case line.EventID != string(id):
			w.t.Errorf("of event %q: %s", line.EventID, text)
		}
		lines = append(lines, strings.TrimSpace(line.Level+" "+line.Msg+" "+line.Operation))
	}
	return lines
}

// Who looks an event up in the log finds what was done, for which operation and how it ended; what waits for a person
// then is a warning. No line names the object.
func TestTheLogTellsHowAnEventCameToItsEnd(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		done := w.receive(arrival{name: "A", version: one})
		key := w.key("A").Short()
		if diff := cmp.Diff([]string{"INFO attempt ended " + key, "INFO event settled"}, w.said(done)); diff != "" {
			t.Error(diff)
		}
		w.model.script = append(w.model.script, refusal)
		failed := w.receive(arrival{name: "B", version: two})
		key = w.key("B").Short()
		if diff := cmp.Diff([]string{"INFO attempt ended " + key, "WARN event parked"}, w.said(failed)); diff != "" {
			t.Error(diff)
		}
		if strings.Contains(key, "product") || !strings.HasPrefix(key, "card@1/") || len(key) != len("card@1/12345678") {
			t.Errorf("operation %q", key)
		}
	})
}
